"""Nodes of a parsed statement: which arguments they may carry, and how they are named when refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from sqlglot import exp

from hedgerow.errors import UnsupportedSQL


def bare(node: exp.Expr) -> exp.Expr:
    """The expression inside any parentheses."""
    while type(node) is exp.Paren:
        only(node, "this")
        node = node.this
    return node


def only(node: exp.Expr, *names: str) -> None:
    """Refuse a node that carries an argument its compiler does not read."""
    for key, value in node.args.items():
        if key not in names and value is not None and value is not False and value != []:
            raise UnsupportedSQL(f"{spell(node)} with {key.strip('_').replace('_', ' ')} is not supported")


def branches(node: exp.Expr) -> Iterator[tuple[exp.Expr | None, exp.Expr]]:
    """The conditions of a CASE and what they choose; the last has none, and is NULL if nothing is said."""
    only(node, "this", "ifs", "default")
    for branch in node.args["ifs"]:
        if type(branch) is not exp.If:
            refuse(branch, "in CASE")
        only(branch, "this", "true")
        test = branch.this
        if node.this is not None:
            test = exp.EQ(this=node.this.copy(), expression=test.copy())
        yield test, branch.args["true"]
    yield None, node.args.get("default") or exp.Null()


_PARTS: dict[type[exp.Expr], str] = {
    exp.Select: "a subquery",
    exp.Subquery: "a subquery",
    exp.Window: "a window function (OVER)",
    exp.Star: "*",
    exp.Tuple: "a tuple of values",
    exp.Case: "CASE",
    exp.Cast: "a cast",
    exp.Distinct: "DISTINCT",
    exp.Add: "+",
    exp.Sub: "-",
    exp.Neg: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Literal: "a literal",
    exp.Column: "a column",
    exp.Alias: "an alias",
}


def spell(node: Any) -> str:
    """The part of SQL a node is, for a sentence."""
    kind = type(node)
    if kind in _PARTS:
        return _PARTS[kind]
    if kind is exp.Anonymous:
        return f"the function {str(node.this)[:40].upper()}"
    if isinstance(node, exp.Func):
        return f"the {'aggregate' if isinstance(node, exp.AggFunc) else 'function'} {node.sql_name()}"
    return str(getattr(node, "key", node)).upper()[:40]


_INSTEAD: dict[type[exp.Expr], str] = {
    exp.Mode: "; count by group and take the largest: SELECT g, COUNT(*) AS n FROM t GROUP BY g ORDER BY n "
    "DESC LIMIT 1",
}


def refuse(node: Any, where: str) -> NoReturn:
    """Refuse a part, naming it, and what to ask instead."""
    raise UnsupportedSQL(f"{spell(node)} {where} is not supported{_INSTEAD.get(type(node), '')}")
