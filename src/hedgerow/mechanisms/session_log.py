"""Log: what a session has done, as lines of the ledger that a new process can follow again."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any

from hedgerow.errors import BudgetExceeded, LedgerError
from hedgerow.privacy.budget import Cost

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hedgerow.curator.curator import Curator

_MEDIA = "application/json"


class Log:
    """A session's lines in the ledger, in order, under its name.

    A line says what is about to be done; what it did is found in the ledger under the line's request id, so a
    process that dies in between leaves no doubt.

    Args:
        curator: who opened the session.
        name: the session's name in the ledger.
    """

    def __init__(self, curator: Curator, name: str) -> None:
        self.curator = curator
        self.name = name
        self.lines: list[dict[str, Any]] = []
        self.known: set[str] = set()
        for entry in curator.ledger.replay(name):
            if entry.kind == "note" and entry.content_type == _MEDIA and entry.answer is not None:
                self.lines.append(json.loads(entry.answer))
            elif entry.request is not None:
                self.known.add(entry.request)

    def write(self, line: dict[str, Any], *, durable: bool = True) -> None:
        """Keep one line; only what costs nothing may do without waiting for the disk."""
        self.curator.ledger.record(
            json.dumps(line).encode(),
            account=self.curator.account,
            analyst=self.curator.account,
            note=f"Session: {line['do']}",
            run=self.name,
            content_type=_MEDIA,
            durable=durable,
        )

    def of(self, do: str) -> Iterator[dict[str, Any]]:
        """The lines of one kind that were there when the session was opened."""
        return (line for line in self.lines if line["do"] == do)

    def request(self, what: str) -> str:
        """A request id that nobody has used."""
        return f"{self.name}: {what} {secrets.token_hex(6)}"


class Reserve:
    """Money set aside for the worst that a comparison can lead to, one allotment for each payer.

    It is an account of its own: whatever else the payer does, the worst case stays affordable.
    """

    def __init__(self, log: Log) -> None:
        self._log = log
        self._held: dict[str, tuple[str, Cost]] = {}
        for line in log.of("reserve"):  # a process that ended left them: the money goes back
            self._settle(line["account"])

    def hold(self, payer: Curator, amount: Cost) -> bool:
        """Whether so much is set aside now; False if the payer cannot afford it."""
        held = self._held.get(payer.account)
        if held is not None and amount <= held[1]:
            return True
        self.release(payer)
        name = f"{self._log.name}: reserve {secrets.token_hex(6)}"
        try:
            payer.ledger.check(amount, payer.account)
            self._log.write({"do": "reserve", "account": name, "payer": payer.account})
            payer.ledger.allot(
                name, amount, parent=payer.account, note="Session: the worst a comparison can cost"
            )
        except BudgetExceeded:
            return False
        self._held[payer.account] = (name, amount)
        return True

    def release(self, payer: Curator) -> None:
        """Give the payer's reserve back, to be spent on what it was for."""
        held = self._held.pop(payer.account, None)
        if held is not None:
            self._settle(held[0])

    def close(self) -> None:
        """Give everything back."""
        for name, _ in self._held.values():
            self._settle(name)
        self._held.clear()

    def _settle(self, name: str) -> None:
        try:
            self._log.curator.ledger.settle(name)
        except LedgerError:  # never opened, or closed already
            return
