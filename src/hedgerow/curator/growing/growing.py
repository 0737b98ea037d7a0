"""Growing: private rows that arrive in blocks, and the ledger that each block is charged to."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

from hedgerow.curator.curator import Curator
from hedgerow.curator.growing.accepting import accept
from hedgerow.curator.growing.block_rows import BlockFiles, BlockRows, file_digest, refuse_unlike
from hedgerow.curator.growing.seen import Seen
from hedgerow.curator.rows.table import Rows, Table
from hedgerow.curator.rows.unit import NullUnits, Unit
from hedgerow.curator.spender import Spend, Spender
from hedgerow.errors import DomainMismatch, HedgerowError, LedgerError, UnsupportedQuery
from hedgerow.privacy.budget import Budget, Cost, exact
from hedgerow.privacy.ledger import noted
from hedgerow.privacy.ledger.announcing import BLOCKS, RowBlock, is_day
from hedgerow.privacy.ledger.entry import Growth
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.privacy.ledger.nearby import ledger_path
from hedgerow.privacy.ledger.profile import Scope
from hedgerow.privacy.ledger.url import LedgerUrl
from hedgerow.queries.domain.domain import Domain

End = int | str | None
"""A block by its number or its day; None for the first or the last one."""


class Growing:
    """A table that grows by blocks, which are immutable once they were appended.

    Make one with `Growing.make`, open it with `Growing.open`.

    >>> import hedgerow as hr
    >>> domain = hr.Domain({"sex": ["F", "M"]})
    >>> growing = hr.Growing.make(":memory:", domain, hr.Budget(epsilon=1), unit="id", max_rows=1)
    >>> growing.append({"id": [1, 2], "sex": ["F", "M"]}, day="2026-01-01").number
    1
    >>> growing.append({"id": [2, 3], "sex": ["M", "M"]}, day="2026-01-02").number
    2
    >>> with growing.range("2026-01-01", spend=1) as curator:
    ...     released = curator.measure(("sex",))
    >>> growing.left(1, 2).epsilon
    0.0
    """

    def __init__(self, files: BlockFiles, domain: Domain, ledger: Ledger) -> None:
        if not isinstance(domain, Domain):
            raise DomainMismatch("growing data have a declared Domain; see Domain.load")
        settings = ledger.settings
        if settings.growing is None:
            raise LedgerError("the ledger was not made for growing data: make one with Growing.make")
        self.domain, self.ledger = domain, ledger
        alone: NullUnits = "row" if settings.null_units == "row" else "drop"
        name, most = settings.unit, settings.max_rows
        self.unit = None if name is None else Unit(name, most, alone, settings.unit_type)
        self._files, self._growing = files, settings.growing
        self._blocks: list[RowBlock] = []
        self._seen, self._upto, self._ended = Seen(), 0, False
        self._lock = threading.Lock()

    @classmethod
    def make(
        cls,
        path: str | os.PathLike[str],
        domain: Domain,
        budget: Budget,
        *,
        growing: str = "confined",
        unit: str | None = None,
        max_rows: int | None = None,
        null_units: NullUnits = "drop",
        unit_type: str | None = None,
        years: int | None = None,
        reserve: Any = 0,
        ledger: str | os.PathLike[str] | LedgerUrl | None = None,
    ) -> Growing:
        """Make a table that grows, and its ledger beside it.

        Args:
            path: the folder that will hold the blocks; ":memory:" for simulation.
            domain: the declared domain.
            budget: what may be spent: on each block if they are confined, on the rows of each year of arrival
                if `growing` is "yearly", in all if they are shared.
            growing: "confined": a unit's rows count only in the block in which it first appears; "shared";
                "yearly".
            unit, max_rows, null_units, unit_type: as in `Table.open`; without a unit every row is one.
            years: with "yearly": how many years of arrival the promise of a lifetime is for.
            reserve: with "confined": the part of a block's budget that is kept for questions over ranges.
            ledger: the ledger's file or database, if it is not to lie beside the folder.
        """
        bound = Unit.declared(unit, max_rows, null_units, unit_type)
        memory = str(path) == ":memory:"
        folder = None if memory else Path(path)
        if folder is not None and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise LedgerError(
                f"a table that grows is made in a folder of its own: {folder.name!r} is not empty"
            )
        made = Ledger.open(
            ":memory:" if memory else ledger or ledger_path(Path(path)),
            budget=budget, neighbours="add_remove", unit=unit, max_rows=bound.max_rows if bound else 1,
            null_units=null_units, unit_type=unit_type,
            growth=Growth(growing, years, str(exact(reserve))),
        )  # fmt: skip
        if folder is not None:
            folder.mkdir(mode=0o700, exist_ok=True)
        return cls(BlockFiles(folder), domain, made)._witnessed()

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        domain: Domain,
        *,
        ledger: str | os.PathLike[str] | LedgerUrl | None = None,
        older_than_receipt: str | None = None,
    ) -> Growing:
        """Open a table that grows; where blocks are there that its ledger lacks, all of it counts as spent.

        Args:
            path: the folder of blocks.
            domain: the declared domain.
            ledger: as in `make`.
            older_than_receipt: why a ledger is used that lacks lines of which a receipt beside it tells; what
                they spent is set aside for good.
        """
        opened = Ledger.open(ledger or ledger_path(Path(path)), create=False)
        try:
            found = cls(BlockFiles(Path(path)), domain, opened)
            receipts = noted.beside(opened, Path(path))
            if older_than_receipt is None:  # first: nothing is written while the newer one may be put back
                noted.refuse_older(opened, receipts)
            found._refuse_unknown()
            if older_than_receipt is not None:
                noted.excuse_older(opened, receipts, older_than_receipt)
        except BaseException:
            opened.close()
            raise
        return found._witnessed()  # only now: whatever receipts tell of lost lines is in the ledger

    def _refuse_unknown(self) -> None:
        """An older ledger was put back: who was in the lost blocks is lost, and what was spent on them."""
        if not self._strange:
            return
        with self.ledger.alone():  # whoever appends is between a block's line and its name for a moment
            if told := self._strange:
                self.ledger.lose(
                    "Files of blocks are there that no line tells of: an old ledger was put back", told
                )

    @property
    def _strange(self) -> bytes:
        """What files are known by that tell of blocks without a line, unless that loss is written already.

        They tell of one loss. Where an earlier version wrote one without them, it is the one they tell of.
        """
        files = self._files.unknown(len(self._known()))
        losses = self.ledger.losses() if files else []
        if not files or (losses and losses[-1] is None):
            return b""
        known = {told[i : i + 32] for told in losses if told for i in range(0, len(told), 32)}
        return b"".join(sorted(set(map(file_digest, files)) - known))

    @property
    def blocks(self) -> list[RowBlock]:
        """The blocks in the order of their arrival."""
        return [replace(block, state=None) for block in self._known()]

    @property
    def ended(self) -> bool:
        """Whether units may be in several blocks, because what was seen was lost."""
        self._known()
        return self._ended

    @property
    def words(self) -> str:
        """What counts over blocks are counts of: for whoever reads an answer."""
        if said := self.ledger.settings.counted:
            return said
        if self.unit is None:
            return "Each row is counted, in the block in which it came."
        most, whose = self.ledger.settings.max_rows, f"each {self.unit.column}"
        return f"At most {most} rows of {whose} are counted, over all blocks together."

    def append(
        self,
        source: Any,
        *,
        day: Any = None,
        name: str | None = None,
        encoding: str | None = None,
        delimiter: str | None = None,
        multiline: bool = False,
    ) -> RowBlock:
        """Append a block: its rows are checked and accepted, then it is announced, for good.

        Args:
            source: the rows, as in `Table.open`.
            day: the day on which they arrived, later than that of all blocks before.
            name: the block's name, if it has no day; the file's, if None.
            encoding, delimiter, multiline: of a CSV file.
        """
        label, by = (str(day), "day") if day is not None else (name or _file_name(source), "file")
        table = Table.open(
            source, self.domain, unit=self.unit.column if self.unit else None,
            max_rows=self.unit.max_rows if self.unit else None,
            null_units=self.unit.null_units if self.unit else "drop",
            unit_type=self.unit.type if self.unit else None,
            encoding=encoding, delimiter=delimiter, multiline=multiline,
        )  # fmt: skip
        with self.ledger.alone():
            known = self._known()
            rows = Rows(table, self._key, self.ledger.settings.spelling)
            accepted = self._accepted(rows)
            if known:
                refuse_unlike(self._files.read(known[0]), accepted.rows, text=table._engine.untyped)
            number = len(known) + 1
            digest = self._files.keep(number, accepted.rows, untyped=table._engine.untyped)
            self.ledger.announce(label, by, accepted.seen.packed(digest), number)
            self._files.announced(number, digest)
        return replace(self._known()[-1], state=None)

    def _witnessed(self) -> Self:
        """Itself; whatever is charged through it from here on is noted outside the ledger."""
        if self._files.folder is not None:
            self.ledger.witness = self._note
        return self

    def _note(self) -> None:
        """Write down outside the ledger what it says now: an older copy of it is noticed by that."""
        assert self._files.folder is not None
        for file in noted.beside(self.ledger, self._files.folder):
            with suppress(HedgerowError, OSError):  # a help, which must not hold up what was done
                noted.note(self.ledger, file)

    @property
    def _key(self) -> bytes:
        """The secret key by which a unit's rows are chosen, and units are known again."""
        return self.ledger.row_key

    def _accepted(self, rows: Rows) -> Any:
        """The rows of a new block that count; see `accepting`."""
        return accept(rows, self._seen, confined=self._growing == "confined")

    def _known(self) -> list[RowBlock]:
        """The blocks that were announced, and who was in them, up to the ledger's newest line."""
        newest = self.ledger.newest
        with self._lock:  # read twice, a block would count twice
            if newest > self._upto:
                lines = list(self.ledger.replay(BLOCKS, self._blocks[-1].line if self._blocks else -1))
                new = [RowBlock.read(line) for line in lines if line.kind == "block"]
                self._ended = self._ended or any(line.kind == "ended" for line in lines)
                self._seen = self._seen.with_more(Seen.in_all(block.state for block in new))
                self._blocks, self._upto = [*self._blocks, *new], newest
            return self._blocks

    def table(self, first: End = None, last: End = None) -> Table:
        """The accepted rows of a range of blocks, for a curator of this ledger."""
        some = self._some(first, last)
        settings, scope = self.ledger.settings, self._scope(some)
        engine = BlockRows(self._files, some, scope, settings.ledger, self._growing)
        return Table(engine, self.domain, self.unit, None)

    def curator(self, first: End = None, last: End = None, *, account: str = "owner") -> Curator:
        """The curator of a range of blocks, paying from an account that is for them.

        The owner's account pays for all blocks that there are: use `range` to pay for these alone.
        """
        return Curator(self.table(first, last), None, self.ledger, account=account)

    @contextmanager
    def range(
        self, first: End = None, last: End = None, *, spend: Spend = None, note: str = ""
    ) -> Iterator[Curator]:
        """A curator of a range of blocks whose price is charged to each of them, once.

        What it does not spend comes back to each block when it is left. With `first` alone it is one block.

        Args:
            first, last: the ends of the range, by number or by day.
            spend: what is set aside for it; all that is left for every block of it if None.
            note: words kept in the ledger.
        """
        last = first if last is None else last
        some = self._some(first, last)
        price = self._left(some) if spend is None else Spender(self.ledger, "owner").price(spend)
        if not price <= self._left(some) and len(some) == 1:
            self.ledger.check(price, scope=self._scope(some))
            share = exact(self.ledger.settings.reserve)
            raise LedgerError(f"of a block's budget a part of {share} is reserved for questions over ranges")
        account = f"blocks {some[0].number} to {some[-1].number} {secrets.token_hex(6)}"
        scope = self._scope(some) if self.ledger.settings.cells else None
        self.ledger.allot(account, price, note=note or self.words, scope=scope)
        try:
            yield self.curator(first, last, account=account)
        finally:
            if not self.ledger.is_closed(account):
                self.ledger.settle(account)

    def left(self, first: End = None, last: End = None) -> Budget:
        """What can still be spent on every block of a range."""
        return self.ledger.budget.part(self._left(self._some(first, last)))

    def reach(self, first: int, horizon: int) -> Scope | None:
        """What is charged for so many blocks from one on, those to come included; None for one sum."""
        if self._growing == "shared":
            return None
        if self._growing == "confined":
            return first, first + horizon - 1
        return self._scope(self._some(first, first))  # the totals end with the year

    def price(self, horizon: int, spend: Spend, first: int | None = None) -> Cost:
        """An amount, for so many blocks from one or the newest on; all that is left for them if None."""
        if spend is not None:
            return Spender(self.ledger, "owner").price(spend)
        first = first or max(len(self._known()), 1)
        left = self.ledger.remaining(scope=self.reach(first, horizon))
        return Cost(left.currency, left.amount)

    def _left(self, some: list[RowBlock]) -> Cost:
        left = self.ledger.remaining(scope=self._scope(some) if self.ledger.settings.cells else None)
        reserve = exact(self.ledger.settings.reserve)
        if len(some) > 1 or not reserve:
            return left
        charged = self.ledger.charged(some[0].number)
        own = self.ledger.budget.cost.share(1 - reserve).beyond(charged)
        return Cost(left.currency, min(left.amount, own.amount), left.delta)

    def _some(self, first: End, last: End) -> list[RowBlock]:
        """The blocks of a range."""
        known = self._known()
        low = 1 if first is None else _number(known, first, len(known) + 1, from_end=False)
        high = len(known) if last is None else _number(known, last, 0, from_end=True)
        if low > high or high < 1 or low > len(known):
            raise UnsupportedQuery(
                f"there is no block in that range: there are {len(known):,}, numbered from 1"
            )
        return known[max(low, 1) - 1 : high]

    def _scope(self, some: list[RowBlock]) -> Scope:
        return some[0].cell(self._growing), some[-1].cell(self._growing)

    def __repr__(self) -> str:
        return f"Growing({self._growing}, {len(self._known())} blocks)"

    def __reduce__(self) -> Any:
        raise TypeError("a table of private rows cannot be pickled")


def _number(known: list[RowBlock], end: int | str, none: int, *, from_end: bool) -> int:
    """The number of the block that a range begins or ends with; `none` where a day lies beyond all of them.

    Days are in order, so a day may be one without a block. Names of files have no order.
    """
    if isinstance(end, int):
        return end
    name = str(end)
    named = next((b.number for b in known if b.name == name), None)
    if named is not None:
        return named
    if not is_day(name):
        raise UnsupportedQuery(f"there is no block called {name!r}: a range is of days, names or numbers")
    days = [b for b in known if b.by == "day" and (b.name < name if from_end else b.name > name)]
    return days[-1 if from_end else 0].number if days else none


def _file_name(source: Any) -> str:
    if isinstance(source, str | os.PathLike):
        return Path(source).name
    raise UnsupportedQuery("a block without a file is named by its day, or by a name")
