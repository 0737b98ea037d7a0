"""Witnesses: receipts outside a ledger, which show that it was lost, or that an old copy was put back.

What is noted and what it shows of a ledger that is there is in `privacy/ledger/noted.py`; here is what it
shows of one that is not.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hedgerow.errors import LedgerError
from hedgerow.privacy.ledger.noted import (
    RECEIPT,
    excuse_older,
    note,
    note_path,
    receipts_in,
    refuse_older,
    tells_of,
)
from hedgerow.privacy.ledger.url import Where
from hedgerow.release.numerals import amount

__all__ = ["RECEIPT", "excuse_older", "note", "note_path", "refuse_new", "refuse_older", "tells_of"]


def refuse_new(path: Where, files: Iterable[Path]) -> None:
    """Refuse to make a ledger where receipts show that there was one.

    Args:
        path: the ledger that is not there.
        files: where receipts may lie.
    """
    for file, receipt in receipts_in(files):
        budget, spent = receipt.settings.budget, receipt.spent
        said = "nothing" if spent.is_zero else amount(budget.part(spent), budget)
        raise LedgerError(
            f"there is no ledger {str(path)!r}, but {str(file)!r} tells of one that had spent {said}: put it "
            "back, name it with --ledger, or say why these rows get a new one with --new-ledger"
        )
