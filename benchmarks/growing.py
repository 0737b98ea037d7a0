"""A year of daily blocks: running totals against daily totals, a question over the year against one file.

Errors are measured with seeded noise, against exact counts of made-up rows; `passed` is about the ratio.
"""

from __future__ import annotations

import sys
import time
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

import numpy as np

import hedgerow as hr
from hedgerow.curator.noise.noise import current_entropy, discrete_gaussian
from hedgerow.privacy.bounds.running import running_factor
from hedgerow.privacy.budget import Cost, gaussian_sigma
from hedgerow.testing import seeded

DAYS, PEOPLE, RUNS = 365, 12, 24
DOMAIN = hr.Domain({"age": hr.bins(0, 100, 10)})
BAR = 6.0
PRICE = Fraction(1, 100)


def year(mode: str) -> tuple[hr.Growing, np.ndarray[Any, Any], float]:
    """A table of 365 daily blocks, its rows a day, and the CPU seconds of an append."""
    random = np.random.default_rng(1)
    growing = hr.Growing.make(
        ":memory:", DOMAIN, hr.Budget(rho=100, delta=1e-6), growing=mode, unit="id", max_rows=1
    )
    counts, spent = [], time.process_time()
    for day in range(DAYS):
        ids = np.arange(day * PEOPLE, (day + 1) * PEOPLE)
        rows = {"id": ids, "age": random.integers(0, 100, PEOPLE)}
        growing.append(rows, day=(date(2025, 1, 1) + timedelta(day)).isoformat())
        counts.append(PEOPLE)
    return growing, np.cumsum(counts), (time.process_time() - spent) / DAYS


def totals(growing: hr.Growing, truth: Any) -> list[dict[str, Any]]:
    """Running totals against each day's total measured for a part of 1/365."""
    ours, daily = [], []
    sigma = gaussian_sigma(1, Cost("rho", PRICE / DAYS))
    for number in range(RUNS):
        with seeded(number):
            mechanism = hr.RunningTotals(DAYS, budget=hr.Budget(rho=PRICE), name=f"run {number}")
            opened = mechanism.open(growing, first=1)  # the year that has passed
            ours.append([a.value - t for a, t in zip(opened.update(), truth, strict=True)])
            daily.append(discrete_gaussian(sigma, DAYS, current_entropy()))
    rms = [float(np.sqrt(np.mean(np.square(np.array(e, dtype=float))))) for e in (ours, daily)]
    alone = float(gaussian_sigma(1, Cost("rho", PRICE)))
    worst = alone * max(running_factor(day, DAYS) for day in range(1, DAYS + 1))
    return [
        _row(f"running totals, {DAYS} days: rms error, {RUNS} runs", *rms),
        _row(f"running totals, {DAYS} days: the worst day's standard deviation", worst, float(sigma)),
    ]


def _row(name: str, ours: float, peer: float) -> dict[str, Any]:
    ratio = peer / ours
    return {"name": name, "ours": ours, "peer": peer, "ratio": ratio, "bar": BAR, "passed": ratio >= BAR}


def over_the_year(growing: hr.Growing) -> dict[str, Any]:
    """A table over all blocks against the same table of one file, at one price: rms errors of 400 draws."""
    whole = growing.table()._engine
    rows = {"age": np.concatenate([b.column(0).to_numpy() for b in whole.batches(["age"])])}
    truth = np.histogram(rows["age"], bins=np.arange(0, 101, 10))[0]
    price = Cost("rho", PRICE)
    with seeded(7), growing.range(1, DAYS, spend=price * 400) as curator:
        alone = hr.Curator(hr.Table.open(rows, DOMAIN), hr.Budget(rho=100, delta=1e-6))
        errors = [
            np.sqrt(np.mean([np.square(c.measure(("age",), price).counts - truth) for _ in range(400)]))
            for c in (curator, alone)
        ]
    ratio = float(errors[0] / errors[1])
    name = "a table over 365 confined blocks against one file: rms error, ratio at most 1.05"
    told = {"ours": float(errors[0]), "peer": float(errors[1]), "ratio": ratio, "bar": 1.05}
    return {"name": name, **told, "passed": ratio <= 1.05}


def charges() -> dict[str, Any]:
    """One person in every block: what asking each block once costs, without confinement and with it."""
    spent = []
    for mode in ("confined", "shared"):
        growing = hr.Growing.make(
            ":memory:", DOMAIN, hr.Budget(rho=100, delta=1e-6), growing=mode, unit="id", max_rows=1
        )
        for day in range(DAYS):
            growing.append({"id": np.array([1]), "age": np.array([30])}, name=str(day))
            with growing.range(day + 1, spend=Cost("rho", PRICE)) as curator:
                curator.measure(("age",), Cost("rho", PRICE))
        spent.append(float(growing.ledger.spent().amount))
    ratio = spent[1] / spent[0]
    name = "one person in 365 blocks, each asked once: rho, confined and shared"
    told = {"ours": spent[0], "peer": spent[1], "ratio": ratio, "bar": float(DAYS)}
    return {"name": name, **told, "passed": abs(ratio - DAYS) < 1e-6}


def run() -> list[dict[str, Any]]:
    """All rows."""
    growing, truth, append = year("shared")
    found = totals(growing, truth)
    found.append(over_the_year(year("confined")[0]))
    found.append(charges())
    found.append({"name": "an append, CPU seconds (in memory, 12 rows)", "ours": append})
    return found


if __name__ == "__main__":
    for line in run():
        sys.stdout.write(f"{line}\n")
