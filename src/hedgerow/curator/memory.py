"""The in-memory engine: pandas, polars and Arrow frames, or a mapping of columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hedgerow.curator.engine import BATCH_ROWS
from hedgerow.errors import SourceError
from hedgerow.queries.encoding import to_arrow

if TYPE_CHECKING:
    import pyarrow as pa


class MemoryEngine:
    """Rows held by the caller's own frame."""

    untyped = False
    in_memory = True
    written: int | None = None

    def __init__(self, frame: Any) -> None:
        self._table, self.untyped = arrow_table(frame)

    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self._table.schema

    def check(self, columns: Sequence[str]) -> None:
        """Text that is not UTF-8 is refused before anything is asked."""
        check_text(self._table.select(list(columns)))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows of some columns."""
        yield from self._table.select(list(columns)).to_batches(max_chunksize=BATCH_ROWS)


def check_text(table: pa.Table) -> None:
    """Refuse columns that are broken inside: text that is not UTF-8, codes without a level."""
    import pyarrow as pa

    for name in table.column_names:
        try:
            table.column(name).validate(full=True)
        except (pa.ArrowInvalid, UnicodeDecodeError):
            raise SourceError(f"column {name!r} is broken inside; is its text UTF-8?") from None


def arrow_table(frame: Any) -> tuple[pa.Table, bool]:
    """Any frame as an Arrow table, and whether its text columns may hold anything (mixed objects)."""
    import pyarrow as pa

    if isinstance(frame, pa.Table):
        return frame, False
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame]), False
    if type(frame).__module__.startswith("polars"):
        return (frame.collect() if hasattr(frame, "collect") else frame).to_arrow(), False
    columns = frame if isinstance(frame, Mapping) or hasattr(frame, "columns") else None
    if columns is None:
        raise SourceError(
            f"a {type(frame).__name__} is not a table; give a file, a frame or a mapping of columns"
        )
    names = [str(name) for name in columns]
    if len(set(names)) < len(names):
        raise SourceError("two columns have the same name")
    arrays = [to_arrow(columns[name]) for name in columns]
    if len({len(a) for a in arrays}) > 1:
        raise SourceError("the columns do not have the same length")
    objects = any(str(getattr(columns[name], "dtype", "object")) == "object" for name in columns)
    return pa.table(dict(zip(names, arrays, strict=True))), objects
