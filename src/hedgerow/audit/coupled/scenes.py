"""Made-up tables and their neighbours, with extremes first: what known mistakes fall to, then anything.

Nobody's rows are read here. A table is a list of units, each a list of rows of raw values, in some order of
the file; values lie inside the declared domain, at the ends of bins, outside the domain, or are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from math import inf, nextafter
from random import Random
from typing import Any, Literal

from hedgerow.curator.rows.table import Table
from hedgerow.queries.domain.attribute import Attribute
from hedgerow.queries.domain.bins import Bins
from hedgerow.queries.domain.domain import Domain, OpenDomain

Relation = Literal["add_remove", "replace"]
Row = tuple[Any, ...]
UnitRows = tuple[int, tuple[Row, ...]]
Source = Callable[[Any], Any]
"""Takes an Arrow table, and gives what `Table.open` takes."""

_NAMES = ("oak", "ash", "elm", "yew", "", "Oak ", "\u00e9rable")


@dataclass(frozen=True)
class Scene:
    """One made-up table: who has which rows, whom its curator protects, and in which order the rows lie."""

    domain: Domain | OpenDomain
    units: tuple[UnitRows, ...]
    relation: Relation
    max_rows: int
    named: bool = True  # whether rows name their units; if not, every unit is a row
    shuffle: int = 0

    def table(self, source: Source = lambda rows: rows) -> Table:
        """The table that a curator guards.

        Args:
            source: puts the rows where an engine reads them, and says where that is.
        """
        import pyarrow as pa

        rows = [(who, row) for who, mine in self.units for row in mine]
        if self.shuffle:
            Random(self.shuffle).shuffle(rows)
        columns: dict[str, Any] = {}
        if isinstance(self.domain, OpenDomain):
            columns[self.domain.column] = pa.array([row[0] for _, row in rows], pa.string())
        else:
            for i, (name, attribute) in enumerate(self.domain.items()):
                columns[name] = pa.array([row[i] for _, row in rows], _type(attribute))
        if not self.named:
            return Table.open(source(pa.table(columns)), self.domain)
        columns["person"] = pa.array([who for who, _ in rows], pa.int64())
        return Table.open(source(pa.table(columns)), self.domain, unit="person", max_rows=self.max_rows)


def scenes(
    domain: Domain | OpenDomain, relation: Relation, max_rows: int, *, named: bool = True, seed: int = 0
) -> Iterator[tuple[Scene, Iterator[Scene]]]:
    """Tables without end, each with its neighbours: extremes first, then at random."""
    random = Random(f"{relation} {max_rows} {named} {seed}")
    cast = _Cast(domain, max_rows if named else 1, named, random)

    def scene(units: Sequence[UnitRows]) -> Scene:
        return Scene(domain, tuple(units), relation, max_rows, named)

    fixed = [[], [cast.equal(1)], [cast.unit(i) for i in range(1, 7)], [cast.equal(i) for i in range(1, 5)]]
    for base in fixed:
        if base or relation == "add_remove":
            yield scene(base), cast.neighbours(scene(base))
    while True:
        base = [cast.unit(i) for i in range(1, random.choice((2, 3, 9, 30)))]
        yield scene(base), cast.neighbours(scene(base))


class _Cast:
    """Whoever may be in a table: units with a few rows, with equal rows, with far too many."""

    def __init__(self, domain: Domain | OpenDomain, rows: int, named: bool, random: Random) -> None:
        self.rows, self.named, self.random = rows, named, random
        if isinstance(domain, OpenDomain):
            self.columns: list[list[Any]] = [[*_NAMES, None]]
        else:
            self.columns = [extremes(attribute) for attribute in domain.values()]

    def row(self) -> Row:
        return tuple(self.random.choice(values) for values in self.columns)

    def unit(self, who: int) -> UnitRows:
        most = 4 * self.rows if self.named and self.random.random() < 0.4 else self.rows
        return who, tuple(self.row() for _ in range(self.random.randint(1, most)))

    def equal(self, who: int) -> UnitRows:
        return who, (self.row(),) * self.rows

    def corner(self, who: int, end: int) -> UnitRows:
        return who, (tuple(values[end] for values in self.columns),) * self.rows

    def crowd(self, who: int) -> UnitRows:
        """One unit with ten times as many rows as count."""
        return who, tuple(self.row() for _ in range(10 * self.rows if self.named else 1))

    def others(self, who: int) -> list[UnitRows]:
        made = [self.corner(who, 0), self.corner(who, -1), self.equal(who), self.crowd(who), self.unit(who)]
        return [*made, (who, (self.row(),))]

    def neighbours(self, base: Scene) -> Iterator[Scene]:
        """Tables that differ in one unit, some in another order of the file as well."""
        units, new = list(base.units), len(base.units) + 1
        changed: list[list[UnitRows]] = []
        if base.relation == "add_remove":
            for one in self.others(new):
                place = self.random.randint(0, len(units))
                changed.append([*units[:place], one, *units[place:]])
            changed += [units[:i] + units[i + 1 :] for i in range(len(units))]
        else:
            for i in self.random.sample(range(len(units)), min(3, len(units))):
                who = self.random.choice((units[i][0], new))
                changed += [[*units[:i], other, *units[i + 1 :]] for other in self.others(who)]
        for number, some in enumerate(changed):
            yield Scene(base.domain, tuple(some), base.relation, base.max_rows, base.named, number % 3)


def extremes(attribute: Attribute) -> list[Any]:
    """Raw values of a column: declared ones, ends of bins and just beside them, what is outside, none."""
    if isinstance(attribute, Bins) and not isinstance(attribute.values[0], date):
        edges = [float(e) for e in attribute.edge_array]
        beside = [nextafter(e, way) for e in (edges[0], edges[-1]) for way in (-inf, inf)]
        if attribute.stepped:  # the last values of bins
            beside += [float(attribute.lattice.step * int(k)) for k in attribute.lattice.high[:3]]
        return [edges[0], *edges[1:4], *beside, -1e9, None, float("nan"), 1e9, edges[-1]]
    values = list(attribute.examples)[:6]
    outside = {str: "no such level", int: 10**6}.get(type(values[0]))
    return [values[0], *values[1:], outside, None, values[-1]]


def _type(attribute: Attribute) -> Any:
    import pyarrow as pa

    first = attribute.examples[0]
    if isinstance(attribute, Bins) and not isinstance(first, date):
        return pa.float64()
    return {str: pa.string(), bool: pa.bool_(), int: pa.int64(), date: pa.date32()}.get(
        type(first), pa.float64()
    )
