"""What a server has open of a dataset: curator, session, a reading, and how old the data file was then."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow.errors import HedgerowError
from hedgerow.service.people import accounts_of

if TYPE_CHECKING:
    from hedgerow.curator.curator import Curator
    from hedgerow.mechanisms.session.open_session import OpenSession
    from hedgerow.mechanisms.session.reading import SessionReading
    from hedgerow.privacy.budget import Cost
    from hedgerow.privacy.ledger.ledger import Ledger


@dataclass(frozen=True)
class OpenedDataset:
    """A dataset that has a budget: its curator, and its session once it was learned.

    Args:
        curator: the owner's.
        session: None until something was learned.
        reading: what is read off it.
        seen: the last change of the data file when it was opened.
        until: what is closed at the end.
    """

    curator: Curator
    session: OpenSession | None
    reading: SessionReading | None
    seen: int | None
    until: ExitStack

    @property
    def ledger(self) -> Ledger:
        """The dataset's."""
        return self.curator.ledger


class Pace:
    """Something that is done once in a while, however often it is asked for.

    Args:
        seconds: between two times.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds, self._last = seconds, 0.0

    def due(self) -> bool:
        """Whether it is time; then it is done."""
        now = time.monotonic()
        if now - self._last <= self._seconds:
            return False
        self._last = now
        return True


class Remainders:
    """What each account may still spend, read again when the ledger has grown."""

    def __init__(self) -> None:
        self._left: dict[str, tuple[int, Cost]] = {}

    def of(self, ledger: Ledger, account: str) -> Cost:
        """What somebody may still spend."""
        newest, known = ledger.newest, self._left.get(account)
        if known is None or known[0] != newest:
            whose = (accounts_of(ledger, account) or ["owner"])[-1]
            known = self._left[account] = newest, ledger.remaining(whose)
        return known[1]

    def clear(self) -> None:
        """Read everything again: the budget is another one."""
        self._left.clear()


class Leaving:
    """What another took the place of, closed a while later: whoever reads it by then has read it.

    Args:
        seconds: the while.
    """

    def __init__(self, seconds: float = 10.0) -> None:
        self._seconds, self._lock = seconds, threading.Lock()
        self._open: list[ExitStack] = []

    def add(self, until: ExitStack) -> None:
        """Close it later."""
        with self._lock:
            self._open.append(until)
        timer = threading.Timer(self._seconds, self._close, (until,))
        timer.daemon = True
        timer.start()

    def close(self) -> None:
        """Close everything now."""
        for until in list(self._open):
            self._close(until)

    def _close(self, until: ExitStack) -> None:
        with self._lock:
            if until not in self._open:
                return
            self._open.remove(until)
        until.close()


def settle(opened: OpenedDataset | None) -> None:
    """What was asked is in the ledger for good: readers may know it."""
    if opened is not None and opened.session is not None:
        opened.session.settle()


def end_session(opened: OpenedDataset | None) -> None:
    """Give back what a session has set aside."""
    if opened is not None and opened.session is not None:
        with suppress(HedgerowError):
            opened.session.close()


def last_change(data: Path) -> int | None:
    """When a file, or the newest file of a folder, was last written."""
    with suppress(OSError):
        if data.is_dir():
            return max((f.stat().st_mtime_ns for f in data.rglob("*.parquet")), default=None)
        return data.stat().st_mtime_ns
    return None
