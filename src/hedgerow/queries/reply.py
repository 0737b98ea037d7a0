"""Reply: what a question gets, in its own unit; and what a question and a believer must be able to say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from hedgerow.figures import bound, signed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hedgerow.queries.form import LinearForm
    from hedgerow.queries.query import Query
    from hedgerow.queries.readings import Linear
    from hedgerow.queries.within import Within
    from hedgerow.queries.workload import Workload

    Floats = NDArray[np.float64]

Shown = TypeVar("Shown", bound=Any)
"""An answer of the room that gives one: a dataclass with value, error, source, confidence, table, notes."""


_SHOWN = 12  # groups of a repr


@dataclass(frozen=True, eq=False, repr=False)
class Reply:
    """Values and errors in the question's unit, and the rows of a grouped answer.

    >>> Reply(120.4, 7.7)
    Reply(120.4 ± 7.7)
    """

    value: Any
    error: Any
    table: Any = None
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Every number with its error, by its group; a few of many."""
        import numpy as np

        values = np.asarray(self.value if self.table is None else self.table.values, dtype=np.float64)
        errors = np.asarray(self.error if self.table is None else self.table.errors, dtype=np.float64)
        errors = np.broadcast_to(errors, values.shape)
        names = [", ".join(g) for g in self.table.groups] if self.table is not None else []
        wide = values.shape[1] if values.ndim > 1 and self.table is not None else 1
        both = list(zip(values.ravel().tolist(), errors.ravel().tolist(), strict=True))
        said = []
        for i in range(0, min(len(both), _SHOWN * wide), wide):
            name = names[i // wide] if names else ""
            numbers = ", ".join(
                f"{signed(value, error)} ± {bound(error)}" for value, error in both[i : i + wide]
            )
            said.append(f"{name}: {numbers}" if name else numbers)
        more = len(both) // wide - len(said)
        return f"Reply({'; '.join(said)}{f'; and {more:,} more' if more > 0 else ''})"


class Believer(Protocol):
    """Whoever believes in a distribution: counts of queries, tables, and how far off they may be."""

    @property
    def within(self) -> Within | None: ...

    def count(self, query: Query) -> float: ...

    def counts(self, queries: Sequence[Query]) -> Floats: ...

    def table(self, attributes: tuple[str, ...]) -> Floats: ...

    def error(self, query: Query, count: float, confidence: float, numbers: int = 1) -> float: ...

    def form(self, form: LinearForm, confidence: float, numbers: int) -> tuple[Floats, Floats]: ...

    @property
    def readings(self) -> Linear: ...


class Asked(Protocol):
    """A question: its queries, and how their counts become a reply.

    `workload` holds the queries as they were asked, for doors that take them all at once and are `told` the
    answer from its numbers. `pieces` are the same counts, each in its one form: a session remembers them,
    makes its answer by `assemble`, and shows it as it was asked for by `shown`.
    """

    @property
    def key(self) -> str: ...

    @property
    def workload(self) -> Workload: ...

    @property
    def pieces(self) -> Sequence[Query]: ...

    def told(self, counts: Floats, errors: Floats, confidence: float, rows: float) -> Reply: ...

    @property
    def joint(self) -> bool: ...

    def bounds(self, simultaneous: bool) -> int: ...

    @property
    def selects(self) -> bool: ...

    def learned(self, belief: Believer, confidence: float, simultaneous: bool) -> Reply: ...

    def assemble(self, counts: Floats, errors: Floats, confidence: float, rows: float) -> Reply: ...

    def shown(self, answer: Shown) -> Shown: ...

    def in_unit(self, error: Any) -> Any: ...
