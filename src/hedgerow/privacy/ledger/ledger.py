"""The append-only durable ledger that keeps a dataset's budget: its book, and all that writes lines."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

from hedgerow.errors import LedgerError
from hedgerow.privacy.budget import Budget, Cost
from hedgerow.privacy.event import Event
from hedgerow.privacy.ledger.claim import Claim
from hedgerow.privacy.ledger.entry import OWNER, Entry, Growth, Settings
from hedgerow.privacy.ledger.grown import Grown
from hedgerow.privacy.ledger.line import Line
from hedgerow.privacy.ledger.making import begin, new_settings, open_database, open_file, refuse_no_budget
from hedgerow.privacy.ledger.place import Data, note
from hedgerow.privacy.ledger.profile import Scope
from hedgerow.privacy.ledger.receipt import Receipt, Verification, verify_export
from hedgerow.privacy.ledger.sqlite_store import SQLiteStore
from hedgerow.privacy.ledger.store import Store
from hedgerow.privacy.ledger.transaction import BYTES, Act, Question, Transaction, opening
from hedgerow.privacy.ledger.url import LedgerUrl
from hedgerow.privacy.raising import doubled

__all__ = ["Entry", "Ledger", "Receipt", "Settings", "Transaction", "Verification", "verify_export"]


class Company:
    """What one holder of a ledger knows of others who write it, in other processes or through other handles.

    Args:
        store: the ledger's lines.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._own: tuple[Line, ...] = (store.head(),)
        self._theirs = -1

    def met(self) -> int:
        """Look at the newest line; the number of the newest that others are known to have written.

        It is one's own if it was committed last, or is being committed just now. A line in the place of
        one's own is theirs: what is written in a turn may be lost before that ends.
        """
        newest = self._store.newest()
        mine = [own.hash for own in self._own if own.seq == newest]
        if not mine or (there := self._store.at(newest)) is None or there.hash not in mine:
            self._theirs = newest
        return self._theirs

    def writes(self, after: Line, head: Line) -> None:
        """All lines up to this one are known, and those after `after` are about to be committed."""
        self._own = (after, head)


class Ledger(Grown):
    """A dataset's budget, everything that was ever charged to it, and the answers that were given for it.

    >>> from hedgerow.privacy.budget import Budget
    >>> from hedgerow.privacy.event import Pure
    >>> ledger = Ledger.open(":memory:", budget=Budget(epsilon=1))
    >>> ledger.charge(Pure("1/4"), lambda: (b"42", None)).answer
    b'42'
    >>> ledger.remaining().amount
    Fraction(3, 4)
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._company = Company(store)
        self.witness: Callable[[], None] | None = None  # is shown what was durably written

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | LedgerUrl | Store,
        *,
        budget: Budget | None = None,
        neighbours: str | None = None,
        unit: str | None = None,
        max_rows: int | None = None,
        null_units: str | None = None,
        unit_type: str | None = None,
        create: bool = True,
        readonly: bool = False,
        data: str | os.PathLike[str] | Data | None = None,
        reason: str | None = None,
        growth: Growth | None = None,
    ) -> Ledger:
        """Open a ledger, or make it; None means whatever the ledger says, any other difference is refused.

        Args:
            path: the file, `postgresql://...`, ":memory:" for simulation, or a store (`extending.Store`).
            budget: what may be spent in all; needed to make a ledger.
            neighbours: "add_remove" (made so by default) or "replace".
            unit: the column that names the protected unit; a new ledger without one protects rows.
            max_rows: the most rows that one unit contributes; 1 by default.
            null_units: "drop" (by default) or "row": what becomes of rows without a unit id.
            unit_type: the declared type of unit ids in columns of objects.
            create: whether to make the ledger when there is none.
            readonly: open it for reading only, without writing to the file or its folder.
            data: the data file as it was named, or which table it is, to be known under another name.
            reason: why a new ledger is made for data that another one knows; kept in its first line.
            growth: how data grow that arrive in blocks.

        >>> Ledger.open(":memory:", budget=Budget(epsilon=1), max_rows=3).settings.max_rows
        3
        """
        asked: dict[str, Any] = {
            "neighbours": neighbours, "unit": unit, "max_rows": max_rows, "null_units": null_units,
            "unit_type": unit_type, **({} if growth is None else vars(growth)),
        }  # fmt: skip
        refuse_no_budget(budget)
        if str(path) == ":memory:":
            return cls(SQLiteStore(None, opening(new_settings(budget, asked, simulation=True))))
        known, may = None if data is None else Data.named(data), create and not readonly
        if (url := LedgerUrl.of(path)) is not None:
            store = open_database(url, budget, asked, known, reason, may=may, readonly=readonly)
        elif isinstance(path, str | os.PathLike):
            store = open_file(path, budget, asked, known, reason, may=may, readonly=readonly)
        else:
            store = begin(cast(Store, path), budget, asked, reason, create=may)
        try:
            ledger = cls(store)
            ledger.settings.refuse_other({"budget": None if ledger.keeps(budget) else budget} | asked)
            if isinstance(store, SQLiteStore) and not readonly:
                note(store, known, reason)
                store.sync()  # a log that was left behind
            return ledger
        except BaseException:
            if store is not path:
                store.close()
            raise

    def know(self, data: str | os.PathLike[str] | Data) -> None:
        """Note a data file as it was named, or a table, so that it is known again under another name."""
        if isinstance(self._store, SQLiteStore) and self._store.durable and not self._store.readonly:
            note(self._store, Data.named(data))

    def close(self) -> None:
        """Close the file; what was committed is there already."""
        self._store.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        own = isinstance(self._store, SQLiteStore)
        return f"Ledger({str(self._store.path or ':memory:')!r})" if own else f"Ledger({self._store!r})"

    @property
    def path(self) -> Path | None:
        """The file; None for a ledger in memory or in a database."""
        return self._store.path

    @property
    def cache(self) -> Path | None:
        """A folder for what may be deleted at any time, if there is one."""
        return self._store.cache(self.made.ledger)

    def keeps(self, budget: Budget | None) -> bool:
        """Whether a budget is this ledger's, as it is stated or as it was last recorded; None is any."""
        return budget is None or budget.promises(self.budget) or budget == self.recorded_budget

    @property
    def next_delta(self) -> Fraction:
        """The delta of a raise unless another is asked for: after answers, at least twice the first one."""
        now = self.budget.delta_exact
        return now if self.spent().is_zero else max(now, doubled(self.first_budget))

    @property
    def elsewhere(self) -> int:
        """The number of the newest line that was not written through this object, since it was opened."""
        return self._company.met()

    def accept_move(self) -> None:
        """Go on with a database that took the place of another; for its owner, who has looked at receipts."""
        self._store.accept()

    def alone(self) -> AbstractContextManager[None]:
        """A stretch of work that only one holder of this ledger does at a time, in whichever process.

        It keeps nobody from charging: it is for state that is read from several lines and then moved on. The
        same thread may enter it again.
        """
        return self._store.alone()

    def turn(self) -> AbstractContextManager[None]:
        """As `alone`, for one short piece of work that writes; nothing in it is shown before it ends.

        A store may commit what was charged only then, all together, and let others wait with charging.
        """
        return self._store.turn()

    def still(self) -> AbstractContextManager[None]:
        """A stretch in which several reads may be answered as of one moment, its beginning."""
        return self._store.still()

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[Transaction]:
        """Write several lines that are committed together or not at all.

        Args:
            durable: wait for the disk; free records may do without, the next charge covers them.
        """
        with self._store.transaction(durable):
            transaction = Transaction(self, self._store, durable)
            before = transaction.head
            self._company.met()
            try:
                yield transaction
                if transaction.failed:
                    raise LedgerError("An act in this transaction failed, so nothing in it was kept.")
                self._company.writes(before, transaction.head)
            finally:
                transaction.over = True
        if durable and self.witness is not None:
            self.witness()

    def charge(
        self,
        event: Event,
        act: Act,
        *,
        account: str = OWNER,
        analyst: str = OWNER,
        request: str | None = None,
        question: Question = None,
        note: str = "",
        run: str | None = None,
        content_type: str = BYTES,
        claims: Sequence[Claim] = (),
    ) -> Entry:
        """Charge a private act, carry it out and keep its answer, all durably before this returns.

        Args:
            event: the act, as the accountant must know it.
            act: carries it out inside the transaction; returns the answer, and secret state or None.
            account: who pays.
            analyst: who asks.
            request: an id; the same id with the same question by the same analyst gets the same answer, free.
            question: what the request id is bound to; the event when None.
            note: words to keep with it.
            run: the label of the mechanism's run, for `replay`.
            content_type: the answer's media type.
            claims: what its privacy rests on that nobody here has proven; kept in the line.
        """
        with self.transaction() as transaction:
            return transaction.charge(
                event, act, account=account, analyst=analyst, request=request, question=question, note=note,
                run=run, content_type=content_type, claims=claims,
            )  # fmt: skip

    def record(
        self,
        answer: bytes | None = None,
        state: bytes | None = None,
        *,
        account: str = OWNER,
        analyst: str = OWNER,
        request: str | None = None,
        question: Question = None,
        note: str = "",
        run: str | None = None,
        content_type: str = BYTES,
        durable: bool = True,
    ) -> Entry:
        """Keep an answer or state that costs nothing, such as a sparse vector's "below".

        Args:
            answer: what was said.
            state: secret state.
            durable: wait for the disk; if not, the next durable commit covers it.
            account, analyst, request, question, note, run, content_type: as in `charge`.
        """
        with self.transaction(durable=durable) as transaction:
            return transaction.record(
                answer, state, account=account, analyst=analyst, request=request, question=question,
                note=note, run=run, content_type=content_type,
            )  # fmt: skip

    def allot(
        self, name: str, cost: Cost, parent: str = OWNER, note: str = "", scope: Scope | None = None
    ) -> Entry:
        """Reserve a cost from an account for a new one, which can then spend that much and no more.

        Of growing data it is reserved for the first to the last block of `scope`, and charged to each.
        """
        with self.transaction() as transaction:
            return transaction.allot(name, cost, parent, note, scope)

    def settle(self, name: str, note: str = "") -> Entry:
        """Close an allotted account and those below it; what was not spent goes back to the parent."""
        with self.transaction() as transaction:
            return transaction.settle(name, note)

    def raise_budget(self, budget: Budget, reason: str) -> Entry:
        """Give the dataset a larger budget of the same currency, for a recorded reason.

        Args:
            budget: the new total. After answers were given, its delta has to be above the first budget's: the
                difference pays for a choice made with answers in view (`next_delta` is a good one).
            reason: why; it is kept for good.
        """
        with self.transaction() as transaction:
            return transaction.raise_budget(budget, reason)
