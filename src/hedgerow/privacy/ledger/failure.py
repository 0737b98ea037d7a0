"""Why a ledger's file cannot be used: what may pass, what is forbidden, and what is wrong with the file."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from hedgerow.errors import (
    LedgerError,
    LedgerNotPermitted,
    LedgerUnavailable,
    NotPermitted,
    StorageUnavailable,
    of_system,
)
from hedgerow.privacy.ledger.sqlite import obstacle, reason

_HELD = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)
_PASSING = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM)
_FORBIDDEN = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH)
_MOUNT = "see that the disk of its folder is mounted"
RESTORE = "put its newest backup in its place with `hedgerow restore`"


def failure(error: sqlite3.Error | OSError, path: Path | None, what: str) -> LedgerError:
    """The error of a ledger's file.

    Args:
        error: what SQLite or the system raised.
        path: the file; None for a ledger in memory.
        what: the beginning of the sentence, which names the file.
    """
    if isinstance(error, OSError):
        return _of_system(error, path, what)
    code, said = getattr(error, "sqlite_errorcode", 0) & 0xFF, f"{what}: {reason(error, path)}."
    if code == sqlite3.SQLITE_NOTADB or (path is not None and path.is_dir()):
        return LedgerError(f"The file {path} is not a Hedgerow ledger.")
    if code in _HELD:
        return LedgerUnavailable(f"{what}: another process holds it.")
    if code in _FORBIDDEN or (code == sqlite3.SQLITE_CANTOPEN and path is not None and obstacle(path)):
        return LedgerNotPermitted(said)
    if code == sqlite3.SQLITE_CORRUPT:
        return LedgerError(said, hint=RESTORE)
    return LedgerUnavailable(said) if code in _PASSING else LedgerError(said)


def no_ledger(path: Path) -> LedgerError:
    """There is none where one should be; where its folder is missing too, its disk may be away."""
    if path.parent.is_dir():
        return LedgerError(f"There is no ledger at {path}.")
    return LedgerUnavailable(f"There is no ledger at {path}, nor its folder.", hint=_MOUNT)


def _of_system(error: OSError, path: Path | None, what: str) -> LedgerError:
    found = of_system(error, what)
    if isinstance(found, NotPermitted):
        return LedgerNotPermitted(f"{found}.")
    if isinstance(found, StorageUnavailable):
        return LedgerUnavailable(f"{found}.")
    if path is not None and not path.parent.is_dir():
        return LedgerUnavailable(f"{found}.", hint=_MOUNT)
    return LedgerError(f"{found}.")
