"""Engine: where rows come from. One small contract, one file per source; all decisions are made above it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 1 << 16


class Engine(Protocol):
    """A readable source of rows.

    `untyped` says that text columns may hold anything (a CSV file), so that a text column is no type error.
    `in_memory` says that the rows are a frame of the caller's: only then a ledger in memory is the default.
    `written` is when a file was last changed, or None where rows may change without a trace.
    Errors are SourceError and never quote a value.
    """

    untyped: bool
    in_memory: bool = False

    @property
    def written(self) -> int | None:
        """When the file was last changed, in nanoseconds."""

    def schema(self) -> pa.Schema:
        """Names and types of the columns."""

    def check(self, columns: Sequence[str]) -> None:
        """Refuse, for the owner to hear when the table is opened, what would fail when it is read."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows of some columns, in any order, a batch at a time."""
