"""Moments: variances, standard deviations and correlations as formulas of averages, which rows are asked.

Numbers are taken from about the middle of their range: what they are then squared is smaller, and so is what
one row can change.
"""

from __future__ import annotations

from collections.abc import Callable
from math import floor, log10
from typing import Any

from sqlglot import exp, parse_one

from hedgerow.errors import UnsupportedSQL
from hedgerow.queries.domain.bins import Bins
from hedgerow.queries.domain.lattice import spelled
from hedgerow.queries.sql.column import SqlColumn
from hedgerow.queries.sql.printing import printed

_COVARIANCE = "AVG({x} * {y}) - AVG({x}) * AVG({y})"
_SAMPLE = f"({_COVARIANCE}) * COUNT({{x}} * {{y}}) / (COUNT({{x}} * {{y}}) - 1)"
_CORRELATION = "({xy}) / SQRT(({xx}) * ({yy}))"
_ONE: dict[type[exp.Expr], str] = {
    exp.VariancePop: _COVARIANCE,
    exp.Variance: _SAMPLE,
    exp.StddevPop: f"SQRT({_COVARIANCE})",
    exp.Stddev: f"SQRT({_SAMPLE})",
    exp.StddevSamp: f"SQRT({_SAMPLE})",
}
_SLOPE = "({xy}) / ({yy})"  # of the first by the second
_PARTS: dict[type[exp.Expr], str] = {exp.Corr: _CORRELATION, exp.RegrSlope: _SLOPE}
_TWO: dict[type[exp.Expr], str] = {exp.CovarPop: _COVARIANCE, exp.CovarSamp: _SAMPLE, **_PARTS}


def by_moments(node: Any, centre: Callable[[Any], str] = lambda _: "0") -> exp.Expr | None:
    """The formula of an aggregate, or None if it has none here.

    Args:
        node: the aggregate.
        centre: from which number on an expression is counted; changes no variance.

    >>> by_moments(parse_one("VAR_POP(n)", dialect="duckdb")).sql()
    'AVG((n) * (n)) - AVG((n)) * AVG((n))'
    """
    kind = type(node)
    if kind in _ONE:
        x = f"({_from(node.this, centre)})"
        return _read(_ONE[kind].format(x=x, y=x))
    if kind not in _TWO:
        return None
    if node.args.get("expression") is None:
        raise UnsupportedSQL("a covariance, correlation or slope takes two numbers")
    first, second = (printed(part) for part in (node.this, node.expression))
    one, other = (_from(part, centre) for part in (node.this, node.expression))
    x = f"(CASE WHEN ({second}) IS NOT NULL THEN {one} END)"  # a pair counts where neither is NULL
    y = f"(CASE WHEN ({first}) IS NOT NULL THEN {other} END)"
    if kind not in _PARTS:
        return _read(_TWO[kind].format(x=x, y=y))
    parts = {name: _COVARIANCE.format(x=a, y=b) for name, a, b in (("xy", x, y), ("xx", x, x), ("yy", y, y))}
    return _read(_PARTS[kind].format(**parts))


def middle(column: SqlColumn) -> str:
    """A round number near the middle of a column's declared range; 0 if it has none."""
    body = column.body
    if column.kind != "bins" or column.hierarchy is not None or not isinstance(body, Bins):
        return "0"
    lattice = body.lattice
    ends = [lattice.step * int(place) for place in (lattice.low[0], lattice.high[-1])]
    digits = 1 - floor(log10(ends[1] - ends[0])) if ends[1] > ends[0] else 0
    return spelled(round((ends[0] + ends[1]) / 2, digits))


def _from(node: Any, centre: Callable[[Any], str]) -> str:
    text = printed(node)
    number = centre(node)
    return text if number == "0" else f"({text}) - ({number})"


def _read(text: str) -> exp.Expr:
    found: exp.Expr = parse_one(text, dialect="duckdb")
    return found
