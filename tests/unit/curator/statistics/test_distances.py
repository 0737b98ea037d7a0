"""Distances of tables to public estimates: how far a row moves them, and what is refused."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.curator.rows.table import Rows
from hedgerow.curator.statistics.distances import TableDistances

DOMAIN = hr.Domain({"a": 2, "b": 3, "c": 2})
PAIRS = tuple(combinations(DOMAIN.names, 2))
CELLS = list(product(*(range(n) for n in DOMAIN.shape)))


def distances(seed: int = 0, tables=PAIRS) -> TableDistances:
    rng = np.random.default_rng(seed)
    return TableDistances(tables, tuple(rng.uniform(-2, 4, DOMAIN.shape_of(t)) for t in tables))


def exact(asked: TableDistances, rows: list[tuple[int, ...]]) -> np.ndarray:
    columns = {a: np.array([r[i] for r in rows], dtype=np.int64) for i, a in enumerate(DOMAIN.names)}
    return asked.exact(Rows(hr.Table.open(columns, DOMAIN), bytes(32)))


@pytest.mark.parametrize("seed", range(3))
def test_a_row_moves_no_table_further_than_the_norms_say_and_some_row_as_far(seed):
    """Every row added to, and swapped in, some rows: the largest moves are the norms themselves."""
    asked, rng = distances(seed), np.random.default_rng(seed)
    rows = [CELLS[i] for i in rng.integers(0, len(CELLS), 6)]
    here = exact(asked, rows)
    added = np.array([exact(asked, [*rows, cell]) - here for cell in CELLS])
    swapped = np.array([exact(asked, [*rows[:-1], cell]) - here for cell in CELLS])
    norms = asked.norms
    assert np.abs(added).sum(axis=1).max() == norms.l1 == 3
    assert (added**2).sum(axis=1).max() == norms.l2_squared == 3
    assert np.abs(swapped).sum(axis=1).max() <= norms.replace_l1 == 6
    assert (swapped**2).sum(axis=1).max() <= norms.replace_l2_squared == 12


def test_a_swapped_row_may_move_every_distance_by_two():
    empty = TableDistances(PAIRS, tuple(np.zeros(DOMAIN.shape_of(t)) for t in PAIRS))
    full = TableDistances(PAIRS, tuple(np.eye(*DOMAIN.shape_of(t)) for t in PAIRS))
    assert exact(empty, [(0, 0, 0)]).tolist() == [1, 1, 1]
    moved = exact(full, [(0, 0, 0)]) - exact(full, [(0, 1, 0)])
    assert np.abs(moved).max() == 2


def test_what_is_asked_is_what_was_looked_at():
    estimates = [np.zeros(DOMAIN.shape_of(t)) for t in PAIRS]
    asked = TableDistances(PAIRS, tuple(estimates))
    before = asked.digest
    estimates[0] += 100.0
    assert TableDistances(PAIRS, tuple(estimates)).digest != before
    assert asked.estimates[0].max() == 0.0
    with pytest.raises(ValueError, match="read-only"):
        asked.estimates[0][0, 0] = 1.0


@pytest.mark.parametrize(
    "asked",
    [
        TableDistances((), ()),
        TableDistances((("a", "b"),), (np.zeros(2),)),  # would be broadcast
        TableDistances((("b", "a"),), (np.zeros((3, 2)),)),
        TableDistances((("a", "b"),), ()),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_charged(asked):
    columns = {a: np.zeros(3, dtype=np.int64) for a in DOMAIN.names}
    guard = hr.Curator(hr.Table.open(columns, DOMAIN), hr.Budget(1.0, 1e-6), ":memory:")
    with pytest.raises((hr.UnsupportedQuery, hr.DomainMismatch)):
        guard.measure_all([asked], 0.5)
    assert guard.spent.epsilon == 0


def test_a_sparse_vector_does_not_compare_distances_that_a_swap_moves_by_two():
    columns = {a: np.zeros(3, dtype=np.int64) for a in DOMAIN.names}
    guard = hr.Curator(hr.Table.open(columns, DOMAIN), hr.Budget(1.0), ":memory:", "replace")
    run = guard.sparse_vector(10, "1/2", denominator=1)
    with pytest.raises(hr.UnsupportedQuery, match="one row"):
        run.ask_all(distances(tables=PAIRS[:1]))
