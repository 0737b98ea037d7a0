"""Draft: a schema proposed from all rows of a file, with what the owner should know about it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hedgerow.curator.drafting.calendars import hours_beside
from hedgerow.curator.drafting.column import SeenColumn
from hedgerow.curator.drafting.glimpse import Glimpse
from hedgerow.curator.drafting.guess import guess
from hedgerow.curator.drafting.proposed import Guess
from hedgerow.curator.drafting.tails import HeldNumbers
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.domain.encoding import kind_of

if TYPE_CHECKING:
    from hedgerow.curator.rows.engine import Engine
    from hedgerow.queries.domain.attribute import Attribute

_NAMED = 0.9  # of the rows: a column that names fewer of them names nobody who could be protected
_NEARLY = 0.995  # of the rows: a column that holds one value in so many says next to nothing


@dataclass(frozen=True)
class Draft:
    """A schema guessed from rows, for the owner to correct and confirm.

    Args:
        domain: the proposed attributes; None when no column can be one.
        skipped: columns left out, each with the reason.
        keep: for some of them, the line of a schema that would keep them.
        notes: what to look at in proposed columns.
        unit: the column that names people, or seems to, and how many rows nearly all of them have; 0 where
            nobody has several.
        rows: how many rows were read.
        glimpses: PRIVATE, a few values of each column, if the owner asked to see them.
        numbers: PRIVATE, those of columns that have bins; what they tell the owner is words.
        csv: how the CSV file was read: encoding, delimiter and multiline.
    """

    domain: Domain | None
    skipped: dict[str, str]
    keep: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    unit: tuple[str, int] | None = None
    rows: int = 0
    glimpses: dict[str, Glimpse] = field(default_factory=dict, repr=False)
    numbers: dict[str, HeldNumbers] = field(default_factory=dict, repr=False)
    csv: dict[str, Any] = field(default_factory=dict)


def draft(engine: Engine, *, least: int = 20, unit: str | None = None, look: bool = False) -> Draft:
    """Guess a schema from all rows.

    Args:
        engine: a file.
        least: a value is proposed as a level only if so many rows carry it; rarer ones become `other`.
        unit: the column that names people, if the owner says so: it is no attribute.
        look: whether a few values of each column are wanted too.
    """
    schema = engine.schema()
    names = schema.names
    nested = [f.name for f in schema if kind_of(f.type) == "other"]
    once = [name for name in names if names.count(name) == 1 and name.strip() and name not in nested]
    columns = [SeenColumn(name) for name in once]
    for batch in engine.batches(once) if once else ():
        for column, array in zip(columns, batch.columns, strict=True):
            column.see(array)
    skipped = {n: "its name is empty or comes twice" for n in names if n not in once}
    skipped |= dict.fromkeys(nested, "its values are neither text, numbers, dates nor booleans")
    guesses = {c.name: guess(c, least) for c in columns}
    person = _person(columns, guesses) if unit is None else (unit, _rows_of_one(columns, unit))
    if unit is not None:
        guesses[unit] = Guess(
            None, f"it names people, and is no attribute: say --unit {shlex.quote(unit)} with --max-rows"
        )
    attributes = {n: g.attribute for n, g in guesses.items() if g.attribute is not None}
    attributes, notes = _with_hours(columns, attributes, names)
    skipped = {n: g.reason for n, g in guesses.items() if g.attribute is None} | skipped
    notes |= {n: g.reason for n, g in guesses.items() if n in attributes and g.reason}
    for found in (_single(attributes) | _constant(columns), _copies(columns)):
        for name, words in found.items():
            if name in attributes:
                notes[name] = f"{notes[name]}; {words}" if name in notes else words
    return Draft(
        Domain(attributes) if attributes else None,
        skipped,
        {n: g.keep for n, g in guesses.items() if g.keep},
        notes,
        person,
        max((c.rows for c in columns), default=0),
        {c.name: Glimpse.of(c, least) for c in columns if c.present} if look else {},
        {n: HeldNumbers(*g.numbers) for n, g in guesses.items() if g.numbers is not None},
    )


def _with_hours(
    columns: Sequence[SeenColumn], attributes: dict[str, Attribute], names: Sequence[str]
) -> tuple[dict[str, Attribute], dict[str, str]]:
    """The attributes with the hours of moments behind their days, and what to know of those."""
    seen, made, notes = {c.name: c for c in columns}, {}, {}
    for name, attribute in attributes.items():
        made[name] = attribute
        hours, called = hours_beside(seen[name], attribute), f"{name}_hour"
        if hours is not None and called not in names:
            made[called] = hours
            notes[called] = f"the hours of {name!r}, for HOUR({name}): leave it out if nobody asks for them"
    return made, notes


def _person(columns: Sequence[SeenColumn], guesses: dict[str, Guess]) -> tuple[str, int] | None:
    """The likely name of people: an identifier that comes back in other rows, and how often at most.

    So many rows as 95 of 100 people have at most.
    """
    for column in columns:
        values = column.values
        if not column.named_id or values is None or guesses[column.name].attribute is not None:
            continue
        if 1.02 * len(values) < column.said and column.said >= _NAMED * column.rows:
            return column.name, _rows_of_most(values)
    return None


def _rows_of_one(columns: Sequence[SeenColumn], unit: str) -> int:
    """The same of a column that the owner says names people; 0 if hardly anybody has several."""
    values = next((c.values for c in columns if c.name == unit), None)
    most = _rows_of_most(values) if values else 0
    return most if most > 1 else 0


def _rows_of_most(values: Mapping[str, int]) -> int:
    rows = sorted(values.values())
    return rows[min(len(rows) - 1, int(0.95 * len(rows)))]


def _single(attributes: Mapping[str, Attribute]) -> dict[str, str]:
    return {
        name: "it has a single level: all it says is who has it, and it may be left out"
        for name, a in attributes.items()
        if len(a.values) == 1
    }


def _constant(columns: Sequence[SeenColumn]) -> dict[str, str]:
    found = {}
    for column in columns:
        most = max((column.counts or {"": 0}).values(), default=0)
        if column.rows and max(most, column.missing) >= _NEARLY * column.rows:
            found[column.name] = "nearly all rows hold one value: it says little, and may be left out"
    return found


def _copies(columns: Sequence[SeenColumn]) -> dict[str, str]:
    first: dict[bytes, str] = {}
    found = {}
    for column in columns:
        twin = first.setdefault(column.content, column.name)
        if twin != column.name and column.present:
            found[column.name] = f"it is the same as {twin!r} in every row: one of them is enough"
    return found
