"""A process that uses a ledger while the fault tests kill it or race it; writes JSON lines to stdout."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable

from hedgerow.errors import BudgetExceeded
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.event import Pure
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.privacy.ledger.sqlite_store import SQLiteStore

BUDGET = Budget(epsilon=1)
STEP = Pure("1/1000000")


def say(**facts: object) -> None:
    """Show the world a fact at once."""
    os.write(1, (json.dumps(facts) + "\n").encode())


def draw() -> tuple[bytes, bytes]:
    """A fresh answer, never the same twice, with secret state."""
    return os.urandom(16).hex().encode(), os.urandom(8)


def loop(path: str, start: str) -> None:
    """Ask request after request and show each answer as soon as it is returned."""
    say(ready=True)
    ledger = Ledger.open(path, budget=BUDGET)
    for i in range(int(start), 10**6):
        entry = ledger.charge(STEP, draw, request=f"r{i}", question=f"q{i}")
        assert entry.answer is not None
        say(request=i, answer=entry.answer.decode(), replayed=entry.replayed)


def die(path: str, where: str) -> None:
    """Make one charge and die by SIGKILL at a chosen point of it."""
    run = SQLiteStore._run

    def kill() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def lethal(self: SQLiteStore, sql: str, args: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
        if sql == "COMMIT" and where == "before commit":
            kill()
        rows = run(self, sql, args)
        if sql == "COMMIT" and where == "after commit":
            kill()
        return rows

    def act() -> tuple[bytes, bytes]:
        if where == "inside act":
            kill()
        return draw()

    ledger = Ledger.open(path, budget=BUDGET)
    SQLiteStore._run = lethal  # type: ignore[method-assign]
    entry = ledger.charge(STEP, act, request="r0", question="q0")
    say(answer=entry.answer and entry.answer.decode())
    if where == "after return":
        kill()


def pace(path: str, charges: str) -> None:
    """Make charges and records, stopping before and after every statement until somebody lets it go on."""
    ledger, run = Ledger.open(path, budget=BUDGET), SQLiteStore._run

    def stopping(self: SQLiteStore, sql: str, args: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
        os.kill(os.getpid(), signal.SIGSTOP)
        rows = run(self, sql, args)
        if sql == "COMMIT" or "checkpoint" in sql:
            os.kill(os.getpid(), signal.SIGSTOP)
        return rows

    SQLiteStore._run = stopping  # type: ignore[method-assign]
    for i in range(int(charges)):
        ledger.record(b"below", durable=False)
        ledger.charge(STEP, draw, request=f"r{i}", question=f"q{i}")
        say(shown=i + 1)


def together() -> None:
    """Wait until the others have come this far."""
    say(ready=True)
    sys.stdin.readline()


def spend(path: str, epsilon: str) -> None:
    """Charge until refused; say how often it was paid for."""
    ledger, paid = Ledger.open(path, budget=BUDGET), 0
    together()
    try:
        while True:
            ledger.charge(Pure(epsilon), draw)
            paid += 1
            time.sleep(0.002)  # SQLite's lock is not fair: let the others in, or there is no race to test
    except BudgetExceeded:
        say(paid=paid)


def meet(path: str) -> None:
    """Open a ledger that nobody has made yet, at the same moment as others."""
    together()
    ledger = Ledger.open(path, budget=BUDGET)
    say(ledger=ledger.settings.ledger, key=ledger.row_key.hex())
    ledger.charge(STEP, draw)


COMMANDS: dict[str, Callable[..., None]] = {
    "loop": loop,
    "die": die,
    "pace": pace,
    "spend": spend,
    "meet": meet,
}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*sys.argv[2:])
