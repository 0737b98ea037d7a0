"""Numbers: the bins, the range and the step that an expert would declare for a column of them."""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.curator.drafting.proposed import LARGEST, Guess, keep_line, missing_of, options_of
from hedgerow.queries.domain import written
from hedgerow.queries.domain.attribute import Categorical
from hedgerow.queries.domain.bins import Bins
from hedgerow.queries.domain.round_edges import Mass, outwards, plain, round_down, round_edges, with_room

if TYPE_CHECKING:
    from hedgerow.curator.drafting.column import SeenColumn

FEW = 12
"""Numbers so few are levels, each worth itself."""

SINGLE = 32
"""Whole numbers within so short a range have a bin each."""

_YEARS, _CENTURY = (1800, 2100), 100  # whole numbers there, in so short a range, are years: each has a bin
_TAIL = 20.0  # an end that lies so many times further out than nearly everything is clamped
_FINE = 1000  # steps across a quarter or so of numbers that have no step of their own
_WHERE_DENSE = (0.05, 0.25, 0.5, 0.75)
_MOST_STEPS = 1 << 28
CODES = re.compile(
    r"(?i)(^|[\W_])(zip|zipcode|post(al)?_?code|plz|postcode|fips|icd\d*|sic|naics|code)([\W_]|$)"
)
"""What columns of codes are called, which are names though they are written in digits."""
_PLACES = re.compile(
    r"(?i:(^|[\W_\d])(lat|lon|lng|long|latitude|longitude|coord(inate)?s?)([\W_\d]|$))|[a-z](Lat|Lng|Lon)([A-Z_]|$)"
)
_PLACE = Fraction(1, 1000)  # of a degree, about a hundred metres: no finer edges, whatever the step is
_ENDLESS = "what is infinite in it is clamped to the end of its range"
_CLAMPED = "its range ends where nearly all numbers do; those beyond are clamped to it"
_WHERE = (
    "it seems to say where on earth something is, more finely than 0.001 of a degree, about 100 metres: no "
    "bin has such an edge, and wider ones tell less of whose house that is"
)


def as_number(column: SeenColumn, least: int) -> Guess | None:
    """Numbers in bins, or, where there are few of them, as levels that are worth themselves."""
    if not column.number or column.zeros or _is_code(column):
        return None
    if max(abs(column.low), abs(column.high)) > LARGEST:
        return Guess(None, "its numbers are too large for bins", keep_line(column, least))
    few = column.decimal is None and not column.endless and (column.different or 0) <= FEW
    if column.values is not None and few:
        times: Counter[float] = Counter()
        for value, n in column.values.items():
            times[float(value)] += n
        if all(n >= least for n in times.values()):  # else some are beyond what levels could hold
            levels = [int(v) if v.is_integer() else v for v in sorted(times)]
            return Guess(Categorical(levels, format=written.NUMBER, **options_of(column)))
    return binned(column, least)


def binned(column: SeenColumn, least: int) -> Guess:
    """Bins with edges on the grid of 1, 2 and 5 that follow where the numbers lie.

    No edge is there for fewer rows than a level needs: a schema is public, and such a number may be one
    person's.
    """
    sample = column.sample
    low, high = _ends(sample, column.low, column.high)
    step = _step(column, sample, high - low)
    if step is None:
        return Guess(None, "its numbers are too close together for bins", keep_line(column, least))
    place = _is_place(column) and step < _PLACE
    mass, few = share_in(sample), least / max(column.said, 1)
    if column.whole and high - low < (_CENTURY if _YEARS[0] <= low <= high <= _YEARS[1] else SINGLE):
        single = [Fraction(i) for i in range(int(low), int(high) + 2)]
        first, *_, last = outwards(single, low, high, step, mass, few)
        edges: list[int | float] = list(range(int(first), int(last) + 1))
    else:
        edges, own = with_room(
            lambda step: round_edges(low, high, step, mass, few=few), _PLACE if place else step
        )
        step = step if place else own
    looks = {_CLAMPED: (low, high) != (column.low, column.high), _ENDLESS: column.endless, _WHERE: place}
    options = missing_of(column) | ({"decimal": column.decimal} if column.decimal else {})
    look = "; ".join(words for words, said in looks.items() if said)
    return Guess(stepped(edges, step, **options), look, numbers=(sample, column.said))


def stepped(edges: list[int | float], step: Fraction, **options: Any) -> Bins:
    """Bins of numbers that have a step."""
    return Bins(edges, step=plain(step), **options)


def share_in(sample: np.ndarray) -> Mass:
    """The share of sorted numbers between two ends."""
    size = max(len(sample), 1)
    return lambda a, b: float(np.searchsorted(sample, b) - np.searchsorted(sample, a)) / size


def _ends(sample: np.ndarray, low: float, high: float) -> tuple[float, float]:
    """All numbers, but for a few that lie far beyond nearly all others: those would cost every sum."""
    q = np.quantile(sample, [0.001, 0.25, 0.5, 0.75, 0.999])
    reach = max(q[3] - q[1], (q[4] - q[0]) / 10)
    if reach > 0 and len(sample) >= 1000:
        high = high if high - q[2] <= _TAIL * max(reach, q[4] - q[2]) / 4 else float(q[4])
        low = low if q[2] - low <= _TAIL * max(reach, q[2] - q[0]) / 4 else float(q[0])
    return low, high


def _step(column: SeenColumn, sample: np.ndarray, span: float) -> Fraction | None:
    """The step that the numbers have; else one that is fine against how far they are apart."""
    step = column.step
    if step is None or span > _MOST_STEPS * step:
        apart = np.diff(np.quantile(sample, _WHERE_DENSE))
        wide = float(apart[apart > 0.0].min(initial=span))  # as fine as where rows are close together
        if not wide > 1e-12 * max(abs(column.low), abs(column.high)):
            return None
        step = round_down(wide / _FINE)
    while span > _MOST_STEPS * step:
        step *= 10
    return step


def _is_code(column: SeenColumn) -> bool:
    """Whether whole numbers are names: by what the column is called, or by zeros before them."""
    return column.whole and (column.zeros > 0 or CODES.search(column.name) is not None)


def _is_place(column: SeenColumn) -> bool:
    """Whether numbers are degrees of latitude or longitude, by what the column is called and their range."""
    return _PLACES.search(column.name) is not None and -180 <= column.low <= column.high <= 180
