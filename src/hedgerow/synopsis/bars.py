"""Bars: how far off the answers of a fitted model seem to be, by what was measured and what was not.

Everything follows from released values and from constants that were found on made-up rows of the benchmarks
(`python -m benchmarks coverage`, other seeds). A bar holds on average over questions of a kind, not for each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import acos, cos, prod, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.learning.residuals.basis import Basis, Names, subsets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.synopsis.beyond import Beyond

    Floats = NDArray[np.float64]

LEAST, RISE = 0.25, 0.4  # of its noise: what a count near zero is off by, and how that grows with its root
USUAL = 0.15  # of its noise's variance: so far is an answer usually moved from what was measured, squared
ROOM = 1.05  # times the bar of what was measured: numbers of one release share its noise
TAILS = 1.0  # of the normal law: how much wider bars of what was not measured are
GROWTH = 0.25  # by this power of how many usual cells a count has its variance is more: errors go together
SMALLEST = 1.0  # row: no bar of what was not measured is meant for less
_SPLIT = 1 << 23  # numbers that weights may be split into
_NEAR = 3  # attributes: of so many, tables that were not chosen are off by more in larger counts
_FEW = 6  # attributes: every set of them has its own spread


def normal(confidence: float, numbers: int) -> float:
    """The normal quantile for so many numbers at once."""
    return NormalDist().inv_cdf(1.0 - (1.0 - confidence) / numbers / 2.0)


def heavy(confidence: float, numbers: int) -> float:
    """The same of Student's law with four degrees of freedom, scaled to the variance 1.

    >>> [round(heavy(c, 1), 2) for c in (0.8, 0.95, 0.99)]
    [1.08, 1.96, 3.26]
    """
    out = (1.0 - confidence) / numbers
    root = sqrt(out * (2.0 - out))
    return sqrt(2.0 * (cos(acos(root) / 3.0) / root - 1.0))


def near_zero(value: Any, deviation: Any) -> Any:
    """The part of a measured count's noise that is left in it once no count is negative.

    Where few rows are, a table without negative cells is off by far less than its noise; where many are, by
    all of it.
    """
    ratio = np.maximum(value, 0.0) / np.maximum(deviation, 1e-12)
    return np.minimum(1.0, LEAST + RISE * np.sqrt(ratio))


def measured_bar(value: Any, noisy: Any, deviation: Any, wide: float, *, counts: bool) -> Any:
    """How far off an answer is whose table was measured.

    An answer that was moved from what was measured by w (Y - M) is off by D - 1 + 2 g in units of its noise's
    variance, on average: D is the squared distance to Y, g the part of the noise that it follows (Stein). So
    one that is far from what was measured has a wider bar; near zero that distance is noise that was cut off.

    Args:
        value: the answer.
        noisy: what was measured of it.
        deviation: the standard deviation of that.
        wide: the half width of its noise.
        counts: whether the truth cannot be negative.
    """
    left = near_zero(value, deviation) if counts else 1.0
    beyond = np.maximum((value - noisy) ** 2 / np.maximum(deviation, 1e-12) ** 2 - USUAL, 0.0)
    return ROOM * wide * left * np.sqrt(1.0 + beyond)


@dataclass(frozen=True, eq=False)
class Bars:
    """Errors of a model's tables.

    The error of an answer has two parts. What was measured of smaller tables is noisy, and that is handed
    down to the cells of a larger one in proportion. What was not measured of a table is known as well as rows
    drawn from the model would be, times `spread`: of the variance of a weighted count, the part that no
    measured subset of the attributes holds (an analysis of variance of its weights).

    Args:
        basis: coordinates of tables.
        deviations: of every measured residual, the standard deviation of a coordinate.
        ones: released distributions of single attributes.
        spread: the variance of what was not measured, in units of the count.
        beyond: the same by sets of attributes, where some were looked at.
        chosen: whether some tables were chosen, and what others hold beyond them is not known.
    """

    basis: Basis
    deviations: Mapping[Names, float]
    ones: Callable[[str], Floats]
    spread: float
    beyond: Beyond | None = None
    chosen: bool = False

    def variances(self, names: Names, table: Floats, weights: Floats) -> tuple[float, float]:
        """Of a weighted count: by noise of what was measured, and by what was not."""
        names, (table, weights) = self._real(names, table, weights)
        noise = sum(self._handed_down(names, table, weights, s) for s in self._measured(names))
        squares = float((weights**2 * table).sum())
        largest = float(np.abs(weights).max(initial=0.0)) ** 2
        part, spread = self._unmeasured(names, weights)
        grown = self._grown(squares / max(largest, 1e-300), float(table.sum()), names)
        return noise, max(spread * squares * float(grown), SMALLEST**2 * largest * min(1.0, part))

    def of_cells(self, names: Names, table: Floats) -> tuple[Floats, Floats]:
        """The same of every cell of a table."""
        real, (counts,) = self._real(names, table)
        shape, back = table.shape, np.argsort(self._order(names))
        noise, held = np.zeros(counts.shape), np.zeros(counts.shape)
        shares = {a: self._along(self.ones(a), real, a) for a in real}
        for s in self._measured(real):
            out = tuple(i for i, a in enumerate(real) if a not in s)
            inside, sigma = counts.sum(axis=out, keepdims=True), self.deviations[s]
            even = prod((p for a, p in shares.items() if a not in s), start=1.0)
            share = (counts + sigma * even) / np.maximum(inside + sigma, 1.0)
            length = prod(1.0 - 1.0 / self.basis.sizes[a] for a in s)
            noise = noise + sigma**2 * length * share**2
            held = held + prod((1.0 - p if a in s else p for a, p in shares.items()), start=1.0)
        part = np.clip(1.0 - held, 0.0, 1.0)
        spread = np.asarray(self._common(real) * part)
        if (beyond := self._each(real)) is not None:
            spread = np.zeros(counts.shape)
            for s in self._others(real):
                own = prod((1.0 - p if a in s else p for a, p in shares.items()), start=1.0)
                spread = spread + beyond.of(s) * own
        grown = self._grown(counts, float(counts.sum()), real)
        left = np.asarray(np.maximum(spread * counts * grown, SMALLEST**2 * part))
        if not names:  # the total comes as a list of one
            return noise.reshape(shape), left.reshape(shape)
        given = [shape[i] for i in self._order(names)]
        return noise.reshape(given).transpose(back), left.reshape(given).transpose(back)

    def of_product(self, names: Names, weights: list[Floats], count: float) -> tuple[float, float]:
        """The same of a product of weights whose table is too large, as if attributes were independent.

        Args:
            names: the attributes.
            weights: of the levels of each, at most 1.
            count: what the product counts.
        """
        by = {a: (self.ones(a), w) for a, w in zip(names, weights, strict=True) if a in self.basis.sizes}
        mean = {a: float(p @ w) for a, (p, w) in by.items()}
        square = {a: float(p @ w**2) for a, (p, w) in by.items()}
        length = {a: float((self.basis.residual((a,), w) ** 2).sum()) for a, (_, w) in by.items()}
        total = count / max(prod(mean.values()), 1e-300)
        noise = held = 0.0
        for s in self._measured(tuple(by)):
            inside = total * prod(mean[a] for a in s) + self.deviations[s]
            share = (count + self.deviations[s] * prod(mean[a] for a in by if a not in s)) / inside
            noise += (self.deviations[s] * share) ** 2 * prod(length[a] for a in s)
            held += prod(square[a] - mean[a] ** 2 if a in s else mean[a] ** 2 for a in by)
        whole = prod(square.values())
        part = min(1.0, max(0.0, 1.0 - held / whole)) if whole > 0.0 else 0.0
        squares = count * prod(square[a] / max(mean[a], 1e-300) for a in by)
        grown = float(self._grown(squares, total, tuple(by)))
        return noise, max(self._common(tuple(by)) * part * squares * grown, SMALLEST**2 * part)

    def _measured(self, names: Names) -> list[Names]:
        """The measured residuals over some of these attributes."""
        if 1 << len(names) > len(self.deviations):
            kept = set(names)
            return [s for s in self.deviations if kept.issuperset(s)]
        places = {a: i for i, a in enumerate(self.basis.sizes)}
        return [s for s in subsets(sorted(names, key=lambda a: places[a])) if s in self.deviations]

    def _order(self, names: Names) -> list[int]:
        """Where the attributes are that sets are named by, in their order, then those of one level."""
        places = {a: i for i, a in enumerate(self.basis.sizes)}
        return sorted(range(len(names)), key=lambda i: places.get(names[i], len(places)))

    def _real(self, names: Names, *arrays: Floats) -> tuple[Names, list[Floats]]:
        """In their order, without attributes of one level."""
        order = self._order(names)
        kept = tuple(names[i] for i in order if names[i] in self.basis.sizes)
        shape = [self.basis.sizes[a] for a in kept]
        return kept, [(x.transpose(order) if names else x).reshape(shape) for x in arrays]

    @staticmethod
    def _along(values: Floats, names: Names, name: str) -> Floats:
        return values.reshape([-1 if a == name else 1 for a in names])

    def _handed_down(self, names: Names, table: Floats, weights: Floats, s: Names) -> float:
        """The variance that the noise of one residual gives a weighted count, each cell its share of it.

        What noise hides in a cell of a smaller table is spread as single attributes are.
        """
        out = tuple(i for i, a in enumerate(names) if a not in s)
        sigma, inside, even = self.deviations[s], table.sum(axis=out), weights
        for i in reversed(out):
            even = np.tensordot(even, self.ones(names[i]), axes=(i, 0))
        moved = ((weights * table).sum(axis=out) + sigma * even) / np.maximum(inside + sigma, 1.0)
        along = self.basis.residual(s, moved) if s else moved
        return sigma**2 * float((along**2).sum())

    def _unmeasured(self, names: Names, weights: Floats) -> tuple[float, float]:
        """The part of a weighted count's variance that no measured set of attributes holds; and its spread.

        Under independent attributes the weights are a sum of orthogonal parts, one for each subset of
        attributes (Hoeffding); the part of a subset that was measured is not drawn anew.
        """
        if not names or prod(self.basis.sizes[a] + 1 for a in names) > _SPLIT:
            return (1.0, self._common(names)) if names else (0.0, 0.0)
        split, chances = np.asarray(weights, dtype=np.float64), np.array(1.0)
        for i, a in enumerate(names):
            p = self._along(self.ones(a), names, a)
            mean = (split * p).sum(axis=i, keepdims=True)
            split = np.concatenate([mean, split - mean], axis=i)
            chances = np.multiply.outer(chances, np.concatenate([[1.0], self.ones(a)]))
        energy = split**2 * chances
        whole = max(float(energy.sum()), 1e-300)

        def place(s: Names) -> tuple[slice | int, ...]:
            return tuple(slice(1, None) if a in s else 0 for a in names)

        for s in self._measured(names):
            energy[place(s)] = 0.0
        part = float(energy.sum()) / whole
        if (beyond := self._each(names)) is None:
            return part, self._common(names) * part
        own = sum(beyond.of(s) * float(energy[place(s)].sum()) for s in self._others(names))
        return part, own / whole

    def _grown(self, counts: Any, total: float, names: Names) -> Any:
        """By how much the variance of a count is more than its share: what is off in a cell is so in others.

        A set that was looked at is known by the distance of all its cells, most of them small. Where tables
        were chosen it is so of small ones; larger ones have few rows in most cells.
        """
        if self.beyond is None and not (self.chosen and len(names) <= _NEAR):
            return 1.0
        cells = prod(self.basis.sizes[a] for a in names)
        return np.maximum(counts * cells / max(total, 1.0), 1.0) ** GROWTH

    def _common(self, names: Names) -> float:
        """The spread of all that is not measured of some attributes."""
        return self.spread if self.beyond is None else self.beyond.of(names)

    def _each(self, names: Names) -> Beyond | None:
        """What is known of every set of some of these attributes by itself, where there are few."""
        return self.beyond if len(names) <= _FEW else None

    def _others(self, names: Names) -> list[Names]:
        """The sets of some of these attributes, in their order, that were not measured."""
        return [s for s in subsets(names) if s not in self.deviations]
