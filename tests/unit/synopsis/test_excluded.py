"""Counts of nearly all levels of an attribute: no worse than what they leave out makes them."""

from __future__ import annotations

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.synopsis.excluded import by_excluded, excluded

NAMES = ("a", "b")
TABLE = np.array([[400.0, 300.0, 6.0], [200.0, 100.0, 4.0]])


def bar(weights: np.ndarray, alone: float = 20.0, itself: float = 1e9) -> float:
    def smaller(names: tuple[str, ...], some: np.ndarray) -> float:
        return alone if names == ("a",) else 7.0

    return by_excluded(NAMES, TABLE, weights, smaller, lambda names, table, some: itself)


def test_a_count_is_as_far_off_as_one_of_fewer_attributes_and_the_few_rows_that_it_leaves_out():
    """6 of 10 rows are left out in this group; there may be 17 of them in all."""
    off = bar(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]))
    assert off == pytest.approx(np.hypot(20.0, 17.0 - 6.0))


def test_what_is_known_of_the_few_is_taken_where_it_is_less():
    off = bar(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]), itself=2.0)
    assert off == pytest.approx(np.hypot(20.0, 2.0))


def test_weights_below_zero_leave_both_sides_open():
    off = bar(np.array([[3.0, 3.0, 0.0], [-1.0, -1.0, 0.0]]))
    left_out = 3.0 * 6.0 - 4.0
    assert off == pytest.approx(np.hypot(20.0, 3.0 * 17.0 + left_out))


@pytest.mark.parametrize(
    "weights",
    [
        [[1.0, 0.0, 1.0], [1.0, 0.0, 1.0]],  # 400 rows are left out
        [[1.0, 2.0, 0.0], [1.0, 2.0, 0.0]],  # what is counted differs by level
        [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]],  # nothing is
        [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]],
    ],
)
def test_other_weights_are_taken_as_they_are(weights):
    assert bar(np.array(weights)) == np.inf


def test_a_total_and_a_table_of_one_attribute_are_taken_as_they_are():
    assert excluded(np.array(500.0), np.array(1.0))[0] == {}
    few, usual = excluded(np.array([500.0, 5.0]), np.array([1.0, 0.0]))
    assert not few
    assert usual.tolist() == [1.0, 0.0]


def test_many_attributes_are_left_out_at_once_and_one_is_kept():
    """Conditions that each leave out a hundredth: one bar of one attribute, and one of the few of each."""
    asked = []

    def smaller(names: tuple[str, ...], some: np.ndarray) -> float:
        asked.append(names)
        return 3.0

    table = np.full((2,) * 8, 1.0)
    for axis in range(8):
        np.moveaxis(table, axis, 0)[1] *= 0.01
    weights = np.zeros((2,) * 8)
    weights[(0,) * 8] = 1.0
    names = tuple("abcdefgh")
    few, usual = excluded(table, weights)
    assert list(few) == [*range(7)]
    assert usual.tolist() == [1.0, 0.0]
    off = by_excluded(names, table, weights, smaller, lambda *of: 1e9)
    assert asked == [(a,) for a in names[:7]] + [("h",)]
    count = table[..., 0].sum() - 1.0
    most = sum(float(np.moveaxis(table, i, 0)[1].sum()) + 3.0 for i in range(7))
    assert off == pytest.approx(np.hypot(3.0, max(count, most - count)))


def test_rows_with_a_number_are_counted_as_well_as_all_where_none_lacks_it():
    """Tables are chosen, and the number is in few of them: counts of rows that have it were much wider."""
    rng = np.random.default_rng(8)
    rows = 4000
    place = rng.integers(0, 40, rows)
    columns = {
        "place": place,
        "kind": place // 8,
        "year": rng.integers(0, 50, rows),
        "score": np.clip(rng.normal(place * 1.5, 12.0), 0, 99.9).round(1),
        "size": np.clip(rng.normal(30, 8, rows), 0, 59).round(0),
    }
    domain = hr.Domain(
        {
            "place": 40,
            "kind": 5,
            "year": hr.Bins(list(range(51)), step=1),
            "score": hr.Bins([*range(0, 101, 4)], step=0.1),
            "size": hr.Bins([*range(0, 61, 3)], step=1),
        }
    )
    for seed in range(3):
        budget = hr.Budget(epsilon=1.0, delta=1e-9)
        table = hr.Table.open(columns, domain)
        curator = hr.Curator(table, budget, ":memory:", entropy=hr.testing.seeded(seed))
        made = hr.AdaptiveRelease().release(curator, hr.marginals(domain, 2), choose=True)
        for where in ("kind = 3 AND year >= 30", "kind = 1 AND size >= 30", "place = 7 AND year >= 10"):
            every = made.answer(f"SELECT COUNT(*) FROM t WHERE {where}")
            there = made.answer(f"SELECT COUNT(score) FROM t WHERE {where}")
            lacking = made.answer("SELECT COUNT(*) FROM t WHERE score IS NULL")
            most = max(lacking.value, 0.0) + lacking.error
            assert there.error <= np.hypot(every.error, most) + 1e-6
