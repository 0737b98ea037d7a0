"""A server under load for a while: does its memory stay flat? `make soak`; never in CI.

Eight clients ask learned and charged questions mixed, half of them under request ids, and fetch budgets and
histories. The slope of the resident memory is fitted after the first quarter, in which caches fill.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import numpy as np

from benchmarks.serve import Running, write

SECONDS = float(os.environ.get("HEDGEROW_SOAK_SECONDS", "1200"))
_CLIENTS = 8
_LOOK = 5.0
_FLAT = 64.0  # MB an hour


def _memory(pid: int) -> float:
    """Resident MB of a process."""
    told = Path(f"/proc/{pid}/status").read_text()
    return int(next(line.split()[1] for line in told.splitlines() if line.startswith("VmRSS"))) / 1024


class Load:
    """Clients that ask until they are told to end."""

    def __init__(self, server: Running) -> None:
        self._server, self._over = server, threading.Event()
        self.answered, self.failed = 0, 0
        self._threads = [threading.Thread(target=self._ask, args=(i,)) for i in range(_CLIENTS)]
        for thread in self._threads:
            thread.start()

    def _ask(self, seed: int) -> None:
        rng = random.Random(seed)
        while not self._over.is_set():
            a, b = sorted(rng.sample(range(21), 2))
            where = f"age >= {5 * a} AND age < {5 * b} AND region = 'r{rng.randrange(8)}'"
            sql = f"SELECT sex, COUNT(*) AS n FROM people WHERE {where} GROUP BY sex"
            question: dict[str, Any] = {"sql": sql}
            draw = rng.random()
            if draw < 0.05:
                question |= {"within_count": 2000 + rng.randrange(200), "spend": True}
            if draw > 0.5:
                question["request"] = f"{seed}-{rng.getrandbits(64):x}"
            try:
                if 0.4 < draw < 0.42:
                    self._server.post(f"/v1/datasets/people/{rng.choice(('budget', 'history', 'schema'))}")
                else:
                    self._server.ask(**question)
                self.answered += 1
            except HTTPError as error:
                self.failed += error.code >= 500
            except OSError:
                self.failed += not self._over.is_set()

    def end(self) -> None:
        """End all of them."""
        self._over.set()
        for thread in self._threads:
            thread.join()


def run() -> dict[str, Any]:
    """The load, and how memory went."""
    with tempfile.TemporaryDirectory() as name:
        write(Path(name))
        server = Running(Path(name))
        try:
            while server.post("/v1/datasets")["datasets"][0]["state"] != "ready":
                time.sleep(0.2)
            began, seen = time.monotonic(), []
            load = Load(server)
            while (at := time.monotonic() - began) < SECONDS:
                seen.append((at, _memory(server.process.pid)))
                time.sleep(_LOOK)
            load.end()
        finally:
            server.end()
    late = [(t, m) for t, m in seen if t > SECONDS / 4]
    slope = float(np.polyfit([t for t, _ in late], [m for _, m in late], 1)[0]) * 3600
    return {
        "seconds": SECONDS, "answers": load.answered, "failed": load.failed, "mb_first": round(seen[0][1], 1),
        "mb_after_a_quarter": round(late[0][1], 1), "mb_last": round(seen[-1][1], 1),
        "mb_an_hour": round(slope, 2), "flat": slope < _FLAT,
    }  # fmt: skip


if __name__ == "__main__":
    found = run()
    sys.stdout.write(json.dumps(found, indent=2) + "\n")
    sys.exit(0 if found["flat"] and not found["failed"] else 1)
