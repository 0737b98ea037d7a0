"""A SELECT that a PostgreSQL engine may run: one table, row by row, and no row's value can make it fail.

One person's row must not change what is read of others: no aggregate, window, DISTINCT, LIMIT, ORDER BY,
join, subquery or set operation. And it must not make a statement fail, or take a moment that is not its own:
what is allowed is total, so no arithmetic (integers overflow), no cast but to text, and comparisons with
constants only. Functions are on a list: immutable, and about one row. What was checked is written out anew
from its tree, every name in quotes, so that the database reads what was read here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from hedgerow.curator.rows.postgres_steady import refuse_unsteady
from hedgerow.curator.rows.postgres_types import (
    BPCHAR,
    CHAR,
    DATE,
    INT2,
    INT4,
    INT8,
    NAME,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    PgType,
)
from hedgerow.errors import SourceError

_COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ, exp.NullSafeNEQ)
_LIKE = (exp.Like, exp.ILike)
_JOINED = (exp.And, exp.Or)
_PLAIN = (exp.Paren, exp.Not)
_TEXT = ("lower", "upper", "trim", "length")
_OF_DAYS = ("year", "month", "day", "quarter", "dow", "isodow", "isoyear", "week", "doy")
_FIELDS = {
    DATE: _OF_DAYS,
    TIMESTAMP: (*_OF_DAYS, "hour", "minute"),
    TIMESTAMPTZ: (*_OF_DAYS, "hour", "minute"),
}
_ALIKE = {INT2: INT8, INT4: INT8, CHAR: TEXT, NAME: TEXT, VARCHAR: TEXT, BPCHAR: TEXT}
_ALLOWED = (
    "CASE, COALESCE, NULLIF, lower, upper, trim, length, left, right, extract and casts to text; AND, OR, "
    "NOT, IN, BETWEEN, LIKE, IS NULL and comparisons with constants"
)
_REFUSED: tuple[tuple[type[Any], str], ...] = (
    (exp.Window, "a window function"),
    (exp.AggFunc, "an aggregate"),
    (exp.Subquery, "a subquery"),
    (exp.Exists, "a subquery"),
    (exp.SetOperation, "a set operation"),
    (exp.Select, "a subquery"),
    (exp.Lateral, "a lateral join"),
    (exp.Unnest, "a function that makes rows"),
)
_CLAUSES = {
    "distinct": "DISTINCT", "limit": "LIMIT", "offset": "OFFSET", "group": "GROUP BY", "having": "HAVING",
    "order": "ORDER BY", "joins": "a join", "laterals": "a lateral join", "with": "WITH", "with_": "WITH",
    "windows": "WINDOW", "locks": "FOR UPDATE", "sample": "TABLESAMPLE", "into": "INTO",
}  # fmt: skip


@dataclass(frozen=True)
class Source:
    """A table, as a statement names it.

    Args:
        schema: the schema, None if the database's search path says which.
        table: the table.
    """

    schema: str | None
    table: str

    @classmethod
    def named(cls, text: str) -> Source:
        """What `people`, `census.people` or `"People"` means, as PostgreSQL reads it."""
        try:
            tree = sqlglot.parse_one(text, read="postgres", into=exp.Table)
        except SqlglotError:
            tree = None
        if not isinstance(tree, exp.Table) or set(_given(tree)) - {"this", "db"}:
            raise SourceError(
                f"`table` is the name of one table, such as people or census.people, not {text!r}"
            )
        return cls.of(tree)

    @classmethod
    def of(cls, tree: exp.Table) -> Source:
        """The table of a checked tree."""
        schema, table = tree.args.get("db"), tree.this
        if not isinstance(table, exp.Identifier) or tree.args.get("catalog"):
            raise SourceError("a table is named by itself or by its schema and itself")
        return cls(_folded(schema) if isinstance(schema, exp.Identifier) else None, _folded(table))


@dataclass(frozen=True)
class OwnersSelect:
    """The parsed SELECT of an owner, checked for its form; `written` checks and writes it for its columns.

    Args:
        source: the table.
        tree: the statement.
        alias: what the statement calls the table.
    """

    source: Source
    tree: exp.Select
    alias: str

    @classmethod
    def parsed(cls, query: str) -> OwnersSelect:
        """Parse one statement; SourceError says why it cannot be used."""
        try:
            found = [tree for tree in sqlglot.parse(query, read="postgres") if tree is not None]
        except (SqlglotError, RecursionError):
            raise SourceError("`query` is not a SELECT that can be read; try it in psql") from None
        if len(found) != 1:
            raise SourceError("`query` is one SELECT")
        tree = found[0]
        if isinstance(tree, exp.SetOperation):
            _refuse("a set operation")
        if not isinstance(tree, exp.Select):
            raise SourceError("`query` is one SELECT, and nothing else")
        given = _given(tree)
        from_ = given.pop("from", None) or given.pop("from_", None)
        for name in given:
            if name not in ("expressions", "where"):
                _refuse(_CLAUSES.get(name, name.strip("_").upper()))
        table = from_.this if isinstance(from_, exp.From) else None
        if isinstance(table, exp.Subquery):
            _refuse("a subquery")
        if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
            raise SourceError("`query` reads one table: SELECT ... FROM table WHERE ...")
        for name in set(_given(table)) - {"this", "db", "alias"}:
            _refuse(_CLAUSES.get(name, name.strip("_").upper()))
        alias = table.args.get("alias")
        if alias is not None and set(_given(alias)) - {"this"}:
            _refuse("a list of column names behind a table's")
        return cls(Source.of(table), tree, _folded(table.this if alias is None else alias.this))

    def written(self, columns: Mapping[str, PgType]) -> dict[str, str]:
        """What the statement calls its columns, and each of them as SQL.

        Args:
            columns: the columns of the table, with their types.
        """
        out: dict[str, str] = {}
        refuse_unsteady(self.tree, columns)
        for item in self.tree.expressions:
            if isinstance(item, exp.Star):
                out |= {name: quoted(name) for name in columns}
                continue
            name = _folded(item.args["alias"]) if isinstance(item, exp.Alias) else ""
            body = item.this if isinstance(item, exp.Alias) else item
            name = name or (_folded(body.this) if isinstance(body, exp.Column) else "")
            if not name:
                raise SourceError("every expression of `query` needs a name: ... AS name")
            if name in out:
                raise SourceError(f"`query` has two columns {name!r}")
            out[name] = self._value(body, columns)
        return out

    def where(self, columns: Mapping[str, PgType]) -> str:
        """The filter, or nothing."""
        where = self.tree.args.get("where")
        return "" if where is None else f" WHERE {self._truth(where.this, columns)}"

    # -- what is total, one row at a time ------------------------------------------------------------------

    def _value(self, node: Any, columns: Mapping[str, PgType]) -> str:
        """An expression that has a value for every row."""
        if _is_constant(node):
            return _constant(node)
        if isinstance(node, exp.Column):
            return self._column(node, columns)
        if isinstance(node, exp.Paren):
            return f"({self._value(node.this, columns)})"
        if isinstance(node, exp.Case):
            return self._case(node, columns)
        if isinstance(node, exp.Coalesce) and set(_given(node)) <= {"this", "expressions"}:
            self._refuse_mixed([node.this, *node.expressions], columns)
            parts = [self._value(part, columns) for part in (node.this, *node.expressions)]
            return f"COALESCE({', '.join(parts)})"
        if isinstance(node, exp.Nullif) and _is_constant(node.expression):
            return f"NULLIF({self._value(node.this, columns)}, {_constant(node.expression)})"
        if isinstance(node, exp.Cast) and node.to.this in (exp.DataType.Type.TEXT,) and _cast_only(node):
            return f"CAST({self._value(node.this, columns)} AS text)"
        if isinstance(node, exp.Extract) and isinstance(node.expression, exp.Column):
            field, inside = str(node.this.name).lower(), self._column(node.expression, columns)
            if field in _FIELDS.get(self._kind(node.expression, columns), ()):
                return f"EXTRACT({field} FROM {inside})"
        return self._function(node, columns)

    def _function(self, node: Any, columns: Mapping[str, PgType]) -> str:
        """A function on the list, of one value and of constants."""
        name = node.sql_name().lower() if isinstance(node, exp.Func) else ""
        if name in _TEXT and set(_given(node)) == {"this"}:
            return f"{'btrim' if name == 'trim' else name}({self._value(node.this, columns)})"
        if (
            name in ("left", "right")
            and _is_whole(node.expression)
            and set(_given(node)) <= {"this", "expression"}
        ):
            return f'"{name}"({self._value(node.this, columns)}, {_constant(node.expression)})'
        return self._refused(node)

    def _case(self, node: exp.Case, columns: Mapping[str, PgType]) -> str:
        if node.this is not None:
            raise SourceError("write CASE WHEN column = value THEN ... in `query`")
        whens = (
            f"WHEN {self._truth(when.this, columns)} THEN {self._value(when.args['true'], columns)}"
            for when in node.args["ifs"]
        )
        other = node.args.get("default")
        results = [when.args["true"] for when in node.args["ifs"]]
        self._refuse_mixed([*results, *([] if other is None else [other])], columns)
        end = "" if other is None else f" ELSE {self._value(other, columns)}"
        return f"CASE {' '.join(whens)}{end} END"

    def _truth(self, node: Any, columns: Mapping[str, PgType]) -> str:
        """A condition that is true, false or NULL for every row, and never fails."""
        if isinstance(node, exp.Paren):
            return f"({self._truth(node.this, columns)})"
        if isinstance(node, exp.Not):
            return f"NOT ({self._truth(node.this, columns)})"
        if isinstance(node, _JOINED):
            word = "AND" if isinstance(node, exp.And) else "OR"
            return f"({self._truth(node.this, columns)} {word} {self._truth(node.expression, columns)})"
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null | exp.Boolean):
            return f"{self._value(node.this, columns)} IS {_constant(node.expression)}"
        if isinstance(node, _COMPARED):
            return self._compared(node, columns)
        if isinstance(node, _LIKE) and _is_pattern(node.expression):
            word = "LIKE" if isinstance(node, exp.Like) else "ILIKE"
            return f"{self._value(node.this, columns)} {word} {_constant(node.expression)}"
        if (
            isinstance(node, exp.In)
            and set(_given(node)) <= {"this", "expressions"}
            and all(map(_is_constant, node.expressions))
        ):
            inside = ", ".join(map(_constant, node.expressions))
            return f"{self._value(node.this, columns)} IN ({inside})"
        if isinstance(node, exp.Between) and set(_given(node)) <= {"this", "low", "high"}:
            ends = [node.args["low"], node.args["high"]]
            if all(map(_is_constant, ends)):
                low, high = map(_constant, ends)
                return f"{self._value(node.this, columns)} BETWEEN {low} AND {high}"
        if isinstance(node, exp.Boolean):
            return _constant(node)
        return self._column(node, columns) if isinstance(node, exp.Column) else self._refused(node)

    def _kind(self, node: Any, columns: Mapping[str, PgType]) -> int:
        """The type of a checked value, types that turn into each other without fail being one; 0 of none."""
        if isinstance(node, exp.Column):
            oid = columns[_folded(node.this)].oid if _folded(node.this) in columns else 0
            return _ALIKE.get(oid, oid)
        if isinstance(node, exp.Paren | exp.Nullif):
            return self._kind(node.this, columns)
        if isinstance(node, exp.Coalesce):
            return self._common([node.this, *node.expressions], columns)
        if isinstance(node, exp.Case):
            results = [when.args["true"] for when in node.args["ifs"]]
            return self._common([*results, node.args.get("default") or exp.Null()], columns)
        if isinstance(node, exp.Extract | exp.Length):
            return NUMERIC if isinstance(node, exp.Extract) else INT8
        return 0 if _is_constant(node) else TEXT

    def _common(self, nodes: list[Any], columns: Mapping[str, PgType]) -> int:
        return max(self._kind(node, columns) for node in nodes)

    def _refuse_mixed(self, nodes: list[Any], columns: Mapping[str, PgType]) -> None:
        """Values of one result have one type: a number too large for the other's would fail the statement."""
        if len({kind for node in nodes if (kind := self._kind(node, columns))}) > 1:
            raise SourceError("the results of a CASE or COALESCE in `query` have one type: cast them to text")

    def _compared(self, node: Any, columns: Mapping[str, PgType]) -> str:
        sides = (node.this, node.expression)
        if sum(map(_is_constant, sides)) != 1:
            raise SourceError("`query` compares a column with a constant; two columns could not be compared")
        one, other = (_constant(s) if _is_constant(s) else self._value(s, columns) for s in sides)
        return f"{one} {_SIGNS[type(node)]} {other}"

    def _column(self, node: exp.Column, columns: Mapping[str, PgType]) -> str:
        held = node.args.get("table")
        if held is not None and _folded(held) != self.alias:
            raise SourceError(f"`query` names a table {_folded(held)!r} that it does not read")
        if not isinstance(node.this, exp.Identifier):
            return self._refused(node)
        name = _folded(node.this)
        if name not in columns:
            raise SourceError(f"the table has no column {name!r}; it has {', '.join(map(repr, columns))}")
        if not columns[name].known:
            raise SourceError(f"column {name!r} has a type that `query` cannot use")
        return quoted(name)

    def _refused(self, node: Any) -> NoReturn:
        for kind, words in _REFUSED:
            if isinstance(node, exp.Expression) and node.find(kind):
                _refuse(words)
        what = (
            f"the function {node.sql_name().lower()}" if isinstance(node, exp.Func) else type(node).__name__
        )
        what = f"the function {node.name}" if isinstance(node, exp.Anonymous) else what
        raise SourceError(
            f"`query` cannot use {what}: only what is decided row by row and cannot fail, {_ALLOWED}"
        )


_SIGNS: dict[type[Any], str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<=",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM", exp.NullSafeNEQ: "IS DISTINCT FROM",
}  # fmt: skip


def _refuse(what: str) -> NoReturn:
    raise SourceError(
        f"`query` has {what}: with it one person's row could change what is read of others; it may choose "
        "columns and filter rows of one table, row by row"
    )


def _given(node: exp.Expression) -> dict[str, Any]:
    """The parts of a node that say something."""
    return {name: part for name, part in node.args.items() if part not in (None, False, [])}


def _folded(name: Any) -> str:
    """A name as PostgreSQL reads it: in small letters unless it is quoted."""
    node = name if isinstance(name, exp.Identifier) else None
    if node is None:
        raise SourceError("`query` has a name that cannot be read")
    return str(node.this) if node.args.get("quoted") else str(node.this).lower()


def quoted(name: str) -> str:
    """A name as SQL takes it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def _is_constant(node: Any) -> bool:
    if isinstance(node, exp.Neg):
        return isinstance(node.this, exp.Literal) and not node.this.is_string
    return isinstance(node, exp.Literal | exp.Boolean | exp.Null)


def _is_whole(node: Any) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and node.name.isdigit() and len(node.name) < 9


def _is_pattern(node: Any) -> bool:
    """Whether a text is a pattern that is never refused: no backslash is left alone at its end."""
    return isinstance(node, exp.Literal) and node.is_string and "\\" not in node.name


def _constant(node: Any) -> str:
    if isinstance(node, exp.Neg):
        return f"-{_constant(node.this)}"
    if isinstance(node, exp.Null):
        return "NULL"
    if isinstance(node, exp.Boolean):
        return "true" if node.this else "false"
    if node.is_string:
        if "\0" in node.name:
            raise SourceError("`query` holds a character that PostgreSQL does not know")
        return "'" + str(node.name).replace("'", "''") + "'"
    if not set(node.name) <= set("0123456789.eE+-"):
        raise SourceError("`query` holds a number that cannot be read")
    return str(node.name)


def _cast_only(node: exp.Cast) -> bool:
    return type(node) is exp.Cast and not node.to.expressions and set(_given(node)) <= {"this", "to"}
