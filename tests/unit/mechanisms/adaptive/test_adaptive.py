"""The adaptive release: its plan, its scores, its budget, and what it says about itself."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.curator.rows.table import Rows
from hedgerow.curator.statistics.coarse import CoarseErrors, Views
from hedgerow.learning.factored.resolution import Resolutions
from hedgerow.mechanisms.adaptive import plan as planning
from hedgerow.mechanisms.adaptive.adaptive import AdaptiveRelease
from hedgerow.mechanisms.adaptive.plan import Candidates, Effort, ladder
from hedgerow.queries.strategies.coarse import GroupBlock

DOMAIN = hr.Domain({"a": 4, "b": 12, "c": 3, "d": 6, "e": 2})


def population(rows: int = 6000, seed: int = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 4, rows)
    b = np.where(rng.random(rows) < 0.7, a * 3, rng.integers(0, 12, rows))
    c = np.where(rng.random(rows) < 0.6, b % 3, rng.integers(0, 3, rows))
    d = rng.choice(6, rows, p=[0.5, 0.2, 0.1, 0.1, 0.06, 0.04])
    e = ((a >= 2) ^ (rng.random(rows) < 0.1)).astype(int)
    return {"a": a, "b": b, "c": c, "d": d, "e": e}


def curator(budget=None, columns=None, neighbours="add_remove", seed=0, **options):
    table = hr.Table.open(columns or population(), DOMAIN)
    budget = budget or hr.Budget(epsilon=1, delta=1e-9)
    entropy = hr.testing.seeded(seed)
    return hr.Curator(
        table, budget=budget, ledger=":memory:", neighbours=neighbours, entropy=entropy, **options
    )


def error(synopsis, columns, sets) -> float:
    found = []
    for names in sets:
        flat = np.ravel_multi_index([columns[a] for a in names], DOMAIN.shape_of(names))
        truth = np.bincount(flat, minlength=DOMAIN.cells(names)) / len(flat)
        table = synopsis.table(names).ravel()
        found.append(np.abs(table / table.sum() - truth).sum())
    return float(np.mean(found))


PAIRS = list(combinations(DOMAIN.names, 2))


def test_it_is_far_better_than_the_same_budget_on_all_tables():
    columns = population()
    ours = AdaptiveRelease().release(curator(), hr.marginals(DOMAIN, 2))
    plain = hr.GaussianBaseline().release(curator(), hr.marginals(DOMAIN, 2))
    independent = AdaptiveRelease().release(curator(), hr.marginals(DOMAIN, 1))
    assert error(ours, columns, PAIRS) < 0.7 * error(plain, columns, PAIRS)
    assert error(ours, columns, PAIRS) < 0.3 * error(independent, columns, PAIRS)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize(
    "budget", [hr.Budget(epsilon=2), hr.Budget(epsilon=2, delta=1e-6)], ids=["pure", "rho"]
)
def test_the_charges_of_all_rounds_sum_to_the_price_and_leave_only_rounding(budget, neighbours):
    guard = curator(budget, neighbours=neighbours)
    synopsis = AdaptiveRelease().release(guard, hr.marginals(DOMAIN, 2))
    charges = [e.cost for e in guard.ledger.replay(next(iter_runs(guard))) if e.kind == "charge"]
    total = charges[0]
    for cost in charges[1:]:
        total = total + cost
    assert total == guard.ledger.spent()
    assert total <= budget.cost
    assert float(total.amount) == pytest.approx(float(budget.cost.amount), rel=1e-9)
    assert synopsis.cost == guard.spent
    assert guard.ledger.verify(synopsis.receipt).ok


def iter_runs(guard):
    lines = guard.ledger.export()["entries"]
    return iter(dict.fromkeys(e["line"]["run"] for e in lines if e["line"]["run"]))


def test_the_number_of_rows_is_measured_unless_it_is_public():
    measured = AdaptiveRelease().release(curator(), hr.marginals(DOMAIN, 2))
    assert measured.total != 6000
    assert measured.total == pytest.approx(6000, rel=0.05)
    public = AdaptiveRelease().release(curator(neighbours="replace"), hr.marginals(DOMAIN, 2))
    assert public.total == 6000


def test_queries_count_through_the_tables_behind_them():
    columns = population()
    queries = [hr.Query.where(DOMAIN, {"a": i, "b": [3 * i, 3 * i + 1]}) for i in range(4)]
    synopsis = AdaptiveRelease().release(curator(), queries)
    answer = synopsis.answer(queries)
    truth = [((columns["a"] == i) & np.isin(columns["b"], [3 * i, 3 * i + 1])).sum() for i in range(4)]
    assert answer.source == "learned"
    assert np.abs(answer.value - truth).max() < 200
    assert {a for m in synopsis.measurements for a in m.attributes} <= {"a", "b"}


def test_weights_draw_the_budget_to_what_matters():
    sets = [("a", "b"), ("c", "d")]
    workload = hr.marginals(DOMAIN, sets)
    heavy = AdaptiveRelease().release(curator(), workload, weights=[1.0, 0.05], choose=True)
    chosen = [m.workload.blocks[0].attributes for m in heavy.measurements if m.workload is not None]
    assert chosen.count(("a", "b")) > chosen.count(("c", "d"))
    with pytest.raises(hr.UnsupportedQuery, match="2 blocks"):
        AdaptiveRelease().release(curator(), workload, weights=[1.0])


def test_declared_zeros_stay_empty_in_tables_and_rows():
    possible = np.ones((4, 2), dtype=bool)
    possible[0, 1] = False
    synopsis = AdaptiveRelease().release(curator(), hr.marginals(DOMAIN, 2), zeros=[(("a", "e"), possible)])
    assert synopsis.table(("a", "e"))[0, 1] == 0
    rows = synopsis.sample(4000, seed=1)
    assert not ((rows["a"] == 0) & (rows["e"] == 1)).any()


def test_a_public_prior_helps_when_the_budget_is_small():
    small, columns = hr.Budget(epsilon=0.05, delta=1e-9), population()
    public = hr.Curator(
        hr.Table.open(population(seed=9), DOMAIN), budget=hr.Budget(epsilon=50), ledger=":memory:"
    )
    prior = hr.LaplaceBaseline().release(public, hr.marginals(DOMAIN, 2))
    alone = AdaptiveRelease().release(curator(small), hr.marginals(DOMAIN, 2))
    helped = AdaptiveRelease().release(curator(small), hr.marginals(DOMAIN, 2), prior=prior)
    assert error(helped, columns, PAIRS) < 0.6 * error(alone, columns, PAIRS)


def test_the_max_objective_lowers_the_largest_error():
    columns = population(20_000)
    worst = {}
    for objective in ("mean", "max"):
        synopsis = AdaptiveRelease(objective=objective).release(
            curator(columns=columns), hr.marginals(DOMAIN, 2)
        )
        gaps = []
        for names in PAIRS:
            flat = np.ravel_multi_index([columns[a] for a in names], DOMAIN.shape_of(names))
            truth = np.bincount(flat, minlength=DOMAIN.cells(names)).reshape(DOMAIN.shape_of(names))
            gaps.append(np.abs(synopsis.table(names) - truth).max())
        worst[objective] = max(gaps)
    assert worst["max"] < 20_000 * 0.02


def test_progress_is_told_with_the_estimated_error():
    seen = []
    AdaptiveRelease(measurements=12).release(curator(), hr.marginals(DOMAIN, 2), watch=seen.append)
    assert [p.step for p in seen] == sorted(p.step for p in seen)
    assert seen[0].error is None
    assert seen[-1].error >= 0
    assert seen[-1].step == seen[-1].steps


def test_caps_on_cells_and_seconds_hold():
    small = AdaptiveRelease(cells=1000).release(curator(), hr.marginals(DOMAIN, 2))
    assert small.hypothesis.beliefs.tree.cells <= 1000
    assert Effort.of(14, 800, seconds=0.1, cells=None).cells < Effort.of(14, 800, None, None).cells


def test_room_in_the_model_costs_more_the_more_is_taken_and_nothing_at_the_end():
    effort = Effort.of(9, 40_000, None, None)
    sizes, growth = np.array([9, 400, 10_000]), np.array([0.0, 1e3, 3e5])
    first = effort.room_price(sizes, growth, 1e3, 0)
    assert (np.diff(first) > 0).all()
    assert first[0] < 0.01 < 1.0 < first[2]
    half = effort.room_price(sizes, growth, 1e3, effort.measurements // 2)
    assert np.allclose(half, first / 2, rtol=0.05)
    assert not effort.room_price(sizes, growth, 1e3, effort.measurements).any()
    assert (Effort.of(9, 400_000, None, None).room_price(sizes, growth, 1e3, 0) > first).all()


def test_room_costs_nothing_where_the_model_has_all_cells_that_the_signal_is_worth():
    sizes, growth = np.array([9, 400, 10_000]), np.array([0.0, 1e3, 3e5])
    for enough in (Effort.of(9, 6000, None, None), Effort.of(9, 40_000, None, 2e6)):
        assert not enough.room_price(sizes, growth, 1e3, 0).any()
    capped = Effort.of(9, 6000, None, 1e4)  # by the caller: noise still holds fine tables back
    assert not capped.room_price(sizes, growth, 1e3, 0).any()


def test_room_has_no_price_in_a_dense_model(monkeypatch):
    asked = []
    monkeypatch.setattr(
        Effort, "room_price", lambda self, sizes, *_: asked.append(self) or np.zeros(len(sizes))
    )
    small = hr.Domain({"a": 3, "b": 4, "c": 5})
    for hypothesis, priced in (("dense", False), ("factored", True)):
        asked.clear()
        guard = hr.Curator(
            hr.Table.open({"a": [0, 1, 2] * 50, "b": [0, 1, 3] * 50, "c": [4, 1, 0] * 50}, small),
            budget=hr.Budget(epsilon=1, delta=1e-9),
            ledger=":memory:",
        )
        AdaptiveRelease(hypothesis=hypothesis).release(guard, hr.marginals(small, 2))
        assert bool(asked) is priced


def test_bad_parameters_are_refused_before_anything_is_spent():
    guard = curator()
    for wrong in (AdaptiveRelease(epsilon=1, budget=hr.Budget(epsilon=1)), AdaptiveRelease(one_way=1.5)):
        with pytest.raises(hr.UnsupportedQuery):
            wrong.release(guard, hr.marginals(DOMAIN, 2))
    with pytest.raises(hr.UnsupportedQuery, match="at least one attribute"):
        AdaptiveRelease().release(guard, hr.Query.total())
    with pytest.raises(hr.BudgetExceeded):
        AdaptiveRelease(epsilon=5).release(guard, hr.marginals(DOMAIN, 2))
    assert guard.spent.rho == 0


def test_a_ladder_is_nested_keeps_large_levels_apart_and_loses_no_level():
    rng = np.random.default_rng(2)
    for _ in range(50):
        counts = rng.exponential(1.0, rng.integers(2, 60)) ** 3 * 100 - 5
        total = float(np.maximum(counts, 0).sum())
        resolutions = Resolutions.full((len(counts),))
        for groups in ladder(counts, sorted([30.0, total / 32, total / 8, total / 3])):
            resolutions = resolutions.with_groups(0, groups)  # refuses what is not nested
        for r, threshold in zip(range(len(resolutions.sizes[0])), (0, 30), strict=False):
            groups = resolutions.maps[0][r]
            for level in np.flatnonzero(counts >= max(threshold, 1)):
                assert threshold == 0 or (groups == groups[level]).sum() >= 1


def small_views(rng, domain):
    """Random coarsenings of all pair tables."""
    resolutions = Resolutions.full(domain.shape)
    for a, size in enumerate(domain.shape):
        if size > 2:
            resolutions = resolutions.with_groups(a, np.arange(size) % (size - 1))
    sets = dict.fromkeys(combinations(domain.names, 2), 1.0)
    return Candidates.of(domain, resolutions, sets, 0.0, 1e9)


def test_a_score_moves_by_its_weight_when_a_row_is_added_and_twice_that_when_one_is_swapped():
    """The sensitivity on which every selection rests, on random tables, by brute force."""
    rng = np.random.default_rng(3)
    domain = hr.Domain({"x": 3, "y": 4, "z": 2})
    candidates = small_views(rng, domain)
    live = np.arange(len(candidates))
    weights = rng.integers(1, 17, len(live))
    for _ in range(60):
        rows = rng.integers(0, domain.shape, (rng.integers(1, 12), 3))
        other = rng.integers(0, domain.shape, (1, 3))
        estimates = rng.normal(2, 3, sum(len(t) for t in candidates.views.tables))
        score = CoarseErrors(candidates.views, live, estimates, weights, rng.normal(0, 5, len(live)))
        score.check(domain)

        def exact(data, score=score):
            columns = {a: data[:, i] for i, a in enumerate(domain)}
            return score.exact(Rows(hr.Table.open(columns, domain), bytes(32)))

        before = exact(rows)
        added = exact(np.concatenate([rows, other]))
        swapped = exact(np.concatenate([rows[1:], other]))
        assert (np.abs(added - before) <= weights).all()
        assert np.abs(added - before).max() <= score.norms.l1
        assert (np.abs(swapped - before) <= 2 * weights).all()
        assert np.abs(swapped - before).max() <= score.norms.replace_l1


def test_views_that_count_a_cell_twice_or_not_at_all_are_refused():
    domain = hr.Domain({"x": 3, "y": 4, "z": 2})
    block = GroupBlock(("x", "y"), (np.arange(3), np.arange(4)))
    good = {
        "tables": (block,),
        "table_of": np.zeros(1, np.int64),
        "source_of": np.full(1, -1),
        "maps": np.zeros(12, np.int32),
        "starts": np.array([0, 12]),
        "sizes": np.ones(1, np.int64),
    }
    one = np.ones(1)
    bad = [
        {"maps": np.zeros(24, np.int32), "starts": np.array([0, 24])},
        {"maps": np.zeros(6, np.int32), "starts": np.array([0, 6])},
        {"maps": np.full(12, 1, np.int32)},
        {"maps": np.full(12, -1, np.int32)},
        {"source_of": np.zeros(1, np.int64)},
        {"table_of": np.ones(1, np.int64)},
    ]
    CoarseErrors(Views(**good), np.zeros(1, np.int64), np.zeros(12), one.astype(np.int64), one).check(domain)
    for wrong in bad:
        score = CoarseErrors(
            Views(**(good | wrong)), np.zeros(1, np.int64), np.zeros(12), one.astype(np.int64), one
        )
        with pytest.raises(hr.UnsupportedQuery):
            score.check(domain)
    for estimates, weights in ((np.zeros(1), [1]), (np.zeros(12), [-1]), (np.zeros(12), [1 << 20])):
        score = CoarseErrors(Views(**good), np.zeros(1, np.int64), estimates, np.array(weights), one)
        with pytest.raises(hr.UnsupportedQuery):
            score.check(domain)


def test_a_grouped_table_is_a_table():
    rng = np.random.default_rng(4)
    table = rng.integers(0, 50, (4, 5))
    block = GroupBlock(("x", "y"), (np.array([1, 0, 1, 0]), np.array([0, 1, 1, 2, 0])))
    wanted = np.zeros((2, 3), dtype=np.int64)
    for i, j in np.ndindex(4, 5):
        wanted[block.groups[0][i], block.groups[1][j]] += table[i, j]
    assert block.apply(table).dtype == np.int64
    np.testing.assert_array_equal(block.apply(table).reshape(2, 3), wanted)
    np.testing.assert_array_equal([block.query(i).apply(table) for i in range(6)], wanted.ravel())
    assert block.norms == hr.marginals(hr.Domain({"x": 4, "y": 5}), [("x", "y")]).blocks[0].norms
    with pytest.raises(hr.DomainMismatch, match="none of them is empty"):
        GroupBlock(("x",), (np.array([0, 2]),))


def test_candidates_are_admitted_by_size_against_the_signal():
    domain = hr.Domain({f"q{i}": 2 for i in range(6)} | {"wide": 300})
    resolutions = Resolutions.full(domain.shape)
    sets = dict.fromkeys(combinations(domain.names, 3), 1.0)
    strong = Candidates.of(domain, resolutions, sets, noise=10.0, total=20_000.0)
    weak = Candidates.of(domain, resolutions, sets, noise=1000.0, total=20_000.0)
    assert any(len(t) == 3 for t in strong.tables)
    assert all(len(t) == 2 for t in weak.tables)
    assert not any((6, 0) in t for t in weak.tables)
    limit = planning.NOISE_LIMIT * 20_000 / planning.BIAS
    assert (weak.sizes * 1000.0 <= limit).all()


def test_small_domains_are_held_densely_and_large_ones_as_a_tree():
    small = AdaptiveRelease().release(curator(), hr.marginals(DOMAIN, 2))
    assert small.hypothesis.whole
    tree = AdaptiveRelease(hypothesis="factored").release(curator(), hr.marginals(DOMAIN, 2))
    assert not tree.hypothesis.whole
    columns = population()
    assert error(small, columns, PAIRS) < 1.3 * error(tree, columns, PAIRS)
    wide = hr.Domain({f"w{i}": 30 for i in range(5)})
    table = hr.Table.open({a: np.arange(600) % 30 for a in wide}, wide)
    guard = hr.Curator(table, budget=hr.Budget(epsilon=1, delta=1e-9), ledger=":memory:")
    assert not AdaptiveRelease(epsilon=0.5).release(guard, hr.marginals(wide, 2)).hypothesis.whole
    huge = hr.Domain({f"w{i}": 100 for i in range(5)})
    guard = hr.Curator(
        hr.Table.open({a: [1] for a in huge}, huge), budget=hr.Budget(epsilon=1), ledger=":memory:"
    )
    with pytest.raises(hr.RangeTooLarge, match="dense"):
        AdaptiveRelease(hypothesis="dense").release(guard, hr.marginals(huge, 2))
    assert guard.spent.epsilon == 0


def test_products_over_tables_too_large_to_hold_are_asked_and_answered():
    rng = np.random.default_rng(5)
    domain = hr.Domain({f"a{i}": 50 for i in range(12)})
    base = rng.integers(0, 50, 20_000)
    columns = {a: np.where(rng.random(20_000) < 0.98, base, rng.integers(0, 50, 20_000)) for a in domain}
    guard = hr.Curator(
        hr.Table.open(columns, domain),
        budget=hr.Budget(epsilon=5, delta=1e-9),
        ledger=":memory:",
        entropy=hr.testing.seeded(1),
    )
    query = hr.Query.where(domain, {a: range(25) for a in domain})
    synopsis = AdaptiveRelease().release(guard, [query, hr.Query.where(domain, {"a0": 3, "a7": 3})])
    truth = np.all([columns[a] < 25 for a in domain], axis=0).sum()
    assert synopsis.answer(query).value == pytest.approx(truth, rel=0.25)
    text = " AND ".join(f"{a} < 25" for a in domain)
    asked = hr.sql(domain, f"SELECT COUNT(*) AS n, AVG(a3) AS mean FROM t WHERE {text}")
    told = synopsis.answer(asked).table
    assert told.values[0, 0] == pytest.approx(synopsis.answer(query).value)
    assert 8 < told.values[0, 1] < 16


def test_public_rows_are_a_prior_too_and_wrong_ones_are_refused():
    small, columns = hr.Budget(epsilon=0.05, delta=1e-9), population()
    alone = AdaptiveRelease().release(curator(small), hr.marginals(DOMAIN, 2))
    helped = AdaptiveRelease().release(curator(small), hr.marginals(DOMAIN, 2), prior=population(seed=9))
    assert error(helped, columns, PAIRS) < 0.6 * error(alone, columns, PAIRS)
    guard = curator()
    nothing = np.zeros((4, 2), dtype=bool)
    for wrong, words in (
        ({"zeros": [(("a", "e"), nothing)]}, "nothing possible"),
        ({"zeros": [(("a", "e"), nothing.T)]}, "shape"),
        ({"weights": [-1.0] * 10}, "from 0 to 1e12"),
        ({"weights": [0.0] * 10}, "from 0 to 1e12"),
    ):
        with pytest.raises(hr.HedgerowError, match=words):
            AdaptiveRelease().release(guard, hr.marginals(DOMAIN, 2), **wrong)
    for wrong in ({"objective": "median"}, {"memory": 0}, {"seconds": -1}, {"hypothesis": "sparse"}):
        with pytest.raises(hr.UnsupportedQuery):
            AdaptiveRelease(**wrong).release(guard, hr.marginals(DOMAIN, 2))
    assert guard.ledger.spent().is_zero


def test_scores_keep_copies_and_take_whole_weights_only():
    """A weight of a half would be read as sensitivity 0; an array changed after the check as anything."""
    domain = hr.Domain({"x": 3, "y": 4, "z": 2})
    candidates = small_views(np.random.default_rng(1), domain)
    live = np.arange(len(candidates))
    estimates = np.zeros(sum(len(t) for t in candidates.views.tables))
    with pytest.raises(hr.UnsupportedQuery, match="whole"):
        CoarseErrors(candidates.views, live, estimates, np.full(len(live), 0.5), np.zeros(len(live)))
    weights = np.ones(len(live), dtype=np.int64)
    score = CoarseErrors(candidates.views, live, estimates, weights, np.zeros(len(live)))
    weights[:] = 1000
    assert score.norms.l1 == 1
    with pytest.raises(ValueError, match="read-only"):
        score.views.maps[0] = 5


def test_a_prior_leaves_its_trace_and_one_that_is_not_private_is_not_laundered(tmp_path):
    table = hr.Table.open(population(seed=5), DOMAIN)
    practice = hr.LaplaceBaseline().release(curator(hr.Budget(9.0, 1e-6)), hr.marginals(DOMAIN, 2))
    real = hr.Curator(table, hr.Budget(1.0, 1e-6), tmp_path / "l.db")
    synopsis = AdaptiveRelease().release(real, hr.marginals(DOMAIN, 2), prior=practice)
    assert real.private
    assert not practice.private
    assert not synopsis.private
    assert "prior" in synopsis.provenance.parameters


@pytest.mark.parametrize("lacks", [1e-9, 3e-5, 0.0099, 0.011])
def test_one_way_tables_that_lack_next_to_nothing_are_not_measured_again(monkeypatch, lacks):
    """A price that rounds to nothing would be refused after the first tables are paid, and ever after."""
    from hedgerow.mechanisms.adaptive.run import Run

    monkeypatch.setattr(Run, "_lacking", lambda *_: lacks)
    synopsis = AdaptiveRelease(measurements=1).release(curator(), hr.marginals(DOMAIN, 2))
    ones = [m.attributes for m in synopsis.measurements if m.workload is None]
    assert len(ones) == (10 if lacks > 0.01 else 5)
