"""Remembered: what one process knows of a ledger elsewhere, so that it need not ask for it again.

Lines are only ever appended, so whatever was read stays true until a newer line changes it, and all newer
lines come through `absorb`, in order. What was never read is not known, with one exception: which accounts,
requests, parents and runs there are at all is kept as digests, eight bytes each, so that a new name is known
to be new without asking. Two names with one digest cost a look, and nothing else.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from bisect import bisect_left
from collections import deque
from typing import Any

from hedgerow.privacy.ledger.line import Line

KINDS = ("account", "request", "parent", "run")
_LINES, _BYTES = 2_000, 1 << 24  # the newest lines are kept: so many, of so many bytes
_NAMES = 5_000  # accounts, parents and runs of which something is remembered
_SHORT = 64  # lines of a run that is remembered whole


def key(kind: str, name: str) -> int:
    """The digest of a name."""
    return int.from_bytes(hashlib.sha256(f"{kind[0]}{name}".encode()).digest()[:8], "little")


def fields(line: Line) -> dict[str, Any]:
    """What a line is found by; whatever it lacks is None."""
    held = json.loads(line.text)
    return {name: held.get(name) for name in ("kind", *KINDS)}


class Remembered:
    """What is known of a ledger up to its line `newest`.

    Args:
        newest: the number of its newest line, -1 where there is none.
        first, raised: line 0, and the newest line that raised the budget.
        keys: all digests, one after the other.
    """

    def __init__(
        self, newest: int = -1, first: Line | None = None, raised: Line | None = None, keys: bytes = b""
    ) -> None:
        self.newest, self.first, self.raised = newest, first, raised
        digests = array("Q")
        digests.frombytes(keys)
        self._old = array("Q", sorted(digests))
        self._new: set[int] = set()
        self._tail: deque[tuple[Line, dict[str, Any]]] = deque()
        self._size = 0
        self._accounts: dict[str, Line] = {}
        self._children: dict[str, list[str]] = {}
        self._runs: dict[str, list[Line]] = {}

    def absorb(self, line: Line) -> None:
        """Take in the next line; one that is known is passed over."""
        if line.seq <= self.newest:
            return
        held = fields(line)
        self.newest = line.seq
        if line.seq == 0:
            self.first = line
        self._tail.append((line, held))
        self._size += _bytes(line)
        while len(self._tail) > _LINES or (self._size > _BYTES and len(self._tail) > 1):
            self._size -= _bytes(self._tail.popleft()[0])
        self._new |= {key(kind, held[kind]) for kind in KINDS if isinstance(held[kind], str)}
        if held["kind"] == "raise":
            self.raised = line
        self._accounts[held["account"]] = line
        if held["kind"] == "open" and held["parent"] in self._children:
            self._children[held["parent"]].append(held["account"])
        if held["run"] in self._runs:
            self._runs[held["run"]].append(line)
            if len(self._runs[held["run"]]) > _SHORT:
                del self._runs[held["run"]]
        self._forget()

    def known(self, kind: str, name: str) -> bool:
        """Whether there may be lines of a name; False is certain."""
        digest = key(kind, name)
        at = bisect_left(self._old, digest)
        return digest in self._new or (at < len(self._old) and self._old[at] == digest)

    def tail(self, after: int) -> list[tuple[Line, dict[str, Any]]] | None:
        """All lines after a number, with what they are found by; None if some are no longer held."""
        start = self._tail[0][0].seq if self._tail else self.newest + 1
        if after + 1 < start:
            return None
        return [pair for pair in self._tail if pair[0].seq > after]

    def account(self, name: str) -> Line | None:
        """The newest line of an account, if it is remembered."""
        return self._accounts.get(name)

    def children(self, parent: str) -> list[str] | None:
        """The accounts that were opened from one, if they are remembered."""
        return self._children.get(parent)

    def run(self, name: str) -> list[Line] | None:
        """The lines of a run, if they are remembered."""
        return self._runs.get(name)

    def keep(
        self,
        upto: int,
        *,
        account: tuple[str, Line] | None = None,
        children: tuple[str, list[str]] | None = None,
        run: tuple[str, list[Line]] | None = None,
    ) -> None:
        """Remember what was looked up, if no line came since then.

        Args:
            upto: the newest line when it was looked up.
            account, children, run: a name, and what was found.
        """
        if upto != self.newest:
            return
        if account is not None:
            self._accounts[account[0]] = account[1]
        if children is not None:
            self._children[children[0]] = list(children[1])
        if run is not None and len(run[1]) <= _SHORT:
            self._runs[run[0]] = list(run[1])
        self._forget()

    def _forget(self) -> None:
        for some in (self._accounts, self._children, self._runs):
            if len(some) > _NAMES:
                some.clear()


def _bytes(line: Line) -> int:
    return len(line.text) + len(line.answer or b"") + len(line.state or b"")
