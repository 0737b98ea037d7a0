"""Date spellings: parts, formats and steps of dates as other databases write them, in DuckDB's words."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from typing import Any

from sqlglot import exp

from hedgerow.errors import UnsupportedSQL

UNITS = frozenset({"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "ISOYEAR", "DECADE", "CENTURY"})
_TIMES = frozenset({"HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND"})
_MYSQL = {
    "%M": "%B", "%W": "%A", "%c": "%-m", "%e": "%-d", "%i": "%M", "%s": "%S", "%h": "%I", "%v": "%V",
    "%x": "%G",
}  # fmt: skip
_OTHER = frozenset({"%u", "%V", "%X", "%D"})  # weeks of other calendars, and 1st, 2nd
_POSTGRES = {
    "YYYY": "%Y", "YY": "%y", "MM": "%m", "DD": "%d", "DDD": "%j", "IYYY": "%G", "IW": "%V",
    "Month": "%B", "FMMonth": "%B", "Mon": "%b", "FMMM": "%-m", "FMDD": "%-d",
    "Day": "%A", "FMDay": "%A", "Dy": "%a", "ID": "%u", "HH24": "%H", "HH12": "%I", "HH": "%I", "MI": "%M",
    "SS": "%S", "AM": "%p", "PM": "%p",
}  # fmt: skip
_NET = {
    "yyyy": "%Y", "yy": "%y", "MMMM": "%B", "MMM": "%b", "MM": "%m", "M": "%-m", "dddd": "%A", "ddd": "%a",
    "dd": "%d", "d": "%-d",
}  # fmt: skip
_SERVER = {"weekday": "%A", "dw": "%A", "month": "%B", "mm": "%B", "year": "%Y", "yy": "%Y", "day": "%-d"}
_SERVER_PARTS = {
    "yy": "year", "yyyy": "year", "qq": "quarter", "q": "quarter", "mm": "month", "m": "month",
    "dd": "day", "d": "day", "dy": "doy", "y": "doy", "dayofyear": "doy", "dw": "weekday", "w": "weekday",
    "wk": "week", "ww": "week", "iso_week": "isowk", "isoww": "isowk", "hh": "hour",
}  # fmt: skip
_PATTERN = re.compile(
    "|".join(sorted(map(re.escape, _POSTGRES), key=len, reverse=True)) + r'|"[^"]*"|.', re.S
)


def takes(parts: Sequence[Any], name: str, *counts: int) -> None:
    """Refuse a function of another number of arguments."""
    if len(parts) not in counts:
        raise UnsupportedSQL(f"{name} takes {' or '.join(map(str, counts))} arguments, not {len(parts)}")


def _formatted(date: Any, pattern: Any, meant: Callable[[str], str]) -> exp.Expr:
    if type(pattern) is not exp.Literal or not pattern.args.get("is_string"):
        raise UnsupportedSQL("the format of a date is a text in quotes")
    return exp.TimeToStr(this=date, format=exp.Literal(this=meant(pattern.this), is_string=True))


def format_date(parts: Sequence[Any], name: str) -> exp.Expr:
    """BigQuery's FORMAT_DATE('%Y-%m', date)."""
    takes(parts, name, 2)
    return _formatted(parts[1], parts[0], lambda text: text)


def date_format(parts: Sequence[Any], name: str) -> exp.Expr:
    """MySQL's DATE_FORMAT(date, '%Y-%m')."""
    takes(parts, name, 2)
    return _formatted(parts[0], parts[1], _mysql)


def _mysql(text: str) -> str:
    words = re.findall("%.|[^%]+|%", text, re.S)
    if not _OTHER.isdisjoint(words):
        raise UnsupportedSQL("weeks in the format of DATE_FORMAT are those of ISO 8601, %x and %v")
    return "".join(_MYSQL.get(word, word) for word in words)


def to_char(node: Any) -> exp.Expr:
    """PostgreSQL's TO_CHAR(date, 'YYYY-MM')."""
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


def net_format(node: Any) -> exp.Expr:
    """SQL Server's FORMAT(date, 'yyyy-MM')."""
    patterns = node.expressions
    if type(node.this) is exp.Literal or len(patterns) != 1:
        return node  # type: ignore[no-any-return]
    return _formatted(node.this, patterns[0], _net)


def _net(text: str) -> str:
    words = re.findall(r"[A-Za-z]+|[^A-Za-z]+", text)
    # one letter alone is a format of its own there: d is the whole date, M month and day
    if len(text) < 2 or any(word.isalpha() and word not in _NET for word in words):
        raise UnsupportedSQL("the format of FORMAT is of yyyy, MM, dd, MMMM, dddd")
    return "".join(_NET.get(word, word.replace("%", "%%")) for word in words)


def date_name(parts: Sequence[Any], name: str) -> exp.Expr:
    """SQL Server's DATENAME(weekday, date)."""
    takes(parts, name, 2)
    pattern = _SERVER.get(str(parts[0].name).lower()) if type(parts[0]) is exp.Column else None
    if pattern is None:
        raise UnsupportedSQL("DATENAME is supported of weekday, month, year and day")
    return exp.TimeToStr(this=parts[1], format=exp.Literal(this=pattern, is_string=True))


def last_day(parts: Sequence[Any], name: str) -> exp.Expr:
    """SQL Server's EOMONTH(date)."""
    takes(parts, name, 1)
    return exp.LastDay(this=parts[0])


def _unit_of(node: Any) -> str | None:
    """The part of a date that a word or a text names."""
    plain = type(node) is exp.Column and node.args.get("table") is None
    if plain or type(node) in (exp.Literal, exp.Var):
        word = str(node.name).upper().removesuffix("S")
        return word if word in UNITS else None
    return None


def gap(parts: Sequence[Any], name: str) -> exp.Expr:
    """From one date to another: ('day', from, to), BigQuery's (to, from, DAY) or MySQL's (to, from)."""
    takes(parts, "DATEDIFF", 2, 3)
    if len(parts) == 2:
        unit, before, after = "DAY", parts[1], parts[0]
    elif (first := _unit_of(parts[0])) is not None:
        unit, before, after = first, parts[1], parts[2]
    elif (last := _unit_of(parts[2])) is not None:
        unit, before, after = last, parts[1], parts[0]
    else:
        raise UnsupportedSQL("DATEDIFF takes a part of a date, such as 'day', and two dates")
    return exp.DateDiff(this=after, expression=before, unit=exp.Var(this=unit))


def moved(parts: Sequence[Any], name: str) -> exp.Expr:
    """DATE_SUB(date, INTERVAL 1 DAY) and DATEADD(day, 1, date)."""
    takes(parts, name, 2, 3)
    if len(parts) == 3 and (unit := _unit_of(parts[0])) is not None:
        step = parts[1]
        if (begun := _begun(unit, step, parts[2])) is not None:
            return begun
        back = type(step) is exp.Neg
        length = exp.Interval(this=step.this if back else step, unit=exp.Var(this=unit))
        kind = exp.Sub if back else exp.Add
        return exp.Paren(this=kind(this=_dated(parts[2]), expression=length))
    if len(parts) == 2 and type(parts[1]) is exp.Interval:
        return exp.Paren(this=exp.Sub(this=parts[0], expression=parts[1]))
    raise UnsupportedSQL(f"{name} is not supported so; add or subtract an INTERVAL with + or -")


def _dated(node: Any) -> Any:
    """A text in quotes that is moved is a date."""
    text = type(node) is exp.Literal and node.args.get("is_string")
    return exp.Cast(this=node, to=exp.DataType.build("DATE")) if text else node


def _begun(unit: str, step: Any, start: Any) -> exp.Expr | None:
    """DATEADD(month, DATEDIFF(month, 0, date), 0), which is how SQL Server of before has DATE_TRUNC."""
    zeros = [start, step.expression] if type(step) is exp.DateDiff else []
    same = unit != "WEEK" and zeros and str(step.args["unit"].this).upper() == unit
    if not same or any(type(n) is not exp.Literal or n.this != "0" for n in zeros):
        return None
    return exp.TimestampTrunc(this=step.this, unit=exp.Var(this=unit))


def date_add(node: Any) -> exp.Expr:
    """DATE_ADD(date, INTERVAL 1 DAY)."""
    if type(node.expression) is not exp.Interval:
        raise UnsupportedSQL("DATE_ADD is not supported so; add or subtract an INTERVAL with + or -")
    return exp.Paren(this=exp.Add(this=node.this, expression=node.expression))


def date_part(parts: Sequence[Any], name: str) -> exp.Expr:
    """DATE_PART(month, date), with the part in quotes; DATEPART(weekday, date) is SQL Server's."""
    plain = len(parts) == 2 and type(parts[0]) is exp.Column and parts[0].args.get("table") is None
    if not plain:
        return exp.Anonymous(this="date_part", expressions=list(parts))
    word, server = str(parts[0].name).lower(), name.lower() == "datepart"
    word = _SERVER_PARTS.get(word, word) if server else word
    if server and word == "week":
        raise UnsupportedSQL(
            "weeks of DATEPART(week, ...) begin anew on January 1; DATEPART(isowk, ...) has those of ISO 8601"
        )
    unit = {"isowk": "week", "weekday": "dow"}.get(word, word) if server else word
    quoted = exp.Literal(this=unit, is_string=True)
    found = exp.Anonymous(this="date_part", expressions=[quoted, parts[1]])
    if server and word == "weekday":  # Sunday is 1 there, and 0 in DuckDB
        one = exp.Literal(this="1", is_string=False)
        return exp.Paren(this=exp.Add(this=found, expression=one))
    return found


def trunc_date(node: Any) -> exp.Expr:
    """BigQuery's DATE_TRUNC(date, MONTH) is read with its arguments the other way round."""
    unit, date = node.args.get("unit"), node.this
    named = type(unit) is exp.Var and _unit_of(unit) is None and str(unit.this).upper() not in _TIMES
    if named and (meant := _unit_of(date)) is not None:
        name = exp.Column(this=exp.to_identifier(str(unit.this).lower()))
        return exp.TimestampTrunc(this=name, unit=exp.Var(this=meant))
    return node  # type: ignore[no-any-return]


def turned(columns: Container[str]) -> Callable[[Any], Any]:
    """BigQuery's DATE_TRUNC(day, MONTH) where the column is called like a part of dates.

    Args:
        columns: those of dates, casefolded.
    """

    def replaced(node: Any) -> Any:
        if type(node) is not exp.TimestampTrunc or type(node.args.get("unit")) is not exp.Var:
            return node
        name, part = str(node.args["unit"].this).casefold(), _unit_of(node.this)
        if part is None or node.this.name.casefold() in columns or name not in columns:
            return node
        return exp.TimestampTrunc(
            this=exp.Column(this=exp.to_identifier(name, quoted=True)), unit=exp.Var(this=part)
        )

    return replaced
