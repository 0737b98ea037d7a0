"""Clicked: a question that is put together by choosing - a measure, filters, groups - and the same as SQL.

Each can be read off the other: what is chosen becomes a statement, and a statement that says no more than
can be chosen is shown as chosen. It is public: it knows names and texts, and never a row.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from hedgerow.errors import HedgerowError
from hedgerow.queries.sql.tokens import parse, tokens_of

MEASURES = {"count": "COUNT", "sum": "SUM", "avg": "AVG"}
OPERATORS = {"=": exp.EQ, "<>": exp.NEQ, "<": exp.LT, "<=": exp.LTE, ">": exp.GT, ">=": exp.GTE}
MOST_GROUPS = 2
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


@dataclass(frozen=True)
class Condition:
    """One condition: a column, an operator, a value as it is written."""

    column: str
    operator: str
    value: str

    @property
    def sql(self) -> str:
        """The condition as SQL."""
        return f"{quoted(self.column)} {self.operator} {literal(self.value)}"


@dataclass(frozen=True)
class Clicked:
    """A question that was put together by choosing.

    Args:
        measure: count, sum or avg.
        of: the column that is summed or averaged; empty for a count.
        groups: up to two columns.
        filters: all of them hold.

    >>> made = Clicked("avg", "age", ("sex",), (Condition("region", "=", "Old Town"),))
    >>> made.sql("people")
    "SELECT sex, AVG(age) AS n FROM people WHERE region = 'Old Town' GROUP BY sex"
    >>> Clicked.read(made.sql("people"), {"sex", "age", "region"}) == made
    True
    """

    measure: str = "count"
    of: str = ""
    groups: tuple[str, ...] = ()
    filters: tuple[Condition, ...] = ()

    @classmethod
    def chosen(
        cls, measure: str, of: str, groups: Sequence[str], filters: Sequence[tuple[str, str, str]]
    ) -> Clicked:
        """From the fields of a form; what was left empty, or is no choice, is not chosen."""
        measure = measure if measure in MEASURES else "count"
        measure = measure if of or measure == "count" else "count"
        kept = [Condition(c, o, v) for c, o, v in filters if c and o in OPERATORS and v.strip()]
        by = tuple(dict.fromkeys(group for group in groups if group))[:MOST_GROUPS]
        return cls(measure, of if measure != "count" else "", by, tuple(kept))

    def sql(self, table: str) -> str:
        """The question as a statement."""
        by = ", ".join(map(quoted, self.groups))
        what = f"{MEASURES[self.measure]}({quoted(self.of) if self.of else '*'}) AS n"
        where = " AND ".join(f.sql for f in self.filters)
        return (
            f"SELECT {by + ', ' if by else ''}{what} FROM {quoted(table)}"
            f"{' WHERE ' + where if where else ''}{' GROUP BY ' + by if by else ''}"
        )

    @classmethod
    def read(cls, sql: str, names: Collection[str]) -> Clicked | None:
        """What a statement says, if choosing can say all of it; None if it says more.

        Args:
            sql: the statement.
            names: the columns that there are.
        """
        try:
            tree = parse(sql, names)
            return _read(tree, names)
        except (HedgerowError, _MoreError):
            return None


class _MoreError(Exception):
    """The statement says more than can be chosen."""


def quoted(name: str) -> str:
    """A name in SQL; one that is a word of SQL too is quoted.

    >>> quoted("age"), quoted("select"), quoted("Age")
    ('age', '"select"', '"Age"')
    """
    if _PLAIN.fullmatch(name) and tokens_of(name)[0].token_type is TokenType.VAR:
        return name
    inside = name.replace('"', '""')
    return f'"{inside}"'


def literal(value: str) -> str:
    """A value in SQL: a number as it is, anything else as a text."""
    value = value.strip()
    if _NUMBER.fullmatch(value):
        return value
    inside = value.replace("'", "''")
    return f"'{inside}'"


def _read(tree: exp.Expr, names: Collection[str]) -> Clicked:
    allowed = {"kind", "expressions", "from_", "from", "where", "group"}
    if not isinstance(tree, exp.Select) or any(v for k, v in tree.args.items() if k not in allowed):
        raise _MoreError
    if not tree.expressions:
        raise _MoreError
    *groups, last = tree.expressions
    by = [_column(g, names) for g in groups]
    group = tree.args.get("group")
    grouped = [_column(g, names) for g in group.expressions] if group is not None else []
    if by != grouped or len(by) > MOST_GROUPS:
        raise _MoreError
    measure, of = _measure(last.this if isinstance(last, exp.Alias) else last, names)
    where = tree.args.get("where")
    return Clicked(measure, of, tuple(by), tuple(_filters(where.this, names)) if where is not None else ())


def _measure(node: exp.Expr, names: Collection[str]) -> tuple[str, str]:
    if isinstance(node, exp.Count) and isinstance(node.this, exp.Star):
        return "count", ""
    for word, kind in (("sum", exp.Sum), ("avg", exp.Avg)):
        if isinstance(node, kind):
            return word, _column(node.this, names)
    raise _MoreError


def _filters(node: exp.Expr, names: Collection[str]) -> list[Condition]:
    if isinstance(node, exp.And):
        return [*_filters(node.left, names), *_filters(node.right, names)]
    for word, kind in OPERATORS.items():
        if type(node) is kind:
            return [Condition(_column(node.left, names), word, _value(node.right))]
    raise _MoreError


def _value(node: exp.Expr) -> str:
    if isinstance(node, exp.Neg):
        return f"-{_value(node.this)}"
    if not isinstance(node, exp.Literal):
        raise _MoreError
    value = str(node.this)
    if node.is_string and (_NUMBER.fullmatch(value) or value != value.strip()):
        raise _MoreError  # '5' is not 5
    return value


def _column(node: exp.Expr, names: Collection[str]) -> str:
    if not isinstance(node, exp.Column) or node.args.get("table"):
        raise _MoreError
    found = {name.casefold(): name for name in names}.get(node.name.casefold())
    if found is None:
        raise _MoreError
    return found
