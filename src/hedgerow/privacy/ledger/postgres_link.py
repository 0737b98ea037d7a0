"""PostgresLink: one connection to a ledger in PostgreSQL, which sends what belongs together at once.

A round trip is what costs: statements go out in one batch, and their results come back together. What nobody
needs to wait for, such as letting a lock go, is sent, and its result is read before the next batch.
"""

from __future__ import annotations

import hashlib
import os
import select
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hedgerow.errors import LedgerUnavailable
from hedgerow.privacy.ledger.line import Line
from hedgerow.privacy.ledger.postgres import COLUMNS, connect, failure, is_lost, values

if TYPE_CHECKING:
    from hedgerow.privacy.ledger.url import LedgerUrl

PAGE = 1000
_BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"

Statement = tuple[str, tuple[Any, ...]]
Rows = list[tuple[Any, ...]]


class Lost(LedgerUnavailable):
    """The connection is gone, and what became of the last batch is not known."""


class PostgresLink:
    """One connection.

    Args:
        url: the ledger's.
        count: called once for every round trip.
    """

    def __init__(self, url: LedgerUrl, count: Callable[[], None]) -> None:
        self._url, self._count = url, count
        self._connection, self.here = connect(url)
        self._unread = False
        self.pid = os.getpid()
        digest = hashlib.sha256(f"hedgerow alone {url.name}".encode()).digest()
        self._key = int.from_bytes(digest[:8], "big", signed=True)

    @property
    def good(self) -> bool:
        """Whether it may be used again."""
        return not self._connection.closed and self.pid == os.getpid()

    def trip(self, *statements: Statement) -> list[Rows]:
        """Send statements together and wait once; the rows of each."""
        import psycopg

        self._count()
        try:
            self._read_rest()
            with self._connection.pipeline():
                cursors = [self._connection.execute(sql.encode(), args) for sql, args in statements]
            return [cursor.fetchall() if cursor.description else [] for cursor in cursors]
        except psycopg.Error as error:
            what = f"The ledger {self._url} cannot be used"
            if is_lost(error) or self._connection.closed:
                self.close()
                raise Lost(str(failure(error, what, connecting=True))) from None
            with suppress(psycopg.Error):
                self._connection.execute("ROLLBACK")
            raise failure(error, what) from None

    def begin(self, after: int, *, alone: bool = False) -> list[Line]:
        """Wait for the writers' turn, before it for being alone if that is wanted; lines after a number."""
        first = [("SELECT pg_advisory_lock(%s)", (self._key,))] if alone else []
        found = self.trip(*first, *self._beginning(after))
        return self._all(found[-1], after)

    def commit(self, lines: Sequence[Line], *, on_from: int | None = None) -> list[Line]:
        """Write lines and commit them.

        Args:
            lines: the next ones, in order.
            on_from: begin the next turn in the same round trip, with the lines after this number.
        """
        writes = [self._writing(lines[at : at + PAGE]) for at in range(0, len(lines), PAGE)]
        more = [] if on_from is None else self._beginning(on_from)
        found = self.trip(*writes, ("COMMIT", ()), *more)
        return [] if on_from is None else self._all(found[-1], on_from)

    def leave(self, *, alone: bool, writing: bool) -> None:
        """Let locks go; nobody waits for that."""
        words = ["ROLLBACK"] if writing else []
        words += [f"SELECT pg_advisory_unlock({self._key})"] if alone else []
        with suppress(Exception):  # then the connection is gone, and its locks with it
            self._read_rest()
            wire = self._connection.pgconn
            wire.send_query("; ".join(words).encode())
            self._unread = True
            if wire.flush() == 0:
                return
        self.close()

    def lines(self, where: str, *args: Any) -> list[Line]:
        """The lines that fit."""
        return [_line(row) for row in self.trip(self.finding(where, *args))[0]]

    def finding(self, where: str, *args: Any) -> Statement:
        """A statement that finds lines."""
        return f"SELECT {COLUMNS} FROM {self._url.name}.entry WHERE {where}", args

    def close(self) -> None:
        """Let go of it; what belongs to the process that was forked from is left alone."""
        if self.pid == os.getpid():
            with suppress(Exception):
                self._connection.close()

    def _writing(self, lines: Sequence[Line]) -> Statement:
        rows = ", ".join(["(" + ", ".join(["%s"] * 12) + ")"] * len(lines))
        columns = f"{COLUMNS}, kind, account, parent, request, run"
        return (
            f"INSERT INTO {self._url.name}.entry ({columns}) VALUES {rows}",
            tuple(value for line in lines for value in values(line)),
        )

    def _beginning(self, after: int) -> list[Statement]:
        """Lock the one row that all who write lock; what is read then is all there is."""
        head = f"SELECT seq FROM {self._url.name}.head FOR UPDATE"
        return [(_BEGIN, ()), (head, ()), self.finding(f"seq > %s ORDER BY seq LIMIT {PAGE}", after)]

    def _all(self, rows: Rows, after: int) -> list[Line]:
        """Page by page, where there are many."""
        found = [_line(row) for row in rows]
        while len(rows) == PAGE:
            (rows,) = self.trip(self.finding(f"seq > %s ORDER BY seq LIMIT {PAGE}", found[-1].seq))
            found += [_line(row) for row in rows]
        return found

    def _read_rest(self) -> None:
        """Read the results of what was sent without waiting."""
        wire = self._connection.pgconn
        while self._unread:
            while wire.is_busy():
                select.select([wire.socket], [], [])
                wire.consume_input()
            self._unread = wire.get_result() is not None


def _line(row: tuple[Any, ...]) -> Line:
    return Line(*row)
