"""Receipts of a ledger, and the walk that shows whether a ledger still is what its receipts say."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from hedgerow.errors import HedgerowError, LedgerError
from hedgerow.figures import small
from hedgerow.privacy.accountant import cost as cost_of
from hedgerow.privacy.budget import Budget, Cost
from hedgerow.privacy.ledger.claim import unsaid
from hedgerow.privacy.ledger.entry import OWNER, Account, Entry, Raise, Settings, grains_from
from hedgerow.privacy.ledger.growth_walk import GrowthWalk
from hedgerow.privacy.ledger.limit import Limit
from hedgerow.privacy.ledger.line import FORMAT, GENESIS, Line, canonical, chain, commit_to, digest
from hedgerow.privacy.ledger.profile import checked
from hedgerow.privacy.ledger.refined import Refinings
from hedgerow.privacy.raising import holds, restated

_UNREADABLE = (HedgerowError, AttributeError, KeyError, TypeError, ValueError)


def _told(budget: Budget) -> str:
    """Epsilon, which people compare; rho where no epsilon is stated."""
    return f"epsilon {budget.epsilon:.4g}" if isfinite(budget.epsilon) else f"rho {budget.rho:.4g}"


@dataclass(frozen=True)
class Receipt:
    """What a ledger said at one moment, for whoever wants to hold it to that later.

    Args:
        settings: the ledger's id, budget, neighbours, unit, max_rows, and whether it is a simulation.
        seq: the number of its newest line.
        head: the chain hash of that line, in hex.
        spent: the owner's total at that line.
        claims: the numbers of the lines that are private if what their authors claim is true.
    """

    settings: Settings
    seq: int
    head: str
    spent: Cost
    claims: tuple[int, ...] = ()

    def describe(self) -> str:
        """The receipt in words."""
        s = self.settings
        whom = "row" if s.unit is None else f"{s.unit} with at most {s.max_rows} rows"
        note = f" {resting(self.claims)}" if self.claims else ""
        note += " It is a simulation and protects nobody." if s.simulation else ""
        return (
            f"Ledger {s.ledger} had spent {_told(s.budget.part(self.spent))} of {_told(s.budget)}"
            f"{f', delta {small(s.budget.delta)}' if s.budget.delta else ''} at line {self.seq}, "
            f"protecting each {whom} ({s.neighbours}); its chain head was {self.head}.{note}"
        )

    def to_json(self) -> dict[str, Any]:
        """The receipt as JSON data, exact."""
        told = {"seq": self.seq, "head": self.head, "spent": self.spent.to_json()}
        return self.settings.to_json() | told | ({"claims": list(self.claims)} if self.claims else {})

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Receipt:
        """The receipt that `to_json` wrote."""
        spent, claims = Cost.from_json(data["spent"]), tuple(data.get("claims", ()))
        return cls(Settings.from_json(data), data["seq"], data["head"], spent, claims)


def resting(claims: Sequence[int]) -> str:
    """One sentence about the lines that rest on claims, the first few by their numbers."""
    some = ", ".join(map(str, claims[:8])) + (f" and {len(claims) - 8} more" if len(claims) > 8 else "")
    one = len(claims) == 1
    return f"Line{'' if one else 's'} {some} {'is' if one else 'are'} private if the author's claim is true."


@dataclass(frozen=True)
class Verification:
    """The outcome of walking a ledger: how many lines it has and what is wrong with them.

    Args:
        entries: the number of lines read.
        problems: one sentence for each thing that is wrong.
        spent: what the owner's account had spent in all, recomputed.
    """

    entries: int
    problems: tuple[str, ...]
    spent: Cost | None

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def describe(self) -> str:
        """The outcome in words."""
        if self.ok:
            return f"All {self.entries} lines of the ledger verify."
        return " ".join(self.problems)


def verify_lines(lines: Iterable[Line], receipt: Receipt | None = None) -> Verification:
    """Walk lines from the first on, and compare them with a receipt."""
    if not isinstance(receipt, Receipt | None):
        raise LedgerError(f"A ledger is compared with a Receipt, not with a {type(receipt).__name__}.")
    walk = _Walk(receipt)
    for line in lines:
        walk.step(line)
    walk.finish()
    owner = walk.accounts.get(OWNER)
    return Verification(walk.seq, tuple(walk.problems), owner.spent if owner else None)


def verify_export(export: Mapping[str, Any], receipt: Receipt | None = None) -> Verification:
    """Verify what `Ledger.export` wrote, without access to the ledger.

    Args:
        export: the exported JSON data.
        receipt: an earlier receipt that it must agree with.

    >>> from hedgerow.privacy.ledger.ledger import Ledger
    >>> ledger = Ledger.open(":memory:", budget=Budget(epsilon=1))
    >>> verify_export(ledger.export(), ledger.receipt()).describe()
    'All 1 lines of the ledger verify.'
    """
    try:
        if export["hedgerow_ledger"] != FORMAT:
            return Verification(0, ("The export has a format that this Hedgerow cannot read.",), None)
        lines = list(_read(export["entries"]))
    except _UNREADABLE:
        return Verification(0, ("This is not the export of a ledger.",), None)
    return verify_lines(lines, receipt)


def exported(lines: Iterable[Line], answers: bool = False) -> dict[str, Any]:
    """The public side of lines as JSON data, for `verify_export`; `answers` includes the answers."""
    entries = []
    for line in lines:
        entry: dict[str, Any] = {
            "line": json.loads(line.text),
            "commitment": line.commitment.hex(),
            "hash": line.hash.hex(),
        }
        if answers and line.answer is not None:
            entry["answer"] = base64.b64encode(line.answer).decode()
        entries.append(entry)
    return {"hedgerow_ledger": FORMAT, "entries": entries}


def _read(entries: Iterable[Mapping[str, Any]]) -> Iterator[Line]:
    """The lines in an export, without what is secret."""
    for entry in entries:
        answer = base64.b64decode(entry["answer"], validate=True) if "answer" in entry else None
        commitment, hashed = bytes.fromhex(entry["commitment"]), bytes.fromhex(entry["hash"])
        yield Line(entry["line"]["seq"], canonical(entry["line"]), commitment, hashed, answer)


class _Walk:
    """The ledger's arithmetic done again, line by line, from nothing but the lines."""

    def __init__(self, receipt: Receipt | None) -> None:
        self.receipt = receipt
        self.met = receipt is None
        self.seq = 0
        self.previous = GENESIS
        self.settings: Settings | None = None
        self.base: Budget  # in force when the first answer was paid for
        self.recorded: Budget  # as the newest raise puts it
        self.accounts: dict[str, Account] = {}
        self.limits: dict[str, Cost | None] = {}  # of accounts that are filled as they spend
        self.requests: set[str] = set()
        self.growth = GrowthWalk()
        self.refinings = Refinings()
        self.claims: list[int] = []
        self.claimed: int | None = None  # the line before, if it rests on claims
        self.due: tuple[str, str, str | None, Cost] | None = None  # what the next line must say
        self.problems: list[str] = []

    def step(self, line: Line) -> None:
        """Check one line, then go on from what it claims, so that each fault is reported once."""
        faults: list[str | None] = [
            None if line.seq == self.seq else f"line {self.seq} was expected here, so lines are missing",
            None if chain(self.previous, line.text, line.commitment) == line.hash else "the chain breaks",
            self._contents(line),
        ]
        try:
            entry = Entry.read(line)
            faults += [*self._meaning(entry), self.refinings.fault(entry)]
            self.accounts[entry.account] = Account.after(line)
        except _UNREADABLE:
            faults.append("the line cannot be read")
        self.problems += [f"Line {line.seq}: {fault}." for fault in faults if fault]
        self.previous, self.seq = line.hash, line.seq + 1
        if self.receipt is not None and line.seq == self.receipt.seq:
            self._meet(line, self.receipt)

    def finish(self) -> None:
        """Check that the ledger did not end too early."""
        if self.due is not None:
            self.problems.append(f"The ledger ends where a line of kind {self.due[0]!r} must follow.")
        if self.claimed is not None:
            self.problems.append(f"The ledger ends where a line must speak of line {self.claimed}'s claim.")
        if self.seq == 0:
            self.problems.append("The ledger has no lines.")
        if self.met or self.receipt is None:
            return
        if self.settings is None or self.settings.ledger != self.receipt.settings.ledger:
            self.problems.append(f"The receipt is for another ledger, {self.receipt.settings.ledger}.")
        else:
            self.problems.append(
                f"The ledger ends before line {self.receipt.seq}, for which the receipt was given: "
                "lines were removed, or an old copy was put back."
            )

    def _meet(self, line: Line, receipt: Receipt) -> None:
        self.met = True
        owner = self.accounts.get(OWNER)
        if self.settings is None or self.settings.ledger != receipt.settings.ledger:
            self.problems.append(f"The receipt is for another ledger, {receipt.settings.ledger}.")
        elif line.hash.hex() != receipt.head:
            self.problems.append(
                f"Line {line.seq} is not the line that the receipt was given for: the ledger was rewritten, "
                "or an old copy was put back and continued."
            )
        elif not self._agrees(receipt.settings) or (owner and owner.spent, tuple(self.claims)) != (
            receipt.spent,
            receipt.claims,
        ):
            self.problems.append(f"The receipt does not say what the ledger said at line {line.seq}.")

    def _agrees(self, settings: Settings) -> bool:
        """Whether a receipt has these settings; an earlier version's has the budget as recorded."""
        assert self.settings is not None
        return settings in (self.settings, replace(self.settings, budget=self.recorded))

    def _contents(self, line: Line) -> str | None:
        """Whether text, answer and secret state are those that were hashed."""
        try:
            data = json.loads(line.text)
            if canonical(data) != line.text or data["seq"] != line.seq:
                return "the line is not in its written form"
            if line.nonce is not None and commit_to(line.nonce, line.state) != line.commitment:
                return "its secret state was changed"
            claimed = data["answer"] and data["answer"]["sha256"]
            if line.answer is not None and digest(line.answer) != claimed:
                return "its answer was changed"
            if line.answer is None and line.nonce is not None and claimed is not None:
                return "its answer is gone"
        except _UNREADABLE:
            return "the line cannot be read"
        return None

    def _meaning(self, entry: Entry) -> list[str | None]:
        """What is wrong with an entry in the light of those before it."""
        if entry.seq == 0:
            return [self._opening(entry)]
        repeated = entry.request is not None and entry.request in self.requests
        if entry.request is not None:
            self.requests.add(entry.request)
        due, self.due = self.due, None
        faults = [f"the request id {entry.request!r} comes a second time" if repeated else None]
        faults.append(unsaid(entry.kind, entry.details, entry.run, self.claimed))
        self.claimed = entry.seq if entry.kind == "charge" and entry.details.get("claims") else None
        self.claims += [] if self.claimed is None else [self.claimed]
        if due is not None and due != self._partner(entry):
            faults.append(f"a line of kind {due[0]!r} for account {due[1]!r} must come here")
        elif due is None and entry.kind in ("open", "return", "grow"):
            faults.append(f"nothing before it calls for a line of kind {entry.kind!r}")
        if self.settings is not None:
            faults.append(self.growth.fault(entry, self.settings, self.accounts))
            if entry.kind == "years" and not any(faults):
                self.settings = replace(self.settings, years=entry.details["years"])
        return [*faults, self._total(entry)]

    def _opening(self, entry: Entry) -> str | None:
        self.settings = Settings.from_json(entry.details)
        self.base = self.recorded = self.settings.budget
        limit = self.settings.budget.cost
        sound = (entry.kind, entry.account, entry.parent, entry.limit) == ("open", OWNER, None, limit)
        return None if sound and entry.spent.is_zero and entry.cost.is_zero else "it does not open a ledger"

    @staticmethod
    def _partner(entry: Entry) -> tuple[str, str, str | None, Cost]:
        """The second line of a pair: its kind, its account, the other account, the amount."""
        if entry.kind == "open":
            return entry.kind, entry.account, entry.parent, entry.limit
        if entry.kind == "grow":
            return entry.kind, entry.account, entry.parent, entry.cost
        return entry.kind, entry.account, entry.details.get("child"), entry.cost

    def _total(self, entry: Entry) -> str | None:
        """Whether the cost follows from the event and the totals from the lines before."""
        if self.settings is None:
            return "there are no settings before it"
        before = self.accounts.get(entry.account)
        if entry.kind == "open":
            fresh = before is None and entry.spent.is_zero and entry.cost.is_zero and entry.parent
            return None if fresh else "it does not open a new account"
        if before is None or before.closed or before.parent != entry.parent:
            return "its account is not open"
        expected = self._expected(entry, before)
        if isinstance(expected, str):
            return expected
        cost, spent, limit = expected
        if entry.cost != cost or cost_of(entry.event, cost.currency) != (
            cost if entry.kind == "charge" else Cost.zero(cost.currency)
        ):
            return "its cost is not what its event costs"
        if (entry.spent, entry.limit) != (spent, limit):
            return "its totals do not follow from the lines before"
        return None if entry.spent <= entry.limit else "it spends more than there is"

    def _expected(self, entry: Entry, before: Account) -> tuple[Cost, Cost, Cost] | str:
        """The (cost, spent, limit) that an entry must have, and what must follow it."""
        assert self.settings is not None
        currency = self.settings.budget.currency
        nothing = Cost.zero(currency)
        scope = None if entry.scope is None else checked(entry.scope)
        if entry.kind == "charge":
            cost = cost_of(entry.event, currency)
            return cost, before.paying(cost, scope).spent, before.limit
        if entry.kind in ("note", "block", "ended", "years"):
            return nothing, before.spent, before.limit
        if entry.kind == "allot":
            child = entry.details["child"]
            self.due = ("grow" if child in self.limits else "open", child, entry.account, entry.cost)
            return entry.cost, before.paying(entry.cost, scope).spent, before.limit
        if entry.kind == "close" and before.parent is not None:
            self.due = ("return", before.parent, entry.account, before.remaining)
            return nothing, before.spent, before.limit
        if entry.kind == "return" and entry.cost <= before.spent:
            return entry.cost, before.paying(entry.cost, scope, back=True).spent, before.limit
        if entry.kind in ("limit", "grow", "shrink") and before.parent is not None:
            return self._under_limit(entry, before)
        if entry.kind == "raise" and entry.account == OWNER and entry.note.strip():
            return self._raised(entry, before)
        return f"an account like {entry.account!r} has no lines of kind {entry.kind!r}"

    def _under_limit(self, entry: Entry, before: Account) -> tuple[Cost, Cost, Cost] | str:
        """A limit moves nothing; growing keeps within it; shrinking gives all back that is not spent."""
        if entry.kind == "limit":
            most = entry.details["most"]
            if entry.run != Limit.run(entry.account):
                return "it is not where the limits of its account are read"
            if entry.account not in self.limits and not before.limit.is_zero:
                return "it puts a limit on money that was set aside"
            self.limits[entry.account] = None if most is None else grains_from(most)
            return Cost.zero(before.spent.currency), before.spent, before.limit
        if entry.account not in self.limits:
            return f"an account without a limit has no lines of kind {entry.kind!r}"
        if entry.kind == "shrink":
            self.due = ("return", entry.parent or "", entry.account, before.remaining)
            return before.remaining, before.spent, before.spent
        most, limit = self.limits[entry.account], before.limit + entry.cost
        return (entry.cost, before.spent, limit) if most is None or limit <= most else "it passes its limit"

    def _raised(self, entry: Entry, before: Account) -> tuple[Cost, Cost, Cost] | str:
        """A raise moves the limit, and promises no more than its order gives."""
        assert self.settings is not None
        was = Raise.told(entry.details, before.spent)
        budget = self.recorded = was.budget
        if not before.limit <= budget.cost or budget.currency != self.settings.budget.currency:
            return "it does not raise the budget"
        if not was.seen:
            self.base = budget
        elif was.index is None:
            budget = restated(self.base, budget)
        elif not holds(self.base, budget, was.index):
            return "it promises more than a budget raised after answers keeps"
        self.settings = replace(self.settings, budget=budget)
        return Cost.zero(budget.currency), before.spent, was.budget.cost
