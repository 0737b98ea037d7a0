"""Lookups in SQL: rows joined with a public table by its unique key, and the public table alone.

A row meets one row of a lookup at most, and which one follows from a declared column: so a lookup's column is
an expression of that column, worked out on declared levels. What a person contributes stays what it was.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from hedgerow.errors import UnsupportedSQL
from hedgerow.queries.sql.node import bare, only
from hedgerow.queries.sql.predicate import Scope
from hedgerow.queries.sql.stages.levels import literal
from hedgerow.queries.sql.stages.relation import Output, Released, RowsOf

if TYPE_CHECKING:
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.domain.lookup import Lookup

NOT_JOINED = (
    "a join with rows is not supported, except with a lookup that the schema declares: group the rows first, "
    "and join what is released"
)
_BY_KEY = "rows are joined with a lookup by its key: {} JOIN {} ON column = {}"


def with_lookup(join: Any, rows: RowsOf, named: tuple[str, Lookup]) -> RowsOf:
    """Rows with the columns of a lookup beside them: JOIN keeps those that it knows, LEFT JOIN all."""
    name, lookup = named
    only(join, "this", "on", "using", "kind", "side", "method")
    kind, side = (str(join.args.get(k) or "").upper() for k in ("kind", "side"))
    if kind not in ("", "INNER", "OUTER") or side not in ("", "LEFT") or join.args.get("method"):
        raise UnsupportedSQL("rows are joined with a lookup by JOIN or LEFT JOIN, and by no other join")
    if name.casefold() in {n.casefold() for n in (*rows.names, *rows.beside)}:
        raise UnsupportedSQL(f"the name {name[:60]!r} stands twice in FROM; give one of them another")
    left = rows.meant(_left(join, name, lookup))
    found = {column.casefold(): _picked(left, lookup, lookup.column(column)) for column in lookup.columns}
    known = () if side else (_picked(left, lookup, (True,) * len(lookup.rows)),)
    shared = {(name.casefold(), column.name.casefold()) for column in join.args.get("using") or ()}
    return replace(
        rows,
        where=(*rows.where, *known),
        beside=rows.beside | {name.casefold(): found},
        shared=rows.shared | shared,
    )


def _left(join: Any, name: str, lookup: Lookup) -> exp.Column:
    """The column of the rows that meets the key."""
    refusal = UnsupportedSQL(_BY_KEY.format("...", name[:60], f"{name[:60]}.{lookup.key[:60]}"))
    using: list[Any] = join.args.get("using") or []
    on: Any = None if join.args.get("on") is None else bare(join.args["on"])
    if len(using) == 1 and on is None and using[0].name.casefold() == lookup.key.casefold():
        return exp.Column(this=exp.to_identifier(using[0].name, quoted=True))
    if type(on) is not exp.EQ or using:
        raise refusal
    sides: list[Any] = [bare(on.this), bare(on.expression)]
    keys = [type(s) is exp.Column and s.name.casefold() == lookup.key.casefold() for s in sides]
    mine = [k and s.table.casefold() == name.casefold() for k, s in zip(keys, sides, strict=True)]
    if mine.count(True) != 1:
        mine = [k and not s.table for k, s in zip(keys, sides, strict=True)]
    other = sides[1 if mine[0] else 0]
    if mine.count(True) != 1 or not isinstance(other, exp.Column):
        raise refusal
    return other


def _picked(left: exp.Expr, lookup: Lookup, values: tuple[Any, ...]) -> exp.Expr:
    """A column of the lookup as an expression of the rows' own: CASE left WHEN key THEN value ... END."""
    by: dict[Any, list[Any]] = {}
    for key, value in zip(lookup.column(lookup.key), values, strict=True):
        if value is not None:
            by.setdefault(value, []).append(key)
    if not by:
        return exp.Null()
    meets = [exp.In(this=left.copy(), expressions=[literal(k) for k in keys]) for keys in by.values()]
    return exp.Case(ifs=[exp.If(this=m, true=literal(v)) for m, v in zip(meets, by, strict=True)])


def as_released(lookup: Lookup) -> Released:
    """The public table itself: nothing in it depends on rows."""
    from hedgerow.queries.sql.stages.expression import Expressions

    printed = Expressions()
    rows = [", ".join(printed.term(literal(v)).text for v in row) for row in lookup.rows]
    names = ", ".join(f"c{i}" for i in range(len(lookup.columns)))
    values = ", ".join(f"({row})" for row in rows)
    nothing = ", ".join("NULL" for _ in lookup.columns)
    text = (
        f"SELECT {names} FROM (VALUES {values}) AS v({names})"
        if rows
        else f"SELECT {names} FROM (VALUES ({nothing})) AS v({names}) WHERE false"
    )
    columns = tuple(Output(name, sure=True, bounded=False) for name in lookup.columns)
    return Released(text, columns, steady=True, single=len(rows) <= 1)


def declared(domain: Domain, left: exp.Expr, found: list[exp.Expr]) -> list[exp.Expr]:
    """Those of some values that a column can have: of others no row has one."""
    if type(left) is not exp.Column:
        return found
    column = Scope(domain).column(left)
    levels = {v for v in column.values if isinstance(v, str)}
    closed = column.kind == "text" and not column.body.other
    return [v for v in found if not closed or not v.args.get("is_string") or v.this in levels]
