"""Tails: what a column's far end costs every sum and average of it, for the owner alone.

Noise hides the largest value that a row may have, so a range that a few rows stretch makes sums of all rows
worse. Where it would end if those were clamped, and what that takes from averages, is the owner's to weigh.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import hypot
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.queries.domain.bins import Bins
from hedgerow.queries.domain.round_edges import plain

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

_WORTH = 2.5  # so many times nearer an average must come for a shorter range to be mentioned
_LEAST = 1000  # rows: with fewer nothing is exact
_ALIKE = 1.02  # of ends that are so nearly as good the nearest one is told
_LEFT = 0.8  # of the values beyond the middle one: so many a shorter range keeps apart
_DIGITS = (
    2,
    3,
    4,
    5,
    6,
    8,
    10,
    12,
    16,
)  # halves: ends are tried at 1, 1.5, 2, 2.5, 3 ... in every power of ten
_FEW_STEPS = 1000  # up to so many steps from zero an end is told to the step: 101 for what goes to 100


@dataclass(frozen=True)
class AverageNoise:
    """How far off a release's average of a number would be, by its bins: public arithmetic.

    Args:
        middles: of the bins.
        count: how far off counts of one level are, in rows.
        off: how far off the sum of all rows' distances from a centre is; None if it is not measured.
        centre: that centre.
    """

    middles: tuple[float, ...]
    count: float
    off: float | None
    centre: float

    def average(self, mean: float, said: int) -> float:
        """Of so many values with about this mean: by counts and the sum, the two weighed."""
        by_counts = self.count * float(np.linalg.norm(np.array(self.middles) - mean))
        if self.off is None:
            return by_counts / max(said, 1)
        by_sum = hypot(self.off, (mean - self.centre) * self.count)
        return by_counts * by_sum / (hypot(by_counts, by_sum) * max(said, 1))


@dataclass(frozen=True, repr=False)
class HeldNumbers:
    """PRIVATE: a drafted number's values, in order, all or every so many; only words for the owner leave it.

    Args:
        sample: the values.
        said: for how many they stand.
    """

    sample: NDArray[np.float64]
    said: int

    def told(
        self, name: str, bins: Bins, rows: int, noise: Callable[[Bins], AverageNoise], of: str
    ) -> str | None:
        """What a long range costs averages, if a shorter one is much better.

        Args:
            name: the column's.
            bins: as drafted.
            rows: how many rows there are.
            noise: what a release would tell, by the bins that the number has.
            of: the release that this is said of.
        """
        mean = float(self.sample.mean())
        off = noise(bins).average(mean, self.said)
        tail = Tail.of(bins, self.sample, self.said, rows, off)
        if tail is None:
            return None
        left = noise(tail.bins).average(mean - tail.taken if tail.upper else mean + tail.taken, self.said)
        return tail.words(name, off, left, of) if left + tail.taken < off else None


@dataclass(frozen=True)
class Tail:
    """A range, and a shorter one that averages are much better with.

    Args:
        far: the end that few rows reach.
        bins: with the shorter range; its last edge is the first value that is clamped.
        reach: the part that is left of the way from the middle to the farther end.
        upper: whether the range is shorter at its upper end.
        taken: by how much clamping moves the average.
        clamped: which part of all rows it moves, as `schema check` counts them.
    """

    far: float
    bins: Bins
    reach: float
    upper: bool
    taken: float
    clamped: float

    @classmethod
    def of(cls, bins: Bins, sample: NDArray[np.float64], said: int, rows: int, off: float) -> Tail | None:
        """Of bins and sorted numbers; None if no shorter range is much better.

        Args:
            bins: of numbers with a step.
            sample: the numbers, or every so many of them.
            said: for how many they stand.
            rows: how many rows there are.
            off: by how much averages are off with these bins.
        """
        if said < _LEAST or not off:
            return None
        tried = _Tried(bins, sample, said, rows)
        found = {
            (off * tried.reach(end, upper) + tried.taken(end, upper), end, upper)
            for end, upper in tried.ends()
            if tried.keeps(end, upper)
        }
        best = min((cost for cost, _, _ in found), default=off)
        if _WORTH * best > off:
            return None
        alike = [(end, upper) for cost, end, upper in found if cost <= _ALIKE * best]
        end, upper = min(alike, key=lambda e: (tried.beyond(*e), e))
        far = bins.edges[-1 if upper else 0]
        shorter = tried.shorter(end, upper)
        return cls(
            far, shorter, tried.reach(end, upper), upper, tried.taken(end, upper), tried.clamped(end, upper)
        )

    def words(self, name: str, off: float, left: float, of: str) -> str:
        """What the owner should weigh, as the end of a sentence.

        Args:
            name: the column's.
            off, left: about how far off an average is, and would be.
            of: the release that this is said of.
        """
        edges = self.bins.edges
        ends = (
            (edges[-1], edges[-2], "last", "after") if self.upper else (edges[0], edges[1], "first", "before")
        )
        end, next_, which, where = ends
        called = name if re.fullmatch(r"[A-Za-z_]\w*", name) else json.dumps(name, ensure_ascii=False)
        return (
            f"few rows reach far towards {self.far:,g}, and every sum pays for that: AVG({called}) of {of} "
            f"is about ±{_about(off)}; if its {which} edge were {end:,.12g}, {where} {next_:,.12g}, about "
            f"±{_about(left)}, of values clamped to that range ({100 * self.clamped:.2g}% of the rows, which "
            f"moves the average by {_about(self.taken)})"
        )


class _Tried:
    """Shorter ranges of a column's numbers."""

    def __init__(self, bins: Bins, sample: NDArray[np.float64], said: int, rows: int) -> None:
        self._bins, self._sample, self._part = bins, sample, said / max(rows, 1)
        self._below = np.concatenate([np.zeros(1), np.cumsum(sample)])
        self._middle = float(np.median(sample))
        self._step: Fraction = bins.lattice.step
        self._width = self._from_middle(float(bins.edges[0]), float(bins.edges[-1]))

    def ends(self) -> Iterator[tuple[Fraction, bool]]:
        """Edges and round ends inside the range; whether each is an upper one."""
        low, high = (
            self._bins.lattice.step * int(k) for k in (self._bins.lattice.low[0], self._bins.lattice.high[-1])
        )
        power, far = self._step, max(abs(low), abs(high))
        sizes: set[Fraction] = set()
        while power <= far:
            sizes |= {sign * digit * power / 2 for digit in _DIGITS for sign in (1, -1)}
            power *= 10
        held = {self._on_step(e) for e in self._bins.edges[1:-1]} | {self._on_step(e) for e in sizes}
        inside = {e for e in held if low < e < high}
        for end in sorted(inside):
            near = abs(end) <= _FEW_STEPS * self._step
            last = end + self._step if near else end
            if self._middle < last < high:
                yield last, True
            if end <= self._middle:
                yield end, False

    def beyond(self, end: Fraction, upper: bool) -> float:
        """How far an end is from the middle of the numbers."""
        return float(end) - self._middle if upper else self._middle - float(end)

    def reach(self, end: Fraction, upper: bool) -> float:
        """The farther end of a shorter range from the middle of the numbers, as a part of what it was."""
        first, last = self._bins.edges[0], self._bins.edges[-1]
        ends = (float(first), float(end)) if upper else (float(end), float(last))
        return self._from_middle(*ends) / self._width

    def taken(self, end: Fraction, upper: bool) -> float:
        """By how much clamping moves the average; the last value is a step below the last edge."""
        kept = float(end - self._step) if upper else float(end)
        size, total = len(self._sample), float(self._below[-1])
        at = int(np.searchsorted(self._sample, kept, "right" if upper else "left"))
        beyond = (
            total - float(self._below[at]) - kept * (size - at)
            if upper
            else kept * at - float(self._below[at])
        )
        return max(beyond, 0.0) / size

    def clamped(self, end: Fraction, upper: bool) -> float:
        """Which part of all rows lies at the last edge or beyond, or before the first."""
        at = int(np.searchsorted(self._sample, float(end), "left"))
        return self._part * (len(self._sample) - at if upper else at) / len(self._sample)

    def keeps(self, end: Fraction, upper: bool) -> bool:
        """Whether most values beyond the middle one stay apart: they are what a column of zeros says."""
        size = len(self._sample)
        at = int(np.searchsorted(self._sample, self._middle, "right" if upper else "left"))
        beyond = size - at if upper else at
        return self.clamped(end, upper) * size / self._part <= (1 - _LEFT) * beyond

    def shorter(self, end: Fraction, upper: bool) -> Bins:
        """The bins with that end: an edge a step before it goes, unless bins are as narrow as that."""
        edges, one = self._bins.edges, float(self._step)
        kept = [e for e in edges if (e < end if upper else e > end)]
        if upper and len(kept) > 1 and abs(float(end) - kept[-1] - one) < one / 2 < kept[-1] - kept[-2] - one:
            kept.pop()
        made = [*kept, plain(end)] if upper else [plain(end), *kept]
        body = self._bins.to_schema() | {"edges": made}
        options = {k: v for k, v in body.items() if k not in ("edges", "step")}
        return Bins(made, step=self._bins.step, **options)

    def _from_middle(self, low: float, high: float) -> float:
        return max(self._middle - low, high - float(self._step) - self._middle, float(self._step))

    def _on_step(self, number: float | Fraction) -> Fraction:
        return self._step * self._bins.lattice.nearest(number)


def _about(number: float) -> str:
    """Two digits, without an exponent where that can be read.

    >>> _about(198.4), _about(0.0123)
    ('200', '0.012')
    """
    return f"{float(f'{number:.2g}'):,.12g}"
