"""Turns at a ledger in PostgreSQL: what a thread holds of it, and the lines that nobody else sees yet."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from hedgerow.privacy.ledger.line import Line
from hedgerow.privacy.ledger.postgres_link import PostgresLink
from hedgerow.privacy.ledger.remembered import fields


@dataclass(eq=False)
class Writing:
    """A thread's turn to write.

    Args:
        link: its connection.
        kept: whether it goes on after a transaction.
        inside: whether a transaction is open.
        dead: why nothing more may be written in it.
        held: lines that are not sent yet, with what each is found by.
    """

    link: PostgresLink
    kept: bool = False
    inside: bool = False
    dead: str | None = None
    held: list[tuple[Line, dict[str, Any]]] = field(default_factory=list)
    requests: dict[str, Line] = field(default_factory=dict)

    def add(self, line: Line) -> None:
        """Keep the next line."""
        found = fields(line)
        self.held.append((line, found))
        if found["request"] is not None:
            self.requests[found["request"]] = line

    def cut(self, length: int) -> None:
        """Forget all lines but the first ones."""
        del self.held[length:]
        self.requests = {held["request"]: line for line, held in self.held if held["request"] is not None}


class Mine(threading.local):
    """What a thread holds: the lock of being alone, the writers' turn, and whether it reads one moment."""

    alone: PostgresLink | None = None
    writing: Writing | None = None
    still: int = 0
