"""The filter in front of a ledger: which account may pay what, and which request was answered before."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

from hedgerow.errors import BudgetExceeded, LedgerError, LimitExceeded, RequestReused
from hedgerow.figures import small
from hedgerow.privacy.budget import Budget, Cost, Currency, rho_of
from hedgerow.privacy.event import Event
from hedgerow.privacy.ledger.entry import LOST, OWNER, YEARS, Account, Entry, Raise, Settings
from hedgerow.privacy.ledger.limit import Limit
from hedgerow.privacy.ledger.line import Line, canonical, digest
from hedgerow.privacy.ledger.profile import Scope
from hedgerow.privacy.ledger.store import Store
from hedgerow.privacy.raising import restated


class Filter:
    """What the lines so far allow: sums of epsilon, or of rho and delta, bind adaptive costs too."""

    def __init__(self, store: Store) -> None:
        self.store = store
        try:
            self.made = Settings.from_json(json.loads(store.first().text)["details"])
        except (KeyError, TypeError, ValueError) as error:
            raise LedgerError("The first line of the ledger cannot be read.") from error

    @property
    def currency(self) -> Currency:
        """What the ledger sums."""
        return self.made.budget.currency

    def budget(self, seq: int | None = None) -> Budget:
        """What may be spent in all, as last raised up to a line."""
        line = self.store.raised(seq)
        return self.made.budget if line is None else self._promise(line)

    def recorded(self) -> Budget:
        """The budget as its newest line put it: an earlier version's cap promises less (`restated`)."""
        line = self.store.raised()
        return self.made.budget if line is None else Raise.read(line).budget

    def years(self, seq: int | None = None) -> int | None:
        """For how many years the promise of a lifetime is declared, as last raised up to a line."""
        raised = None if self.made.growing != "yearly" else self.raised_years(seq)
        return self.made.years if raised is None else raised.details["years"]

    def raised_years(self, seq: int | None = None) -> Entry | None:
        """The newest line that raised the declared number of years, up to a line."""
        found = [Entry.read(line) for line in self.store.lines(YEARS) if seq is None or line.seq <= seq]
        return found[-1] if found else None

    def base(self, seq: int | None = None) -> Budget:
        """The budget when the first answer was paid for: raises before that are first promises."""
        line = self.store.raised(seq)
        while line is not None and (was := Raise.read(line)).seen:
            line = self.store.raised(line.seq - 1)
        return self.made.budget if line is None else was.budget

    def readings(self) -> tuple[Fraction, ...]:
        """The deltas at which epsilons were ever read as rho here, the present one first."""
        found, line = [self.budget().conversion_delta], self.store.raised()
        while line is not None:
            found += [self._promise(line).conversion_delta, Raise.read(line).budget.conversion_delta]
            line = self.store.raised(line.seq - 1)
        return tuple(dict.fromkeys([*found, self.made.budget.conversion_delta]))

    def meant(self, epsilon: Fraction, request: str | None = None) -> Cost:
        """The rho that an epsilon stands for: now, or when the line of a request id was written."""
        line = None if request is None else self.store.requested(request)
        if line is None:
            return Cost("rho", rho_of(epsilon, self.budget().conversion_delta))
        paid = Entry.read(line).cost.amount
        amounts = (rho_of(epsilon, delta) for delta in self.readings())
        return Cost("rho", min(amounts, key=lambda rho: abs(rho - paid)))

    def _promise(self, line: Line) -> Budget:
        was = Raise.read(line)
        return was.budget if was.index or not was.seen else restated(self.base(line.seq), was.budget)

    def account(self, name: str, seq: int | None = None) -> Account:
        """An account as of a line, or now."""
        line = self.store.last(named("account", name), seq)
        if line is None:
            raise LedgerError(f"There is no account {name!r}.", hint="`hedgerow budget list` names them all")
        return Account.after(line)

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
            budget = self.budget()
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

    def _refuse_narrow(self, account: Account) -> None:
        """Once units may be in several blocks, what was set aside for some of them pays for nothing more."""
        if self.is_narrow(account):
            raise LedgerError(
                f"The account {account.name!r} is for some blocks. Units may be in several since, so nothing "
                "is charged to some of them alone: settle it, and set money aside for all."
            )

    def is_narrow(self, account: Account) -> bool:
        """Whether an account's money is for some blocks, and units may be in several since."""
        profile = self.account(OWNER).profile if account.scope is not None else None
        return profile is not None and profile.ended and account.scope != profile.everything

    def limit(self, name: str) -> Limit | None:
        """The limit under which an account is filled as it spends, if it is one of these."""
        lines = [] if name == OWNER else self.store.lines(Limit.run(name))
        own = [line for line in lines if (line.field("kind"), line.field("account")) == ("limit", name)]
        return Limit.read(own[-1]) if own else None

    def left(self, name: str, scope: Scope | None = None) -> Cost:
        """What an account may still spend: what it has, and what its limit and the budget let it be given."""
        account = self.account(name)
        if account.closed:
            return Cost.zero(self.currency)
        limit = self.limit(name)
        if limit is None:
            return account.within(scope)
        return account.remaining + least(limit.room(account), self.left(limit.parent, account.scope))

    def recall(self, request: str, question: str | bytes | Event, analyst: str) -> Entry | None:
        """The entry that a request id already has; RequestReused if it belongs to another question."""
        line = self.store.requested(named("request id", request))
        if line is None:
            return None
        entry = Entry.read(line)
        if (entry.analyst, entry.question) != (analyst, question_digest(question)):
            raise RequestReused(
                f"The request id {request!r} was already used for another question or by another analyst."
            )
        return replace(entry, replayed=True)


def least(one: Cost, other: Cost) -> Cost:
    """The smaller of two costs, part by part."""
    return Cost(one.currency, min(one.amount, other.amount), min(one.delta, other.delta))


def named(what: str, name: str) -> str:
    """A name that looks the same to SQLite, JSON and people."""
    if not isinstance(name, str) or not name or not name.isprintable():
        given = repr(name) if isinstance(name, str) else f"a {type(name).__name__}"
        raise LedgerError(f"The {what} must be printable text, not {given}.")
    return name


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
    said = f"This asks for {unit} {asked}, but of {unit} {amounts[2]:.6g} only {left} remains{whose}"
    return f"{said}." if unit == cost.currency else f"{said} (at delta {small(budget.delta)})."


def _apart(asked: float, left: float) -> tuple[str, str]:
    """Two numbers with as many digits as it takes to tell them apart."""
    for digits in (6, 9, 13, 17):
        if f"{asked:.{digits}g}" != f"{left:.{digits}g}":
            break
    return f"{asked:.{digits}g}", f"{left:.{digits}g}"
