"""All of the workload in one act: when it is done, what it spends, and how good it is."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import sqrt

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.learning.residuals.basis import subsets
from hedgerow.mechanisms.adaptive import everything, maximum
from hedgerow.mechanisms.adaptive.adaptive import AdaptiveRelease
from hedgerow.mechanisms.adaptive.farther import NOTE as FARTHER
from hedgerow.mechanisms.adaptive.shares import Outlook
from sizes import size

ITEMS = {f"q{i}": 2 for i in range(8)} | {"k": 5}


def items(rows: int = 6000, seed: int = 1) -> dict[str, np.ndarray]:
    """Answers on one scale: no two are independent."""
    rng = np.random.default_rng(seed)
    level = rng.normal(size=rows)
    made = {a: (level + rng.normal(size=rows) > 0.3).astype(np.int64) for a in list(ITEMS)[:8]}
    return made | {"k": np.clip(np.rint(level + 2), 0, 4).astype(np.int64)}


def curator(columns, sizes, epsilon=1.0, seed=1, **options) -> hr.Curator:
    """Noise is repeatable, so that comparisons of two errors come out the same every time."""
    table, budget = hr.Table.open(columns, hr.Domain(sizes)), hr.Budget(epsilon=epsilon, delta=1e-9)
    return hr.Curator(table, budget=budget, ledger=":memory:", entropy=hr.testing.seeded(seed), **options)


def error(columns, sizes, table) -> float:
    rows = len(next(iter(columns.values())))
    gaps = []
    for names in combinations(sizes, 2):
        shape = [sizes[a] for a in names]
        flat = np.ravel_multi_index([columns[a] for a in names], shape)
        true = np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape)
        gaps.append(np.abs(table(names) - true).sum() / rows)
    return float(np.mean(gaps))


@pytest.fixture(scope="module")
def released():
    columns = items()
    guard = curator(columns, ITEMS)
    return AdaptiveRelease().release(guard, hr.marginals(guard.domain, 2)), guard, columns


def test_three_acts_spend_everything(released):
    synopsis, guard, _ = released
    lines = [e["line"] for e in guard.ledger.export()["entries"]]
    notes = [line["note"].rpartition(": ")[2] for line in lines if line["kind"] == "charge"]
    assert notes == ["one-way tables", "residuals of all tables", FARTHER]
    assert float(guard.ledger.spent().amount) == pytest.approx(float(guard.budget.cost.amount), rel=1e-5)
    assert [m.strategy is not None for m in synopsis.measurements][-1]
    assert 0.0 <= synopsis.provenance.parameters["rows_off"] < 0.2


def test_it_is_as_good_as_the_factorization_of_the_workload(released):
    """Means of three runs each; the ratio is about 0.95 with a standard error of 0.05."""
    columns = items()
    ours, theirs = [], []
    for seed in range(3):
        guard = curator(columns, ITEMS, seed=seed)
        asked = hr.marginals(guard.domain, 2)
        ours.append(error(columns, ITEMS, AdaptiveRelease().release(guard, asked).table))
        plain = hr.Factorization().release(curator(columns, ITEMS, seed=10 + seed), asked)
        theirs.append(error(columns, ITEMS, lambda names, plain=plain: np.maximum(plain.table(names), 0.0)))
    assert np.mean(ours) < 1.15 * np.mean(theirs)


def test_the_error_falls_with_the_root_of_the_price():
    """From epsilon 10 to 100 by 1/5.9: nothing but noise is left. Means of four runs: one may be 1.3 off."""
    columns = items()
    found = []
    for epsilon in (10.0, 100.0):
        guards = [curator(columns, ITEMS, epsilon, seed) for seed in range(1, 5)]
        made = [AdaptiveRelease().release(guard, hr.marginals(guard.domain, 2)) for guard in guards]
        found.append(float(np.mean([error(columns, ITEMS, m.table) for m in made])))
    rho = [float(hr.Budget(epsilon=e, delta=1e-9).rho) for e in (10, 100)]
    assert found[1] < 1.3 * sqrt(rho[0] / rho[1]) * found[0]


def test_stated_errors_of_measured_tables_hold(released):
    synopsis, _, columns = released
    inside = total = 0
    for names in combinations(ITEMS, 2):
        shape = [ITEMS[a] for a in names]
        flat = np.ravel_multi_index([columns[a] for a in names], shape)
        true = np.bincount(flat, minlength=int(np.prod(shape)))
        answer = synopsis.answer(hr.marginals(synopsis.domain, [names]), confidence=1 - 1e-9)
        inside += int((np.abs(answer.value - true) <= answer.error).sum())
        total += true.size
    assert inside == total  # fails by chance once in five million times, whatever the noise


def test_limits_hold_and_know_the_measured_pairs(released):
    synopsis, _, columns = released
    query = hr.Query.where(synopsis.domain, {"q0": 1, "q1": 1})
    low, high = synopsis.limits(query, confidence=0.999999)
    assert low <= ((columns["q0"] == 1) & (columns["q1"] == 1)).sum() <= high
    assert high - low < 0.5 * synopsis.total


def test_tables_agree_in_a_domain_too_large_for_every_cell():
    sizes = {f"w{i}": 12 for i in range(7)}
    rng = np.random.default_rng(2)
    base = rng.integers(0, 12, 60_000)
    columns = {a: (base * (i + 1) + rng.integers(0, 3, base.size)) % 12 for i, a in enumerate(sizes)}
    guard = curator(columns, sizes, 10.0)
    synopsis = AdaptiveRelease().release(guard, hr.marginals(guard.domain, 2))
    assert not synopsis.hypothesis.whole
    one = synopsis.table(("w0",))
    for other in list(sizes)[1:]:
        pair = synopsis.table(("w0", other))
        assert (pair >= 0.0).all()
        assert np.abs(pair.sum(axis=1) - one).max() < 0.01 * synopsis.total
    assert error(columns, sizes, synopsis.table) < 0.05
    three = synopsis.table(("w2", "w0", "w1"))
    np.testing.assert_allclose(three.sum(axis=0), synopsis.table(("w0", "w1")), atol=0.02 * synopsis.total)


def wide(rows: int) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """22 attributes of two levels, each after two earlier ones."""
    rng, sizes = np.random.default_rng(4), {f"w{i}": 2 for i in range(22)}
    made = [rng.integers(0, 2, rows) for _ in range(3)]
    while len(made) < len(sizes):
        first, second = (made[i] for i in rng.choice(len(made), 2, replace=False))
        made.append(np.where(rng.random(rows) < 0.5, first, np.where(rng.random(rows) < 0.6, second, 0)))
    return dict(zip(sizes, made, strict=True)), sizes


def test_the_model_of_wide_data_is_fitted_to_more_tables_and_loses_less(monkeypatch):
    """The same measurements, since noise is repeatable: only what is fitted to them differs."""
    columns, sizes = wide(size(4000, 20_000))
    off = {}
    for most in (maximum._TABLES, maximum._MOST):
        monkeypatch.setattr(maximum, "_MOST", most)
        guard = curator(columns, sizes, 10.0)
        synopsis = AdaptiveRelease().release(guard, hr.marginals(guard.domain, 2))
        assert any(m.strategy is not None for m in synopsis.measurements)
        assert not synopsis.hypothesis.whole
        model, total = synopsis.hypothesis, synopsis.total
        gaps = [np.abs(model.marginal(t) - synopsis.table(t) / total).sum() for t in combinations(sizes, 2)]
        off[most] = float(np.mean(gaps))
        assert synopsis.provenance.parameters["rows_off"] < 0.1 * off[most]  # rows are not only the model's
    assert off[maximum._MOST] < 0.9 * off[maximum._TABLES], off


def test_of_very_many_triples_the_pairs_inside_them_are_measured(monkeypatch):
    """Two acts spend all of it, pairs are as good as if they were asked, and a triple has their margins."""
    monkeypatch.setattr(everything, "SETS", 1000)  # there are 1,540 triples, and 231 pairs
    columns, sizes = wide(size(4000, 20_000))
    guard = curator(columns, sizes, 10.0)
    synopsis = AdaptiveRelease().release(guard, hr.marginals(guard.domain, 3))
    found = [m.strategy for m in synopsis.measurements if m.strategy is not None]
    assert len(found) == 1
    assert max(map(len, found[0].cliques)) == 2
    assert float(guard.ledger.spent().amount) == pytest.approx(float(guard.budget.cost.amount), rel=1e-5)
    asked = AdaptiveRelease().release(curator(columns, sizes, 10.0), hr.marginals(guard.domain, 2))
    assert error(columns, sizes, synopsis.table) < 1.1 * error(columns, sizes, asked.table)
    three, pair = synopsis.table(("w3", "w7", "w9")), synopsis.table(("w3", "w9"))
    np.testing.assert_allclose(three.sum(axis=1), pair, atol=0.02 * synopsis.total)


def test_of_very_many_triples_few_rows_are_not_measured_in_every_pair(monkeypatch):
    monkeypatch.setattr(everything, "SETS", 1000)
    columns, sizes = wide(300)
    made = AdaptiveRelease().release(curator(columns, sizes), hr.marginals(hr.Domain(sizes), 3))
    assert all(m.strategy is None for m in made.measurements)


@pytest.mark.parametrize("before", ["pairs were not measured at all", "not with such an error"])
def test_a_release_of_before_that_chose_among_very_many_triples_is_given_again_free(
    tmp_path, monkeypatch, before
):
    monkeypatch.setattr(everything, "SETS", 100)  # there are 165 triples
    twos = list(wide(12_000)[0].values())
    columns = {f"w{i}": 2 * twos[2 * i] + twos[2 * i + 1] for i in range(11)}
    table = hr.Table.open(columns, hr.Domain(dict.fromkeys(columns, 4)))
    guard = hr.Curator(table, budget=hr.Budget(epsilon=30, delta=1e-9), ledger=tmp_path / "ledger.db")
    asked, made = hr.marginals(guard.domain, 3), AdaptiveRelease(epsilon=10.0, cells=1000, run="old")
    with monkeypatch.context() as older:
        if before == "pairs were not measured at all":
            older.setattr(everything.Everything, "within_reach", lambda *_, **__: None)
        else:
            older.setattr(everything, "PAIRS_LIMIT", 0.0)
        first = made.release(guard, asked)
    spent = guard.ledger.spent()
    again = made.release(guard, asked)
    assert guard.ledger.spent() == spent
    np.testing.assert_array_equal(again.table(("w1", "w5")), first.table(("w1", "w5")))
    assert all(m.strategy is None for m in again.measurements)
    fresh = replace(made, run="new").release(guard, asked)
    assert any(m.strategy is not None for m in fresh.measurements)


@pytest.mark.parametrize("stop", [None, 1, 2])
@pytest.mark.parametrize("epsilon", [6.0, 30.0])
def test_a_release_of_before_that_measured_pairs_inside_many_triples_goes_on_as_it_began(
    tmp_path, monkeypatch, epsilon, stop
):
    """Of more than 8,192 triples their pairs were measured; now all are, where they are worth it."""
    twos = list(wide(12_000)[0].values())
    columns = {f"w{i}": 2 * twos[2 * i] + twos[2 * i + 1] for i in range(11)}
    table = hr.Table.open(columns, hr.Domain(dict.fromkeys(columns, 4)))
    guard = hr.Curator(table, budget=hr.Budget(epsilon=99, delta=1e-9), ledger=tmp_path / "ledger.db")
    asked, made = hr.marginals(guard.domain, 3), AdaptiveRelease(epsilon=epsilon, cells=1000, run="old")
    monkeypatch.setattr(everything, "MANY", 100)  # there are 165 triples
    acts, measured = [], hr.Curator.measure_all

    def counted(self, *given, **named):
        if stop is not None and len(acts) == stop:
            raise InterruptedError
        acts.append(1)
        return measured(self, *given, **named)

    with monkeypatch.context() as older:
        older.setattr(everything, "SETS", 100)
        older.setattr(hr.Curator, "measure_all", counted)
        try:
            first = made.release(guard, asked)
        except InterruptedError:
            assert stop is not None
    spent = guard.ledger.spent()
    again = made.release(guard, asked)
    if stop is None:
        assert guard.ledger.spent() == spent
        np.testing.assert_array_equal(again.table(("w1", "w5")), first.table(("w1", "w5")))
    assert (
        guard.ledger.spent().amount
        <= guard.budget.part(hr.Budget(epsilon=epsilon, delta=1e-9).cost).rho + 1e-9
    )
    widest = max(len(r.attributes) for m in again.measurements if m.strategy for r in m.strategy.residuals)
    assert widest == 2
    fresh = replace(made, run="new").release(guard, asked)
    widest = max(len(r.attributes) for m in fresh.measurements if m.strategy for r in m.strategy.residuals)
    assert widest == (3 if epsilon > 20.0 else 2)


def test_an_unfinished_run_of_another_order_of_acts_is_refused_in_words(tmp_path):
    """A ledger that an earlier version began: its first one-way tables had another price."""
    columns = items(500)
    table = hr.Table.open(columns, hr.Domain(ITEMS))
    budget = hr.Budget(epsilon=1, delta=1e-9)
    guard = hr.Curator(table, budget=budget, ledger=tmp_path / "ledger.db")
    asked = hr.marginals(guard.domain, 2)

    def stop(progress):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        AdaptiveRelease(run="old").release(guard, asked, choose=True, watch=stop)
    spent = guard.ledger.spent()
    with pytest.raises(hr.LedgerError, match="already used for another question"):
        AdaptiveRelease(run="old").release(guard, asked)
    assert guard.ledger.spent() == spent


@pytest.mark.parametrize("options", [{"measurements": 2}, {"hypothesis": "factored"}, {"objective": "max"}])
def test_who_says_how_to_choose_is_not_given_everything(options):
    columns = items(1000)
    guard = curator(columns, ITEMS)
    made = AdaptiveRelease(**options).release(guard, hr.marginals(guard.domain, 2))
    assert all(m.strategy is None for m in made.measurements)


def test_a_public_number_of_rows_is_not_measured():
    columns = items(1000)
    guard = curator(columns, ITEMS, neighbours="replace")
    made = AdaptiveRelease().release(guard, hr.marginals(guard.domain, 2))
    assert made.total == pytest.approx(1000.0)
    assert made.table(("q0", "q1")).sum() == pytest.approx(1000.0)


def outlook(total: float, **known) -> Outlook:
    sizes = {"a": 3, "b": 4, "c": 20}
    ones = {a: np.full(n, 1.0 / n) for a, n in sizes.items()}
    tables = dict.fromkeys(combinations(sizes, 2), 1.0)
    return Outlook(sizes, tables, total, ones, known)


def test_shares_add_up_and_what_is_below_its_noise_is_not_measured():
    for total in (10.0, 1e3, 1e9):
        plan = outlook(total).plan(1e-2)
        assert sum(plan.parts.values()) == pytest.approx(1.0)
    assert len(outlook(1e9).plan(1e-2).precisions) == 7
    faint = outlook(30.0).plan(1e-2).precisions
    assert ("b", "c") not in faint
    assert all(s in faint for t in faint for s in subsets(t))


def test_no_small_change_of_precisions_lowers_the_expected_error():
    """The plan is a minimum: mass moved from any residual to any other makes things no better."""
    made = outlook(1e9).plan(1.0)
    sizes = made.outlook.sizes

    def expected(precisions):
        return sum(
            sqrt(
                np.prod([sizes[a] for a in t])
                * sum(
                    np.prod([sizes[a] - 1 for a in s]) / precisions[s]
                    * np.prod([1.0 / sizes[a] for a in t if a not in s])
                    for s in subsets(t)
                )
            )
            for t in made.outlook.tables
        )  # fmt: skip

    base = expected(made.precisions)
    for s in made.precisions:
        for other in made.precisions:
            moved = dict(made.precisions)
            step = 0.05 * made.parts[s]
            moved[s] -= step / np.prod([1 - 1 / sizes[a] for a in s])
            moved[other] += step / np.prod([1 - 1 / sizes[a] for a in other])
            assert expected(moved) >= base * (1 - 1e-4)


def test_first_tables_measure_nothing_better_than_the_plan_would():
    plan = outlook(1e9).plan(1.0)
    spread = {"a": 0.2, "b": 0.3, "c": 0.5}
    part = plan.lossless(spread)
    assert 0.0 < part < 1.0
    assert sum(part * p / plan.outlook.sizes[a] for a, p in spread.items()) <= plan.parts[()] * (1 + 1e-9)
    for a, p in spread.items():
        assert part * p * (1 - 1 / plan.outlook.sizes[a]) <= plan.parts[a,] * (1 + 1e-9)


def test_whole_numbers_keep_the_proportions_of_a_plan():
    plan = outlook(1e9).plan(1.0)
    made = plan.strategy
    assert made is not None
    norm = float(made.norms.l2_squared)
    from hedgerow.learning.residuals.noisy import _measured

    for s, wanted in plan.precisions.items():
        got = 1.0 / (_measured(made, s, np.zeros(10_000, dtype=np.int64))[1] ** 2 * norm)
        assert got == pytest.approx(wanted, rel=0.06)


@pytest.mark.slow
def test_errors_are_near_their_mean_in_most_runs():
    """Less luck: no run is half as bad again as another."""
    columns, found = items(), []
    for seed in range(size(4, 12)):
        guard = curator(columns, ITEMS, seed=seed)
        found.append(
            error(columns, ITEMS, AdaptiveRelease().release(guard, hr.marginals(guard.domain, 2)).table)
        )
    assert max(found) < 1.6 * min(found)


def test_a_cell_put_to_zero_is_off_by_what_was_measured_above_zero_and_its_noise():
    from hedgerow.synopsis.measured_bars import _reach

    assert float(_reach(0.0, 3.0, 2.0, counts=True)) == 5.0
    assert float(_reach(0.0, -1.5, 2.0, counts=True)) == 2.0  # max(0, Y) and its noise
    assert float(_reach(10.0, 12.0, 3.0, counts=True)) == 5.0
    assert float(_reach(1.0, 0.5, 2.0, counts=True)) == 1.5
    assert float(_reach(1.0, 0.5, 2.0, counts=False)) == 2.5


def test_attributes_outside_the_workload_are_not_touched_however_large_they_are():
    sizes = {"a": 3, "b": 4, "c": 2, "far": 200_000, "one": 1}
    rng = np.random.default_rng(3)
    columns = {a: rng.integers(0, n, 3000) for a, n in sizes.items()}
    guard = curator(columns, sizes, 5.0)
    asked = hr.marginals(guard.domain, [("a", "b"), ("a", "c", "one"), ("b", "c")])
    synopsis = AdaptiveRelease().release(guard, asked)
    assert any(m.strategy is not None for m in synopsis.measurements)
    assert synopsis.table(("one", "b", "a")).shape == (1, 4, 3)
    assert synopsis.table(("a", "b", "c")).sum() == pytest.approx(synopsis.total)
