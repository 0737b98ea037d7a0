"""Block: many queries over one attribute set, answered together from its table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from hedgerow.errors import UnsupportedQuery
from hedgerow.queries.query import ONE, Norms, Query
from hedgerow.queries.query import _check_overflow as check_overflow

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FEW = 4  # so many queries over one table are answered together,
_STACKED = 1 << 22  # while their weights are no more than this


@dataclass(frozen=True)
class Axis:
    """0/1 questions about one attribute, asked of a table by a linear map along one axis.

    kind: `cells` (each level), `literals` (each level, and each level's negation), `prefixes` (the first
    1..n levels), `ranges` (all runs of levels).
    """

    kind: str
    levels: int

    @property
    def rows(self) -> int:
        """How many questions there are."""
        n = self.levels
        return {"cells": n, "literals": 2 * n if n > 2 else n, "prefixes": n, "ranges": n * (n + 1) // 2}[
            self.kind
        ]

    @property
    def overlap(self) -> int:
        """How many of the questions one level can be part of."""
        n = self.levels
        spans = ((n + 1) // 2) * (n // 2 + 1)
        return {"cells": 1, "literals": n if n > 2 else 1, "prefixes": n, "ranges": spans}[self.kind]

    def apply(self, table: NDArray[Any], axis: int) -> NDArray[Any]:
        """The table with this axis replaced by the answers to the questions."""
        if self.kind == "cells" or (self.kind == "literals" and self.levels <= 2):
            return table
        if self.kind == "literals":
            return np.concatenate([table, table.sum(axis=axis, keepdims=True) - table], axis=axis)
        sums = np.cumsum(table, axis=axis)
        if self.kind == "prefixes":
            return sums
        start, stop = self._runs
        before = np.take(sums, np.maximum(start - 1, 0), axis=axis)
        first = np.expand_dims(start > 0, [a for a in range(table.ndim) if a != axis])
        return np.asarray(np.take(sums, stop, axis=axis) - before * first)

    @property
    def _runs(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        return _triangle(self.levels)

    def mask(self, row: int) -> NDArray[np.int64]:
        """The levels that one question counts."""
        out = np.zeros(self.levels, dtype=np.int64)
        if self.kind == "prefixes":
            out[: row + 1] = 1
        elif self.kind == "ranges":
            start, stop = self._runs
            out[start[row] : stop[row] + 1] = 1
        elif row < self.levels:
            out[row] = 1
        else:
            out[:] = 1
            out[row - self.levels] = 0
        return out


@lru_cache(maxsize=16)
def _triangle(levels: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """First and last level of every run of levels."""
    start, stop = np.triu_indices(levels)
    return start, stop


class Block(Protocol):
    """Queries over one attribute set."""

    @property
    def attributes(self) -> tuple[str, ...]: ...

    @property
    def norms(self) -> Norms: ...

    @property
    def denominator(self) -> int: ...

    @property
    def digest(self) -> str: ...

    def __len__(self) -> int: ...

    def __hash__(self) -> int: ...

    def query(self, index: int) -> Query: ...

    def apply(self, marginal: NDArray[Any]) -> NDArray[Any]: ...


@dataclass(frozen=True)
class ProductBlock:
    """All combinations of per-attribute questions over one attribute set."""

    attributes: tuple[str, ...]
    axes: tuple[Axis, ...]
    denominator: ClassVar[int] = 1

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of questions per attribute."""
        return tuple(axis.rows for axis in self.axes)

    def __post_init__(self) -> None:
        """Norms are read off the axes: only real ones have them."""
        if any(type(axis) is not Axis for axis in self.axes) or len(self.axes) != len(self.attributes):
            raise UnsupportedQuery("a workload is made of Hedgerow's own blocks; give a list of queries")

    def __len__(self) -> int:
        return prod(self.shape)

    @property
    def digest(self) -> str:
        """A fingerprint of what is asked."""
        return repr((self.attributes, self.axes))

    @property
    def is_table(self) -> bool:
        """Whether the block is the plain table of its attributes."""
        return all(axis.kind == "cells" for axis in self.axes)

    @property
    def norms(self) -> Norms:
        """Entries are 0/1: a column's L1 norm and squared L2 norm are both its number of ones."""
        overlap = prod(axis.overlap for axis in self.axes)
        return Norms.nonnegative(overlap, overlap)

    def apply(self, marginal: NDArray[Any]) -> NDArray[Any]:
        """All answers from the table, flattened in order."""
        table = np.asarray(marginal).reshape([a.levels for a in self.axes])
        for i, axis in enumerate(self.axes):
            table = axis.apply(table, i)
        return table.reshape(-1)

    def query(self, index: int) -> Query:
        """One of the queries."""
        rows = np.unravel_index(index, self.shape) if self.axes else ()
        masks = [axis.mask(int(r)) for axis, r in zip(self.axes, rows, strict=True)]
        factors = tuple(m * ONE if i == 0 else m for i, m in enumerate(masks))
        return Query(self.attributes, tuple(a.levels for a in self.axes), factors=factors)


@dataclass(frozen=True)
class ListBlock:
    """Arbitrary queries over one attribute set."""

    attributes: tuple[str, ...]
    queries: tuple[Query, ...]

    def __post_init__(self) -> None:
        """Tables of rows are handed to these queries: a class of somebody else's would see them."""
        if not all(type(q) is Query for q in self.queries):
            raise UnsupportedQuery("a workload is a list of Hedgerow's own queries")

    def __len__(self) -> int:
        return len(self.queries)

    def query(self, index: int) -> Query:
        """One of the queries."""
        return self.queries[index]

    @cached_property
    def digest(self) -> str:
        """A fingerprint of what is asked."""
        return ",".join(q.digest for q in self.queries)

    @cached_property
    def denominator(self) -> int:
        """One lattice for all: the finest of the queries'."""
        return max(q.denominator for q in self.queries)

    @cached_property
    def norms(self) -> Norms:
        """Exact largest column when the table is small, else the sum of every query's largest weight."""
        steps = ONE // self.denominator
        if len(self.queries) == 1:
            return Norms.query(self.queries[0].largest // steps)
        if prod(self.queries[0].shape) > 1 << 22:
            largest = [q.largest // steps for q in self.queries]
            return Norms.nonnegative(sum(largest), sum(w * w for w in largest))
        l1 = sum(q.most // steps for q in self.queries)
        l2 = sum((q.most // steps).astype(object) ** 2 for q in self.queries)
        return Norms.nonnegative(int(np.max(l1)), int(np.max(l2)))

    @cached_property
    def _stack(self) -> NDArray[np.int64] | None:
        """All weights as one matrix, in lattice steps; None where that would be large, or not worth it."""
        cells = prod(self.queries[0].shape)
        if len(self.queries) < _FEW or cells * len(self.queries) > _STACKED:
            return None
        stacked = np.stack([q.weights.reshape(-1) for q in self.queries]) // (ONE // self.denominator)
        stacked.setflags(write=False)
        return stacked

    def apply(self, marginal: NDArray[Any]) -> NDArray[Any]:
        """All answers: lattice steps of the block's lattice from integers, counts from floats."""
        if self._stack is not None:
            flat = np.asarray(marginal).reshape(-1)
            if not np.issubdtype(flat.dtype, np.integer):
                return np.asarray(self._stack @ flat.astype(np.float64)) / self.denominator
            check_overflow(int(np.abs(flat).sum(dtype=np.int64)), self.denominator)
            return np.asarray(self._stack @ flat.astype(np.int64))
        if np.issubdtype(np.asarray(marginal).dtype, np.integer):
            values = [q.apply(marginal) * (self.denominator // q.denominator) for q in self.queries]
            return np.array(values, dtype=np.int64)
        return np.array([q.apply(marginal) for q in self.queries], dtype=np.float64)


BLOCKS: set[type] = {ProductBlock, ListBlock}
"""The classes that a workload is made of; `coarse` adds its own."""
