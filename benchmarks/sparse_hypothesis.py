"""The sparse hypothesis: microseconds per ask and per update of m = 1,000 elements, whatever the universe.

Every universe sees the same number of updates before it is timed. `ask` is one ask in a stream of different
queries; `first ask` is that of a query just made, when making it has driven the hypothesis out of the
processor's caches (no bar; the universe of 10^3 has few elements to look up and stays in them). The row `flat`
is the slowest universe over the fastest ask (bar: at most 1.5); any ask must stay below 1,000 microseconds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Hashable
from statistics import median
from typing import Any

from numpy.random import PCG64, Generator

from hedgerow.learning.sparse import SparseHypothesis
from hedgerow.queries.query import ONE, SparseQuery

M = 1_000
ALPHA = 0.1
UPDATES = 30
ASKS = 100
STREAM, ROUNDS = 20, 30
FLAT_BAR, ASK_BAR = 1.5, 1_000.0

Draw = Callable[[Generator], list[Hashable]]


def numbers(universe: int) -> Draw:
    """M different numbers below `universe`."""

    def draw(random: Generator) -> list[Hashable]:
        if universe <= 10 * M:
            return list(random.permutation(universe)[:M].tolist())
        found = dict.fromkeys(random.integers(universe, size=M + M // 10).tolist())
        return list(found)[:M]

    return draw


def strings(random: Generator) -> list[Hashable]:
    """M random names of 8 to 40 letters."""
    lengths = random.integers(8, 41, M)
    return [random.bytes(int(n)).hex()[: int(n)] for n in lengths]


UNIVERSES: dict[str, Draw] = {
    "10^3 numbers": numbers(10**3),
    "10^6 numbers": numbers(10**6),
    "10^12 numbers": numbers(10**12),
    "random strings": strings,
}


def clock(work: Callable[[], object]) -> float:
    """CPU microseconds."""
    start = time.process_time_ns()
    work()
    return (time.process_time_ns() - start) / 1e3


def times(universes: dict[str, Draw]) -> dict[str, dict[str, float]]:
    """Median times of an ask, a first ask and an update; the universes take turns."""
    random = Generator(PCG64(1))
    each = {name: SparseHypothesis(M, ALPHA) for name in universes}
    found: dict[str, dict[str, list[float]]] = {
        name: {"ask": [], "first ask": [], "update": []} for name in universes
    }
    streams: dict[str, list[SparseQuery]] = {name: [] for name in universes}
    for t in range(UPDATES + ASKS):
        for name, draw in universes.items():
            query, hypothesis = SparseQuery(dict.fromkeys(draw(random), ONE)), each[name]
            first = clock(lambda h=hypothesis, q=query: h.answer(q))  # type: ignore[misc]
            if t < UPDATES:
                spent = clock(lambda h=hypothesis, q=query: h.update(q, 1.0, ALPHA / 2))  # type: ignore[misc]
                found[name]["update"].append(spent)
                continue
            found[name]["first ask"].append(first)
            streams[name] = [*streams[name], query][-STREAM:]
    for _ in range(ROUNDS):
        for name, stream in streams.items():
            asks = [clock(lambda h=each[name], q=q: h.answer(q)) for q in stream]  # type: ignore[misc]
            found[name]["ask"] += asks
    return {name: {what: median(v) for what, v in kinds.items()} for name, kinds in found.items()}


def run() -> list[dict[str, Any]]:
    """All rows."""
    times({"warm": numbers(10**3)})  # compile
    found = times(UNIVERSES)
    rows = []
    for name, kinds in found.items():
        for what, spent in kinds.items():
            bar = None if what == "update" else ASK_BAR
            row = {"name": f"{what}, {name}", "ours": spent, "peer": None, "ratio": None, "bar": bar}
            rows.append({**row, "passed": None if bar is None else spent <= bar})
    asks = [kinds["ask"] for kinds in found.values()]
    ratio = max(asks) / min(asks)
    flat = {"name": "flat: slowest / fastest ask", "ours": max(asks), "peer": min(asks), "ratio": ratio}
    return [*rows, {**flat, "bar": FLAT_BAR, "passed": ratio <= FLAT_BAR}]


def show(value: object) -> str:
    """A table cell."""
    return f"{value:.4g}" if isinstance(value, float) else "-" if value is None else str(value)


if __name__ == "__main__":
    keys = ("name", "ours", "peer", "ratio", "bar", "passed")
    sys.stdout.write(f"m = {M:,}, alpha = {ALPHA}; CPU microseconds\n")
    for line in [dict(zip(keys, keys, strict=True)), *run()]:
        cells = [show(line[key]) for key in keys]
        sys.stdout.write(f"{cells[0]:<32}" + "".join(f"{cell:>12}" for cell in cells[1:]) + "\n")
