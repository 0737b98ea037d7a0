"""Moving: a ledger whose database took the place of another one, and what its owner must show to go on.

A standby to which changes are sent without waiting may lack the last lines when it is promoted; a database
that was restored lacks what came after its copy. Both look whole. So the ledger is not written until somebody
compares it with the newest receipt: what that says was spent beyond it is set aside for good.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow.errors import HedgerowError, LedgerError
from hedgerow.service import witness
from hedgerow.service.places import open_ledger

if TYPE_CHECKING:
    from hedgerow.privacy.ledger.ledger import Ledger
    from hedgerow.service.dataset import Dataset


def go_on(dataset: Dataset, receipt: Path | None, reason: str) -> Ledger:
    """Go on with the ledger that is there; it is open.

    Args:
        dataset: whose ledger.
        receipt: the file of the newest receipt; those beside the data if None.
        reason: why; it is kept in the ledger.
    """
    if not reason.strip():
        raise HedgerowError("a ledger that was moved is gone on with for a reason, which is kept in it")
    files = dataset.receipts() if receipt is None else [receipt]
    ledger = open_ledger(dataset.data, dataset.ledger)
    try:
        if not witness.tells_of(ledger, files):
            raise LedgerError(
                "there is no receipt of this ledger beside the data: name the newest one with --receipt, "
                "from a release's folder or a server's answers"
            )
        ledger.accept_move()
        witness.excuse_older(ledger, files, reason.strip())
        ledger.record(note=f"The database took the place of another one: {reason.strip()}")
    except BaseException:
        ledger.close()
        raise
    return ledger
