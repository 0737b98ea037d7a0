"""DistributionSynopsis: answers from one probability for every possible row."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log, sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hedgerow.queries.measurement import Measurement, Noise
from hedgerow.queries.packing import pack_measurement, unpack_measurement
from hedgerow.queries.workload import Workload
from hedgerow.synopsis.cells import CellsSynopsis
from hedgerow.synopsis.sampling import TreeModel
from hedgerow.synopsis.synopsis import Provenance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain
    from hedgerow.synopsis.answer import Source
    from hedgerow.synopsis.cells import Weighed

    Floats = NDArray[np.float64]

_ON_AVERAGE = (
    "The error bounds the root mean square over the questions of the release; of one answer alone, and of "
    "other questions, it is indicative."
)


@dataclass(frozen=True)
class Reach:
    """What the projection's theorem needs: its bound is on the root mean square over the workload's queries.

    Args:
        queries: k, how many queries there are.
        cells: |X|, how many kinds of rows there are.
        column: the largest Euclidean norm of a row's weights over all queries.
        noise: the law of the noise on an answer.
        total: the law of the noise on the total; none when it is public.
        gap: how far the mean squared distance may be above the least, in squared rows.
    """

    queries: int
    cells: int
    column: float
    noise: Noise
    total: Noise
    gap: float

    def bound(self, rows: float, confidence: float) -> float:
        """A bound on the root mean square error that holds with this probability; see `Projection`."""
        beta = (1.0 - confidence) / 2.0
        sigma = float(self.noise.scale) / self.noise.denominator
        widest = sigma * self.column * sqrt(2.0 * log(2.0 * self.cells / beta))
        projected = sqrt(2.0 * max(rows, 0.0) * widest / self.queries)
        return projected + 2.0 * self.total.half_width(1.0 - beta) + sqrt(self.gap)


@dataclass(frozen=True, eq=False, repr=False)
class DistributionSynopsis(CellsSynopsis):
    """A distribution over all cells, fitted to noisy answers; errors of single answers are indicative."""

    cells: Floats | None = None
    rows: float = 0.0
    reach: Reach | None = None
    noisy: tuple[Measurement, ...] = ()
    kind: ClassVar[str] = "distribution"
    source: ClassVar[Source] = "learned"

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """The noisy answers, and the noisy total unless it was public."""
        return self.noisy

    @property
    def total(self) -> float:
        """The released number of rows."""
        return self.rows

    def _notes(self, question: Any) -> tuple[str, ...]:
        """What the stated error is a bound on."""
        return (_ON_AVERAGE,)

    def _workload(self, workload: Workload, confidence: float, numbers: int) -> tuple[Any, Any]:
        """All queries at once: values in the queries' units, one error for all."""
        values = workload.evaluate(self._table)
        error = self._mean(confidence, numbers)
        if all(b.denominator == 1 for b in workload.blocks) and workload.is_tables:
            return values, np.full(len(workload), error)
        scales = np.array([abs(q.scale) for q in workload])
        return workload.to_units(values), scales * error

    def _error(self, asked: Weighed, confidence: float, numbers: int) -> float:
        return self._mean(confidence, numbers)

    def _mean(self, confidence: float, numbers: int) -> float:
        """The bound on the root mean square error over the workload."""
        assert self.reach is not None
        return self.reach.bound(self.rows, 1.0 - (1.0 - confidence) / numbers)

    def _table(self, names: tuple[str, ...]) -> Floats:
        assert self.cells is not None
        others = tuple(i for i, a in enumerate(self.domain) if a not in names)
        return np.asarray(self.cells.sum(axis=others)) * self.rows

    def sample(self, rows: int | None = None, *, seed: int | None = None) -> dict[str, NDArray[Any]]:
        """Synthetic rows, drawn independently from the distribution."""
        number = self._how_many(rows, seed)
        assert self.cells is not None
        return self._spread(TreeModel((), (self.domain.names, self.cells)).sample(number, seed), seed)

    # -- files --------------------------------------------------------------------------------------------

    def _pack(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        assert self.cells is not None
        assert self.reach is not None
        r = self.reach
        noisy = [pack_measurement(m, arrays) for m in self.noisy]
        arrays["cells"] = self.cells
        laws = {"noise": r.noise.to_json(), "total": r.total.to_json()}
        return {
            "rows": self.rows,
            "noisy": noisy,
            "queries": r.queries,
            "column": r.column,
            "gap": r.gap,
        } | laws

    @classmethod
    def _unpack(
        cls, domain: Domain, provenance: Provenance, body: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> DistributionSynopsis:
        noise, total = (Noise.from_json(body[key]) for key in ("noise", "total"))
        size = int(body["queries"]), domain.size, float(body["column"])
        reach = Reach(*size, noise, total, float(body["gap"]))
        noisy = tuple(unpack_measurement(m, arrays) for m in body["noisy"])
        return cls(domain, provenance, arrays["cells"], float(body["rows"]), reach, noisy)


PUBLIC = Noise("none", Fraction(0))
"""No noise: what is public."""
