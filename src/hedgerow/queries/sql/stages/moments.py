"""Moments: variances, correlations and slopes as formulas of averages, which rows are asked.

E[xy] - E[x] E[y] is E[(x - c)(y - d)] - E[x - c] E[y - d] for all c and d. Where those are near the averages,
nothing large is taken from anything large: errors of averages enter as their product alone, and sums that are
read off different estimates need not agree.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import floor, log10, sqrt
from typing import Any

from sqlglot import exp, parse_one

from hedgerow.errors import UnsupportedSQL
from hedgerow.queries.domain.bins import Bins
from hedgerow.queries.domain.lattice import spelled
from hedgerow.queries.sql.column import SqlColumn
from hedgerow.queries.sql.printing import printed

Ends = tuple[float, float]
_COVARIANCE = "AVG({x} * {y}) - AVG({x}) * AVG({y})"
_ROWS = "COUNT({x} * {y})"
_ONE: dict[type[exp.Expr], str] = {
    exp.Variance: "VAR_POP({x}) * COUNT({x}) / (COUNT({x}) - 1)",
    exp.StddevPop: "SQRT(VAR_POP({x}))",
    exp.Stddev: "SQRT(VAR_SAMP({x}))",
    exp.StddevSamp: "SQRT(VAR_SAMP({x}))",
}
_SLOPE = "COVAR_POP({a}, {b}) / NULLIF(VAR_POP({y}), 0)"  # of the first by the second
_TWO: dict[type[exp.Expr], str] = {  # of a and b; x is a where there is a b, and y is b where there is an a
    exp.CovarSamp: f"COVAR_POP({{a}}, {{b}}) * {_ROWS} / ({_ROWS} - 1)",
    exp.Corr: "COVAR_POP({a}, {b}) / (SQRT(VAR_POP({x})) * SQRT(VAR_POP({y})))",
    exp.RegrSlope: _SLOPE,
    exp.RegrIntercept: f"AVG({{x}}) - {_SLOPE} * AVG({{y}})",
    exp.RegrR2: "CORR({a}, {b}) * CORR({a}, {b})",
    exp.RegrCount: _ROWS,
    exp.RegrAvgy: "AVG({x})",
    exp.RegrAvgx: "AVG({y})",
    exp.RegrSyy: f"VAR_POP({{x}}) * {_ROWS}",
    exp.RegrSxx: f"VAR_POP({{y}}) * {_ROWS}",
    exp.RegrSxy: f"COVAR_POP({{a}}, {{b}}) * {_ROWS}",
}


def by_moments(node: Any, centre: Callable[[Any], str] = lambda _: "0") -> exp.Expr | None:
    """The formula of an aggregate, perhaps with others in it; None if it has none here.

    Args:
        node: the aggregate.
        centre: from which number on an expression is counted; changes no variance.

    >>> by_moments(parse_one("VAR_POP(n)", dialect="duckdb"), lambda _: "7").sql()
    'AVG((n - 7) * (n - 7)) - AVG((n - 7)) * AVG((n - 7))'
    """
    kind = type(node)
    if kind is exp.VariancePop:
        alone = _from(node.this, centre)
        return _read(_COVARIANCE.format(x=alone, y=alone))
    if kind in _ONE:
        return _read(_ONE[kind].format(x=f"({printed(node.this)})"))
    if kind not in _TWO and kind is not exp.CovarPop:
        return None
    if node.args.get("expression") is None:
        raise UnsupportedSQL("a covariance, correlation or slope takes two numbers")
    one, other = node.this, node.expression
    x, y = _where(one, other), _where(other, one)
    if kind is exp.CovarPop:
        return _read(_COVARIANCE.format(x=_from(x, centre), y=_from(y, centre)))
    parts = {"a": one, "b": other, "x": x, "y": y}
    return _read(_TWO[kind].format(**{name: printed(part) for name, part in parts.items()}))


def ends_of(node: Any, ends: Callable[[Any], Ends | None]) -> Ends | None:
    """Between which two numbers an aggregate lies, whatever the rows are; None where that is not known.

    A variance is at most a quarter of the range squared [Popoviciu], of a sample of two twice that.

    Args:
        node: the aggregate.
        ends: between which two numbers an expression of a row lies.
    """
    kind = type(node)
    if kind in (exp.Corr, exp.RegrR2):
        return (-1.0 if kind is exp.Corr else 0.0), 1.0
    both = [ends(part) for part in (node.this, node.args.get("expression")) if part is not None]
    wide = [high - low for pair in both if pair is not None for low, high in [pair]]
    if len(wide) < len(both):
        return None
    if kind in (exp.VariancePop, exp.StddevPop):
        most = wide[0] ** 2 / 4.0
        return 0.0, most if kind is exp.VariancePop else sqrt(most)
    if kind in (exp.Variance, exp.Stddev, exp.StddevSamp):
        most = wide[0] ** 2 / 2.0
        return 0.0, most if kind is exp.Variance else sqrt(most)
    if kind in (exp.CovarPop, exp.CovarSamp):
        most = wide[0] * wide[1] / (4.0 if kind is exp.CovarPop else 2.0)
        return -most, most
    return None


def middle(column: SqlColumn) -> str:
    """A round number near the middle of a column's declared range; 0 if it has none."""
    body = column.body
    if column.kind == "bins" and column.hierarchy is None and isinstance(body, Bins):
        lattice = body.lattice
        low, high = (lattice.step * int(place) for place in (lattice.low[0], lattice.high[-1]))
    elif column.numeric and column.kind != "bins" and column.known.any():
        numbers = column.numbers[column.known]
        low, high = (Fraction(float(end)).limit_denominator(10**6) for end in (numbers.min(), numbers.max()))
    else:
        return "0"
    digits = 1 - floor(log10(high - low)) if high > low else 0
    return spelled(round((low + high) / 2, digits))


def _where(node: Any, other: Any) -> exp.Expr:
    """A pair counts where neither is NULL."""
    return _read(f"CASE WHEN ({printed(other)}) IS NOT NULL THEN {printed(node)} END")


def _from(node: Any, centre: Callable[[Any], str]) -> str:
    number = centre(node)
    return f"({printed(node)})" if number == "0" else f"({printed(node)} - {_signed(number)})"


def _signed(number: str) -> str:
    return f"({number})" if number.startswith("-") else number


def _read(text: str) -> exp.Expr:
    found: exp.Expr = parse_one(text, dialect="duckdb")
    return found
