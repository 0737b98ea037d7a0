"""Store: where a ledger's lines are kept. One small contract; all decisions are made above it.

To write one's own, subclass `Store` and give what has no body here: `transaction`, `append`, `lines`, `alone`
and `close`. The other reads have bodies that walk all lines; a store with an index does better. Run
`hedgerow.testing.contracts.check_store` on it, then hand it to `Ledger.open` or `Curator(ledger=...)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Protocol, runtime_checkable

from hedgerow.errors import LedgerError
from hedgerow.privacy.ledger.line import Line
from hedgerow.privacy.ledger.nearby import cache_folder


@runtime_checkable
class Store(Protocol):
    """Lines that are only ever appended, in transactions that are kept whole or not at all.

    `durable` says that what was committed outlives the process and the machine's power. A ledger in a store
    that does not say so is a simulation, and every result that is charged to it is marked as not private.
    `path` is the file, where there is one. Whatever goes wrong is a LedgerError (a LedgerUnavailable where
    trying again may help) in one sentence that quotes no line.
    """

    durable: bool = False
    path: Path | None = None
    readonly: bool = False

    def transaction(self, durable: bool = True) -> AbstractContextManager[None]:
        """The only writer's turn: committed on leaving, before anything is shown; undone on any exception.

        A second one in the same thread is refused; other threads and processes wait. Within it this thread
        reads what it has appended, and nobody else does. If `durable` is False the commit need not wait for
        the disk: the next one that does covers it.
        """
        ...

    def append(self, line: Line) -> None:
        """Write the next line inside the open transaction; refused outside of one, or out of order."""
        ...

    def lines(self, run: str | None = None, after: int = -1) -> Iterator[Line]:
        """All lines, or those of one run, after a number, in order; what is shown must be durable."""
        ...

    def alone(self) -> AbstractContextManager[None]:
        """A stretch in which no other holder of these lines is, in whichever process; reentrant in a thread.

        It keeps nobody from writing, and ends with the process that is in it.
        """
        ...

    def close(self) -> None:
        """Let go of everything; from then on every other call is a LedgerError."""
        ...

    # -- what a store with an index does better ------------------------------------------------------------

    def first(self) -> Line:
        """Line 0, which holds the settings and, as its secret state, the row-bounding key."""
        if (found := self.at(0)) is None:
            raise LedgerError("The ledger has lost its first line.")
        return found

    def head(self) -> Line:
        """The newest line; there is one."""
        if (found := _newest(self.lines())) is None:
            raise LedgerError("The ledger has no lines.")
        return found

    def newest(self) -> int:
        """The number of the newest line, -1 where there is none yet."""
        found = _newest(self.lines())
        return -1 if found is None else found.seq

    def at(self, seq: int) -> Line | None:
        """The line of a number, if there is one: a receipt may name any."""
        return next((line for line in self.lines(after=seq - 1) if line.seq == seq), None)

    def last(self, account: str, upto: int | None = None) -> Line | None:
        """The newest line of an account, or up to a line: the account's running total is in it."""
        return _newest(line for line in self._upto(upto) if line.field("account") == account)

    def raised(self, upto: int | None = None) -> Line | None:
        """The newest line that raised the budget, or had raised it up to a line."""
        return _newest(line for line in self._upto(upto) if line.field("kind") == "raise")

    def requested(self, request: str) -> Line | None:
        """The line of a request id; it may be shown, so it must be durable."""
        return next((line for line in self.lines() if line.field("request") == request), None)

    def requested_last(self, start: str) -> Line | None:
        """The newest line whose request id begins with some ASCII words."""
        return _newest(line for line in self.lines() if (line.field("request") or "").startswith(start))

    def children(self, parent: str) -> list[str]:
        """The accounts that were ever allotted from an account, in order."""
        some = (line for line in self.lines() if line.field("kind") == "open")
        return [str(line.field("account")) for line in some if line.field("parent") == parent]

    def sync(self) -> None:
        """Wait until everything committed so far is durable."""
        return None

    def turn(self) -> AbstractContextManager[None]:
        """As `alone`, for one short piece of work that writes: a store may keep other writers waiting.

        The transactions in it may be committed together, at its end or by `sync`: until then nothing that was
        done in it is shown to anybody.
        """
        return self.alone()

    def still(self) -> AbstractContextManager[None]:
        """A stretch in which several reads may be answered as of one moment, its beginning."""
        return nullcontext()

    def cache(self, ledger: str) -> Path | None:
        """A folder of this machine for what may be deleted at any time, if there is one.

        Args:
            ledger: the ledger's id.
        """
        return None if self.path is None else cache_folder(self.path)

    def accept(self) -> None:
        """Take the place where the lines are now for the right one; most stores cannot be elsewhere."""
        return None

    def damage(self) -> str | None:
        """What is wrong with the place itself, beside the lines in it, if anything."""
        return None

    def _upto(self, seq: int | None) -> Iterator[Line]:
        return (line for line in self.lines() if seq is None or line.seq <= seq)


def _newest(lines: Iterable[Line]) -> Line | None:
    """The last of some lines."""
    found = None
    for found in lines:  # noqa: B007 - the last one is wanted
        pass
    return found
