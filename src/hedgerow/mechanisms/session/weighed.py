"""Weighed: a table that was measured after a session was primed, weighed against what was believed of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod, sqrt
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.synopsis.cva import cva

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.measurement import Measurement

    Floats = NDArray[np.float64]

_LEAST = 0.05  # the least weight that bars are made for


@dataclass(frozen=True, eq=False)
class Weighed:
    """A margin of a measured table: its noisy counts, and the variance of a cell's noise.

    With what was believed before as M, and Y that M was not fitted to, M + w (Y - M) is believed, where
    w = max(0, 1 - (d - 2) sigma^2 / |Y - M|^2) (Stein): its squared error is never much more than the better
    one's. The part (1 - w) (M - truth) of its error is unknown but for its mean square over the cells; bars
    cover on average over the sums of this table, whatever it is (`cva`).
    """

    counts: Floats
    variance: float

    @classmethod
    def best(
        cls, domain: Domain, measurements: Sequence[Measurement], names: tuple[str, ...]
    ) -> Weighed | None:
        """What says most about a table of more than one attribute; None if nothing does."""
        found = []
        for m in measurements:
            whole = m.workload is None and m.strategy is None and len(m.attributes) > 1
            if whole and len(names) > 1 and set(names) <= set(m.attributes):
                out = tuple(i for i, a in enumerate(m.attributes) if a not in names)
                kept = [a for a in m.attributes if a in names]
                summed = m.counts.sum(axis=out).transpose([kept.index(a) for a in names])
                hidden = prod(domain[a].size for a in m.attributes if a not in names)
                found.append(cls(np.asarray(summed, dtype=np.float64), m.noise.variance * hidden))
        return min(found, key=lambda w: w.variance) if found else None

    def weight(self, believed: Floats) -> float:
        """How far towards what was measured."""
        gap = float(((self.counts - believed) ** 2).sum())
        return max(0.0, 1.0 - max(self.counts.size - 2, 1) * self.variance / max(gap, 1e-300))

    def combined(self, believed: Floats) -> Floats:
        """The table that is believed then; its total stays."""
        move = self.weight(believed) * (self.counts - believed)
        table = np.maximum(believed + move - move.mean(), 0.0)
        total = float(believed.sum())
        return np.asarray(table * (total / max(float(table.sum()), 1e-300)))

    def half_width(self, table: Floats, weights: Floats, confidence: float, numbers: int) -> float:
        """How far a weighted sum of the combined table's cells may be off, on average over such sums.

        Y - (M + w (Y - M)) = (1 - w) (Y - M), whose mean square less that of its noise is (1 - w)^2 times
        that of the biases M - truth; and w itself follows from it, since (1 - w) |Y - M|^2 = (d - 2) sigma^2.
        """
        gap = float(((self.counts - table) ** 2).mean())  # (1 - w)^2 mean (Y - M)^2
        w = max(_LEAST, 1.0 - gap * self.counts.size / (max(self.counts.size - 2, 1) * self.variance))
        bias = max(0.0, gap - (1.0 - w) ** 2 * self.variance)
        m2 = bias / (w**2 * self.variance)
        norm = sqrt(float((weights**2).sum()))
        return cva(round(m2, 6), 1.0 - (1.0 - confidence) / numbers) * w * sqrt(self.variance) * norm
