"""Made-up worlds for the reproductions: rows, questions, curators by a seed, and the largest error."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any

import numpy as np

import hedgerow as hr

BETA, RUNS = 0.05, 20


def late(draw: Callable[[int], float], runs: int = RUNS) -> float:
    """The error that three quarters of the runs stay below."""
    return sorted(draw(seed) for seed in range(runs))[ceil(0.75 * runs) - 1]


def curator(
    rows: Any, domain: Any, epsilon: float, delta: float = 0.0, seed: int = 0, neighbours: Any = "replace"
) -> hr.Curator:
    """A curator of made-up rows, by a seed."""
    table = rows if isinstance(rows, hr.Table) else hr.Table.open(rows, domain)
    budget = hr.Budget(epsilon=epsilon, delta=delta)
    return hr.Curator(
        table, budget=budget, ledger=":memory:", neighbours=neighbours, entropy=hr.testing.seeded(seed)
    )


def cells(size: int) -> hr.Domain:
    """A universe of so many elements."""
    return hr.Domain({"x": hr.bins(0, size, 1)})


def skewed(n: int, size: int, seed: int = 5) -> dict[str, Any]:
    """Rows of which half lie in few cells."""
    drawn = np.random.default_rng(seed).zipf(1.3, n) - 1
    return {"x": (drawn % size).astype(np.int32)}


def subsets(domain: hr.Domain, k: int, seed: int = 9) -> hr.Workload:
    """k counting queries, each true of half of the universe."""
    rng = np.random.default_rng(seed)
    size = domain.size
    return hr.Workload.of([hr.Query.of(domain, ("x",), rng.permutation(size) % 2) for _ in range(k)])


def off(answer: Any, truth: Any) -> float:
    """The largest error."""
    return float(np.abs(np.asarray(answer.value) - truth).max())
