"""Runs: releases of a dataset that were begun and whose files were not all written."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.curator.growing.lasting import RANGE
from hedgerow.homes import HOMES
from hedgerow.mechanisms import cards
from hedgerow.privacy.budget import Cost
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.release.numerals import amount
from hedgerow.release.writing import put

if TYPE_CHECKING:
    from hedgerow.mechanisms.card import Card
    from hedgerow.service.dataset import Dataset

_NOTE = ".hedgerow-unfinished.json"
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


def note_files(folder: Path, run: str, drafts: Sequence[Path]) -> None:
    """Before a release's files take their names: whatever ends it meanwhile, they are known as its own."""
    known = _noted(folder)
    before = known["files"] if known["run"] == run else []
    draft = drafts[0].with_name(_NOTE)
    draft.write_text(json.dumps({"run": run, "files": [*before, *map(_digest, drafts)]}), "utf-8")
    put(draft, folder / _NOTE)


def own_files(folder: Path, dataset: Dataset, plan: str) -> list[Path]:
    """The files of a folder that an unfinished release of this plan wrote."""
    known = _noted(folder)
    if not known["files"] or not dataset.has_ledger:
        return []
    with Ledger.open(dataset.path, create=False) as opened:
        if known["run"] != first_unsaved(opened, plan):
            return []
    return [path for path in folder.iterdir() if path.is_file() and _digest(path) in known["files"]]


def forget_files(folder: Path) -> None:
    """All files have their names, and nobody owns them any more."""
    with suppress(OSError):
        (folder / _NOTE).unlink(missing_ok=True)


def _noted(folder: Path) -> dict[str, Any]:
    try:
        known = json.loads((folder / _NOTE).read_text("utf-8"))
        return {"run": str(known["run"]), "files": list(map(str, known["files"]))}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {"run": "", "files": []}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def unfinished(ledger: Ledger) -> list[Unfinished]:
    """All that can be gone on with, in the order in which they were begun."""
    found = []
    for account in _accounts(ledger):
        name = _ACCOUNT.fullmatch(account)
        if name is None or is_saved(ledger, name[1]):
            continue
        if ledger.recall(f"{account}: given up", account, analyst=account) is None:
            free = ledger.remaining(account)
            found.append(Unfinished(name[1], ledger.spent(account) + free, free))
    return found


def _accounts(ledger: Ledger) -> list[str]:
    """The accounts that may be releases': the owner's, and those of ranges of blocks."""
    own = ledger.children()
    return [*own, *(name for some in own if RANGE.fullmatch(some) for name in ledger.children(some))]


def begun_by(ledger: Ledger, plan: str) -> Card | None:
    """The mechanism of an unfinished release of a plan; None if none was begun, or it is nobody's of ours."""
    run = first_unsaved(ledger, plan)
    named = [_ACCOUNT.fullmatch(account) for account in _accounts(ledger)]
    kinds = [name[0].split()[0] for name in named if name is not None and name[1] == run]
    for card in map(cards.own, HOMES) if kinds else ():
        if "run" in card.takes and (card.load().account_kind or card.name) in kinds:
            return card
    return None


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
