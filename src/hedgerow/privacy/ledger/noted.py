"""Witnesses: receipts outside a ledger, which show that it was lost, or that an old copy was put back.

They guard against accidents and are no part of the promise: whoever removes them is not told. One lies in the
folder of each release. The newest is also noted beside data and ledger, in DATA.hedgerow.cache, which may be
deleted at any time.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow.errors import BudgetExceeded, HedgerowError, LedgerError
from hedgerow.privacy.budget import Cost
from hedgerow.privacy.ledger.entry import LOST, OWNER
from hedgerow.privacy.ledger.nearby import cache_folder, ledger_path
from hedgerow.privacy.ledger.receipt import Receipt
from hedgerow.privacy.ledger.refined import OLDER

if TYPE_CHECKING:
    from hedgerow.privacy.ledger.ledger import Ledger

RECEIPT = "receipt.json"


def note_path(ledger: Path) -> Path:
    """Where the newest receipt of a ledger is noted."""
    return cache_folder(ledger) / RECEIPT


def beside(ledger: Ledger, data: Path) -> list[Path]:
    """Where receipts of a ledger lie: beside its file, and beside the data."""
    places = [*([] if ledger.path is None else [ledger.path]), ledger_path(data)]
    return list(dict.fromkeys(map(note_path, places)))


def note(ledger: Ledger, file: Path) -> None:
    """Write down what the ledger says now."""
    receipt = ledger.receipt()
    file.parent.mkdir(mode=0o700, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=file.parent, prefix=".receipt-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(json.dumps(receipt.to_json(), indent=1) + "\n")
        os.replace(draft, file)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise


def refuse_older(ledger: Ledger, files: Iterable[Path]) -> None:
    """Refuse a ledger that lacks the line of one of its receipts.

    Args:
        ledger: the dataset's ledger.
        files: where receipts may lie.
    """
    for file, _ in _lost(ledger, files):
        raise LedgerError(
            f"this ledger is older than what was charged to it, as {str(file)!r} tells: put the newer ledger "
            "back, or go on with this one, for a reason, with --older-than-receipt"
        )


def excuse_older(ledger: Ledger, files: Iterable[Path], reason: str) -> None:
    """Go on with an older ledger: what receipts say was spent beyond it is set aside for good.

    Args:
        ledger, files: as in `refuse_older`.
        reason: why; it is kept in the ledger.
    """
    lost = [receipt for _, receipt in _lost(ledger, files)]
    if not lost:
        return
    spent, newest = _spent_beyond(ledger, lost), max(lost, key=lambda receipt: receipt.seq)
    words = f"Went on with a ledger older than line {newest.seq}, of which there is a receipt: {reason}"
    try:
        with ledger.transaction() as together:
            for receipt in lost:
                together.record(request=_excuse(receipt), question=receipt.head, note=words)
            if ledger.settings.growing is not None:  # first: what was lost counts for blocks to come as well
                together.end_parallel("Lines were lost, and with them who was in their blocks")
            if not spent.is_zero:
                words = "Spent by lines that were lost."
                scope = (1, None) if ledger.settings.cells else None  # years to come are cells as well
                together.allot(f"{LOST}{newest.head[:16]}", spent, note=words, scope=scope)
    except BudgetExceeded as error:
        said = f"{str(error)[:1].lower()}{str(error)[1:]}"
        refused = error.worded(f"what lost lines spent is set aside first, and {said}")
        refused.hint = "settle accounts or raise the budget (hedgerow budget), then give the reason again"
        raise refused from None


def tells_of(ledger: Ledger, files: Iterable[Path]) -> bool:
    """Whether one of some receipts is this ledger's, whether it lacks its line or not."""
    return any(receipt.settings.ledger == ledger.settings.ledger for _, receipt in receipts_in(files))


def _lost(ledger: Ledger, files: Iterable[Path]) -> Iterator[tuple[Path, Receipt]]:
    """The receipts whose line this ledger lacks, and which nobody has excused."""
    for file, receipt in receipts_in(files):
        other = receipt.settings.ledger != ledger.settings.ledger
        if not other and not ledger.knows(receipt) and not ledger.recall(_excuse(receipt), receipt.head):
            yield file, receipt


def receipts_in(files: Iterable[Path]) -> Iterator[tuple[Path, Receipt]]:
    """The receipts of real ledgers in files; what is no receipt is passed over."""
    for file in files:
        try:
            receipt = Receipt.from_json(json.loads(file.read_text(encoding="utf-8")))
        except (OSError, AttributeError, KeyError, TypeError, ValueError, HedgerowError):
            continue
        if not receipt.settings.simulation and isinstance(receipt.seq, int):
            yield file, receipt


def _excuse(receipt: Receipt) -> str:
    return f"{OLDER}{receipt.head}"


def _spent_beyond(ledger: Ledger, lost: list[Receipt]) -> Cost:
    """What lost lines spent: what receipts tell beyond this ledger's total.

    A ledger that has reached a receipt's line parted from it before that, nobody knows where: then it is all
    that they tell. Of blocks that are charged side by side it is all as well: a receipt tells the largest
    sum, and nobody knows of which block. One that went on but not so far is not told from one that did not.
    What open accounts still hold here may be what lost lines spent: it is spent here when it is spent again.
    Where files of blocks told of a loss the budget of then counts as spent: it is what lies above. Receipts
    are taken to be of the newest loss.
    """
    here = ledger.spent() - _held_below(ledger, OWNER)
    parted = ledger.settings.cells or any(ledger.newest >= receipt.seq for receipt in lost)
    beyond = [receipt.spent.beyond(ledger.counted if parted else here) for receipt in lost]
    return Cost(ledger.currency, max(cost.amount for cost in beyond), max(cost.delta for cost in beyond))


def _held_below(ledger: Ledger, account: str) -> Cost:
    """What open accounts hold that were allotted from an account, directly or through others in between."""
    held = Cost.zero(ledger.currency)
    for child in ledger.children(account):
        if not ledger.is_closed(child) and not child.startswith(LOST):
            held = held + ledger.held(child) + _held_below(ledger, child)
    return held
