"""Beyond: how much sets of attributes show together that no measured table holds, by a look at some."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import combinations
from math import comb, hypot, inf, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import PCG64, Generator

from hedgerow.learning.residuals.basis import Names
from hedgerow.synopsis.quantiles import VARIED, lognormal
from hedgerow.synopsis.seen_table import APART, LEAST, STEPS, SeenTable, told, usual, where

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from hedgerow.synopsis.bars import Bars

    Floats = NDArray[np.float64]

_SURE = 0.05  # of a distance, squared: from here on sets count alike, however little noise theirs have
DEEPER = 1.2  # times the mean of those inside it, for each attribute more: what a larger set shows
BESIDE = 1.5  # of a spread, squared: chance in many cells hides what is off in a few large ones
DIFFER = 0.95  # the deviation of the logarithm of how far pairs of one table are (nine public tables)
SHOWN = 0.1  # of the spread of pairs: larger sets show at least so much, where noise may hide it
_DEEP = 3  # attributes more that count
_CLEAR = 4.0  # times what a distance says without noise: a spread is no more
_GROUPS = 24  # of spreads that are told apart
_OTHERS = 64  # the same of sets that were not looked at
_MEANS = 240  # of several sets that were not looked at, by chance
_TOGETHER = 4  # so many of them at most are taken to make up for each other
_BEFORE = 3.0  # files of before have spreads in units of counts; what rows vary by is less
_CLEARLY = 2.0  # deviations of a look: farther below chance, rows were not drawn by it
_FEW = 3  # sets of a kind: of fewer nothing is known of that kind
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

    Where tables were chosen, pairs were looked at and then triples: `larger` is what those show beyond pairs.
    Where noise hides single pairs there, a few may be all that is off: distances of pairs of one file differ
    as numbers do whose logarithm has a deviation of 1 (nine public tables), and so does what each may be.

    Args:
        spreads: of every set that was looked at.
        other: of those that were not, in the mean.
        others: what it may be: as of any that was looked at.
        larger: the same of sets of one attribute more, if those were looked at too.
        maybe: what the spread of each set may be, as far as noise hid it.
    """

    spreads: Mapping[Names, float]
    other: float
    others: tuple[float, ...] = ()
    larger: Beyond | None = None
    maybe: Mapping[Names, tuple[float, ...]] = field(default_factory=dict)

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
        seen = {}
        for names, table in tables.items():
            both, left = bars.of_cells(names, table)
            seen[names] = SeenTable(both - left, left, table)
        found = np.asarray(distances, dtype=np.float64)
        more = cls._of(seen, found, sigma, float(found.sum()) + sqrt(len(seen)) * sigma)
        own = {t: hypot(s, BESIDE) for t, s in more.spreads.items()}
        others = tuple(hypot(s, BESIDE) for s in more.others)
        return cls(own, float(np.mean(others)), others)

    @classmethod
    def chosen(
        cls,
        bars: Callable[[Beyond], Bars],
        tables: Mapping[Names, Floats],
        distances: Sequence[float],
        sigma: float,
        varied: tuple[float, ...],
        grouped: Collection[Names] = (),
    ) -> Beyond:
        """The same where tables were chosen: of pairs, then what triples show beyond them.

        Pairs that were measured in groups of levels were chosen as they stood out, and what is left of them
        is more than of others: each kind is drawn to what is usual of it.

        Args:
            bars: errors of tables by what is known of sets.
            tables, distances, sigma: as above; some of two attributes, and perhaps some of three.
            varied: what is not known of single cells of a set, in parts of its mean.
            grouped: those that were measured, but not level by level.
        """
        off = dict(zip(tables, distances, strict=True))
        known: Beyond | None = None
        for size in (2, 3):
            some = {t: x for t, x in tables.items() if len(t) == size}
            if not some:
                continue
            inside = None if known is None else replace(known, other=usual(known.others))
            levels = [bars(cls._with(inside, cls(dict.fromkeys(some, s), s))) for s in (0.0, 1.0)]
            seen = {}
            for names, table in some.items():
                parts = levels[0].parts(names, table)
                none, one = (np.add(*b.of_cells(names, table, parts)) for b in levels)  # in a straight line
                seen[names] = SeenTable(none, one - none, table, varied)
            kinds = [[t for t in seen if t not in grouped], [t for t in seen if t in grouped]]
            each = []
            for kind in kinds if size == 2 and min(map(len, kinds)) >= _FEW else [list(seen)]:
                own, found = {t: seen[t] for t in kind}, np.array([off[t] for t in kind])
                whole = told(own, found, sigma, size)
                more = cls._of(own, found, sigma, whole)
                if known is None:
                    more = more._hidden(own, sigma, whole)._by_chance(own, found, sigma, grouped)
                each.append(more)
            known = cls._both(each) if known is None else known._above(each[0])
        assert known is not None
        return known

    def _by_chance(
        self, sets: Mapping[Names, SeenTable], found: Floats, sigma: float, grouped: Collection[Names]
    ) -> Beyond:
        """With what chance does at least to pairs that no table was measured of.

        Rows of a table are designed where they are nearer to it than that, which a look has to say clearly.
        """
        near = {
            t
            for (t, x), d in zip(sets.items(), found.tolist(), strict=True)
            if t not in grouped and d > x.distance(1.0) - _CLEARLY * sigma
        }
        spreads = {t: max(s, 1.0) if t in near else s for t, s in self.spreads.items()}
        maybe = {t: tuple(max(x, 1.0) for x in m) if t in near else m for t, m in self.maybe.items()}
        spreads |= {t: float(np.mean(maybe[t])) for t in near if t in maybe}
        others = self.others if len(near) < len(sets) / 2 else tuple(max(x, 1.0) for x in self.others)
        return replace(self, spreads=spreads, maybe=maybe, others=others, other=float(np.mean(others)))

    @classmethod
    def _both(cls, each: Sequence[Beyond]) -> Beyond:
        """Kinds of sets together; others are taken to be of the first."""
        spreads = {t: s for b in each for t, s in b.spreads.items()}
        return replace(each[0], spreads=spreads, maybe={t: m for b in each for t, m in b.maybe.items()})

    @classmethod
    def unseen(
        cls, bars: Callable[[Beyond], Bars], tables: Mapping[Any, Floats], apart: float = APART
    ) -> Beyond:
        """The same where nothing was looked at: pairs are as far off as usual, or as is known of all.

        Args:
            bars: errors of tables by what is known of sets.
            tables: what is answered, in rows, of some pairs.
            apart: the mean distance beyond noise, as a part of all rows.
        """
        levels = [bars(cls(dict.fromkeys(tables, s), s)) for s in (0.0, 1.0)]
        seen = {}
        for names, table in tables.items():
            none, one = (np.add(*b.of_cells(names, table)) for b in levels)
            seen[names] = SeenTable(none, one - none, table, VARIED)
        rows = float(next(iter(tables.values())).sum())
        near = np.array([x.distance(1.0) for x in seen.values()])  # chance is in all pairs
        even = cls(dict.fromkeys(tables, 1.0), 1.0, (1.0,))
        return even._hidden(seen, inf, float(np.hypot(near, apart * rows).sum()), 1.0)

    def _hidden(
        self, sets: Mapping[Names, SeenTable], sigma: float, whole: float, least: float = LEAST
    ) -> Beyond:
        """With what each set may be, as far as the look was too noisy to tell sets apart.

        Args:
            sets: those that were looked at.
            sigma: the standard deviation of what was found of each.
            whole: what all distances together are taken to be.
            least: no spread is less.
        """
        near = np.array([x.distance(least) for x in sets.values()])[:, None]
        parts = lognormal(DIFFER)

        def apart(c: float) -> Floats:
            return np.sqrt(near**2 + (c * parts) ** 2)

        low, high = 0.0, float(near.max()) + whole
        for _ in range(STEPS):
            middle = (low + high) / 2.0
            low, high = (middle, high) if apart(middle).mean(axis=1).sum() < whole else (low, middle)
        goals = apart(low)
        blind = 1.0 / (1.0 + goals.var(axis=1) / max(sigma**2, 1e-300))
        maybe = {
            t: tuple(float(b * where(x.distance, g) + (1.0 - b) * self.spreads[t]) for g in each.tolist())
            for (t, x), b, each in zip(sets.items(), blind.tolist(), goals, strict=True)
        }
        own = {t: float(np.mean(each)) for t, each in maybe.items()}
        others = tuple(float(s) for each in zip(*maybe.values(), strict=True) for s in each)
        others = tuple(float(np.mean(g)) for g in np.array_split(np.sort(others), min(_OTHERS, len(others))))
        if float(np.mean(others)) < self.other:
            others = self.others
        return replace(self, spreads=own, other=float(np.mean(others)), others=others, maybe=maybe)

    def _above(self, more: Beyond) -> Beyond:
        """With what larger sets show: no model was fitted to that, so it is at least what chance gives."""
        least = max(1.0, SHOWN * self.other)
        own, others = (
            {t: max(s, least) for t, s in more.spreads.items()},
            (max(s, least) for s in more.others),
        )
        return replace(self, larger=Beyond(own, max(more.other, least), tuple(others)))

    @classmethod
    def _with(cls, known: Beyond | None, more: Beyond) -> Beyond:
        return more if known is None else replace(known, larger=more)

    @classmethod
    def _of(cls, sets: Mapping[Names, SeenTable], found: Floats, sigma: float, whole: float) -> Beyond:
        """The spread of every set, and of others; all distances together are taken to be `whole`."""
        seen = list(sets.values())

        def all_of(s: float) -> float:
            return sum(x.distance(s) for x in seen)

        common = where(all_of, whole)
        usual = np.array([max(x.distance(common), 1.0) for x in seen])
        ratios, noise = found / usual, (sigma / usual) ** 2
        weights = 1.0 / (noise + _SURE)
        apart = float((weights * ((ratios - 1.0) ** 2 - noise)).sum() / weights.sum())
        chance = 2.0 * float(((weights * noise) ** 2).sum()) / float(weights.sum()) ** 2
        apart = max(0.0, apart - chance / apart) if apart > 0.0 else 0.0  # as far as noise does not do it
        sure = apart / (apart + noise)
        believed = 1.0 + sure * (ratios - 1.0) + np.sqrt(sure * noise)  # and as far as that may be off

        def spreads(parts: Floats) -> list[float]:
            """Where sets are so many times their usual distance: of mere noise a spread says nothing."""
            found = zip(seen, usual, parts, strict=True)
            return [
                min(where(x.distance, float(u * b)), _CLEAR * common * float(b) ** 2) for x, u, b in found
            ]

        own = spreads(believed)
        drawn = 1.0 + np.sqrt(sure) * (ratios - 1.0)
        others = spreads(drawn)
        return cls(dict(zip(sets, own, strict=True)), float(np.mean(others)), tuple(others))

    def of(self, names: Names) -> float:
        """Of a set of attributes, in the domain's order: its own; of others, the mean of those next to it.

        A larger one has sets that were looked at inside it, a smaller one is inside some.
        """
        if self.larger is not None and len(names) > self.size:
            return self.larger.of(names)
        if len(names) < self.size:
            near = [s for t, s in self.spreads.items() if set(names) <= set(t)]
        else:
            deeper = DEEPER ** min(len(names) - self.size, _DEEP)
            near = [deeper * self.spreads.get(t, self.other) for t in self._inside(names)]
        return float(np.mean(near)) if near else self.other

    def draws(self, names: Names) -> tuple[float, ...]:
        """What the spread of a set may be, since some of those inside it were not looked at."""
        own = self._draws(names)
        if self.larger is None or len(names) <= self.size:
            return own
        more, at = self.larger._draws(names), (np.arange(_GROUPS) + 0.5) / _GROUPS
        return tuple((np.quantile(own, at) + np.quantile(more, at)).tolist())

    def _draws(self, names: Names) -> tuple[float, ...]:
        if names in self.maybe:
            return self.maybe[names]
        inside = self._inside(names)
        seen = [self.spreads[t] for t in inside if t in self.spreads]
        unseen = max(len(inside), 1) - len(seen)
        if not unseen and self.maybe:  # by chance, as much as those inside it together
            each = _means(self._parts, min(len(inside), _TOGETHER))
            return tuple(self.of(names) * x for x in each)
        if not unseen or not self.others:
            return (self.of(names),)
        drawn = np.array(_means(self.others, min(unseen, _TOGETHER)))
        return tuple(((sum(seen) + unseen * drawn) / (len(seen) + unseen)).tolist())

    @cached_property
    def _parts(self) -> tuple[float, ...]:
        """What sets may be, in parts of their mean."""
        every = np.sort(np.concatenate([np.array(x) / np.mean(x) for x in self.maybe.values()]))
        return tuple(float(g.mean()) for g in np.array_split(every, min(_GROUPS, len(every))))

    @property
    def size(self) -> int:
        """How many attributes the smallest sets have that were looked at."""
        return len(next(iter(self.spreads)))

    def _inside(self, names: Names) -> list[Names]:
        """The sets inside one that could have been looked at, if they are not too many."""
        some = len(names) >= self.size and comb(len(names), self.size) <= _INSIDE
        return list(combinations(names, self.size)) if some else []

    def pack(self) -> dict[str, Any]:
        """As plain data."""
        sets = [[list(t), s] for t, s in self.spreads.items()]
        own: dict[str, Any] = {"sets": sets, "other": self.other, "others": list(self.others)}
        own |= {"maybe": [[list(t), list(s)] for t, s in self.maybe.items()]} if self.maybe else {}
        return own if self.larger is None else own | {"larger": self.larger.pack()}

    @classmethod
    def unpack(cls, data: dict[str, Any] | None) -> Beyond | None:
        """The inverse of `pack`; None where nothing was looked at."""
        if data is None:
            return None
        unit = 1.0 if "others" in data else _BEFORE
        spreads = {tuple(t): unit * float(s) for t, s in data["sets"]}
        others, larger = tuple(data.get("others", ())), cls.unpack(data.get("larger"))
        maybe = {tuple(t): tuple(map(float, s)) for t, s in data.get("maybe", ())}
        return cls(spreads, unit * float(data["other"]), others, larger, maybe)


@lru_cache(maxsize=64)
def _means(values: tuple[float, ...], number: int) -> tuple[float, ...]:
    """Means of so many of them by chance, always the same; the nearest are taken together."""
    drawn = np.array(values)
    if number > 1:
        drawn = Generator(PCG64(number)).choice(drawn, (_MEANS, number)).mean(axis=1)
    groups = np.array_split(np.sort(drawn), min(_GROUPS, len(drawn)))
    return tuple(float(g.mean()) for g in groups)
