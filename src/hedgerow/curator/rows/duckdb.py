"""The DuckDB engine: a frame read through DuckDB, as a stream of Arrow batches."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from hedgerow.curator.rows.engine import BATCH_ROWS
from hedgerow.curator.rows.memory import arrow_table, check_text
from hedgerow.errors import SourceError

if TYPE_CHECKING:
    import pyarrow as pa


class DuckDBEngine:
    """Rows of a frame.

    Args:
        frame: a pandas, polars or Arrow frame, or a mapping of columns.
        unit, unit_type, moments: see `MemoryEngine`.
    """

    in_memory = True
    written: int | None = None

    def __init__(
        self,
        frame: Any,
        unit: str | None = None,
        unit_type: str | None = None,
        moments: Collection[str] = (),
    ) -> None:
        import duckdb

        self._connection = duckdb.connect(":memory:")
        self._connection.execute("SET enable_progress_bar = false")
        self._frame, self.untyped = arrow_table(frame, unit, unit_type, moments)
        try:
            self._counted = _counted(self._frame)
            self._connection.register("rows", self._counted)
        except duckdb.Error:  # a column's type; its values are not looked at
            raise SourceError("a column has a type that DuckDB does not know; use engine='memory'") from None

    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self._frame.schema

    def check(self, columns: Sequence[str]) -> None:
        """Text that is not UTF-8 is refused before anything is asked."""
        check_text(self._frame.select(list(columns)))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows of some columns."""
        import duckdb

        names = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        times = {field.name: _time(field.type) for field in self._frame.schema}
        try:
            own = self._connection.cursor()  # one who reads at the same time is not disturbed
            own.register("rows", self._counted)
            result = own.sql(f"SELECT {names} FROM rows")
            reader = getattr(result, "to_arrow_reader", None) or result.fetch_record_batch
            for batch in reader(BATCH_ROWS):
                yield _retyped(batch, times)
        except (duckdb.Error, OSError, ValueError, RuntimeError) as error:
            raise _failure(error) from None


def _time(type_: pa.DataType) -> pa.DataType | None:
    """The type of a column of dates or times, None for any other."""
    import pyarrow.types as t

    plain = type_.value_type if t.is_dictionary(type_) else type_
    return plain if t.is_timestamp(plain) or t.is_date(plain) else None


def _counted(table: pa.Table) -> pa.Table:
    """The table with its times as integers: for one beyond its calendar DuckDB would refuse all rows."""
    import pyarrow as pa

    columns = []
    for column in table.columns:
        time = _time(column.type)
        width = pa.int32() if time == pa.date32() else pa.int64()
        columns.append(column if time is None else column.cast(time).cast(width))
    return pa.table(columns, names=table.column_names)


def _retyped(batch: pa.RecordBatch, times: dict[str, pa.DataType | None]) -> pa.RecordBatch:
    """The batch with the dates and times that the frame's columns hold."""
    import pyarrow as pa

    names = batch.schema.names
    arrays = [a.cast(times[n]) if times[n] else a for n, a in zip(names, batch.columns, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names)


def _failure(error: Exception) -> BaseException:
    """A sentence in place of DuckDB's words, which may quote rows; Ctrl-C, which it reports too, stays so."""
    interrupted = re.match(r"(INTERRUPT Error: )?(Query )?interrupted", str(error), re.IGNORECASE)
    return KeyboardInterrupt() if interrupted else SourceError("the frame could not be read to its end")
