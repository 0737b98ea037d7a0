"""SQL aggregates to linear forms and ratios of them: COUNT, SUM, AVG, CASE inside, constants outside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from hedgerow.errors import UnsupportedSQL
from hedgerow.queries.domain.bins import Bins
from hedgerow.queries.form import Factor, GroupAxis, LinearForm, spread
from hedgerow.queries.quantile import QuantileOf, ladder
from hedgerow.queries.question import Aggregate
from hedgerow.queries.quotient import part_of
from hedgerow.queries.sql.node import branches, only, refuse, spell
from hedgerow.queries.sql.predicate import DEPTH, Predicates, Truth, constant, constant_truth
from hedgerow.queries.sql.value import Value, chosen, plus, product, scalar

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.worth import Worth


@dataclass(frozen=True)
class _Number:
    """A SELECT-level expression: scale, scale * form, or scale * form / denominator + plus."""

    scale: float
    form: int | None = None
    denominator: int | None = None
    plus: float = 0.0
    quantile: QuantileOf | None = None
    ends: tuple[float, float] | None = None  # of form / denominator

    def times(self, factor: float) -> _Number:
        if self.quantile is not None and factor != 1.0:
            raise UnsupportedSQL("a quantile times a constant is not supported; ask for it alone")
        scale = self.scale * factor
        if not 1e-30 < abs(scale) < 1e30 and scale != 0:
            raise UnsupportedSQL("the constants in the SELECT list are too large or too small")
        return replace(self, scale=scale, plus=self.plus * factor)


class Aggregates:
    """The compiler of SELECT's aggregates; collects the forms they need."""

    def __init__(
        self, predicates: Predicates, conditions: Sequence[Truth], axes: Sequence[GroupAxis], unit: str | None
    ) -> None:
        self.predicates, self.scope, self.domain = predicates, predicates.scope, predicates.domain
        self.where = [Factor(t.attributes, t.true) for t in conditions]
        self.axes, self.unit = axes, unit
        self.forms: list[LinearForm] = []
        self.out: list[Aggregate] = []
        self.notes: list[str] = []
        self._places: dict[tuple[str, ...], int] = {}
        self._known: dict[type[exp.Expr], Callable[[Any, int], _Number]] = {
            exp.Paren: self._paren,
            exp.Neg: self._minus,
            exp.Literal: self._literal,
            exp.Mul: self._times,
            exp.Div: self._over,
            exp.Count: self._count,
            exp.Sum: self._sum,
            exp.Avg: self._average,
            exp.Median: partial(self._quantile_of, 0.5),
            exp.Min: partial(self._quantile_of, 0.0),
            exp.Max: partial(self._quantile_of, 1.0),
            exp.WithinGroup: self._percentile,
        }

    def add(self, node: exp.Expr, name: str) -> int:
        """Compile one entry of the SELECT list; its index among the aggregates."""
        number = self._number(node, 0)
        if number.form is None:
            raise UnsupportedSQL(
                f"the constant {name[:40]!r} in the SELECT list is not supported; ask for an aggregate"
            )
        made = (number.form, number.denominator, number.scale, number.plus, number.quantile, number.ends)
        self.out.append(Aggregate(name, *made))
        return len(self.out) - 1

    def _number(self, node: exp.Expr, depth: int) -> _Number:
        if depth > DEPTH:
            raise UnsupportedSQL(f"the nesting is deeper than {DEPTH} levels, which is not supported")
        known = self._known.get(type(node))
        if known is not None:
            return known(node, depth + 1)
        if type(node) in (exp.Add, exp.Sub):
            raise UnsupportedSQL(
                f"{spell(node)} between aggregates is not supported; ask for them one by one"
            )
        refuse(node, "in the SELECT list")

    def _paren(self, node: exp.Expr, depth: int) -> _Number:
        only(node, "this")
        return self._number(node.this, depth)

    def _minus(self, node: exp.Expr, depth: int) -> _Number:
        only(node, "this")
        return self._number(node.this, depth).times(-1.0)

    def _literal(self, node: exp.Expr, depth: int) -> _Number:
        value = constant(node)
        if value.kind != "number":
            raise UnsupportedSQL(f"the text {value} in the SELECT list is not supported")
        return _Number(1.0).times(float(value.value))

    def _times(self, node: exp.Expr, depth: int) -> _Number:
        only(node, "this", "expression")
        a, b = self._number(node.this, depth), self._number(node.expression, depth)
        if a.form is not None and b.form is not None:
            raise UnsupportedSQL("* between two aggregates is not supported; only constants may multiply")
        return a.times(b.scale) if b.form is None else b.times(a.scale)

    def _over(self, node: exp.Expr, depth: int) -> _Number:
        only(node, "this", "expression")
        a, b = self._number(node.this, depth), self._number(node.expression, depth)
        if b.scale == 0:
            raise UnsupportedSQL("/ by the constant 0 is not supported")
        if a.quantile is not None or b.quantile is not None:
            raise UnsupportedSQL("/ with a quantile is not supported; ask for it alone")
        if b.form is None:
            return a.times(1.0 / b.scale)
        if a.form is None or a.denominator is not None or b.denominator is not None:
            raise UnsupportedSQL("/ is supported between two counts or sums, or by a constant, nothing else")
        ends = (0.0, 1.0) if part_of(self.forms[a.form], self.forms[b.form]) else None
        return _Number(1.0, a.form, b.form, ends=ends).times(a.scale).times(1.0 / b.scale)

    def _count(self, node: exp.Expr, depth: int) -> _Number:
        only(node, "this", "big_int")
        inner = node.this
        if inner is None or type(inner) is exp.Star:
            if inner is not None:
                only(inner)
            return _Number(1.0, self._form(("count",), []))
        if type(inner) is exp.Distinct:
            return self._people(inner)
        value = self._value(inner, depth)
        return _Number(1.0, self._present(inner, value))

    def _people(self, node: exp.Expr) -> _Number:
        """COUNT(DISTINCT unit): one person counts once, however many rows there are."""
        only(node, "expressions")
        columns = node.expressions
        if self.unit is None:
            raise UnsupportedSQL(
                "COUNT(DISTINCT ...) is not supported here: no column is declared to name people"
            )
        one = len(columns) == 1 and type(columns[0]) is exp.Column and type(columns[0].this) is exp.Identifier
        if not one or columns[0].this.this.casefold() != self.unit.casefold():
            raise UnsupportedSQL(
                f"COUNT(DISTINCT ...) is supported for {self.unit!r} only, the column that names people"
            )
        only(columns[0], "this", "table")
        if self.axes:
            self.notes.append(
                f"a person with rows in several groups is counted by COUNT(DISTINCT {self.unit}) in each"
            )
        return _Number(1.0, self._form(("people",), [], units=True))

    def _sum(self, node: exp.Expr, depth: int) -> _Number:
        only(node, "this")
        return self._total(node, self._value(node.this, depth))

    def _average(self, node: exp.Expr, depth: int) -> _Number:
        """AVG is SUM / COUNT over the rows that have a number.

        Of rows' own numbers the sum is counted from the least that they can be: then a row moves it by no
        more than the range is wide, wherever the range lies.
        """
        only(node, "this")
        value = self._value(node.this, depth)
        below = self._present(node.this, value, summed=True)
        worth = self._worth(value, np.where(value.summed, value.numbers, 0.0)) if value.numeric else None
        if worth is None or worth.squares:
            top = self._total(node, value)
            ends = None if not value.attributes else self._ends(value, worth, 0.0)
            return _Number(top.scale, top.form, below, ends=ends)
        least = worth.least(self.domain, value.summed)
        numbers = np.where(value.summed, value.numbers - least, 0.0)
        factor = Factor(value.attributes, numbers, self._worth(value, numbers))
        form = self._form(self._key("above", node.this), [factor])
        return _Number(1.0, form, below, least, ends=self._ends(value, worth, least))

    def _ends(self, value: Value, worth: Worth | None, least: float) -> tuple[float, float] | None:
        """Between which two numbers an average of rows lies, counted from the least."""
        kept = value.summed
        for f in self.where:
            if set(f.attributes) <= set(value.attributes):
                kept = kept & spread(f.attributes, f.weights, value.attributes)
        if not kept.any():
            return None
        far = 0.0 if worth is None else worth.reach(self.domain)
        at = value.numbers if worth is None else worth.even(self.domain)
        return float((at - far)[kept].min()) - least, float((at + far)[kept].max()) - least

    def span(self, node: exp.Expr) -> tuple[float, float] | None:
        """Between which two numbers an expression of a row lies; None if that is not known."""
        value = self._value(node, 0)
        return self._ends(value, self._worth(value, np.where(value.summed, value.numbers, 0.0)), 0.0)

    def _quantile_of(self, q: float, node: exp.Expr, depth: int) -> _Number:
        """MEDIAN, MIN, MAX of a column of numbers."""
        only(node, "this")
        return self._quantile(q, node, node.this)

    def _percentile(self, node: exp.Expr, depth: int) -> _Number:
        """PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY column [DESC]), and PERCENTILE_DISC."""
        only(node, "this", "expression")
        inner, order = node.this, node.expression
        if type(inner) not in (exp.PercentileCont, exp.PercentileDisc) or type(order) is not exp.Order:
            refuse(node, "in the SELECT list")
        only(inner, "this")
        only(order, "expressions")
        if len(order.expressions) != 1 or type(order.expressions[0]) is not exp.Ordered:
            raise UnsupportedSQL("WITHIN GROUP orders by one column")
        (by,) = order.expressions
        part = constant(inner.this)
        if part.kind != "number" or not 0.0 <= float(part.value) <= 1.0:
            raise UnsupportedSQL("the part of a percentile is a number from 0 to 1")
        q = 1.0 - float(part.value) if by.args.get("desc") else float(part.value)
        return self._quantile(q, inner, by.this, discrete=type(inner) is exp.PercentileDisc)

    def _quantile(self, q: float, node: exp.Expr, inner: exp.Expr, *, discrete: bool = False) -> _Number:
        """The counts of rows up to the end of each bin, from which a quantile is read."""
        if type(inner) is not exp.Column:
            raise UnsupportedSQL(f"{spell(node)} is supported of a column of numbers")
        column = self.scope.column(inner)
        if not column.numeric or column.hierarchy is not None:
            raise UnsupportedSQL(
                f"{spell(node)} needs numbers, and {column.name!r} has none; group by it, and count"
            )
        low, high, masks, step = ladder(column.body)
        forms = tuple(
            self._form(("up to", column.attribute, str(i)), [Factor((column.attribute,), mask)])
            for i, mask in enumerate(masks)
        )
        made = QuantileOf(q, forms, tuple(low), tuple(high), step if discrete else 0.0)
        return _Number(1.0, forms[-1], quantile=made)

    def _total(self, node: exp.Expr, value: Value) -> _Number:
        """The form that adds up a value; a constant is a multiple of a count, 0/1 a count."""
        if value.numeric is not True:
            raise UnsupportedSQL(f"{spell(node)} needs numbers, and {_described(node.this)} has none")
        if not value.attributes:
            return _Number(float(value.numbers), self._form(("count",), []))
        numbers = np.where(value.summed, value.numbers, 0.0)
        worth = self._worth(value, numbers)
        plain = worth is None and np.isin(numbers, (0.0, 1.0)).all()
        weights: NDArray[Any] = numbers.astype(np.bool_) if plain else numbers
        factor = Factor(value.attributes, weights, worth)
        return _Number(1.0, self._form(self._key("sum", node.this), [factor]))

    def _worth(self, value: Value, numbers: NDArray[np.float64]) -> Worth | None:
        """What rows are worth by their own numbers, if bins leave anything of it open."""
        return value.worth(numbers, self.scope.reach, self.scope.middles)

    def _present(self, inner: exp.Expr, value: Value, *, summed: bool = False) -> int:
        mask = value.summed if summed else value.present
        kind = "summed" if (mask != value.present).any() else "present"
        return self._form(self._key(kind, inner), [Factor(value.attributes, mask)])

    def _key(self, kind: str, node: exp.Expr) -> tuple[str, ...]:
        """Forms of plain columns are shared; every CASE is its own."""
        if type(node) is exp.Column:
            column = self.scope.column(node)
            return (kind, column.attribute, column.hierarchy or "")
        return (kind, f"#{len(self.forms)}")

    def _form(self, key: tuple[str, ...], factors: list[Factor], *, units: bool = False) -> int:
        factors = [f for f in factors if not f.trivial]
        key = (
            key if factors or units else ("count",)
        )  # a count of present values is a count where none is missing
        if key not in self._places:
            name = f"COUNT(DISTINCT {self.unit})" if units else " ".join(k for k in key if k and k[0] != "#")
            form = LinearForm.of(self.domain, [*self.where, *factors], self.axes, units=units, name=name)
            self._places[key] = len(self.forms)
            self.forms.append(form)
        return self._places[key]

    def _value(self, node: exp.Expr, depth: int) -> Value:
        """What is counted or summed: a column, a literal, or CASE of these."""
        if depth > DEPTH:
            raise UnsupportedSQL(f"the nesting is deeper than {DEPTH} levels, which is not supported")
        kind = type(node)
        if kind is exp.Paren:
            only(node, "this")
            return self._value(node.this, depth + 1)
        if kind is exp.Case:
            return self._case(node, depth + 1)
        if kind in (exp.Add, exp.Sub, exp.Mul):
            return self._both(node, depth + 1)
        if kind is exp.Column:
            return self._column(node)
        if kind is exp.Distinct:
            raise UnsupportedSQL("DISTINCT inside an aggregate is not supported, except COUNT(DISTINCT unit)")
        if kind is exp.Neg and type(node.this) is not exp.Literal:
            only(node, "this")
            value = self._value(node.this, depth + 1)
            if value.numeric is not True:
                raise UnsupportedSQL("- needs a number")
            return value.times(-1.0)
        if kind in (exp.Literal, exp.Neg, exp.Null, exp.Boolean):
            return scalar(constant(node))
        refuse(node, "inside an aggregate")

    def _both(self, node: exp.Expr, depth: int) -> Value:
        """a + b, a - b and a * b of numbers, row by row; NULL where one of them is."""
        only(node, "this", "expression")
        a, b = self._value(node.this, depth), self._value(node.expression, depth)
        if a.numeric is not True or b.numeric is not True:
            raise UnsupportedSQL(f"{spell(node)} needs numbers on both sides")
        if type(node) is exp.Mul:
            return product(self.domain, a, b, self.scope.middles)
        return plus(self.domain, a, b.times(1.0 if type(node) is exp.Add else -1.0))

    def _column(self, node: exp.Expr) -> Value:
        column = self.scope.column(node)
        if isinstance(column.body, Bins) and column.kind == "bins" and column.body.reach:
            lattice = column.body.lattice
            ends = lattice.spell(int(lattice.low[0])), lattice.spell(int(lattice.high[-1]))
            self.notes.append(
                f"{column.name} counts as clamped to its declared range, {ends[0]} to {ends[1]}"
            )
        if column.numeric and not (column.present == column.known).all():
            self.notes.append(
                f"the {column.body.labels[len(column.body.values)]!r} level of {column.name} is not summed"
            )
        own: dict[tuple[str, ...], Any] = {}
        if column.kind == "bins":
            own[(column.attribute,)] = column.known.astype(np.float64)
        return Value((column.attribute,), column.numbers, column.present, column.known, column.numeric, own)

    def _case(self, node: exp.Expr, depth: int) -> Value:
        """CASE WHEN p THEN a ... ELSE b END: the first branch whose condition is true, else NULL."""
        conditions, values = [], []
        for test, value in branches(node):
            conditions.append(constant_truth(True) if test is None else self.predicates.truth(test, depth))
            values.append(self._value(value, depth))
        return chosen(self.domain, conditions, values)


def _described(node: exp.Expr) -> str:
    return repr(node.name) if type(node) is exp.Column else f"{spell(node)}"
