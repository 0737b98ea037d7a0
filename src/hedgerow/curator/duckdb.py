"""The DuckDB engine: a frame read through DuckDB, as a stream of Arrow batches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from hedgerow.curator.engine import BATCH_ROWS
from hedgerow.curator.memory import arrow_table, check_text
from hedgerow.errors import SourceError

if TYPE_CHECKING:
    import pyarrow as pa


class DuckDBEngine:
    """Rows of a frame.

    Args:
        frame: a pandas, polars or Arrow frame, or a mapping of columns.
        unit, unit_type: see `MemoryEngine`.
    """

    in_memory = True
    written: int | None = None

    def __init__(self, frame: Any, unit: str | None = None, unit_type: str | None = None) -> None:
        import duckdb

        self._connection = duckdb.connect(":memory:")
        self._connection.execute("SET enable_progress_bar = false")
        self._connection.execute("SET TimeZone = 'UTC'")  # instants, the same whatever this machine's zone
        self._frame, self.untyped = arrow_table(frame, unit, unit_type)
        try:
            self._connection.register("rows", self._frame)
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
        zones = {f.name: f.type for f in self._frame.schema if getattr(f.type, "tz", None) is not None}
        try:
            result = self._connection.sql(f"SELECT {names} FROM rows")
            reader = getattr(result, "to_arrow_reader", None) or result.fetch_record_batch
            for batch in reader(BATCH_ROWS):
                yield _in_zones(batch, zones)
        except (duckdb.Error, OSError, ValueError, RuntimeError) as error:
            raise _failure(error) from None


def _in_zones(batch: pa.RecordBatch, zones: dict[str, pa.DataType]) -> pa.RecordBatch:
    """The batch with the zones that the frame's columns have."""
    import pyarrow as pa

    arrays = [
        array.cast(pa.timestamp(array.type.unit, zones[name].tz)) if name in zones else array
        for name, array in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, batch.schema.names)


def _failure(error: Exception) -> BaseException:
    """A sentence in place of DuckDB's words, which may quote rows; Ctrl-C, which it reports too, stays so."""
    interrupted = re.match(r"(INTERRUPT Error: )?(Query )?interrupted", str(error), re.IGNORECASE)
    return KeyboardInterrupt() if interrupted else SourceError("the frame could not be read to its end")
