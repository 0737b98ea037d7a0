"""A process that asks an interactive mechanism until it is killed; writes JSON lines to stdout."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

import numpy as np

import hedgerow as hr
from hedgerow.curator.runs import comparison
from hedgerow.privacy.ledger.sqlite_store import SQLiteStore

DOMAIN = hr.Domain({"x": hr.bins(0, 32, 1), "y": 3})
OPTIONS: dict[str, Any] = {"updates": 12, "threshold": 120.0, "queries": 500, "epsilon": 0.9, "run": "mine"}


def table() -> hr.Table:
    """The same rows in every process."""
    rng = np.random.default_rng(9)
    return hr.Table.open({"x": rng.integers(4, 9, 4000), "y": rng.choice(3, 4000, p=[0.7, 0.2, 0.1])}, DOMAIN)


def stream() -> list[hr.Query]:
    """The questions, in order."""
    asked = [
        *hr.prefixes(DOMAIN, [("x",)])[::2],
        *hr.marginals(DOMAIN, 1)[::3],
        *hr.ranges(DOMAIN, [("x",)])[::20],
    ]
    return [*asked, *asked]


def open_session(path: str, noise: str) -> tuple[hr.Curator, Any]:
    """The curator and the run, opened or taken up again; the rows are counted with noise, or declared."""
    curator = hr.Curator(table(), hr.Budget(epsilon=1), path, "add_remove")
    return curator, hr.OnlineMW(rows=4000 if noise == "quiet" else None, **OPTIONS).open(curator)


def silence() -> None:
    """No noise: what is said then depends on the rows and on what was learned."""
    comparison._noise = lambda plan, scale, size, entropy: np.zeros(size, dtype=np.int64)  # type: ignore[assignment]


def talk(path: str, start: str, noise: str, die_at: str) -> None:
    """Ask from `start` on, and show each answer as soon as it is there; die before a chosen commit."""
    if noise == "quiet":
        silence()
    _, session = open_session(path, noise)
    left, run = [int(die_at)], SQLiteStore._run

    def lethal(self: SQLiteStore, sql: str, args: tuple[object, ...] = ()) -> Any:
        if sql == "COMMIT":
            left[0] -= 1
        if sql == "COMMIT" and left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        rows = run(self, sql, args)
        if sql == "COMMIT" and left[0] == -1:  # after the next commit, before anybody has seen the answer
            os.kill(os.getpid(), signal.SIGKILL)
        return rows

    if int(die_at):
        SQLiteStore._run = lethal  # type: ignore[method-assign]
    for i, query in enumerate(stream()[int(start) :], int(start)):
        a = session.ask(query)
        fact = {"i": i, "value": a.value, "error": a.error, "source": a.source, "updates": session.updates}
        os.write(1, (json.dumps(fact) + "\n").encode())


if __name__ == "__main__":
    talk(*sys.argv[1:])
