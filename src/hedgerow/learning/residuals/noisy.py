"""Noisy residuals, each with its standard deviation, from everything that was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.learning.residuals.basis import Basis, Names, subsets
from hedgerow.queries.strategies.strategy import ResidualStrategy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.measurement import Measurement

    Floats = NDArray[np.float64]

_EXACT = 1e-2  # rows: what is known without noise is taken to have this standard deviation


@dataclass(frozen=True, eq=False)
class NoisyResiduals:
    """What is known of residuals.

    Args:
        basis: the coordinates.
        values: what was measured, by set of attributes.
        deviations: the standard deviation of each coordinate of a set.
        rows: the number of rows, where it is public.
    """

    basis: Basis
    values: Mapping[Names, Floats]
    deviations: Mapping[Names, float]
    rows: float | None = None

    @classmethod
    def of(cls, domain: Domain, measurements: Sequence[Measurement], rows: float | None) -> NoisyResiduals:
        """Everything that tables of one attribute and strategies of residuals say, weighed by its precision.

        Noises are independent, so weighing by inverse variance is least squares coordinate by coordinate.
        """
        basis = Basis({a: domain[a].size for a in domain.names if domain[a].size > 1})
        sums: dict[Names, Floats] = {}
        weights: dict[Names, float] = {}

        def add(names: Names, values: Floats, deviation: float) -> None:
            precision = max(deviation, _EXACT) ** -2.0
            sums[names] = sums.get(names, 0.0) + precision * values
            weights[names] = weights.get(names, 0.0) + precision

        for m in measurements:
            sigma = float(np.sqrt(m.noise.variance))
            if isinstance(m.strategy, ResidualStrategy):
                for r in m.strategy.residuals:
                    values, deviation = _measured(m.strategy, r.attributes, m.values)
                    add(r.attributes, values, sigma * deviation)
            elif m.workload is None and len(m.attributes) <= 1:
                names = tuple(a for a in m.attributes if domain[a].size > 1)
                parts = basis.parts(names, m.counts.reshape([domain[a].size for a in names]))
                for s, values in parts.items():
                    add(s, values, sigma * m.counts.size**0.5 if not s else sigma)
        if rows is not None:
            sums[()], weights[()] = np.array(rows * _EXACT**-2.0), _EXACT**-2.0
        means = {s: np.asarray(v / weights[s]) for s, v in sums.items()}
        return cls(basis, means, {s: w**-0.5 for s, w in weights.items()}, rows)

    @property
    def total(self) -> float:
        """The measured number of rows, at least one."""
        return max(float(self.values[()]), 1.0)

    def holds(self, names: Names) -> bool:
        """Whether every residual of a table was measured."""
        return all(s in self.values for s in subsets(names))

    def variance(self, names: Names) -> float:
        """The mean variance of a table's cells, over those residuals that were measured."""
        each = (
            self.deviations[s] ** 2 * self.basis.numbers(s) * self.basis.spread(s, names)
            for s in subsets(names)
            if s in self.deviations
        )
        return sum(each) / max(1, int(np.prod([self.basis.sizes[a] for a in names])))

    def norm(self, names: Names, weights: Floats) -> float:
        """The standard deviation of a weighted sum of a measured table's cells; infinite for others."""
        if not self.holds(names):
            return inf
        parts = self.basis.parts(names, weights)
        return float(
            sum(
                (self.deviations[s] * self.basis.spread(s, names)) ** 2 * float((v**2).sum())
                for s, v in parts.items()
            )
            ** 0.5
        )


def _measured(strategy: ResidualStrategy, names: Names, numbers: NDArray[np.int64]) -> tuple[Floats, float]:
    """A residual in orthonormal coordinates, and the largest deviation of one for noise of deviation 1."""
    length = strategy.factors(strategy.of[names]).astype(np.float64)
    for i, a in enumerate(names):
        roots = np.sqrt(strategy.axes[a].tree.squares.astype(np.float64))
        length = length * roots.reshape([-1 if j == i else 1 for j in range(len(names))])
    values = numbers[strategy.places[names]].reshape(strategy.shape(names)) / length
    return values, 1.0 / float(np.min(length))
