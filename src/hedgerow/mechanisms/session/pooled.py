"""Pooled: a table by all that was measured of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod, sqrt
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.measurement import Measurement

    Floats = NDArray[np.float64]
    Names = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Pooled:
    """A table by all that was measured of it, and the variance of each cell.

    Args:
        counts: the mean of its own tables and of sums of larger ones, by inverse variance.
        variance: of each.
    """

    counts: Floats
    variance: float

    @classmethod
    def of(cls, measurements: Iterable[Measurement], names: Names) -> Pooled | None:
        """By tables that hold these attributes; None if there is none."""
        precision = 0.0
        total: Floats | None = None
        for m in measurements:
            if m.workload is not None or not set(names) <= set(m.attributes):
                continue
            out = tuple(i for i, a in enumerate(m.attributes) if a not in names)
            added = prod(m.counts.shape[i] for i in out)
            weight = 1.0 / max(m.noise.variance * added, 1e-4)
            part = weight * m.counts.sum(axis=out)
            total = part if total is None else total + part
            precision += weight
        return None if total is None else cls(total / precision, 1.0 / precision)

    def weighted(self, weights: Floats, total: float, total_variance: float) -> tuple[float, float]:
        """A weighted sum of the cells and its standard deviation, where the sum of all is known besides.

        The mean of the weights counts all rows, of which all tables tell; what is left of the weights sums to
        nothing, and noise that is alike in all cells moves that independently of their sum: least squares.

        >>> import numpy as np
        >>> Pooled(np.array([30.0, 10.0]), 4.0).weighted(np.array([1.0, 0.0]), 42.0, 2.0)
        (31.0, 1.5811388300841898)
        """
        mean = float(weights.mean())
        rest = weights - mean
        own = self.variance * float((rest**2).sum())
        return mean * total + float((rest * self.counts).sum()), sqrt(own + mean**2 * total_variance)
