"""Compilers of the first stage: what the smaller dialect cannot say is worked out on declared levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from hedgerow.errors import UnsupportedSQL
from hedgerow.queries.form import check_cells, spread
from hedgerow.queries.sql.aggregate import Aggregates
from hedgerow.queries.sql.column import OUTSIDE, Constant, SqlColumn
from hedgerow.queries.sql.node import bare, branches
from hedgerow.queries.sql.predicate import DEPTH, Predicates, Scope, Truth, constant_truth
from hedgerow.queries.sql.stages.engine import NotWorkedOut
from hedgerow.queries.sql.stages.levels import LevelExpressions, as_value, kind_of
from hedgerow.queries.sql.value import Value

if TYPE_CHECKING:
    from numpy.typing import NDArray


class StagedPredicates(Predicates):
    """Conditions; what the first dialect cannot say is worked out on declared levels."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self.levels = LevelExpressions(scope, self.notes)
        self._conditions = {exp.Case, *self._known} - {exp.Paren, exp.Boolean, exp.Null, exp.Column}

    def truth(self, node: exp.Expr, depth: int = 0) -> Truth:
        """The three-valued truth table of one predicate."""
        try:
            return super().truth(node, depth)
        except UnsupportedSQL as refusal:
            if type(bare(node)) in (exp.And, exp.Or, exp.Not):
                raise  # their parts were tried
            try:
                return self.levels.truth(node)
            except NotWorkedOut:
                raise refusal from None

    def worked(self, node: exp.Expr, depth: int = 0) -> tuple[tuple[str, ...], NDArray[Any]]:
        """The attributes that an expression depends on, and its value on each combination of their levels.

        Conditions inside it are read as those of WHERE are, which are known of the parts of `other` levels.
        """
        inner = bare(node)
        if depth > DEPTH or not self._asks_others(inner):
            return self.levels.worked(inner)
        try:
            if type(inner) is exp.Case:
                return self._chosen(inner, depth + 1)
            number = type(inner) is exp.Cast and inner.args["to"].is_type(*exp.DataType.INTEGER_TYPES)
            truth = self.truth(inner.this if number else inner, depth + 1)
        except UnsupportedSQL as refusal:
            try:
                return self.levels.worked(inner)
            except UnsupportedSQL:
                raise refusal from None
        found = np.full(truth.true.shape, None, dtype=object)
        found[truth.true], found[truth.false] = (1, 0) if number else (True, False)
        return truth.attributes, found

    def _asks_others(self, node: exp.Expr) -> bool:
        """Whether conditions are part of an expression of columns that have an `other` level of no name."""
        if not any(type(part) in self._conditions for part in node.walk()):
            return False
        columns = [self.scope.column(part) for part in node.find_all(exp.Column)]
        return any(c.body.other and (c.body.ordered or OUTSIDE in c.values) for c in columns)

    def _chosen(self, node: exp.Expr, depth: int) -> tuple[tuple[str, ...], NDArray[Any]]:
        """CASE: the value of the first condition that is true, else NULL."""
        made: list[tuple[Truth, tuple[tuple[str, ...], NDArray[Any]]]] = []
        for test, value in branches(node):
            met = constant_truth(True) if test is None else self.truth(test, depth)
            made.append((met, self.worked(value, depth)))
        onto = self.domain.order(a for met, (names, _) in made for a in (*met.attributes, *names))
        check_cells(self.domain, onto)
        found = np.full(self.domain.shape_of(onto), None, dtype=object)
        for met, (names, values) in reversed(made):
            hit = np.broadcast_to(spread(met.attributes, met.true, onto), found.shape)
            np.copyto(found, spread(names, values, onto), where=hit)
        kind_of(tuple(found.reshape(-1).tolist()))
        return onto, found

    def as_column(self, node: exp.Expr, name: str) -> SqlColumn | None:
        """An expression of one attribute as a column; None of several, or if rows of `other` may differ."""
        if not self._asks_others(node):
            return self.levels.as_column(node, name)
        attributes, values = self.worked(node)
        one = len(attributes) == 1 and self.scope.same(attributes[0], values)
        return self.levels.named(node, name, attributes[0], values) if one else None

    def operand(self, node: exp.Expr, depth: int) -> SqlColumn | Constant:
        """One side of a comparison; arithmetic of constants is one too."""
        return super().operand(self.levels.constant(bare(node)), depth)


class StagedAggregates(Aggregates):
    """Aggregates; what the first dialect cannot add up is worked out on declared levels."""

    def _value(self, node: exp.Expr, depth: int) -> Value:
        assert isinstance(self.predicates, StagedPredicates)
        try:
            return super()._value(node, depth)
        except UnsupportedSQL:
            factor = self._factor(node)
            if factor is None:
                return as_value(*self.predicates.worked(node, depth))
            value = self._value(factor[0], depth + 1)
            return value.times(factor[1])

    def _factor(self, node: exp.Expr) -> tuple[exp.Expr, float] | None:
        """A number of a row and a constant factor of it: a sum of rows' own numbers stays one."""
        if type(node) not in (exp.Mul, exp.Div):
            return None
        assert isinstance(self.predicates, StagedPredicates)
        levels = self.predicates.levels
        sides = [levels.constant(bare(side)) for side in (node.this, node.expression)]
        numbers = [
            float(s.this) if type(s) is exp.Literal and not s.args.get("is_string") else None for s in sides
        ]
        if numbers[1] is not None and (numbers[1] or type(node) is exp.Mul):
            return sides[0], numbers[1] if type(node) is exp.Mul else 1.0 / numbers[1]
        return (sides[1], numbers[0]) if numbers[0] is not None and type(node) is exp.Mul else None
