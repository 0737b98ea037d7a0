"""How long until something happens: importing the package, and `hedgerow --help`, best of five."""

from __future__ import annotations

import subprocess
import sys
import time
from typing import Any

RUNS = 5
BARS = {"import hedgerow": 0.4, "hedgerow --help": 0.5}
COMMANDS = {
    "import hedgerow": [sys.executable, "-c", "import hedgerow"],
    "hedgerow --help": [sys.executable, "-m", "hedgerow", "--help"],
}


def seconds(command: list[str]) -> float:
    """Wall time of a command in a fresh process, best of `RUNS`."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    return min(times)


def run() -> list[dict[str, Any]]:
    """All rows: name, seconds, the bar in seconds, and whether it was met."""
    rows = []
    for name, command in COMMANDS.items():
        ours = seconds(command)
        rows.append(
            {"name": name, "ours": ours, "peer": None, "bar": BARS[name], "passed": ours <= BARS[name]}
        )
    return rows


if __name__ == "__main__":
    for row in run():
        sys.stdout.write(
            f"{row['name']:<20} {row['ours']:.3f} s (bar {row['bar']} s, passed: {row['passed']})\n"
        )
