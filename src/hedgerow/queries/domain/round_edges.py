"""Round edges: bins that follow where numbers lie, with edges on the grid of 1, 2 and 5 times powers of ten.

Whoever drafts bins says how much lies between two numbers - an owner from rows, a private draft from noisy
quantiles - and gets edges that people would choose. Nothing here sees a row.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import floor, log10

from hedgerow.queries.domain.lattice import exact, fits

Mass = Callable[[float, float], float]
"""The share of all numbers in [a, b)."""

_MOST = 24  # bins
_LARGE, _SMALL = 0.08, 0.015  # a bin with more is divided if it can be; neighbours with less are joined
_PARTS, _FAR = 20, Fraction(1, 4)  # an end farther out than a quarter of the range is brought to a twentieth
_DIGITS = 15


def round_up(width: float) -> Fraction:
    """The next of ..., 0.5, 1, 2, 5, 10, 20, ...

    >>> round_up(0.3), round_up(7), round_up(20)
    (Fraction(1, 2), Fraction(10, 1), Fraction(20, 1))
    """
    power = Fraction(10) ** floor(log10(width))
    found = (digit * power for digit in (1, 2, 5, 10) if digit * power >= Fraction(width) * (1 - _NEAR))
    return next(found)


def round_down(width: float) -> Fraction:
    """The one of 1, 2 and 5 times powers of ten that is not above.

    >>> round_down(0.3), round_down(7), round_down(20)
    (Fraction(1, 5), Fraction(5, 1), Fraction(20, 1))
    """
    power = Fraction(10) ** floor(log10(width))
    found = (digit * power for digit in (10, 5, 2, 1) if digit * power <= Fraction(width) * (1 + _NEAR))
    return next(found)


_NEAR = Fraction(1, 10**9)


def round_edges(
    low: float, high: float, step: Fraction, mass: Mass, *, most: int = _MOST, few: float = 0.0
) -> list[int | float]:
    """Edges of bins that hold `low` and `high` (the last edge is above it) and are fine where there is much.

    A bin with a large share is divided - 10 into 5 and 5, 5 into five of 1 - down to the step; neighbours
    with next to nothing are joined. So a long tail gets few wide bins and the bulk many narrow ones.

    Args:
        low, high: the range that the bins cover.
        step: no bin is narrower.
        mass: the share of numbers between two ends.
        most: how many bins there are at most, about.
        few: a share so small makes no edge: bins with less are joined, and an end that less lies at is on
            a coarse grid, farther out than the last number.

    >>> round_edges(0, 99, Fraction(1), lambda a, b: (min(b, 100) - max(a, 0)) / 100)[:5]
    [0, 5, 10, 15, 20]
    >>> round_edges(18, 18, Fraction(1), lambda a, b: float(a <= 18 < b))
    [18, 19]
    >>> round_edges(0, 52, Fraction(1), lambda a, b: float(a <= 0 < b))
    [0, 1, 55]
    >>> round_edges(90, 432, Fraction(1), lambda a, b: float(a <= 107 < b), few=0.9)
    [80, 500]
    """
    large = max(_LARGE, 2 * few)
    while True:
        edges = _joined(_divided(low, high, step, mass, large), mass, max(_SMALL, few))
        if len(edges) <= most + 1 or large > 1:
            edges = _cut(edges, _decimal(low), _decimal(high), step)
            return [plain(e) for e in outwards(edges, low, high, step, mass, few)]
        large *= 1.5


def outwards(
    edges: Sequence[Fraction], low: float, high: float, step: Fraction, mass: Mass, few: float
) -> list[Fraction]:
    """The edges, of which an end that few lie at is on a grid of a twentieth of the range or two steps.

    Such an end would else be the number of one row.

    >>> edges = [Fraction(e) for e in (0, 10, 12, 13)]
    >>> [int(e) for e in outwards(edges, 0, 12, Fraction(1), lambda a, b: (b - a) / 13, 0.1)]
    [0, 10, 12, 14]
    """
    least, most = _decimal(low), _decimal(high)
    width = max(round_up(max(float(most - least), float(step)) / _PARTS), round_up(2 * float(step)))
    start, *inside, end = edges
    after, before = [*inside, end][0], [start, *inside][-1]
    if mass(float(start), float(after)) < few:
        start = min(start, floor(least / width) * width)
    if mass(float(before), float(end)) < few:
        end = max(end, (floor(most / width) + 1) * width)
    return [start, *inside, end]


def with_room(
    edges: Callable[[Fraction], list[int | float]], step: Fraction
) -> tuple[list[int | float], Fraction]:
    """Edges and the step that they are for, ten times as coarse until a range has room for all of its steps.

    Args:
        edges: the edges of bins of numbers with some step.
        step: the one that is wished for.

    >>> with_room(lambda step: [0, 10**9, 10**10], Fraction(1, 100))
    ([0, 1000000000, 10000000000], Fraction(10, 1))
    """
    while True:
        made = edges(step)
        if fits(exact(made[0]), exact(made[-1]), step):
            return made, step
        step *= 10


def plain(edge: Fraction) -> int | float:
    """An edge as it is written: a whole number, or a decimal."""
    return int(edge) if edge.denominator == 1 else float(f"{float(edge):.{_DIGITS}g}")


def share_of(quantiles: Sequence[tuple[float, float]]) -> Mass:
    """The share between two numbers, from some quantiles (share below, number) in order, linear between.

    Several shares at one number are an atom there.
    """
    places = [float(v) for _, v in quantiles]
    shares = [float(p) for p, _ in quantiles]

    def below(x: float) -> float:
        at = bisect_left(places, x)
        if at == 0:
            return 0.0
        if at == len(places):
            return 1.0
        a, b = places[at - 1], places[at]
        return shares[at - 1] + (shares[at] - shares[at - 1]) * (x - a) / (b - a)

    return lambda a, b: max(0.0, below(b) - below(a))


def _divided(low: float, high: float, step: Fraction, mass: Mass, large: float) -> list[Fraction]:
    """Leaves of the tree of bins, from the first that holds `low` to the one that holds `high`."""
    width = max(round_up(max(high - low, float(step))), step)
    least, most = _decimal(low), _decimal(high)
    first, last = (floor(x / width) for x in (least, most))
    leaves: list[tuple[Fraction, Fraction]] = []
    left = [(i * width, width) for i in range(last, first - 1, -1)]
    while left:
        start, wide = left.pop()
        child = _child(wide)
        parts = round(wide / child)
        if child < step or mass(float(start), float(start + wide)) <= large * (1.6 if parts == 5 else 1):
            leaves.append((start, start + wide))
            continue
        left += [(start + i * child, child) for i in range(parts - 1, -1, -1)]
    held = [leaf for leaf in leaves if leaf[1] > least and leaf[0] <= most]
    return [held[0][0], *(end for _, end in held)]


def _cut(edges: list[Fraction], low: Fraction, high: Fraction, step: Fraction) -> list[Fraction]:
    """The edges with ends that are no farther out than a part of the range: every sum pays for those."""
    span = max(high - low, step)
    width = max(round_up(float(span) / _PARTS), step)
    first, last = floor(low / width) * width, (floor(high / width) + 1) * width
    far = span * _FAR
    start = first if len(edges) > 1 and low - edges[0] > far and edges[0] < first < edges[1] else edges[0]
    made = [start, *edges[1:]]
    if edges[-1] - high > far and made[-2] < last < edges[-1]:
        made[-1] = last
    return made


def _decimal(number: float) -> Fraction:
    """A number as the decimal that it is written as: 0.7 is seven tenths, and lies in a bin from 0.7 on."""
    return Fraction(repr(float(number))) if isinstance(number, float) else Fraction(number)


def _child(width: Fraction) -> Fraction:
    """1 is divided into two of 0.5, 2 into two of 1, and 5 into five of 1."""
    if round_down(float(width) / 2) * 2 == width:
        return width / 2
    return width / 5


def _joined(edges: list[Fraction], mass: Mass, small: float) -> list[Fraction]:
    kept = edges[:1]
    for edge, after in pairwise(edges[1:]):
        both = mass(float(kept[-1]), float(after))
        if both > small:
            kept.append(edge)
    return [*kept, edges[-1]] if len(edges) > 1 else kept
