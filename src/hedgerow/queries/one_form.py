"""One form for each count: however a question was written, equal weights make an equal query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.queries.query import ONE, Query

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Weights = NDArray[np.int64]


def is_nothing(query: Query) -> bool:
    """Whether the schema alone says that a query counts no row."""
    return query.largest == 0


def one_form(query: Query) -> Query:
    """The query that all queries of the same weights become: in rows, of no more attributes than it needs.

    A product is written as factors, zeros and ones but for one of them: the one that is fractional, or else
    the first. (Of queries that count nothing, and of constants other than 1, there are several.)

    >>> women = Query(("sex", "age"), (2, 3), factors=(np.array([1, 0]), np.full(3, ONE)), scale=100.0)
    >>> one_form(women).attributes, one_form(women).factors
    (('sex',), (array([1048576,       0]),))
    """
    if query.fine is not None:  # made in one form already, by the sum that it is
        return query
    names, factors, dense = query.attributes, query.factors, query.dense
    if factors and _is_plain(query, factors):
        return query
    if dense is not None:
        names, dense = _needed(names, dense)
        factors = _product(dense)
    if factors is None:
        assert dense is not None
        return Query(names, dense.shape, dense=dense)
    return _as_factors(names, factors)


def _is_plain(query: Query, factors: Sequence[Weights]) -> bool:
    """Whether it is in this form already: rows are counted that meet a real condition on each attribute."""
    in_rows = type(query.scale) is type(query.offset) is float and (query.scale, query.offset) == (1.0, 0.0)
    first, *rest = factors
    return in_rows and _is_condition(first, ONE) and all(_is_condition(f, 1) for f in rest)


def _is_condition(factor: Weights, one: int) -> bool:
    met = int(np.count_nonzero(factor))
    return 0 < met < factor.size and int(factor.sum()) == met * one and int(factor.max()) == one


def _as_factors(names: Sequence[str], factors: Sequence[Weights]) -> Query:
    """A product of factors, of which at most one holds more than zeros and ones."""
    if not names:
        return Query.total()
    worth, kept = 1, []
    for name, factor in zip(names, factors, strict=True):
        largest = int(factor.max(initial=0))
        if largest == 0:
            return Query(tuple(names[:1]), factors[0].shape, factors=(np.zeros_like(factors[0]),))
        if largest > 1 and bool(((factor == 0) | (factor == largest)).all()):
            worth, factor = largest, np.minimum(factor, 1)
        if not bool((factor == 1).all()):
            kept.append((name, factor))
    if not kept:
        if worth == ONE:
            return Query.total()
        kept = [(names[0], np.ones_like(factors[0]))]
    first, *rest = (factor for _, factor in kept)
    made = (first * worth, *rest)  # a fractional factor leaves worth at 1
    return Query(tuple(name for name, _ in kept), tuple(f.size for f in made), factors=made)


def _needed(names: tuple[str, ...], dense: Weights) -> tuple[tuple[str, ...], Weights]:
    """The weights over the attributes that they depend on."""
    out = list(names)
    for axis in reversed(range(len(names))):
        start = dense.take([0], axis=axis)
        if bool((dense == start).all()) and (len(out) > 1 or int(dense.flat[0]) == ONE):
            dense = np.asarray(dense.take(0, axis=axis))
            del out[axis]
    return tuple(out), dense


def _product(dense: Weights) -> tuple[Weights, ...] | None:
    """One factor per axis, if the weights are their product with at most one of them fractional."""
    axes = range(dense.ndim)
    others = [tuple(i for i in axes if i != axis) for axis in axes]
    largest = [dense.max(axis=rest) for rest in others]
    for axis in axes:
        factors = [most if i == axis else np.minimum(most, 1) for i, most in enumerate(largest)]
        product = np.ones((1,) * dense.ndim, dtype=np.int64)
        for i, factor in enumerate(factors):
            product = product * factor.reshape([-1 if j == i else 1 for j in axes])
        if np.array_equal(product, dense):
            return tuple(factors)
    return () if not dense.ndim else None
