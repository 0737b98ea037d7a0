"""Rows that are brought to tables: how near they come, what they keep, what stays impossible."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.random import PCG64, Generator

from hedgerow.learning import goals as goals_module
from hedgerow.learning.goals import Approach, Goals

SHAPE = (2, 3, 4, 5, 1)


def world(rows: int, seed: int) -> np.ndarray:
    """Rows in which every attribute but the last hangs on the one before, and the fourth on two."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 2, rows)
    b = np.where(rng.random(rows) < 0.7, a, rng.integers(0, 3, rows))
    c = np.where(rng.random(rows) < 0.6, b + 1, rng.integers(0, 4, rows))
    d = np.where(rng.random(rows) < 0.5, (a + 2 * c) % 5, rng.integers(0, 5, rows))
    return np.stack([a, b, c, d, np.zeros_like(a)], axis=1).astype(np.int32)


def table(rows: np.ndarray, t: tuple[int, ...]) -> np.ndarray:
    shape = [SHAPE[a] for a in t]
    flat = np.ravel_multi_index([rows[:, a] for a in t], shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape) / len(rows)


def independent(rows: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).permuted(world(rows, seed), axis=0)


def distance(rows: np.ndarray, tables: dict[tuple[int, ...], np.ndarray]) -> float:
    return float(np.mean([np.abs(table(rows, t) - goal).sum() for t, goal in tables.items()]))


def brought(goals: Goals, rows: np.ndarray, seed: int = 1) -> np.ndarray:
    return Approach(goals, len(rows), Generator(PCG64(seed))).bring(rows)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_rows_come_as_near_as_whole_rows_can(order):
    """Rows drawn from the truth itself would be off by about sqrt(cells / rows), which is 0.05 and more."""
    truth, rows = world(40_000, 1), independent(4000, 2)
    tables = {t: table(truth, t) for t in combinations(range(4), order)}
    made = brought(Goals(SHAPE, tables), rows)
    assert distance(made, tables) < 0.012 < distance(world(4000, 3), tables)
    assert made.dtype == np.int32
    assert (made >= 0).all()
    assert (made < SHAPE).all()


def test_rows_that_have_their_tables_are_left_alone():
    rows = world(3000, 4)
    goals = Goals(SHAPE, {t: table(rows, t) for t in combinations(range(4), 2)})
    np.testing.assert_array_equal(brought(goals, rows), rows)


def test_the_same_seed_gives_the_same_rows_and_another_gives_others():
    truth, rows = world(9000, 1), independent(2000, 2)
    goals = Goals(SHAPE, {(0, 1): table(truth, (0, 1))})
    np.testing.assert_array_equal(brought(goals, rows, 5), brought(goals, rows, 5))
    assert (brought(goals, rows, 5) != brought(goals, rows, 6)).any()


def test_what_cannot_occur_does_not_even_where_a_table_asks_for_it():
    truth, rows = world(9000, 1), world(2000, 2)
    possible = np.ones((2, 3, 4), dtype=np.bool_)
    possible[1, 2, :2] = False
    kept = possible[rows[:, 0], rows[:, 1], rows[:, 2]]
    rows = rows[kept]
    wanted = {(0, 1): np.array([[0.1, 0.0, 0.0], [0.0, 0.0, 0.9]])}
    free, held = Goals(SHAPE, wanted), Goals(SHAPE, wanted, {(0, 1, 2): possible})
    at = brought(free, rows)
    assert not possible[at[:, 0], at[:, 1], at[:, 2]].all()
    at = brought(held, rows)
    assert possible[at[:, 0], at[:, 1], at[:, 2]].all()
    assert 0.4 < table(at, (0, 1))[1, 2] <= (rows[:, 2] > 1).mean()  # nobody else can get there
    assert len(truth)


@pytest.mark.parametrize("where", [(2,), (0, 1, 2)])
def test_what_cannot_occur_draws_nobody_away_from_what_can(where):
    """A table that says only what is impossible aims at nothing: rows that have all others stay."""
    rows = world(3000, 4)
    possible = np.ones([SHAPE[a] for a in where], dtype=np.bool_)
    possible[(-1,) * len(where)] = False
    rows = rows[possible[tuple(rows[:, a] for a in where)]]
    goals = Goals(SHAPE, {t: table(rows, t) for t in combinations(range(4), 2)}, {where: possible})
    np.testing.assert_array_equal(brought(goals, rows), rows)


def test_a_part_makes_up_for_what_the_one_before_left(monkeypatch):
    """A hundred parts of forty rows: each alone is off by its own rounding, all together are not."""
    truth, rows = world(40_000, 1), independent(4000, 2)
    tables = {t: table(truth, t) for t in combinations(range(4), 2)}
    goals = Goals(SHAPE, tables)
    parts = np.array_split(rows, 100)
    alone = np.concatenate([brought(goals, part, seed) for seed, part in enumerate(parts)])
    approach = Approach(goals, len(rows), Generator(PCG64(1)))
    together = np.concatenate([approach.bring(part) for part in parts])
    assert distance(together, tables) < 0.5 * distance(alone, tables)
    monkeypatch.setattr(goals_module, "CHUNK", 64)
    assert distance(brought(goals, rows), tables) < 0.5 * distance(alone, tables)


def test_no_tables_and_no_rows_change_nothing():
    rows = world(50, 1)
    np.testing.assert_array_equal(brought(Goals(SHAPE, {}), rows), rows)
    assert brought(Goals(SHAPE, {(0, 1): np.ones((2, 3))}), rows[:0]).shape == (0, 5)
