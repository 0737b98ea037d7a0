"""SelectRows: a SELECT of rows by groups - what it asks of rows, and the rest printed for the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from hedgerow.errors import CutsBin, RangeTooLarge, UnsupportedSQL
from hedgerow.queries.sql.node import bare, only, spell
from hedgerow.queries.sql.printing import printed
from hedgerow.queries.sql.stages.first import FirstStage
from hedgerow.queries.sql.stages.moments import by_moments, ends_of, middle
from hedgerow.queries.sql.stages.relation import THERE, Released
from hedgerow.queries.sql.stages.selects import Select, Subquery, has_aggregate, is_aggregate, named
from hedgerow.queries.sql.stages.sums import as_one_sum
from hedgerow.queries.sql.stages.term import Term, inside

if TYPE_CHECKING:
    from hedgerow.queries.sql.stages.relation import RowsOf

_LINEAR = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg, exp.Paren)


class SelectRows(Select):
    """A SELECT of rows by groups: what it asks of rows goes to the first stage, the rest is printed.

    Args:
        tree, subquery: as in `Select`.
        rows: what FROM names.
        grounded: puts an expression into the table's own columns.
        stage: makes the first stage of conditions and keys.
        centre: about what an expression is on average over rows that meet conditions, if that is known.
        alias: our own name for the released table.
        own_names: of the table's own columns.
    """

    def __init__(
        self,
        tree: exp.Expr,
        subquery: Subquery,
        rows: RowsOf,
        grounded: Callable[[exp.Expr, RowsOf], exp.Expr],
        stage: Callable[[Sequence[exp.Expr], Sequence[exp.Expr]], FirstStage],
        centre: Callable[[Sequence[exp.Expr], exp.Expr], str],
        alias: str,
        own_names: Sequence[str],
    ) -> None:
        super().__init__(tree, subquery)
        self.rows, self.grounded, self.alias, self.own_names = rows, grounded, alias, own_names
        for star in (n for n in tree.expressions if type(n) is exp.Star or type(n.this) is exp.Star):
            if type(star) in (exp.Star, exp.Column):
                raise UnsupportedSQL(ROWS_ARE_NOT_SHOWN)
        self.items = [named(node) for node in tree.expressions]
        where = tree.args.get("where")
        if where is not None and has_aggregate(where.this):
            raise UnsupportedSQL("an aggregate in WHERE is not supported; choose among groups with HAVING")
        conditions = [*rows.where, *([grounded(where.this, rows)] if where is not None else [])]
        self.centre = partial(centre, conditions)
        self.keys = [grounded(bare(node), rows) for node in self._key_nodes()]
        self.stage = stage(conditions, self.keys)
        self._spelled = {_spelling(key): i for i, key in enumerate(self.keys)}
        self.there, self.apart = f"{alias}.{THERE}" if self.keys else "", tree.args.get("group") is None

    def _key_nodes(self) -> list[exp.Expr]:
        group = self.tree.args.get("group")
        if group is None:
            if self.tree.args.get("distinct") is not None and not any(
                has_aggregate(n) for n, _, _ in self.items
            ):
                return [node for node, _, _ in self.items]
            return []
        if group.args.get("all"):
            return [node for node, _, _ in self.items if not has_aggregate(node)]
        only(group, "expressions")
        out = []
        for node in group.expressions:
            place = self.item_of(node)
            own = type(node) is exp.Column and self._is_column(node)
            out.append(node if place is None or own else self.items[place][0])
        return out

    def _is_column(self, node: Any) -> bool:
        """Whether a name in GROUP BY is a column of the table, which goes before an alias."""
        names = self.own_names if self.rows.columns is None else list(self.rows.columns)
        return any(node.name.casefold() == n.casefold() for n in names)

    def term(self, node: Any) -> Term:
        """An expression of keys and aggregates; the largest part that rows can be asked for at once, is."""
        if not isinstance(node, exp.Query):
            meant = self._meant(node)
            place = None if meant is None else self._spelled.get(_spelling(meant))
            if place is not None:
                return Term(f"{self.alias}.g{place}")
            if has_aggregate(node) and meant is not None and (is_aggregate(node) or type(node) in _LINEAR):
                found = self._asked(node, meant)
                if found is not None:
                    return found
        return super().term(node)

    def _meant(self, node: Any) -> exp.Expr | None:
        """In the table's own columns; None where a window or a subquery is part of it."""
        if not is_aggregate(node) and any(isinstance(n, (exp.Query, exp.Window)) for n in node.walk()):
            return None
        return self.grounded(node, self.rows)

    def _asked(self, node: Any, meant: exp.Expr) -> Term | None:
        """The number that rows are asked for; None where only its parts can be asked for."""
        inner = meant.this if type(meant) is exp.Filter else meant
        if is_aggregate(meant) and any(map(has_aggregate, inner.iter_expressions())):
            raise UnsupportedSQL(f"{spell(inner)} of an aggregate is not supported; use a subquery")
        plain = plainly(meant).transform(lambda part: as_one_sum(part) or part)
        try:
            name = self.stage.add(plain)
        except (UnsupportedSQL, CutsBin, RangeTooLarge):
            if type(node) in _LINEAR:
                return None
            formula = by_moments(node, self._centre)
            if formula is None:
                raise
            found = self.term(formula)
            span = ends_of(node, self._ends)
            return found if span is None else inside(found, *span)
        text = f"{self.alias}.{name}"
        linear, smooth = self.stage.is_sum(name), self.stage.is_smooth(name)
        ends = (f"{text}_low", f"{text}_high")
        return Term(text, *ends, sure=False, parts=1, linear=linear, smooth=smooth)

    def _centre(self, node: Any) -> str:
        """From which number on squares are counted: an average, or what is public of it.

        In groups the latter: the average of all rows may be further off from that of one of them.
        """
        inner = bare(plainly(self.grounded(node, self.rows)))
        first = inner.args["ifs"][0].args["true"] if type(inner) is exp.Case else inner
        column = self.stage.scope.column(bare(first)) if type(bare(first)) is exp.Column else None
        known = "" if self.keys else self.centre(inner)
        return known or ("0" if column is None else middle(column))

    def _ends(self, node: Any) -> tuple[float, float] | None:
        """Between which two numbers an expression of a row lies."""
        return self.stage.slices[0].rows.span(plainly(self.grounded(node, self.rows)))

    def column(self, node: Any) -> Term:
        """A column that is no key."""
        self.grounded(node, self.rows)
        raise UnsupportedSQL(
            f"column {node.name[:60]!r} is in SELECT but not in GROUP BY; group by it or aggregate it"
        )

    def other(self, node: Any) -> Term:
        """What is left is no key and no aggregate of rows."""
        if is_aggregate(node):
            raise UnsupportedSQL(f"{spell(node)} is not supported here")
        return super().other(node)

    def aggregate(self, node: Any, over: str = "", calm: bool | None = None) -> Term:
        """In a window, an aggregate is one of released numbers."""
        if not over:
            raise UnsupportedSQL(f"{spell(node)} of an aggregate is not supported; use a subquery")
        return super().aggregate(node, over, calm)

    def released(self) -> Released:
        """The printed SELECT; HAVING chooses among the rows of the released table."""
        source, having = f" FROM {self.stage.name} AS {self.alias}", self.tree.args.get("having")
        if having is not None:
            condition = self.term(having.this)
            source, self.steady = f"{source} WHERE {condition.text}", condition.sure
        terms = [(name, self.entry(node)) for node, name, _ in self.items]
        made = self.finished(terms, source, single=not self.keys, steady=self.steady)
        return replace(made, local=self._local)

    @property
    def _local(self) -> bool:
        """Whether no clause looks at several rows of the released table, or chooses among them."""
        chooses = any(self.tree.args.get(k) for k in ("having", "qualify", "limit", "offset", "distinct"))
        parts = (part for node, _, _ in self.items for part in node.walk())
        return not chooses and not any(isinstance(part, (exp.Window, exp.Query)) for part in parts)


ROWS_ARE_NOT_SHOWN = (
    "rows are never shown; ask for counts, sums or averages, or draw synthetic rows with `hedgerow sample`"
)


def plainly(node: exp.Expr) -> exp.Expr:
    """An aggregate as the first dialect says it: FILTER, COUNT_IF, IF as CASE; no NULLIF(..., 0) below /."""
    made_: exp.Expr = node.transform(_plainer)
    return made_


def _plainer(node: Any) -> Any:
    if type(node) is exp.Filter:
        inner, condition = node.this, node.expression.this
        whole_row = type(inner) is exp.Count and (inner.this is None or type(inner.this) is exp.Star)
        value = exp.Literal(this="1", is_string=False) if whole_row else inner.this
        if value is None or type(value) is exp.Distinct:
            raise UnsupportedSQL("FILTER with DISTINCT is not supported")
        made_ = inner.copy()
        made_.set("this", exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())]))
        return made_
    if type(node) in (exp.PercentileCont, exp.PercentileDisc) and node.args.get("expression") is not None:
        by = exp.Order(expressions=[exp.Ordered(this=node.this.copy())])
        return exp.WithinGroup(this=type(node)(this=node.expression.copy()), expression=by)
    if type(node) is exp.CountIf:
        one = exp.Literal(this="1", is_string=False)
        return exp.Count(this=exp.Case(ifs=[exp.If(this=node.this.copy(), true=one)]))
    if type(node) is exp.If and type(node.parent) is not exp.Case:
        return exp.Case(
            ifs=[exp.If(this=node.this.copy(), true=node.args["true"].copy())], default=node.args.get("false")
        )
    if type(node) is exp.Div and type(bare(node.expression)) is exp.Nullif:
        below = bare(node.expression)
        if type(below.expression) is exp.Literal and below.expression.this in ("0", "0.0"):
            return exp.Div(
                this=node.this.copy(),
                expression=below.this.copy(),
                typed=node.args.get("typed"),
                safe=node.args.get("safe"),
            )
    return node


def _spelling(node: exp.Expr) -> str:
    """What tells expressions apart: their words without outer parentheses, whatever the case of names."""
    return printed(bare(node)).casefold()
