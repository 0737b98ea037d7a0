"""How a ledger's file comes to be: whole from the first moment on, and under one name only."""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from stat import S_ISREG
from typing import Any

from hedgerow.errors import LedgerError
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.ledger.copies import refuse_older_log
from hedgerow.privacy.ledger.entry import Settings
from hedgerow.privacy.ledger.failure import failure, no_ledger
from hedgerow.privacy.ledger.line import Line
from hedgerow.privacy.ledger.place import Data, refuse_known
from hedgerow.privacy.ledger.sqlite import connect, flush, lay_out
from hedgerow.privacy.ledger.sqlite_store import SQLiteStore
from hedgerow.privacy.ledger.store import Store
from hedgerow.privacy.ledger.transaction import opening
from hedgerow.privacy.ledger.url import LedgerUrl


def refuse_no_budget(given: object) -> None:
    """Refuse what is no budget."""
    if not isinstance(given, Budget | None):
        raise LedgerError(f"A ledger keeps a Budget, not a {type(given).__name__}.")


def make_new(path: Path, settings: Settings, data: Data | None, reason: str | None) -> None:
    """Make a ledger; for data that another one knows, only for a reason."""
    first = opening(settings, _kept(reason))
    if data is not None and reason is None:
        refuse_known(data, path)
    _make(path, first)


def begin(
    store: Store, budget: Budget | None, asked: Mapping[str, Any], reason: str | None, *, create: bool
) -> Store:
    """A store of somebody else's, with a ledger made in it if it is empty; of two at once the first holds."""
    if not isinstance(store, Store):
        raise LedgerError("A ledger is opened with the path of a file, ':memory:', or a Store.")
    if store.newest() < 0:
        if not create:
            raise LedgerError("There is no ledger in the store.")
        first = opening(new_settings(budget, asked, simulation=not store.durable), _kept(reason))
        with store.transaction():
            if store.newest() < 0:
                store.append(first)
    if not store.durable and not Settings.from_json(store.first().field("details")).simulation:
        raise LedgerError("The store is not durable, but its ledger says that it is no simulation.")
    return store


def open_file(
    path: str | os.PathLike[str],
    budget: Budget | None,
    asked: Mapping[str, Any],
    data: Data | None,
    reason: str | None,
    *,
    may: bool,
    readonly: bool,
) -> SQLiteStore:
    """The store of a ledger in a file, made if need be and if that may be; see `Ledger.open`."""
    file = Path(path).resolve()
    if not os.path.lexists(file):
        if not may or os.path.islink(path):  # a link's disk may be away
            raise no_ledger(file)
        make_new(file, new_settings(budget, asked, simulation=False), data, reason)
    if not readonly:
        refuse_second_name(file)
    refuse_older_log(file)
    return SQLiteStore(file, readonly=readonly)


def open_database(
    url: LedgerUrl,
    budget: Budget | None,
    asked: Mapping[str, Any],
    data: Data | None,
    reason: str | None,
    *,
    may: bool,
    readonly: bool,
) -> Store:
    """The store of a ledger in PostgreSQL, the same way; data that a file's ledger knows need a reason."""
    from hedgerow.privacy.ledger.postgres_store import PostgresStore

    store = PostgresStore(url, create=may and budget is not None, readonly=readonly)
    try:
        if store.newest() < 0:
            if not may:
                raise LedgerError(f"There is no ledger at {url}.")
            if data is not None and reason is None:
                refuse_known(data, Path(os.devnull))
        begin(store, budget, asked, reason, create=may)
    except BaseException:
        store.close()
        raise
    return store


def _make(path: Path, first: Line) -> None:
    """Make the file with line 0 in it, unless somebody else has just made it."""
    left = any(os.path.lexists(f"{path}{suffix}") for suffix in ("-wal", "-journal"))
    if left and not os.path.lexists(path):
        # SQLite would replay a lost ledger's log into the new one.
        raise LedgerError(f"A ledger cannot be made at {path}: the log of another one lies beside it.")
    draft = path.with_name(f"{_drafts(path)}{secrets.token_hex(8)}.new")
    try:
        handle = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        os.fchmod(handle, 0o600)
        made = os.fstat(handle)
        os.close(handle)
        with closing(connect(draft)) as connection:
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("PRAGMA journal_mode=WAL")
            lay_out(connection, first, [("ledger", str(path), f"{made.st_dev}:{made.st_ino}")])
        with suppress(FileExistsError):
            os.link(draft, path)  # atomic: a ledger appears whole, and only one creator wins
        draft.unlink(missing_ok=True)  # who opened it meanwhile did so already
        flush(path.parent)
    except (OSError, sqlite3.Error) as error:
        raise failure(error, path, f"A ledger cannot be made at {path}") from error
    finally:
        for suffix in ("", "-wal", "-shm"):
            with suppress(OSError):
                Path(f"{draft}{suffix}").unlink()


def refuse_second_name(path: Path) -> None:
    """Refuse to write a ledger that has another name too: SQLite keeps a log for each name.

    The name that it was made under may be left, and nobody opens it: it is removed.
    """
    if _names(path) > 1:
        for file in path.parent.iterdir():
            if file.name.startswith(_drafts(path)) and file.name.endswith(".new"):
                with suppress(OSError):
                    if file.samefile(path):
                        file.unlink()
    if _names(path) > 1:
        raise LedgerError(
            f"The ledger {path} has a second name (a hard link), and whoever uses that one would spend the "
            "same budget again: remove all names but one."
        )


def _kept(given: str | None) -> str:
    """What is kept of the reason for a new ledger."""
    if given is not None and not given.strip():
        raise LedgerError("A new ledger for data that has one is made for a reason, and none was given.")
    return given or ""


def new_settings(budget: Budget | None, asked: Mapping[str, Any], *, simulation: bool) -> Settings:
    """The settings of a new ledger: what was asked for, and defaults."""
    if budget is None:
        raise LedgerError("A new ledger needs a budget.")
    chosen = {name: value for name, value in asked.items() if value is not None}
    return Settings(secrets.token_hex(16), budget, simulation=simulation, **chosen)


def _drafts(path: Path) -> str:
    """How the names begin under which a ledger is made."""
    return f".{path.name}."


def _names(path: Path) -> int:
    """How many names a file has; a folder is refused elsewhere."""
    try:
        status = path.stat()
        return status.st_nlink if S_ISREG(status.st_mode) else 1
    except OSError as error:
        raise failure(error, path, f"The ledger {path} cannot be used") from error
