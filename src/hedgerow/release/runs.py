"""Runs: releases of a dataset that were begun and whose files were not all written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hedgerow.privacy.budget import Cost
from hedgerow.release.numerals import amount

if TYPE_CHECKING:
    from hedgerow.privacy.ledger import Ledger

_ACCOUNT = re.compile(r"\S+ (release ([0-9a-f]{16}) \d+)( #\d+)?")


@dataclass(frozen=True)
class Unfinished:
    """A release that can be gone on with.

    Args:
        run: its name.
        holds: what it was given, spent or not.
        free: what of that comes back if it is left for good.
    """

    run: str
    holds: Cost
    free: Cost


def first_unsaved(ledger: Ledger, plan: str) -> str:
    """The name of a plan's release: an earlier one's, if its files were not all written."""
    number = 0
    while is_saved(ledger, f"release {plan} {number}"):
        number += 1
    return f"release {plan} {number}"


def is_saved(ledger: Ledger, run: str) -> bool:
    """Whether all files of a release are written, or it was left for good."""
    return ledger.recall(f"{run}: saved", run.split()[1]) is not None


def save(ledger: Ledger, run: str, note: str = "all files of the release are written") -> None:
    """From now on the same plan is another release."""
    ledger.record(request=f"{run}: saved", question=run.split()[1], note=note)


def unfinished(ledger: Ledger) -> list[Unfinished]:
    """All that can be gone on with, in the order in which they were begun."""
    found = []
    for account in ledger.children():
        name = _ACCOUNT.fullmatch(account)
        if name is None or is_saved(ledger, name[1]):
            continue
        if ledger.recall(f"{account}: given up", account, analyst=account) is None:
            free = ledger.remaining(account)
            found.append(Unfinished(name[1], ledger.spent(account) + free, free))
    return found


def words(ledger: Ledger) -> str:
    """Half a sentence about what unfinished releases hold, or nothing."""
    held = unfinished(ledger)
    if not held:
        return ""
    total = sum((u.holds for u in held), Cost.zero(ledger.currency))
    many = len(held) > 1
    return (
        f"{f'{len(held)} unfinished releases hold' if many else 'an unfinished release holds'} "
        f"{amount(ledger.budget.part(total), ledger.budget)}: the same command{'s' if many else ''} as "
        f"before {'go on with them, and pay' if many else 'goes on with it, and pays'} nothing twice"
    )
