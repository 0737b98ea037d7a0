"""SQLite as a ledger uses it: the layout of its file, connections to it, and what to say when it fails."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterable
from pathlib import Path

from hedgerow.privacy.ledger.line import FORMAT, Line

APPLICATION = 0x48656467  # "Hedg": marks the SQLite file as one of ours
_ROOM = 1 << 16  # bytes: the index of a log grows by half of this
_POLL = 1.0  # SQLite waits this long at a time, so Ctrl-C is heard

_SCHEMA = """
CREATE TABLE entry (
    seq INTEGER PRIMARY KEY,
    line TEXT NOT NULL,
    commitment BLOB NOT NULL,
    hash BLOB NOT NULL,
    answer BLOB,
    nonce BLOB NOT NULL,
    state BLOB,
    kind TEXT AS (json_extract(line, '$.kind')) VIRTUAL,
    account TEXT AS (json_extract(line, '$.account')) VIRTUAL,
    parent TEXT AS (json_extract(line, '$.parent')) VIRTUAL,
    request TEXT AS (json_extract(line, '$.request')) VIRTUAL,
    run TEXT AS (json_extract(line, '$.run')) VIRTUAL
);
CREATE INDEX by_account ON entry (account);
CREATE INDEX by_parent ON entry (parent) WHERE kind = 'open';
CREATE INDEX by_raise ON entry (kind) WHERE kind = 'raise';
CREATE INDEX by_run ON entry (run) WHERE run IS NOT NULL;
CREATE UNIQUE INDEX by_request ON entry (request) WHERE request IS NOT NULL;
CREATE TRIGGER never_update BEFORE UPDATE ON entry
    BEGIN SELECT RAISE(ABORT, 'ledger lines are never changed'); END;
CREATE TRIGGER never_delete BEFORE DELETE ON entry
    BEGIN SELECT RAISE(ABORT, 'ledger lines are never removed'); END;
CREATE TRIGGER only_append BEFORE INSERT ON entry
    WHEN NEW.seq IS NOT (SELECT COALESCE(MAX(seq) + 1, 0) FROM entry)
    BEGIN SELECT RAISE(ABORT, 'ledger lines are only appended'); END;
"""  # the last trigger also stops INSERT OR REPLACE, which fires no DELETE trigger

COLUMNS = "seq, line, commitment, hash, answer, nonce, state"

PLACES = """
CREATE TABLE IF NOT EXISTS place (role TEXT, path BLOB, file TEXT NOT NULL, PRIMARY KEY (role, path));
"""  # outside the chain: where files lie is no part of what the ledger vouches for

Place = tuple[str, str, str]
"""A role ("ledger", "data" or "link"), a path, and which file it named (see `ledger_place`)."""


class Connection(sqlite3.Connection):
    """A connection that knows which process made it and how hard it syncs."""

    pid: int
    synchronous: str = ""


def connect(path: Path | None, how: str = "") -> Connection:
    """Connect without implicit transactions; whoever calls decides when one begins.

    Args:
        path: the file; in memory if None.
        how: the parameters of SQLite's URI.
    """
    target = ":memory:" if path is None else f"{path.absolute().as_uri()}{how and '?'}{how}"
    connection = sqlite3.connect(
        target, uri=True, timeout=_POLL, isolation_level=None, check_same_thread=False, factory=Connection
    )
    connection.execute("PRAGMA trusted_schema=ON")  # some builds refuse json_extract in columns otherwise
    connection.pid = os.getpid()
    return connection


def lay_out(connection: Connection, first: Line, places: Iterable[Place] = ()) -> None:
    """Write the schema and line 0 in one transaction."""
    connection.execute(f"PRAGMA application_id={APPLICATION}")
    connection.execute(f"PRAGMA user_version={FORMAT}")
    connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} {PLACES}")
    insert(connection, first)
    insert_places(connection, places)
    connection.execute("COMMIT")


def insert_places(connection: Connection, places: Iterable[Place]) -> None:
    """Keep places, each instead of what was known of the same path."""
    rows = [(role, os.fsencode(path), file) for role, path, file in places]
    connection.executemany("INSERT OR REPLACE INTO place (role, path, file) VALUES (?, ?, ?)", rows)


def insert(connection: Connection, line: Line) -> None:
    """Append one line."""
    values = (line.seq, line.text, line.commitment, line.hash, line.answer, line.nonce, line.state)
    connection.execute(f"INSERT INTO entry ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", values)


def is_ledger(path: Path) -> bool:
    """Whether a file is a ledger, by its first bytes; not for files that this process has open."""
    try:
        if not path.is_file():  # opening a pipe would wait for its writer
            return False
        with path.open("rb") as file:
            head = file.read(72)
    except OSError:
        return False
    return head.startswith(b"SQLite format 3\0") and head[68:] == APPLICATION.to_bytes(4)


def reason(error: Exception, path: Path | None = None) -> str:
    """What the system said, as part of a sentence."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and path is not None and _full(path)):
        return "no space is left on its disk"
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN) and path is not None:
        return obstacle(path) or str(error)
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return (said[:1].lower() + said[1:]).rstrip(".")


def _full(path: Path) -> bool:
    """Whether a file's disk has no room for what SQLite writes at once."""
    try:
        return shutil.disk_usage(path.parent).free < _ROOM
    except OSError:
        return False


def obstacle(path: Path) -> str | None:
    """What may not be read or written, of a ledger's file, its companions and its folder."""
    for file in (path, Path(f"{path}-wal"), Path(f"{path}-shm"), path.parent):
        if os.path.lexists(file) and not os.access(file, os.R_OK | os.W_OK):
            return f"permission denied, {file} may not be {'written' if os.access(file, os.R_OK) else 'read'}"
    return None


def flush(path: Path) -> None:
    """Flush a file or folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
