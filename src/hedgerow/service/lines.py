"""Explanations: every line of a ledger in words."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from hedgerow.privacy.budget import Budget
from hedgerow.privacy.event import Event
from hedgerow.privacy.events import from_json
from hedgerow.privacy.ledger.claim import CLAIMS, claims_in
from hedgerow.privacy.ledger.entry import Settings, grains_from
from hedgerow.release.numerals import amount

if TYPE_CHECKING:
    from hedgerow.privacy.budget import Cost
    from hedgerow.privacy.ledger.ledger import Ledger


@dataclass(frozen=True)
class Explained:
    """One line of a ledger for people: its number, when, what it cost, the total after it, what happened.

    `claims` is whose word its privacy rests on, where that is not this house's.
    """

    seq: int
    time: str
    kind: str
    account: str
    cost: str
    spent: str
    words: str
    note: str
    claims: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def lines_of(ledger: Ledger) -> list[Explained]:
    """All lines of a ledger, explained."""
    lines = [entry["line"] for entry in ledger.export()["entries"]]
    return [_explain(line, ledger.budget) for line in lines]


def _explain(line: dict[str, Any], budget: Budget) -> Explained:
    cost, spent = grains_from(line["cost"]), grains_from(line["spent"])
    return Explained(
        line["seq"],
        line["time"].replace("T", " ").removesuffix("Z").removesuffix("+00:00"),
        line["kind"],
        line["account"],
        _price(cost, budget) if line["kind"] in ("charge", "allot", "return", "grow", "shrink") else "-",
        _price(spent, budget) or "nothing",
        _words(line),
        line["note"],
        tuple(claim.words for claim in claims_in(line["details"])),
    )


def _price(cost: Cost, budget: Budget) -> str:
    """A cost as the epsilon it amounts to on its own, at the budget's delta."""
    if cost.is_zero:
        return "nothing"
    part = budget.part(cost)
    return amount(Budget(epsilon=part.epsilon)) if 0.0 < part.epsilon < float("inf") else amount(part)


def _words(line: dict[str, Any]) -> str:
    kind, note = line["kind"], line["note"].strip()
    who = "" if line["account"] == "owner" else f" (account {line['account']})"
    if kind == "open" and line["parent"] is None:
        return _opening(Settings.from_json(line["details"])) + (f" Why a new one: {note}" if note else "")
    if kind == "charge":
        rests = "".join(f" Private if this is true: {c.words}" for c in claims_in(line["details"]))
        return f"{note + ': ' if note else ''}{describe(from_json(line['event']))}{who}{rests}"
    if kind == "raise":
        return f"The owner raised the budget to {amount(Budget.from_json(line['details']))}: {note}"
    if kind == "note" and line["run"] == CLAIMS:
        return str(line["words"])
    if kind == "note":
        return f"{note or 'An answer was kept'}: it cost nothing{who}."
    return f"{line['words']}{' ' + note if note else ''}{who}"


def _opening(settings: Settings) -> str:
    whom = f"each {settings.unit}, at most {settings.max_rows} rows of it" if settings.unit else "each row"
    change = "leaving it out" if settings.neighbours == "add_remove" else "exchanging it"
    return (
        f"The owner gave the dataset a budget of {amount(settings.budget)}, to protect {whom}: {change} must "
        "hardly change what is released."
    )


def describe(event: Event) -> str:
    """An act in words; the same act many times over is said once."""
    acts = Counter[str]()
    for leaf, times in event.leaves():
        acts[leaf.describe()] += times
    if not acts:
        return event.describe()
    return " ".join(words if times == 1 else f"{times} times: {words}" for words, times in acts.items())
