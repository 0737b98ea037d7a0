"""The append-only durable ledger and the filter that keeps a dataset's budget."""

from __future__ import annotations

import base64
import json
import os
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from hedgerow.errors import BudgetExceeded, LedgerError, RequestReused
from hedgerow.privacy.accountant import cost as cost_of
from hedgerow.privacy.budget import Budget, Cost, Currency, Neighbours
from hedgerow.privacy.event import Event, Nothing, from_json
from hedgerow.privacy.ledger_entry import OWNER, Account, Entry, Settings, grains_of
from hedgerow.privacy.ledger_store import FORMAT, GENESIS, Line, Store, canonical, digest
from hedgerow.privacy.receipt import Receipt, Verification, verify_lines

Act = Callable[[], tuple[bytes, bytes | None]]
Question = str | bytes | None
BYTES = "application/octet-stream"


class Ledger:
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
        self._store = store
        with _readable(store):
            self._made = Settings.from_json(json.loads(store.first().text)["details"])

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        budget: Budget | None = None,
        neighbours: str | None = None,
        unit: str | None = None,
        max_rows: int | None = None,
        null_units: str | None = None,
        create: bool = True,
    ) -> Ledger:
        """Open a ledger, or make it; None means whatever the ledger says, any other difference is refused.

        Args:
            path: the file, or ":memory:" for simulation.
            budget: what may be spent in all; needed to make a ledger.
            neighbours: "add_remove" (made so by default) or "replace".
            unit: the column that names the protected unit; a new ledger without one protects rows.
            max_rows: the most rows that one unit contributes; 1 by default.
            null_units: "drop" (by default) or "row": what becomes of rows without a unit id.
            create: whether to make the ledger when there is none.

        >>> Ledger.open(":memory:", budget=Budget(epsilon=1), max_rows=3).settings.max_rows
        3
        """
        asked = {"neighbours": neighbours, "unit": unit, "max_rows": max_rows, "null_units": null_units}
        if str(path) == ":memory:":
            return cls(Store(None, _opening(budget, asked, simulation=True)))
        file = Path(path)
        if not os.path.lexists(file):
            if not create or budget is None:
                raise LedgerError(f"There is no ledger at {file}, and no budget to make one with.")
            Store.create(file, _opening(budget, asked, simulation=False))
        store = Store(file)
        try:
            ledger = cls(store)
            ledger.settings.refuse_other({"budget": budget} | asked)
        except BaseException:
            store.close()
            raise
        return ledger

    def close(self) -> None:
        """Close the file; what was committed is there already."""
        self._store.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Ledger({str(self._store.path or ':memory:')!r})"

    @property
    def budget(self) -> Budget:
        """What may be spent in all, as last raised."""
        return self._budget_at(self._store.head().seq)

    @property
    def settings(self) -> Settings:
        """What the ledger was made for, with the budget as last raised."""
        return replace(self._made, budget=self.budget)

    @property
    def currency(self) -> Currency:
        """What the ledger sums: "epsilon" or "rho"."""
        return self._made.budget.currency

    @property
    def simulation(self) -> bool:
        """Whether the ledger lives in memory only and protects nobody."""
        return self._made.simulation

    @property
    def row_key(self) -> bytes:
        """The secret key by which a unit's rows are chosen when it has more than max_rows."""
        return cast(bytes, self._store.first().state)

    def spent(self, account: str = OWNER) -> Cost:
        """What an account has spent, with what it allotted to others."""
        return self._account(account).spent

    def remaining(self, account: str = OWNER) -> Cost:
        """What an account may still spend; nothing once it is closed."""
        holder = self._account(account)
        return Cost.zero(self.currency) if holder.closed else holder.remaining

    def check(self, cost: Cost, account: str = OWNER) -> None:
        """Raise BudgetExceeded if an account cannot afford a cost; charges nothing.

        >>> Ledger.open(":memory:", budget=Budget(epsilon=1)).check(Cost("epsilon", 2))
        Traceback (most recent call last):
        hedgerow.errors.BudgetExceeded: This asks for epsilon 2, but of epsilon 1 only 1 remains.
        """
        self._afford(cost, account)

    def recall(self, request: str, question: str | bytes | Event, analyst: str = OWNER) -> Entry | None:
        """The entry that a request id already has, or None; RequestReused if it belongs to another question."""
        line = self._store.requested(_name("request id", request))
        if line is None:
            return None
        entry = Entry.read(line)
        if (entry.analyst, entry.question) != (analyst, _question_digest(question)):
            raise RequestReused(
                f"The request id {request!r} was already used for another question or by another analyst."
            )
        return entry.again()

    def replay(self, run: str) -> Iterator[Entry]:
        """The entries of a run in order, with answers and secret states, to rebuild it after a restart."""
        return (Entry.read(line) for line in self._store.lines(run))

    @contextmanager
    def transaction(self, *, durable: bool = True) -> Iterator[Transaction]:
        """Write several lines that are committed together or not at all.

        Args:
            durable: wait for the disk; free records may do without, and are then on disk with the next charge.
        """
        with self._store.transaction(durable):
            transaction = Transaction(self, durable)
            try:
                yield transaction
                transaction.refuse_failed()
            finally:
                transaction.over = True

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
    ) -> Entry:
        """Charge a private act, carry it out and keep its answer, all durably before this returns.

        Args:
            event: the act, as the accountant must know it.
            act: carries it out inside the transaction; returns the answer and secret state, or None for no state.
            account: who pays.
            analyst: who asks.
            request: an id; the same id with the same question by the same analyst gets the same answer, free.
            question: what the request id is bound to; the event when None.
            note: words to keep with it.
            run: the label of the mechanism's run, for `replay`.
            content_type: the answer's media type.
        """
        with self.transaction() as transaction:
            return transaction.charge(
                event,
                act,
                account=account,
                analyst=analyst,
                request=request,
                question=question,
                note=note,
                run=run,
                content_type=content_type,
            )

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
                answer,
                state,
                account=account,
                analyst=analyst,
                request=request,
                question=question,
                note=note,
                run=run,
                content_type=content_type,
            )

    def allot(self, name: str, cost: Cost, parent: str = OWNER, note: str = "") -> Entry:
        """Reserve a cost from an account for a new one, which can then spend that much and no more."""
        with self.transaction() as transaction:
            return transaction.allot(name, cost, parent, note)

    def settle(self, name: str, note: str = "") -> Entry:
        """Close an allotted account, and those allotted from it; what it did not spend goes back to its parent."""
        with self.transaction() as transaction:
            return transaction.settle(name, note)

    def raise_budget(self, budget: Budget, reason: str) -> Entry:
        """Give the dataset a larger budget of the same currency, for a recorded reason."""
        with self.transaction() as transaction:
            return transaction.raise_budget(budget, reason)

    def receipt(self) -> Receipt:
        """What the ledger says now; a later ledger that disagrees with it was altered."""
        self._store.sync()  # a receipt must not outlive the lines it vouches for
        head = self._store.head()
        spent = Account.after(cast(Line, self._store.last(OWNER, head.seq))).spent
        return Receipt(
            replace(self._made, budget=self._budget_at(head.seq)), head.seq, head.hash.hex(), spent
        )

    def verify(self, receipt: Receipt | None = None) -> Verification:
        """Walk the chain again, recompute every cost and total, and compare with an earlier receipt."""
        return verify_lines(self._store.lines(), receipt)

    def export(self, answers: bool = False) -> dict[str, Any]:
        """The public side of the ledger as JSON data, for `verify_export`; `answers` includes the answers."""
        entries = []
        for line in self._store.lines():
            entry: dict[str, Any] = {
                "line": json.loads(line.text),
                "commitment": line.commitment.hex(),
                "hash": line.hash.hex(),
            }
            if answers and line.answer is not None:
                entry["answer"] = base64.b64encode(line.answer).decode()
            entries.append(entry)
        return {"hedgerow_ledger": FORMAT, "entries": entries}

    def _budget_at(self, seq: int) -> Budget:
        line = self._store.raised(seq)
        return self._made.budget if line is None else Budget.from_json(json.loads(line.text)["details"])

    def _account(self, name: str) -> Account:
        line = self._store.last(_name("account", name))
        if line is None:
            raise LedgerError(f"There is no account {name!r}.")
        return Account.after(line)

    def _usable(self, name: str) -> Account:
        account = self._account(name)
        if account.closed:
            raise LedgerError(f"The account {name!r} is closed.")
        return account

    def _afford(self, cost: Cost, name: str) -> Account:
        """The filter: an account that can pay, or BudgetExceeded."""
        if cost.currency != self.currency:
            raise LedgerError(f"This ledger counts {self.currency}, not {cost.currency}.")
        account = self._usable(name)
        if not account.spent + cost <= account.limit:
            raise BudgetExceeded(_refusal(cost, account, self.budget))
        return account


class Transaction:
    """Lines that are committed together; nothing in it may be shown to anyone before it has ended."""

    def __init__(self, ledger: Ledger, durable: bool) -> None:
        self._ledger = ledger
        self._store = ledger._store
        self._durable = durable
        self._here = (os.getpid(), threading.get_ident())
        # Taken before any act and in whole seconds, so that a line's time says nothing about rows.
        self._time = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._head = self._store.head()
        self._acting = False
        self._failed = False
        self.over = False

    def check(self, cost: Cost, account: str = OWNER) -> None:
        """Raise BudgetExceeded if an account cannot afford a cost."""
        self._ledger.check(cost, account)

    def recall(self, request: str, question: str | bytes | Event, analyst: str = OWNER) -> Entry | None:
        """The entry that a request id already has, as in `Ledger.recall`."""
        return self._ledger.recall(request, question, analyst)

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
    ) -> Entry:
        """Charge a private act and carry it out, as in `Ledger.charge`; durable when the transaction ends."""
        asked = event if question is None else question
        known = None if request is None else self.recall(request, asked, analyst)
        if known is not None:
            return known
        self._must_last()
        event = from_json(event.to_json())  # what will be read from the line is what is charged
        cost = cost_of(event, self._ledger.currency)
        holder = self._ledger._afford(cost, account)
        answer, state = self._carry_out(act)
        return self._write(
            "charge",
            replace(holder, spent=holder.spent + cost),
            cost,
            event=event,
            asker=(analyst, request, asked, run),
            note=note,
            released=(answer, content_type),
            state=state,
        )

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
    ) -> Entry:
        """Keep an answer or state that costs nothing, as in `Ledger.record`."""
        asked = Nothing() if question is None else question
        known = None if request is None else self.recall(request, asked, analyst)
        if known is not None:
            return known
        return self._write(
            "note",
            self._ledger._usable(account),
            asker=(analyst, request, asked, run),
            note=note,
            released=None if answer is None else (answer, content_type),
            state=state,
        )

    def allot(self, name: str, cost: Cost, parent: str = OWNER, note: str = "") -> Entry:
        """Reserve a cost from an account for a new one."""
        self._must_last()
        holder = self._ledger._afford(cost, parent)
        if self._store.last(_name("account", name)) is not None:
            raise LedgerError(f"There has already been an account {name!r}.")
        holder = replace(holder, spent=holder.spent + cost)
        words = f"Set aside for account {name!r}."
        self._write("allot", holder, cost, details={"child": name}, words=words, note=note)
        child = Account(name, parent, cost, Cost.zero(cost.currency))
        return self._write("open", child, words=f"Opened from account {parent!r}.", note=note)

    def settle(self, name: str, note: str = "") -> Entry:
        """Close an allotted account and those below it; what was not spent goes back."""
        self._must_last()
        parent = self._ledger._usable(name).parent
        if parent is None:
            raise LedgerError(f"The account {name!r} is the owner's and stays open.")
        for child in self._store.children(name):
            if not self._ledger._account(child).closed:
                self.settle(child, note)
        account = self._ledger._account(name)
        self._write("close", account, words="Closed.", note=note)
        holder, rest = self._ledger._account(parent), account.remaining
        holder = replace(holder, spent=holder.spent - rest)
        words = f"Came back from account {name!r}."
        return self._write("return", holder, rest, details={"child": name}, words=words, note=note)

    def raise_budget(self, budget: Budget, reason: str) -> Entry:
        """Give the dataset a larger budget."""
        self._must_last()
        holder = self._ledger._account(OWNER)
        if not reason.strip():
            raise LedgerError("A budget is raised for a reason, and none was given.")
        if budget.currency != self._ledger.currency:
            raise LedgerError(f"This ledger counts {self._ledger.currency}, not {budget.currency}.")
        if not holder.limit <= budget.cost or holder.limit == budget.cost:
            raise LedgerError(f"A budget is only ever raised, and {budget} is not above {self._ledger.budget}.")
        holder = replace(holder, limit=budget.cost)
        words = f"The budget became {budget}."
        return self._write("raise", holder, details=budget.to_json(), words=words, note=reason)

    def refuse_failed(self) -> None:
        """Refuse to commit when an act failed, even if its exception was swallowed."""
        if self._failed:
            raise LedgerError("An act in this transaction failed, so nothing in it was kept.")

    def _carry_out(self, act: Act) -> tuple[bytes, bytes | None]:
        self._acting = True
        try:
            answer, state = act()
            if not isinstance(answer, bytes) or not isinstance(state, bytes | None):
                raise TypeError("An act returns its answer as bytes, and state as bytes or None.")
            return answer, state
        except BaseException:
            self._failed = True
            raise
        finally:
            self._acting = False

    def _must_last(self) -> None:
        if not self._durable:
            raise LedgerError("Only free records may do without a durable commit.")

    def _write(
        self,
        kind: str,
        after: Account,
        cost: Cost | None = None,
        *,
        event: Event | None = None,
        asker: tuple[str, str | None, str | bytes | Event | None, str | None] = (OWNER, None, None, None),
        words: str = "",
        note: str = "",
        details: Mapping[str, Any] | None = None,
        released: tuple[bytes, str] | None = None,
        state: bytes | None = None,
    ) -> Entry:
        """Append the line that leaves an account as `after`."""
        if self.over or self._acting or (os.getpid(), threading.get_ident()) != self._here:
            raise LedgerError("A ledger transaction is written by its own thread, between acts, until it ends.")
        analyst, request, asked, run = asker
        event = event or Nothing()
        fields = {
            "seq": self._head.seq + 1,
            "time": self._time,
            "kind": kind,
            "account": after.name,
            "parent": after.parent,
            "analyst": _name("analyst", analyst),
            "request": None if request is None else _name("request id", request),
            "question": None if request is None or asked is None else _question_digest(asked),
            "run": None if run is None else _name("run", run),
            "event": event.to_json(),
            "words": words or event.describe(),
            "note": note,
            "cost": grains_of(cost or Cost.zero(self._ledger.currency)),
            "spent": grains_of(after.spent),
            "limit": grains_of(after.limit),
            "details": details or {},
            "answer": released and {"sha256": digest(released[0]), "size": len(released[0]), "type": released[1]},
        }
        line = Line.after(self._head.hash, fields, released and released[0], state)
        self._store.append(line)
        self._head = line
        return Entry.read(line)
