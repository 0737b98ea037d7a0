"""Levels: an expression over columns, worked out on everything that the declared levels can hold.

A bin of whole numbers holds each of them and a month each of its days, so an expression has a value on a
level only if it has the same value on all that the level holds. Nothing here depends on a row.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import isfinite, prod
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from hedgerow.errors import CutsBin, RangeTooLarge, UnsupportedSQL
from hedgerow.queries.domain.bins import Bins, Dates
from hedgerow.queries.domain.refined import MOST, CutAt
from hedgerow.queries.sql.column import OUTSIDE, Kind, SqlColumn
from hedgerow.queries.sql.node import bare
from hedgerow.queries.sql.predicate import Scope, Truth
from hedgerow.queries.sql.printing import printed
from hedgerow.queries.sql.stages.engine import engine
from hedgerow.queries.sql.stages.expression import Expressions
from hedgerow.queries.sql.stages.rewriting import rewritten
from hedgerow.queries.sql.stages.steps import CELLS, steps_of
from hedgerow.queries.sql.stages.term import Term
from hedgerow.queries.sql.value import Value

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain

_KINDS: tuple[tuple[type, Kind], ...] = (
    (bool, "boolean"),
    (int, "number"),
    (float, "number"),
    (dt.date, "date"),
    (str, "text"),
)
_EDGES = 12  # bins that a refusal names
_LEVELS = 3  # the same of levels
_SQL = {"boolean": "BOOLEAN", "date": "DATE", "periods": "DATE", "text": "VARCHAR"}


class LevelExpressions(Expressions):
    """Expressions over the columns of one table of declared attributes.

    Args:
        scope: the columns.
        notes: takes what the reader of an answer must know.
    """

    def __init__(self, scope: Scope, notes: list[str]) -> None:
        super().__init__()
        self.scope, self._notes = scope, notes
        self._used: dict[str, list[SqlColumn]] = {}

    def column(self, node: Any) -> Term:
        """A column; each attribute that is used becomes an axis of what is worked out."""
        column = self.scope.column(node)
        mine = self._used.setdefault(column.attribute, [])
        if not any(c.hierarchy == column.hierarchy for c in mine):
            mine.append(column)
        place = [c.hierarchy for c in mine].index(column.hierarchy)
        return Term(f"a{list(self._used).index(column.attribute)}_{place}")

    def constant(self, node: exp.Expr) -> exp.Expr:
        """An expression without columns as a literal; anything else as it is."""
        if type(node) in (exp.Literal, exp.Null, exp.Boolean, exp.Column) or any(
            node.find_all(exp.Column, exp.Query)
        ):
            return node
        ((value,),) = engine().run(f"SELECT {self.term(node).text}")
        return literal(value)

    def worked(self, node: exp.Expr) -> tuple[tuple[str, ...], NDArray[Any]]:
        """The attributes that an expression depends on, and its value on each combination of their levels."""
        self._used = {}
        text = self.term(node).text
        names = list(self._used)
        held = [_held(node, columns, self.scope) for columns in self._used.values()]
        size = prod(len(rows) for _, rows in held)
        if size > CELLS:
            averages = (
                "" if isinstance(node, exp.Predicate) else "combine averages, like AVG(a) / AVG(b), or "
            )
            raise RangeTooLarge(
                f"{_typed(node)} has {size:,} combinations of levels, more than {CELLS:,}: {averages}declare "
                "coarser steps"
            )
        tables: list[str] = []
        values: list[list[Any]] = []
        for i, (kinds, rows) in enumerate(held):
            parts = [f"unnest(${len(values) + j + 1}::{kind}[]) AS a{i}_{j}" for j, kind in enumerate(kinds)]
            values += [[row[j + 1] for row in rows] for j in range(len(kinds))]
            parts.append(f"unnest(range({len(rows)})) AS i{i}")
            tables.append(f"(SELECT {', '.join(parts)}) AS t{i}")
        source = (
            f" FROM {' CROSS JOIN '.join(tables)} ORDER BY {', '.join(f'i{i}' for i in range(len(held)))}"
        )
        found = [
            plain(value) for (value,) in engine().run(f"SELECT {text}" + (source if tables else ""), values)
        ]
        codes = [np.array([row[0] for row in rows]) for _, rows in held]
        shape = tuple(columns[0].size for columns in self._used.values())
        out = self._gathered(node, found, codes, shape)
        self._notes += filter(None, map(self._lost, node.find_all(exp.Cast, exp.TryCast)))
        order = self.scope.domain.order(names)
        return order, out.transpose([names.index(a) for a in order])

    def _lost(self, cast: exp.Expr) -> str | None:
        """What to say of a cast that makes levels of text NULL, where a database would stop."""
        inner = bare(cast.this)
        column = self.scope.column(inner) if type(inner) is exp.Column else None
        if column is None or column.kind != "text" or not is_exact(column):
            return None
        levels = [v for v in column.values if isinstance(v, str)]
        source = f"unnest($1::VARCHAR[]) AS x({self.column(inner).text})"
        kept = engine().run(f"SELECT {self.term(cast).text} IS NOT NULL FROM {source}", [levels])
        lost = [repr(v) for v, (there,) in zip(levels, kept, strict=True) if not there]
        named = ", ".join(lost[:3]) + (f" and {len(lost) - 3} more" if len(lost) > 3 else "")
        said = f"{printed(cast)[:60]} makes nothing of {named}: rows of such levels count as NULL"
        return said if lost else None

    def _gathered(
        self, node: exp.Expr, found: list[Any], codes: list[NDArray[Any]], shape: tuple[int, ...]
    ) -> NDArray[Any]:
        """One value for each combination of levels; refuses an expression that differs inside a level."""
        out = np.full(shape, None, dtype=object)
        if not codes:
            out[()] = found[0]
            return out
        seen = np.zeros(shape, dtype=np.bool_)
        grid = np.meshgrid(*codes, indexing="ij")
        flat = np.ravel_multi_index([g.reshape(-1) for g in grid], shape)
        target, known = out.reshape(-1), seen.reshape(-1)
        for place, value in zip(flat.tolist(), found, strict=True):
            if known[place] and target[place] != value:
                bins = [c[0] for c in self._used.values() if isinstance(c[0].body, Bins)]
                names = ", ".join(repr(c.name) for c in bins)
                edges = "; ".join(_edges(c) for c in bins)
                refusal = CutsBin(
                    f"{_typed(node)} differs within a bin of {names}; ask for what is the same in all of it: "
                    f"{edges}"
                )
                self._cut(node, found, codes, refusal)
                raise refusal
            target[place], known[place] = value, True
        return target.reshape(shape)

    def _cut(self, node: exp.Expr, found: list[Any], codes: list[NDArray[Any]], refusal: CutsBin) -> None:
        """A condition on numbers in bins cuts them where it changes, if that is in a few places."""
        if not all(value is None or isinstance(value, bool) for value in found):
            return
        grid = np.array(found, dtype=object).reshape([len(c) for c in codes])
        for axis, (columns, mine) in enumerate(zip(self._used.values(), codes, strict=True)):
            body = columns[0].body
            if not isinstance(body, Bins) or is_exact(columns[0]):
                continue
            at = steps_of(node, columns[0], self.scope)
            assert at is not None
            held = len(at)  # what is missing comes after
            moved = np.moveaxis(grid, axis, 0)[:held].reshape(held, -1)
            changes = (moved[1:] != moved[:-1]).any(axis=1) & (mine[1:held] == mine[: held - 1])
            places = np.asarray(at)[np.flatnonzero(changes) + 1].tolist()
            if 0 < len(places) <= MOST:
                raise CutAt(columns[0].attribute, tuple(places), refusal)

    def as_column(self, node: exp.Expr, name: str) -> SqlColumn | None:
        """An expression of one attribute as a column of its own; None if it depends on several."""
        attributes, values = self.worked(node)
        if len(attributes) != 1:
            return None
        return self.named(node, name, attributes[0], values)

    def named(self, node: exp.Expr, name: str, attribute: str, values: NDArray[Any]) -> SqlColumn:
        """An expression of which the values on the levels of one attribute are known, as a column."""
        listed = tuple(values.tolist())
        body = self.scope.domain[attribute]
        return SqlColumn(name, attribute, body, f"={printed(node)}", kind_of(listed), listed)

    def truth(self, node: exp.Expr) -> Truth:
        """A condition: true, false, or unknown where it is NULL."""
        attributes, values = self.worked(node)
        flat = values.reshape(-1).tolist()
        if any(v is not None and not isinstance(v, bool) for v in flat):
            like = printed(literal(next(v for v in flat if v is not None and not isinstance(v, bool))))
            raise UnsupportedSQL(
                f"{_typed(node)} is no condition: compare it, like {printed(node)[:60]} = {like[:40]}"
            )
        true, false = (
            np.array([v is flag for v in flat], dtype=np.bool_).reshape(values.shape)
            for flag in (True, False)
        )
        return Truth(attributes, true, false)


def as_value(attributes: tuple[str, ...], values: NDArray[Any]) -> Value:
    """What is counted or summed, of values on combinations of levels."""
    flat = values.reshape(-1).tolist()
    there = np.array([v is not None for v in flat], dtype=np.bool_).reshape(values.shape)
    kind = kind_of(tuple(flat))
    numeric = None if not there.any() else kind in ("number", "boolean")
    numbers = [float(v) if isinstance(v, (bool, int, float)) else 0.0 for v in flat]
    return Value(attributes, np.array(numbers, dtype=np.float64).reshape(values.shape), there, there, numeric)


def is_exact(column: SqlColumn) -> bool:
    """Whether a level is one value: then it is shown as that value, and not by its name."""
    body = column.body
    if column.cut is not None and column.hierarchy is None:
        return False  # the bins that are cut are shown
    if OUTSIDE in column.values:
        return False  # an `other` among numbers, dates or booleans has a name only
    if column.hierarchy is not None or not isinstance(body, Bins):
        return True
    if isinstance(body, Dates):
        return body.by == "day"
    return not body.reach


def sql_type(column: SqlColumn) -> str:
    """The engine's type of a column's values."""
    if column.kind not in ("number", "bins"):
        return _SQL[column.kind]
    values = [v for v in column.values if v is not None and v is not OUTSIDE]
    return "BIGINT" if all(float(v).is_integer() for v in values) else "DOUBLE"


def literal(value: Any) -> exp.Expr:
    """A value as a literal of the syntax tree."""
    value = plain(value)
    if value is None:
        return exp.Null()
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, (int, float)):
        made = exp.Literal(this=repr(abs(value)), is_string=False)
        return exp.Neg(this=made) if value < 0 else made
    if isinstance(value, dt.date):
        return exp.Cast(
            this=exp.Literal(this=value.isoformat(), is_string=True),
            to=exp.DataType(this=exp.DType.DATE, nested=False),
        )
    return exp.Literal(this=str(value), is_string=True)


def plain(value: Any) -> Any:
    """What the engine returned, as Python has it; what is no number is NULL."""
    if isinstance(value, (Decimal, Fraction)):
        return int(value) if value == int(value) else float(value)
    if isinstance(value, float) and not isfinite(value):
        return None
    if isinstance(value, dt.datetime):
        return value.date()
    return value


def _typed(node: exp.Expr) -> str:
    words = printed(node)
    return f"the expression {words if len(words) <= 60 else words[:60] + '...'}"


def kind_of(values: tuple[Any, ...]) -> Kind:
    """The one kind that values have."""
    kinds: set[Kind] = {
        next((k for t, k in _KINDS if isinstance(v, t)), "text") for v in values if v is not None
    }
    if len(kinds) > 1:
        raise UnsupportedSQL("an expression with values of several types is not supported")
    return kinds.pop() if kinds else "text"


def _edges(column: SqlColumn) -> str:
    """Where the declared bins of a column begin."""
    labels = list(dict.fromkeys(label for label in column.body.labels[: len(column.body.values)]))
    more = len(labels) - _EDGES
    return f"the bins of {column.name!r} are {', '.join(labels[:_EDGES])}" + (
        f" and {more} more" if more > 0 else ""
    )


def _held(node: exp.Expr, columns: list[SqlColumn], scope: Scope) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Types of the columns of one attribute, and what its levels can hold: codes, and values for each."""
    body = columns[0].body
    if any(OUTSIDE in c.values for c in columns):
        name, levels = columns[0].name, [printed(literal(v)) for v in body.values[:_LEVELS]]
        raise UnsupportedSQL(
            f"{_typed(node)} is not known of the level {body.labels[body.other_code or 0]!r} of {name!r}: "
            f"compare the column by itself, like {name} <= {levels[-1]} or {name} IN ({', '.join(levels)})"
        )
    kinds = [sql_type(c) for c in columns]
    if all(is_exact(c) for c in columns):
        return kinds, list(
            zip(range(columns[0].size), *(map(_value, c.values) for c in columns), strict=True)
        )
    if len(columns) > 1:
        raise UnsupportedSQL(
            f"{_typed(node)} mixes a column in bins with its hierarchy, which is not supported"
        )
    inside = _inside(node, columns[0], scope)
    if inside is None:
        stepped = isinstance(body, Bins) and body.stepped
        why, what = "bins of real numbers", "combine averages instead, or declare a step"
        if stepped:
            why = f"more than {CELLS:,} steps"
            what = "compare the column with numbers, combine averages, or declare a coarser step"
        raise CutsBin(
            f"{columns[0].name!r} is declared in {why}, of which {_typed(node)} is not known: {what}"
        )
    assert isinstance(body, Bins)
    # not as cells are read, which may be written in another way
    codes = _codes(body, steps_of(node, columns[0], scope))
    if all(isinstance(v, int) for v in inside):
        kinds = ["BIGINT"]  # the bins' middles may be none
    return kinds, [
        *zip(codes, inside, strict=True),
        *((i, None) for i, v in enumerate(columns[0].values) if v is None),
    ]


def _value(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _inside(node: exp.Expr, column: SqlColumn, scope: Scope) -> list[Any] | None:
    """The whole numbers, or days, of bins on which an expression is worked out; None for real numbers."""
    body, steps = column.body, steps_of(node, column, scope)
    if steps is None or not isinstance(body, Bins):
        return None
    if isinstance(body, Dates):
        return [body.start + i * dt.timedelta(days=1) for i in range(len(steps))]
    return [plain(body.lattice.step * k) for k in steps]


def _codes(body: Bins, steps: Sequence[int] | None) -> list[int]:
    """The bin of each step; of days that of each day."""
    every = body.lattice.bins
    at = every if steps is None else every[np.asarray(steps) - int(body.lattice.low[0])]
    return [int(code) for code in at]


def ends_of_levels(node: Any, domain: Domain) -> Any:
    """MIN and MAX of text as those of SELECT DISTINCT, which are declared levels; None if more is asked.

    Args:
        node: a SELECT from rows.
        domain: what is declared.
    """
    known = (name for name, a in domain.items() if not a.ordered and not a.other)
    texts = {name.casefold() for name in known if all(isinstance(v, str) for v in domain[name].values)}
    if any(node.args.get(k) for k in ("group", "having", "distinct", "qualify", "joins")):
        return None

    def replaced(part: Any) -> Any:
        inner = part.this if type(part) in (exp.Min, exp.Max) else None
        if type(inner) is not exp.Column or inner.name.casefold() not in texts or part.expressions:
            return part
        kept = {k: node.args[k].copy() for k in ("from_", "where") if node.args.get(k)}
        levels = exp.Select(expressions=[inner.copy()], distinct=exp.Distinct(), **kept)
        shown = exp.Subquery(this=levels, alias=exp.TableAlias(this=exp.to_identifier("levels")))
        end = type(part)(this=exp.Column(this=inner.this.copy()))
        return exp.Subquery(this=exp.Select(expressions=[end], from_=exp.From(this=shown)))

    listed = []
    for entry in node.expressions:
        new = rewritten(entry, replaced)
        if printed(new) == printed(entry) or any(
            isinstance(n, exp.AggFunc) for n in new.walk(prune=_is_query) if not _is_query(n)
        ):
            return None
        name = exp.to_identifier(printed(entry), quoted=True)
        listed.append(new if type(new) is exp.Alias else exp.Alias(this=new, alias=name))
    clauses = {k: node.args[k] for k in ("order", "limit", "offset") if node.args.get(k)}
    return exp.Select(expressions=listed, **clauses)


def _is_query(node: Any) -> bool:
    return isinstance(node, exp.Query)
