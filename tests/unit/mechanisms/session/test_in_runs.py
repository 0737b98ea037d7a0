"""Averages by group of a number of many levels: a session's fit follows what was measured in runs of them."""

from __future__ import annotations

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.mechanisms.session import calibration

GROUPS, LEVELS = 5, 200
DOMAIN = hr.Domain({"g": GROUPS, "x": hr.bins(0, LEVELS, 1, step=1), "h": 2})


def rows(related: float, number: int, seed: int) -> dict[str, np.ndarray]:
    """A number of two hundred values that goes with its group so much."""
    rng = np.random.default_rng(seed)
    g = rng.integers(0, GROUPS, number)
    y = related * (g - 2.0) / np.sqrt(2.0) + np.sqrt(1.0 - related**2) * rng.normal(size=number)
    x = np.floor(np.clip(LEVELS * (0.5 + 0.17 * y), 0, LEVELS - 1))
    return {"g": g, "x": x, "h": rng.integers(0, 2, number)}


def session(columns: dict[str, np.ndarray], epsilon: float, seed: int):
    table, budget = hr.Table.open(columns, DOMAIN), hr.Budget(epsilon=epsilon, delta=1e-9)
    guard = hr.Curator(table, budget, ":memory:", entropy=hr.testing.seeded(seed))
    return hr.Session(epsilon=epsilon).open(guard)


def averages(columns: dict[str, np.ndarray], epsilon: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    answer = session(columns, epsilon, seed).ask("SELECT g, AVG(x) FROM t GROUP BY g")
    true = np.array([columns["x"][columns["g"] == k].mean() for k in range(GROUPS)])
    return answer.value.reshape(-1) - true, answer.error.reshape(-1)


def test_averages_by_group_are_not_drawn_together():
    """Before, low groups were too high and high ones too low: noise of empty cells was left on one side."""
    columns = rows(0.9, 10_000, 5)
    now = averages(columns, 3.0, 5)[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibration, "brought", lambda hypothesis, measurements: {})
        before = averages(columns, 3.0, 5)[0]
    assert before[0] > 4.0
    assert before[-1] < -4.0
    assert np.sqrt((now**2).mean()) < 0.5 * np.sqrt((before**2).mean())
