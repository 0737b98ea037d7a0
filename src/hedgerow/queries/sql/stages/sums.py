"""Sums: counts and sums that are added up, as one sum over rows, so that noise they share is counted once."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from hedgerow.queries.sql.node import bare


def as_one_sum(node: Any) -> exp.Expr | None:
    """Counts and sums, added and multiplied by constants, as the SUM of one value; None if it is more.

    >>> from sqlglot import parse_one
    >>> as_one_sum(parse_one("SUM(a) - 2 * COUNT(*)")).sql()
    'SUM(CASE WHEN a IS NULL THEN 0 ELSE a END - (2 * 1))'
    """
    if type(bare(node)) not in (exp.Add, exp.Sub):
        return None
    parts = [
        {c.name.casefold() for c in part.find_all(exp.Column)} for part in node.find_all(exp.Count, exp.Sum)
    ]
    if set().union(*parts) not in parts:
        return None  # a table of more attributes than any part needs is known less well
    value = _value(node)
    return None if value is None else exp.Sum(this=value)


def _value(node: Any) -> exp.Expr | None:
    """What one row adds to it."""
    node = bare(node)
    kind = type(node)
    if kind in (exp.Add, exp.Sub):
        left, right = _value(node.this), _value(node.expression)
        if left is None or right is None:
            return None
        if kind is exp.Add:
            return exp.Add(this=left, expression=right)
        return exp.Sub(this=left, expression=exp.Paren(this=right))
    if kind is exp.Mul:
        factor, rest = bare(node.this), node.expression
        if not _is_number(factor):
            factor, rest = bare(rest), factor
        inner = _value(rest) if _is_number(factor) else None
        return None if inner is None else exp.Mul(this=factor.copy(), expression=_wrapped(inner))
    if kind is exp.Count:
        return _counted(node.this)
    return _summed(node.this) if kind is exp.Sum else None


def _counted(inner: Any) -> exp.Expr | None:
    one, zero = (exp.Literal(this=t, is_string=False) for t in "10")
    if inner is None or type(inner) is exp.Star or _is_number(inner):
        return one
    if type(inner) is exp.Column:
        missing = exp.Is(this=inner.copy(), expression=exp.Null())
        return exp.Case(ifs=[exp.If(this=missing, true=zero)], default=one)
    case = _otherwise_zero(inner)
    if case is not None:
        for branch in case.args["ifs"]:
            branch.set("true", one.copy())
        if inner.args.get("default") is not None:
            case.set("default", one)
    return case


def _summed(inner: Any) -> exp.Expr | None:
    if type(inner) is exp.Column:
        missing = exp.Is(this=inner.copy(), expression=exp.Null())
        zero = exp.Literal(this="0", is_string=False)
        return exp.Case(ifs=[exp.If(this=missing, true=zero)], default=inner.copy())
    return inner.copy() if _is_number(inner) else _otherwise_zero(inner)


def _otherwise_zero(case: Any) -> exp.Expr | None:
    """CASE of numbers, 0 where no condition is true."""
    if type(case) is not exp.Case or case.this is not None:
        return None
    default = case.args.get("default")
    if not all(_is_number(branch.args["true"]) for branch in case.args["ifs"]):
        return None
    if default is not None and not _is_number(default):
        return None
    made = case.copy()
    if default is None:
        made.set("default", exp.Literal(this="0", is_string=False))
    return made


def _is_number(node: Any) -> bool:
    return type(node) is exp.Literal and not node.args.get("is_string")


def _wrapped(node: exp.Expr) -> exp.Expr:
    return exp.Paren(this=node) if type(node) in (exp.Add, exp.Sub) else node
