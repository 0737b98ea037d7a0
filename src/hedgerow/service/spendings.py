"""Spendings: what a budget was spent on, put together by release, session and account."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from hedgerow.curator.growing.lasting import RANGE
from hedgerow.privacy.budget import Cost
from hedgerow.privacy.ledger.entry import OWNER, grains_from
from hedgerow.release.numerals import amount, small
from hedgerow.service.people import LATER

if TYPE_CHECKING:
    from hedgerow.privacy.budget import Budget
    from hedgerow.privacy.ledger.ledger import Ledger

Kind = Literal["budget", "release", "session", "account", "act"]
_ORDER: tuple[Kind, ...] = ("release", "session", "account", "act", "budget")

# How accounts and runs are called in ledgers; a release made in Python says so in the note of its account.
_RELEASE = re.compile(r"(\S+) release [0-9a-f]{16} \d+(?: #\d+)?")
_PLAN = re.compile(r"(\S+), plan [0-9a-f]{12}")
_SESSION = re.compile(r"(?:\S+ )?session (?:(.+) )?[0-9a-f]{12}(?:: .+)?")
_LOST = re.compile(r"lost lines .+")


@dataclass(frozen=True)
class Spending:
    """What was spent on one thing.

    Args:
        kind: a release, a session, somebody's account, acts on their own, or the budget itself.
        name: its name, for people.
        cost: what it takes of the budget, with what is set aside for it.
        held: what of that is set aside and not spent.
        first, last: when its first and last lines were written, UTC.
        lines: the numbers of its lines.
    """

    kind: Kind
    name: str
    cost: Cost
    held: Cost
    first: str
    last: str
    lines: tuple[int, ...]

    def words(self, budget: Budget) -> str:
        """As a headline.

        Args:
            budget: the dataset's.
        """
        day = self.first[:10]
        if self.kind == "budget":
            return f"The budget itself, from {day}"
        title = {
            "release": f"A release by {self.name}",
            "session": f"Questions, and learning for them (session {self.name})".replace(" (session )", ""),
            "account": f"The account {self.name}",
        }.get(self.kind, self.name)
        held = "" if self.held.is_zero else f", of which {_epsilon(self.held, budget)} is not spent"
        return (
            f"{title}, from {day}: {_epsilon(self.cost, budget) if not self.cost.is_zero else 'free'}{held}"
        )

    def to_json(self, budget: Budget) -> dict[str, Any]:
        """Plain data."""
        return {
            "kind": self.kind,
            "name": self.name,
            "epsilon": budget.part(self.cost).epsilon,
            "held": budget.part(self.held).epsilon,
            "first": self.first,
            "last": self.last,
            "lines": list(self.lines),
        }


def spendings(ledger: Ledger) -> list[Spending]:
    """What a ledger's budget was spent on, in the order in which it began; the costs add up to what is spent.

    Args:
        ledger: the dataset's.
    """
    return spendings_of([entry["line"] for entry in ledger.export()["entries"]], Cost.zero(ledger.currency))


def spendings_of(lines: Iterable[Mapping[str, Any]], nothing: Cost) -> list[Spending]:
    """The same of lines that were read already: a ledger may grow between two looks at it.

    Args:
        lines: all of a ledger's, in order.
        nothing: no cost, in its currency.
    """
    book = _Book()
    for line in lines:
        book.read(line)
    return book.closed(nothing)


def is_plan(note: str) -> bool:
    """Whether an account of this note is taken for a release's.

    Args:
        note: the words kept with it.
    """
    return _PLAN.fullmatch(note) is not None


def summary(found: Iterable[Spending], budget: Budget) -> str:
    """What was paid for, as a list of words with amounts of epsilon; nothing where all was free.

    Args:
        found: what `spendings` gave.
        budget: the dataset's.
    """
    parts = []
    for kind in _ORDER:
        own = [s for s in found if s.kind == kind and not s.cost.is_zero]
        if own:
            total = sum((s.cost for s in own[1:]), own[0].cost)
            parts.append(f"{_named(kind, own)} ({small(budget.part(total).epsilon)})")
    return ", ".join(parts)


def _named(kind: Kind, own: list[Spending]) -> str:
    if kind == "release":
        return f"a release by {own[0].name}" if len(own) == 1 else f"{len(own)} releases"
    if kind == "session":
        return "questions and learning for them"
    if kind == "account":
        return f"the account {own[0].name}" if len(own) == 1 else f"{len(own)} accounts"
    return own[0].name if len(own) == 1 else f"{len(own)} other things"


def _epsilon(cost: Cost, budget: Budget) -> str:
    part = budget.part(cost)
    return f"epsilon {small(part.epsilon)}" if 0 < part.epsilon < float("inf") else amount(part)


def _session(found: re.Match[str]) -> tuple[Kind, str]:
    """A session by its name, which may be none."""
    return "session", found[1] or ""


class _Book:
    """Lines sorted by what they belong to."""

    def __init__(self) -> None:
        self.lines: dict[tuple[Kind, str], list[Mapping[str, Any]]] = {}
        self.names: dict[tuple[Kind, str], str] = {}
        self.tops: dict[str, str] = {}  # of each account, the one below the owner's that it comes from
        self.keys: dict[str, tuple[Kind, str]] = {}  # of each account below the owner's
        self.state: dict[str, tuple[Cost, bool]] = {}  # what each of these has left, and whether it is closed

    def read(self, line: Mapping[str, Any]) -> None:
        """Take one line, in order."""
        account, kind = line["account"], line["kind"]
        if kind == "allot":
            child = line["details"]["child"]
            self.tops[child] = child if account == OWNER else self.tops[account]
            if account == OWNER:
                self.keys[child] = self._account(child, line["note"])
        top = line["details"]["child"] if account == OWNER and kind in ("allot", "return") else account
        key = self._owners(line) if top == OWNER else self.keys[self.tops[top]]
        self.lines.setdefault(key, []).append(line)
        if account != OWNER and self.tops[account] == account:
            self.state[account] = grains_from(line["limit"]) - grains_from(line["spent"]), kind == "close"

    def _account(self, name: str, note: str) -> tuple[Kind, str]:
        if found := _RELEASE.fullmatch(name) or _PLAN.fullmatch(note):
            session = _SESSION.fullmatch(name)
            return _session(session) if session else self._called("release", name, found[1])
        if found := _SESSION.fullmatch(name):
            return _session(found)
        if _LOST.fullmatch(name):
            return self._called("act", name, "what a ledger that was put back had lost")
        if RANGE.fullmatch(name):
            return self._called("act", name, f"questions about {name}")
        later = LATER.fullmatch(name)
        return "account", name if later is None else later[1]

    def _called(self, kind: Kind, key: str, name: str) -> tuple[Kind, str]:
        self.names[kind, key] = name
        return kind, key

    def _owners(self, line: Mapping[str, Any]) -> tuple[Kind, str]:
        """What a line of the owner's own account belongs to."""
        run, note = line["run"] or line["request"] or "", line["note"].strip()
        if found := _SESSION.fullmatch(run):
            return _session(found)
        if line["kind"] != "charge":
            return "budget", ""
        name = re.split(r"[:,]", note)[0] if note else "measurements"
        return self._called("act", name.partition(" release")[0], name)

    def closed(self, nothing: Cost) -> list[Spending]:
        """All of it, summed."""
        out, still = [], dict.fromkeys(self.lines, nothing)
        for account, (left, over) in self.state.items():
            if not over and (mine := self.keys[account])[0] != "budget":
                still[mine] = still[mine] + left
        for key, lines in self.lines.items():
            cost = nothing
            for line in lines:
                if line["account"] == OWNER and line["kind"] in ("charge", "allot"):
                    cost = cost + grains_from(line["cost"])
            for line in lines:
                if line["account"] == OWNER and line["kind"] == "return":
                    cost = cost - grains_from(line["cost"])
            times = [line["time"] for line in lines]
            numbers = tuple(line["seq"] for line in lines)
            name = self.names.get(key, key[1])
            out.append(Spending(key[0], name, cost, still[key], times[0], times[-1], numbers))
        return out
