"""Reply: what a question gets, in its own unit; and what a question and a believer must be able to say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hedgerow.queries.form import LinearForm
    from hedgerow.queries.query import Query
    from hedgerow.queries.within import Within
    from hedgerow.queries.workload import Workload

    Floats = NDArray[np.float64]

Shown = TypeVar("Shown", bound=Any)
"""An answer of the room that gives one: a dataclass with value, error, confidence, table and notes."""


@dataclass(frozen=True, eq=False)
class Reply:
    """Values and errors in the question's unit, and the rows of a grouped answer."""

    value: Any
    error: Any
    table: Any = None
    notes: tuple[str, ...] = ()


class Believer(Protocol):
    """Whoever believes in a distribution: counts of queries, tables, and how far off they may be."""

    @property
    def within(self) -> Within | None: ...

    def count(self, query: Query) -> float: ...

    def counts(self, queries: Sequence[Query]) -> Floats: ...

    def table(self, attributes: tuple[str, ...]) -> Floats: ...

    def error(self, query: Query, count: float, confidence: float, numbers: int = 1) -> float: ...

    def form(self, form: LinearForm, confidence: float, numbers: int) -> tuple[Floats, Floats]: ...

    def linear(
        self, attributes: tuple[str, ...], weights: Floats, confidence: float, numbers: int = 1
    ) -> tuple[float, float]: ...


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
