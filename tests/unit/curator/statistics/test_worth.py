"""What rows are worth by their own numbers: whatever a query says of it, no row moves it beyond its norms."""

from __future__ import annotations

import warnings

import numpy as np
import pyarrow as pa
import pytest

import hedgerow as hr
from hedgerow.curator.rows.table import Rows
from hedgerow.curator.statistics.overall import OverallSums
from hedgerow.curator.statistics.remainders import RemainderSums
from hedgerow.curator.statistics.statistics import Answers
from hedgerow.queries.query import ONE, Query
from hedgerow.queries.valued import Fine, Valued
from hedgerow.queries.workload import Workload

DOMAIN = hr.Domain({"a": 2, "x": hr.bins(0, 40, 20, step=1, missing=False)})


def rows_of(*rows: tuple[int, int]) -> Rows:
    columns = {"a": [a for a, _ in rows], "x": [x for _, x in rows]}
    return Rows(hr.Table.open(columns, DOMAIN), bytes(32))


def asked(value: Valued, attributes=("x",), masks=None) -> Answers:
    shape = DOMAIN.shape_of(attributes)
    factors = tuple(np.full(n, ONE if i == 0 else 1) for i, n in enumerate(shape))
    fine = Fine(value, masks or tuple(np.ones(n, dtype=bool) for n in shape))
    return Answers(Workload.of([Query(attributes, shape, factors=factors, fine=fine)]))


def moved(stat: Answers, row: tuple[int, int], rows: Rows | None = None) -> int:
    """How far one row moves the answer."""
    there = (rows_of(row) if rows is None else rows), rows_of()
    return abs(int(stat.exact(there[0])[0]) - int(stat.exact(there[1])[0]))


def worth(base: int, per: int, most: int, digits=(0, 62), step=1) -> Valued:
    parts = (("x", np.full(2, per)),)
    return Valued(("x",), np.full(2, base), parts, 1, digits, step, np.full(2, most))


def test_a_row_weighs_no_more_than_a_query_says_after_another_one_said_more():
    rows = rows_of((0, 5))
    loud, quiet = worth(1000, 0, ONE), worth(1000, 0, 1)
    assert moved(asked(loud), (0, 5), rows) == 1000
    assert moved(asked(quiet), (0, 5), rows) <= asked(quiet).norms.l1 == 1


@pytest.mark.parametrize(
    ("base", "per", "step"), [(1 << 42, 1 << 40, ONE), (0, 1 << 42, ONE), (1 << 42, 1 << 42, 1), (0, -5, 1)]
)
@pytest.mark.parametrize("x", [0, 7, 19, 39])
def test_a_row_weighs_between_nothing_and_most_though_numbers_wrap_around(base, per, step, x):
    stat = asked(worth(base, per, 3, step=step))
    assert moved(stat, (0, x)) <= stat.norms.l1 == 3


def test_what_rows_are_worth_lies_along_the_attributes_of_its_query():
    most = np.zeros((2, 2), dtype=np.int64)  # over x, then a
    most[1, 0] = ONE
    value = Valued(("x", "a"), most, (), 1, (0, 62), 1, most)
    mask = np.ones((2, 2), dtype=bool)  # over a, then x
    mask[1, 0] = False
    with pytest.raises(hr.DomainMismatch):
        asked(value, ("a", "x"), (mask,))
    along = Valued(("a", "x"), most.T, (), 1, (0, 62), 1, most.T)
    stat = asked(along, ("a", "x"), (mask,))
    assert moved(stat, (0, 25)) == stat.norms.l1 == ONE


def moves_of(
    stat: OverallSums | RemainderSums, rows: list[tuple[object, ...]]
) -> tuple[np.ndarray, np.ndarray]:
    """How far each of some rows of x, y and a moves sums when it is added, and each pair when swapped."""

    def sums(*some: tuple[object, ...]) -> np.ndarray:
        columns = {name: [row[i] for row in some] for i, name in enumerate(("x", "y", "a"))}
        frame = pa.table(
            {
                "x": pa.array(columns["x"], pa.int64()),
                "y": pa.array(columns["y"], pa.float64()),
                "a": pa.array(columns["a"], pa.int64()),
            }
        )
        return stat.exact(Rows(hr.Table.open(frame, stat.domain), bytes(32)))

    each = np.array([sums(row) for row in rows]) - sums()
    return each, (each[:, None, :] - each[None, :, :]).reshape(-1, each.shape[1])


def test_remainders_of_uneven_bins_and_two_numbers_move_by_their_norms_and_no_more():
    edges = {"x": hr.Bins([0, 1, 3, 13, 15], step=1), "y": hr.Bins([0, 0.5, 2], step=0.5)}
    stat = RemainderSums(hr.Domain(edges | {"a": 2}))
    each, swaps = moves_of(
        stat,
        [(x, y, a) for x in (0, 1, 2, 3, 8, 12, 13, 14, None) for y in (0.0, 0.5, 1.5, None) for a in (0, 1)],
    )
    norms = stat.norms
    assert np.abs(each).sum(axis=1).max() == norms.l1
    assert (each**2).sum(axis=1).max() == norms.l2_squared
    assert np.abs(swaps).sum(axis=1).max() <= norms.replace_l1
    assert (swaps**2).sum(axis=1).max() <= norms.replace_l2_squared


def test_sums_of_long_tails_move_by_their_norms_and_no_more_also_when_rows_are_swapped():
    edges = {"x": hr.Bins([-5, 0, 1, 3, 13, 40], step=1), "y": hr.Bins([0, 0.5, 2, 9], step=0.5)}
    stat = OverallSums(hr.Domain(edges | {"a": 2}))
    each, swaps = moves_of(
        stat, [(x, y, 0) for x in (-9, -5, 0, 2, 12, 39, 500, None) for y in (0.0, 0.5, 8.5, 70.0, None)]
    )
    norms = stat.norms
    assert each.shape[1] == 2
    assert np.abs(each).sum(axis=1).max() == norms.l1
    assert (each**2).sum(axis=1).max() == norms.l2_squared
    assert np.abs(swaps).sum(axis=1).max() == norms.replace_l1
    assert (swaps**2).sum(axis=1).max() == norms.replace_l2_squared


def test_sums_of_numbers_far_from_zero_stay_small_and_never_raise():
    """One that is far from zero for its range has a small weight; others were to weigh 2^45 beside it."""
    far, wide = 1 << 51, 1 << 20
    edges = {"t": hr.Bins([far, far + wide // 4, far + wide], step=1), "x": hr.Bins([0, 1, 2, 2000], step=1)}
    stat = OverallSums(hr.Domain(edges))
    assert stat.norms.l1 <= 1 << 35
    rows = Rows(hr.Table.open({"t": [far] * 3, "x": [1999] * 3}, stat.domain), bytes(32))
    (low, high), more = stat.exact(rows), (1 << 63) // stat.norms.l1 + 1
    remainders, tables = rows.remainder_sums, rows.tables
    vars(rows)["remainder_sums"] = lambda names: {k: v * more for k, v in remainders(names).items()}
    vars(rows)["tables"] = lambda names: {k: v * more for k, v in tables(names).items()}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = stat.exact(rows)  # of more rows than 63 bits hold: what noise is added to goes round
    assert found.tolist() == [(more * int(v) + (1 << 63)) % (1 << 64) - (1 << 63) for v in (low, high)]
