"""What a column is, by noisy counts of its kinds of cells, and what to find out about it: all of it public.

Nothing here meets a row: these are functions of what was released, and grids that are the same for everybody.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import floor, log10
from typing import TYPE_CHECKING, Any

from hedgerow.curator.drafting.calendars import calendar
from hedgerow.curator.drafting.numbered import SINGLE, stepped
from hedgerow.curator.statistics.ranks import PARTS
from hedgerow.queries.domain import cell_kinds as kinds
from hedgerow.queries.domain import written
from hedgerow.queries.domain.attribute import Attribute, Categorical
from hedgerow.queries.domain.bins import Bins, Dates
from hedgerow.queries.domain.lattice import exact
from hedgerow.queries.domain.round_edges import plain, round_down, round_edges, round_up, share_of, with_room
from hedgerow.service.natural_ends import YEARS, NaturalEnds, says_years

if TYPE_CHECKING:
    from hedgerow.queries.measurement import Measurement

_SURE = 4  # a count so many sigmas above 0 is one
_MOST_OF = 0.8  # of the cells that are there
_FINE = 400  # cells of a grid inside a range
_NOW = 2000
_SEEN = 1_000_000  # steps across the middle part of numbers: decimals below are not seen
_RARE = 0.01  # of all numbers: finer ones so few are rounded
_EVEN = 0.04  # of a column's range: so near an even run its deciles lie
_AS_MANY = 0.1  # of the rows: so near their number the range of a column that counts them is


@dataclass
class Votes:
    """Noisy counts of one column's kinds of cells."""

    counts: Mapping[str, float]
    sigma: float

    def sure(self, kind: str) -> float:
        """A count that is above its noise, or nothing."""
        count = self.counts[kind]
        return count if count > _SURE * self.sigma else 0.0

    @property
    def said(self) -> float:
        return sum(self.sure(kind) for kind in kinds.KINDS if kind != kinds.NOTHING)

    def mostly(self, *some: str) -> bool:
        """Whether nearly all cells that are there are of some kinds."""
        held = sum(self.sure(kind) for kind in some)
        return held > 0 and held >= _MOST_OF * self.said


@dataclass(frozen=True)
class DayColumn:
    """A column of days, written in a format; as types and ISO 8601 have them if None."""

    format: str | None

    def grid(self) -> Bins:
        first, last = (f"{year}-01-01" for year in YEARS)
        return Dates(first, last, "year", format=self.format, missing=written.USUAL)

    @property
    def usual(self) -> int:
        """Where days are looked for first, as a place among the grid's edges."""
        return _NOW - YEARS[0]

    def calendar(self, grid: Bins, ends: list[int]) -> Attribute:
        """A calendar between two years."""
        low, high = ends
        last = grid.edge_array[max(high - 1, low)]
        return calendar(grid.edge_array[low], last, format=self.format, missing=written.USUAL)


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers: their step, if it is known, and what stands before decimals, if declared."""

    step: Fraction | None
    mark: str | None

    @property
    def options(self) -> dict[str, Any]:
        return {"missing": written.USUAL} | ({"decimal": self.mark} if self.mark else {})

    def grid(self) -> Bins:
        return Bins(_ladder(self.step), **self._reading)

    @property
    def usual(self) -> int:
        """Where numbers are looked for first, as a place among the grid's edges: at 0."""
        return _ladder(self.step).index(0)

    def fine(self, coarse: Bins, ends: list[int], name: str) -> Bins:
        """A grid of equal steps over a range chosen on the coarse one, an edge wider at both ends.

        In a column that is called a year, whose ends do not contradict, single years lie between those.
        """
        last = len(coarse.edges) - 1
        low, high = (exact(coarse.edges[i]) for i in (max(ends[0] - 1, 0), min(ends[1] + 1, last)))
        if self.step == 1 and says_years(name, low, high):
            years = {plain(low), *range(*YEARS), YEARS[1], plain(high)}
            return Bins(sorted(years), **self._reading)
        width = round_up(float(high - low) / _FINE)
        return Bins(_steps(low, high, max(width, self.step or width)), **self._reading)

    def binned(self, found: NaturalEnds, name: str) -> Attribute:
        """Bins from quantiles, between the ends that the column has by those and by its name."""
        width, shares = found.width, found.shares
        low, high = found.of(name, whole=self.step == 1)
        places = [min(max(place, low), high) for place in found.places]
        if self.step == 1 and high - low < SINGLE:
            return stepped(list(range(int(low), int(high) + 1)), self.step, **self.options)
        inside = [(s / PARTS, float(p)) for s, p in zip(shares, places, strict=True)]
        mass = share_of([(0.0, float(low)), *inside, (1.0, float(high))])

        def edges(size: Fraction) -> list[int | float]:
            least = size if self.step == 1 else max(size, width / 2)
            return round_edges(float(low), float(max(high - size, low)), least, mass)

        return stepped(*with_room(edges, self._size(max(places[-3] - places[2], width))), **self.options)

    def _size(self, middle: Fraction) -> Fraction:
        """The step to declare: no finer than matters to numbers whose middle part is so wide.

        One that is known is kept, but for decimals that are as nothing beside the range: cents of fortunes.
        """
        if self.step is None:
            return round_down(float(middle) / PARTS)
        seen = Fraction(10) ** floor(log10(middle / _SEEN))
        return max(self.step, min(seen, Fraction(1)))

    @property
    def _reading(self) -> dict[str, Any]:
        """With a mark always: then text of a typed file is read as numbers too."""
        return {"missing": written.USUAL, "decimal": self.mark or "."}


@dataclass(frozen=True)
class WordColumn:
    """A column of words, of which about so many are there."""

    said: float


Plan = Attribute | str | DayColumn | NumberColumn | WordColumn


def decided(votes: Votes, *, code: bool = False) -> Plan:
    """What a column is by its kinds of cells: an attribute, why it is none, or what to find out about it.

    Args:
        votes: its kinds of cells.
        code: whether it is called a code, like a postcode: whole numbers are names then.
    """
    if code and votes.mostly(kinds.WHOLE):
        return WordColumn(votes.said)
    for format in (f for f in kinds.FORMATS if written.is_time(f)):
        if votes.mostly(format):
            return Bins(list(range(25)), format=format, missing=written.USUAL)
    if votes.mostly(kinds.TRUTH):
        return Categorical([False, True], format=written.BOOLEAN, other=True, missing=written.USUAL)
    if votes.mostly(kinds.DATE):
        return DayColumn(None)
    if (day := _day_format(votes)) is not None:
        return DayColumn(day)
    decimals = (kinds.WHOLE, *kinds.DECIMALS)
    if votes.mostly(*decimals):
        return NumberColumn(_step_of(votes), None)
    for mark, kind in ((",", kinds.COMMA), (".", kinds.GROUPED)):
        if votes.sure(kind) and votes.mostly(*decimals, kind):
            return NumberColumn(Fraction(1, 100) if mark == "," else _step_of(votes), mark)
    if not votes.said:
        return "no kind of cell is common enough to be seen through the noise"
    return WordColumn(votes.said)


def voted(measured: Measurement) -> Votes:
    values = [float(v) for v in measured.counts.ravel()]
    return Votes(dict(zip(kinds.KINDS, values, strict=True)), measured.noise.variance**0.5)


def _day_format(votes: Votes) -> str | None:
    """The format that most days are written in; if some must be day first, all are."""
    for format in (f for f in kinds.FORMATS if written.is_day(f)):
        swapped = format.replace("%m/%d", "%d/%m")  # which a cell is only if it cannot be the other
        if swapped != format and swapped in kinds.FORMATS and votes.mostly(format, swapped):
            return swapped if votes.sure(swapped) else format
        if votes.mostly(format):
            return format
    return None


def _step_of(votes: Votes) -> Fraction | None:
    """What nearly all numbers are multiples of; None if that is too fine to say."""
    finest, finer = 0, 0.0
    all_of = sum(votes.sure(kind) for kind in (kinds.WHOLE, *kinds.DECIMALS, kinds.GROUPED, kinds.COMMA))
    for place in range(len(kinds.DECIMALS), 0, -1):
        finer += votes.sure(kinds.DECIMALS[place - 1])
        if finer > _RARE * all_of:
            finest = place
            break
    return None if finest == len(kinds.DECIMALS) else Fraction(1, 10**finest)


def counts_rows(plan: Plan, places: list[Fraction], shares: tuple[int, ...], rows: float) -> bool:
    """Whether whole numbers run evenly over about as many as there are rows: each row has its own, it seems.

    Args:
        plan: what the column is.
        places: its quantiles, in order.
        shares: how many thousandths are below each.
        rows: about how many rows there are.
    """
    span = float(places[-1] - places[0])
    if not isinstance(plan, NumberColumn) or plan.step != 1 or span < SINGLE:
        return False
    part = (shares[-1] - shares[0]) / PARTS
    even = (float(places[0]) + span * (s - shares[0]) / PARTS / part for s in shares)
    off = max(abs(float(p) - e) for p, e in zip(places, even, strict=True))
    return off < _EVEN * span and abs(span / part - rows) < _AS_MANY * rows


def _ladder(step: Fraction | None) -> list[int | float]:
    """Edges for numbers of any size: 12 in every power of ten, on both sides of 0."""
    least, most = (0 if step == 1 else -4), 11
    mantissas = [Fraction(m) for m in ("1", "1.2", "1.5", "2", "2.5", "3", "4", "5", "6", "7", "8", "9")]
    sizes = sorted({m * Fraction(10) ** e for e in range(least, most) for m in mantissas})
    if step is not None:
        sizes = [s for s in sizes if (s / step).denominator == 1]
    return [plain(-s) for s in reversed(sizes)] + [0] + [plain(s) for s in sizes]


def _steps(low: Fraction, high: Fraction, width: Fraction) -> list[int | float]:
    first, last = low // width, -(-high // width)
    return [plain(i * width) for i in range(int(first), int(max(last, first + 1)) + 1)]
