"""Beyond: how much sets of attributes show together that no measured table holds, by a look at some."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, pi, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.learning.residuals.basis import Names

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hedgerow.synopsis.bars import Bars

    Floats = NDArray[np.float64]

_STEPS = 40  # of a search for a spread
_MOST = 1e7  # the largest spread that is looked for
_LEAST = 0.05  # no spread is less
_SURE = 0.05  # of a distance, squared: from here on sets count alike, however little noise theirs have
WIDER = 1.4  # times the spread that a distance says: some cells are off by far more than their table's mean
_INSIDE = 1 << 10  # sets inside a larger one that are asked for their own


@dataclass(frozen=True, eq=False)
class Beyond:
    """What was not measured of tables: the variance of a cell's error in units of its count, by attributes.

    Tables of one attribute more than those that were measured were looked at: of each, the L1 distance of the
    rows to what is answered, with noise. Under `Bars` a cell is off by a variance v = noise + s part count,
    so that the distance is the sum over cells of sqrt(2 v / pi), or of twice the count where that is less
    (errors of a table add up to nothing, and no count is negative). The spread s is where that is what was
    found, times `WIDER`. How far sets differ from each other beyond noise says how far each is believed
    (Stein). `WIDER`, and `GROWTH` of `Bars`, were chosen on networks of other seeds than the benchmark's, on
    rows where one attribute is a function of two others, and on the shapes that `python -m benchmarks
    coverage` calls looked at.

    Args:
        spreads: of every set that was looked at.
        other: of those that were not: as of one that stands out from the others as far as is usual.
    """

    spreads: Mapping[Names, float]
    other: float

    @classmethod
    def even(cls, sets: Iterable[Names]) -> Beyond:
        """A spread of 1 for all: what the spreads that are found are in units of."""
        return cls(dict.fromkeys(sets, 1.0), 1.0)

    @classmethod
    def found(
        cls, bars: Bars, tables: Mapping[Names, Floats], distances: Sequence[float], sigma: float
    ) -> Beyond:
        """From noisy distances.

        Args:
            bars: errors of tables, with a spread of 1.
            tables: what is answered, in rows, of every set that was looked at.
            distances: of each, in rows.
            sigma: the standard deviation of their noise.
        """
        seen = [_Seen(*bars.of_cells(names, table), table) for names, table in tables.items()]
        number, found = len(seen), np.asarray(distances, dtype=np.float64)

        def all_of(s: float) -> float:
            return sum(x.distance(s) for x in seen)

        common = _where(all_of, float(found.sum()) + sqrt(number) * sigma)
        usual = np.array([max(x.distance(common), 1.0) for x in seen])
        ratios, noise = found / usual, (sigma / usual) ** 2
        weights = 1.0 / (noise + _SURE)
        apart = max(0.0, float((weights * ((ratios - 1.0) ** 2 - noise)).sum() / weights.sum()))
        sure = apart / (apart + noise)
        believed = 1.0 + sure * (ratios - 1.0) + np.sqrt(sure * noise)  # and as far as that may be off
        own = [_where(x.distance, float(u * b)) for x, u, b in zip(seen, usual, believed, strict=True)]
        other = _where(all_of, float(usual.sum()) * (1.0 + sqrt(apart)))
        return cls({t: WIDER * s for t, s in zip(tables, own, strict=True)}, WIDER * other)

    def of(self, names: Names) -> float:
        """Of a set of attributes, in the domain's order: its own; of others, the mean of those next to it.

        A larger one has sets that were looked at inside it, a smaller one is inside some.
        """
        size = len(next(iter(self.spreads)))
        if len(names) < size:
            near = [s for t, s in self.spreads.items() if set(names) <= set(t)]
        elif comb(len(names), size) <= _INSIDE:
            near = [self.spreads.get(t, self.other) for t in combinations(names, size)]
        else:
            near = []
        return float(np.mean(near)) if near else self.other

    def pack(self) -> dict[str, Any]:
        """As plain data."""
        return {"sets": [[list(t), s] for t, s in self.spreads.items()], "other": self.other}

    @classmethod
    def unpack(cls, data: dict[str, Any] | None) -> Beyond | None:
        """The inverse of `pack`; None where nothing was looked at."""
        if data is None:
            return None
        return cls({tuple(t): float(s) for t, s in data["sets"]}, float(data["other"]))


class _Seen:
    """A table that was looked at: its noise, and what the spread is in units of."""

    def __init__(self, noise: Floats, left: Floats, table: Floats) -> None:
        self._noise, self._left, self._most = noise, left, 2.0 * np.maximum(table, 0.0)

    def distance(self, s: float) -> float:
        """How far the rows are expected to be from it."""
        return float(np.minimum(np.sqrt(2.0 / pi * (self._noise + s * self._left)), self._most).sum())


def _where(distance: Callable[[float], float], goal: float) -> float:
    """The spread at which a distance is reached."""
    low, high = _LEAST, 1.0
    while distance(high) < goal and high < _MOST:
        high *= 4.0
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if distance(middle) < goal else (low, middle)
    return high
