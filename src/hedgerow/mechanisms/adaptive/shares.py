"""Shares: how precisely each residual of a workload is worth measuring, before any of them is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, pi, prod, sqrt
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.errors import RangeTooLarge
from hedgerow.learning.residuals.basis import Names, subsets
from hedgerow.queries.strategies.contrast import Contrasts
from hedgerow.queries.strategies.strategy import Residual, ResidualStrategy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

EXPECTED = {2: 1.0, 3: 0.03}
"""By number of attributes: the variance that logarithms of cells have beyond smaller tables, as expected."""
BEYOND = 0.003  # and for more attributes
SPARSE, SPARSEST = 10.0, 6.0
"""How much more a margin counts than its table, for noise of an average cell, and at most."""
STANDS_OUT = 3.0  # standard deviations of noise by which a cell stands out by half
_STEPS = 8  # that an attribute's levels are taken together in
_ROUNDS = 4  # of weighing tables by their own error
_TOLERANCES = (1e-3, 1e-2, 1e-1)  # of the contrasts' scales: the first whose whole numbers fit
_FLOORS = (16, 4, 1)  # the least whole weight
_FAINT = 1e-3  # what adds so little to what is known already is left out


@dataclass(frozen=True, eq=False)
class Outlook:
    """What is public or released before residuals are measured.

    Args:
        sizes: levels of every attribute that has more than one.
        tables: the workload's attribute sets with their weights.
        total: the number of rows.
        ones: the released one-way distributions.
        known: precisions (1 / variance) that residuals have already.
        sums: whether sums over any levels of the tables are asked, and not their cells.
        signals: variances of a coordinate of residuals that are known better than by what is usual.
        beside: other tables that count, with their weights, though no error is told of them.
    """

    sizes: Mapping[str, int]
    tables: Mapping[Names, float]
    total: float
    ones: Mapping[str, Floats]
    known: Mapping[Names, float] = field(default_factory=dict)
    sums: bool = False
    signals: Mapping[Names, float] = field(default_factory=dict)
    beside: Mapping[Names, float] = field(default_factory=dict)

    def plan(self, precision: float) -> Shares:
        """Divide what buys this precision for one table among all residuals.

        A residual S of `numbers` coordinates with signal variance s per coordinate leaves an error of
        numbers / (p + 1/s) when it is measured with precision p, and costs p times its largest column. The
        sum of need times error over all S, at a given cost, is least at p = sqrt(need numbers / (l column))
        - 1/s, or 0 where that is negative (water-filling): what is expected to be below its noise is not
        measured at all. The needs come from the tables, each weighed so that the sum of L1 errors of busy
        cells is least and not that of squares: where nobody is, noise is cut off. A sum over half the levels
        of every attribute has, from each residual inside its table, the same part of its squared error.

        Cutting takes away noise of a table's largest residuals and leaves that of its margins, which every
        cell above zero has to carry. So the emptier a table is against its noise, the more the residuals of
        its margins count, once for every attribute that they leave out. On dense tables of few rows that
        took a fifth off the error and half off its spread; where cells are full nothing changes.
        """
        counted = {**self.tables, **self.beside}
        names = sorted({s for t in counted for s in subsets(t)}, key=lambda s: (len(s), s))
        place = {s: i for i, s in enumerate(names)}
        columns = np.array([prod(1.0 - 1.0 / self.sizes[a] for a in s) for s in names])
        numbers = np.array([float(prod(self.sizes[a] - 1 for a in s)) for s in names])
        known = np.array([self.known.get(s, 0.0) for s in names])
        unsure = 1.0 / np.array([self._signal(s) for s in names])
        sets = list(counted)
        at = [np.array([place[s] for s in subsets(t)]) for t in sets]
        kept = [
            np.array([prod(1.0 / self.sizes[a] for a in t if a not in s) for s in subsets(t)]) for t in sets
        ]
        cells = np.array([float(prod(self.sizes[a] for a in t)) for t in sets])
        orders = np.array([len(s) for s in names])
        weights = np.array([counted[t] for t in sets])
        busy = np.minimum([prod(self._busy(a) for a in t) for t in sets], cells)
        if self.sums:
            kept = [np.full(1 << len(t), 4.0 ** -len(t)) for t in sets]
            cells = busy = np.ones(len(sets))
        each, found, boost = weights.copy(), known, np.ones(len(sets))
        for _ in range(_ROUNDS):
            need = np.zeros(len(names))
            for w, i, k, b in zip(each, at, kept, boost, strict=True):
                need[i] += w * k * b ** (orders[i].max() - orders[i])
            found = _filled(need * numbers, columns, unsure, known, precision)
            risk = numbers / (found + unsure)
            squares = np.array([float(risk[i] @ k) for i, k in zip(at, kept, strict=True)])
            deviations = np.sqrt(squares / cells)
            worth = busy
            if not self.sums:  # a sum has no cells that noise could be cut off from
                boost = np.clip(1.0 + SPARSE * deviations * cells / self.total, 1.0, SPARSEST)
                worth = np.maximum(busy, [self._seen(t, d) for t, d in zip(sets, deviations, strict=True)])
            each = weights * worth / (cells * np.maximum(deviations, 1e-300))
        errors = sqrt(2.0 / pi) * deviations * busy / self.total
        new = {s: float(p - k) for s, p, k in zip(names, found, known, strict=True) if p > k}
        shares = {s: float(v) for s, v in zip(names, columns * (found - known) / precision, strict=True)}
        closed = {s: p for s, p in new.items() if all(x in new or x in self.known for x in subsets(s))}
        told = slice(len(self.tables))
        error = float(np.average(np.minimum(errors[told], 2.0), weights=weights[told]))
        return Shares(self, closed, shares, error)

    def _signal(self, s: Names) -> float:
        """The expected variance of a coordinate: cells of independent attributes, each off by a factor."""
        if len(s) < 2:
            return 1e30
        return self.signals[s] if s in self.signals else self.usual(s, EXPECTED.get(len(s), BEYOND))

    def usual(self, s: Names, off: float = 1.0) -> float:
        """The variance of a coordinate, if logarithms of independent attributes' cells had this variance."""
        together = prod(float((self.ones[a] ** 2).sum()) for a in s)
        return off * self.total**2 * together / prod(self.sizes[a] - 1 for a in s)

    def _seen(self, t: Names, deviation: float) -> float:
        """How many cells of a table stand out of noise: each by m / (m + noise), m if all were independent.

        Levels of an attribute are taken together by rank, a few at a time.
        """
        means, cells = np.array(self.total), np.array(1.0)
        for a in t:
            law, number = self._steps[a]
            means, cells = np.multiply.outer(means, law), np.multiply.outer(cells, number)
        return float((cells * means / (means + STANDS_OUT * deviation)).sum())

    @cached_property
    def _steps(self) -> dict[str, tuple[Floats, Floats]]:
        """Every attribute's levels in a few steps of falling size: the mean of each, and how many it has."""
        out = {}
        for a in self.sizes:
            parts = np.array_split(np.sort(self.ones[a])[::-1], min(self.sizes[a], _STEPS))
            out[a] = np.array([x.mean() for x in parts]), np.array([float(x.size) for x in parts])
        return out

    def _busy(self, a: str) -> float:
        """How many levels an attribute seems to have: the exponential of its entropy."""
        p = self.ones[a][self.ones[a] > 0.0]
        return float(np.exp(-(p * np.log(p)).sum()))


@dataclass(frozen=True, eq=False)
class Shares:
    """New precisions of residuals, as parts of the price, and the mean L1 error expected of tables."""

    outlook: Outlook
    precisions: Mapping[Names, float]
    parts: Mapping[Names, float]
    error: float

    @property
    def numbers(self) -> int:
        """How many numbers would be measured."""
        return sum(prod(self.outlook.sizes[a] - 1 for a in s) for s in self.precisions)

    def lossless(self, spread: Mapping[str, float]) -> float:
        """The largest part of the price for one-way tables, divided so, that measures no residual too well.

        A table of d levels spends 1/d of its price on the total and the rest on its contrasts.
        """
        most = inf
        total = sum(part / self.outlook.sizes[a] for a, part in spread.items())
        if () in self.parts and total > 0.0:
            most = self.parts[()] / total
        for a, part in spread.items():
            most = min(
                most, self.parts.get((a,), 0.0) / max(part * (1.0 - 1.0 / self.outlook.sizes[a]), 1e-30)
            )
        return most

    def _counts(self, s: Names, precision: float) -> bool:
        return precision > _FAINT * self.outlook.known.get(s, 0.0)

    @cached_property
    def strategy(self) -> ResidualStrategy | None:
        """Whole numbers in these proportions; None where they would pass 64 bits."""
        for tolerance in _TOLERANCES:
            axes = {a: Contrasts.close(n, "even", tolerance) for a, n in self.outlook.sizes.items()}
            kept = {s: sqrt(p / _length(axes, s)) for s, p in self.precisions.items() if self._counts(s, p)}
            least = min(kept.values())
            for floor in _FLOORS:
                whole = {s: max(1, round(floor * w / least)) for s, w in kept.items()}
                parts = tuple(
                    Residual(s, np.full((1,) * len(s), w, dtype=np.int64)) for s, w in whole.items()
                )
                used = {a: x for a, x in axes.items() if any(a in s for s in whole)}
                try:
                    return ResidualStrategy(used, parts)
                except RangeTooLarge:
                    continue
        return None


def _length(axes: Mapping[str, Contrasts], s: Names) -> float:
    """The mean squared length of the scaled contrasts of a residual."""
    return prod(float((axes[a].scales.astype(np.float64) ** 2 * axes[a].tree.squares).mean()) for a in s)


def _filled(worth: Floats, columns: Floats, unsure: Floats, known: Floats, precision: float) -> Floats:
    """The precisions whose new part costs exactly what there is."""
    roots = np.sqrt(worth / columns)
    low, high = 1e-40, 1e40
    for _ in range(120):
        level = sqrt(low * high)
        found = np.maximum(roots / sqrt(level) - unsure, known)
        low, high = (level, high) if float(columns @ (found - known)) > precision else (low, level)
    return np.asarray(np.maximum(roots / sqrt(high) - unsure, known))
