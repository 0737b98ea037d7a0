"""Copies of ledgers: a copy that was taken while the ledger was written may not be whole, and is refused.

What was shown is in the ledger's file, so a copy of it lacks nothing - unless pages of several moments came
together in it, or an older log lies beside it. Both show when it is read through, once, at its new place.
"""

from __future__ import annotations

from contextlib import closing, suppress
from pathlib import Path

from hedgerow.errors import LedgerError
from hedgerow.privacy.ledger_store import Store
from hedgerow.privacy.receipt import verify_lines

_AGAIN = "if it is a copy, take it again while nobody writes, or go on with the original"


def refuse_torn(store: Store) -> None:
    """Refuse a ledger whose pages, chain or sums do not fit together."""
    wrong = store.damage()
    if wrong is None:
        outcome = verify_lines(store.lines())
        wrong = None if outcome.ok else outcome.problems[0].rstrip(".")
    if wrong is not None:
        raise LedgerError(f"The ledger {store.path} is not whole ({wrong}): {_AGAIN}.")


def refuse_older_log(path: Path) -> None:
    """Refuse a ledger beside which lies a log that would take lines back; nothing is changed by looking.

    SQLite moves only what is in the log into the file: alone it never knows more than together with its log.
    """
    log = Path(f"{path}-wal")
    if not log.exists() or not log.stat().st_size:
        return
    with closing(Store(path, readonly=True)) as whole:
        if whole.own in whole.places() or not _takes_back(whole):
            return
    raise LedgerError(f"The log {log} is older than the ledger {path} and would take charges back: {_AGAIN}.")


def _takes_back(whole: Store) -> bool:
    """Whether the file alone has a newest line that is not there together with the log."""
    with suppress(LedgerError), closing(Store(whole.path, readonly=True, log=False)) as alone:
        head = alone.head()
        with_log = next(whole.lines(after=head.seq - 1), None)
        return with_log is None or with_log.hash != head.hash
    return False  # pages of several moments: only the log can make them one
