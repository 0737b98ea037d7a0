"""The ledger's file: lines in SQLite that are only ever appended, each chained to the one before it.

SQLite commits into a log beside the file (`-wal`) and moves it into the file later. Whoever copies the file
alone must get every charge whose answer was seen, so each durable commit is moved into the file before it
returns. Measured against rollback journals, which have no such log, in one run on a shared disk (a commit of
300 bytes a time; 1 writer / 1 writer and a reader / 4 writers and a reader):

| | durable commits a second | reads a second beside them | commits that need not wait |
| --- | --- | --- | --- |
| log, moved into the file each time | 53 / 64 / 178 | - / 493 / 449 | 11,000 |
| rollback journal, deleted | 46 / 42 / 140 | - / 4 / 2 | 69 |
| rollback journal, truncated | 44 / 44 / 409 (p99 2.8 s) | - / 1 / 7 | 69 |

A log also is what a copy can be checked by: the file alone is never ahead of file and log together.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from hedgerow.errors import LedgerError, LedgerUnavailable
from hedgerow.privacy.ledger.failure import failure
from hedgerow.privacy.ledger.line import FORMAT, NEWER, Line
from hedgerow.privacy.ledger.snapshot import Snapshot
from hedgerow.privacy.ledger.sqlite import (
    APPLICATION,
    COLUMNS,
    PLACES,
    Connection,
    Place,
    connect,
    insert,
    insert_places,
    lay_out,
)
from hedgerow.privacy.ledger.store import Store

_PATIENCE = 600.0  # seconds to wait while another process evaluates inside its transaction
_LOOK = 0.02  # between two looks at who else is at work
_PAUSE = 0.0005  # while others read what is to be written over
_PAGE = 256


class SQLiteStore(Store):
    """The lines of one ledger in one SQLite file, or in memory when `path` is None.

    Args:
        path: the file.
        first: line 0 of a ledger in memory.
        readonly: neither the file nor its folder is ever written; see `_look`.
        log: whether to read the log beside the file too, if it is only read.
    """

    def __init__(
        self, path: Path | None, first: Line | None = None, *, readonly: bool = False, log: bool = True
    ) -> None:
        self.path, self.durable = path, path is not None
        self.readonly = readonly
        self._log = log
        self._snapshot: Snapshot | None = None
        self._covered = -1  # the newest line that is known to be in the file, whatever becomes of its log
        self._closed = False
        self._pid = os.getpid()
        self._local = threading.local()
        self._open: weakref.WeakSet[Connection] = weakref.WeakSet()
        self._inherited: list[Connection] = []
        self._lock: AbstractContextManager[Any] = nullcontext()
        self._memory: Connection | None = None
        self._turn = threading.RLock()
        if path is None:
            assert first is not None
            self._lock = threading.RLock()
            self._memory = connect(None)
            lay_out(self._memory, first)
        else:
            device, inode = self._inode = self._find()
            self.own: Place = ("ledger", str(path), f"{device}:{inode}")
            self._connection()

    def close(self) -> None:
        """Close every connection of this process; the store can no longer be used."""
        self._closed = True
        for connection in [*self._open, *([self._memory] if self._memory else [])]:
            if connection.pid == os.getpid():
                connection.close()
        if self._snapshot is not None:
            self._snapshot.close()

    @contextmanager
    def transaction(self, durable: bool = True) -> Iterator[None]:
        """Hold the write lock; commit on leaving, roll back on any exception.

        A durable commit is in the file itself before this returns. One that is not outlives the process but
        neither the power nor the loss of the log; the next durable one covers it.
        """
        self._refuse_reader()
        with self._lock:
            connection = self._connection()
            if connection.in_transaction:
                raise LedgerError("A ledger transaction is already open in this thread.")
            if self.path is not None and self._find() != self._inode:
                raise LedgerError(f"The ledger {self.path} was moved or replaced while it was open.")
            self._harden(connection, "FULL" if durable else "NORMAL")
            self._local.owed = durable
            try:
                self._run("BEGIN IMMEDIATE")
                yield
                self._run("COMMIT")
            finally:
                if connection.pid == os.getpid() and connection.in_transaction:
                    connection.rollback()
            if self._local.owed:
                self.sync()

    def append(self, line: Line) -> None:
        """Write a line inside the open transaction."""
        connection = self._connection()
        if not connection.in_transaction:
            raise LedgerError("A line is written inside a transaction.")
        try:
            insert(connection, line)
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

    def at(self, seq: int) -> Line | None:
        """The line of a number, if there is one: a receipt may name any."""
        found = self._one("seq = ?", seq) if 0 <= seq < 1 << 63 else None
        return found[0] if found else None

    def last(self, account: str, upto: int | None = None) -> Line | None:
        """The newest line of an account, by the index: the account's running total is in it."""
        if upto is None:
            found = self._one("account = ? ORDER BY seq DESC LIMIT 1", account)
        else:
            found = self._one("account = ? AND seq <= ? ORDER BY seq DESC LIMIT 1", account, upto)
        return found[0] if found else None

    def raised(self, upto: int | None = None) -> Line | None:
        """The newest line that raised the budget, or had raised it up to a line."""
        upto = (1 << 63) - 1 if upto is None else upto
        found = self._one("kind = 'raise' AND seq <= ? ORDER BY seq DESC LIMIT 1", upto)
        return found[0] if found else None

    def requested(self, request: str) -> Line | None:
        """The line of a request id."""
        found = self._shown(self._one("request = ?", request))
        return found[0] if found else None

    def requested_last(self, start: str) -> Line | None:
        """The newest line whose request id begins with some ASCII words."""
        after = f"{start[:-1]}{chr(ord(start[-1]) + 1)}"
        found = self._one("request >= ? AND request < ? ORDER BY seq DESC LIMIT 1", start, after)
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
        self._refuse_reader()
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
        lock = Path(f"{self.path}-lock")
        try:
            handle = os.open(lock, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise failure(error, lock, f"The file {lock} cannot be used") from error
        try:
            deadline = time.monotonic() + _PATIENCE
            while True:
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() > deadline:
                        raise LedgerUnavailable(
                            f"The ledger {self.path} is in use by another process."
                        ) from None
                time.sleep(_LOOK)
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
            yield from page if run is None else self._shown(page)
            seq = page[-1].seq

    def sync(self) -> None:
        """Wait until the file alone, without the log beside it, holds everything committed so far.

        Waits for readers of older pages. While others commit, SQLite leaves flushing the file to the last of
        them; after a power cut just then it is whole together with its log, which was flushed.
        """
        if self.path is None or self.readonly:
            return
        if self._connection().in_transaction:
            self._local.owed = True
            return
        newest, deadline = self.newest(), time.monotonic() + _PATIENCE
        while newest > self._covered:
            ((busy, logged, moved),) = self._run("PRAGMA wal_checkpoint(PASSIVE)")
            if not busy and moved >= logged:
                self._covered = newest
            elif time.monotonic() > deadline:
                raise LedgerUnavailable(
                    f"The ledger {self.path} holds what was charged only in its log, because another program "
                    "does not end reading it; end that program and ask again under the same request id."
                )
            else:
                time.sleep(_PAUSE)

    def _shown(self, lines: list[Line]) -> list[Line]:
        """Lines whose answers may be shown: those of others may not have reached the file itself yet."""
        if any(line.seq > self._covered for line in lines):
            self.sync()
        return lines

    def places(self) -> list[Place]:
        """Where the ledger and its data were last seen; nothing in a ledger that never noted it."""
        if not self._run("SELECT 1 FROM sqlite_schema WHERE name = 'place'"):
            return []
        rows = self._run("SELECT role, path, file FROM place")
        return [(role, os.fsdecode(path), file) for role, path, file in rows]

    def note(self, places: Iterable[Place]) -> None:
        """Keep where files are; left for another time while the file is in use or cannot be written."""
        connection = self._connection()
        with suppress(sqlite3.OperationalError):
            try:
                connection.execute("BEGIN IMMEDIATE")
                connection.execute(PLACES)
                insert_places(connection, places)
                connection.execute("COMMIT")
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
            finally:
                if connection.in_transaction:
                    connection.rollback()

    def damage(self) -> str | None:
        """What SQLite finds wrong with the file's pages and indexes, if anything."""
        try:
            found = [str(row[0]) for row in self._run("PRAGMA integrity_check(1)")]
        except LedgerError:
            return "its pages do not fit together"
        return None if found == ["ok"] else "its pages and indexes do not fit together"

    def _refuse_reader(self) -> None:
        if self.readonly:
            raise LedgerError(f"The ledger {self.path} was opened to be read, not to be written.")

    def _one(self, where: str, *args: object) -> list[Line]:
        return [Line(*row) for row in self._run(f"SELECT {COLUMNS} FROM entry WHERE {where}", args)]

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

    def _connection(self) -> Connection:
        """This thread's connection in this process: SQLite connections must not cross a fork."""
        if self._closed:
            raise LedgerError("The ledger is closed.")
        if self._memory is not None:
            if os.getpid() != self._pid:
                raise LedgerError("A ledger in memory belongs to the process that made it.")
            return self._memory
        connection: Connection | None = getattr(self._local, "connection", None)
        if connection is not None and connection.pid != os.getpid():
            self._inherited.append(connection)  # kept, never closed: it is the parent's
            connection = None
        if connection is None:
            connection = self._local.connection = self._check_in()
            self._open.add(connection)
        return connection

    def _check_in(self) -> Connection:
        """Connect to the file after seeing that it is a ledger of a format we know."""
        assert self.path is not None
        try:
            connection = self._look() if self.readonly else connect(self.path, "mode=rw")
            try:
                ((application,),) = connection.execute("PRAGMA application_id").fetchall()
                ((version,),) = connection.execute("PRAGMA user_version").fetchall()
                if application != APPLICATION:
                    raise LedgerError(f"The file {self.path} is not a Hedgerow ledger.")
                if version != FORMAT:
                    raise LedgerError(
                        f"The ledger {self.path} has format {version}, and this Hedgerow reads {FORMAT}.",
                        hint=NEWER,
                    )
                connection.execute("PRAGMA fullfsync=ON")
                connection.execute("PRAGMA checkpoint_fullfsync=ON")
                self._harden(connection, "FULL")
            except BaseException:
                connection.close()  # now: others of this process share what SQLite holds of the log
                raise
        except sqlite3.Error as error:
            raise self._failure(error) from error
        return connection

    def _look(self) -> Connection:
        """Connect without writing anything, not even an index of the log; by way of a copy if need be."""
        assert self.path is not None
        if not self._log:  # SQLite itself reads it: closing a copied file would drop locks of this process
            return connect(self.path, "mode=ro&immutable=1")
        open_elsewhere = all(os.path.exists(f"{self.path}{suffix}") for suffix in ("-wal", "-shm"))
        if self._snapshot is None and open_elsewhere:  # else SQLite would make an empty log
            connection = connect(self.path, "mode=ro&readonly_shm=1")
            try:
                connection.execute("SELECT 1 FROM sqlite_schema").fetchall()
                return connection
            except sqlite3.Error as error:
                connection.close()
                if not isinstance(error, sqlite3.OperationalError):
                    raise  # else a log without an index, or a journal to roll back
        if self._snapshot is None:
            try:
                self._snapshot = Snapshot(self.path, ("-wal", "-journal"))
            except OSError as error:  # of the file, or of the log beside it
                unread = error.filename or self.path
                raise failure(error, self.path, f"The file {unread} cannot be read") from error
        return connect(self._snapshot.path)

    def _harden(self, connection: Connection, synchronous: str) -> None:
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
