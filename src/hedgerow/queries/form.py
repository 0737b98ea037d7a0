"""LinearForm: a weighted count of rows, asked once for every group of a GROUP BY."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import DomainMismatch, RangeTooLarge, UnsupportedQuery
from hedgerow.queries.query import ONE, Query
from hedgerow.queries.rounding import rounding, scale_of
from hedgerow.queries.valued import Fine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.valued import Valued
    from hedgerow.queries.worth import Worth

CELLS = 1 << 24
"""The largest table that is written out; a product of one-attribute predicates never is."""


@dataclass(frozen=True, eq=False)
class Factor:
    """Weights over the table of a few attributes (in the domain's order): bool for a predicate, or float."""

    attributes: tuple[str, ...]
    weights: NDArray[Any]
    worth: Worth | None = None  # of rows by their own numbers, where the weights are those of bins

    @property
    def trivial(self) -> bool:
        """Whether it is a predicate that holds everywhere."""
        return self.weights.dtype == np.bool_ and bool(self.weights.all())


@dataclass(frozen=True, eq=False)
class GroupAxis:
    """One attribute of a GROUP BY: the group that each level falls into."""

    attribute: str
    parent: NDArray[np.intp]
    size: int

    @property
    def plain(self) -> bool:
        """Whether every level is its own group."""
        return self.size == len(self.parent) and bool((self.parent == np.arange(self.size)).all())


@dataclass(frozen=True, eq=False)
class Piece:
    """A query with weights in [0, 1] and what it is worth in a form.

    Args:
        worth: the form is the sum of worth * query.
        query: the query.
        off: how far, at most, one row's value is from what the query gives it times its worth.
        part: the same as a part of what the query gives it.
    """

    worth: float
    query: Query
    off: float = 0.0
    part: float = 0.0


@dataclass(frozen=True, eq=False)
class LinearForm:
    """A weighted count of rows per group: weight = product of the factors, which share no attribute.

    Args:
        attributes: everything the weights depend on, groups included, in the domain's order.
        factors: what the predicate and the summed value weigh; at most one is not 0/1.
        axes: the attributes that the rows are grouped by.
        units: count people (the declared unit) instead of rows; such a form is measured, never learned.
    """

    domain: Domain
    attributes: tuple[str, ...]
    factors: tuple[Factor, ...]
    axes: tuple[GroupAxis, ...] = ()
    units: bool = False
    name: str = ""

    @classmethod
    def of(
        cls, domain: Domain, factors: Iterable[Factor], axes: Sequence[GroupAxis], *, units: bool, name: str
    ) -> LinearForm:
        """A form from factors that may overlap; RangeTooLarge when their table cannot be written out."""
        merged = merge(domain, [f for f in factors if not f.trivial])
        kept = tuple(f for f in merged if not f.trivial)
        names = [*(a for f in kept for a in f.attributes), *(axis.attribute for axis in axes)]
        attributes = domain.order(names)
        if any(f.weights.ndim > 1 for f in kept):
            check_cells(domain, attributes)
        return cls(domain, attributes, kept, tuple(axes), units, name)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the table over `attributes`."""
        return self.domain.shape_of(self.attributes)

    @property
    def groups(self) -> int:
        """How many groups there are; 1 without GROUP BY."""
        return prod(axis.size for axis in self.axes)

    @cached_property
    def nonnegative(self) -> bool:
        """Whether no weight is negative."""
        return not any(bool((f.weights < 0).any()) for f in self.factors)

    @property
    def counts(self) -> bool:
        """Whether every weight is 0 or 1."""
        return all(f.weights.dtype == np.bool_ for f in self.factors)

    def weights(self, group: int = 0) -> NDArray[np.float64]:
        """The weights of one group, written out over the table of `attributes`."""
        check_cells(self.domain, self.attributes)
        box, made = self._box(group), np.ones((1,) * len(self.attributes), dtype=np.float64)
        for factor in self._of_group(group):
            whole = spread(factor.attributes, factor.weights, self.attributes)
            part = (s if n > 1 else slice(None) for s, n in zip(box, whole.shape, strict=True))
            made = made * whole[tuple(part)]
        out = np.zeros(self.shape)
        out[box] = made
        return out

    def _box(self, group: int) -> tuple[slice, ...]:
        """The levels of a group: outside of them nothing has a weight."""
        box = dict.fromkeys(self.attributes, slice(None))
        for axis, cell in zip(self.axes, self._cell_of(group) if self.axes else (), strict=True):
            inside = np.flatnonzero(axis.parent == cell)
            box[axis.attribute] = slice(int(inside[0]), int(inside[-1]) + 1) if inside.size else slice(0, 0)
        return tuple(box.values())

    def mixed(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """The weights of a sum of all groups, each with its coefficient, over the table of `attributes`."""
        check_cells(self.domain, self.attributes)
        out = np.ones((1,) * len(self.attributes), dtype=np.float64)
        for factor in self.factors:
            out = out * spread(factor.attributes, factor.weights, self.attributes)
        if self.axes:
            cube = coefficients.reshape([axis.size for axis in self.axes])
            cube = cube[np.ix_(*(axis.parent for axis in self.axes))]
            names = [axis.attribute for axis in self.axes]
            order = [names.index(a) for a in self.attributes if a in names]
            kept = tuple(a for a in self.attributes if a in names)
            out = out * spread(kept, cube.transpose(order), self.attributes)
        else:
            out = out * float(coefficients[0])
        return np.broadcast_to(out, self.shape).copy()

    def pieces(self, group: int = 0) -> list[tuple[float, Query]]:
        """Queries with weights in [0, 1] and what each is worth: the form is the sum of coefficient * query.

        Values of both signs make two queries. No piece at all means that the schema alone makes it zero.
        """
        return [(piece.worth, piece.query) for piece in self.rounded(group)]

    def rounded(self, group: int = 0, *, fine: bool = True) -> list[Piece]:
        """The same with what rounding values to the lattice of weights takes from them.

        Args:
            group: which group.
            fine: weigh rows by their own numbers; else by the middles of their bins, which takes more.
        """
        if self.units:
            raise UnsupportedQuery(
                f"{self.name or 'COUNT(DISTINCT ...)'} counts people, no weighted sum of rows: `hedgerow "
                "ask DATA SQL --within-count N` does, as do a Session within_count= and Curator.measure"
            )
        factors = self._of_group(group)
        signed = next((f for f in factors if f.weights.dtype != np.bool_), None)
        if not all(bool(f.weights.any()) for f in factors if f is not signed):
            return []
        if signed is None:
            return [Piece(1.0, self._query(factors, None))]
        if signed.worth is not None and fine:
            return self._by_values(group, factors, signed)
        wide = 0.0 if signed.worth is None else float(signed.worth.reach(self.domain).max())
        out: list[Piece] = []
        for sign in (1.0, -1.0):
            part = np.maximum(sign * signed.weights, 0.0)
            if part.any():
                scale = scale_of(part)
                unit = Factor(signed.attributes, np.rint(part / scale * ONE).astype(np.int64))
                query = self._query([unit if f is signed else f for f in factors], unit)
                off, relative = rounding(part, unit.weights * (scale / ONE), scale)
                out.append(Piece(sign * scale, query, off + wide, np.inf if wide else relative))
        return out

    @cached_property
    def _valued(self) -> list[tuple[float, Valued, float]]:
        """What rows are worth, in weights of one sign each; the same for all groups."""
        worth = next(f.worth for f in self.factors if f.worth is not None)
        return worth.split(self.domain)

    def _by_values(self, group: int, factors: list[Factor], signed: Factor) -> list[Piece]:
        """One query for each sign that a row's own number can have."""
        cells = self._cell_of(group)
        inside = np.ones((1,) * len(signed.attributes), dtype=np.bool_)
        for axis, cell in zip(self.axes, cells, strict=True):
            if axis.attribute in signed.attributes:
                inside = inside & spread((axis.attribute,), axis.parent == cell, signed.attributes)
        inside = np.broadcast_to(inside, signed.weights.shape)
        masks = {f.attributes: f.weights for f in factors if f is not signed} | {signed.attributes: inside}
        out: list[Piece] = []
        for worth, value, left in self._valued:
            if bool((value.most * inside).any()):
                assert signed.worth is not None
                left += 0.0 if out else signed.worth.coarse(self.domain)  # once: it is the whole number's
                unit = Factor(signed.attributes, value.middle * inside)
                query = self._query([unit if f is signed else f for f in factors], unit)
                if query.factors is not None:
                    where = tuple(masks[(a,)] for a in self.attributes)
                else:
                    where = (_product(masks, self.attributes, self.shape),)
                part = np.inf if left else 0.0
                out.append(Piece(worth, replace(query, fine=Fine(value, where)), left, part))
        return out

    def reach(self) -> LinearForm | None:
        """How far, in all, rows of each group can be from what their bins are worth; None if they cannot."""
        signed = next((f for f in self.factors if f.worth is not None), None)
        if signed is None or signed.worth is None:
            return None
        wide = Factor(signed.attributes, signed.worth.reach(self.domain))
        return replace(self, factors=tuple(wide if f is signed else f for f in self.factors))

    def parted(self) -> tuple[LinearForm, tuple[LinearForm, LinearForm] | None]:
        """What a sum of remainders adds to each group; and what else does on average, and how far off it is.

        The latter where there are products of remainders, or parts of bins.
        """
        signed = next(f for f in self.factors if f.worth is not None)
        assert signed.worth is not None
        if not signed.worth.cuts and not signed.worth.squares:
            return self, None
        linear, more, far = signed.worth.parted(self.domain)
        weighed = ((signed.weights, linear), (more, None), (far, None))
        first, second, third = (
            replace(self, factors=tuple(Factor(f.attributes, *w) if f is signed else f for f in self.factors))
            for w in weighed
        )
        return first, (second, third)

    def support(self) -> LinearForm | None:
        """How many rows of each group have a number that bins leave open."""
        signed = next((f for f in self.factors if f.worth is not None), None)
        if signed is None or signed.worth is None or not signed.worth.coefficients:
            return None
        some = signed.worth.open
        return replace(
            self, factors=tuple(Factor(f.attributes, some) if f is signed else f for f in self.factors)
        )

    def evaluate(self, table: NDArray[Any]) -> NDArray[np.float64]:
        """The values of all groups at once from the table over `attributes`."""
        if np.shape(table) != self.shape:
            raise DomainMismatch(f"the table has shape {np.shape(table)}, the question asks for {self.shape}")
        place = {a: i for i, a in enumerate(self.attributes)}
        operands: list[Any] = [np.asarray(table, dtype=np.float64), list(place.values())]
        for factor in self.factors:
            operands += [factor.weights.astype(np.float64), [place[a] for a in factor.attributes]]
        out = np.einsum(*operands, [place[axis.attribute] for axis in self.axes], optimize=len(operands) > 2)
        for i, axis in enumerate(self.axes):
            out = out if axis.plain else _fold(out, i, axis)
        return np.asarray(out, dtype=np.float64).reshape(-1)

    def _of_group(self, group: int) -> list[Factor]:
        """The factors, and each group attribute's mask multiplied into the factor that holds it."""
        if not self.axes and not group:  # without GROUP BY there is one group
            return list(self.factors)
        cells = self._cell_of(group)
        out = {f.attributes: f for f in self.factors}
        for axis, cell in zip(self.axes, cells, strict=True):
            mask = axis.parent == cell
            home = next((s for s in out if axis.attribute in s), None)
            if home is None:
                out[(axis.attribute,)] = Factor((axis.attribute,), mask)
            else:
                own = out[home]
                out[home] = Factor(home, own.weights * spread((axis.attribute,), mask, home), own.worth)
        return list(out.values())

    def _cell_of(self, group: int) -> tuple[Any, ...]:
        """The part of each axis that a group is."""
        if not 0 <= group < self.groups:
            raise DomainMismatch(f"there is no group {group} of {self.groups}")
        return np.unravel_index(group, [axis.size for axis in self.axes]) if self.axes else ()

    def _query(self, factors: Sequence[Factor], unit: Factor | None) -> Query:
        """One query; `unit` is the factor that is already in units of 1/ONE."""
        if not factors:
            return Query.total()
        whole = unit if unit is not None else factors[0]
        arrays = {
            f.attributes: f.weights.astype(np.int64) * (1 if f is unit or f is not whole else ONE)
            for f in factors
        }
        if all(len(s) == 1 for s in arrays):
            parts = tuple(arrays[(a,)] for a in self.attributes)
            return Query(self.attributes, self.shape, factors=parts, name=self.name)
        out = np.ones((1,) * len(self.attributes), dtype=np.int64)
        for s, array in arrays.items():
            out = out * spread(s, array, self.attributes)
        return Query(self.attributes, self.shape, dense=np.ascontiguousarray(out), name=self.name)

    def __repr__(self) -> str:
        table = " x ".join(self.attributes) or "all rows"
        return f"LinearForm({self.name or 'count'} over {table}, {self.groups:,} groups)"


def merge(domain: Domain, factors: Sequence[Factor]) -> list[Factor]:
    """The same product with every attribute in at most one factor."""
    out: list[Factor] = []
    for factor in factors:
        apart = [f for f in out if not set(f.attributes) & set(factor.attributes)]
        for f in out:
            if f not in apart:
                factor = times(domain, factor, f)
        out = [*apart, factor]
    return out


def spread(attributes: tuple[str, ...], array: NDArray[Any], onto: tuple[str, ...]) -> NDArray[Any]:
    """The array with one axis per attribute of `onto`, of length 1 where it has none (same order in both)."""
    sizes = dict(zip(attributes, array.shape, strict=True))
    return array.reshape([sizes.get(a, 1) for a in onto])


def check_cells(domain: Domain, attributes: Sequence[str]) -> None:
    """RangeTooLarge when the table over some attributes is too large to be written out."""
    cells = domain.cells(attributes)
    if cells > CELLS:
        names = ", ".join(attributes)
        raise RangeTooLarge(
            f"the table over {names} has {cells:,} cells, more than the {CELLS:,} a question may write out"
        )


def times(domain: Domain, a: Factor, b: Factor) -> Factor:
    """The product of two factors, of which one at most is what rows are worth."""
    onto = domain.order([*a.attributes, *b.attributes])
    if len(onto) > 1:
        check_cells(domain, onto)
    weights = spread(a.attributes, a.weights, onto) * spread(b.attributes, b.weights, onto)
    worth = a.worth or b.worth
    if worth is not None:
        mask = b if a.worth is not None else a
        worth = worth.times(onto, spread(mask.attributes, mask.weights, onto), domain.shape_of(onto))
    return Factor(onto, weights, worth)


def _product(
    masks: Mapping[tuple[str, ...], NDArray[Any]], attributes: tuple[str, ...], shape: tuple[int, ...]
) -> NDArray[np.bool_]:
    """Masks over some attributes each as one over all of them."""
    out = np.ones((1,) * len(attributes), dtype=np.bool_)
    for names, mask in masks.items():
        out = out & spread(names, mask, attributes)
    return np.broadcast_to(out, shape)


def _fold(values: NDArray[Any], i: int, axis: GroupAxis) -> NDArray[Any]:
    """Sum the levels of each group along one axis."""
    moved = np.moveaxis(values, i, 0)
    out = np.zeros((axis.size, *moved.shape[1:]), dtype=np.float64)
    np.add.at(out, axis.parent, moved)
    return np.moveaxis(out, 0, i)
