"""The ledger's file: lines in SQLite that are only ever appended, each chained to the one before it."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hedgerow.errors import LedgerError, LedgerUnavailable
from hedgerow.privacy.ledger_failure import failure

FORMAT = 1
GENESIS = bytes(32)

_APPLICATION = 0x48656467  # "Hedg": marks the SQLite file as one of ours
_PATIENCE = 600.0  # seconds to wait while another process evaluates inside its transaction
_POLL = 1.0  # SQLite waits this long at a time, so Ctrl-C is heard
_PAUSE = 0.02  # between two looks at who else is at work
_PAGE = 256

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

_COLUMNS = "seq, line, commitment, hash, answer, nonce, state"


def canonical(value: object) -> str:
    """Write JSON in the one form that is hashed."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest(data: bytes) -> str:
    """SHA-256 in hex, for things that are public anyway."""
    return hashlib.sha256(data).hexdigest()


def commit_to(nonce: bytes, state: bytes | None) -> bytes:
    """Commit to secret state; without the nonce a low-entropy threshold could be found by search."""
    return hashlib.sha256(nonce + (state or b"")).digest()


def chain(previous: bytes, text: str, commitment: bytes) -> bytes:
    """Hash a line onto the chain."""
    return hashlib.sha256(previous + text.encode() + commitment).digest()


@dataclass(frozen=True, slots=True)
class Line:
    """One stored line: public text, the commitment to its secret state, and the chain hash over both."""

    seq: int
    text: str
    commitment: bytes
    hash: bytes
    answer: bytes | None = None
    nonce: bytes | None = field(default=None, repr=False)
    state: bytes | None = field(default=None, repr=False)

    @classmethod
    def after(
        cls, previous: bytes, fields: Mapping[str, Any], answer: bytes | None, state: bytes | None
    ) -> Line:
        """Chain new public fields and secret state after a hash."""
        text, nonce = canonical(fields), secrets.token_bytes(32)
        commitment = commit_to(nonce, state)
        return cls(fields["seq"], text, commitment, chain(previous, text, commitment), answer, nonce, state)


class _Connection(sqlite3.Connection):
    """A connection that knows which process made it and how hard it syncs."""

    pid: int
    synchronous: str = ""


def _connect(target: str) -> _Connection:
    """Connect without implicit transactions; whoever calls decides when one begins."""
    connection = sqlite3.connect(
        target, uri=True, timeout=_POLL, isolation_level=None, check_same_thread=False, factory=_Connection
    )
    connection.execute("PRAGMA trusted_schema=ON")  # some builds refuse json_extract in columns otherwise
    connection.pid = os.getpid()
    return connection


def _lay_out(connection: _Connection, first: Line) -> None:
    """Write the schema and line 0 in one transaction."""
    connection.execute(f"PRAGMA application_id={_APPLICATION}")
    connection.execute(f"PRAGMA user_version={FORMAT}")
    connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA}")
    _insert(connection, first)
    connection.execute("COMMIT")


def _insert(connection: _Connection, line: Line) -> None:
    """Append one line."""
    values = (line.seq, line.text, line.commitment, line.hash, line.answer, line.nonce, line.state)
    connection.execute(f"INSERT INTO entry ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", values)


class Store:
    """The lines of one ledger in one SQLite file, or in memory when `path` is None."""

    def __init__(self, path: Path | None, first: Line | None = None) -> None:
        self.path = path
        self._closed = False
        self._pid = os.getpid()
        self._local = threading.local()
        self._open: weakref.WeakSet[_Connection] = weakref.WeakSet()
        self._inherited: list[_Connection] = []
        self._lock: AbstractContextManager[Any] = nullcontext()
        self._memory: _Connection | None = None
        self._turn = threading.RLock()
        if path is None:
            assert first is not None
            self._lock = threading.RLock()
            self._memory = _connect(":memory:")
            _lay_out(self._memory, first)
        else:
            self._inode = self._find()
            self._connection()

    @staticmethod
    def create(path: Path, first: Line) -> None:
        """Make the file with line 0 in it, unless somebody else has just made it."""
        if os.path.lexists(f"{path}-wal") and not os.path.lexists(path):
            # SQLite would replay a lost ledger's log into the new one.
            raise LedgerError(f"A ledger cannot be made at {path}: the log of another one lies beside it.")
        draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.new")
        try:
            handle = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            os.fchmod(handle, 0o600)
            os.close(handle)
            connection = _connect(draft.absolute().as_uri())
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("PRAGMA journal_mode=WAL")
            _lay_out(connection, first)
            connection.close()
            with suppress(FileExistsError):
                os.link(draft, path)  # atomic: a ledger appears whole, and only one creator wins
            draft.unlink()
            _sync(path.parent)
        except (OSError, sqlite3.Error) as error:
            raise failure(error, path, f"A ledger cannot be made at {path}") from error
        finally:
            for suffix in ("", "-wal", "-shm"):
                with suppress(OSError):
                    Path(f"{draft}{suffix}").unlink()

    def close(self) -> None:
        """Close every connection of this process; the store can no longer be used."""
        self._closed = True
        for connection in [*self._open, *([self._memory] if self._memory else [])]:
            if connection.pid == os.getpid():
                connection.close()

    @contextmanager
    def transaction(self, durable: bool = True) -> Iterator[None]:
        """Hold the write lock; commit on leaving, roll back on any exception.

        A commit that is not durable outlives the process but not the power; the next durable one covers it.
        """
        with self._lock:
            connection = self._connection()
            if connection.in_transaction:
                raise LedgerError("A ledger transaction is already open in this thread.")
            if self.path is not None and self._find() != self._inode:
                raise LedgerError(f"The ledger {self.path} was moved or replaced while it was open.")
            self._harden(connection, "FULL" if durable else "NORMAL")
            try:
                self._run("BEGIN IMMEDIATE")
                yield
                self._run("COMMIT")
            finally:
                if connection.pid == os.getpid() and connection.in_transaction:
                    connection.rollback()

    def append(self, line: Line) -> None:
        """Write a line inside the open transaction."""
        try:
            _insert(self._connection(), line)
        except sqlite3.Error as error:
            raise self._failure(error) from error

    def head(self) -> Line:
        """The newest line."""
        return self._one("1 ORDER BY seq DESC LIMIT 1")[0]

    def first(self) -> Line:
        """Line 0, which holds the settings and, as its secret state, the row-bounding key."""
        found = self._one("seq = 0")
        if not found:
            raise LedgerError(f"The ledger {self.path} has lost its first line.")
        return found[0]

    def last(self, account: str, upto: int | None = None) -> Line | None:
        """The newest line of an account, by the index: the account's running total is in it."""
        if upto is None:
            found = self._one("account = ? ORDER BY seq DESC LIMIT 1", account)
        else:
            found = self._one("account = ? AND seq <= ? ORDER BY seq DESC LIMIT 1", account, upto)
        return found[0] if found else None

    def raised(self, upto: int) -> Line | None:
        """The newest line that raised the budget."""
        found = self._one("kind = 'raise' AND seq <= ? ORDER BY seq DESC LIMIT 1", upto)
        return found[0] if found else None

    def requested(self, request: str) -> Line | None:
        """The line of a request id."""
        found = self._one("request = ?", request)
        return found[0] if found else None

    def children(self, parent: str) -> list[str]:
        """The accounts that were ever allotted from an account, in order."""
        rows = self._run(
            "SELECT account FROM entry WHERE kind = 'open' AND parent = ? ORDER BY seq", (parent,)
        )
        return [row[0] for row in rows]

    def newest(self) -> int:
        """The number of the newest line."""
        return int(self._run("SELECT MAX(seq) FROM entry")[0][0])

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until no other process or thread is in here; ends with the process that is.

        A file of its own carries the lock: closing any handle of SQLite's file would drop SQLite's locks.
        """
        if getattr(self._local, "alone", None) == os.getpid():
            yield
            return
        with self._turn if self.path is None else self._locked():
            self._local.alone = os.getpid()
            try:
                yield
            finally:
                self._local.alone = None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            handle = os.open(f"{self.path}-lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._failure(error) from error
        try:
            deadline = time.monotonic() + _PATIENCE
            while not _locks(handle):
                if time.monotonic() > deadline:
                    raise LedgerUnavailable(f"The ledger {self.path} is in use by another process.")
                time.sleep(_PAUSE)
            yield
        finally:
            with suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_UN)  # a child that was forked meanwhile holds a copy
            os.close(handle)

    def lines(self, run: str | None = None, after: int = -1) -> Iterator[Line]:
        """All lines, or those of one run, in order, page by page so that no read lock is held between."""
        where, args = ("run = ? AND ", (run,)) if run is not None else ("", ())
        seq = after
        while page := self._one(f"{where}seq > ? ORDER BY seq LIMIT {_PAGE}", *args, seq):
            yield from page
            seq = page[-1].seq

    def sync(self) -> None:
        """Make commits that were not durable durable."""
        if self.path is not None:
            with suppress(FileNotFoundError):  # no -wal: everything is already in the synced main file
                _sync(Path(f"{self.path}-wal"))

    def _one(self, where: str, *args: object) -> list[Line]:
        return [Line(*row) for row in self._run(f"SELECT {_COLUMNS} FROM entry WHERE {where}", args)]

    def _run(self, sql: str, args: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        """Run one statement to its end, waiting while another process holds the file."""
        with self._lock:
            connection = self._connection()
            deadline = time.monotonic() + _PATIENCE
            while True:
                try:
                    return connection.execute(sql, args).fetchall()
                except sqlite3.Error as error:
                    busy = getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
                    if not busy or connection.in_transaction or time.monotonic() > deadline:
                        raise self._failure(error) from error

    def _connection(self) -> _Connection:
        """This thread's connection in this process: SQLite connections must not cross a fork."""
        if self._closed:
            raise LedgerError("The ledger is closed.")
        if self._memory is not None:
            if os.getpid() != self._pid:
                raise LedgerError("A ledger in memory belongs to the process that made it.")
            return self._memory
        connection: _Connection | None = getattr(self._local, "connection", None)
        if connection is not None and connection.pid != os.getpid():
            self._inherited.append(connection)  # kept, never closed: it is the parent's
            connection = None
        if connection is None:
            connection = self._local.connection = self._check_in()
            self._open.add(connection)
        return connection

    def _check_in(self) -> _Connection:
        """Connect to the file after seeing that it is a ledger of a format we know."""
        assert self.path is not None
        try:
            connection = _connect(f"{self.path.absolute().as_uri()}?mode=rw")
            ((application,),) = connection.execute("PRAGMA application_id").fetchall()
            ((version,),) = connection.execute("PRAGMA user_version").fetchall()
            if application != _APPLICATION:
                raise LedgerError(f"The file {self.path} is not a Hedgerow ledger.")
            if version != FORMAT:
                raise LedgerError(
                    f"The ledger {self.path} has format {version}, and this Hedgerow reads {FORMAT}."
                )
            connection.execute("PRAGMA fullfsync=ON")
            connection.execute("PRAGMA checkpoint_fullfsync=ON")
        except sqlite3.Error as error:
            raise self._failure(error) from error
        self._harden(connection, "FULL")
        return connection

    def _harden(self, connection: _Connection, synchronous: str) -> None:
        """Choose whether commits wait for the disk."""
        if connection.synchronous != synchronous and self.path is not None:
            connection.execute(f"PRAGMA synchronous={synchronous}")
            connection.synchronous = synchronous

    def _find(self) -> tuple[int, int]:
        """Which file the path names right now."""
        assert self.path is not None
        try:
            status = self.path.stat()
        except OSError as error:
            raise self._failure(error) from error
        return status.st_dev, status.st_ino

    def _failure(self, error: sqlite3.Error | OSError) -> LedgerError:
        name = "in memory" if self.path is None else str(self.path)
        return failure(error, self.path, f"The ledger {name} cannot be used")


def _locks(handle: int) -> bool:
    """Take a file's lock if nobody has it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _sync(path: Path) -> None:
    """Flush a file or folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
