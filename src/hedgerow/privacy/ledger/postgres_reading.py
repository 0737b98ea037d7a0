"""Reading a ledger in PostgreSQL: what others wrote is learned first, and what is remembered is not read."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hedgerow.errors import LedgerError
from hedgerow.privacy.ledger.line import FORMAT, NEWER, Line
from hedgerow.privacy.ledger.postgres import COLUMNS, lay_out
from hedgerow.privacy.ledger.postgres_link import PAGE, Lost, PostgresLink
from hedgerow.privacy.ledger.postgres_turn import Mine
from hedgerow.privacy.ledger.remembered import KINDS, Remembered
from hedgerow.privacy.ledger.store import Store
from hedgerow.privacy.ledger.url import LedgerUrl

_IDLE = 4  # connections that are kept for later
_TAIL = 200  # lines that are read at the beginning


class PostgresReading(Store):
    """The lines of one ledger in one schema of a PostgreSQL database, as they are read.

    Args:
        url: where.
        create: lay the schema out if there is none.
        readonly: nothing is ever written.
    """

    def __init__(self, url: LedgerUrl, *, create: bool = False, readonly: bool = False) -> None:
        self.url, self.readonly, self.durable = url, readonly, True
        self.trips = 0
        self.moved: str | None = None
        self._closed = False
        self._memory: Remembered | None = None
        self._inherited: list[Any] = []
        self._begin_process()
        link = self._connect(create=create and not readonly)
        self._memory = self._recollect(link)
        self._give_back(link)

    def _begin_process(self) -> None:
        """Locks and connections belong to one process."""
        self._pid = os.getpid()
        self._mine = Mine()
        self._mind = threading.RLock()
        self._reading = threading.Lock()
        self._writers, self._aloners = threading.RLock(), threading.RLock()
        self._idle: list[PostgresLink] = []

    def __repr__(self) -> str:
        return f"PostgresStore({str(self.url)!r})"

    def cache(self, ledger: str) -> Path | None:
        """A folder in the cache of whoever runs this."""
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        return Path(base) / "hedgerow" / f"{ledger}.cache" if os.path.isabs(base) else None

    def close(self) -> None:
        """Close all connections of this process; the store can no longer be used."""
        self._closed = True
        for link in self._idle:
            link.close()
        self._idle.clear()

    # -- reading ------------------------------------------------------------------------------------------

    @contextmanager
    def still(self) -> Iterator[None]:
        """A stretch in which this thread reads the ledger as it was at its beginning."""
        self._fresh()
        self._mine.still += 1
        try:
            yield
        finally:
            self._mine.still -= 1

    def newest(self) -> int:
        """The number of the newest line, -1 where there is none yet."""
        self._fresh()
        return self._known + len(self._own)

    def head(self) -> Line:
        """The newest line."""
        found = self.at(self.newest())
        if found is None:
            raise LedgerError("The ledger has no lines.")
        return found

    def first(self) -> Line:
        """Line 0, which holds the settings and, as its secret state, the row-bounding key."""
        self._check_in()
        if self._remembered.first is None:
            self._fresh()
        if (found := self._remembered.first) is None:
            raise LedgerError(f"The ledger {self.url} has lost its first line.")
        return found

    def at(self, seq: int) -> Line | None:
        """The line of a number, if there is one."""
        self._fresh()
        if not 0 <= seq < 1 << 63:
            return None
        held = [line for line, _ in self._own if line.seq == seq]
        if not held:
            with self._mind:
                tail = self._remembered.tail(seq - 1)
            held = self._read("seq = %s", seq) if tail is None else [line for line, _ in tail[:1]]
        return held[0] if held else None

    def last(self, account: str, upto: int | None = None) -> Line | None:
        """The newest line of an account; its running total is in it."""
        self._fresh()
        for line, held in self._own[::-1]:
            if held["account"] == account and (upto is None or line.seq <= upto):
                return line
        with self._mind:
            memory, now = self._remembered, self._known
            found = memory.account(account)
            if not memory.known("account", account):
                return None
        if found is None:
            rows = self._read("account = %s AND seq <= %s ORDER BY seq DESC LIMIT 1", account, now)
            if not rows:
                return None
            found = rows[0]
            with self._mind:
                memory.keep(now, account=(account, found))
        if upto is None or found.seq <= upto:
            return found
        older = self._read("account = %s AND seq <= %s ORDER BY seq DESC LIMIT 1", account, max(upto, -1))
        return older[0] if older else None

    def raised(self, upto: int | None = None) -> Line | None:
        """The newest line that raised the budget, or had raised it up to a line."""
        self._fresh()
        for line, held in self._own[::-1]:
            if held["kind"] == "raise" and (upto is None or line.seq <= upto):
                return line
        found = self._remembered.raised
        if found is None or upto is None or found.seq <= upto:
            return found
        older = self._read("kind = 'raise' AND seq <= %s ORDER BY seq DESC LIMIT 1", max(upto, -1))
        return older[0] if older else None

    def requested(self, request: str) -> Line | None:
        """The line of a request id."""
        self._fresh()
        writing = self._mine.writing
        if writing is not None and request in writing.requests:
            return writing.requests[request]
        with self._mind:
            known, tail = self._remembered.known("request", request), self._remembered.tail(-1)
        if not known:
            return None
        found = self._read("request = %s", request) if tail is None else [
            line for line, held in tail if held["request"] == request
        ]  # fmt: skip
        return found[0] if found else None

    def requested_last(self, start: str) -> Line | None:
        """The newest line whose request id begins with some ASCII words."""
        self._fresh()
        for line, held in self._own[::-1]:
            if (held["request"] or "").startswith(start):
                return line
        found = self._read("starts_with(request, %s) ORDER BY seq DESC LIMIT 1", start)
        return found[0] if found else None

    def children(self, parent: str) -> list[str]:
        """The accounts that were ever allotted from an account, in order."""
        self._fresh()
        own = [held["account"] for _, held in self._own if _opens(held, parent)]
        with self._mind:
            memory, now = self._remembered, self._known
            if not memory.known("parent", parent):
                memory.keep(now, children=(parent, []))
            if (found := memory.children(parent)) is not None:
                return [*found, *own]
        sql = f"SELECT account FROM {self.url.name}.entry WHERE kind = 'open' AND parent = %s AND seq <= %s"
        rows = self._ask((f"{sql} ORDER BY seq", (parent, now)))
        names = [str(row[0]) for row in rows]
        with self._mind:
            memory.keep(now, children=(parent, names))
        return [*names, *own]

    def lines(self, run: str | None = None, after: int = -1) -> Iterator[Line]:
        """All lines, or those of one run, after a number, in order, page by page."""
        self._fresh()
        with self._mind:
            memory, now, own = self._remembered, self._known, list(self._own)
            found = self._held(run, after)
        where, args = ("run = %s AND ", (run,)) if run is not None else ("", ())
        seq = after
        while found is None:
            page = self._read(f"{where}seq > %s AND seq <= %s ORDER BY seq LIMIT {PAGE}", *args, seq, now)
            if len(page) < PAGE:
                found = page
                if run is not None and seq < 0:
                    with self._mind:
                        memory.keep(now, run=(run, page))
            else:
                yield from page
                seq = page[-1].seq
        yield from found
        yield from (line for line, held in own if line.seq > after and run in (None, held["run"]))

    def _held(self, run: str | None, after: int) -> list[Line] | None:
        """The lines of a run that are remembered; None if they are looked up: whoever reads all, checks."""
        memory = self._remembered
        if run is None and after < 0:
            return None
        if run is not None and not memory.known("run", run):
            memory.keep(self._known, run=(run, []))
        whole = None if run is None else memory.run(run)
        if whole is not None:
            return [line for line in whole if line.seq > after]
        tail = memory.tail(after)
        return None if tail is None else [line for line, held in tail if run in (None, held["run"])]

    def damage(self) -> str | None:
        """Whether the triggers are there, and the head is the newest line's."""
        name = self.url.name
        triggers = "SELECT count(*) FROM pg_trigger WHERE tgrelid IN (%s::regclass, %s::regclass)"
        head = (
            f"SELECT h.seq = e.seq AND h.hash = e.hash FROM {name}.head h, {name}.entry e ORDER BY e.seq DESC"
        )
        told = self._ask((f"{triggers} AND tgenabled IN ('O', 'A')", (f"{name}.head", f"{name}.entry")))
        if told[0][0] < 6:
            return "triggers that keep its lines are missing or switched off"
        ends = self._ask((f"{head} LIMIT 1", ()))
        return None if not ends or ends[0][0] else "its head is not its newest line"

    # -- inside -------------------------------------------------------------------------------------------

    @property
    def _remembered(self) -> Remembered:
        assert self._memory is not None
        return self._memory

    @property
    def _known(self) -> int:
        return self._remembered.newest

    @property
    def _own(self) -> list[tuple[Line, dict[str, Any]]]:
        """Lines of this thread that nobody else sees yet."""
        return [] if self._mine.writing is None else self._mine.writing.held

    def _learn(self, lines: list[Line]) -> None:
        with self._mind:
            for line in lines:
                self._remembered.absorb(line)

    def _fresh(self) -> None:
        """Learn what others wrote, unless nobody can write now or this thread reads one moment."""
        self._check_in()
        if self._mine.writing is not None or self._mine.still:
            return
        with self._reading:
            while len(page := self._page()) == PAGE:
                self._learn(page)
            self._learn(page)

    def _page(self) -> list[Line]:
        return self._read(f"seq > %s ORDER BY seq LIMIT {PAGE}", self._known)

    def _read(self, where: str, *args: Any) -> list[Line]:
        rows = self._ask((f"SELECT {COLUMNS} FROM {self.url.name}.entry WHERE {where}", args))
        return [Line(*row) for row in rows]

    def _ask(self, statement: tuple[str, tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Read something; a connection that broke is replaced once."""
        writing = self._mine.writing
        if writing is not None:
            return writing.link.trip(statement)[0]
        for tries in range(2):
            link = self._borrow()
            try:
                return link.trip(statement)[0]
            except Lost:
                self._forget_idle()
                if tries:
                    raise
            finally:
                self._give_back(link)
        raise AssertionError("unreachable")

    def _borrow(self) -> PostgresLink:
        with self._mind:
            while self._idle:
                link = self._idle.pop()
                if link.good:
                    return link
        return self._connect()

    def _forget_idle(self) -> None:
        """One connection broke, and so may have the others."""
        with self._mind:
            idle, self._idle = self._idle, []
        for link in idle:
            link.close()

    def _give_back(self, link: PostgresLink) -> None:
        with self._mind:
            if link.good and not self._closed and len(self._idle) < _IDLE:
                self._idle.append(link)
                return
        link.close()

    def _connect(self, *, create: bool = False) -> PostgresLink:
        """A new connection, after seeing that this still is the ledger that it was."""
        link = PostgresLink(self.url, self._count)
        try:
            if not link.here[2]:
                if not create:
                    raise LedgerError(f"There is no ledger at {self.url}.")
                lay_out(link._connection, self.url, link.here)
            self._recognise(link)
        except BaseException:
            link.close()
            raise
        return link

    def _recognise(self, link: PostgresLink) -> None:
        name = self.url.name
        system, timeline, _ = link.here
        ((format, at, line),) = link.trip((f"SELECT format, system, timeline FROM {name}.seat", ()))[0]
        if format != FORMAT:
            raise LedgerError(
                f"The ledger {self.url} has format {format}, and this Hedgerow reads {FORMAT}.", hint=NEWER
            )
        if (at, line) != (system, timeline):
            self.moved = (
                f"The database of the ledger {self.url} was promoted or restored since it was last written, "
                "and may lack what was charged: go on with the newest receipt and a reason, by `hedgerow "
                "budget moved`."
            )
        memory = self._memory
        if memory is None or memory.newest < 0:
            return
        held = memory.tail(memory.newest - 1)
        there = link.lines("seq = %s", memory.newest)
        if not there or (held and held[0][0].hash != there[0].hash):
            self._closed = True
            raise LedgerError(
                f"The ledger {self.url} lacks lines that it had: an older copy was put in its place."
            )

    def _recollect(self, link: PostgresLink) -> Remembered:
        """What must be known of a ledger to begin with."""
        name = self.url.name
        digests = " UNION ALL ".join(
            f"(SELECT DISTINCT '{kind[0]}' || {kind} AS key FROM {name}.entry WHERE {kind} IS NOT NULL)"
            for kind in KINDS
        )
        keys = (
            f"SELECT string_agg(substr(sha256(convert_to(key, 'UTF8')), 1, 8), ''::bytea) FROM ({digests}) k"
        )
        upto, ((packed,),), first, raised = link.trip(
            (f"SELECT seq FROM {name}.head", ()),
            (keys, ()),
            link.finding("seq = 0"),
            link.finding("kind = 'raise' ORDER BY seq DESC LIMIT 1"),
        )
        newest = max(int(upto[0][0]) - _TAIL, -1)  # the last lines are read again, and kept
        lines = [Line(*row[0]) if row else None for row in (first, raised)]
        return Remembered(newest, lines[0], lines[1], packed or b"")

    def _count(self) -> None:
        self.trips += 1

    def _check_in(self) -> None:
        if self._closed:
            raise LedgerError("The ledger is closed.")
        if os.getpid() != self._pid:
            self._inherited += [self._mine, *self._idle]  # kept, never closed: they are the parent's
            self._begin_process()


def _opens(held: dict[str, Any], parent: str) -> bool:
    return bool(held["kind"] == "open" and held["parent"] == parent)
