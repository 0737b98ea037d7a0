"""Beyond: how much sets of attributes show together that no measured table holds, by a look at some."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb, pi, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import PCG64, Generator

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
DEEPER = 1.4  # times the mean of those inside it, for each attribute more: what a larger set shows
_DEEP = 3  # attributes more that count
_CLEAR = 4.0  # times what a distance says without noise: a spread is no more
_GROUPS = 24  # of spreads that are told apart
_MEANS = 240  # of several sets that were not looked at, by chance
_TOGETHER = 4  # so many of them at most are taken to make up for each other
_BEFORE = 3.0  # files of before have spreads in units of counts; what rows vary by is less
_INSIDE = 1 << 10  # sets inside a larger one that are asked for their own


@dataclass(frozen=True, eq=False)
class Beyond:
    """What was not measured of tables: by attributes, in units of what rows vary by.

    Tables of one attribute more than those that were measured were looked at: of each, the L1 distance of the
    rows to what is answered, with noise. Under `Bars` a cell is off by a variance v = noise + s free,
    so that the distance is the sum over cells of sqrt(2 v / pi), or of twice the count where that is less
    (errors of a table add up to nothing, and no count is negative). The spread s is where that is what was
    found. How far sets differ from each other beyond noise says how far each is believed (Stein), and what
    those may show that were not looked at: as much as any of those that were, drawn with the root of that
    weight, since estimates themselves spread too far and means too little. `DEEPER`, and `VARIES` of `Bars`,
    were chosen on networks, rings, rankings and classes of other seeds than the benchmark's.

    Args:
        spreads: of every set that was looked at.
        other: of those that were not, in the mean.
        others: what it may be: as of any that was looked at.
    """

    spreads: Mapping[Names, float]
    other: float
    others: tuple[float, ...] = ()

    @classmethod
    def found(
        cls, bars: Bars, tables: Mapping[Names, Floats], distances: Sequence[float], sigma: float
    ) -> Beyond:
        """From noisy distances.

        Args:
            bars: errors of tables by a spread of 2: what is not known is as much as what rows vary by.
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

        def spreads(parts: Floats) -> list[float]:
            """Where sets are so many times their usual distance: of mere noise a spread says nothing."""
            found = zip(seen, usual, parts, strict=True)
            return [
                min(_where(x.distance, float(u * b)), _CLEAR * common * float(b) ** 2) for x, u, b in found
            ]

        own = spreads(believed)
        drawn = 1.0 + np.sqrt(sure) * (ratios - 1.0)
        others = spreads(drawn)
        return cls(dict(zip(tables, own, strict=True)), float(np.mean(others)), tuple(others))

    def of(self, names: Names) -> float:
        """Of a set of attributes, in the domain's order: its own; of others, the mean of those next to it.

        A larger one has sets that were looked at inside it, a smaller one is inside some.
        """
        if len(names) < self._size:
            near = [s for t, s in self.spreads.items() if set(names) <= set(t)]
        else:
            deeper = DEEPER ** min(len(names) - self._size, _DEEP)
            near = [deeper * self.spreads.get(t, self.other) for t in self._inside(names)]
        return float(np.mean(near)) if near else self.other

    def draws(self, names: Names) -> tuple[float, ...]:
        """What the spread of a set may be, since some of those inside it were not looked at."""
        inside = self._inside(names)
        seen = [self.spreads[t] for t in inside if t in self.spreads]
        unseen = max(len(inside), 1) - len(seen)
        if not unseen or not self.others:
            return (self.of(names),)
        drawn = np.array(_means(self.others, min(unseen, _TOGETHER)))
        return tuple(((sum(seen) + unseen * drawn) / (len(seen) + unseen)).tolist())

    @property
    def _size(self) -> int:
        return len(next(iter(self.spreads)))

    def _inside(self, names: Names) -> list[Names]:
        """The sets inside one that could have been looked at, if they are not too many."""
        some = len(names) >= self._size and comb(len(names), self._size) <= _INSIDE
        return list(combinations(names, self._size)) if some else []

    def pack(self) -> dict[str, Any]:
        """As plain data."""
        sets = [[list(t), s] for t, s in self.spreads.items()]
        return {"sets": sets, "other": self.other, "others": list(self.others)}

    @classmethod
    def unpack(cls, data: dict[str, Any] | None) -> Beyond | None:
        """The inverse of `pack`; None where nothing was looked at."""
        if data is None:
            return None
        unit = 1.0 if "others" in data else _BEFORE
        spreads = {tuple(t): unit * float(s) for t, s in data["sets"]}
        return cls(spreads, unit * float(data["other"]), tuple(data.get("others", ())))


@lru_cache(maxsize=64)
def _means(values: tuple[float, ...], number: int) -> tuple[float, ...]:
    """Means of so many of them by chance, always the same; the nearest are taken together."""
    drawn = np.array(values)
    if number > 1:
        drawn = Generator(PCG64(number)).choice(drawn, (_MEANS, number)).mean(axis=1)
    groups = np.array_split(np.sort(drawn), min(_GROUPS, len(drawn)))
    return tuple(float(g.mean()) for g in groups)


class _Seen:
    """A table that was looked at: its noise, and what the spread is in units of."""

    def __init__(self, noise: Floats, left: Floats, table: Floats) -> None:
        self._noise, self._left, self._most = noise - left, left, 2.0 * np.maximum(table, 0.0)

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
