"""What measured tables say of tables inside them: noisy counts, and the law of the noise of their sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Protocol

import numpy as np

from hedgerow.learning.residuals.basis import Basis, Names
from hedgerow.learning.residuals.noisy import NoisyResiduals
from hedgerow.queries.measurement import Measurement, Noise
from hedgerow.synopsis.limits import MeasuredTable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain

    Floats = NDArray[np.float64]

_NORMAL = 4  # lattice steps: discrete Gaussian noise of this deviation has the tails of the normal law


class KnownTable(Protocol):
    """A table as it was measured at full detail: its counts, the variance of a cell, and widths that hold."""

    @property
    def counts(self) -> Floats: ...

    @property
    def variance(self) -> float: ...

    def deviation(self, weights: Floats) -> float: ...

    def half_width(self, confidence: float, weights: Floats, numbers: int) -> float: ...

    def cell_width(self, confidence: float, numbers: int) -> float: ...


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """A table with independent noise of one law in every cell."""

    counts: Floats
    noise: Noise

    @property
    def variance(self) -> float:
        """Of one cell."""
        return self.noise.variance

    def deviation(self, weights: Floats) -> float:
        """The standard deviation of a weighted sum of cells."""
        return float(np.sqrt(self.noise.variance * (np.asarray(weights) ** 2).sum()))

    def half_width(self, confidence: float, weights: Floats, numbers: int) -> float:
        """How far a weighted sum of cells may be off."""
        return self.noise.half_width(confidence, weights, numbers)

    def cell_width(self, confidence: float, numbers: int) -> float:
        """How far a cell may be off."""
        return self.noise.half_width(confidence, numbers=numbers)


def measured_whole(
    measurements: Sequence[Measurement], attributes: tuple[str, ...], *, margins: bool = True
) -> NoisyTable | None:
    """A table as it was measured at full detail, and the noise of its cells; None if it was not.

    Gaussian measurements are averaged with inverse-variance weights; with Laplace noise the best is taken.

    Args:
        measurements: all there are.
        attributes: of the table.
        margins: whether larger tables that have this one as a margin count too.
    """
    tables = [
        t for t in MeasuredTable.all_of(measurements) if margins or set(t.attributes) == set(attributes)
    ]
    found = [x for t in tables if (x := _margin(t, attributes)) is not None]
    alone = [x for x in found if x.cells == 1]
    if not alone or len(found) < 2 or any(x.noise.family != "gaussian" for x in found):
        best = min(alone, key=lambda x: x.noise.variance, default=None)
        return None if best is None else NoisyTable(best.counts, best.noise)
    precision = np.array([1.0 / max(x.noise.variance * x.cells, 1e-9) for x in found])
    shares = precision / precision.sum()
    table = sum(c * x.counts for c, x in zip(shares, found, strict=True))
    return NoisyTable(np.asarray(table), _law(float(precision.sum()) ** -0.5, shares, found))


@dataclass(frozen=True, eq=False)
class _Margin:
    """A measured table summed to some of its attributes: how many cells were added up, and their noise."""

    counts: Floats
    noise: Noise
    cells: int


def _margin(t: MeasuredTable, attributes: tuple[str, ...]) -> _Margin | None:
    """The margin of a measured table, if it holds every level of these attributes."""
    if not attributes or not set(attributes) <= set(t.attributes):
        return None
    shape = t.counts.shape
    if any(shape[i] != len(t.groups[i]) for i, a in enumerate(t.attributes) if a in attributes):
        return None
    out = tuple(i for i, a in enumerate(t.attributes) if a not in attributes)
    kept = [a for a in t.attributes if a in attributes]
    levels = np.ix_(*(t.groups[t.attributes.index(a)] for a in kept))
    whole = np.asarray(t.counts.sum(axis=out))[levels].transpose([kept.index(a) for a in attributes])
    return _Margin(whole, t.noise, prod(shape[i] for i in out))


def ones_of(domain: Domain, measurements: Sequence[Measurement]) -> NoisyResiduals | None:
    """The number of rows and the contrasts of single attributes, by all measured tables that tell them.

    A table's sum and the contrasts of its margins have independent noise, and tables have too: so averages by
    inverse variance are least squares. An attribute is told by a table that holds all its levels. None unless
    all noise is Gaussian.
    """
    tables = list(MeasuredTable.all_of(measurements))
    if not tables or any(t.noise.family != "gaussian" for t in tables):
        return None
    basis = Basis({a: domain[a].size for a in domain.names if domain[a].size > 1})
    sums: dict[Names, Floats] = {}
    precisions: dict[Names, float] = {}

    def add(names: Names, values: Floats, variance: float) -> None:
        precision = 1.0 / max(variance, 1e-9)
        sums[names] = sums.get(names, 0.0) + precision * values
        precisions[names] = precisions.get(names, 0.0) + precision

    for t in tables:
        add((), np.asarray(t.counts.sum()), t.noise.variance * t.counts.size)
        for a in t.attributes:
            if a in basis.sizes and (x := _margin(t, (a,))) is not None:
                add((a,), basis.residual((a,), x.counts), x.noise.variance * x.cells)
    values = {s: np.asarray(v / precisions[s]) for s, v in sums.items()}
    return NoisyResiduals(basis, values, {s: p**-0.5 for s, p in precisions.items()})


def _law(deviation: float, shares: Floats, found: Sequence[_Margin]) -> Noise:
    """The law of such an average: normal, if all its parts are, up to a step of the heaviest part's lattice.

    With noise that is hardly wider than its lattice it is sub-Gaussian, as every sum of such noise.
    """
    if any(x.noise.scale < _NORMAL for x in found):
        return Noise("gaussian", Fraction(deviation))
    steps = int(1.0 / max(c / x.noise.denominator for c, x in zip(shares, found, strict=True)) + 1e-9)
    return Noise("gaussian", max(Fraction(deviation) * steps, Fraction(_NORMAL)), steps)
