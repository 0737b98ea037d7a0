"""Announcing: blocks of growing data as lines, each with the units that it had as its secret state.

Why blocks are only appended, and what ends their being charged side by side, is in docs/privacy/growing.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, Any

from hedgerow.errors import LedgerError
from hedgerow.privacy.ledger.entry import OWNER, YEARS, Account, Entry, named

if TYPE_CHECKING:
    from hedgerow.privacy.ledger.book import Book
    from hedgerow.privacy.ledger.store import Store

BLOCKS = "hedgerow: blocks"
"""The run of the lines that tell of blocks."""


@dataclass(frozen=True)
class RowBlock:
    """A block of rows as its line announces it.

    Args:
        number: 1, 2, ... in the order of arrival.
        name: the day, or the name of the file.
        by: "day" or "file".
        year: in which it arrived.
        line: the number of its line.
        state: secret: what the curator wants back, the units that it saw among it.
    """

    number: int
    name: str
    by: str
    year: int
    line: int = -1
    state: bytes | None = field(default=None, repr=False, compare=False)

    @classmethod
    def read(cls, entry: Entry) -> RowBlock:
        """From its line."""
        told = entry.details
        return cls(told["number"], told["name"], told["by"], told["year"], entry.seq, entry.state)

    def cell(self, growing: str | None) -> int:
        """What it is charged as: itself, or its year."""
        return self.year if growing == "yearly" else self.number

    def after(
        self, before: RowBlock | None, names: set[str], years: set[int], most: int | None
    ) -> str | None:
        """Why it may not follow the blocks that are there, or None."""
        if self.number != (before.number if before else 0) + 1:
            return "blocks are appended at the end, one after the other"
        if self.name in names:
            return f"there is a block {self.name!r} already, and blocks are never changed"
        if self.by not in ("day", "file") or (self.by == "day" and not is_day(self.name)):
            return f"a block is named by a file, or by a day such as 2026-03-31, not {self.name!r}"
        if before and self.by == before.by == "day" and self.name < before.name:
            return self.late(before.name)
        if before and self.year < before.year:
            return f"blocks of the year {before.year} are there already, and years only grow"
        if most is not None and len(years | {self.year}) > most:
            return f"the promise was declared for rows of {most} years, and this would be one more"
        return None

    def late(self, newest: str) -> str | None:
        """Why a block of a day may not follow one of a later day, or None."""
        if self.by != "day" or self.name >= newest:
            return None
        return (
            f"the block of {newest} is there already: rows that come late belong to the "
            "block of the day on which they come"
        )


class Announcing:
    """The part of a transaction that speaks of blocks."""

    _book: Book
    _store: Store
    _time: str

    def announce(self, name: str, by: str, state: bytes, expected: int) -> Entry:
        """Announce the next block, with what it saw as secret state; immutable from here on.

        Args:
            name, by: the day or the file.
            state: which units it saw.
            expected: its number, as whoever decided about its rows had counted.
        """
        made = self._book.made
        if made.growing is None:
            raise LedgerError("The ledger was not made for growing data.")
        there = [RowBlock.read(e) for e in map(Entry.read, self._store.lines(BLOCKS)) if e.kind == "block"]
        year = int(name[:4]) if by == "day" and is_day(name) else int(self._time[:4])
        block = RowBlock(expected, named("block's name", name), by, year)
        names, years = {b.name for b in there}, {b.year for b in there}
        why = block.after(there[-1] if there else None, names, years, self._book.years())
        if why := why or block.late(max((b.name for b in there if b.by == "day"), default="")):
            raise LedgerError(f"{why[:1].upper()}{why[1:]}.")
        owner = self._book.account(OWNER)
        if owner.profile is not None:
            profile = owner.profile.grown(block.cell(made.growing))
            owner = replace(owner, profile=profile, spent=profile.most())
        told = {"number": block.number, "name": name, "by": by, "year": year}
        words, asker = f"Block {block.number} ({name}) was appended.", _ASKER
        return self._write("block", owner, details=told, words=words, state=state, asker=asker)

    def raise_years(self, years: int, reason: str) -> Entry:
        """Declare that rows of more years may come: the promise of a lifetime is the larger one from here on.

        Args:
            years: how many years of arrival, more than before.
            reason: why; it is kept for good.
        """
        if why := refused_years(years, reason, self._book.made.growing, self._book.years()):
            raise LedgerError(f"{why[:1].upper()}{why[1:]}.")
        owner, asker = self._book.account(OWNER), {**_ASKER, "run": YEARS}
        told, words = {"years": years}, f"The promise of a lifetime became one of {years} years."
        return self._write("years", owner, details=told, words=words, note=reason, asker=asker)

    def end_parallel(self, reason: str, told: bytes = b"") -> Entry:
        """Write that units may be in several blocks: every charge from here on is made to all of them.

        Args:
            reason: how that is known.
            told: secret: which files told of it, if any did.
        """
        if not isinstance(reason, str) or not reason.strip():
            raise LedgerError("That blocks are no longer charged side by side is written with a reason.")
        owner = self._book.account(OWNER)
        if owner.profile is not None and self._book.made.growing == "confined":
            owner = replace(owner, profile=replace(owner.profile, ended=True))
        words = "Units may be in several blocks: charges are made to all of them from here on."
        return self._write("ended", owner, words=words, note=reason, state=told, asker=_ASKER)

    def _write(
        self,
        kind: str,
        after: Account,
        *,
        asker: Mapping[str, str | None],
        words: str = "",
        note: str = "",
        details: Mapping[str, Any] | None = None,
        state: bytes | None = None,
    ) -> Entry:
        raise NotImplementedError


_ASKER: Mapping[str, str | None] = {"analyst": OWNER, "request": None, "question": None, "run": BLOCKS}


def refused_years(years: Any, reason: Any, growing: str | None, before: int | None) -> str | None:
    """Why a number of years may not be declared in place of another one, or None."""
    if growing != "yearly":
        return "years are declared where the rows of each year of arrival have an allowance (yearly)"
    if not isinstance(reason, str) or not reason.strip():
        return "a declared number of years is raised for a reason, and none was given"
    if not isinstance(years, int) or isinstance(years, bool) or years < 1:
        return "a number of years is a whole number, 1 or more"
    if before is not None and years <= before:
        return f"a declared number of years is only raised, and {years} is not more than {before}"
    return None


def is_day(name: str) -> bool:
    """Whether a name is a day as ISO 8601 writes it."""
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", name):
        return False
    try:
        date.fromisoformat(name)
    except ValueError:
        return False
    return True
