"""SQL predicates to three-valued truth tables over declared levels: node by node, argument by argument."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from hedgerow.errors import UnknownColumn, UnsupportedSQL
from hedgerow.queries.domain.bins import Bins
from hedgerow.queries.domain.divided import Divided
from hedgerow.queries.domain.refined import Refined
from hedgerow.queries.form import check_cells, spread
from hedgerow.queries.sql.column import (
    MIRROR,
    OPS,
    OUTSIDE,
    Constant,
    SqlColumn,
    date_of,
    number_of,
)
from hedgerow.queries.sql.like import like
from hedgerow.queries.sql.near import near
from hedgerow.queries.sql.node import bare, only, refuse
from hedgerow.queries.sql.others import backwards, clamped, compared

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain

DEPTH = 64
_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}


@dataclass(frozen=True, eq=False)
class Truth:
    """Where a predicate is true and where false over the table of some attributes; unknown elsewhere."""

    attributes: tuple[str, ...]
    true: NDArray[np.bool_]
    false: NDArray[np.bool_]

    def negated(self) -> Truth:
        """NOT."""
        return Truth(self.attributes, self.false, self.true)


class Scope:
    """The names a statement may use: attributes and hierarchies of the domain, under one table name."""

    def __init__(self, domain: Domain, tables: Sequence[str] = ()) -> None:
        self.domain = domain
        self._cut = domain.inner if isinstance(domain, Divided) else domain
        self._declared = self._cut.coarse if isinstance(self._cut, Refined) else self._cut
        self.tables = {t.casefold() for t in tables}
        self._columns: dict[tuple[str, str | None], SqlColumn] = {}

    @property
    def names(self) -> list[str]:
        """Every name a column can have."""
        return [*self.domain, *(h for a in self.domain.values() for h in a.hierarchy)]

    def column(self, node: exp.Expr) -> SqlColumn:
        """The column a name means; UnknownColumn with a hint when there is none."""
        only(node, "this", "table")
        if type(node.this) is not exp.Identifier:
            raise UnsupportedSQL("* is not supported here; name the columns and aggregates")
        only(node.this, "this", "quoted")
        name, table = node.this.this, node.args.get("table")
        if table is None or table.name.casefold() in self.tables:
            return self._column(*self._resolve(name))
        owner = self._match(table.name, list(self.domain))
        if len(owner) != 1:
            whole = self._match(f"{table.name}.{name}", self.names)
            said = f'; names with dots are written in double quotes, "{whole[0][:60]}"' if whole else ""
            raise UnknownColumn(f"there is no table or attribute {table.name[:60]!r} in this statement{said}")
        body = self._declared[owner[0]]
        found = self._match(name, [*body.hierarchy, *body.calendar])
        if not found and name.casefold() == "hour" and (hours := self.domain.hours_of(owner[0])) is not None:
            return self._column(hours, None)
        if len(found) != 1:
            raise UnknownColumn(f"attribute {owner[0]!r} has no hierarchy {name[:60]!r}")
        return self._column(owner[0], found[0])

    def reach(self, attribute: str) -> float:
        """How far a number can be from the middle of its bin."""
        body = self.domain[attribute]
        return body.reach if isinstance(body, Bins) else 0.0

    def middles(self, attribute: str) -> NDArray[np.float64]:
        """What the levels of numbers in bins are worth, 0 where they have none."""
        return self._column(attribute, None).numbers

    def same(self, attribute: str, values: NDArray[Any]) -> bool:
        """Whether values are the same on all parts of each level that an attribute declares."""
        _, first, parts = np.unique(
            self._column(attribute, None).parts, return_index=True, return_inverse=True
        )
        return bool((values[first[parts]] == values).all())

    def _resolve(self, name: str) -> tuple[str, str | None]:
        attributes = self._match(name, list(self.domain))
        if len(attributes) == 1:
            return attributes[0], None
        owners = [(a, h) for a in self.domain for h in self._match(name, list(self.domain[a].hierarchy))]
        if len(attributes) > 1 or len(owners) > 1:
            raise UnknownColumn(f"the name {name[:60]!r} is ambiguous; qualify or spell it exactly")
        if not owners:
            level = any(name in body.labels for body in self.domain.values())
            said = f"as a text it goes into single quotes, '{name[:60]}'" if level else near(name, self.names)
            raise UnknownColumn(f"there is no column {name[:60]!r}; {said}")
        return owners[0]

    def _match(self, name: str, names: list[str]) -> list[str]:
        """Names are matched as DuckDB does, whatever their case; an exact match wins."""
        return [name] if name in names else [n for n in names if n.casefold() == name.casefold()]

    def _column(self, attribute: str, hierarchy: str | None) -> SqlColumn:
        key = (attribute, hierarchy)
        if key not in self._columns:
            column = SqlColumn.of(attribute, self._declared[attribute], hierarchy)
            cut = self._cut.cuts.get(attribute) if isinstance(self._cut, Refined) else None
            column = column if cut is None else column.of_parts(cut, self._cut[attribute])
            parts = self.domain.parts.get(attribute) if isinstance(self.domain, Divided) else None
            self._columns[key] = column if parts is None else column.of_others(parts, self.domain[attribute])
        return self._columns[key]


class Predicates:
    """The compiler of WHERE and of CASE's conditions."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.domain = scope.domain
        self.notes: list[str] = []
        self._known: dict[type[exp.Expr], Callable[[Any, int], Truth]] = {
            exp.And: self._connect,
            exp.Or: self._connect,
            exp.Not: self._not,
            exp.Paren: self._paren,
            exp.Boolean: self._boolean,
            exp.Null: self._null,
            exp.Column: self._flag,
            exp.Is: self._is,
            exp.In: self._in,
            exp.Between: self._between,
            exp.Like: self._like,
            **dict.fromkeys(_COMPARISONS, self._comparison),
        }

    def conjuncts(self, node: exp.Expr) -> list[Truth]:
        """The predicate as predicates that must all be true, split as far as AND and NOT OR allow."""
        out: list[Truth] = []
        stack = [(node, False)]
        while stack:
            node, negate = stack.pop()
            kind = type(node)
            if kind is exp.Paren or kind is exp.Not:
                only(node, "this")
                stack.append((node.this, negate ^ (kind is exp.Not)))
            elif kind is (exp.Or if negate else exp.And):
                only(node, "this", "expression")
                stack += [(node.this, negate), (node.expression, negate)]
            else:
                truth = self.truth(node)
                out.append(truth.negated() if negate else truth)
        return out

    def truth(self, node: exp.Expr, depth: int = 0) -> Truth:
        """The three-valued truth table of one predicate."""
        if depth > DEPTH:
            raise UnsupportedSQL(f"the nesting is deeper than {DEPTH} levels, which is not supported")
        known = self._known.get(type(node))
        if known is None:
            refuse(node, "in a condition")
        return known(node, depth + 1)

    def _connect(self, node: exp.Expr, depth: int) -> Truth:
        """AND, OR: chains are flattened (no recursion on long ones) and joined by attribute set first."""
        kind = type(node)
        terms: dict[tuple[str, ...], list[Truth]] = {}
        stack = [node]
        while stack:
            part = stack.pop()
            if type(part) is kind:
                only(part, "this", "expression")
                stack += [part.expression, part.this]
            else:
                term = self.truth(part, depth)
                terms.setdefault(term.attributes, []).append(term)
        every = kind is exp.And
        return self.join([self.join(same, every) for same in terms.values()], every)

    def join(self, terms: Sequence[Truth], every: bool) -> Truth:
        """AND (`every`) or OR of predicates: an AND is false where any part is, true where all are."""
        if len(terms) == 1:
            return terms[0]
        onto = self.domain.order(a for t in terms for a in t.attributes)
        if len(onto) > 1:
            check_cells(self.domain, onto)
        shape = self.domain.shape_of(onto)
        all_of, any_of = np.ones(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)
        for t in terms:
            all_of &= spread(t.attributes, t.true if every else t.false, onto)
            any_of |= spread(t.attributes, t.false if every else t.true, onto)
        return Truth(onto, all_of, any_of) if every else Truth(onto, any_of, all_of)

    def _not(self, node: exp.Expr, depth: int) -> Truth:
        only(node, "this")
        return self.truth(node.this, depth).negated()

    def _paren(self, node: exp.Expr, depth: int) -> Truth:
        only(node, "this")
        return self.truth(node.this, depth)

    def _boolean(self, node: exp.Expr, depth: int) -> Truth:
        only(node, "this")
        return constant_truth(bool(node.this))

    def _null(self, node: exp.Expr, depth: int) -> Truth:
        only(node)
        return constant_truth(None)

    def _flag(self, node: exp.Expr, depth: int) -> Truth:
        """A boolean column on its own."""
        column = self.scope.column(node)
        if column.tells_truth:
            return self._with(column, "=", Constant("number", 1))
        if column.kind != "boolean":
            raise UnsupportedSQL(f"{column.name!r} is not a boolean column; compare it with something")
        true, false = (np.array([v is flag for v in column.values], dtype=np.bool_) for flag in (True, False))
        return Truth((column.attribute,), true, false)

    def _is(self, node: exp.Expr, depth: int) -> Truth:
        """IS NULL on columns and predicates, IS TRUE and IS FALSE on predicates."""
        only(node, "this", "expression")
        inner, what = bare(node.this), node.expression
        if type(what) is exp.Null:
            only(what)
            if type(inner) is exp.Column:
                column = self.scope.column(inner)
                return Truth((column.attribute,), ~column.present, column.present)
            truth = self.truth(inner, depth)
            known = truth.true | truth.false
            return Truth(truth.attributes, ~known, known)
        if type(what) is not exp.Boolean:
            refuse(what, "after IS")
        only(what, "this")
        truth = self.truth(inner, depth)
        hit = truth.true if what.this else truth.false
        return Truth(truth.attributes, hit, ~hit)

    def _in(self, node: exp.Expr, depth: int) -> Truth:
        """x IN (a, b) is x = a OR x = b, NULLs included."""
        if node.args.get("query") is not None:
            raise UnsupportedSQL("a subquery after IN is not supported; list the values")
        only(node, "this", "expressions")
        items = node.expressions
        if not items:
            raise UnsupportedSQL("IN needs a list of values in parentheses")
        left = self.operand(node.this, depth)
        return self.join([self._compare("=", left, self.operand(item, depth)) for item in items], every=False)

    def _between(self, node: exp.Expr, depth: int) -> Truth:
        only(node, "this", "low", "high")
        x, low, high = (self.operand(node.args[k], depth) for k in ("this", "low", "high"))
        truth = self.join([self._compare(">=", x, low), self._compare("<=", x, high)], every=True)
        self.notes += filter(None, [backwards(x, low, high)] if isinstance(x, SqlColumn) else [])
        return truth

    def _like(self, node: exp.Expr, depth: int) -> Truth:
        only(node, "this", "expression", "negate")
        column, pattern = self.operand(node.this, depth), self.operand(node.expression, depth)
        if not isinstance(column, SqlColumn) or not isinstance(pattern, Constant) or pattern.kind != "text":
            raise UnsupportedSQL("LIKE compares a column with a pattern in quotes")
        if column.kind != "text":
            raise UnsupportedSQL(f"LIKE needs text levels, and {column.name!r} has none")
        hit = np.array([v is not None and like(v, pattern.value) for v in column.values], dtype=np.bool_)
        truth = Truth((column.attribute,), hit, ~hit & column.present)
        return truth.negated() if node.args.get("negate") else truth

    def _comparison(self, node: exp.Expr, depth: int) -> Truth:
        only(node, "this", "expression")
        left, right = self.operand(node.this, depth), self.operand(node.expression, depth)
        return self._compare(_COMPARISONS[type(node)], left, right)

    def operand(self, node: exp.Expr, depth: int) -> SqlColumn | Constant:
        """One side of a comparison: a column or a literal."""
        node = bare(node)
        return self.scope.column(node) if type(node) is exp.Column else constant(node)

    def _compare(self, op: str, left: SqlColumn | Constant, right: SqlColumn | Constant) -> Truth:
        if isinstance(left, SqlColumn) and isinstance(right, SqlColumn):
            return self._columns(op, left, right)
        if isinstance(left, SqlColumn) and isinstance(right, Constant):
            return self._with(left, op, right)
        if isinstance(right, SqlColumn) and isinstance(left, Constant):
            return self._with(right, MIRROR[op], left)
        assert isinstance(left, Constant)
        assert isinstance(right, Constant)
        if "null" in (left.kind, right.kind):
            return constant_truth(None)
        if left.kind != right.kind:
            raise UnsupportedSQL(f"{left} and {right} cannot be compared")
        return constant_truth(bool(OPS[op](left.value, right.value)))

    def _with(self, column: SqlColumn, op: str, value: Constant) -> Truth:
        """A column and a literal; a note where rows beyond the declared range count as an end of it."""
        value = column.read(value)
        true, false = compared(column, op, value)
        self.notes += filter(None, [clamped(column, op, value)])
        return Truth((column.attribute,), true, false)

    def _columns(self, op: str, left: SqlColumn, right: SqlColumn) -> Truth:
        """Two columns of named levels of one kind, by the ranks of their values."""
        if (
            left.kind != right.kind
            or left.kind in ("bins", "periods")
            or OUTSIDE in (*left.values, *right.values)
        ):
            raise UnsupportedSQL(
                f"comparing column {left.name!r} with column {right.name!r} is not supported"
            )
        place = {v: i for i, v in enumerate(sorted({*left.values, *right.values} - {None}))}
        a, b = (np.array([place.get(v, -1) for v in c.values], dtype=np.int64) for c in (left, right))
        onto = self.domain.order((left.attribute, right.attribute))
        if len(onto) > 1:
            check_cells(self.domain, onto)
            a, b = spread((left.attribute,), a, onto), spread((right.attribute,), b, onto)
        true = OPS[op](a, b)
        known = (a >= 0) & (b >= 0)
        return Truth(onto, true & known, ~true & known)


def constant(node: exp.Expr) -> Constant:
    """A literal: number, text, boolean, NULL, DATE '...', with a sign if it is a number."""
    kind = type(node)
    if kind is exp.Literal:
        only(node, "this", "is_string")
        return (
            Constant("text", node.this)
            if node.args.get("is_string")
            else Constant("number", number_of(node.this))
        )
    if kind is exp.Neg:
        only(node, "this")
        inner = bare(node.this)
        if type(inner) is exp.Literal:
            value = constant(inner)
            if value.kind == "number":
                return Constant("number", -value.value)
        refuse(node, "as a value")
    if kind is exp.Boolean:
        only(node, "this")
        return Constant("boolean", bool(node.this))
    if kind is exp.Null:
        only(node)
        return Constant("null")
    if kind is exp.Cast:
        return _cast(node)
    refuse(node, "as a value")


def _cast(node: exp.Expr) -> Constant:
    """DATE '2024-12-31', also spelled as a cast; no other cast."""
    only(node, "this", "to")
    to, inner = node.args["to"], node.this
    if (
        type(to) is exp.DataType
        and to.this == exp.DType.DATE
        and not to.expressions
        and type(inner) is exp.Literal
    ):
        only(to, "this", "nested")
        only(inner, "this", "is_string")
        if inner.args.get("is_string"):
            return Constant("date", date_of(inner.this))
    raise UnsupportedSQL("a cast is not supported, except of a date in quotes to DATE")


def constant_truth(value: bool | None) -> Truth:
    """TRUE, FALSE or NULL, which depend on no attribute."""
    return Truth((), np.asarray(value is True), np.asarray(value is False))
