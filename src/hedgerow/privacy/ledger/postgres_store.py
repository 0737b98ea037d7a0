"""The ledger in PostgreSQL: the same lines, for several processes on several hosts.

Whoever writes locks the one row of `head`, reads what others wrote, decides, and commits all lines of a
transaction at once: two round trips. What was read is remembered (`Remembered`), so deciding needs no further
looks. A `turn` is one such transaction of the database, however many of the ledger's are in it: a question
binds its request id, sets aside, compares, is charged and written down, and all of that is kept or nothing.

A connection that breaks while it commits leaves a doubt. It is settled before anything is said: over a new
connection the row is locked, which waits for whatever the old one still does; then the lines are there, or
they are not. If nobody wrote meanwhile the same lines are written again: nothing is evaluated twice.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from hedgerow.errors import LedgerError, LedgerUnavailable
from hedgerow.privacy.ledger.line import Line
from hedgerow.privacy.ledger.postgres import PATIENCE
from hedgerow.privacy.ledger.postgres_link import Lost, PostgresLink
from hedgerow.privacy.ledger.postgres_reading import PostgresReading
from hedgerow.privacy.ledger.postgres_turn import Writing
from hedgerow.privacy.ledger.url import LedgerUrl

_SETTLING = 20.0  # seconds to find out whether a commit was made
_PAUSE = 0.2


class PostgresStore(PostgresReading):
    """The lines of one ledger in one schema of a PostgreSQL database; see `PostgresReading`."""

    @contextmanager
    def transaction(self, durable: bool = True) -> Iterator[None]:
        """The writers' turn, by the lock of one row; one trip to begin and one to commit.

        All commits wait for the disk. Within a `turn` nothing is waited for: it commits at its end.
        """
        self._refuse_writer()
        mine = self._mine.writing
        if mine is not None and mine.inside:
            raise LedgerError("A ledger transaction is already open in this thread.")
        with self._to_write() as writing:
            if writing.dead:
                raise LedgerUnavailable(writing.dead)
            before = len(writing.held)
            writing.inside = True
            try:
                yield
            except BaseException:
                writing.cut(before)
                raise
            finally:
                writing.inside = False
            if writing.held and not writing.kept:
                self._commit(writing)

    @contextmanager
    def _to_write(self) -> Iterator[Writing]:
        """The turn that this thread has, or one for now."""
        if self._mine.writing is not None:
            yield self._mine.writing
            return
        with _held(self._writers, self.url):
            alone = self._mine.alone
            link = self._begun() if alone is None else alone
            try:
                if alone is not None:
                    self._learn(alone.begin(self._known))
                writing = self._mine.writing = Writing(link)
                try:
                    yield writing
                finally:
                    link, self._mine.writing = writing.link, None
                    link.leave(alone=False, writing=True)
            finally:
                if alone is None:
                    self._give_back(link)

    def _begun(self, *, alone: bool = False) -> PostgresLink:
        """A connection that has the writers' turn; one that broke while nobody used it is replaced."""
        for tries in range(2):
            link = self._borrow()
            try:
                self._learn(link.begin(self._known, alone=alone))
                return link
            except Lost:
                self._forget_idle()
                if tries:
                    raise
            except BaseException:
                link.close()
                raise
        raise AssertionError("unreachable")

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Be alone, and keep the writers' turn: what is written in it is committed at its end, or by sync."""
        self._refuse_writer()
        if self._mine.alone is not None:
            yield
            return
        with _held(self._aloners, self.url), _held(self._writers, self.url):
            link = self._begun(alone=True)
            try:
                writing = self._mine.writing = Writing(link, kept=True)
                self._mine.alone = link
                try:
                    yield
                finally:
                    try:
                        self.sync()  # transactions that ended well are kept, whatever came after them
                    finally:
                        link, self._mine.alone, self._mine.writing = writing.link, None, None
                        link.leave(alone=True, writing=True)
            finally:
                self._give_back(link)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until no other process or thread is in here; ends with the connection that is."""
        self._refuse_writer(moved=True)
        if self._mine.alone is not None:
            yield
            return
        with _held(self._aloners, self.url):
            link = self._begun(alone=True)
            link.leave(alone=False, writing=True)
            try:
                self._mine.alone = link
                try:
                    yield
                finally:
                    link, self._mine.alone = self._mine.alone, None
                    link.leave(alone=True, writing=False)
            finally:
                self._give_back(link)

    def append(self, line: Line) -> None:
        """Write a line inside the open transaction; it is sent with the others."""
        self._check_in()
        writing = self._mine.writing
        if writing is None or not writing.inside:
            raise LedgerError("A line is written inside a transaction.")
        if line.seq != self._known + len(writing.held) + 1:
            raise LedgerError("Ledger lines are only appended, each after the one before.")
        writing.add(line)

    def _commit(self, writing: Writing) -> None:
        """Commit what was appended; all of it, or nothing and an error."""
        lines = [line for line, _ in writing.held]
        try:
            try:
                news = writing.link.commit(lines, on_from=lines[-1].seq if writing.kept else None)
            except Lost as lost:
                news = self._settle(writing, lines, lost)
        except BaseException:
            writing.dead = f"The turn at the ledger {self.url} was lost: ask again under the same request id."
            raise
        finally:
            writing.cut(0)
        self._learn([*lines, *news])

    def _settle(self, writing: Writing, lines: list[Line], lost: Lost) -> list[Line]:
        """After a commit of which nobody knows: find out, or write the same lines again; what came after."""
        deadline = time.monotonic() + _SETTLING
        after = lines[0].seq - 1
        while True:
            try:
                link = self._connect()
                writing.link = link
                if self._mine.alone is not None:
                    self._mine.alone = link
                found = link.begin(after, alone=self._mine.alone is not None)
                if not found:
                    return link.commit(lines, on_from=lines[-1].seq if writing.kept else None)
                if found[0].hash == lines[0].hash:
                    return self._overtaken(writing, found[len(lines) :])
            except Lost as again:
                lost = again
            except LedgerUnavailable as away:
                lost = Lost(str(away))
            else:
                raise LedgerUnavailable(
                    f"The connection to the ledger {self.url} broke before anything was charged: ask again."
                )
            if time.monotonic() > deadline:
                raise LedgerUnavailable(
                    f"{str(lost).rstrip('.')}; whether the last charge was made is not known yet: ask again "
                    "under the same request id, which pays nothing twice."
                ) from None
            time.sleep(_PAUSE)

    def _overtaken(self, writing: Writing, news: list[Line]) -> list[Line]:
        """A commit was made, and then its locks were lost: what others wrote since ends whatever goes on."""
        if news:
            writing.dead = f"The ledger {self.url} was written by others meanwhile: ask again."
            if not writing.kept and self._mine.alone is not None:
                writing.link.close()
        return news

    def accept(self) -> None:
        """From now on the ledger is where it is: its owner knows that its database took another's place."""
        self._refuse_writer(moved=True)
        with self._reading:
            link = self._borrow()
            system, timeline, _ = link.here
            link.trip((f"UPDATE {self.url.name}.seat SET system = %s, timeline = %s", (system, timeline)))
            self._give_back(link)
        self.moved = None

    def sync(self) -> None:
        """Everything that is committed is durable; what waits in a turn is committed now."""
        self._check_in()
        writing = self._mine.writing
        if writing is not None and writing.kept and not writing.inside and writing.held:
            self._commit(writing)

    def _refuse_writer(self, *, moved: bool = False) -> None:
        self._check_in()
        if self.readonly:
            raise LedgerError(f"The ledger {self.url} was opened to be read, not to be written.")
        if self.moved is not None and not moved:
            raise LedgerError(self.moved)


@contextmanager
def _held(lock: Any, url: LedgerUrl) -> Iterator[None]:
    """A lock of this process, for as long as anybody waits for the ledger itself."""
    if not lock.acquire(timeout=PATIENCE):
        raise LedgerUnavailable(f"The ledger {url} is in use by another thread.")
    try:
        yield
    finally:
        with suppress(RuntimeError):  # a child that was forked meanwhile has locks of its own
            lock.release()
