"""One transaction of the ledger: charge, act and record together, or not at all."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hedgerow.errors import LedgerError
from hedgerow.figures import small
from hedgerow.privacy.accountant import cost as cost_of
from hedgerow.privacy.budget import Budget, Cost
from hedgerow.privacy.event import Event, Nothing
from hedgerow.privacy.events import from_json
from hedgerow.privacy.ledger.announcing import Announcing
from hedgerow.privacy.ledger.book import Book, question_digest
from hedgerow.privacy.ledger.claim import CLAIMS, Claim, said
from hedgerow.privacy.ledger.entry import LOST, OWNER, Account, Entry, Settings, grains_of, named
from hedgerow.privacy.ledger.limit import Limit
from hedgerow.privacy.ledger.line import GENESIS, Line, digest
from hedgerow.privacy.ledger.profile import Profile, Scope
from hedgerow.privacy.ledger.refined import refuse_refining
from hedgerow.privacy.ledger.store import Store
from hedgerow.privacy.raising import least, raised

Act = Callable[[], tuple[bytes, bytes | None]]
Question = str | bytes | None
BYTES = "application/octet-stream"
_NOBODY: Mapping[str, str | None] = {"analyst": OWNER, "request": None, "question": None, "run": None}


class Transaction(Announcing):
    """Lines that are committed together; nothing in it may be shown to anyone before it has ended."""

    def __init__(self, book: Book, store: Store, durable: bool) -> None:
        self._book = book
        self._store = store
        self._durable = durable
        self._here = (os.getpid(), threading.get_ident())
        self._time = _now()  # before any act, so that it says nothing about rows
        self.head = self._store.head()  # the newest line, with those of this transaction
        self._acting = False
        self.failed = False  # an act in it, even if its exception was swallowed
        self._noted: dict[str, Account] = {}  # accounts as notes of this transaction left them
        self.over = False

    @property
    def newest(self) -> int:
        """The number of the ledger's newest line, with those of this transaction."""
        return self.head.seq

    def check(self, cost: Cost, account: str = OWNER, scope: Scope | None = None) -> None:
        """Raise BudgetExceeded if an account cannot afford a cost."""
        self._book.afford(cost, account, scope)

    def recall(self, request: str, question: str | bytes | Event, analyst: str = OWNER) -> Entry | None:
        """The entry that a request id already has, as in `Ledger.recall`."""
        return self._book.recall(request, question, analyst)

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
        """Charge a private act and carry it out, as in `Ledger.charge`; durable when the transaction ends."""
        if run == CLAIMS:
            raise LedgerError(f"The run {CLAIMS!r} is the ledger's own.")
        known, asker = self._meet(event, analyst, request, question, run)
        if known is not None:
            return known
        self._must_last()
        event = from_json(event.to_json())  # what will be read from the line is what is charged
        cost = cost_of(event, self._book.currency)
        holder = self._filled(cost, account)
        scope = None if holder.profile is None else holder.profile.everything
        answer, state = self._carry_out(act)
        after = holder.paying(cost, scope)
        charged = self._write(
            "charge",
            after,
            cost,
            event=event,
            asker=asker,
            note=note,
            details={"claims": [claim.to_json() for claim in claims]} if claims else None,
            released=(answer, content_type),
            state=state,
            scope=scope,
        )
        if claims:
            words, about = said(charged.seq, claims), {"line": charged.seq}
            self._write("note", after, asker={**_NOBODY, "run": CLAIMS}, words=words, details=about)
        return charged

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
        if run == CLAIMS:
            raise LedgerError(f"The run {CLAIMS!r} is the ledger's own.")
        known, asker = self._meet(Nothing(), analyst, request, question, run)
        if known is not None:
            return known
        return self._write(
            "note",
            self._noted.get(account) or self._book.usable(account),
            asker=asker,
            note=note,
            released=None if answer is None else (answer, content_type),
            state=state,
        )

    def allot(
        self, name: str, cost: Cost, parent: str = OWNER, note: str = "", scope: Scope | None = None
    ) -> Entry:
        """Reserve a cost from an account for a new one; of growing data for some blocks or years."""
        self._must_last()
        scope = self._book.account(parent).range_for(scope)
        holder = self._filled(cost, parent, scope)
        if self._store.last(named("account", name)) is not None:
            raise LedgerError(f"There has already been an account {name!r}.", hint="choose another name")
        holder = holder.paying(cost, scope)
        words = f"Set aside for account {name!r}."
        self._write("allot", holder, cost, details={"child": name}, words=words, note=note, scope=scope)
        child = Account(name, parent, cost, Cost.zero(cost.currency), scope=scope)
        return self._write("open", child, words=f"Opened from account {parent!r}.", note=note)

    def settle(self, name: str, note: str = "") -> Entry:
        """Close an allotted account and those below it; what was not spent goes back."""
        self._must_last()
        parent = self._book.usable(name).parent
        if parent is None:
            raise LedgerError(f"The account {name!r} is the owner's and stays open.")
        for child in self._store.children(name):
            if not self._book.account(child).closed:
                self.settle(child, note)
        account = self._book.account(name)
        self._write("close", account, words="Closed.", note=note)
        holder, rest, scope = self._book.account(parent), account.remaining, account.scope
        holder = holder.paying(rest, scope, back=True)
        words = f"Came back from account {name!r}."
        back = self._write(
            "return", holder, rest, details={"child": name}, words=words, note=note, scope=scope
        )
        return self._emptied(parent) or back

    def void(self, note: str, name: str = OWNER) -> None:
        """Close what was set aside from an account before lines were lost: they may have spent it.

        What comes back is for whoever calls this to count as spent, in the same transaction. Accounts under a
        limit have nothing of their own: they stay, and those below them are closed.
        """
        for child in self._store.children(name):
            if self._book.account(child).closed or child.startswith(LOST):
                continue
            if self._book.limit(child) is None:
                self.settle(child, note)
            else:
                self.void(note, child)
                self._emptied(child)

    def limit(self, name: str, most: Cost | None, note: str = "") -> Entry:
        """Let an account spend so much in all, or as much as there is, with nothing set aside for it."""
        self._must_last()
        if self._store.last(named("account", name)) is None:
            self.allot(name, Cost.zero(self._book.currency), note=note)
        account = self._book.usable(name)
        if account.parent is None or (self._book.limit(name) is None and not account.limit.is_zero):
            raise LedgerError(f"The account {name!r} has money of its own, and no limit.")
        words = "May spend what there is." if most is None else "May spend up to a limit."
        details, asker = {"most": most and grains_of(most)}, {**_NOBODY, "run": Limit.run(name)}
        return self._write("limit", account, details=details, words=words, note=note, asker=asker)

    def _filled(self, cost: Cost, name: str, scope: Scope | None = None) -> Account:
        """An account that can pay a cost; one under a limit is given what it lacks."""
        account = self._book.afford(cost, name, scope)
        lacking, own = account.lacking(cost, scope), account.scope
        if lacking.is_zero:
            return account
        limit = self._book.limit(name)
        assert limit is not None  # else it could not afford it
        paid = self._filled(lacking, limit.parent, own).paying(lacking, own)
        words = f"Given to account {name!r}."
        self._write("allot", paid, lacking, details={"child": name}, words=words, scope=own)
        account = replace(account, limit=account.limit + lacking)
        self._write("grow", account, lacking, words=f"Given by account {limit.parent!r}.")
        return account

    def _emptied(self, name: str) -> Entry | None:
        """What an account under a limit does not need goes back to whoever gave it."""
        account, limit = self._book.account(name), self._book.limit(name)
        rest = account.remaining
        if limit is None or rest.is_zero:
            return None
        shrunk = replace(account, limit=account.spent)
        self._write("shrink", shrunk, rest, words=f"Went back to account {limit.parent!r}.")
        holder = self._book.account(limit.parent).paying(rest, account.scope, back=True)
        words = f"Came back from account {name!r}."
        back = self._write("return", holder, rest, details={"child": name}, words=words, scope=account.scope)
        return self._emptied(limit.parent) or back

    def raise_budget(self, budget: Budget, reason: str) -> Entry:
        """Give the dataset a larger budget."""
        self._must_last()
        holder = self._book.account(OWNER)
        if not isinstance(budget, Budget):
            raise LedgerError(f"A budget is raised to a Budget, not to a {type(budget).__name__}.")
        if not isinstance(reason, str) or not reason.strip():
            raise LedgerError("A budget is raised for a reason, and none was given.")
        if budget.currency != self._book.currency:
            raise LedgerError(f"This ledger counts {self._book.currency}, not {budget.currency}.")
        details: dict[str, Any] = {}
        if holder.spent.currency == "rho" and not holder.spent.is_zero:
            budget, details["index"] = self._stated(budget)
        now = self._book.budget
        lower = budget.delta_exact < now.delta_exact or budget.epsilon < now.epsilon
        if lower or not holder.limit <= budget.cost or holder.limit == budget.cost:
            raise LedgerError(f"A budget is only raised, and {budget} is not above {now}.")
        holder = replace(holder, limit=budget.cost)
        words = f"The budget became {budget}."
        return self._write("raise", holder, details=budget.to_json() | details, words=words, note=reason)

    def _stated(self, budget: Budget) -> tuple[Budget, int]:
        """What a budget that is raised after answers allows; refused unless that is more than before."""
        base, limit = self._book.first_budget, self._book.account(OWNER).limit.amount
        try:
            stated, index = raised(base, budget)
        except ValueError as error:
            raise LedgerError(str(error)) from None
        if stated.cost.amount <= limit and budget.epsilon_exact is not None:
            enough = float(least(base, budget, limit)) * 1.001  # as four digits round it, it still is enough
            raise LedgerError(
                "A budget that is raised after answers were given also pays for that choice: at delta "
                f"{small(budget.delta)} it takes at least epsilon {enough:.4g}, not {budget.epsilon:.4g}."
            )
        return stated, index

    def _meet(
        self, event: Event, analyst: str, request: str | None, question: Question, run: str | None
    ) -> tuple[Entry | None, Mapping[str, str | None]]:
        """What the request already got, if anything, and the public fields that say who asks what."""
        self._refuse_elsewhere()
        asked = event if question is None else question
        known = None if request is None else self.recall(request, asked, analyst)
        if known is None:
            refuse_refining(self._store, event, request)
        return known, {
            "analyst": named("analyst", analyst),
            "request": request,
            "question": None if request is None and question is None else question_digest(asked),
            "run": None if run is None else named("run", run),
        }

    def _carry_out(self, act: Act) -> tuple[bytes, bytes | None]:
        self._acting = True
        try:
            answer, state = act()
            if not isinstance(answer, bytes) or not isinstance(state, bytes | None):
                raise TypeError("An act returns its answer as bytes, and state as bytes or None.")
            return answer, state
        except BaseException:
            self.failed = True
            raise
        finally:
            self._acting = False

    def _refuse_elsewhere(self) -> None:
        if self.over or self._acting or (os.getpid(), threading.get_ident()) != self._here:
            raise LedgerError(
                "A ledger transaction is written by its own thread, outside acts, until it ends."
            )

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
        asker: Mapping[str, str | None] = _NOBODY,
        words: str = "",
        note: str = "",
        details: Mapping[str, Any] | None = None,
        released: tuple[bytes, str] | None = None,
        state: bytes | None = None,
        scope: Scope | None = None,
    ) -> Entry:
        """Append the line that leaves an account as `after`."""
        self._refuse_elsewhere()
        fields = _public(kind, after, cost, event or Nothing(), words, note, details or {}, released, scope)
        fields |= {"seq": self.head.seq + 1, "time": self._time, **asker}
        line = Line.after(self.head.hash, fields, released and released[0], state)
        self._store.append(line)
        self.head = line
        self._noted = self._noted | {after.name: after} if kind == "note" else {}
        return Entry.read(line)


def opening(settings: Settings, note: str = "") -> Line:
    """Line 0: the settings in public, a new row-bounding key as its secret state."""
    limit = settings.budget.cost
    profile = Profile(limit.currency) if settings.cells else None
    owner = Account(OWNER, None, limit, Cost.zero(limit.currency), profile=profile)
    fields = _public("open", owner, None, Nothing(), "Opened.", note, settings.to_json(), None, None)
    fields |= {"seq": 0, "time": _now(), **_NOBODY}
    return Line.after(GENESIS, fields, None, secrets.token_bytes(32))


def _now() -> str:
    """The time, UTC, in whole seconds: a finer one could tell how long an act took."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _public(
    kind: str,
    after: Account,
    cost: Cost | None,
    event: Event,
    words: str,
    note: str,
    details: Mapping[str, Any],
    released: tuple[bytes, str] | None,
    scope: Scope | None,
) -> dict[str, Any]:
    """The public fields of a line that leaves an account as `after`.

    Only lines of growing data have the owner's profile, and the blocks or years of an amount.
    """
    answer, media = released or (b"", "")
    scope = scope if after.parent is None else after.scope
    grown: dict[str, Any] = {} if after.profile is None else {"profile": after.profile.to_json()}
    grown |= {} if scope is None else {"scope": list(scope)}
    return grown | {
        "kind": kind,
        "account": after.name,
        "parent": after.parent,
        "event": event.to_json(),
        "words": words or event.describe(),
        "note": note,
        "cost": grains_of(cost or Cost.zero(after.spent.currency)),
        "spent": grains_of(after.spent),
        "limit": grains_of(after.limit),
        "details": details,
        "answer": released and {"sha256": digest(answer), "size": len(answer), "type": media},
    }
