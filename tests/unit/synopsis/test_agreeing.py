"""Synthetic rows of a model: as near to the rows as the tables that answers are read from."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.release import rows as release_rows
from hedgerow.synopsis import agreeing

SIZES = {f"w{i}": 2 + i % 3 for i in range(18)}


def people(rows: int = 6000) -> dict[str, np.ndarray]:
    """Eighteen attributes, each after two earlier ones: no small tree holds them."""
    rng, made = np.random.default_rng(8), []
    for i, k in enumerate(SIZES.values()):
        own = rng.integers(0, k, rows)
        if i > 1:
            first, second = (made[j] for j in rng.choice(i, 2, replace=False))
            own = np.where(rng.random(rows) < 0.6, (first + 2 * second) % k, own)
        made.append(own)
    return dict(zip(SIZES, made, strict=True))


def share(columns, names) -> np.ndarray:
    shape = [SIZES[a] for a in names]
    flat = np.ravel_multi_index([np.asarray(columns[a]).astype(np.int64) for a in names], shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape) / len(flat)


def error(columns, table, order: int) -> float:
    sets = list(combinations(SIZES, order))[:: 1 if order == 2 else 5]
    return float(np.mean([np.abs(share(columns, t) - table(t)).sum() for t in sets]))


def released(columns, epsilon, order=3, **options):
    table, budget = hr.Table.open(columns, hr.Domain(SIZES)), hr.Budget(epsilon=epsilon, delta=1e-9)
    guard = hr.Curator(table, budget=budget, ledger=":memory:", entropy=hr.testing.seeded(3))
    return hr.AdaptiveRelease().release(guard, hr.marginals(guard.domain, order), **options)


@pytest.fixture(scope="module")
def everything():
    columns = people()
    synopsis = released(columns, 60.0)
    assert max(map(len, synopsis.learned.reconciled.tables)) == 3
    assert not synopsis.hypothesis.whole
    return columns, synopsis


def test_rows_are_as_good_as_tables_where_everything_was_measured(everything):
    """Noise and draws are repeatable. Of 6,000 rows, triples cannot be as near as fractions of rows are."""
    columns, synopsis = everything
    rows, drawn = synopsis.sample(seed=1), synopsis.hypothesis.sample(round(synopsis.total), seed=1)
    tables, ours, before = (
        [error(columns, table, order) for order in (2, 3)]
        for table in (
            lambda t: synopsis.table(t) / synopsis.total,
            lambda t: share(rows, t),
            lambda t: share(drawn, t),
        )
    )
    assert ours[0] < 1.15 * tables[0]
    assert ours[1] < 2.0 * tables[1]
    assert ours[0] < 0.25 * before[0]
    assert ours[1] < 0.3 * before[1]


@pytest.mark.parametrize("part", [0.1, 3.0])
def test_fewer_and_more_rows_are_nearer_too(everything, part):
    columns, synopsis = everything
    number = round(part * synopsis.total)
    rows, drawn = synopsis.sample(number, seed=1), synopsis.hypothesis.sample(number, seed=1)
    for order in (2, 3):
        ours, before = (error(columns, lambda t, x=x: share(x, t), order) for x in (rows, drawn))
        assert ours < 0.7 * before


def test_what_rows_lose_is_said_of_the_rows_that_people_get(everything):
    _, synopsis = everything
    rows, held = synopsis.sample(seed=0), synopsis.learned.reconciled
    off = np.mean([np.abs(share(rows, t) - held.table(t) / synopsis.total).sum() for t in held.tables])
    assert synopsis.provenance.parameters["rows_off"] == pytest.approx(off, rel=0.1)


def test_a_seed_gives_the_same_rows_also_from_a_file(everything, tmp_path):
    _, synopsis = everything
    synopsis.save(tmp_path / "one.hedgerow")
    again = hr.Synopsis.load(tmp_path / "one.hedgerow")
    first, second, other = synopsis.sample(700, seed=5), again.sample(700, seed=5), again.sample(700, seed=6)
    assert all(np.array_equal(first[a], second[a]) for a in SIZES)
    assert any(not np.array_equal(first[a], other[a]) for a in SIZES)
    assert all(len(column) == 0 for column in synopsis.sample(0).values())


def test_rows_of_a_file_are_brought_together_not_batch_by_batch(everything, tmp_path, monkeypatch):
    """Batches that are rounded each on its own are off by their own rounding."""
    columns, synopsis = everything
    monkeypatch.setattr(release_rows, "_BATCH", 100)
    release_rows.write_rows(synopsis, round(synopsis.total), tmp_path / "rows.csv", seed=1)
    text = np.loadtxt(tmp_path / "rows.csv", delimiter=",", skiprows=1, dtype=np.int64)
    rows, whole = {a: text[:, i] for i, a in enumerate(SIZES)}, synopsis.sample(seed=1)
    assert len(text) == round(synopsis.total)
    ours, once = (error(columns, lambda t, x=x: share(x, t), 2) for x in (rows, whole))
    assert ours < 1.5 * once


def test_of_too_many_triples_those_that_say_most_are_taken_and_all_pairs(everything, monkeypatch):
    columns, synopsis = everything
    pairs = len(list(combinations(SIZES, 2)))
    monkeypatch.setattr(agreeing, "_WORK", 1000.0 * (2 * pairs + 3 * 20))
    few = agreeing.AgreeingRows(synopsis.domain, synopsis.learned, synopsis.table)
    assert len(few._goals(1000).tables) == pairs + 20
    assert len(few._goals(10**6).tables) == pairs
    rows, drawn = few.draw(1000, 1), synopsis.hypothesis.sample(1000, seed=1)
    ours, before = (error(columns, lambda t, x=x: share(x, t), 3) for x in (rows, drawn))
    assert ours < before


def test_rows_of_chosen_tables_lose_the_error_of_chance():
    columns = people(3000)
    synopsis = released(columns, 1.0, choose=True)
    assert synopsis.learned.reconciled is None
    rows, drawn = synopsis.sample(seed=2), synopsis.hypothesis.sample(round(synopsis.total), seed=2)
    off = [
        np.mean(
            [np.abs(share(x, t) - synopsis.table(t) / synopsis.total).sum() for t in combinations(SIZES, 2)]
        )
        for x in (rows, drawn)
    ]
    assert off[0] < 0.4 * off[1]


def test_what_cannot_occur_does_not_occur_in_rows():
    columns = people(3000)
    possible = np.ones((2, 3), dtype=np.bool_)
    possible[1, 2] = False
    columns["w1"] = np.where((columns["w0"] == 1) & (columns["w1"] == 2), 0, columns["w1"])
    synopsis = released(columns, 1.0, 2, zeros=[(("w0", "w1"), possible)])
    rows = synopsis.sample(5000, seed=1)
    assert share(rows, ("w0", "w1"))[1, 2] == 0.0
    moved = synopsis.hypothesis.sample(5000, seed=1)
    assert any(not np.array_equal(np.sort(rows[a].astype(np.int64)), np.sort(moved[a])) for a in SIZES)


@pytest.mark.parametrize("names", [("w2",), ("w0", "w1", "w2")])
def test_declared_zeros_of_one_or_three_attributes_leave_the_rest_of_rows_as_it_is(names):
    columns = people(3000)
    columns["w2"] = columns["w2"] * (np.arange(3000) % 5 == 0)  # far from even
    possible = np.ones([SIZES[a] for a in names], dtype=np.bool_)
    possible[(1,) * (len(names) - 1) + (3,)] = False
    gone = ~possible[tuple(columns[a] for a in names)]
    columns["w2"] = np.where(gone, 0, columns["w2"])
    synopsis = released(columns, 1.0, 2, zeros=[(names, possible)])
    rows = synopsis.sample(3000, seed=1)
    assert share(rows, names)[~possible].sum() == 0.0
    for a in ("w0", "w1", "w2"):
        assert np.abs(share(rows, (a,)) - synopsis.table((a,)) / synopsis.total).sum() < 0.02


def test_zeros_of_the_same_attributes_declared_twice_both_hold_in_rows():
    columns = people(3000)
    first, second = np.ones((2, 3), dtype=np.bool_), np.ones((2, 3), dtype=np.bool_)
    first[1, 2] = second[0, 1] = False
    columns["w1"] = np.where(first[columns["w0"], columns["w1"]], columns["w1"], 0)
    columns["w1"] = np.where(second[columns["w0"], columns["w1"]], columns["w1"], 0)
    synopsis = released(columns, 1.0, 2, zeros=[(("w0", "w1"), first), (("w0", "w1"), second)])
    held = synopsis._agreeing._goals(5000).possible[0, 1]
    np.testing.assert_array_equal(held, first & second)


def test_a_file_of_no_rows_has_its_header_alone(everything, tmp_path):
    _, synopsis = everything
    release_rows.write_rows(synopsis, 0, tmp_path / "none.csv", parquet=tmp_path / "none.parquet")
    assert (tmp_path / "none.csv").read_text().splitlines() == [",".join(SIZES)]
