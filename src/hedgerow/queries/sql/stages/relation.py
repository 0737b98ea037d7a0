"""Relations of a statement: rows, which are never shown, and released tables, which the engine works on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from hedgerow.errors import UnknownColumn, UnsupportedSQL
from hedgerow.queries.sql.near import near
from hedgerow.queries.sql.node import only
from hedgerow.queries.sql.stages.term import Term


@dataclass(frozen=True)
class Output:
    """One column of a released relation: its name for the analyst, and what is known of it.

    Args:
        name: what the analyst calls it; its own name is c0, c1, ... by its place.
        sure: whether it depends on no released number.
        bounded: whether columns c0_low and c0_high say between which numbers the truth lies.
        parts: over how many events the union bound goes, where a row is worked out from one released row.
        smooth: whether it moves smoothly with released numbers.
        outer: else what is made, step by step, of what does; a column c0_core holds that.
        merged: whether it depends on which of the rows are there at all.
        span: between which two numbers it lies whatever was released; None if that is not known.
    """

    name: str
    sure: bool
    bounded: bool
    parts: int = 1
    smooth: bool = False
    outer: tuple[str, ...] = ()
    merged: bool = False
    span: tuple[float, float] | None = None


THERE = "there"
LOST = "lost"


@dataclass(frozen=True)
class Released:
    """A relation of released numbers, as a printed SELECT.

    Args:
        text: the SELECT.
        columns: its columns, without those for bounds.
        steady: whether the same rows would be there if the released numbers were the true ones.
        single: whether it surely has one row at most.
        local: whether each row is worked out from one row of one released table, and all are there.
        merged: whether a number is an average, or the like, of groups: one without rows would be none in SQL.
        there: a column that says of each row whether SQL surely has it too, as the group has rows; empty if
            it has all, `LOST` if that is not known.
    """

    text: str
    columns: tuple[Output, ...]
    steady: bool
    single: bool
    local: bool = False
    merged: bool = False
    there: str = ""

    @property
    def places(self) -> list[int]:
        """Where each column is in the engine's rows, which have others beside some."""
        out, at = [], 0
        for column in self.columns:
            out.append(at)
            at += 1 + 2 * column.bounded + bool(column.outer)
        return out


@dataclass(frozen=True)
class RowsOf:
    """Rows of the private table that meet conditions, with some columns: what no statement may show.

    Args:
        where: conditions, on the table's own columns.
        columns: expressions of the table's own columns by name; None for the table itself.
        names: what it is called.
        beside: the columns of public lookups that are joined, by their names, in the table's own columns.
        shared: columns of lookups that a join made one with the rows' own.
        own: the names of the table's own columns.
    """

    where: tuple[exp.Expr, ...]
    columns: dict[str, exp.Expr] | None
    names: tuple[str, ...]
    beside: dict[str, dict[str, exp.Expr]] = field(default_factory=dict)
    shared: frozenset[tuple[str, str]] = frozenset()
    own: tuple[str, ...] = ()

    def meant(self, node: Any) -> exp.Expr:
        """What a name means, in the table's own columns."""
        only(node, "this", "table")
        table = node.args.get("table")
        mine = table is None or table.name.casefold() in {n.casefold() for n in self.names}
        if (
            public := self._public(node.name.casefold(), None if table is None else table.name.casefold())
        ) is not None:
            return exp.Paren(this=public.copy())
        if self.columns is None:
            return exp.Column(this=node.this.copy(), table=None if mine else table.copy())
        found = self.columns.get(node.name.casefold()) if mine else None
        if found is None:
            raise UnknownColumn(
                f"there is no column {node.name[:60]!r} here; {near(node.name, self.columns)}"
            )
        return exp.Paren(this=found.copy()) if type(found) is not exp.Column else found.copy()

    @property
    def public(self) -> dict[str, exp.Expr]:
        """The columns of all lookups."""
        return {name: column for held in self.beside.values() for name, column in held.items()}

    def _public(self, name: str, table: str | None) -> exp.Expr | None:
        """A column of a lookup; None if the name is no such."""
        if table is not None:
            if table in self.beside and name not in self.beside[table]:
                raise UnknownColumn(
                    f"there is no column {name[:60]!r} in {table!r}; {near(name, self.beside[table])}"
                )
            return self.beside.get(table, {}).get(name)
        hits = [
            (t, held[name])
            for t, held in self.beside.items()
            if name in held and (t, name) not in self.shared
        ]
        own = {n.casefold() for n in self.own} if self.columns is None else self.columns.keys()
        if hits and (len(hits) > 1 or name in own):
            raise UnknownColumn(f"the name {name[:60]!r} is ambiguous; qualify it")
        return hits[0][1] if hits else None


@dataclass
class Sources:
    """The released relations in FROM, and what a name means among them."""

    found: list[tuple[str, str, Released]] = field(default_factory=list)
    hidden: set[tuple[str, int]] = field(default_factory=set)

    def add(self, name: str, alias: str, relation: Released) -> None:
        """A relation under the analyst's name and our own."""
        if any(name.casefold() == other.casefold() for other, _, _ in self.found):
            raise UnsupportedSQL(f"the name {name[:60]!r} stands twice in FROM; give one of them another")
        self.found.append((name, alias, relation))

    @property
    def merged(self) -> bool:
        """Whether one of them is."""
        return any(relation.merged for _, _, relation in self.found)

    @property
    def steady(self) -> bool:
        """Whether all of them are."""
        return all(relation.steady for _, _, relation in self.found)

    @property
    def there(self) -> str:
        """Whether a row of them surely is one in SQL, as a condition; empty if all are, `LOST` if unknown."""
        held = [(alias, relation.there) for _, alias, relation in self.found if relation.there]
        if any(there == LOST for _, there in held):
            return LOST
        return " AND ".join(f"coalesce({alias}.{there}, FALSE)" for alias, there in held)

    def column(self, name: str, table: str | None) -> Term:
        """What a name means."""
        hits = [
            (alias, i, out)
            for owner, alias, relation in self.found
            if table is None or table.casefold() == owner.casefold()
            for i, out in enumerate(relation.columns)
            if out.name.casefold() == name.casefold() and (table is not None or (alias, i) not in self.hidden)
        ]
        if not hits:
            names = [out.name for _, _, relation in self.found for out in relation.columns]
            raise UnknownColumn(f"there is no column {name[:60]!r} here; {near(name, names)}")
        if len(hits) > 1:
            raise UnknownColumn(f"the name {name[:60]!r} is ambiguous; qualify it")
        return _term(*hits[0])

    def all(self, table: str | None = None) -> Iterator[tuple[str, Term]]:
        """Every column, or those of one relation."""
        for owner, alias, relation in self.found:
            if table is None or table.casefold() == owner.casefold():
                for i, out in enumerate(relation.columns):
                    if table is not None or (alias, i) not in self.hidden:
                        yield out.name, _term(alias, i, out)


def _term(alias: str, place: int, out: Output) -> Term:
    text = f"{alias}.c{place}"
    if out.sure:
        return Term(text)
    if not out.bounded:
        return Term(text, sure=False)
    core = f"{text}_core" if out.outer else None
    ends = f"{text}_low", f"{text}_high"
    return Term(text, *ends, sure=False, smooth=out.smooth, core=core, outer=out.outer, span=out.span)


def listed(items: Sequence[tuple[str, Term]]) -> tuple[str, tuple[Output, ...]]:
    """The list of a SELECT, and its columns."""
    texts, columns = [], []
    for i, (name, term) in enumerate(items):
        texts.append(f"{term.text} AS c{i}")
        bounded = not term.sure and term.bounds is not None
        if bounded:
            texts += [f"{term.low} AS c{i}_low", f"{term.high} AS c{i}_high"]
        outer = term.outer if bounded and term.core is not None else ()
        texts += [f"{term.core} AS c{i}_core"] if outer else []
        smooth = bounded and term.smooth
        columns.append(Output(name, term.sure, bounded, term.parts, smooth, outer, term.merged, term.span))
    return ", ".join(texts), tuple(columns)


def aligned(relation: Released, bounded: Sequence[bool], sure: Sequence[bool], there: str) -> str:
    """The same with bounds where they are asked for, and whether rows are there; of what is sure, itself."""
    texts = []
    for i, out in enumerate(relation.columns):
        texts.append(f"c{i}")
        if bounded[i] and not sure[i]:
            ends = (f"c{i}_low", f"c{i}_high") if out.bounded else (f"c{i}", f"c{i}")
            texts += [f"{ends[0]} AS c{i}_low", f"{ends[1]} AS c{i}_high"]
    texts += [f"{relation.there or 'TRUE'} AS {there}"] if there == THERE else []
    return f"SELECT {', '.join(texts)} FROM ({relation.text}) AS u"


def of_both(left: Released, right: Released, *, keeps: bool) -> str:
    """Which rows of two relations are there (`Released`), if all of them are kept."""
    both = {left.there, right.there} - {""}
    return "" if not both else THERE if keeps and LOST not in both else LOST
