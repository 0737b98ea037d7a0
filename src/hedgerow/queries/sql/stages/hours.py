"""Hours in SQL: HOUR(t) is the attribute that holds the hours of t; by the hour is by the day and that."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from hedgerow.errors import UnsupportedSQL
from hedgerow.queries.domain.bins import Dates
from hedgerow.queries.sql.node import bare
from hedgerow.queries.sql.predicate import Scope

if TYPE_CHECKING:
    from hedgerow.queries.domain.attribute import Attribute
    from hedgerow.queries.domain.domain import Domain

_MOMENTS = frozenset({exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPNTZ, exp.DType.DATETIME})
_HOURS = frozenset({"HOUR", "HOURS"})


def in_hours(domain: Domain, node: Any, meant: Callable[[Any], Any]) -> exp.Expr | None:
    """What takes an hour, in the table's own columns; None if a node takes none.

    Args:
        domain: the declared attributes.
        node: of the syntax tree.
        meant: says what a column's name means.
    """
    for taken, made in ((_hour_of(node), _as_hour), (_cut_to_hours(node), _as_moment)):
        if taken is not None:
            column = bare(meant(taken))
            if type(column) is not exp.Column:
                raise UnsupportedSQL("an hour is taken of a column of moments, and of nothing worked out")
            return made(domain, column)
    return None


def _hour_of(node: Any) -> Any:
    """What the hour is taken of, if a node takes one: HOUR, EXTRACT(HOUR ...), DATE_PART('hour', ...)."""
    if type(node) is exp.Hour:
        return _column(node.this)
    if type(node) is exp.Extract and _unit(node.this) in _HOURS:
        return _column(node.expression)
    if type(node) is exp.Anonymous and str(node.this).lower() in ("date_part", "datepart"):
        parts = node.expressions
        if len(parts) == 2 and _unit(parts[0]) in _HOURS:
            return _column(parts[1])
    return None


def _cut_to_hours(node: Any) -> Any:
    """What is cut down to the hour, if a node does that: DATE_TRUNC('hour', ...)."""
    if type(node) in (exp.TimestampTrunc, exp.DateTrunc) and _unit(node.args.get("unit")) in _HOURS:
        return _column(node.this)
    return None


def _as_hour(domain: Domain, column: Any) -> exp.Expr:
    """The attribute that holds the hours of a column; refuses where none is declared."""
    name = domain.hours_of(column.name)
    if name is None:
        raise UnsupportedSQL(_no_hours(column.name, Scope(domain).column(column).body))
    return exp.Column(this=exp.to_identifier(name, quoted=True))


def _as_moment(domain: Domain, column: Any) -> exp.Expr:
    """A column's day with its hour, as a text like 2024-12-31 09:00:00; NULL where one is missing."""
    hour = _as_hour(domain, column)
    pad = exp.If(this=exp.LT(this=hour.copy(), expression=_number(10)), true=_text(" 0"), false=_text(" "))
    parts = [
        exp.TimeToStr(this=column.copy(), format=_text("%Y-%m-%d")),
        pad,
        _written(hour),
        _text(":00:00"),
    ]
    made = parts[0]
    for part in parts[1:]:
        made = exp.DPipe(this=made, expression=part)
    return exp.Paren(this=made)


def _no_hours(name: str, body: Attribute) -> str:
    """What to declare."""
    if not isinstance(body, Dates):
        return f"{name[:60]!r} is no column of dates, and has no hours"
    return (
        f"{name[:60]!r} is kept in whole days; for its hours declare an attribute beside it, such as "
        f"`{name[:60]}_hour: {{hours: {{of: {name[:60]}}}}}`"
    )


def _column(node: Any) -> Any:
    """A column by itself or cast to a moment; None of anything else."""
    inner = bare(node)
    if type(inner) in (exp.Cast, exp.TryCast) and inner.args["to"].this in _MOMENTS:
        inner = bare(inner.this)
    return inner if type(inner) is exp.Column else None


def _unit(node: Any) -> str:
    return str(node.this if isinstance(node, (exp.Var, exp.Literal)) else node).upper()


def _text(text: str) -> exp.Expr:
    return exp.Literal(this=text, is_string=True)


def _number(number: int) -> exp.Expr:
    return exp.Literal(this=str(number), is_string=False)


def _written(node: exp.Expr) -> exp.Expr:
    return exp.Cast(this=node, to=exp.DataType(this=exp.DType.VARCHAR, nested=False))
