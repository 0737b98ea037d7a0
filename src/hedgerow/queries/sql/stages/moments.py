"""Moments: variances, standard deviations and correlations as formulas of averages, which rows are asked."""

from __future__ import annotations

from typing import Any

from sqlglot import exp, parse_one

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
_TWO: dict[type[exp.Expr], str] = {exp.CovarPop: _COVARIANCE, exp.CovarSamp: _SAMPLE, exp.Corr: ""}


def by_moments(node: Any) -> exp.Expr | None:
    """The formula of an aggregate, or None if it has none here.

    >>> by_moments(parse_one("VAR_POP(n)", dialect="duckdb")).sql()
    'AVG((n) * (n)) - AVG((n)) * AVG((n))'
    """
    kind = type(node)
    if kind in _ONE:
        x = f"({node.this.sql(dialect='duckdb')})"
        return _read(_ONE[kind].format(x=x, y=x))
    if kind not in _TWO:
        return None
    first, second = (part.sql(dialect="duckdb") for part in (node.this, node.expression))
    x = f"(CASE WHEN ({second}) IS NOT NULL THEN {first} END)"  # a pair counts where neither is NULL
    y = f"(CASE WHEN ({first}) IS NOT NULL THEN {second} END)"
    if kind is not exp.Corr:
        return _read(_TWO[kind].format(x=x, y=y))
    parts = {name: _COVARIANCE.format(x=a, y=b) for name, a, b in (("xy", x, y), ("xx", x, x), ("yy", y, y))}
    return _read(_CORRELATION.format(**parts))


def _read(text: str) -> exp.Expr:
    found: exp.Expr = parse_one(text, dialect="duckdb")
    return found
