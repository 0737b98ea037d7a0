"""Strategies: whole-number linear maps that are measured so that other questions can be answered well."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from math import ceil, prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

import numpy as np

from hedgerow.errors import DomainMismatch, RangeTooLarge, UnsupportedQuery
from hedgerow.queries.query import Norms
from hedgerow.queries.strategies.contrast import Contrasts, frozen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    TableOf = Callable[[tuple[str, ...]], Ints]

LARGEST_ENTRY = 1 << 31
"""A row moves a measured number by at most this much: the sums of 2^31 rows then stay within 64 bits."""

_PATTERNS = 16
_SLACK = 2.0**-36  # far above the rounding of a few thousand float products of norms


class Strategy(Protocol):
    """A public whole-number map of rows to numbers, with proven column norms."""

    @property
    def norms(self) -> Norms: ...

    @property
    def cliques(self) -> tuple[tuple[str, ...], ...]: ...

    @property
    def digest(self) -> str: ...

    def check(self, domain: Domain) -> None: ...

    def apply(self, table_of: TableOf) -> Ints: ...


@dataclass(frozen=True, eq=False)
class Residual:
    """What a table holds beyond its margins: contrasts along all attributes, classes times whole weights.

    Args:
        attributes: the table's attributes, in the domain's order.
        weights: a whole number >= 1 for every combination of the attributes' classes.
    """

    attributes: tuple[str, ...]
    weights: Ints


@dataclass(frozen=True, eq=False)
class ResidualStrategy:
    """Residuals of several tables [XHZK23]: orthogonal to each other, so that tables follow by adding up.

    Two rows of it - of one residual or of two - are orthogonal: either some attribute has a contrast in one
    and is summed over in the other, or they differ in a contrast. Least squares is therefore diagonal.

    Args:
        axes: the contrasts of every attribute.
        residuals: what is measured; with a set of attributes all its subsets, except perhaps the empty one.

    >>> pair = Contrasts.close(2, "even")
    >>> parts = (Residual((), np.array(1)), Residual(("sex",), np.array([1])))
    >>> rows = {(): np.array(10), ("sex",): np.array([7, 3])}
    >>> ResidualStrategy({"sex": pair}, parts).apply(rows.__getitem__).tolist()
    [10, 4]
    """

    axes: Mapping[str, Contrasts]
    residuals: tuple[Residual, ...]
    norms: Norms = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse weights that are not whole or out of range, and freeze them: the norms rest on them."""
        object.__setattr__(self, "axes", MappingProxyType(dict(self.axes)))
        own = tuple(self._frozen(r) for r in self.residuals)
        object.__setattr__(self, "residuals", own)
        if not own or len({r.attributes for r in own}) < len(own):
            raise UnsupportedQuery("a strategy measures at least one residual, and none twice")
        if max(self._largest(r) for r in own) > LARGEST_ENTRY:
            raise RangeTooLarge("the strategy's whole numbers would pass 64-bit integers")
        object.__setattr__(self, "norms", self._norms())

    def _frozen(self, r: Residual) -> Residual:
        if len(set(r.attributes)) < len(r.attributes) or not all(
            type(self.axes.get(a)) is Contrasts for a in r.attributes
        ):
            raise UnsupportedQuery("a residual names attributes of the strategy, each once")
        given = np.asarray(r.weights)
        if given.shape != tuple(self.axes[a].classes for a in r.attributes) or not np.issubdtype(
            given.dtype, np.integer
        ):
            raise UnsupportedQuery("a residual has one whole weight for every combination of classes")
        if not 1 <= int(given.min()) <= int(given.max()) <= LARGEST_ENTRY:
            raise UnsupportedQuery(f"weights of residuals are whole numbers from 1 to {LARGEST_ENTRY:,}")
        return Residual(tuple(r.attributes), frozen(given))

    def _largest(self, r: Residual) -> int:
        return int(r.weights.max()) * prod(max(self.axes[a].largest, 1) for a in r.attributes)

    def check(self, domain: Domain) -> None:
        """Every attribute has as many levels as the domain says, and comes in the domain's order."""
        for name, axis in self.axes.items():
            if domain[name].size != axis.levels:
                raise DomainMismatch(f"the strategy was made for another {name!r}")
        for r in self.residuals:
            if domain.order(r.attributes) != r.attributes:
                raise DomainMismatch("the strategy was made for another domain")

    @property
    def cliques(self) -> tuple[tuple[str, ...], ...]:
        """The tables it is computed from."""
        return tuple(r.attributes for r in self.residuals)

    @cached_property
    def digest(self) -> str:
        """A fingerprint of what is measured."""
        h = hashlib.sha256(b"residuals")
        for name, axis in self.axes.items():
            h.update(repr((name, axis.levels, axis.grading)).encode() + axis.scales.tobytes())
        for r in self.residuals:
            h.update(repr((r.attributes, r.weights.shape)).encode() + r.weights.tobytes())
        return h.hexdigest()

    def shape(self, attributes: Sequence[str]) -> tuple[int, ...]:
        """How many contrasts each attribute has."""
        return tuple(self.axes[a].levels - 1 for a in attributes)

    @cached_property
    def places(self) -> Mapping[tuple[str, ...], slice]:
        """Where every residual lies in the vector of measured numbers."""
        ends = list(accumulate(prod(self.shape(r.attributes)) for r in self.residuals))
        starts = [0, *ends[:-1]]
        return MappingProxyType(
            {r.attributes: slice(i, j) for r, i, j in zip(self.residuals, starts, ends, strict=True)}
        )

    @cached_property
    def of(self) -> Mapping[tuple[str, ...], Residual]:
        """The residuals by their attributes."""
        return MappingProxyType({r.attributes: r for r in self.residuals})

    def factors(self, r: Residual) -> Ints:
        """The whole number that each unscaled contrast of a residual is multiplied with."""
        axes = [self.axes[a] for a in r.attributes]
        out = r.weights[np.ix_(*(axis.class_of for axis in axes))] if axes else r.weights
        for i, axis in enumerate(axes):
            out = out * axis.scales.reshape([-1 if j == i else 1 for j in range(len(axes))])
        return np.asarray(out)

    def apply(self, table_of: TableOf) -> Ints:
        """All numbers to measure from exact tables; as 64-bit integers, which go round at 2^64.

        A refusal of large tables would speak of the rows. The map is linear, so what goes round is A x mod
        2^64; with integer noise added it is (A x + noise) mod 2^64, a function of what is released.
        """
        return np.concatenate([self._one(r, np.asarray(table_of(r.attributes))) for r in self.residuals])

    def _one(self, r: Residual, table: Ints) -> Ints:
        axes = [self.axes[a] for a in r.attributes]
        table = table.astype(np.int64, copy=False).reshape([axis.levels for axis in axes])
        weights = r.weights[np.ix_(*(axis.class_of for axis in axes))] if axes else r.weights
        with np.errstate(over="ignore"):  # not even a warning: it would depend on the rows
            for i, axis in enumerate(axes):
                table = axis.apply(table, i)
            return np.asarray(table.reshape(-1) * weights.reshape(-1), dtype=np.int64)

    # -- norms --------------------------------------------------------------------------------------------

    def _norms(self) -> Norms:
        """Exact norms of every residual's columns, added up over residuals; never below one step.

        A column of a residual is a product of its attributes' columns, so its squared length is the product
        of theirs; likewise inner products. A swap of rows that differ in the attributes D moves residual S by
        |a_x|^2 + |a_y|^2 - 2 <a_x, a_y>, which `_moved` bounds for every part of S in D; what all residuals
        move by together is the largest sum over one D.
        """
        squares = max(1, sum(self._column(r, 2) for r in self.residuals))
        sums = max(1, sum(self._column(r, 1) for r in self.residuals))
        total = int(self.of[()].weights) ** 2 if () in self.of else 1  # no swap moves it: noise all the same
        return Norms(sums, squares, 2 * sums, min(max(self._swapped(), total), 4 * squares))

    def _column(self, r: Residual, power: int) -> int:
        """The largest column of one residual: squared length (2) or absolute sum (1)."""
        axes = [self.axes[a] for a in r.attributes]
        each = [axis.columns if power == 2 else axis.column_sums for axis in axes]
        out = r.weights.astype(object) ** power
        flat = prod(int(e.max(initial=0)) for e, a in zip(each, axes, strict=True) if a.classes == 1)
        graded = [e.astype(object) for e, a in zip(each, axes, strict=True) if a.classes > 1]
        out = np.asarray(out, dtype=object).reshape([a.classes for a in axes if a.classes > 1])
        for e in graded:  # the first class axis goes, its levels come last
            out = np.tensordot(out, e, axes=(0, 0))
        return int(np.max(out)) * flat

    def _swapped(self) -> int:
        """What a swap can move: over all sets D of differing attributes when there are few attributes."""
        names = list(dict.fromkeys(a for r in self.residuals for a in r.attributes))
        moves = {r.attributes: self._moved(r) for r in self.residuals if r.attributes}
        if len(names) > _PATTERNS:
            return sum(max(m) for m in moves.values())
        sets = np.arange(1 << len(names))
        total, size = np.zeros(len(sets)), 0.0
        for attributes, move in moves.items():
            part = np.zeros(len(sets), dtype=np.int64)
            for i, a in enumerate(attributes):
                part |= ((sets >> names.index(a)) & 1) << i
            total += np.array(move, dtype=np.float64)[part]
            size += float(max(move))
        return ceil(float(total.max(initial=0.0)) + _SLACK * size)

    def _moved(self, r: Residual) -> list[int]:
        """A bound on |a_x - a_y|^2 for each set of attributes in which x and y differ."""
        axes = [self.axes[a] for a in r.attributes]
        if len(axes) == 1:
            return [0, axes[0].farthest(r.weights)]
        if any(a.classes > 1 for a in axes):
            return [0] + [4 * self._column(r, 2)] * ((1 << len(axes)) - 1)
        square = int(r.weights.reshape(-1)[0]) ** 2
        most = prod(int(a.columns.max(initial=0)) for a in axes)
        out = [0]
        for differ in range(1, 1 << len(axes)):
            low, high = 1, 1
            for i, axis in enumerate(axes):
                same = (int(axis.columns.min()), int(axis.columns.max()))
                ends = [x * y for x in (low, high) for y in (axis.products if differ >> i & 1 else same)]
                low, high = min(ends), max(ends)
            out.append(square * (2 * most - 2 * low))
        return out


@dataclass(frozen=True, eq=False)
class MatrixStrategy:
    """A whole-number matrix over groups of a table's cells; cells of no group (-1) are not looked at.

    Args:
        attributes: the table's attributes, in the domain's order.
        groups: the group (0, 1, ..) of every cell, in the table's shape.
        matrix: one row for every number to measure, one column for every group.

    >>> strategy = MatrixStrategy(("a",), np.array([0, 1, 0]), np.array([[1, -2]]))
    >>> strategy.apply(lambda attributes: np.array([5, 1, 1])).tolist()
    [4]
    """

    attributes: tuple[str, ...]
    groups: Ints
    matrix: Ints
    norms: Norms = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Refuse what is not a whole matrix over these groups, and freeze it."""
        object.__setattr__(self, "attributes", tuple(self.attributes))
        for name in ("groups", "matrix"):
            given = np.asarray(getattr(self, name))
            if not np.issubdtype(given.dtype, np.integer) or not given.size:
                raise UnsupportedQuery("a strategy's groups and matrix are whole numbers")
            object.__setattr__(self, name, frozen(given))
        if self.matrix.ndim != 2 or self.groups.ndim != len(self.attributes):
            raise UnsupportedQuery("a strategy has a matrix, and one group for every cell of its table")
        if not -1 <= int(self.groups.min()) <= int(self.groups.max()) < self.matrix.shape[1]:
            raise UnsupportedQuery("every cell is in a group that the matrix has a column for, or in none")
        if int(np.abs(self.matrix.astype(object)).max()) > LARGEST_ENTRY:
            raise RangeTooLarge("the strategy's whole numbers would pass 64-bit integers")
        object.__setattr__(self, "norms", self._norms())

    def check(self, domain: Domain) -> None:
        """The groups are of a table of this domain."""
        if (
            domain.order(self.attributes) != self.attributes
            or domain.shape_of(self.attributes) != self.groups.shape
        ):
            raise DomainMismatch("the strategy was made for another domain")

    @property
    def cliques(self) -> tuple[tuple[str, ...], ...]:
        """The one table it is computed from."""
        return (self.attributes,)

    @cached_property
    def digest(self) -> str:
        """A fingerprint of what is measured."""
        h = hashlib.sha256(repr((self.attributes, self.groups.shape, self.matrix.shape)).encode())
        h.update(self.groups.tobytes() + self.matrix.tobytes())
        return h.hexdigest()

    def apply(self, table_of: TableOf) -> Ints:
        """All numbers to measure from the exact table, mod 2^64 as in `ResidualStrategy.apply`."""
        table = np.asarray(table_of(self.attributes)).astype(np.int64, copy=False).reshape(-1)
        counted = np.zeros(self.matrix.shape[1], dtype=np.int64)
        seen = self.groups.reshape(-1) >= 0
        with np.errstate(over="ignore"):
            np.add.at(counted, self.groups.reshape(-1)[seen], table[seen])
            return np.asarray(self.matrix @ counted)

    def _norms(self) -> Norms:
        """The exact largest column and difference of two (of the empty column too); never below one step."""
        used = self._columns()
        squares = max(1, *(sum(int(v) ** 2 for v in column) for column in used))
        sums = max(1, *(sum(abs(int(v)) for v in column) for column in used))
        return Norms(sums, squares, 2 * sums, max(1, *self._differences(used)))

    def _columns(self) -> Ints:
        """The columns a row can have; a row of no group has a column of zeros."""
        found = np.unique(self.groups)
        zero = np.zeros((1, len(self.matrix)), dtype=np.int64)
        columns = self.matrix.T[found[found >= 0]]
        return columns if found[0] >= 0 else np.concatenate([columns, zero])

    def _differences(self, columns: Ints) -> Iterator[int]:
        small = int(np.abs(columns).max(initial=0)) ** 2 * 4 * columns.shape[1] < 1 << 62
        for i in range(len(columns)):
            gap = columns[i:] - columns[i]
            yield (
                int((gap * gap).sum(axis=1).max())
                if small
                else max(sum(int(v) ** 2 for v in row) for row in gap)
            )
