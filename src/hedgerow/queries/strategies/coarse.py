"""GroupBlock: the table of some attributes with levels put together into groups, asked whole."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hedgerow.errors import DomainMismatch
from hedgerow.queries.block import BLOCKS
from hedgerow.queries.query import ONE, Norms, Query

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class GroupBlock:
    """The contingency table of some attributes after a public grouping of their levels.

    A row is in exactly one cell of it, so it is as cheap to measure as the table itself.

    Args:
        attributes: their names.
        groups: for each attribute the group (0, 1, ..) of every level; every group has a level.

    >>> GroupBlock(("age",), (np.array([0, 0, 1]),)).apply(np.array([5, 6, 7])).tolist()
    [11, 7]
    """

    attributes: tuple[str, ...]
    groups: tuple[NDArray[np.int64], ...]
    denominator: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if len(self.attributes) != len(self.groups):
            raise DomainMismatch("a grouped table needs the groups of each of its attributes")
        kept = tuple(_frozen(g) for g in self.groups)
        object.__setattr__(self, "groups", kept)
        for g in kept:
            if g.ndim != 1 or not len(g) or int(g.min()) < 0 or len(np.unique(g)) != int(g.max()) + 1:
                raise DomainMismatch("groups are numbered 0, 1, .. and none of them is empty")

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The number of groups of every attribute."""
        return tuple(int(g.max()) + 1 for g in self.groups)

    def __len__(self) -> int:
        return prod(self.shape)

    @property
    def norms(self) -> Norms:
        """A row is in one cell; a swap touches two."""
        return Norms.table()

    @cached_property
    def digest(self) -> str:
        """A fingerprint of what is asked."""
        h = hashlib.sha256(repr(("groups", self.attributes)).encode())
        for g in self.groups:
            h.update(repr(g.shape).encode() + g.astype(np.int64).tobytes())
        return h.hexdigest()

    @cached_property
    def _sorted(self) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp]], ...]:
        """For each axis the levels in order of groups, and where each group begins."""
        orders = [np.argsort(g, kind="stable") for g in self.groups]
        sizes = [np.arange(n) for n in self.shape]
        grouped = [g[o] for g, o in zip(self.groups, orders, strict=True)]
        starts = [np.searchsorted(g, s) for g, s in zip(grouped, sizes, strict=True)]
        return tuple(zip(orders, starts, strict=True))

    def apply(self, marginal: NDArray[Any]) -> NDArray[Any]:
        """All cells from the full table, flattened in order; integers stay integers."""
        table = np.asarray(marginal).reshape([len(g) for g in self.groups])
        for axis, (order, starts) in enumerate(self._sorted):
            if len(starts) < len(order):
                table = np.add.reduceat(np.take(table, order, axis=axis), starts, axis=axis)
            elif (np.diff(order) != 1).any():
                table = np.take(table, order, axis=axis)
        return table.reshape(-1)

    def query(self, index: int) -> Query:
        """One cell as a query of its own."""
        cell = np.unravel_index(index, self.shape) if self.groups else ()
        masks = [(g == c).astype(np.int64) for g, c in zip(self.groups, cell, strict=True)]
        factors = tuple(m * ONE if i == 0 else m for i, m in enumerate(masks))
        return Query(self.attributes, tuple(len(g) for g in self.groups), factors=factors)


def _frozen(groups: NDArray[Any]) -> NDArray[np.int64]:
    """A copy of whole numbers that nobody can change any more."""
    given = np.asarray(groups)
    if not np.issubdtype(given.dtype, np.integer):
        raise DomainMismatch("groups are whole numbers")
    copy = given.astype(np.int64)
    copy.setflags(write=False)
    return copy


BLOCKS.add(GroupBlock)
