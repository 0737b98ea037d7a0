"""SQL to a Question: the statement - SELECT list, FROM, WHERE, GROUP BY, ORDER BY, LIMIT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlglot import exp

from hedgerow.errors import RangeTooLarge, UnsupportedQuery, UnsupportedSQL
from hedgerow.figures import NULL
from hedgerow.queries import argument
from hedgerow.queries.cuts import whole
from hedgerow.queries.domain.domain import Domain, OpenDomain
from hedgerow.queries.domain.refined import cutting
from hedgerow.queries.form import GroupAxis
from hedgerow.queries.question import GROUPS, GroupColumn, Question, Show, Sort
from hedgerow.queries.sql.aggregate import Aggregates
from hedgerow.queries.sql.column import SqlColumn
from hedgerow.queries.sql.node import only, refuse, spell
from hedgerow.queries.sql.predicate import Predicates, Scope, Truth
from hedgerow.queries.sql.printing import printed
from hedgerow.queries.sql.tokens import parse

if TYPE_CHECKING:
    from numpy.typing import NDArray

_CLAUSES = {
    "joins": "a join",
    "with_": "a common table expression (WITH)",
    "having": "HAVING",
    "distinct": "SELECT DISTINCT",
    "windows": "a window function (WINDOW)",
    "qualify": "QUALIFY",
    "offset": "OFFSET",
    "into": "SELECT INTO",
    "sample": "sampling",
    "laterals": "a join (LATERAL)",
    "pivots": "PIVOT",
    "locks": "FOR UPDATE",
}

_WORDS = """
ALL AND ANY ARRAY AS ASC BETWEEN BY CASE CAST CHECK COLLATE COLUMN CREATE DEFAULT DESC DISTINCT DO ELSE END
EXCEPT FALSE FETCH FOR FROM GROUP HAVING IN INTERSECT INTO IS LATERAL LIKE LIMIT NOT NULL OFFSET ON ONLY OR
ORDER PIVOT PRIMARY QUALIFY REFERENCES RETURNING SELECT SHOW SOME TABLE THEN TO TRUE UNION UNIQUE USING WHEN
WHERE WINDOW WITH
"""
_RESERVED = frozenset(_WORDS.split())


@dataclass(frozen=True)
class _Item:
    """One entry of the SELECT list."""

    node: exp.Expr
    alias: str | None


def sql(domain: Domain, text: str, *, unit: str | None = None) -> Question:
    """A question from one SELECT statement; raises UnsupportedQuery or DomainMismatch with one sentence.

    Counts, sums and averages with any boolean condition on declared columns, grouped by attributes or their
    hierarchies. The text is compiled, never executed.

    Args:
        domain: the declared attributes; the statement's one table has them as columns.
        text: SQL as DuckDB reads it.
        unit: the column that names people, for COUNT(DISTINCT unit).

    >>> from hedgerow.queries.domain.domain import Domain
    >>> domain = Domain({"sex": ["F", "M"], "age": 5})
    >>> question = sql(domain, "SELECT COUNT(*) FROM t WHERE sex = 'F' AND age >= 3")
    >>> question.attributes, question.forms[0].weights().sum()
    (('sex', 'age'), np.float64(2.0))
    """
    if isinstance(domain, OpenDomain):
        raise UnsupportedQuery("an open domain of names has no columns for SQL: ask it sparse queries")
    if not isinstance(domain, Domain) or not isinstance(text, str):
        raise UnsupportedQuery("SQL is compiled from a Domain and a text: hedgerow.sql(domain, text)")
    argument.text("the unit's column", unit)
    names = [*Scope(domain).names, *([unit] if unit else [])]
    tree = parse(text, names)
    if type(tree) is not exp.Select:
        refuse(tree, "as a statement")
    return cutting(domain, lambda cells: _Statement(cells, text, tree, unit).question())


class _Statement:
    """The compiler of one SELECT."""

    def __init__(self, domain: Domain, text: str, tree: exp.Expr, unit: str | None) -> None:
        self.domain, self.text, self.tree = domain, text, tree
        for key, part in _CLAUSES.items():
            if tree.args.get(key):
                raise UnsupportedSQL(f"{part} is not supported")
        only(tree, "expressions", "from_", "where", "group", "order", "limit")
        self.scope = Scope(domain, _tables(tree.args.get("from_")))
        self.predicates = Predicates(self.scope)
        self.items = [_item(node) for node in tree.expressions]
        self.unit = unit
        self.null_notes: list[str] = []

    def question(self) -> Question:
        """Every clause in turn: groups and conditions first, as every aggregate depends on them."""
        clauses = self.tree.args
        group, where, order, limit = (clauses.get(key) for key in ("group", "where", "order", "limit"))
        self.groups, self.axes = ((), ()) if group is None else self._groups(group)
        conditions = []
        if where is not None:
            only(where, "this")
            conditions = self.predicates.conjuncts(where.this)
        self.aggregates = Aggregates(self.predicates, conditions, self.axes, self.unit)
        columns = tuple(self._show(item) for item in self.items)
        if not self.aggregates.out:
            raise UnsupportedSQL("the SELECT list has no aggregate; ask for COUNT(*), SUM or AVG")
        keep = possible(self.axes, conditions)
        made = Question(
            domain=self.domain,
            text=self.text,
            forms=tuple(self.aggregates.forms),
            aggregates=tuple(self.aggregates.out),
            groups=self.groups,
            axes=self.axes,
            columns=columns,
            order=() if order is None else self._order(order, columns),
            limit=None if limit is None else _limit(limit),
            left=None if keep.all() or not keep.any() else keep,
            notes=tuple(dict.fromkeys([*self.aggregates.notes, *self.predicates.notes, *self.null_notes])),
        )
        if made.left is not None and not any(NULL in made.labels[g] for g in np.flatnonzero(made.left)):
            made = replace(made, notes=tuple(n for n in made.notes if n not in self.null_notes))
        return whole(made, self.domain)

    def _groups(self, group: exp.Expr) -> tuple[tuple[GroupColumn, ...], tuple[GroupAxis, ...]]:
        """GROUP BY columns, and one axis per attribute: the parts that its columns together tell apart."""
        only(group, "expressions")
        columns = [self._group_column(node) for node in group.expressions]
        if not columns:
            raise UnsupportedSQL("GROUP BY needs columns")
        groups, axes, _ = grouped(columns)
        self.null_notes = null_notes(columns)
        return groups, axes

    def _group_column(self, node: exp.Expr) -> SqlColumn:
        """A GROUP BY entry: a column, the position of one in SELECT, or the alias of one."""
        if type(node) is exp.Literal:
            node = self._position(node, "GROUP BY").node
        elif (
            type(node) is exp.Column and node.args.get("table") is None and type(node.this) is exp.Identifier
        ):
            name = node.this.this.casefold()
            known = any(name == n.casefold() for n in self.scope.names)
            same = [i for i in self.items if i.alias is not None and i.alias.casefold() == name]
            node = same[0].node if same and not known else node
        if type(node) is not exp.Column:
            raise UnsupportedSQL(f"{spell(node)} in GROUP BY is not supported; group by columns")
        return self.scope.column(node)

    def _position(self, node: exp.Expr, clause: str) -> _Item:
        """The SELECT entry that a whole number means."""
        only(node, "this", "is_string")
        if (
            node.args.get("is_string")
            or not node.this.isdecimal()
            or not 1 <= int(node.this[:9]) <= len(self.items)
        ):
            raise UnsupportedSQL(f"{clause} {node.this[:40]!r} is no position in the SELECT list")
        return self.items[int(node.this[:9]) - 1]

    def _show(self, item: _Item) -> Show:
        """One output column: a group column, or a new aggregate."""
        if type(item.node) is exp.Column:
            column = self.scope.column(item.node)
            index = self._find_group(column)
            if index is None:
                raise UnsupportedSQL(
                    f"column {column.name!r} is in SELECT but not in GROUP BY; group by it or aggregate it"
                )
            return Show(item.alias or column.name, index, aggregate=False)
        name = item.alias or _title(item.node)
        return Show(name, self.aggregates.add(item.node, name), aggregate=True)

    def _find_group(self, column: SqlColumn) -> int | None:
        keys = [(g.attribute, g.hierarchy) for g in self.groups]
        key = (column.attribute, column.hierarchy)
        return keys.index(key) if key in keys else None

    def _order(self, order: exp.Expr, columns: tuple[Show, ...]) -> tuple[Sort, ...]:
        only(order, "expressions")
        out = []
        for node in order.expressions:
            if type(node) is not exp.Ordered:
                refuse(node, "in ORDER BY")
            only(node, "this", "desc", "nulls_first")
            index, aggregate = self._sort_key(node.this, columns)
            out.append(
                Sort(index, aggregate, bool(node.args.get("desc")), bool(node.args.get("nulls_first")))
            )
        return tuple(out)

    def _sort_key(self, node: exp.Expr, columns: tuple[Show, ...]) -> tuple[int, bool]:
        """What an ORDER BY entry means: a position, an output name, a group column, an aggregate."""
        if type(node) is exp.Literal:
            found = self.items.index(self._position(node, "ORDER BY"))
            return columns[found].index, columns[found].aggregate
        if type(node) is exp.Column and node.args.get("table") is None and type(node.this) is exp.Identifier:
            name = node.this.this.casefold()
            for show, item in zip(columns, self.items, strict=True):
                if item.alias is not None and item.alias.casefold() == name:
                    return show.index, show.aggregate
        if type(node) is exp.Column:
            column = self.scope.column(node)
            index = self._find_group(column)
            if index is None:
                raise UnsupportedSQL(f"ORDER BY {column.name!r} needs that column in GROUP BY")
            return index, False
        for show, item in zip(columns, self.items, strict=True):
            if show.aggregate and item.node == node:
                return show.index, True
        raise UnsupportedSQL(
            f"ORDER BY {spell(node)} is not supported; put it into SELECT and order by its name"
        )


def _tables(source: Any) -> list[str]:
    """The names the one table goes by."""
    if source is None:
        raise UnsupportedSQL("FROM is missing; ask SELECT ... FROM t")
    only(source, "this")
    table = source.this
    if type(table) is not exp.Table:
        refuse(table, "in FROM")
    if table.args.get("joins"):
        raise UnsupportedSQL("a join is not supported; there is one table")
    if table.args.get("db") is not None:
        raise UnsupportedSQL("a table name with a schema is not supported; any one name will do")
    only(table, "this", "alias")
    name = _name(table.this)
    alias = table.args.get("alias")
    if alias is None:
        return [name]
    only(alias, "this")
    return [_name(alias.this)]


def _item(node: exp.Expr) -> _Item:
    """One entry of the SELECT list and its alias."""
    if type(node) is not exp.Alias:
        return _Item(node, None)
    only(node, "this", "alias")
    return _Item(node.this, _name(node.args["alias"]))


def _name(node: exp.Expr) -> str:
    """The name of a table or an alias; a reserved word there is a mistake, not a name (`FROM t TRUE`)."""
    if type(node) is not exp.Identifier:
        refuse(node, "as a name")
    only(node, "this", "quoted")
    name = str(node.this)
    if not node.args.get("quoted") and name.upper() in _RESERVED:
        raise UnsupportedSQL(f"the word {name.upper()} stands where a name should be; put a name into quotes")
    return name


def _limit(limit: exp.Expr) -> int:
    """How many groups are shown."""
    if type(limit) is not exp.Limit:
        refuse(limit, "instead of LIMIT")
    only(limit, "expression")
    number = limit.expression
    if type(number) is exp.Literal:
        only(number, "this", "is_string")
        if not number.args.get("is_string") and number.this.isdecimal() and int(number.this[:12]) > 0:
            return int(number.this[:12])
    raise UnsupportedSQL("LIMIT needs a whole number of at least 1")


def _title(node: exp.Expr) -> str:
    """The name of an output column without an alias: its SQL (the usual ones without a copy)."""
    inner = node.this
    if type(node) in (exp.Count, exp.Sum, exp.Avg) and type(inner) in (exp.Star, exp.Column):
        return f"{node.key.upper()}({'*' if type(inner) is exp.Star else inner.name})"
    return printed(node)


First = np.ndarray[Any, np.dtype[np.intp]]
"""The first level of each part of an axis."""


def grouped(
    columns: Sequence[SqlColumn],
) -> tuple[tuple[GroupColumn, ...], tuple[GroupAxis, ...], tuple[First, ...]]:
    """Columns of GROUP BY; an axis per attribute, the parts that they tell apart; their first levels."""
    by_attribute: dict[str, list[SqlColumn]] = {}
    for column in columns:
        by_attribute.setdefault(column.attribute, []).append(column)
    if len(by_attribute) > 16:
        raise UnsupportedSQL("GROUP BY more than 16 attributes is not supported")
    made = [_axis(attribute, members) for attribute, members in by_attribute.items()]
    places = {attribute: (i, made[i][1]) for i, attribute in enumerate(by_attribute)}
    size = prod(axis.size for axis, _ in made)
    if size > GROUPS:
        raise RangeTooLarge(f"GROUP BY makes {size:,} groups, more than {GROUPS:,}; group by fewer columns")
    groups = tuple(_group(c, *places[c.attribute]) for c in columns)
    return groups, tuple(axis for axis, _ in made), tuple(first for _, first in made)


def _axis(attribute: str, columns: list[SqlColumn]) -> tuple[GroupAxis, First]:
    """The partition of an attribute's levels that its columns make, and the first level of each part."""
    parts: dict[tuple[Any, ...], int] = {}
    first: list[int] = []
    parent = np.zeros(columns[0].size, dtype=np.intp)
    keys = zip(*[_part_keys(c) for c in columns], strict=True)
    for code, key in enumerate(keys):
        if key not in parts:
            parts[key] = len(parts)
            first.append(code)
        parent[code] = parts[key]
    return GroupAxis(attribute, parent, len(parts)), np.array(first, dtype=np.intp)


def _part_keys(column: SqlColumn) -> list[Any]:
    """What tells the levels apart: themselves, or the groups of a hierarchy."""
    return list(column.values if column.hierarchy is not None else column.parts)


def _nulls(column: SqlColumn) -> tuple[int, ...] | range:
    """Where a column's rows have no value at all: not where they have one that is not declared."""
    body = column.body
    if column.hierarchy is not None:
        return range(column.size)
    return (column.size - 1,) if body.missing else ()


def null_notes(columns: Sequence[SqlColumn]) -> list[str]:
    """What the group NULL is, where the schema has one."""
    empty = [c for c in columns if any(c.values[i] is None for i in _nulls(c))]
    worked = [c.hierarchy or "" for c in empty]
    named = [w[1:61] if w.startswith("=") else repr(c.name) for c, w in zip(empty, worked, strict=True)]
    return [f"NULL is the group of rows without a value of {' or '.join(named)}."] if named else []


def _group(column: SqlColumn, axis: int, first: First) -> GroupColumn:
    labels = column.values if column.hierarchy is not None else column.body.labels
    none = [value is None and code in _nulls(column) for code, value in enumerate(column.values)]
    picked = tuple(NULL if none[code] else str(labels[code]) for code in first.tolist())
    return GroupColumn(column.name, column.attribute, column.hierarchy, axis, picked, column.ranks[first])


def possible(axes: Sequence[GroupAxis], conditions: Sequence[Truth]) -> NDArray[np.bool_]:
    """The groups that conditions on their own attributes leave: the schema says that others are empty."""
    keep = np.ones([axis.size for axis in axes], dtype=np.bool_)
    for truth in (t for t in conditions if t.attributes):
        met = dict(zip(truth.attributes, np.nonzero(truth.true), strict=True))
        mine = [axis.attribute in met for axis in axes]
        if any(mine):
            known = list(zip(axes, mine, strict=True))
            parts = np.zeros([axis.size if there else 1 for axis, there in known], dtype=np.bool_)
            parts[tuple(axis.parent[met[axis.attribute]] if there else 0 for axis, there in known)] = True
            keep &= parts
    return keep.reshape(-1)
