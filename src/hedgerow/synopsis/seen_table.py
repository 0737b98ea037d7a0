"""SeenTable: a table that was looked at, and how far rows are expected to be from it, by a spread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import erfc, exp, pi, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.learning.residuals.basis import Names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

STEPS = 40  # of a search for a spread, at most
_NEAR = 1e-7  # of a distance: so near is near enough
_MOST = 1e7  # the largest spread that is looked for
LEAST = 0.05  # no spread is less
APART = 0.15  # of all rows: how far pairs are taken to be, apart from noise, before looking
MORE = 0.01  # ... and what triples show beyond that
_FAR = 8.0  # deviations below 0: there the part of a normal law above 0 is exponential
_ALIKE = 512  # groups of cells of one table that are told apart, where what is left varies between cells


class SeenTable:
    """A table that was looked at: its noise, and what the spread is in units of.

    Args:
        noise: the variance of every cell at a spread of 0.
        left: how much more it is for each 1 of the spread.
        table: what is answered, in rows.
        varied: what is left in single cells, in parts of its mean.
    """

    def __init__(
        self, noise: Floats, left: Floats, table: Floats, varied: tuple[float, ...] = (1.0,)
    ) -> None:
        most = 2.0 * np.maximum(table, 0.0)
        groups = [np.asarray(x, dtype=np.float64).reshape(-1) for x in (noise, left, most)]
        self._numbers: Any = 1.0
        if len(varied) > 1 and table.size > _ALIKE:  # cells of nearly as many rows are as far off
            starts = np.linspace(0, table.size, _ALIKE, endpoint=False).astype(np.int64)
            self._numbers, order = np.diff([*starts, table.size]), np.argsort(groups[1])
            groups = [np.add.reduceat(x[order], starts) / self._numbers for x in groups]
        self._noise, self._left, self._most = groups
        self._varied = np.array(varied)[:, None]
        self.rows = float(table.sum())

    def distance(self, s: float) -> float:
        """How far the rows are expected to be from it."""
        each = np.sqrt(2.0 / pi * (self._noise + s * self._varied * self._left)).mean(axis=0)
        return float((np.minimum(each, self._most) * self._numbers).sum())


def usual(spreads: Sequence[float]) -> float:
    """The spread that has their mean distance: roots add up."""
    return float(np.mean(np.sqrt(spreads))) ** 2


def told(seen: Mapping[Names, SeenTable], found: Floats, sigma: float, size: int) -> float:
    """What all distances together are taken to be, where tables were chosen.

    Where noise hides them they are what is usual: before anything is found, what they have beyond the noise
    of measured tables is taken to be exponential, with a mean of so much (`APART`, `MORE`). Given what was
    found it is normal, moved down by noise^2 / mean and cut off at 0: that law's mean is believed.
    """
    noise = max(sqrt(len(seen)) * sigma, 1e-9)
    near = np.array([x.distance(LEAST) for x in seen.values()])
    rows = np.array([x.rows for x in seen.values()])
    usual = (np.hypot(near, APART * rows) - near if size == 2 else MORE * rows).sum()
    at = float(found.sum() - near.sum()) / noise - noise / max(float(usual), 1e-9)
    if at < -_FAR:
        return float(near.sum()) + noise / -at
    above = exp(-(at**2) / 2.0) / sqrt(2.0 * pi) / (0.5 * erfc(-at / sqrt(2.0)))
    return float(near.sum()) + noise * (at + above)


def where(distance: Callable[[float], float], goal: float) -> float:
    """The spread at which a distance is reached: by chords (Illinois), as distances go about as its root."""
    low, high = sqrt(LEAST), 1.0
    under, over = distance(LEAST) - goal, distance(1.0) - goal
    if under >= 0.0:
        return LEAST
    while over < 0.0 and high**2 < _MOST:
        low, under, high = high, over, 2.0 * high
        over = distance(high**2) - goal
    if over <= 0.0:
        return high**2
    moved_low = None
    for _ in range(STEPS):
        middle = (low * over - high * under) / (over - under)
        off = distance(middle**2) - goal
        if abs(off) <= _NEAR * goal:
            return middle**2
        if off < 0.0:
            low, under, over = middle, off, over / 2.0 if moved_low else over
        else:
            high, over, under = middle, off, under if moved_low is not False else under / 2.0
        moved_low = off < 0.0
    return high**2
