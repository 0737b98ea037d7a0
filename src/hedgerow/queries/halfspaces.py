"""Halfspaces: every way in which a straight line cuts the bins of two numeric attributes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cmp_to_key
from itertools import pairwise
from math import gcd, lcm
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.errors import RangeTooLarge, UnsupportedQuery
from hedgerow.queries.block import ListBlock
from hedgerow.queries.domain.bins import Bins
from hedgerow.queries.query import ONE, Query
from hedgerow.queries.workload import Workload
from hedgerow.queries.workload import _finite as finite

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain

_MOST = 1 << 15  # questions: places times places, at most

Direction = tuple[int, int]


def halfspaces(domain: Domain, over: Sequence[str]) -> Workload:
    """All questions a x + b y <= c about two numeric attributes, each by the middle of its bin.

    Questions that count the same bins are one, so that n bins have at most n (n - 1) + 1 of them, that which
    counts every bin included. Rows that are missing or outside are counted by none. The VC dimension is 3.

    Args:
        domain: the declared attributes.
        over: the two of them.

    >>> from hedgerow.queries.domain.bins import bins
    >>> from hedgerow.queries.domain.domain import Domain
    >>> domain = Domain({"x": bins(0, 2, 1), "y": bins(0, 2, 1)})
    >>> len(halfspaces(domain, ["x", "y"]))
    13
    """
    pair = isinstance(over, Sequence) and not isinstance(over, str) and len(over) == 2
    names = finite(domain).order(over) if pair else ()
    if len(names) != 2 or not all(isinstance(domain[a], Bins) for a in names):
        raise UnsupportedQuery("halfspaces are about two different attributes that are numbers in bins")
    columns = [_middles(domain, a) for a in names]
    places = len(columns[0]) * len(columns[1])
    if places * (places - 1) >= _MOST:
        raise RangeTooLarge(
            f"{places:,} bins have up to {places * (places - 1) + 1:,} halfspaces, more than {_MOST:,}; "
            "use wider bins"
        )
    shape = domain.shape_of(names)
    proper = tuple(slice(len(c)) for c in columns)
    queries = []
    for mask in _cuts(*columns):
        weights = np.zeros(shape, dtype=np.int64)
        weights[proper] = mask.reshape(len(columns[0]), len(columns[1])) * ONE
        queries.append(Query(names, shape, dense=weights))
    return Workload([ListBlock(names, tuple(queries))], name="halfspaces")


def _middles(domain: Domain, name: str) -> list[int]:
    """The middles of an attribute's bins, all multiplied by one number that makes them whole."""
    attribute = domain[name]
    assert isinstance(attribute, Bins)
    edges = [Fraction(e) for e in attribute.edge_array.tolist()]
    middles = [(a + b) / 2 for a, b in pairwise(edges)]
    whole = lcm(*(m.denominator for m in middles))
    numbers = [int(m * whole) for m in middles]
    step = gcd(*(n - numbers[0] for n in numbers)) or 1
    return [(n - numbers[0]) // step for n in numbers]


def _cuts(xs: list[int], ys: list[int]) -> Iterator[NDArray[np.bool_]]:
    """Every non-empty set of points that a line cuts off, once.

    A line that cuts off a set of finitely many points may be turned a little: so it is enough to look along
    one direction between each two neighbouring ones in which two points fall together, and to take the first
    points in that order. Whole numbers only: nothing is decided by rounding.
    """
    x = np.repeat(np.array(xs, dtype=object), len(ys))
    y = np.tile(np.array(ys, dtype=object), len(xs))
    turns = _directions(xs, ys)
    seen: set[bytes] = set()
    for (a, b), (c, d) in zip(turns, turns[1:] + turns[:1], strict=True):
        order = np.argsort((a + c) * x + (b + d) * y, kind="stable")
        mask = np.zeros(len(x), dtype=np.bool_)
        for place in order:
            mask[place] = True
            key = mask.tobytes()
            if key not in seen:
                seen.add(key)
                yield mask.copy()


def _directions(xs: list[int], ys: list[int]) -> list[Direction]:
    """The directions in which two points fall together, and both axes, by their angle."""
    across = {x - z for x in xs for z in xs} | {1, -1, 0}
    along = {y - z for y in ys for z in ys} | {1, -1, 0}
    found = {(dy // g, -dx // g) for dx in across for dy in along if (g := gcd(dx, dy))}
    return sorted(found, key=cmp_to_key(_before))


def _before(one: Direction, two: Direction) -> int:
    """Which of two directions comes first when one turns from (1, 0) by a whole round."""
    (a, b), (c, d) = one, two
    half = [(y < 0 or (y == 0 and x < 0)) for x, y in (one, two)]
    if half[0] != half[1]:
        return 1 if half[0] else -1
    return -1 if a * d - b * c > 0 else 1
