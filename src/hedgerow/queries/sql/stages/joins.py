"""Joins with the tables of a star schema: such a statement is the plain one over the joined columns.

The room has joined them already, on the keys that the schema declares (docs/tables.md). A statement that says
the same once more is written without it, and compiled as if it had never been there; one that says anything
else is refused, for its rows could depend on several people.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from hedgerow.errors import HedgerowError, UnsupportedSQL
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.sql.node import bare, only
from hedgerow.queries.sql.printing import printed
from hedgerow.queries.sql.stages.gate import parse_unbound

if TYPE_CHECKING:
    from hedgerow.queries.domain.joined import JoinedTable

_KEPT = "JOIN {0} counts rows that have no row in {0} too, with its columns missing, as LEFT JOIN does."


def without_joins(domain: Domain, text: str) -> tuple[str, tuple[str, ...]]:
    """The plain statement that a text means, and what its reader must know; the text where it is plain.

    >>> from hedgerow.queries.domain.domain import Domain
    >>> domain = Domain({"sex": ["F", "M"]}, tables={"people": {"key": "id", "column": "person"}})
    >>> without_joins(domain, "SELECT p.sex FROM visits v LEFT JOIN people p ON v.person = p.id")
    ('SELECT sex FROM visits AS v', ())
    """
    try:
        tree = parse_unbound(text)
    except HedgerowError:  # whoever compiles it says what is wrong
        return text, ()
    released = {cte.alias.casefold() for cte in tree.find_all(exp.CTE)}
    declared = {name.casefold(): t for name, t in domain.tables.items() if name.casefold() not in released}
    found = [
        _Joined(select, declared, released, {name.casefold() for name in domain.lookups})
        for select in tree.find_all(exp.Select)
        if any(_name(source) in declared for source in _sources(select))
    ]
    for one in found:
        one.rewrite()
    if not found:
        return text, ()
    return printed(tree), tuple(dict.fromkeys(note for one in found for note in one.notes))


class _Joined:
    """One SELECT from facts and tables beside them."""

    def __init__(
        self, select: exp.Select, declared: Mapping[str, JoinedTable], released: set[str], lookups: set[str]
    ) -> None:
        self.select, self.declared, self.released, self.lookups = select, declared, released, lookups
        self.notes: list[str] = []
        self.keys: dict[str, exp.Column | None] = {}
        self.beside: dict[str, JoinedTable] = {}

    def rewrite(self) -> None:
        """Take the joins away, and the names of their tables from the columns."""
        self._turn()
        first = self.select.args["from_"].this
        self.facts = _called(first)
        rest = []
        for join in self.select.args.get("joins") or []:
            if (name := _name(join.this)) in self.declared:
                self._join(join, self.declared[name])
            elif name in self.lookups:
                rest.append(join)
            else:
                raise UnsupportedSQL(
                    "rows are joined with tables that the schema declares, and with nothing else: what other "
                    "statements give is joined after rows are grouped"
                )
        self.select.set("joins", rest)
        for column in list(self.select.find_all(exp.Column)):
            if column.parent_select is self.select and column.table.casefold() in self.beside:
                self._plain(column)

    def _turn(self) -> None:
        """Let the facts stand first: JOIN is the same either way."""
        clause, joins = self.select.args["from_"], self.select.args.get("joins") or []
        first = _name(clause.this)
        if first not in self.declared:
            if first in self.lookups or first in self.released or not first:
                raise UnsupportedSQL("a declared table is joined to the facts: ask FROM them, and JOIN it")
            return
        table = self.declared[first]
        free = [j for j in joins if _name(j.this) not in (*self.declared, *self.lookups, *self.released, "")]
        if len(free) != 1 or free[0] is not joins[0] or joins[0].args.get("side"):
            raise UnsupportedSQL(
                f"the rows that are counted are facts, and {table.name[:60]!r} is joined to them: ask "
                f"FROM the facts, JOIN {table.name[:60]}"
            )
        ours, theirs = clause.this, joins[0].this
        clause.set("this", theirs)
        joins[0].set("this", ours)

    def _join(self, join: exp.Join, table: JoinedTable) -> None:
        only(join, "this", "on", "using", "kind", "side", "method")
        kind, side = (str(join.args.get(k) or "").upper() for k in ("kind", "side"))
        if kind not in ("", "INNER", "OUTER") or side not in ("", "LEFT") or join.args.get("method"):
            raise UnsupportedSQL(
                f"{table.name[:60]!r} is joined by JOIN or LEFT JOIN, and by no other join: the rows that "
                "are counted are those of the facts"
            )
        called = _called(join.this)
        if table in self.beside.values() or called.casefold() in (*self.beside, self.facts.casefold()):
            raise UnsupportedSQL(
                f"{table.name[:60]!r} is joined twice, or its name stands for two; a table is joined once"
            )
        if not self._by_key(join, called, table):
            raise UnsupportedSQL(
                f"{table.name[:60]!r} is joined on its declared key and on nothing else: JOIN "
                f"{table.name[:60]} ON {self.facts[:60]}.{table.on[:60]} = {called[:60]}.{table.key[:60]}; "
                "by another, one person's row could stand beside those of others"
            )
        self.beside[called.casefold()] = table
        column = exp.column(exp.to_identifier(table.on, quoted=True))
        self.keys[called.casefold()] = None if side else column
        if not side:
            self.notes.append(_KEPT.format(table.name[:60]))

    def _by_key(self, join: exp.Join, called: str, table: JoinedTable) -> bool:
        """Whether a join is on the declared key: ON facts.column = table.key, or USING where they are one."""
        using: list[Any] = join.args.get("using") or []
        on: Any = None if join.args.get("on") is None else bare(join.args["on"])
        if using:
            same = table.key.casefold() == table.on.casefold()
            return (
                on is None and len(using) == 1 and same and using[0].name.casefold() == table.key.casefold()
            )
        if type(on) is not exp.EQ:
            return False
        sides: list[Any] = [bare(on.this), bare(on.expression)]
        wanted = [(self.facts.casefold(), table.on.casefold()), (called.casefold(), table.key.casefold())]
        apart = wanted[0][1] != wanted[1][1]  # names that tell them apart need no table before them

        def is_(side: Any, owner: str, name: str) -> bool:
            if type(side) is not exp.Column or side.name.casefold() != name:
                return False
            return side.table.casefold() == owner or (apart and not side.table)

        return any(
            all(is_(s, *w) for s, w in zip(order, wanted, strict=True)) for order in (sides, sides[::-1])
        )

    def _plain(self, column: exp.Column) -> None:
        """The column without its table; the key of a joined table is the facts' column."""
        owner = column.table.casefold()
        table, key = self.beside[owner], self.keys[owner]
        if column.name.casefold() != table.key.casefold():
            column.set("table", None)
        elif key is not None:
            column.replace(key.copy())
        else:
            raise UnsupportedSQL(
                f"{column.table[:60]}.{column.name[:60]} is missing where {table.name[:60]!r} has no row, "
                f"which is not known apart: ask for {self.facts[:60]}.{table.on[:60]}"
            )


def _sources(select: exp.Select) -> list[Any]:
    clause = select.args.get("from_")
    joins = select.args.get("joins") or []
    return [*([] if clause is None else [clause.this]), *(join.this for join in joins)]


def _name(source: Any) -> str:
    """The name of a table in FROM; nothing where there is something else."""
    plain = type(source) is exp.Table and type(source.this) is exp.Identifier and not source.args.get("db")
    return source.name.casefold() if plain else ""


def _called(source: Any) -> str:
    """What a table goes by in its statement."""
    only(source, "this", "alias")
    if (named := source.args.get("alias")) is not None:
        only(named, "this")  # p(a, b) would name its columns otherwise
    return str(source.alias or source.name)
