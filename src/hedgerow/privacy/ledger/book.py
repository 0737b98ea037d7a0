"""Book: a ledger as it is read - who may pay what, which request was answered before, and receipts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

from hedgerow.errors import BudgetExceeded, LedgerError, LimitExceeded, RequestReused
from hedgerow.figures import small
from hedgerow.privacy.budget import Budget, Cost, Currency, rho_of
from hedgerow.privacy.event import Event
from hedgerow.privacy.ledger.claim import CLAIMS
from hedgerow.privacy.ledger.entry import LOST, OWNER, YEARS, Account, Entry, Raise, Settings, named
from hedgerow.privacy.ledger.limit import Limit
from hedgerow.privacy.ledger.line import Line, canonical, digest
from hedgerow.privacy.ledger.profile import Scope
from hedgerow.privacy.ledger.receipt import Receipt, Verification, exported, verify_lines
from hedgerow.privacy.ledger.refined import lost_after
from hedgerow.privacy.ledger.store import Store
from hedgerow.privacy.raising import restated
from hedgerow.privacy.share import used_up


class Book:
    """What a ledger's lines say and allow: sums of epsilon, or of rho and delta, bind adaptive costs too.

    Args:
        store: where the lines are.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        try:
            self.made = Settings.from_json(json.loads(store.first().text)["details"])
        except (KeyError, TypeError, ValueError) as error:
            raise LedgerError("The first line of the ledger cannot be read.") from error

    @property
    def currency(self) -> Currency:
        """What the ledger sums: "epsilon" or "rho"."""
        return self.made.budget.currency

    @property
    def simulation(self) -> bool:
        """Whether the ledger lives in memory only and protects nobody."""
        return self.made.simulation

    @property
    def row_key(self) -> bytes:
        """The secret key by which a unit's rows are chosen when it has more than max_rows."""
        return cast(bytes, self._store.first().state)

    @property
    def newest(self) -> int:
        """The number of the newest line."""
        return self._store.newest()

    # -- what it promises ---------------------------------------------------------------------------------

    @property
    def budget(self) -> Budget:
        """What may be spent in all, as last raised."""
        return self._budget_at(None)

    def _budget_at(self, seq: int | None) -> Budget:
        line = self._store.raised(seq)
        return self.made.budget if line is None else self._promise(line)

    @property
    def first_budget(self) -> Budget:
        """The budget that was in force when the first answer was paid for, or is in force if none was."""
        return self._first_at(None)

    def _first_at(self, seq: int | None) -> Budget:
        """As of a line: raises before the first answer are first promises."""
        line = self._store.raised(seq)
        while line is not None and (was := Raise.read(line)).seen:
            line = self._store.raised(line.seq - 1)
        return self.made.budget if line is None else was.budget

    @property
    def recorded_budget(self) -> Budget:
        """The budget as its newest line puts it; earlier versions recorded more than a raised one keeps."""
        line = self._store.raised()
        return self.made.budget if line is None else Raise.read(line).budget

    @property
    def settings(self) -> Settings:
        """What the ledger was made for, with the budget and the years as last raised."""
        return self._settings_at(None)

    def _settings_at(self, seq: int | None) -> Settings:
        return replace(self.made, budget=self._budget_at(seq), years=self.years(seq))

    def years(self, seq: int | None = None) -> int | None:
        """For how many years the promise of a lifetime is declared, as last raised up to a line."""
        raised = None if self.made.growing != "yearly" else self.raised_years(seq)
        return self.made.years if raised is None else raised.details["years"]

    def raised_years(self, seq: int | None = None) -> Entry | None:
        """The newest line that raised the declared number of years, up to a line."""
        found = [Entry.read(line) for line in self._store.lines(YEARS) if seq is None or line.seq <= seq]
        return found[-1] if found else None

    def readings(self) -> tuple[Fraction, ...]:
        """The deltas at which epsilons were ever read as rho here, the present one first."""
        found, line = [self.budget.conversion_delta], self._store.raised()
        while line is not None:
            found += [self._promise(line).conversion_delta, Raise.read(line).budget.conversion_delta]
            line = self._store.raised(line.seq - 1)
        return tuple(dict.fromkeys([*found, self.made.budget.conversion_delta]))

    def meant(self, epsilon: Fraction, request: str | None = None) -> Cost:
        """The rho that an epsilon stands for: now, or when the line of a request id was written.

        A raise changes what an epsilon buys, and must not change what was bought.
        """
        line = None if request is None else self._store.requested(request)
        if line is None:
            return Cost("rho", rho_of(epsilon, self.budget.conversion_delta))
        paid = Entry.read(line).cost.amount
        amounts = (rho_of(epsilon, delta) for delta in self.readings())
        return Cost("rho", min(amounts, key=lambda rho: abs(rho - paid)))

    def _promise(self, line: Line) -> Budget:
        was = Raise.read(line)
        return was.budget if was.index or not was.seen else restated(self._first_at(line.seq), was.budget)

    # -- accounts -----------------------------------------------------------------------------------------

    def account(self, name: str, seq: int | None = None) -> Account:
        """An account as of a line, or now."""
        line = self._store.last(named("account", name), seq)
        if line is None:
            raise LedgerError(f"There is no account {name!r}.", hint="`hedgerow budget list` names them all")
        return Account.after(line)

    def spent(self, account: str = OWNER) -> Cost:
        """What an account has spent, with what it allotted to others."""
        return self.account(account).spent

    def held(self, account: str) -> Cost:
        """What an account was given and has not spent; what a limit still lets it have is not in it."""
        return self.account(account).remaining

    def is_closed(self, account: str) -> bool:
        """Whether an account was settled."""
        return self.account(account).closed

    def children(self, account: str = OWNER) -> list[str]:
        """The accounts that were ever allotted from an account, in order."""
        return self._store.children(account)

    def descends(self, account: str, ancestor: str) -> bool:
        """Whether an account was allotted from another one, directly or through others in between."""
        parent = self.account(account).parent
        return parent is not None and (parent == ancestor or self.descends(parent, ancestor))

    def usable(self, name: str) -> Account:
        """An account that is not closed."""
        account = self.account(name)
        if account.closed:
            raise LedgerError(f"The account {name!r} is closed.", hint="allot another, of another name")
        if name.startswith(LOST):
            raise LedgerError(f"The account {name!r} holds what lost lines may have spent: it stays spent.")
        return account

    def afford(self, cost: Cost, name: str, scope: Scope | None = None) -> Account:
        """An account that can pay a cost, for some blocks or years; otherwise BudgetExceeded."""
        if not isinstance(cost, Cost):
            raise LedgerError(f"What is paid is a Cost, not a {type(cost).__name__}.")
        if cost.currency != self.currency:
            raise LedgerError(f"This ledger counts {self.currency}, not {cost.currency}.")
        account = self.usable(name)
        self._refuse_narrow(account)
        lacking = account.lacking(cost, scope)
        limit = None if lacking.is_zero else self.limit(name)
        if limit is not None and limit.allows(account, lacking):
            self.afford(lacking, limit.parent, account.scope)
        elif not lacking.is_zero:
            budget = self.budget
            if limit is not None:
                raise LimitExceeded(
                    limit.refusal(cost, account, budget),
                    hint="ask for less accuracy, or let the owner enlarge the limit",
                    needed=budget.part(cost),
                    remaining=budget.part(limit.room(account) + account.remaining),
                )
            rest = account.within(scope)
            needed, left = budget.part(cost), budget.part(rest)
            raise BudgetExceeded(_refusal(cost, account, rest, budget), needed=needed, remaining=left)
        return account

    def check(self, cost: Cost, account: str = OWNER, scope: Scope | None = None) -> None:
        """Raise BudgetExceeded if an account cannot afford a cost; charges nothing.

        >>> from hedgerow.privacy.ledger.ledger import Ledger
        >>> Ledger.open(":memory:", budget=Budget(epsilon=1)).check(Cost("epsilon", 2))
        Traceback (most recent call last):
        hedgerow.errors.BudgetExceeded: This asks for epsilon 2, but of epsilon 1 only 1 remains.
        """
        self.afford(cost, account, scope)

    def _refuse_narrow(self, account: Account) -> None:
        """Once units may be in several blocks, what was set aside for some of them pays for nothing more."""
        if account.scope is not None and self.is_narrow(account.name):
            raise LedgerError(
                f"The account {account.name!r} is for some blocks. Units may be in several since, so nothing "
                "is charged to some of them alone: settle it, and set money aside for all."
            )

    def is_narrow(self, name: str) -> bool:
        """Whether an account is for some blocks, and units may be in several since."""
        scope = self.account(name).scope
        profile = self.account(OWNER).profile if scope is not None else None
        return profile is not None and profile.ended and scope != profile.everything

    def limit(self, name: str) -> Limit | None:
        """The limit under which an account spends, if it does so under one: it is filled as it spends."""
        lines = [] if name == OWNER else self._store.lines(Limit.run(name))
        own = [line for line in lines if (line.field("kind"), line.field("account")) == ("limit", name)]
        return Limit.read(own[-1]) if own else None

    def remaining(self, account: str = OWNER, scope: Scope | None = None) -> Cost:
        """What an account may still spend, for some blocks of growing data; nothing once it is closed.

        It is what it has, and what its limit and the budget let it be given.
        """
        held = self.account(account)
        if held.closed:
            return Cost.zero(self.currency)
        limit = self.limit(account)
        if limit is None:
            return held.within(scope)
        return held.remaining + least(limit.room(held), self.remaining(limit.parent, held.scope))

    # -- lines --------------------------------------------------------------------------------------------

    def recall(self, request: str, question: str | bytes | Event, analyst: str = OWNER) -> Entry | None:
        """What a request id was answered, or None; RequestReused if it belongs to another question."""
        line = self._store.requested(named("request id", request))
        if line is None:
            return None
        entry = Entry.read(line)
        if (entry.analyst, entry.question) != (analyst, question_digest(question)):
            raise RequestReused(
                f"The request id {request!r} was already used for another question or by another analyst."
            )
        return replace(entry, replayed=True)

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
        spent, claims = self.account(OWNER, head.seq).spent, self.claims(head.seq)
        return Receipt(self._settings_at(head.seq), head.seq, head.hash.hex(), spent, claims)

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


def least(one: Cost, other: Cost) -> Cost:
    """The smaller of two costs, part by part."""
    return Cost(one.currency, min(one.amount, other.amount), min(one.delta, other.delta))


def question_digest(question: str | bytes | Event) -> str:
    """What a request id is bound to."""
    if isinstance(question, Event):
        question = canonical(question.to_json())
    return digest(question.encode() if isinstance(question, str) else question)


def _refusal(cost: Cost, account: Account, rest: Cost, budget: Budget) -> str:
    """One sentence: what was asked for, what remains, and so can be had, in epsilon where there is one."""
    whose = "" if account.name == OWNER else f" in account {account.name!r}"
    if cost.amount <= rest.amount:
        asked, left = _apart(float(cost.delta), float(rest.delta))
        of = f"of the delta {float(account.limit.delta):.6g} kept for such acts"
        return f"This asks for delta {asked}, but {of} only {left} remains{whose}."
    unit, amounts = cost.currency, [float(part.amount) for part in (cost, rest, account.limit)]
    told = [budget.part(part).epsilon for part in (cost, rest, account.limit)]
    if unit == "rho" and budget.conversion_delta and told[0]:
        unit, amounts = "epsilon", told
    asked, left = _apart(*amounts[:2])
    if used_up(rest, budget):
        there = f"nothing is left of {unit} {amounts[2]:.6g}"
    else:
        there = f"of {unit} {amounts[2]:.6g} only {left} remains"
    said = f"This asks for {unit} {asked}, but {there}{whose}"
    return f"{said}." if unit == cost.currency else f"{said} (at delta {small(budget.delta)})."


def _apart(asked: float, left: float) -> tuple[str, str]:
    """Two numbers with as many digits as it takes to tell them apart."""
    for digits in (6, 9, 13, 17):
        if f"{asked:.{digits}g}" != f"{left:.{digits}g}":
            break
    return f"{asked:.{digits}g}", f"{left:.{digits}g}"
