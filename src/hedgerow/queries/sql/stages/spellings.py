"""Spellings: functions as PostgreSQL, BigQuery, Snowflake and MySQL call them, in the words of DuckDB.

Only where the same words mean nothing else there. What is made is read like anything that was typed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from sqlglot import exp

from hedgerow.errors import UnsupportedSQL

UNITS = frozenset({"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "ISOYEAR", "DECADE", "CENTURY"})
_TIMES = frozenset({"HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"})
_MYSQL = {"%M": "%B", "%W": "%A", "%c": "%-m", "%e": "%-d", "%i": "%M", "%s": "%S", "%h": "%I", "%u": "%V"}
_POSTGRES = {
    "YYYY": "%Y", "YY": "%y", "MM": "%m", "DD": "%d", "DDD": "%j", "IYYY": "%G", "IW": "%V",
    "Month": "%B", "FMMonth": "%B", "Mon": "%b", "FMMM": "%-m", "FMDD": "%-d",
    "Day": "%A", "FMDay": "%A", "Dy": "%a", "ID": "%u", "HH24": "%H", "HH12": "%I", "HH": "%I", "MI": "%M",
    "SS": "%S", "AM": "%p", "PM": "%p",
}  # fmt: skip
_PATTERN = re.compile(
    "|".join(sorted(map(re.escape, _POSTGRES), key=len, reverse=True)) + r'|"[^"]*"|.', re.S
)
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


def _takes(parts: Sequence[Any], name: str, *counts: int) -> None:
    if len(parts) not in counts:
        raise UnsupportedSQL(f"{name} takes {' or '.join(map(str, counts))} arguments, not {len(parts)}")


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
    _takes(parts, name, 3)
    return _if(*parts)


def _zero(parts: Sequence[Any], name: str) -> exp.Expr:
    _takes(parts, name, 1)
    if name == "NULLIFZERO":
        return exp.Nullif(this=parts[0], expression=_number(0))
    return exp.Coalesce(this=parts[0], expressions=[_number(0)])


def _quotient(parts: Sequence[Any], name: str) -> exp.Expr:
    _takes(parts, name, 2)
    below = exp.Nullif(this=parts[1], expression=_number(0))
    found = exp.Div(this=_paren(parts[0]), expression=below)
    return exp.Coalesce(this=found, expressions=[_number(0)]) if name == "DIV0" else exp.Paren(this=found)


def _isnull(parts: Sequence[Any], name: str) -> exp.Expr:
    _takes(parts, name, 1, 2)
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


def _formatted(date: Any, pattern: Any, meant: Callable[[str], str]) -> exp.Expr:
    if type(pattern) is not exp.Literal or not pattern.args.get("is_string"):
        raise UnsupportedSQL("the format of a date is a text in quotes")
    return exp.TimeToStr(this=date, format=exp.Literal(this=meant(pattern.this), is_string=True))


def _format_date(parts: Sequence[Any], name: str) -> exp.Expr:
    _takes(parts, name, 2)
    return _formatted(parts[1], parts[0], lambda text: text)


def _date_format(parts: Sequence[Any], name: str) -> exp.Expr:
    _takes(parts, name, 2)
    return _formatted(parts[0], parts[1], lambda text: re.sub("%.", lambda m: _MYSQL.get(m[0], m[0]), text))


def _to_char(node: Any) -> exp.Expr:
    if node.args.get("format") is None:
        return exp.Cast(this=node.this, to=exp.DataType.build("VARCHAR"))
    return _formatted(node.this, node.args["format"], _postgres)


def _postgres(text: str) -> str:
    out = []
    for match in _PATTERN.finditer(text):
        word = match[0]
        if word in _POSTGRES:
            out.append(_POSTGRES[word])
        elif word.startswith('"') or not word.isalnum():
            out.append(word.strip('"').replace("%", "%%"))
        else:
            raise UnsupportedSQL(f"{word!r} in the format of TO_CHAR is not supported; there is YYYY, MM, DD")
    return "".join(out)


def _unit_of(node: Any) -> str | None:
    """The part of a date that a word or a text names."""
    plain = type(node) is exp.Column and node.args.get("table") is None
    if plain or type(node) in (exp.Literal, exp.Var):
        word = str(node.name).upper().removesuffix("S")
        return word if word in UNITS else None
    return None


def _gap(parts: Sequence[Any], name: str) -> exp.Expr:
    """From one date to another: ('day', from, to), BigQuery's (to, from, DAY) or MySQL's (to, from)."""
    _takes(parts, name, 2, 3)
    if len(parts) == 2:
        unit, before, after = "DAY", parts[1], parts[0]
    elif (first := _unit_of(parts[0])) is not None:
        unit, before, after = first, parts[1], parts[2]
    elif (last := _unit_of(parts[2])) is not None:
        unit, before, after = last, parts[1], parts[0]
    else:
        raise UnsupportedSQL("DATEDIFF takes a part of a date, such as 'day', and two dates")
    return exp.DateDiff(this=after, expression=before, unit=exp.Var(this=unit))


def _moved(parts: Sequence[Any], name: str) -> exp.Expr:
    """DATE_SUB(date, INTERVAL 1 DAY) and DATEADD(day, 1, date)."""
    _takes(parts, name, 2, 3)
    if len(parts) == 3 and (unit := _unit_of(parts[0])) is not None:
        step = parts[1]
        back = type(step) is exp.Neg
        length = exp.Interval(this=step.this if back else step, unit=exp.Var(this=unit))
        kind = exp.Sub if back else exp.Add
        return exp.Paren(this=kind(this=parts[2], expression=length))
    if len(parts) == 2 and type(parts[1]) is exp.Interval:
        return exp.Paren(this=exp.Sub(this=parts[0], expression=parts[1]))
    raise UnsupportedSQL(f"{name} is not supported so; add or subtract an INTERVAL with + or -")


def _date_add(node: Any) -> exp.Expr:
    if type(node.expression) is not exp.Interval:
        raise UnsupportedSQL("DATE_ADD is not supported so; add or subtract an INTERVAL with + or -")
    return exp.Paren(this=exp.Add(this=node.this, expression=node.expression))


def _date_part(parts: Sequence[Any], name: str) -> exp.Expr:
    """DATE_PART(month, date), with the part in quotes."""
    plain = len(parts) == 2 and type(parts[0]) is exp.Column and parts[0].args.get("table") is None
    first = [exp.Literal(this=parts[0].name.lower(), is_string=True)] if plain else list(parts[:1])
    return exp.Anonymous(this="date_part", expressions=[*first, *parts[1:]])


def _trunc_date(node: Any) -> exp.Expr:
    """BigQuery's DATE_TRUNC(date, MONTH) is read with its arguments the other way round."""
    unit, date = node.args.get("unit"), node.this
    named = type(unit) is exp.Var and _unit_of(unit) is None and str(unit.this).upper() not in _TIMES
    if named and (meant := _unit_of(date)) is not None:
        name = exp.Column(this=exp.to_identifier(str(unit.this).lower()))
        return exp.TimestampTrunc(this=name, unit=exp.Var(this=meant))
    return node  # type: ignore[no-any-return]


def _quantile(parts: Sequence[Any], name: str) -> exp.Expr:
    _takes(parts, name, 2)
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
    _takes(inner.expressions, "RATIO_TO_REPORT", 1)
    (x,) = inner.expressions
    _often(node, 2)
    whole = node.copy()
    whole.set("this", exp.Sum(this=x.copy()))
    return exp.Paren(this=exp.Div(this=_paren(x), expression=whole))


def _any_value(node: Any) -> exp.Expr:
    if type(node.this) is not exp.AnyValue:
        return node  # type: ignore[no-any-return]
    raise UnsupportedSQL("ANY_VALUE would show what a row has, and rows are never shown; group by the column")


def _today(node: Any) -> exp.Expr:
    raise UnsupportedSQL(f"CURRENT_DATE {_TODAY}DATE '2024-12-31'")


_NAMED: dict[str, Callable[[Sequence[Any], str], exp.Expr]] = {
    "iff": _iff,
    **dict.fromkeys(("zeroifnull", "nullifzero"), _zero),
    **dict.fromkeys(("div0", "div0null"), _quotient),
    "isnull": _isnull,
    "decode_values": _decode,
    "format_date": _format_date,
    "date_format": _date_format,
    "date_gap": _gap,
    **dict.fromkeys(("date_sub", "dateadd"), _moved),
    **dict.fromkeys(("date_part", "datepart"), _date_part),
    **dict.fromkeys(("approx_percentile", "percentile_approx"), _quantile),
}
_NODES: dict[type[exp.Expr], Callable[[Any], exp.Expr]] = {
    exp.ToChar: _to_char,
    exp.Nvl2: lambda n: _if(
        exp.Not(this=exp.Is(this=_paren(n.this), expression=exp.Null())), n.args["true"], n.args.get("false")
    ),
    exp.SafeDivide: lambda n: _quotient([n.this, n.expression], "SAFE_DIVIDE"),
    exp.DateAdd: _date_add,
    exp.TimestampTrunc: _trunc_date,
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
}
