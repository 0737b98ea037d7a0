"""Noise for a table of a million cells: Hedgerow against OpenDP, in process CPU seconds.

The peer's time includes carrying the table into and out of its library, as it does for its users.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from fractions import Fraction
from statistics import median
from typing import Any

from hedgerow.curator.noise.noise import bernoulli_exp, discrete_gaussian, discrete_laplace, os_entropy

CELLS = 1_000_000
BAR = 8.0  # times OpenDP's throughput


def seconds(work: Callable[[], object], runs: int = 1) -> float:
    """CPU time of the whole process, all threads, for one run: the median of several."""
    spent = []
    for _ in range(runs):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return median(spent)


def peer(kind: str, scale: int) -> Callable[[], object] | None:
    """OpenDP's vector mechanism on a table of zeros, or None if it is not installed."""
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    norm = dp.l1_distance(T="i64") if kind == "laplace" else dp.l2_distance(T=float)
    make = dp.m.make_laplace if kind == "laplace" else dp.m.make_gaussian
    mechanism = make(dp.vector_domain(dp.atom_domain(T="i64")), norm, scale=float(scale))
    table = [0] * CELLS
    return lambda: mechanism(table)


def row(kind: str, scale: int) -> dict[str, Any]:
    """One comparison: seconds of each, the ratio, and whether it reaches the bar."""
    sampler = discrete_laplace if kind == "laplace" else discrete_gaussian
    sampler(Fraction(scale), 10, os_entropy)  # compile
    ours = seconds(lambda: sampler(Fraction(scale), CELLS, os_entropy), runs=5)
    theirs = peer(kind, scale)
    result: dict[str, Any] = {"name": f"discrete {kind}, scale {scale}", "ours": ours, "bar": BAR}
    if theirs is None:
        return {**result, "peer": "not installed", "ratio": None, "passed": None}
    spent = seconds(theirs)
    return {**result, "peer": spent, "ratio": spent / ours, "passed": spent / ours >= BAR}


def coin_row(gamma: Fraction) -> dict[str, Any]:
    """Coins have no peer; the bar is microseconds a coin."""
    bernoulli_exp(gamma, 10, os_entropy)
    ours = seconds(lambda: bernoulli_exp(gamma, CELLS, os_entropy), runs=5)
    passed = ours / CELLS <= 0.2e-6
    return {
        "name": f"coin exp(-{gamma})",
        "ours": ours,
        "peer": None,
        "ratio": None,
        "bar": 0.2,
        "passed": passed,
    }


def run() -> list[dict[str, Any]]:
    """All rows."""
    rows = [row(kind, scale) for kind in ("laplace", "gaussian") for scale in (1, 10, 100, 10_000)]
    return rows + [coin_row(gamma) for gamma in (Fraction(1, 3), Fraction(5, 2))]


def show(value: object) -> str:
    """A table cell."""
    return f"{value:.3f}" if isinstance(value, float) else "-" if value is None else str(value)


if __name__ == "__main__":
    keys = ("name", "ours", "peer", "ratio", "bar", "passed")
    sys.stdout.write(
        f"{CELLS} cells, CPU seconds; bar: times the peer's throughput (coins: microseconds each)\n"
    )
    for line in [dict(zip(keys, keys, strict=True)), *run()]:
        cells = [show(line[key]) for key in keys]
        sys.stdout.write(f"{cells[0]:<30}" + "".join(f"{cell:>15}" for cell in cells[1:]) + "\n")
