"""CellsSynopsis: what synopses share that hold a count for every cell; some have a theorem behind them."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hedgerow.queries.query import ONE
from hedgerow.synopsis.synopsis import Synopsis
from hedgerow.synopsis.table_sums import BoxedWeights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.measurement import Noise
    from hedgerow.queries.workload import Workload

    Floats = NDArray[np.float64]
    Weighed = tuple[tuple[str, ...], Floats, Floats]  # attributes, their table, and a weight for each cell


class CellsSynopsis(Synopsis):
    """A count for every cell of the domain: any table, any linear question, and rows."""

    def linear(
        self, attributes: tuple[str, ...], weights: Floats, confidence: float, numbers: int = 1
    ) -> tuple[float, float]:
        """A weighted count, and what is known of its error."""
        table, weights = np.asarray(self._table(attributes)), np.asarray(weights, dtype=np.float64)
        asked: Weighed = (attributes, table, weights)
        return BoxedWeights(weights).counted(table), self._error(asked, confidence, numbers)

    @abstractmethod
    def _error(self, asked: Weighed, confidence: float, numbers: int) -> float:
        """How far off a weighted count of a table may be, as one of so many numbers."""


class ProvenBound:
    """A bound on all queries of one workload at once, in rows that are public or were measured by a law."""

    workload: Workload
    parts: ClassVar[float]  # the probability that the bound allows is divided into so many

    @property
    @abstractmethod
    def law(self) -> Noise | None: ...

    @abstractmethod
    def bound(self, confidence: float) -> float:
        """How far off, in rows, any query of the workload may be: all of them at once."""

    @cached_property
    def known(self) -> frozenset[tuple[tuple[str, ...], bytes | None]]:
        """The queries of the workload, by their weights."""
        return frozenset((q.attributes, _steps(q.weights / ONE)) for q in self.workload)


class BoundedSynopsis(CellsSynopsis):
    """Cells whose answers to one workload are within a theorem's bound; of others it says what is trivial."""

    @property
    @abstractmethod
    def _theorem(self) -> ProvenBound: ...

    def _error(self, asked: Weighed, confidence: float, numbers: int) -> float:
        (attributes, table, weights), theorem = asked, self._theorem
        value = float((table * weights).sum())
        # Either bound may be used, so both allow for the same error of the number of rows.
        reach = self.total + rows_off(self.total, theorem.law, (1.0 - confidence) / theorem.parts)
        most, least = (float(f(weights, initial=0.0)) * reach for f in (np.max, np.min))
        own = (attributes, _steps(weights)) in theorem.known
        return min(theorem.bound(confidence) if own else inf, max(most - value, value - least))

    def _workload(self, workload: Workload, confidence: float, numbers: int) -> tuple[Any, Any]:
        """One by one: cells of a table do not all have the same trivial bound."""
        return self._one_by_one(workload, confidence, numbers)


def rows_off(rows: float, law: Noise | None, beta: float) -> float:
    """How far a number of rows may be off that is public (no law) or was measured; it is at least one."""
    if law is None:
        return 1.0 if rows <= 1.0 else 0.0
    return law.half_width(1.0 - beta) + 1.0


def _steps(weights: Floats) -> bytes | None:
    """Weights in lattice steps; None where they are no query's."""
    steps = weights * ONE
    whole = np.rint(steps).astype(np.int64)
    return whole.tobytes() if np.array_equal(whole, steps) else None
