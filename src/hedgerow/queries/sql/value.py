"""Value: what an expression of columns is worth, row by row, and how expressions add, multiply and choose."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import UnsupportedSQL
from hedgerow.queries.form import check_cells, spread
from hedgerow.queries.sql.column import Constant
from hedgerow.queries.sql.predicate import Truth
from hedgerow.queries.worth import Worth

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain

    Floats = NDArray[np.float64]
    Terms = dict[tuple[str, ...], Floats]

_DEGREE = 2  # a product of more columns than that is no sum that is measured


@dataclass(frozen=True, eq=False)
class Value:
    """What an expression is worth over the table of some attributes; `numeric` is None for a bare NULL.

    Args:
        attributes: the attributes that it depends on, in the domain's order.
        numbers: what it is worth on their levels; in the middle of bins.
        present, summed: where it is not NULL, and where it has a number.
        own: how often each binned column is added, and each product of two of them.
    """

    attributes: tuple[str, ...]
    numbers: Floats
    present: NDArray[np.bool_]
    summed: NDArray[np.bool_]
    numeric: bool | None
    own: Mapping[tuple[str, ...], Floats] = field(default_factory=dict)

    def times(self, factor: float) -> Value:
        """A multiple."""
        own = {names: c * factor for names, c in self.own.items()}
        return replace(self, numbers=self.numbers * factor, own=own)

    def worth(
        self, numbers: Floats, reach: Callable[[str], float], middles: Callable[[str], Floats]
    ) -> Worth | None:
        """What rows are worth by their own numbers; None if bins leave nothing of it open.

        Args:
            numbers: what it is worth in the middle of bins, 0 where it is not summed.
            reach: how far a number of an attribute can be from the middle of its bin.
            middles: what the levels of an attribute are worth.
        """
        terms: Terms = {}
        constant = numbers
        for names, c in self.own.items():
            loose = tuple(a for a in names if reach(a))
            often = np.where(self.summed, c, 0.0)
            for a in names:
                often = often if a in loose else often * spread((a,), middles(a), self.attributes)
            if loose and often.any():
                terms[loose] = terms[loose] + often if loose in terms else often
        for names, often in terms.items():
            constant = constant - often * _middle(names, middles, self.attributes)
        if not terms:
            return None
        linear = tuple((names[0], c) for names, c in terms.items() if len(names) == 1)
        squares = tuple(((names[0], names[1]), c) for names, c in terms.items() if len(names) == _DEGREE)
        return Worth(self.attributes, _settled(constant) if squares else constant, linear, squares)


def scalar(value: Constant) -> Value:
    """A literal, worth the same everywhere."""
    number = float(value.value) if value.kind == "number" else 0.0
    there = np.asarray(value.kind != "null")
    numeric = None if value.kind == "null" else value.kind == "number"
    return Value((), np.asarray(number), there, there, numeric)


def plus(domain: Domain, a: Value, b: Value) -> Value:
    """a + b of numbers, row by row; NULL where one of them is."""
    onto, (one, other) = _together(domain, a, b)
    own = dict(one.own)
    for names, c in other.own.items():
        own[names] = own[names] + c if names in own else c
    there, summed = one.present & other.present, one.summed & other.summed
    return Value(onto, one.numbers + other.numbers, there, summed, True, own)


def product(domain: Domain, a: Value, b: Value, middles: Callable[[str], Floats]) -> Value:
    """a * b of numbers, row by row; UnsupportedSQL where more than two columns in bins are multiplied."""
    onto, (one, other) = _together(domain, a, b)
    own: Terms = {}
    for p, x in _terms(one, middles).items():
        for q, y in _terms(other, middles).items():
            names = tuple(sorted((*p, *q)))
            if len(names) > _DEGREE:
                raise UnsupportedSQL("* of more than two columns in bins is not supported")
            if names:
                own[names] = own[names] + x * y if names in own else x * y
    there, summed = one.present & other.present, one.summed & other.summed
    return Value(onto, one.numbers * other.numbers, there, summed, True, own)


def chosen(domain: Domain, conditions: Sequence[Truth], values: Sequence[Value]) -> Value:
    """The value of the first condition that is true; NULL where none is."""
    kinds = {v.numeric for v in values} - {None}
    if len(kinds) > 1:
        raise UnsupportedSQL("CASE with numbers in one branch and text in another is not supported")
    names = [*(t.attributes for t in conditions), *(v.attributes for v in values)]
    onto = domain.order(a for s in names for a in s)
    if len(onto) > 1:
        check_cells(domain, onto)
    shape = domain.shape_of(onto)
    open_ = np.ones(shape, dtype=np.bool_)
    numbers = np.zeros(shape)
    present, summed = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)
    own = {a: np.zeros(shape) for v in values for a in v.own}
    for condition, value in zip(conditions, values, strict=True):
        hit = open_ & spread(condition.attributes, condition.true, onto)
        for array, part in ((numbers, value.numbers), (present, value.present), (summed, value.summed)):
            np.copyto(array, spread(value.attributes, part, onto), where=hit)
        for name, array in own.items():
            often = value.own.get(name)
            np.copyto(array, 0.0 if often is None else spread(value.attributes, often, onto), where=hit)
        open_ &= ~hit
    return Value(onto, numbers, present, summed, kinds.pop() if kinds else None, own)


def _together(domain: Domain, a: Value, b: Value) -> tuple[tuple[str, ...], list[Value]]:
    """Two values over the same attributes."""
    onto = domain.order([*a.attributes, *b.attributes])
    if len(onto) > 1:
        check_cells(domain, onto)
    shape = domain.shape_of(onto)

    def wide(value: Value, array: NDArray[Any]) -> NDArray[Any]:
        return np.broadcast_to(spread(value.attributes, array, onto), shape)

    return onto, [
        Value(
            onto,
            wide(v, v.numbers),
            wide(v, v.present),
            wide(v, v.summed),
            v.numeric,
            {names: wide(v, c) for names, c in v.own.items()},
        )
        for v in (a, b)
    ]


def _terms(value: Value, middles: Callable[[str], Floats]) -> Terms:
    """Its terms, and under () what no column in bins gives."""
    rest = value.numbers
    for names, c in value.own.items():
        rest = rest - c * _middle(names, middles, value.attributes)
    return {(): _settled(rest), **value.own}


def _middle(names: tuple[str, ...], middles: Callable[[str], Floats], onto: tuple[str, ...]) -> Any:
    """What columns, or their product, are worth in the middle of bins."""
    out: Any = 1.0
    for name in names:
        out = out * spread((name,), middles(name), onto)
    return out


def _settled(numbers: Floats) -> Floats:
    """Without what floats leave of a difference of numbers that are decimals."""
    return np.asarray(np.round(numbers, 9))
