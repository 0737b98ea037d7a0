"""Engine: where rows come from. One small contract, one file per source; all decisions are made above it.

To write one's own, subclass `Engine` and give `schema` and `batches`, run
`hedgerow.testing.contracts.check_engine` on it, and hand it to `Table.open`. One that can count by itself,
where the rows are, also has `count_tables`, see `CountingEngine`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from hedgerow.errors import HedgerowError, SourceError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from hedgerow.curator.rows.coding import Bound
    from hedgerow.curator.rows.name_sums import NameSum
    from hedgerow.curator.rows.sums import RowSum
    from hedgerow.queries.domain.domain import Domain, OpenDomain

BATCH_ROWS = 1 << 16

Clique = tuple[str, ...]


@runtime_checkable
class Engine(Protocol):
    """A readable source of rows.

    `untyped` says that text columns may hold anything (a CSV file), so that a text column is no type error.
    `in_memory` says that the rows are a frame of the caller's: only then a ledger in memory is the default.
    `written` is when a file was last changed, or None where rows may change without a trace.
    Errors are SourceError and never quote a value.
    """

    untyped: bool = False
    in_memory: bool = False

    @property
    def written(self) -> int | None:
        """When the file was last changed, in nanoseconds."""
        return None

    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        ...

    def check(self, columns: Sequence[str]) -> None:
        """Refuse, for the owner to hear when the table is opened, what would fail when it is read."""
        return None

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows of some columns, in any order, a batch at a time."""
        ...


@runtime_checkable
class CountingEngine(Engine, Protocol):
    """An engine that counts tables itself, and bounds what one unit contributes, without handing over rows.

    It owes the same integers, to the last one, that its batches would give: rows are coded as
    `coding.coded` does, and of every unit those rows stay that `coding.kept` keeps. What stays of a unit
    depends on its own rows and the key alone, so units may be divided among machines.
    """

    def count_tables(
        self, domain: Domain, cliques: Sequence[Clique], bound: Bound | None
    ) -> Mapping[Clique, NDArray[np.int64]] | None:
        """Exact tables, axes in the clique's order; None leaves this to `batches`.

        Args:
            domain: the declared domain; its attributes are read from `domain.columns`.
            cliques: the attributes of each table.
            bound: whose rows are bounded, and how; None where every row counts.
        """
        ...


@runtime_checkable
class SummingEngine(Engine, Protocol):
    """An engine that codes, bounds and adds up rows where they are: only sums travel.

    It owes the same integers, to the last one, as `batches`: rows are coded as `coding.coded_rows` does, of
    every unit those stay that `coding.kept_values` keeps, and every row is in the sum once, whatever is
    tried again on the way.
    """

    def summed(self, domain: Domain, work: RowSum, bound: Bound | None) -> list[NDArray[np.int64]] | None:
        """What `work` gives for all rows; None leaves this to `batches`.

        Args:
            domain: the declared domain.
            work: is called with parts of the rows, and what it returns is added up.
            bound: whose rows are bounded, and how; None where every row counts.
        """
        ...


@runtime_checkable
class NamingEngine(Engine, Protocol):
    """An engine that adds up what is asked of names of an open domain where they are: only sums travel.

    It owes the same integers as `batches`: names are spelled by `encoding.as_text`, and of every unit those
    rows stay that `counted_names.named_counts` keeps.
    """

    def summed_names(
        self, domain: OpenDomain, work: NameSum, bound: Bound | None
    ) -> list[NDArray[np.int64]] | None:
        """What `work` gives for all rows; None leaves this to `batches`.

        Args:
            domain: which column holds the names.
            work: is called with parts of the rows' names, and what it returns is added up.
            bound: whose rows are bounded, and how; None where every row counts.
        """
        ...


@contextmanager
def reading() -> Iterator[None]:
    """Whatever an engine raises is said in one sentence without its words, which may quote rows."""
    try:
        yield
    except HedgerowError:
        raise
    except Exception:
        raise SourceError("the rows could not be read to their end") from None


def counted_by(
    engine: Engine, domain: Domain, cliques: Sequence[Clique], bound: Bound | None
) -> dict[Clique, NDArray[np.int64]] | None:
    """Tables that an engine counts itself, checked for their form; None if it does not."""
    if not isinstance(engine, CountingEngine):
        return None
    with reading():
        found = engine.count_tables(domain, list(cliques), bound)
    return None if found is None else {c: _checked(found.get(c), domain.shape_of(c)) for c in cliques}


def summed_by(
    engine: Engine, domain: Domain, work: RowSum, bound: Bound | None
) -> list[NDArray[np.int64]] | None:
    """Sums that an engine makes itself, checked for their form; None if it does not."""
    if not isinstance(engine, SummingEngine):
        return None
    shapes = [zeros.shape for zeros in work(iter(()))]  # and what is refused is refused here
    with reading():
        found = engine.summed(domain, work, bound)
    return None if found is None else [_checked(t, s) for t, s in zip(found, shapes, strict=True)]


def names_summed_by(
    engine: Engine, domain: OpenDomain, work: NameSum, bound: Bound | None
) -> list[NDArray[np.int64]] | None:
    """Sums over names that an engine makes itself, checked for their form; None if it does not."""
    if not isinstance(engine, NamingEngine):
        return None
    shapes = [zeros.shape for zeros in work((), np.zeros(0, np.int64))]  # and what is refused is refused here
    with reading():
        found = engine.summed_names(domain, work, bound)
    return None if found is None else [_checked(t, s) for t, s in zip(found, shapes, strict=True)]


def _checked(table: Any, shape: tuple[int, ...]) -> NDArray[np.int64]:
    if not isinstance(table, np.ndarray) or table.dtype != np.int64 or table.shape != shape:
        raise SourceError("the engine did not count the tables that it was asked for")
    return table.copy()
