"""Natural ends: where a column's range ends, by its name and by quantiles that were released of it.

A quantile near the end of a column is the worst of all that noise chooses: edges beyond the last row have one
rank, and rows are few on this side of it. What is known without the rows says more: most numbers begin at
0, a month goes from 1 to 12. Everything here is a function of public names and of what was released and
charged already: post-processing, which reads no row and costs nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from hedgerow.curator.statistics.ranks import PARTS
from hedgerow.queries.domain.round_edges import round_up

YEARS = (1850, 2101)
"""Where years and dates lie, by what they are."""

_CALENDAR = {
    (1, 13): r"month|mon|monat|mois|mes",
    (0, 24): r"hour|hr|stunde|heure|hora",
    (1, 32): r"day|mday|tag|jour|dia",
    (0, 8): r"weekday|wday|dow|dayofweek|wochentag",
}
_YEAR = re.compile(r"year|yr|yyyy|jahr|annee|année|año|anno")
_PARTS_OF = re.compile(r"[\W_\d]+|(?<=[a-z])(?=[A-Z])")
_DIGITS = 10_000  # years have four
_CHANCE = 3  # nepers: what noise does once in twenty times
_STEPS = 20  # grid steps in a range
_NEAR, _NEARER = Fraction(1, 4), Fraction(1, 10)  # of a range: so near 0 its lower end is 0, by its noise
_VAGUE, _NOISY = 100, 400  # what all rows weigh where noise hides one in thirty, or one in two hundred
_FEW, _SOME = 100, 300  # thousandths: quantiles above are never taken for noise, by whether it is large
_TAIL = 3  # so many times as far as from one decile to the next the last tenth goes


def says_years(name: str, low: Fraction, high: Fraction) -> bool:
    """Whether a column is called a year and its noisy ends do not contradict.

    >>> says_years("sample.yr", Fraction(-8), Fraction(4000))
    True
    >>> says_years("pay_per_year", Fraction(0), Fraction(90_000))
    False
    """
    return low < YEARS[1] and YEARS[0] < high <= _DIGITS and _is_year(name)


@dataclass(frozen=True)
class NaturalEnds:
    """Ends for quantiles of whole or other numbers that were chosen by rank.

    Args:
        places: the quantiles, in order.
        shares: how many thousandths are below each.
        width: from one edge to the next, of those that were chosen among.
        weight: what all rows together weigh in one of these choices, in units of its noise.
        lean: by how much an edge was preferred to the next one outwards, in the same units.
    """

    places: tuple[Fraction, ...]
    shares: tuple[int, ...]
    width: Fraction
    weight: Fraction
    lean: Fraction

    def of(self, name: str, whole: bool) -> tuple[Fraction, Fraction]:
        """The first and the last edge.

        Args:
            name: the column's, which is public.
            whole: whether its numbers are.
        """
        if whole and (ends := self._calendar(name)) is not None:
            return ends
        low, high = self.places[0], max(self.places[-1], self.places[0] + self.width)
        if low < 0 and self._from_zero():
            low = Fraction(0)
        if self.weight < _NOISY:
            step = max(round_up(float(high - low) / _STEPS), self.width)
            low, high = (low if low == 0 else low - step), high + step
            low = max(low, Fraction(0)) if self.places[0] >= 0 else low
        if 0 < low <= (_NEAR if self.weight < _VAGUE else _NEARER) * (high - low):
            low = Fraction(0)
        if _is_year(name) and YEARS[0] <= self.places[0] <= self.places[-1] <= YEARS[1]:
            low, high = max(low, Fraction(YEARS[0])), min(high, Fraction(YEARS[1]))
        return low, high

    def _calendar(self, name: str) -> tuple[Fraction, Fraction] | None:
        """Months, hours and days by what they are called, unless inner quantiles say something else."""
        whole = re.sub(r"[\W_]", "", name).lower()
        for (first, last), words in _CALENDAR.items():
            if not (re.fullmatch(words, _last_word(name)) or re.fullmatch(words, whole)):
                continue
            low, high = self.places[3], 2 * self.places[-2]
            if low >= first and first + last < high <= 2 * (last + 1):
                return Fraction(first), Fraction(last)
        return None

    def _from_zero(self) -> bool:
        """Whether noise alone may have chosen what lies below 0, and the lower tenth does not point there."""
        tenth, next_ = (max(place, Fraction(0)) for place in self.places[1:3])
        bin_ = (self.places[-1] - self.places[0]) / _STEPS
        near = -self.places[0] <= bin_ or tenth - _TAIL * (next_ - tenth) >= -bin_
        below = [-place / self.width for place in self.places if place < 0]
        vague = self.weight < _VAGUE
        if self.shares[len(below) - 1] > (_SOME if vague else _FEW) or not (near or vague):
            return False
        lost = min(self._lost(at_zero, bin_) for at_zero in range(0, PARTS, PARTS // _STEPS))
        return self.weight * lost / PARTS <= _CHANCE and self.lean * sum(below) <= _CHANCE + len(below)

    def _lost(self, at_zero: int, bin_: Fraction) -> int:
        """What the choices lost in rank if no number is below 0 and so many thousandths are at it.

        Every edge up to 0 has nothing below then, and the next one what is at 0: noise chooses among the
        former for shares up to half of that, and for those up to all of it the next ones, less than a bin on.
        """
        lost = 0
        for share, place in zip(self.shares, self.places, strict=True):
            above = max(at_zero - share, 0)
            far = PARTS if above and place > max(bin_, self.width) else above
            lost += (share if place <= 0 else far) - min(share, above)
        return lost


def _is_year(name: str) -> bool:
    return _YEAR.fullmatch(_last_word(name)) is not None


def _last_word(name: str) -> str:
    return next((part.lower() for part in reversed(_PARTS_OF.split(name)) if part), "")
