"""Basis: tables as coordinates, one block for every subset of their attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.queries.strategies.contrast import Contrasts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Names = tuple[str, ...]


def subsets(names: Sequence[str]) -> Iterator[Names]:
    """All subsets of some attributes, the smallest first."""
    return chain.from_iterable(combinations(names, k) for k in range(len(names) + 1))


class Basis:
    """Orthonormal contrasts of every attribute: a table is the sum of its residuals.

    The residual of a set S is the table over S seen through contrasts along all its attributes. A table over
    t is rebuilt from the residuals of all subsets of t, each spread evenly over the levels of t without S;
    two tables built from the same residuals have the same margins.

    Args:
        sizes: how many levels each attribute has.

    >>> basis = Basis({"sex": 2, "age": 3})
    >>> table = np.array([[3.0, 1.0, 2.0], [0.0, 4.0, 2.0]])
    >>> parts = basis.parts(("sex", "age"), table)
    >>> np.allclose(basis.table(("sex", "age"), parts), table)
    True
    """

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.sizes = dict(sizes)
        self._known: dict[str, Floats] = {}

    def _map(self, attribute: str) -> Floats:
        """Made when it is needed: an attribute that nobody asks about may have very many levels."""
        if attribute not in self._known:
            self._known[attribute] = _orthonormal(self.sizes[attribute])
        return self._known[attribute]

    def numbers(self, names: Names) -> int:
        """How many coordinates the residual of a set has."""
        return prod(self.sizes[a] - 1 for a in names)

    def spread(self, part: Names, names: Names) -> float:
        """The part of a residual's squared length that a table over more attributes keeps."""
        return prod(1.0 / self.sizes[a] for a in names if a not in part)

    def parts(self, names: Names, table: Floats) -> dict[Names, Floats]:
        """The residuals of a table's subsets."""
        out = np.asarray(table, dtype=np.float64)
        for a in names:  # the first axis goes, its coordinates come last: after all, the order is as before
            out = np.tensordot(out, self._map(a), axes=(0, 1))
        return {s: out[_place(s, names)] for s in subsets(names)}

    def residual(self, names: Names, table: Floats) -> Floats:
        """The residual of a table's own attributes."""
        out = np.asarray(table, dtype=np.float64)
        for a in names:
            out = np.tensordot(out, self._map(a)[1:], axes=(0, 1))
        return out

    def table(self, names: Names, parts: Mapping[Names, Floats]) -> Floats:
        """The table that has these residuals; one that is not given counts as nothing."""
        out = np.zeros([self.sizes[a] for a in names])
        for s in subsets(names):
            if s in parts:
                out[_place(s, names)] = parts[s] * self.spread(s, names)
        for a in names:
            out = np.tensordot(out, self._map(a), axes=(0, 0))
        return out


def _place(part: Names, names: Names) -> tuple[slice | int, ...]:
    return tuple(slice(1, None) if a in part else 0 for a in names)


def _orthonormal(levels: int) -> Floats:
    """Row 0 sums; the others are the tree's contrasts, each of length 1."""
    contrasts = Contrasts.close(levels, "even").apply(np.eye(levels, dtype=np.int64), 1).T.astype(np.float64)
    lengths = np.sqrt((contrasts**2).sum(axis=1, keepdims=True))
    return np.concatenate([np.ones((1, levels)), contrasts / np.where(lengths > 0, lengths, 1.0)])
