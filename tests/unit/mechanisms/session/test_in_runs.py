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


@pytest.mark.parametrize(
    ("related", "number", "epsilon"), [(0.9, 10_000, 3.0), (0.9, 3_000, 1.0), (0.0, 10_000, 1.0)]
)
def test_bars_of_averages_and_ranges_by_group_hold(related, number, epsilon):
    """At least 18 of 20 numbers of each kind; before, 12 averages and 11 ranges in the first case."""
    inside = dict.fromkeys(("AVG(x)", "SUM(x)", "COUNT(*)"), 0)
    for seed in range(4):
        columns = rows(related, number, seed)
        asked = session(columns, epsilon, seed)
        own = [columns["x"][columns["g"] == k] for k in range(GROUPS)]
        for what in inside:
            where = " WHERE x >= 100" if what == "COUNT(*)" else ""
            answer = asked.ask(f"SELECT g, {what} FROM t{where} GROUP BY g")
            true = {"AVG(x)": np.mean, "SUM(x)": np.sum, "COUNT(*)": lambda v: (v >= 100).sum()}[what]
            off = np.abs(answer.value.reshape(-1) - [true(v) for v in own])
            inside[what] += int((off <= answer.error.reshape(-1)).sum())
    assert min(inside.values()) >= 18, inside


def test_what_is_kept_in_a_snapshot_states_the_same_errors():
    belief = session(rows(0.9, 3_000, 1), 1.0, 1)._core.belief
    weights = np.zeros((GROUPS, DOMAIN["x"].size))
    weights[1, 50:150] = 1.0
    stated = belief.linear(("g", "x"), weights, 0.95)
    assert set(belief.spread.runs) == {("x",), ("g", "x"), ("x", "h")}
    assert belief.copied().linear(("g", "x"), weights, 0.95) == pytest.approx(stated)


def test_counts_of_few_levels_have_the_bars_they_had():
    belief = session(rows(0.3, 3_000, 1), 1.0, 1)._core.belief
    one, many = np.zeros((GROUPS, DOMAIN["x"].size)), np.zeros((GROUPS, DOMAIN["x"].size))
    one[1, 50:60], many[1, 50:150] = 1.0, 1.0
    assert belief._in_runs(("g", "x"), one) == 0.0
    assert belief._in_runs(("g", "x"), many) > 0.0
    assert belief._in_runs(("g", "h"), np.ones((GROUPS, 2))) == 0.0
