"""Copies of ledgers: a copy that was taken while the ledger was written may not be whole, and is refused.

What was shown is in the ledger's file, so a copy of it lacks nothing - unless pages of several moments came
together in it, or an older log lies beside it: one that was copied earlier, or that a killed process left
before the ledger went elsewhere and came back. Pages show when a copy is read through, once, at its new
place. Logs show whenever one is there, because SQLite would put them into the file.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from hedgerow.errors import LedgerError
from hedgerow.privacy.ledger.line import Line
from hedgerow.privacy.ledger.receipt import verify_lines
from hedgerow.privacy.ledger.sqlite_store import SQLiteStore

_AGAIN = "if it is a copy, take it again while nobody writes, or go on with the original"
_LOOKS = 3  # at a file that others may be writing


def refuse_torn(store: SQLiteStore) -> None:
    """Refuse a ledger whose pages, chain or sums do not fit together."""
    if (wrong := _wrong(store)) is not None:
        raise LedgerError(f"The ledger {store.path} is not whole ({wrong}): {_AGAIN}.")


def refuse_older_log(path: Path) -> None:
    """Refuse a ledger beside which lies a log that would take lines back; nothing is changed by looking.

    SQLite moves only what is in the log into the file: alone it never knows more than together with its log.
    """
    log = f"{path}-wal"
    if not os.path.exists(log) or not os.path.getsize(log):
        return
    if not all(_takes_back(path) for _ in range(_LOOKS)):
        return
    with closing(SQLiteStore(path, readonly=True, log=False)) as alone:
        apart = "" if _wrong(alone) else "alone the ledger is whole, so move it away and ask again; "
    raise LedgerError(
        f"The log {log} is older than the ledger {path} and would take charges back: {apart}{_AGAIN}."
    )


def _takes_back(path: Path) -> bool:
    """Whether the file alone has a newest line that is not there together with the log."""
    alone = _newest_alone(path)  # first: whoever writes meanwhile only adds to it
    if alone is None:
        return False
    try:
        with closing(SQLiteStore(path, readonly=True)) as whole:
            found = next(whole.lines(after=alone.seq - 1), None)
    except LedgerError as error:
        if getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_CORRUPT:
            raise
        return True
    return found is None or found.hash != alone.hash


def _newest_alone(path: Path) -> Line | None:
    """The newest line of the file without its log; None if only the log can make its pages one."""
    try:
        with closing(SQLiteStore(path, readonly=True, log=False)) as alone:
            return alone.head()
    except LedgerError:
        return None


def _wrong(store: SQLiteStore) -> str | None:
    """What does not fit together in a ledger, if anything."""
    if (damage := store.damage()) is not None:
        return damage
    outcome = verify_lines(store.lines())
    return None if outcome.ok else outcome.problems[0].rstrip(".")
