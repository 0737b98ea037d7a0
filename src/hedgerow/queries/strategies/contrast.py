"""Contrasts: whole-number differences between halves of an attribute's levels, orthogonal to each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import gcd
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hedgerow.errors import RangeTooLarge, UnsupportedQuery

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

Grading = Literal["even", "depth"]

_LARGEST_SCALE = 1 << 16
_LARGEST_SQUARES = 1 << 62  # of the largest squared entry times the depth, which bounds every sum of them


@dataclass(frozen=True, eq=False)
class Tree:
    """A binary tree over levels; node j splits those from `low[j]` to before `high[j]` at `middle[j]`.

    The contrast of a node is h = (right, .., right, -left, .., -left, 0, ..) with `right` entries as often as
    the left half has levels; it sums to zero, and contrasts of different nodes are orthogonal: one is
    constant where the other is not zero. Parents come before their children.
    """

    low: Ints
    middle: Ints
    high: Ints
    left: Ints
    right: Ints
    children: Ints
    depth: Ints

    @property
    def squares(self) -> Ints:
        """The squared length of every contrast."""
        a, b = self.middle - self.low, self.high - self.middle
        return a * self.right**2 + b * self.left**2

    @cached_property
    def strata(self) -> tuple[Ints, ...]:
        """The nodes of every depth."""
        deepest = int(self.depth.max(initial=-1))
        return tuple(frozen(np.flatnonzero(self.depth == k)) for k in range(deepest + 1))


@dataclass(frozen=True, eq=False)
class Contrasts:
    """The contrasts of one attribute, each times a whole number, so that they are almost of one length.

    With all of them at exactly one length, an attribute's residual is the projection off the constants, which
    is what the optimal strategy for tables measures [XHZK23]; whole numbers come as close as `scales` are
    large, and keep every exact answer a whole number. Every array is a copy that cannot be written to, and
    contrasts whose squares might not add up within 64 bits are refused: norms are read off them.

    Args:
        levels: how many levels the attribute has.
        grading: `even` - one class, for tables; `depth` - a class for every depth of the tree, for ranges.
        scales: a whole number >= 1 for every contrast.

    >>> pair = Contrasts(2, "even", np.array([1]))
    >>> pair.apply(np.array([7, 3]), 0).tolist()
    [4]
    """

    levels: int
    grading: Grading
    scales: Ints

    def __post_init__(self) -> None:
        if type(self.levels) is not int or self.levels < 1 or self.grading not in ("even", "depth"):
            raise UnsupportedQuery("contrasts need a number of levels, 1 or more, graded `even` or `depth`")
        given = np.asarray(self.scales)
        if given.shape != (self.levels - 1,) or (given.size and not np.issubdtype(given.dtype, np.integer)):
            raise UnsupportedQuery(
                f"{self.levels} levels have {self.levels - 1} contrasts, each with one whole scale"
            )
        if given.size and not 1 <= int(given.min()) <= int(given.max()) <= _LARGEST_SCALE:
            raise UnsupportedQuery(f"the scales of contrasts are whole numbers from 1 to {_LARGEST_SCALE:,}")
        object.__setattr__(self, "scales", frozen(given))
        if self.largest**2 * max(1, len(self.tree.strata)) >= _LARGEST_SQUARES:
            raise RangeTooLarge("the squares of these contrasts would pass 64-bit integers")

    @classmethod
    def close(cls, levels: int, grading: Grading, tolerance: float = 1e-3) -> Contrasts:
        """Contrasts whose noise, at a given sensitivity, is above the ideal by at most a part `tolerance`."""
        return _close(levels, grading, tolerance)

    @cached_property
    def tree(self) -> Tree:
        """The tree behind the contrasts."""
        return _tree(self.levels, self.grading)

    @property
    def classes(self) -> int:
        """How many classes of contrasts there are; each can be given a weight of its own."""
        return 1 if self.grading == "even" else max(1, len(self.tree.strata))

    @cached_property
    def class_of(self) -> Ints:
        """The class of every contrast."""
        return self.tree.depth if self.grading == "depth" else frozen(np.zeros(self.levels - 1))

    @cached_property
    def weights(self) -> tuple[Ints, Ints]:
        """The scaled entries of every contrast on its left half, and (without sign) on its right half."""
        return frozen(self.scales * self.tree.right), frozen(self.scales * self.tree.left)

    @property
    def largest(self) -> int:
        """The largest entry, whatever its sign."""
        return max((int(w.max(initial=0)) for w in self.weights), default=0)

    # -- along an axis of a table -------------------------------------------------------------------------

    def apply(self, table: NDArray[Any], axis: int) -> NDArray[Any]:
        """The table with this axis replaced by scaled contrasts; whole numbers stay exact."""
        left, right = self.halves(table, axis)
        a, b = (_along(w, table.ndim, axis) for w in self.weights)
        return np.asarray(left * a - right * b)

    def halves(self, table: NDArray[Any], axis: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """What every node's left half and right half sum to."""
        sums = np.cumsum(table, axis=axis)
        sums = np.concatenate([np.zeros_like(np.take(sums, [0], axis=axis)), sums], axis=axis)
        low, middle, high = (
            np.take(sums, at, axis=axis) for at in (self.tree.low, self.tree.middle, self.tree.high)
        )
        return middle - low, high - middle

    def coefficients(self, weights: Floats, axis: int) -> Floats:
        """A query's coordinates: first what it takes of the total, then of every unscaled contrast."""
        t = self.tree
        left, right = self.halves(weights, axis)
        each = [_along(w / t.squares, weights.ndim, axis) for w in (t.right, t.left)]
        whole = weights.sum(axis=axis, keepdims=True) / self.levels
        return np.concatenate([whole, left * each[0] - right * each[1]], axis=axis)

    def rebuild(self, values: Floats, axis: int) -> Floats:
        """The table behind a total and its unscaled contrasts: each node's sum is split among its halves."""
        v = np.moveaxis(values, axis, 0)
        return np.moveaxis(self._down(v[:1], v[1:], split=True), 0, axis)

    def spread(self, variances: Floats, axis: int) -> Floats:
        """Every level's variance, from those of the total and of the unscaled contrasts."""
        v = np.moveaxis(variances, axis, 0)
        return np.moveaxis(self._down(v[:1] / self.levels**2, v[1:], split=False), 0, axis)

    def _down(self, root: Floats, values: Floats, *, split: bool) -> Floats:
        t, n = self.tree, self.levels
        out = np.empty((2 * n - 1, *root.shape[1:]))
        out[:1] = root
        for nodes in t.strata:
            a, b, q = (
                _along(x[nodes].astype(np.float64), root.ndim, 0) for x in (t.left, t.right, t.squares)
            )
            here, own = out[nodes], values[nodes]
            if split:  # right * L - left * R = own and L + R = here
                first = (own + a * here) / (a + b)
                second = here - first
            else:
                first, second = here + (b / q) ** 2 * own, here + (a / q) ** 2 * own
            out[t.children[nodes, 0]], out[t.children[nodes, 1]] = first, second
        return out[n - 1 :]

    # -- exact norms --------------------------------------------------------------------------------------

    @cached_property
    def columns(self) -> Ints:
        """The squared length of every level's column, by class: shape (classes, levels), exact."""
        return self._sum_down(2)

    @cached_property
    def column_sums(self) -> Ints:
        """The absolute sum of every level's column, by class."""
        return self._sum_down(1)

    def _sum_down(self, power: int) -> Ints:
        """Every node adds to the levels of its halves: no sum passes 2^62, see `__post_init__`."""
        steps = np.zeros((self.classes, self.levels + 1), dtype=np.int64)
        t = self.tree
        a, b = (w**power for w in self.weights)
        for places, change in ((t.low, a), (t.middle, b - a), (t.high, -b)):
            np.add.at(steps, (self.class_of, places), change)
        return frozen(np.cumsum(steps, axis=1)[:, :-1])

    @cached_property
    def products(self) -> tuple[int, int]:
        """The least and the largest inner product of two different levels' columns, all classes together.

        Two levels part at one node, where they have opposite signs; above it they are in the same halves.
        """
        t, n = self.tree, self.levels
        a, b = self.weights
        above = np.zeros(2 * n - 1, dtype=np.int64)
        for nodes in t.strata:
            above[t.children[nodes, 0]] = above[nodes] + a[nodes] ** 2
            above[t.children[nodes, 1]] = above[nodes] + b[nodes] ** 2
        parted = above[: n - 1] - a * b
        return (int(parted.min()), int(parted.max())) if n > 1 else (0, 0)

    def farthest(self, class_weights: Ints) -> int:
        """The largest squared distance of two columns, each class times a whole weight; exact.

        Above the node where two levels part their columns agree; there they differ by the sum of its two
        entries; below, each has its own entries.
        """
        t, n = self.tree, self.levels
        a, b = (int_array(w, class_weights[self.class_of]) for w in self.weights)
        below: list[int] = [0] * (2 * n - 1)
        best = 0
        for j in range(n - 2, -1, -1):
            first, second = (int(c) for c in t.children[j])
            best = max(best, (a[j] + b[j]) ** 2 + below[first] + below[second])
            below[j] = max(a[j] ** 2 + below[first], b[j] ** 2 + below[second])
        return best


def frozen(values: NDArray[Any]) -> Ints:
    """A copy of whole numbers that nobody can write to, and no view of something that can be."""
    copy = np.array(values, dtype=np.int64, order="C")
    copy.setflags(write=False)
    return copy


def int_array(scales: Ints, weights: Ints) -> list[int]:
    """Products as Python's own integers, which do not overflow."""
    return [int(s) * int(w) for s, w in zip(scales, weights, strict=True)]


def _along(values: NDArray[Any], axes: int, axis: int) -> NDArray[Any]:
    return values.reshape([-1 if i == axis else 1 for i in range(axes)])


@lru_cache(maxsize=512)
def _tree(levels: int, grading: Grading) -> Tree:
    """Halves for ranges; for tables any split will do, and one with small whole entries is taken."""
    nodes: list[tuple[int, int, int, int]] = []
    place: dict[tuple[int, int], int] = {}
    for begin, end, generation in _grow([(0, levels, 0)], grading):
        place[begin, end] = len(nodes)
        nodes.append((begin, begin + _split(end - begin, grading), end, generation))
    children = [
        [place[x] if x[1] - x[0] > 1 else levels - 1 + x[0] for x in ((start, cut), (cut, stop))]
        for start, cut, stop, _ in nodes
    ]
    low, middle, high, depth = np.array(nodes, dtype=np.int64).reshape(-1, 4).T
    common = np.gcd(middle - low, high - middle)
    left, right = (middle - low) // common, (high - middle) // common
    pairs = np.array(children, dtype=np.int64).reshape(-1, 2)
    return Tree(*(frozen(x) for x in (low, middle, high, left, right, pairs, depth)))


def _grow(waiting: list[tuple[int, int, int]], grading: Grading) -> Iterator[tuple[int, int, int]]:
    """Nodes of more than one level, parents first, depth by depth."""
    while waiting:
        below = []
        for low, high, depth in waiting:
            if high - low > 1:
                yield low, high, depth
                middle = low + _split(high - low, grading)
                below += [(low, middle, depth + 1), (middle, high, depth + 1)]
        waiting = below


@lru_cache(maxsize=4096)
def _split(size: int, grading: Grading) -> int:
    """How many levels go to the left: half of them, or nearly half where that makes the entries small."""
    if grading == "depth":
        return (size + 1) // 2
    near = range(max(1, size // 4), size // 2 + 1)
    return size - min(near, key=lambda a: (a * (size - a) * size // gcd(a, size) ** 2, -a))


@lru_cache(maxsize=1024)
def _close(levels: int, grading: Grading, tolerance: float) -> Contrasts:
    """The smallest scales that are close enough: entries stay small, so that answers fit 64 bits."""
    ones = Contrasts(levels, grading, np.ones(levels - 1, dtype=np.int64))
    if levels == 1:
        return ones
    t = ones.tree
    size = t.high - t.low if grading == "depth" else np.ones(levels - 1, dtype=np.int64)
    ideal = np.sqrt(size / t.squares)
    goal = _price(ones, ideal)
    base, step = 1.0 / ideal.max(), 0
    while True:
        scales = np.maximum(np.rint(ideal * base * 1.02**step), 1).astype(np.int64)
        if int(scales.max()) > _LARGEST_SCALE:
            raise RangeTooLarge(f"the contrasts of {levels:,} levels need scales above {_LARGEST_SCALE:,}")
        if (_price(ones, scales.astype(np.float64)) <= goal * (1.0 + tolerance)).all():
            return Contrasts(levels, grading, scales)
        step += 1


def _price(ones: Contrasts, scales: Floats) -> Floats:
    """By class: largest squared column times the sum of contrasts' variances, which scale does not change."""
    t = ones.tree
    out = []
    for c in range(ones.classes):
        mine = np.flatnonzero(ones.class_of == c)
        column = np.zeros(ones.levels + 1)
        for w, start, stop in ((t.right, t.low, t.middle), (t.left, t.middle, t.high)):
            np.add.at(column, start[mine], (scales[mine] * w[mine]) ** 2)
            np.add.at(column, stop[mine], -((scales[mine] * w[mine]) ** 2))
        out.append(np.cumsum(column)[:-1].max() * (1.0 / (scales[mine] ** 2 * t.squares[mine])).sum())
    return np.array(out)
