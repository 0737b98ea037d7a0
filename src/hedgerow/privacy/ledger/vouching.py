"""Vouching: what a ledger says of itself - its lines again, receipts, and the walk that checks them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hedgerow.privacy.ledger.claim import CLAIMS
from hedgerow.privacy.ledger.entry import OWNER, Entry
from hedgerow.privacy.ledger.filter import Filter
from hedgerow.privacy.ledger.receipt import Receipt, Verification, exported, verify_lines
from hedgerow.privacy.ledger.refined import lost_after
from hedgerow.privacy.ledger.store import Store


class Vouching:
    """The lines of a ledger, as those who must be able to trust them read them.

    Args:
        store: where they are.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._filter = Filter(store)
        self._made = self._filter.made

    def replay(self, run: str | None, after: int = -1) -> Iterator[Entry]:
        """The entries of a run in order, with answers and secret states, to rebuild it after a restart.

        Args:
            run: the run's label; every entry of the ledger if None.
            after: only what came after the line of this number.
        """
        return (Entry.read(line) for line in self._store.lines(run, after))

    def entry(self, seq: int) -> Entry | None:
        """The entry of a line, if there is one."""
        return None if (line := self._store.at(seq)) is None else Entry.read(line)

    def requested(self, request: str) -> Entry | None:
        """The entry of a request id, whoever asked, if there is one."""
        return None if (line := self._store.requested(request)) is None else Entry.read(line)

    def total(self, upto: int) -> Entry:
        """The newest line of the owner's account up to a line: its running total is of the whole ledger."""
        line = self._store.last(OWNER, upto)
        assert line is not None  # line 0 is the owner's
        return Entry.read(line)

    def lost_after(self, line: int) -> bool:
        """Whether lines are known to be lost since a line was written."""
        return lost_after(self._store, line)

    def receipt(self) -> Receipt:
        """What the ledger says now; a later ledger that disagrees with it was altered."""
        self._store.sync()  # a receipt must not outlive the lines it vouches for
        head = self._store.head()
        years = self._filter.years(head.seq)
        settings = replace(self._made, budget=self._filter.budget(head.seq), years=years)
        spent, claims = self._filter.account(OWNER, head.seq).spent, self.claims(head.seq)
        return Receipt(settings, head.seq, head.hash.hex(), spent, claims)

    def claims(self, upto: int | None = None) -> tuple[int, ...]:
        """The numbers of the charges that rest on somebody's claim, up to a line."""
        notes = (entry for entry in self.replay(CLAIMS) if upto is None or entry.seq <= upto)
        return tuple(entry.details["line"] for entry in notes)

    def knows(self, receipt: Receipt) -> bool:
        """Whether the line that a receipt was given for is in this ledger."""
        return receipt.head == self.hash_at(receipt.seq)

    def hash_at(self, seq: int) -> str | None:
        """The chain's hash at a line, which vouches for all up to it; None if there is no such line."""
        return line.hash.hex() if (line := self._store.at(seq)) else None

    def sync(self) -> None:
        """Wait until everything committed so far is on the disk."""
        self._store.sync()

    def verify(self, receipt: Receipt | None = None) -> Verification:
        """Walk the chain again, recompute every cost and total, and compare with an earlier receipt."""
        outcome, damage = verify_lines(self._store.lines(), receipt), self._store.damage()
        if damage is None:
            return outcome
        return replace(outcome, problems=(*outcome.problems, f"The file is damaged: {damage}."))

    def export(self, answers: bool = False) -> dict[str, Any]:
        """The public side of the ledger as JSON data, for `verify_export`; `answers` includes the answers."""
        return exported(self._store.lines(), answers)
