"""Inspecting: what an owner learns of private rows while a schema is made; none of it is public."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hedgerow.curator.drafting.guess import EMPTY
from hedgerow.curator.drafting.inspector import Inspector
from hedgerow.curator.drafting.named import MOST_LEVELS
from hedgerow.curator.rows.csv_file import CsvFile
from hedgerow.curator.rows.csv_rows import unread_words
from hedgerow.curator.rows.star import StarEngine
from hedgerow.curator.rows.table import Table
from hedgerow.errors import DomainMismatch, LinesInDoubt, SourceError
from hedgerow.service.foretold import stretched

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from hedgerow.curator.drafting.draft import Draft
    from hedgerow.curator.drafting.inspector import Inspection
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.domain.joined import JoinedTable
    from hedgerow.service.dataset import Step

__all__ = ["fit", "misfits", "owner_notes", "propose", "unit_words", "unread_words"]

_WORDS = "Reading PRIVATE rows"


def propose(
    data: Path,
    least: int,
    reading: dict[str, Any],
    step: Step,
    tell: Callable[[str], Any],
    unit: str | None = None,
    look: bool = False,
) -> Draft:
    """A schema read off private rows.

    Args:
        data: a CSV or Parquet file.
        least: a value is a level only if so many rows carry it.
        reading: encoding, delimiter and multiline of a CSV file.
        step: told how far it is.
        tell: told what the owner should know of the file.
        unit: the column that names people, which is no attribute.
        look: whether a few values of each column are wanted too, for the owner's eyes.
    """
    inspector, reading = _opened(data, reading, step, tell)
    found = inspector.propose(least=least, unit=unit, look=look)
    if words := unread_words(inspector.reading):
        alone = len(found.skipped) + len(found.domain or ()) == 1
        tell(f"{words}; its header has one name: is the --delimiter another?" if alone else words)
    unreadable = [(name, why) for name, why in found.skipped.items() if why != EMPTY]
    if found.domain is None and unreadable and not found.rows:
        name, why = unreadable[0]
        raise DomainMismatch(f"no column of the data can be an attribute: of {name!r}, {why}")
    if found.domain is None and found.rows < least:
        raise DomainMismatch(
            f"the data has {found.rows} row{'s' * (found.rows != 1)}, too few to propose a schema from: a "
            f"value is a level if {least} rows carry it; say a smaller --least, or write the schema by hand"
        )
    if found.domain is None:
        read = inspector.reading
        if read is not None and read.unread >= found.rows:  # more cells than names in every line
            raise DomainMismatch(
                "no column of the data can be an attribute: nearly every line has other cells than the first "
                "line has names; if that is a title or a remark, take it out"
            )
        raise DomainMismatch(
            "no column of the data can be an attribute: none holds dates, numbers, or up to "
            f"{MOST_LEVELS} values that {least} or more rows share; say a smaller --least, or write the "
            "schema by hand"
        )
    notes = dict(found.notes)
    for name, words in stretched(found).items():
        notes[name] = f"{notes[name]}; {words}" if name in notes else words
    return replace(found, notes=notes, csv=reading)


def _opened(
    data: Path, reading: dict[str, Any], step: Step, tell: Callable[[str], Any]
) -> tuple[Inspector, dict[str, Any]]:
    """The file, and how it is read: one whose lines leave rows in doubt by RFC 4180, if all of it follows it.

    That is proposed to the owner, as levels are: whether it is right depends on what wrote the file. Where
    backslashes stand before quotes, it may be a writer that does not double them, and nothing is proposed.
    """

    def look(part: float | None) -> None:
        step(_WORDS, part)

    try:
        return Inspector(data, **reading, watch=look), reading
    except LinesInDoubt as doubt:
        standard = reading | {"multiline": True}
        try:
            inspector = Inspector(data, **standard, watch=look)
            escapes = CsvFile.open(data, **standard).escapes()
        except SourceError:
            raise doubt from None
        if escapes:
            raise
        read = inspector.reading
        assert read is not None
        tell(
            f"PRIVATE, for the owner: {_reason(doubt)}; all of the file follows RFC 4180, where quoted cells "
            f"may hold line breaks ({read.rows:,} rows in {read.lines:,} lines), so the draft reads it that "
            "way and says `multiline: true`; confirm it if what wrote the file puts such cells into quotes "
            "and doubles the quotes in them, as spreadsheets and pandas do"
        )
        return inspector, standard


def _reason(doubt: LinesInDoubt) -> str:
    """What is in doubt, without what to do about it."""
    return str(doubt).partition(": ")[0]


def fit(
    domain: Domain,
    data: Path,
    unit: str | None,
    reading: dict[str, Any],
    step: Step,
    tables: Sequence[JoinedTable] = (),
) -> Inspection:
    """Exact counts of what does not fit a schema, for the owner's eyes.

    Args:
        domain: what the schema declares.
        data, reading, step: as in `propose`.
        unit: the column that names people, which must be there.
        tables: what the schema joins to the data: its columns are checked with theirs.
    """
    if unit is not None and unit in (*domain.names, *domain.columns):
        raise DomainMismatch(
            f"{unit!r} names people and is an attribute too: whoever may ask about it may ask about one "
            "person; take it out of the schema"
        )
    rows_of_each = None if unit is None else 1
    if tables:
        star = StarEngine(data, unit, list(tables), **reading)
        Table.open(star, domain, unit=unit, max_rows=rows_of_each)
        step(_WORDS, None)
        return Inspector.joined(star).fit(domain)
    Table.open(data, domain, unit=unit, max_rows=rows_of_each, **reading)  # columns and types
    step(_WORDS, None)
    return Inspector(data, **reading, watch=lambda part: step(_WORDS, part)).fit(domain)


def owner_notes(found: Draft, out: Path) -> str:
    """All that was noticed while a schema was drafted: PRIVATE, for the owner's own file."""
    said = [
        f"# PRIVATE, for the owner of the data alone: what `hedgerow schema infer` noticed for {out.name}."
    ]
    said.append(f"# {found.rows:,} rows were read.")
    if found.unit is not None:
        said.append(f"# {unit_words(found)}.")
    for name, why in found.skipped.items():
        said += ["", f"# left out {name!r}: {why}."]
        if name in found.keep:
            said += ["# To keep it, write below `attributes:`", f"  {found.keep[name]}"]
    for name, what in found.notes.items():
        said += ["", f"# look at {name!r}: {what}."]
    return "\n".join(said) + "\n"


def unit_words(found: Draft) -> str:
    """How to protect people where a column seems to name them."""
    assert found.unit is not None
    name, rows = found.unit
    if not rows:
        return f"{name!r} names people, and is no attribute"
    return (
        f"{name!r} seems to name people who have several rows: protect them and not rows, with "
        f"`--unit {shlex.quote(name)} --max-rows {rows}` (95 of 100 have at most so many)"
    )


def misfits(found: Inspection | None) -> list[str]:
    """The attributes that most values of their columns fall outside of."""
    return [] if found is None else [f.name for f in found.fits if 2 * f.outside > found.rows - f.missing]
