"""Resolutions: every attribute at several nested degrees of detail, from all its levels to a few groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.errors import DomainMismatch

if TYPE_CHECKING:
    from numpy.typing import NDArray

_KEEP_CELLS, _KEEP_MAPS = 1 << 13, 1 << 12
Node = tuple[int, int]
"""(attribute, resolution): resolution 0 has all levels, each further one groups the groups before it."""


@dataclass(frozen=True, eq=False)
class Resolutions:
    """Nested groupings: `maps[a][r]` says which group of resolution r every level of attribute a is in.

    >>> fine = Resolutions.full((4, 2)).with_groups(0, [0, 0, 1, 1])
    >>> fine.sizes
    ((4, 2), (2,))
    """

    maps: tuple[tuple[NDArray[np.int64], ...], ...]

    @classmethod
    def full(cls, shape: Sequence[int]) -> Resolutions:
        """All levels of every attribute and nothing coarser."""
        return cls(tuple((np.arange(n, dtype=np.int64),) for n in shape))

    def with_groups(self, attribute: int, groups: Sequence[int] | NDArray[np.int64]) -> Resolutions:
        """The same with one coarser resolution of an attribute, given as the group of every level."""
        new = np.asarray(groups, dtype=np.int64)
        last = self.maps[attribute][-1]
        pairs = np.unique(np.stack([last, new]), axis=1)
        if new.shape != last.shape or pairs.shape[1] != int(last.max()) + 1:
            raise DomainMismatch("a coarser resolution groups the groups of the one before it")
        chain = (*self.maps[attribute], new)
        return Resolutions(tuple(chain if a == attribute else m for a, m in enumerate(self.maps)))

    @cached_property
    def sizes(self) -> tuple[tuple[int, ...], ...]:
        """The number of groups of every attribute at every resolution."""
        return tuple(tuple(int(m.max()) + 1 for m in chain) for chain in self.maps)

    @cached_property
    def _steps(self) -> dict[tuple[int, int, int], NDArray[np.int64]]:
        return {}

    def between(self, attribute: int, fine: int, coarse: int) -> NDArray[np.int64]:
        """The group at `coarse` of every group at `fine`."""
        key = (attribute, fine, coarse)
        if key not in self._steps:
            step = np.zeros(self.sizes[attribute][fine], dtype=np.int64)
            step[self.maps[attribute][fine]] = self.maps[attribute][coarse]
            self._steps[key] = step
        return self._steps[key]

    def size(self, node: Node) -> int:
        """The number of groups of a node."""
        return self.sizes[node[0]][node[1]]

    def shape(self, nodes: Sequence[Node]) -> tuple[int, ...]:
        """The shape of a table over some nodes."""
        return tuple(self.sizes[a][r] for a, r in nodes)

    def cells(self, nodes: Sequence[Node]) -> int:
        """The number of cells of a table over some nodes."""
        return prod(self.shape(nodes))

    @cached_property
    def _kept(self) -> dict[tuple[tuple[Node, ...], tuple[Node, ...]], NDArray[np.int32]]:
        return {}

    def step(self, fine: tuple[Node, ...], coarse: tuple[Node, ...]) -> NDArray[np.int32]:
        """The same as `index_map`, small ones kept for the next time."""
        if self.cells(fine) > _KEEP_CELLS:
            return self.index_map(fine, coarse)
        if (fine, coarse) not in self._kept:
            if len(self._kept) >= _KEEP_MAPS:
                self._kept.clear()
            self._kept[fine, coarse] = self.index_map(fine, coarse)
        return self._kept[fine, coarse]

    def index_map(self, fine: Sequence[Node], coarse: Sequence[Node]) -> NDArray[np.int32]:
        """For every cell of the table over `fine`, the cell of the table over `coarse`, both flat."""
        shape = self.shape(fine)
        place = {a: (axis, r) for axis, (a, r) in enumerate(fine)}
        out = np.zeros((1,) * len(shape), dtype=np.int32)
        stride = 1
        for a, r in reversed(coarse):
            axis, finer = place[a]
            step = (self.between(a, finer, r) * stride).astype(np.int32)
            out = out + step.reshape([-1 if i == axis else 1 for i in range(len(shape))])
            stride *= self.sizes[a][r]
        return np.ascontiguousarray(np.broadcast_to(out, shape)).reshape(-1)


def finest(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """The finest node of every attribute among some, in order of attributes."""
    return tuple(dict(sorted(nodes, key=lambda n: (n[0], -n[1]))).items())
