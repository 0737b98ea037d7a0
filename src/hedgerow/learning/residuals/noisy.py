"""Noisy residuals, each with its standard deviation, from everything that was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, pi
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
STEP = 1e-3  # of its deviation: a step of a lattice that counts as fine is less
_FINE = 1.0 / STEP  # steps
_SMOOTH = 25.0  # tails of a sum are those of the normal law up to a part exp(-_SMOOTH)


@dataclass(frozen=True, eq=False)
class NoisyResiduals:
    """What is known of residuals.

    Args:
        basis: the coordinates.
        values: what was measured, by set of attributes.
        deviations: the standard deviation of each coordinate of a set.
        rows: the number of rows, where it is public.
        whole: of a set's variance, the part that is noise on whole rows and not on the finer lattice of a
            strategy; all of it where it is not named.
        scale: the least standard deviation of such noise.
    """

    basis: Basis
    values: Mapping[Names, Floats]
    deviations: Mapping[Names, float]
    rows: float | None = None
    whole: Mapping[Names, float] = field(default_factory=dict)
    scale: float = 0.0

    @classmethod
    def of(cls, domain: Domain, measurements: Sequence[Measurement], rows: float | None) -> NoisyResiduals:
        """Everything that tables of one attribute and strategies of residuals say, weighed by its precision.

        Noises are independent, so weighing by inverse variance is least squares coordinate by coordinate.
        """
        basis = Basis({a: domain[a].size for a in domain.names if domain[a].size > 1})
        sums: dict[Names, Floats] = {}
        weights: dict[Names, float] = {}
        coarse: dict[Names, float] = {}
        scale = inf

        def add(names: Names, values: Floats, deviation: float, *, fine: bool) -> None:
            precision = max(deviation, _EXACT) ** -2.0
            sums[names] = sums.get(names, 0.0) + precision * values
            weights[names] = weights.get(names, 0.0) + precision
            coarse[names] = coarse.get(names, 0.0) + (0.0 if fine else precision)

        for m in measurements:
            sigma = float(np.sqrt(m.noise.variance))
            if isinstance(m.strategy, ResidualStrategy):
                fine = float(m.noise.scale) >= _FINE and m.noise.family == "gaussian"
                scale = scale if fine else 0.0
                for r in m.strategy.residuals:
                    values, deviation = _measured(m.strategy, r.attributes, m.values)
                    add(r.attributes, values, sigma * deviation, fine=fine)
            elif m.workload is None and len(m.attributes) <= 1:
                names = tuple(a for a in m.attributes if domain[a].size > 1)
                parts = basis.parts(names, m.counts.reshape([domain[a].size for a in names]))
                scale = min(scale, sigma if m.noise.family == "gaussian" else 0.0)
                for s, values in parts.items():
                    add(s, values, sigma * m.counts.size**0.5 if not s else sigma, fine=False)
        if rows is not None:
            sums[()], weights[()], coarse[()] = np.array(rows * _EXACT**-2.0), _EXACT**-2.0, 0.0
        means = {s: np.asarray(v / weights[s]) for s, v in sums.items()}
        whole = {s: coarse[s] / w for s, w in weights.items()}  # of an average by precisions
        return cls(basis, means, {s: w**-0.5 for s, w in weights.items()}, rows, whole, scale)

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
        return sum(each) / self._cells(names)

    def blur(self, names: Names) -> float:
        """The L1 norm of a table's noise, as a part of all rows."""
        return float((2.0 / np.pi * self.variance(names)) ** 0.5 * self._cells(names) / self.total)

    def _cells(self, names: Names) -> int:
        return max(1, int(np.prod([self.basis.sizes[a] for a in names])))

    def norm(self, names: Names, weights: Floats) -> float:
        """The standard deviation of a weighted sum of a measured table's cells; infinite for others."""
        return self.law(names, weights)[0]

    def law(self, names: Names, weights: Floats | None = None) -> tuple[float, bool]:
        """The same, and whether that sum's noise has the tails of the normal law; by default of one cell.

        Discrete Gaussian noise of deviation t on whole rows plus normal noise of deviation u has a density
        within a factor 1 +- 2 exp(-2 pi^2 t^2 u^2 / (t^2 + u^2)) of the normal one, by Poisson's summation
        over the lattice. In a sum whose variance is by a part f on the strategy's lattice, which is so fine
        that its noise is normal up to `STEP`, every number on whole rows can be given a share of it: the
        exponent is 2 pi^2 t^2 f.
        """
        if not self.holds(names):
            return inf, False
        if weights is None:
            squares = {s: float(self.basis.numbers(s)) / self._cells(names) for s in subsets(names)}
            each = {s: self.basis.spread(s, names) * v for s, v in squares.items()}
        else:
            parts = self.basis.parts(names, weights)
            each = {s: self.basis.spread(s, names) ** 2 * float((v**2).sum()) for s, v in parts.items()}
        variances = {s: self.deviations[s] ** 2 * v for s, v in each.items()}
        whole = sum(v * self.whole.get(s, 1.0) for s, v in variances.items())
        variance = sum(variances.values())
        fine = 1.0 - whole / variance if variance > 0.0 else 0.0
        return variance**0.5, whole <= 0.0 or 2.0 * pi**2 * self.scale**2 * fine >= _SMOOTH


def _measured(strategy: ResidualStrategy, names: Names, numbers: NDArray[np.int64]) -> tuple[Floats, float]:
    """A residual in orthonormal coordinates, and the largest deviation of one for noise of deviation 1."""
    length = strategy.factors(strategy.of[names]).astype(np.float64)
    for i, a in enumerate(names):
        roots = np.sqrt(strategy.axes[a].tree.squares.astype(np.float64))
        length = length * roots.reshape([-1 if j == i else 1 for j in range(len(names))])
    values = numbers[strategy.places[names]].reshape(strategy.shape(names)) / length
    return values, 1.0 / float(np.min(length))
