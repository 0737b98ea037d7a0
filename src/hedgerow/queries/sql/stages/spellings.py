"""Spellings: functions as PostgreSQL, BigQuery, Snowflake, MySQL, SQL Server call them, in DuckDB's words.

Only where the same words mean nothing else there. What is made is read like anything that was typed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp

from hedgerow.errors import UnsupportedSQL
from hedgerow.queries.sql.stages import date_spellings as dates
from hedgerow.queries.sql.stages.date_spellings import takes
from hedgerow.queries.sql.tables import SCHEMAS

_COPIES = 2_000  # words that one function may come to when its argument is written out several times
_TODAY = "is another day by day, and answers are remembered by their words: write a date, such as "


def respelled(node: Any) -> Any:
    """A copy in DuckDB's words, from the inside out."""
    args: dict[str, Any] = {}
    for key, value in node.args.items():
        if isinstance(value, list):
            args[key] = [respelled(v) if isinstance(v, exp.Expr) else v for v in value]
        else:
            args[key] = respelled(value) if isinstance(value, exp.Expr) else value
    made = type(node)(**args)
    if type(made) is exp.Anonymous:
        named = _NAMED.get(str(made.this).lower())
        return made if named is None else named(made.expressions, str(made.this).upper())
    known = _NODES.get(type(made))
    return made if known is None else known(made)


def _number(value: float | str) -> exp.Expr:
    return exp.Literal(this=str(value), is_string=False)


def _often(node: Any, times: int) -> None:
    """Refuse to write a long argument out several times: within one another such functions grow threefold."""
    for words, _ in enumerate(node.walk(), 1):
        if words * times > _COPIES:
            raise UnsupportedSQL(
                "such functions within one another are not supported so deep; write CASE, or use WITH"
            )


def _if(condition: Any, true: Any, false: Any) -> exp.Expr:
    return exp.Case(ifs=[exp.If(this=condition, true=true)], default=false)


def _paren(node: Any) -> Any:
    return node if isinstance(node, (exp.Literal, exp.Column, exp.Func, exp.Paren)) else exp.Paren(this=node)


def _iff(parts: Sequence[Any], name: str) -> exp.Expr:
    takes(parts, name, 3)
    return _if(*parts)


def _zero(parts: Sequence[Any], name: str) -> exp.Expr:
    takes(parts, name, 1)
    if name == "NULLIFZERO":
        return exp.Nullif(this=parts[0], expression=_number(0))
    return exp.Coalesce(this=parts[0], expressions=[_number(0)])


def _quotient(parts: Sequence[Any], name: str) -> exp.Expr:
    takes(parts, name, 2)
    below = exp.Nullif(this=parts[1], expression=_number(0))
    found = exp.Div(this=_paren(parts[0]), expression=below)
    return exp.Coalesce(this=found, expressions=[_number(0)]) if name == "DIV0" else exp.Paren(this=found)


def _isnull(parts: Sequence[Any], name: str) -> exp.Expr:
    takes(parts, name, 1, 2)
    if len(parts) == 2:
        return exp.Coalesce(this=parts[0], expressions=[parts[1]])
    return exp.Paren(this=exp.Is(this=_paren(parts[0]), expression=exp.Null()))


def _decode(parts: Sequence[Any], name: str) -> exp.Expr:
    """DECODE(x, a, 1, b, 2, 0)."""
    if len(parts) < 3:
        raise UnsupportedSQL("DECODE takes a value, then what it may be and what that gives")
    pairs = list(zip(parts[1::2], parts[2::2], strict=False))
    _often(parts[0], len(pairs))
    same = exp.NullSafeEQ
    ifs = [exp.If(this=same(this=parts[0].copy(), expression=a), true=b) for a, b in pairs]
    return exp.Case(ifs=ifs, default=parts[-1] if len(parts) % 2 == 0 else None)


def _all_rows(parts: Sequence[Any], name: str) -> exp.Expr:
    takes(parts, name, 1)
    return exp.Count(this=parts[0], big_int=True)


def _whole_parts(parts: Sequence[Any], name: str) -> exp.Expr:
    takes(parts, "DIV", 2)
    return exp.Paren(this=exp.IntDiv(this=_paren(parts[0]), expression=_paren(parts[1])))


def _quantile(parts: Sequence[Any], name: str) -> exp.Expr:
    takes(parts, name, 2)
    return exp.PercentileCont(this=parts[0], expression=parts[1])


def _picked(node: Any) -> exp.Expr:
    """APPROX_QUANTILES(x, 4)[OFFSET(2)]: the median."""
    inner, (place, *more) = node.this, node.expressions
    if type(inner) is not exp.ApproxQuantiles or more:
        return node  # type: ignore[no-any-return]
    number = place.expressions[0] if type(place) is exp.Anonymous and len(place.expressions) == 1 else place
    parts: Any = inner.args.get("expression")
    plain = [type(n) is exp.Literal and str(n.this).isdecimal() and len(n.this) < 7 for n in (number, parts)]
    if not all(plain) or not 0 <= int(number.this) <= int(parts.this) or not int(parts.this):
        raise UnsupportedSQL("APPROX_QUANTILES is asked for one of its numbers, as in [OFFSET(2)]")
    at = int(number.this) / int(parts.this)
    return exp.PercentileCont(this=inner.this, expression=_number(at))


def _of_list(node: Any) -> exp.Expr:
    """x = ANY (ARRAY[...]) and x <> ALL (ARRAY[...])."""
    right, wanted = node.expression, exp.Any if type(node) is exp.EQ else exp.All
    if type(right) is exp.Anonymous and str(right.this).upper() == "ALL" and len(right.expressions) == 1:
        right = exp.All(this=right.expressions[0])
    if type(right) is not wanted:
        return node  # type: ignore[no-any-return]
    inner = right.this
    inner = inner.this if type(inner) is exp.Paren else inner
    if type(inner) is not exp.Array:
        return node  # type: ignore[no-any-return]
    found = exp.In(this=node.this, expressions=inner.expressions)
    return found if wanted is exp.Any else exp.Not(this=found)


def _bucket(node: Any) -> exp.Expr:
    """WIDTH_BUCKET(x, low, high, n): 0 below, n + 1 above."""
    given = [node.args.get(k) for k in ("this", "min_value", "max_value", "num_buckets")]
    if any(part is None for part in given):
        raise UnsupportedSQL("WIDTH_BUCKET takes a number, two ends and how many parts")
    for part in given:
        _often(part, 3)
    x, low, high, n = map(_paren, given)
    part = exp.Div(
        this=exp.Mul(this=exp.Paren(this=exp.Sub(this=x, expression=low)), expression=n),
        expression=exp.Paren(this=exp.Sub(this=high.copy(), expression=low.copy())),
    )
    inside = exp.Add(this=exp.Floor(this=part), expression=_number(1))
    below, above = (
        exp.LT(this=x.copy(), expression=low.copy()),
        exp.GTE(this=x.copy(), expression=high.copy()),
    )
    beyond = exp.Add(this=n.copy(), expression=_number(1))
    ifs = [exp.If(this=below, true=_number(0)), exp.If(this=above, true=beyond)]
    return exp.Case(ifs=ifs, default=inside)


def _fetch(node: Any) -> exp.Expr:
    options = node.args.get("limit_options")
    if options is not None and (options.args.get("percent") or options.args.get("with_ties")):
        raise UnsupportedSQL("FETCH with PERCENT or WITH TIES is not supported; use LIMIT")
    return exp.Limit(expression=node.args.get("count") or _number(1))


def _digits(node: Any) -> exp.Expr:
    """TRUNC(x, 2)."""
    digits = node.args.get("decimals")
    if digits is None:
        return node  # type: ignore[no-any-return]
    if type(digits) is not exp.Literal or digits.this not in "0123456789" or not digits.this:
        raise UnsupportedSQL("the digits of TRUNC are a constant below 10")
    power = _number(10 ** int(digits.this))
    inside = exp.Trunc(this=exp.Mul(this=_paren(node.this), expression=power))
    return exp.Paren(this=exp.Div(this=inside, expression=power.copy()))


def _window(node: Any) -> exp.Expr:
    """RATIO_TO_REPORT(x) OVER (...)."""
    inner = node.this
    if type(inner) is not exp.Anonymous or str(inner.this).lower() != "ratio_to_report":
        return node  # type: ignore[no-any-return]
    takes(inner.expressions, "RATIO_TO_REPORT", 1)
    (x,) = inner.expressions
    _often(node, 2)
    whole = node.copy()
    whole.set("this", exp.Sum(this=x.copy()))
    return exp.Paren(this=exp.Div(this=_paren(x), expression=whole))


def _any_value(node: Any) -> exp.Expr:
    if type(node.this) is not exp.AnyValue:
        return node  # type: ignore[no-any-return]
    raise UnsupportedSQL("ANY_VALUE would show what a row has, and rows are never shown; group by the column")


def _rolled_up(node: Any) -> exp.Expr:
    """MySQL's GROUP BY a, b WITH ROLLUP."""
    rolled = node.args.get("rollup") or []
    if len(rolled) != 1 or rolled[0].expressions or not node.expressions:
        return node  # type: ignore[no-any-return]
    return exp.Group(expressions=[exp.Rollup(expressions=node.expressions)])


def _table(node: Any) -> exp.Expr:
    """Without a schema that every database has, nor hints on how to lock."""
    if node.args.get("catalog") is None and node.db.casefold() in SCHEMAS:
        node.set("db", None)
    hints = [part for hint in node.args.get("hints") or [] for part in hint.expressions]
    if hints and all(str(part.name).upper() == "NOLOCK" for part in hints):
        node.set("hints", None)
    return node  # type: ignore[no-any-return]


def _listed(node: Any) -> exp.Expr:
    raise UnsupportedSQL("lists of what rows have are never shown; group by the column, and count")


def _today(node: Any) -> exp.Expr:
    raise UnsupportedSQL(f"CURRENT_DATE {_TODAY}DATE '2024-12-31'")


_NAMED: dict[str, Callable[[Sequence[Any], str], exp.Expr]] = {
    "iff": _iff,
    **dict.fromkeys(("zeroifnull", "nullifzero"), _zero),
    **dict.fromkeys(("div0", "div0null"), _quotient),
    "isnull": _isnull,
    "decode_values": _decode,
    "format_date": dates.format_date,
    "date_format": dates.date_format,
    "date_gap": dates.gap,
    **dict.fromkeys(("date_sub", "dateadd"), dates.moved),
    **dict.fromkeys(("date_part", "datepart"), dates.date_part),
    "datename": dates.date_name,
    "eomonth": dates.last_day,
    "count_big": _all_rows,
    "div_whole": _whole_parts,
    **dict.fromkeys(("approx_percentile", "percentile_approx"), _quantile),
}
_NODES: dict[type[exp.Expr], Callable[[Any], exp.Expr]] = {
    exp.ToChar: dates.to_char,
    exp.Nvl2: lambda n: _if(
        exp.Not(this=exp.Is(this=_paren(n.this), expression=exp.Null())), n.args["true"], n.args.get("false")
    ),
    exp.SafeDivide: lambda n: _quotient([n.this, n.expression], "SAFE_DIVIDE"),
    exp.DateAdd: dates.date_add,
    exp.TimestampTrunc: dates.trunc_date,
    exp.ApproxQuantile: lambda n: _quantile(
        [p for p in (n.this, n.args.get("quantile")) if p is not None], "APPROX_QUANTILE"
    ),
    exp.ApproxDistinct: lambda n: exp.Count(this=exp.Distinct(expressions=[n.this])),
    **dict.fromkeys((exp.EQ, exp.NEQ), _of_list),
    exp.Bracket: _picked,
    exp.WidthBucket: _bucket,
    exp.Fetch: _fetch,
    exp.Trunc: _digits,
    exp.Window: _window,
    exp.IgnoreNulls: _any_value,
    exp.CurrentDate: _today,
    exp.Format: dates.net_format,
    exp.Date: lambda n: n if n.expressions else exp.Cast(this=n.this, to=exp.DataType.build("DATE")),
    exp.Group: _rolled_up,
    exp.Table: _table,
    **dict.fromkeys((exp.GroupConcat, exp.ArrayAgg), _listed),
}
