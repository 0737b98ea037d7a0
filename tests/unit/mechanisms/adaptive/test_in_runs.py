"""Pairs of a number and a group in runs of levels: what they cost, what averages are then, old ledgers."""

from __future__ import annotations

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.mechanisms.adaptive.adaptive import AdaptiveRelease
from hedgerow.mechanisms.adaptive.in_runs import DEAREST, NOTE, RUNS, InRuns, runs_of
from hedgerow.queries.strategies.coarse import GroupBlock

GROUPS = 5
DOMAIN = hr.Domain({"g": GROUPS, "x": hr.bins(0, 100, 1, step=1), "h": 2})


def rows(related: float, number: int = 3_000, seed: int = 3) -> dict[str, np.ndarray]:
    """A number of a hundred values that goes with its group so much."""
    rng = np.random.default_rng(seed)
    g = rng.integers(0, GROUPS, number)
    effect = (g - 2.0) / np.sqrt(2.0)
    y = related * effect + np.sqrt(1.0 - related**2) * rng.normal(size=number)
    x = np.floor(np.clip(50.0 + 17.0 * y, 0, 99))
    return {"g": g, "x": x, "h": rng.integers(0, 2, number)}


def curator(columns, epsilon=0.3, seed=5, ledger=":memory:", domain=DOMAIN, delta=1e-9) -> hr.Curator:
    table, budget = hr.Table.open(columns, domain), hr.Budget(epsilon=epsilon, delta=delta)
    return hr.Curator(table, budget=budget, ledger=ledger, entropy=hr.testing.seeded(seed))


def notes(guard: hr.Curator) -> list[str]:
    lines = [e["line"] for e in guard.ledger.export()["entries"]]
    return [line["note"].rpartition(": ")[2] for line in lines if line["kind"] == "charge"]


def without(patch: pytest.MonkeyPatch) -> None:
    """As it was before."""
    patch.setattr(InRuns, "measure", lambda self: [])


def averages(made, columns) -> tuple[np.ndarray, np.ndarray]:
    answer = made.answer("SELECT g, AVG(x) FROM t GROUP BY g")
    true = np.array([columns["x"][columns["g"] == k].mean() for k in range(GROUPS)])
    return np.abs(answer.value.reshape(-1) - true), answer.error.reshape(-1)


def test_averages_by_group_follow_a_number_that_is_the_group():
    """Before, no pair with the number was worth it, averages were flat, and bars did not know it."""
    columns = rows(0.9)
    with pytest.MonkeyPatch.context() as patch:
        without(patch)
        before = AdaptiveRelease().release(curator(columns), hr.marginals(DOMAIN, 2))
    made = AdaptiveRelease().release(curator(columns), hr.marginals(DOMAIN, 2))
    flat, now = averages(before, columns)[0], averages(made, columns)[0]
    assert flat.max() > 15.0
    assert np.sqrt((now**2).mean()) < 0.6 * np.sqrt((flat**2).mean())


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("related", [0.9, 0.3, 0.0])
def test_bars_of_averages_sums_and_ranges_by_group_hold(related, epsilon):
    """Of five releases at least 23 of 25 numbers of each kind: at 95% that is so in 87 of 100 tries."""
    inside = dict.fromkeys(("AVG(x)", "SUM(x)", "COUNT(*)"), 0)
    for seed in range(5):
        columns = rows(related, seed=seed)
        made = AdaptiveRelease().release(curator(columns, epsilon, seed), hr.marginals(DOMAIN, 2))
        for asked in inside:
            where = " WHERE x >= 50" if asked == "COUNT(*)" else ""
            answer = made.answer(f"SELECT g, {asked} FROM t{where} GROUP BY g")
            own = [columns["x"][columns["g"] == k] for k in range(GROUPS)]
            true = {"AVG(x)": np.mean, "SUM(x)": np.sum, "COUNT(*)": lambda v: (v >= 50).sum()}[asked]
            gaps = np.abs(answer.value.reshape(-1) - [true(v) for v in own])
            inside[asked] += int((gaps <= answer.error.reshape(-1)).sum())
    assert min(inside.values()) >= 23, inside


def test_they_are_one_act_after_one_way_tables_and_all_is_charged():
    guard = curator(rows(0.9))
    made = AdaptiveRelease().release(guard, hr.marginals(DOMAIN, 2))
    assert notes(guard)[:3] == ["one-way tables", NOTE, "residuals of all tables"]
    assert guard.ledger.spent() <= guard.budget.cost
    assert float(guard.ledger.spent().amount) == pytest.approx(float(guard.budget.cost.amount), rel=1e-5)
    blocks = [m.workload.blocks[0] for m in made.measurements if m.workload is not None]
    assert {b.attributes for b in blocks} == {("g", "x"), ("x", "h")}
    assert all(isinstance(b, GroupBlock) and b.norms == hr.queries.norms.Norms.table() for b in blocks)
    spent = sum(0.5 / float(m.noise.variance) for m in made.measurements if m.workload is not None)
    assert spent <= float(guard.budget.cost.amount * DEAREST) * 1.001


def test_a_pair_that_single_levels_tell_well_enough_is_not_measured_so():
    columns = rows(0.3, 200_000)
    guard = curator(columns, 10.0)
    AdaptiveRelease().release(guard, hr.marginals(DOMAIN, 2))
    assert NOTE not in notes(guard)
    few = hr.Domain({"g": GROUPS, "x": hr.bins(0, 100, 10, step=1), "h": 2})
    guard = curator(rows(0.3), domain=few)
    AdaptiveRelease().release(guard, hr.marginals(few, 2))
    assert NOTE not in notes(guard)


def test_a_release_of_before_is_given_again_free(tmp_path):
    columns = rows(0.9)
    guard = curator(columns, ledger=tmp_path / "one.db")
    asked = hr.marginals(DOMAIN, 2)
    with pytest.MonkeyPatch.context() as patch:
        without(patch)
        before = AdaptiveRelease(run="year").release(guard, asked)
    spent = guard.ledger.spent()
    again = AdaptiveRelease(run="year").release(guard, asked)
    assert guard.ledger.spent() == spent
    assert NOTE not in notes(guard)
    assert np.array_equal(again.table(("g", "x")), before.table(("g", "x")))


def test_one_that_stopped_between_its_acts_goes_on_and_pays_once(tmp_path, monkeypatch):
    columns, done = rows(0.9), 0
    asked = hr.marginals(DOMAIN, 2)
    whole = AdaptiveRelease(run="year").release(curator(columns), asked)
    guard, real = curator(columns, ledger=tmp_path / "one.db"), hr.Curator.measure_all

    def stops(self, *args, **rest):
        nonlocal done
        found = real(self, *args, **rest)
        done += 1
        if done in (2, 5):  # after the runs, after residuals
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(hr.Curator, "measure_all", stops)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            AdaptiveRelease(run="year").release(guard, asked)
    again = AdaptiveRelease(run="year").release(guard, asked)
    assert notes(guard).count(NOTE) == notes(guard).count("residuals of all tables") == 1
    assert np.allclose(again.table(("g", "x")), whole.table(("g", "x")))


def test_answers_of_a_file_are_those_of_the_release(tmp_path):
    made = AdaptiveRelease().release(curator(rows(0.9)), hr.marginals(DOMAIN, 2))
    made.save(tmp_path / "made.hedgerow")
    again = hr.Synopsis.load(tmp_path / "made.hedgerow")
    for asked in ("SELECT g, AVG(x) FROM t GROUP BY g", "SELECT AVG(x) FROM t WHERE g = 1 AND h = 0"):
        one, two = made.answer(asked), again.answer(asked)
        assert np.allclose(one.value, two.value)
        assert np.allclose(one.error, two.error)


def test_runs_are_short_where_rows_are_and_what_is_no_number_is_one_more():
    body = DOMAIN["x"]
    counts = np.zeros(body.size)
    counts[20:40] = 100.0
    runs = runs_of(body, counts, 1.0, 2_000.0)
    assert (np.diff(runs[: len(body.values)]) >= 0).all()
    assert len(np.unique(runs[: len(body.values)])) <= RUNS
    assert len(np.unique(runs[20:40])) >= RUNS // 2
    assert (runs[len(body.values) :] > runs[: len(body.values)].max()).all()
