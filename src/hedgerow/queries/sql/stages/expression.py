"""Expressions: from the parser's nodes to printed terms, by lists of the nodes and functions allowed.

Nothing of the analyst's text is printed but literals, and those are read and written anew. Names are our own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from sqlglot import exp

from hedgerow.errors import UnsupportedSQL
from hedgerow.queries.sql.column import number_of
from hedgerow.queries.sql.node import only, refuse
from hedgerow.queries.sql.printing import printed
from hedgerow.queries.sql.stages import term
from hedgerow.queries.sql.stages.term import Term, made

DEPTH = 48
_DIGITS = 9  # of an interval
_OPERATORS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
    exp.And: "AND",
    exp.Or: "OR",
    exp.Mod: "%",
    exp.IntDiv: "//",
    exp.DPipe: "||",
}
_ARITHMETIC: dict[type[exp.Expr], Callable[[Term, Term], Term]] = {
    exp.Add: term.plus,
    exp.Sub: term.minus,
    exp.Mul: term.times,
    exp.Div: term.over,
}
_RISING: dict[type[exp.Expr], tuple[str, tuple[str, ...]]] = {
    exp.Round: ("round", ("this", "decimals")),
    exp.Floor: ("floor", ("this",)),
    exp.Ceil: ("ceil", ("this",)),
    exp.Trunc: ("trunc", ("this",)),
    exp.Sqrt: ("sqrt", ("this",)),
    exp.Cbrt: ("cbrt", ("this",)),
    exp.Ln: ("ln", ("this",)),
    exp.Exp: ("exp", ("this",)),
    exp.Sign: ("sign", ("this",)),
    exp.Greatest: ("greatest", ("this", "expressions")),
    exp.Least: ("least", ("this", "expressions")),
    exp.Coalesce: ("coalesce", ("this", "expressions")),
}
_PLAIN: dict[type[exp.Expr], tuple[str, tuple[str, ...]]] = {
    exp.Pow: ("pow", ("this", "expression")),
    exp.Log: ("log", ("this", "expression")),
    exp.Upper: ("upper", ("this",)),
    exp.Lower: ("lower", ("this",)),
    exp.Length: ("length", ("this",)),
    exp.Trim: ("trim", ("this",)),
    exp.Substring: ("substring", ("this", "start", "length")),
    exp.Left: ("left", ("this", "expression")),
    exp.Right: ("right", ("this", "expression")),
    exp.Replace: ("replace", ("this", "expression", "replacement")),
    exp.Concat: ("concat", ("expressions",)),
    exp.SplitPart: ("split_part", ("this", "delimiter", "part_index")),
    exp.StrPosition: ("strpos", ("this", "substr")),
    exp.StartsWith: ("starts_with", ("this", "expression")),
    exp.Contains: ("contains", ("this", "expression")),
    exp.Year: ("year", ("this",)),
    exp.Quarter: ("quarter", ("this",)),
    exp.Month: ("month", ("this",)),
    exp.Week: ("week", ("this",)),
    exp.WeekOfYear: ("weekofyear", ("this",)),
    exp.Day: ("day", ("this",)),
    exp.DayOfMonth: ("dayofmonth", ("this",)),
    exp.DayOfWeek: ("dayofweek", ("this",)),
    exp.DayOfWeekIso: ("isodow", ("this",)),
    exp.DayOfYear: ("dayofyear", ("this",)),
    exp.Dayname: ("dayname", ("this",)),
    exp.Monthname: ("monthname", ("this",)),
    exp.LastDay: ("last_day", ("this",)),
}
_SILENT = frozenset(  # what the parser notes of itself
    {"ignore_nulls", "safe", "coalesce", "big_int", "casts_non_integer_decimals", "truncate", "zone"}
    | {"is_numeric", "input_type_parameterized", "conversion", "_type"}
)
_UNITS = frozenset(
    {"YEAR", "ISOYEAR", "QUARTER", "MONTH", "WEEK", "DAY", "DOW", "ISODOW", "DOY", "DECADE", "CENTURY"}
    | {"DAYOFWEEK", "DAYOFYEAR", "DAYOFMONTH", "WEEKDAY"}
)
_OF_DAY = frozenset({"HOUR", "HOURS", "MINUTE", "MINUTES", "SECOND", "SECONDS", "EPOCH"})
_TIMES = ("%H", "%I", "%-H", "%-I", "%M", "%-M", "%S", "%-S", "%p", "%f", "%c", "%X", "%g", "%n")
_NAMED = frozenset({"date_part", "weekday", "isodow", "yearweek", "era", "datepart"})
_TYPES: dict[exp.DType, tuple[str, bool]] = {
    exp.DType.TINYINT: ("INTEGER", True),
    exp.DType.SMALLINT: ("INTEGER", True),
    exp.DType.INT: ("INTEGER", True),
    exp.DType.BIGINT: ("BIGINT", True),
    exp.DType.FLOAT: ("DOUBLE", True),
    exp.DType.DOUBLE: ("DOUBLE", True),
    exp.DType.DECIMAL: ("DECIMAL", True),
    exp.DType.VARCHAR: ("VARCHAR", False),
    exp.DType.TEXT: ("VARCHAR", False),
    exp.DType.DATE: ("DATE", False),
    exp.DType.BOOLEAN: ("BOOLEAN", False),
}


def quoted(text: str) -> str:
    """A text as a literal."""
    if "\x00" in text:
        raise UnsupportedSQL("a text with a zero byte is not supported")
    return "'" + text.replace("'", "''") + "'"


class Expressions:
    """Prints expressions; who derives from it says what a column is, and what else there may be."""

    def __init__(self) -> None:
        self._depth = 0
        self._known: dict[type[exp.Expr], Callable[[Any], Term]] = {
            exp.Literal: self._literal,
            exp.Boolean: lambda node: Term("TRUE" if node.this else "FALSE"),
            exp.Null: lambda node: Term("NULL"),
            exp.Paren: lambda node: self.term(node.this),
            exp.Neg: lambda node: term.negative(self.term(node.this)),
            exp.Not: self._not,
            exp.Abs: lambda node: term.distance(self.term(node.this)),
            exp.Nullif: self._nullif,
            exp.Case: self._case,
            exp.If: self._if,
            exp.Is: self._is,
            exp.In: self._in,
            exp.Between: self._between,
            exp.Like: self._like,
            exp.ILike: self._like,
            exp.Cast: self._cast,
            exp.TryCast: self._cast,
            exp.Extract: self._extract,
            **dict.fromkeys((exp.Hour, exp.Minute, exp.Second), self._time),
            exp.TimestampTrunc: self._trunc,
            exp.DateTrunc: self._trunc,
            exp.TimeToStr: self._strftime,
            exp.DateDiff: self._gap,
            exp.Interval: self._interval,
            exp.Anonymous: self._named,
            exp.Column: self.column,
            **dict.fromkeys(_OPERATORS, self._operator),
            **dict.fromkeys(_ARITHMETIC, self._arithmetic),
            **dict.fromkeys(_RISING, self._rising),
            **dict.fromkeys(_PLAIN, self._plain),
        }

    def term(self, node: Any) -> Term:
        """The printed form of an expression; refuses what is not on the lists."""
        known = self._known.get(type(node))
        if known is None:
            return self.other(node)
        if self._depth >= DEPTH:
            raise UnsupportedSQL(f"the nesting is deeper than {DEPTH} levels, which is not supported")
        self._depth += 1
        try:
            return known(node)
        finally:
            self._depth -= 1

    def column(self, node: Any) -> Term:
        """What a name means."""
        refuse(node, "here")

    def other(self, node: Any) -> Term:
        """What only some expressions have: aggregates, windows, subqueries."""
        refuse(node, "here")

    def _literal(self, node: Any) -> Term:
        only(node, "this", "is_string")
        if node.args.get("is_string"):
            return Term(quoted(node.this))
        number_of(node.this)  # digits and nothing else, and not too many
        return Term(node.this)

    def _all(self, node: Any, names: tuple[str, ...]) -> list[Term]:
        only(node, *names, *_SILENT)
        out: list[Term] = []
        for name in names:
            given = node.args.get(name)
            out += [self.term(n) for n in (given if isinstance(given, list) else [given]) if n is not None]
        return out

    def _operator(self, node: Any) -> Term:
        left, right = self._all(node, ("this", "expression"))
        if type(node) is exp.IntDiv and not (left.sure and right.sure):
            return term.rising("trunc", [term.over(left, right)])  # released numbers are not whole
        below = type(node) in (exp.Mod, exp.IntDiv)  # by zero it is NULL: an error would lose what was paid
        by = f"nullif({right.text}, 0)" if below else right.text
        return made(f"({left.text} {_OPERATORS[type(node)]} {by})", [left, right])

    def _arithmetic(self, node: Any) -> Term:
        left, right = self._all(node, ("this", "expression"))
        return _ARITHMETIC[type(node)](left, right)

    def _rising(self, node: Any) -> Term:
        name, names = _RISING[type(node)]
        parts = self._all(node, names)
        if type(node) is exp.Round and len(parts) > 1:
            if not parts[1].sure:
                raise UnsupportedSQL("the digits of ROUND are a constant")
            one, digits = parts[0], parts[1].text
            text, both = f"round({one.text}, {digits})", one.bounds
            if both is None:
                return made(text, [one])
            found = made(text, [one], *(f"round({b}, {digits})" for b in both))
            return term.stepwise(found, one, f"round({{}}, {digits})") if digits.isdecimal() else found
        return term.above_zero(name, parts[0]) if name in ("sqrt", "ln") else term.rising(name, parts)

    def _plain(self, node: Any) -> Term:
        name, names = _PLAIN[type(node)]
        parts = self._all(node, names)
        return made(f"{name}({', '.join(p.text for p in parts)})", parts)

    def _not(self, node: Any) -> Term:
        (inner,) = self._all(node, ("this",))
        return made(f"(NOT {inner.text})", [inner])

    def _nullif(self, node: Any) -> Term:
        """NULLIF: the first argument, if that is surely another; if not, the truth may be NULL or not."""
        return term.unless(*self._all(node, ("this", "expression")))

    def _case(self, node: Any) -> Term:
        only(node, "this", "ifs", "default")
        conditions, values = [], []
        for branch in node.args["ifs"]:
            only(branch, "this", "true")
            test = branch.this
            if node.this is not None:
                test = exp.EQ(this=node.this.copy(), expression=test.copy())
            conditions.append(self.term(test))
            values.append(self.term(branch.args["true"]))
        default = node.args.get("default")
        return term.chosen(conditions, values, None if default is None else self.term(default))

    def _if(self, node: Any) -> Term:
        only(node, "this", "true", "false")
        default = node.args.get("false")
        otherwise = None if default is None else self.term(default)
        return term.chosen([self.term(node.this)], [self.term(node.args["true"])], otherwise)

    def _is(self, node: Any) -> Term:
        only(node, "this", "expression")
        if type(node.expression) not in (exp.Null, exp.Boolean):
            refuse(node.expression, "after IS")
        left, right = self._all(node, ("this", "expression"))
        return made(f"({left.text} IS {right.text})", [left])

    def _in(self, node: Any) -> Term:
        only(node, "this", "expressions")
        if not node.expressions:
            raise UnsupportedSQL("IN needs a list of values in parentheses")
        left, *items = self._all(node, ("this", "expressions"))
        return made(f"({left.text} IN ({', '.join(i.text for i in items)}))", [left, *items])

    def _between(self, node: Any) -> Term:
        only(node, "this", "low", "high")
        x, low, high = self._all(node, ("this", "low", "high"))
        return made(f"({x.text} BETWEEN {low.text} AND {high.text})", [x, low, high])

    def _like(self, node: Any) -> Term:
        only(node, "this", "expression", "negate")
        a, b = (self.term(node.args[k]) for k in ("this", "expression"))
        word = "LIKE" if type(node) is exp.Like else "ILIKE"
        return made(f"({a.text} {'NOT ' if node.args.get('negate') else ''}{word} {b.text})", [a, b])

    def _cast(self, node: Any) -> Term:
        """A cast that fails is NULL: nothing that was paid for may be lost by it."""
        only(node, "this", "to", "safe", "_type", "requires_string", "try_cast_behavior")
        inner, to = self.term(node.this), node.args["to"]
        if not isinstance(to, exp.DataType) or to.this not in _TYPES:
            raise UnsupportedSQL(f"a cast to {printed(to)[:40]} is not supported")
        name, number = _TYPES[to.this]
        sizes = [str(number_of(p.this.this)) for p in to.expressions if type(p) is exp.DataTypeParam]
        name += f"({', '.join(sizes)})" if sizes and name == "DECIMAL" else ""
        return term.cast(name, inner) if number else made(f"try_cast({inner.text} AS {name})", [inner])

    def _unit(self, node: Any) -> str:
        name = str(node.this if isinstance(node, (exp.Var, exp.Literal)) else node).upper()
        if name in _OF_DAY:
            self._time(node)
        if name not in _UNITS:
            raise UnsupportedSQL(f"{name[:40]!r} is no part of a date; there is {', '.join(sorted(_UNITS))}")
        return name.lower()

    def _time(self, node: Any) -> NoReturn:
        """Dates are declared in whole days; hours that are declared beside them do not come here."""
        raise UnsupportedSQL(
            "a date is kept in whole days, and beside it at most its hours: HOUR(t) where "
            "`{hours: {of: t}}` is declared, and nothing finer"
        )

    def _extract(self, node: Any) -> Term:
        only(node, "this", "expression")
        inner = self.term(node.expression)
        return made(f"date_part({quoted(self._unit(node.this))}, {inner.text})", [inner])

    def _trunc(self, node: Any) -> Term:
        only(node, "this", "unit", *_SILENT)
        inner = self.term(node.this)
        return made(f"date_trunc({quoted(self._unit(node.args['unit']))}, {inner.text})::DATE", [inner])

    def _gap(self, node: Any) -> Term:
        only(node, "this", "expression", "unit")
        after, before = (self.term(node.args[k]) for k in ("this", "expression"))
        unit = quoted(self._unit(node.args["unit"]))
        return made(f"date_diff({unit}, {before.text}::DATE, {after.text}::DATE)", [before, after])

    def _strftime(self, node: Any) -> Term:
        only(node, "this", "format")
        said, format = node.this, node.args["format"]
        if type(format) is not exp.Literal and type(said) is exp.Literal:  # as SQLite has it
            said, format = format, said
        if type(format) is not exp.Literal:
            raise UnsupportedSQL("STRFTIME takes a format in quotes: STRFTIME(day, '%Y-%m')")
        if any(part in format.this for part in _TIMES):
            self._time(node)
        inner = self.term(said)
        return made(f"strftime({inner.text}, {quoted(format.this)})", [inner])

    def _interval(self, node: Any) -> Term:
        only(node, "this", "unit")
        number = node.this.this if type(node.this) is exp.Literal else None
        if number is None or not str(number).removeprefix("-").isdecimal() or len(str(number)) > _DIGITS:
            raise UnsupportedSQL("INTERVAL takes a whole number and a unit")
        unit = str(getattr(node.args.get("unit"), "this", "")).upper().removesuffix("S")
        if unit not in ("DAY", "WEEK", "MONTH", "QUARTER", "YEAR"):
            raise UnsupportedSQL("INTERVAL counts days, weeks, months, quarters or years")
        return Term(f"(INTERVAL ({int(number)}) {unit})")

    def _named(self, node: Any) -> Term:
        """A function that the parser has no node for."""
        name = str(node.this).lower()
        if name not in _NAMED:
            raise UnsupportedSQL(f"the function {str(node.this)[:40].upper()} is not supported")
        only(node, "this", "expressions")
        parts = [self.term(e) for e in node.expressions]
        if name in ("date_part", "datepart"):
            if len(parts) != 2 or type(node.expressions[0]) is not exp.Literal:
                raise UnsupportedSQL("DATE_PART takes the name of a part in quotes and a date")
            return made(f"date_part({quoted(self._unit(node.expressions[0]))}, {parts[1].text})", [parts[1]])
        return made(f"{name}({', '.join(p.text for p in parts)})", parts)
