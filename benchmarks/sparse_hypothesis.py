"""The sparse hypothesis: microseconds per ask and per update of m = 1,000 elements, whatever the universe.

`ask` is the undisturbed time of asking a query that was asked before, in a stream of different ones: the best
of several rounds for each query, and the median over queries; `usual ask` is the median over all rounds.
`first ask` is the first one of a query just made, when its elements are hashed and looked up; on a busy
machine it waits for memory that others have pushed out of the caches. The rows `flat` are the slowest
universe over the fastest: after one update, when every universe has 1,000 elements assigned and only |X|
differs, and after 30, when the universe of 10^3 still has 1,000 and the others 30,000. Bars: flat within 1.5,
and any ask below 1,000 microseconds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Hashable
from statistics import median
from typing import Any

from numpy.random import PCG64, Generator

from hedgerow.learning.sparse.sparse import SparseHypothesis
from hedgerow.queries.query import ONE, SparseQuery

M = 1_000
ALPHA = 0.1
UPDATES = (1, 30)
ASKS = 100
STREAM, ROUNDS = 20, 60
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


def times(universes: dict[str, Draw], updates: int) -> dict[str, dict[str, float]]:
    """Times of asks and updates, in microseconds."""
    random = Generator(PCG64(1))
    each = {name: SparseHypothesis(M, ALPHA) for name in universes}
    kinds = ("ask", "usual ask", "first ask", "update")
    found: dict[str, dict[str, list[float]]] = {name: {k: [] for k in kinds} for name in universes}
    streams: dict[str, list[SparseQuery]] = {name: [] for name in universes}
    for t in range(updates + ASKS):
        for name, draw in universes.items():
            query, hypothesis = SparseQuery(dict.fromkeys(draw(random), ONE)), each[name]
            first = clock(lambda h=hypothesis, q=query: h.answer(q))  # type: ignore[misc]
            if t < updates:
                spent = clock(lambda h=hypothesis, q=query: h.update(q, 1.0, ALPHA / 2))  # type: ignore[misc]
                found[name]["update"].append(spent)
                continue
            found[name]["first ask"].append(first)
            streams[name] = [*streams[name], query][-STREAM:]
    rounds: dict[str, list[list[float]]] = {name: [] for name in universes}
    for _ in range(ROUNDS):  # the universes take turns, so that other work on the machine meets all of them
        for name, stream in streams.items():
            rounds[name].append([clock(lambda h=each[name], q=q: h.answer(q)) for q in stream])  # type: ignore[misc]
    for name, spent in rounds.items():
        found[name]["ask"] = [min(one) for one in zip(*spent, strict=True)]
        found[name]["usual ask"] = [s for each_round in spent for s in each_round]
    return {name: {kind: median(v) for kind, v in by.items()} for name, by in found.items()}


def run() -> list[dict[str, Any]]:
    """All rows."""
    times({"warm": numbers(10**3)}, 1)  # compile
    return [row for updates in UPDATES for row in rows_after(updates)]


def rows_after(updates: int) -> list[dict[str, Any]]:
    """The rows of all universes after some updates each."""
    found, rows = times(UNIVERSES, updates), []
    after = f"after {updates}"
    for name, by in found.items():
        for what, spent in by.items():
            bar = None if what == "update" else ASK_BAR
            row = {"name": f"{what} {after}, {name}", "ours": spent, "peer": None, "ratio": None, "bar": bar}
            rows.append({**row, "passed": None if bar is None else spent <= bar})
    for what, bar in (("ask", FLAT_BAR), ("usual ask", FLAT_BAR), ("first ask", FLAT_BAR)):
        asks = [by[what] for by in found.values()]
        ratio = max(asks) / min(asks)
        row = {
            "name": f"flat: {what} {after}",
            "ours": max(asks),
            "peer": min(asks),
            "ratio": ratio,
            "bar": bar,
        }
        rows.append({**row, "passed": ratio <= bar})
    return rows


def show(value: object) -> str:
    """A table cell."""
    return f"{value:.4g}" if isinstance(value, float) else "-" if value is None else str(value)


if __name__ == "__main__":
    keys = ("name", "ours", "peer", "ratio", "bar", "passed")
    sys.stdout.write(f"m = {M:,}, alpha = {ALPHA}; CPU microseconds\n")
    for line in [dict(zip(keys, keys, strict=True)), *run()]:
        cells = [show(line[key]) for key in keys]
        sys.stdout.write(f"{cells[0]:<40}" + "".join(f"{cell:>12}" for cell in cells[1:]) + "\n")
