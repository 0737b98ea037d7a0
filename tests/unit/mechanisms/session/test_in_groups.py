"""Averages of groups whose rows are all at one end of a number."""

from __future__ import annotations

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.mechanisms.session.pooled import GroupedSum, Pooled

GROUPS = ["all", "also", "old", "others", "young"]
SHARES = [0.3, 0.2, 0.2, 0.18, 0.12]
ASKED = "SELECT g, AVG(age) FROM t GROUP BY g"


def people(rows: int = 20_000) -> dict[str, list]:
    """One group in eight is below 18; of the others ages are all over the range."""
    rng = np.random.default_rng(4)
    g = rng.choice(GROUPS, rows, p=SHARES)
    age = np.clip(rng.normal(52, 18, rows), 18, 99).astype(int)
    age = np.where(g == "young", rng.integers(0, 18, rows), age)
    return {"g": g.tolist(), "age": age.tolist()}


def sessions(width: int, number: int = 8):
    """Whether every group is inside its bar, in seeded sessions; and the bars."""
    rows = people()
    domain = hr.Domain({"g": GROUPS, "age": hr.bins(0, 100, width, step=1, missing=False)})
    table = hr.Table.open(rows, domain)
    true = [np.mean([a for a, h in zip(rows["age"], rows["g"], strict=True) if h == g]) for g in GROUPS]
    for seed in range(20, 20 + number):
        curator = hr.Curator(table, hr.Budget(0.4, 1e-6), ":memory:", entropy=hr.testing.seeded(seed))
        said = hr.Session().open(curator).ask(ASKED)
        yield np.abs(np.ravel(said.value) - true) <= np.ravel(said.error), np.ravel(said.error)


@pytest.mark.parametrize("width", [5, 10])
def test_a_group_whose_rows_are_all_at_one_end_is_inside_its_bar(width, monkeypatch):
    """Seeded: without what spurious rows do, two of three of the averages of the young are outside."""
    inside, bars = zip(*sessions(width), strict=True)
    assert np.mean(inside, axis=0).min() >= 0.75
    assert np.mean(inside) >= 0.9
    assert np.mean(bars) < 3.0
    monkeypatch.setattr(GroupedSum, "spilled", 0.0)
    inside, _ = zip(*sessions(width), strict=True)
    assert np.mean(inside, axis=0)[-1] <= 0.5


def test_what_was_measured_of_a_group_is_weighed_without_its_number_of_rows():
    domain = hr.Domain({"g": GROUPS, "n": hr.bins(0, 3, 1, step=1, missing=False)})
    weights = np.zeros((5, 3))
    weights[1] = [0.0, 1.0, 2.0]
    believed = np.full((5, 3), 5.0)
    believed[1] = [90.0, 3.0, 3.0]
    measured = believed.copy()
    measured[1] += [4.0, -3.0, -1.0]
    made = GroupedSum.of(domain, ("g", "n"), believed, weights, lambda _: Pooled(measured, 16.0))
    assert made is not None
    value, deviation = made.weighted(2.0)
    assert value == pytest.approx(96.0 * 1.0 + (2.0 - 94.0))  # its mean weight times the rows, and the rest
    assert deviation == pytest.approx((16.0 * 2.0 + 4.0) ** 0.5)
    mean = 9.0 / 96.0
    assert made.spilled == pytest.approx(3.0 * (1.0 - mean) + 3.0 * (2.0 - mean))


@pytest.mark.parametrize(
    "weights",
    [np.ones((5, 3)), np.eye(5, 3), np.array([[0.0, 1.0, 1.0]] * 5)],
    ids=["rows", "cells", "those of a condition"],
)
def test_counts_are_no_sums_of_a_number(weights):
    domain = hr.Domain({"g": GROUPS, "n": hr.bins(0, 3, 1, step=1, missing=False)})
    pooled = Pooled(np.ones((5, 3)), 1.0)
    assert GroupedSum.of(domain, ("g", "n"), np.ones((5, 3)), weights, lambda _: pooled) is None
