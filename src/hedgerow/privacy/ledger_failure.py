"""Why a ledger's file cannot be used: what may pass, what is forbidden, and what is wrong with the file."""

from __future__ import annotations

import os
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

_PASSING = {
    sqlite3.SQLITE_BUSY: "another process holds it",
    sqlite3.SQLITE_LOCKED: "another process holds it",
    sqlite3.SQLITE_PROTOCOL: "another process holds it",
    sqlite3.SQLITE_FULL: "its disk is full",
    sqlite3.SQLITE_IOERR: "its disk cannot be read or written, or is full",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened just now",
    sqlite3.SQLITE_NOMEM: "there is not enough memory",
}
_MOUNT = "see that the disk of its folder is mounted"
_FORBIDDEN = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH)


def failure(error: sqlite3.Error | OSError, path: Path | None, what: str) -> LedgerError:
    """The error of a ledger's file.

    Args:
        error: what SQLite or the system raised.
        path: the file; None for a ledger in memory.
        what: the beginning of the sentence, which names the file.
    """
    if isinstance(error, OSError):
        return _of_system(error, path, what)
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_NOTADB or (path is not None and path.is_dir()):
        return LedgerError(f"The file {path} is not a Hedgerow ledger.")
    if code in _FORBIDDEN or (code == sqlite3.SQLITE_CANTOPEN and _closed_to_us(path)):
        return LedgerNotPermitted(f"{what}: this user may not read and write it and its folder.")
    if code in _PASSING:
        return LedgerUnavailable(f"{what}: {_PASSING[code]}.")
    said = str(error)
    return LedgerError(f"{what}: {said[:1].lower()}{said[1:].rstrip('.')}.")


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


def _closed_to_us(path: Path | None) -> bool:
    """Whether the system does not let us read and write a file and its folder, where SQLite keeps its log."""
    both = os.R_OK | os.W_OK
    return path is not None and path.exists() and not (os.access(path, both) and os.access(path.parent, both))
