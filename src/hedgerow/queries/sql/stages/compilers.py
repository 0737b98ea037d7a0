"""Compilers of the first stage: what the smaller dialect cannot say is worked out on declared levels."""

from __future__ import annotations

from sqlglot import exp

from hedgerow.errors import UnsupportedSQL
from hedgerow.queries.sql.aggregate import Aggregates
from hedgerow.queries.sql.column import Constant, SqlColumn
from hedgerow.queries.sql.node import bare
from hedgerow.queries.sql.predicate import Predicates, Scope, Truth
from hedgerow.queries.sql.stages.engine import NotWorkedOut
from hedgerow.queries.sql.stages.levels import LevelExpressions
from hedgerow.queries.sql.value import Value


class StagedPredicates(Predicates):
    """Conditions; what the first dialect cannot say is worked out on declared levels."""

    def __init__(self, scope: Scope) -> None:
        super().__init__(scope)
        self.levels = LevelExpressions(scope, self.notes)

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
                return self.predicates.levels.value(node)
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
