"""The factored hypothesis: equal to the dense one, fits what was measured, draws rows it believes in."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.learning.dense.dense import DenseHypothesis
from hedgerow.learning.factored import kernels
from hedgerow.learning.factored.consistency import Target, combined, consistent, measured_total
from hedgerow.learning.factored.factored import FactoredHypothesis, Zeros
from hedgerow.learning.factored.resolution import Resolutions
from hedgerow.queries.strategies.coarse import GroupBlock

DOMAIN = hr.Domain({"a": 3, "b": 4, "c": 2, "d": 5, "e": 3})


def chain(rows: int = 20_000, seed: int = 5) -> np.ndarray:
    """Counts of a population in which each attribute follows the one before it."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 3, rows)]
    for size in (4, 2, 5, 3):
        near = np.where(rng.random(rows) < 0.6, columns[-1] % size, rng.integers(0, size, rows))
        columns.append(near)
    out = np.zeros(DOMAIN.shape)
    np.add.at(out, tuple(columns), 1)
    return out


def noisy(counts: np.ndarray, keep: tuple[int, ...], sigma: float, rng) -> Target:
    table = counts.sum(axis=tuple(i for i in range(counts.ndim) if i not in keep)).ravel()
    return Target(tuple((a, 0) for a in keep), table + rng.normal(0, sigma, table.size), sigma)


@pytest.mark.parametrize("seed", range(50))
def test_factored_and_dense_agree_after_the_same_updates(seed):
    rng = np.random.default_rng(seed)
    factored, dense = FactoredHypothesis(DOMAIN), DenseHypothesis(DOMAIN)
    for _ in range(8):
        names = [DOMAIN.names[i] for i in rng.choice(5, rng.integers(1, 4), replace=False)]
        query = hr.Query.of(DOMAIN, names, rng.random(DOMAIN.shape_of(names)))
        value, eta = rng.random(), rng.uniform(0.1, 2.0)
        assert factored.update(query, value, eta) == dense.update(query, value, eta)
        assert factored.answer(query) == pytest.approx(dense.answer(query), abs=1e-9)
    np.testing.assert_allclose(factored.marginal(DOMAIN.names), np.exp(dense.log_cells()), atol=1e-9)
    np.testing.assert_allclose(factored.marginal(("d", "a")), dense.marginal(("d", "a")), atol=1e-9)


def test_a_fit_to_exact_tables_reproduces_them():
    rng, counts = np.random.default_rng(1), chain()
    targets = [noisy(counts, keep, 1e-2, rng) for keep in ((0, 1), (1, 2), (2, 3), (3, 4))]
    hypothesis = FactoredHypothesis(DOMAIN)
    fit = hypothesis.fit_targets(targets, iterations=400)
    assert fit.total == pytest.approx(counts.sum(), rel=1e-4)
    for t in targets:
        error = np.abs(hypothesis.total * hypothesis.table(t.nodes).ravel() - t.counts).sum()
        assert error < 1e-3 * counts.sum()


def test_a_fit_is_closer_to_the_truth_than_what_was_measured():
    rng, counts = np.random.default_rng(2), chain()
    targets = [noisy(counts, keep, 60.0, rng) for keep in ((0, 1), (1, 2), (2, 3), (3, 4), (0,), (3,))]
    hypothesis = FactoredHypothesis(DOMAIN)
    hypothesis.fit_targets(targets)
    ours = theirs = 0.0
    for t in targets:
        keep = tuple(a for a, _ in t.nodes)
        truth = counts.sum(axis=tuple(i for i in range(5) if i not in keep)).ravel()
        ours += np.abs(hypothesis.total * hypothesis.table(t.nodes).ravel() - truth).sum()
        theirs += np.abs(t.counts - truth).sum()
    assert ours < theirs


def test_fits_are_deterministic_and_warm_starts_go_on():
    rng, counts = np.random.default_rng(3), chain()
    targets = [noisy(counts, keep, 40.0, rng) for keep in ((0, 1), (1, 2), (0, 2), (3, 4))]
    first, second = FactoredHypothesis(DOMAIN), FactoredHypothesis(DOMAIN)
    for h in (first, second):
        h.fit_targets(targets[:2], iterations=8)
        h.fit_targets(targets, iterations=50)
    np.testing.assert_array_equal(first.marginal(("a", "c", "e")), second.marginal(("a", "c", "e")))


def test_a_fit_that_loses_the_one_way_tables_is_noticed_and_repeated(monkeypatch):
    rng, counts = np.random.default_rng(4), chain()
    targets = [noisy(counts, keep, 30.0, rng) for keep in ((0,), (1,), (0, 1))]
    hypothesis = FactoredHypothesis(DOMAIN)
    tried, real = [], FactoredHypothesis._descend

    def spoiled(self, known, iterations, slack):
        tried.append(slack)
        return real(self, known, 0 if len(tried) == 1 else iterations, slack)

    monkeypatch.setattr(FactoredHypothesis, "_descend", spoiled)
    hypothesis.fit_targets(targets)
    assert len(tried) > 1
    one_way = hypothesis.total * hypothesis.marginal(("a",))
    assert np.abs(one_way - counts.sum(axis=(1, 2, 3, 4))).max() < 300


def test_consistent_tables_agree_on_every_attribute_and_come_closer_to_the_truth():
    rng = np.random.default_rng(6)
    resolutions = (
        Resolutions.full((8, 6, 5)).with_groups(0, np.arange(8) // 2).with_groups(0, np.arange(8) // 4)
    )
    truth = rng.integers(0, 200, (8, 6, 5)).astype(float)
    everything = ((0, 0), (1, 0), (2, 0))
    sets = [((0, 0),), ((0, 1), (1, 0)), ((0, 2), (1, 0)), ((1, 0), (2, 0)), ((0, 0), (2, 0))]
    better = worse = 0.0
    for _ in range(20):
        exact = [
            np.bincount(
                resolutions.index_map(everything, s), weights=truth.ravel(), minlength=resolutions.cells(s)
            )
            for s in sets
        ]
        targets = [
            Target(s, x + rng.normal(0, sigma, x.size), sigma)
            for s, x, sigma in zip(sets, exact, (20.0, 40.0, 30.0, 50.0, 45.0), strict=True)
        ]
        got = consistent(resolutions, targets, float(truth.sum()))
        for a, r in ((0, 2), (1, 0), (2, 0)):
            margins = [
                np.bincount(resolutions.step(t.nodes, ((a, r),)), weights=t.counts)
                for t in got
                if a in dict(t.nodes)
            ]
            for m in margins[1:]:
                np.testing.assert_allclose(m, margins[0], atol=1e-6)
        better += sum(np.abs(t.counts - x).sum() / t.sigma for t, x in zip(got, exact, strict=True))
        worse += sum(np.abs(t.counts - x).sum() / t.sigma for t, x in zip(targets, exact, strict=True))
    assert better < 0.95 * worse


def test_repeated_measurements_are_one_of_less_noise():
    nodes = ((0, 0),)
    (one,) = combined([Target(nodes, np.array([0.0, 4.0]), 2.0), Target(nodes, np.array([5.0, 4.0]), 1.0)])
    np.testing.assert_allclose(one.counts, [4.0, 4.0])
    assert one.sigma == pytest.approx((4 / 5) ** 0.5)
    assert measured_total([one]) == pytest.approx(8.0)


def test_measurements_of_plain_and_grouped_tables_are_fitted():
    counts = chain()
    resolutions = Resolutions.full(DOMAIN.shape).with_groups(3, [0, 0, 1, 1, 1])
    hypothesis = FactoredHypothesis(DOMAIN, resolutions=resolutions)
    law = hr.Noise("gaussian", Fraction(1))
    plain = hr.Measurement(("b", "a"), counts.sum(axis=(2, 3, 4)).T.astype(np.int64), law)
    block = GroupBlock(("c", "d"), (np.arange(2), np.array([0, 0, 1, 1, 1])))
    grouped = hr.Measurement(
        (), block.apply(counts.sum(axis=(0, 1, 4)).astype(np.int64)), law, hr.Workload([block])
    )
    hypothesis.fit([plain, grouped])
    np.testing.assert_allclose(
        hypothesis.total * hypothesis.marginal(("a", "b")), counts.sum(axis=(2, 3, 4)), atol=60
    )
    with pytest.raises(hr.UnsupportedQuery, match="whole tables"):
        hypothesis.fit([hr.Measurement((), np.zeros(1, np.int64), law, hr.Workload.of(hr.Query.total()))])
    other = GroupBlock(("d",), (np.array([0, 1, 1, 1, 1]),))
    with pytest.raises(hr.DomainMismatch, match="does not know"):
        hypothesis.target(hr.Measurement((), np.zeros(2, np.int64), law, hr.Workload([other])))


def test_declared_zeros_are_never_filled():
    possible = np.ones((3, 2), dtype=bool)
    possible[1, 1] = False
    hypothesis = FactoredHypothesis(DOMAIN, zeros=[Zeros(("a", "c"), possible)])
    rng, counts = np.random.default_rng(7), chain()
    hypothesis.fit_targets([noisy(counts, keep, 50.0, rng) for keep in ((0,), (2,), (0, 1), (1, 2))])
    assert hypothesis.marginal(("a", "c"))[1, 1] == 0.0
    rows = hypothesis.sample(5000, seed=1)
    assert not ((rows["a"] == 1) & (rows["c"] == 1)).any()


def test_a_tilt_beyond_the_cell_cap_is_refused_and_changes_nothing():
    hypothesis = FactoredHypothesis(hr.Domain({"a": 50, "b": 50}), cells=1000)
    query = hr.Query.of(hypothesis.domain, ["a", "b"], np.ones((50, 50)))
    with pytest.raises(hr.RangeTooLarge, match="1,000 cells"):
        hypothesis.tilt(query, 1.0)
    assert hypothesis.marginal(("a",)).sum() == pytest.approx(1.0)


def sampled(rows: int, seed: int = 3):
    hypothesis = FactoredHypothesis(DOMAIN)
    rng, counts = np.random.default_rng(8), chain()
    hypothesis.fit_targets([noisy(counts, k, 20.0, rng) for k in ((0, 1), (1, 2), (1, 3), (3, 4))])
    return hypothesis, hypothesis.sample(rows, seed=seed)


def test_sampled_pairs_pass_a_chi_square_against_the_model():
    """Ten pair tables of systematically rounded rows: false alarm below 1e-6 each for independent rows."""
    from itertools import combinations

    from scipy.stats import chi2

    hypothesis, rows = sampled(200_000)
    for a, b in combinations(DOMAIN, 2):
        expected = 200_000 * hypothesis.marginal((a, b)).ravel()
        seen = np.bincount(rows[a] * DOMAIN[b].size + rows[b], minlength=expected.size)
        assert (((seen - expected) ** 2) / expected).sum() < chi2.ppf(1 - 1e-7, expected.size - 1)


def test_siblings_behind_one_separator_stay_independent_given_it():
    """a and c hang on b: within a level of b their table must look independent (false alarm < 1e-6)."""
    from scipy.stats import chi2

    _hypothesis, rows = sampled(100_000)
    for level in range(4):
        here = rows["b"] == level
        table = np.bincount(rows["a"][here] * 2 + rows["c"][here], minlength=6).reshape(3, 2)
        expected = table.sum(1, keepdims=True) * table.sum(0, keepdims=True) / table.sum()
        assert (((table - expected) ** 2) / expected).sum() < chi2.ppf(1 - 1e-7, 2)


def test_sampling_is_repeatable_and_rounds_systematically():
    hypothesis, rows = sampled(10_000)
    again = hypothesis.sample(10_000, seed=3)
    assert all((rows[a] == again[a]).all() for a in DOMAIN)
    root = hypothesis.beliefs.tree.cliques[0]
    names = [DOMAIN.names[a] for a, _ in root]
    expected = 10_000 * hypothesis.marginal(names).ravel()
    flat = np.ravel_multi_index([rows[a] for a in names], DOMAIN.shape_of(names))
    assert np.abs(np.bincount(flat, minlength=expected.size) - expected).max() < 1.0


def joined(domain, seed: int, *, whole: bool) -> FactoredHypothesis:
    """A random model of pairs, as a tree of tables or as one table of all cells."""
    rng, hypothesis = np.random.default_rng(seed), FactoredHypothesis(domain, whole=whole)
    for _ in range(5):
        i, j = (int(x) for x in sorted(rng.choice(len(domain), 2, replace=False)))
        hypothesis.hold(((i, 0), (j, 0)), rng.normal(0, 1.5, domain.shape[i] * domain.shape[j]))
    return hypothesis


@pytest.mark.parametrize("seed", range(20))
def test_one_table_of_all_cells_says_what_the_tree_says(seed):
    domain = hr.Domain({f"a{i}": k for i, k in enumerate([3, 4, 2, 5, 3, 2])})
    tree, whole = (joined(domain, seed, whole=w) for w in (False, True))
    assert whole.beliefs.tree.cells == domain.size
    for names in (("a0",), ("a1", "a4"), ("a5", "a0", "a3"), domain.names):
        np.testing.assert_allclose(whole.marginal(names), tree.marginal(names), atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_a_product_query_is_answered_without_its_table(seed):
    domain = hr.Domain({f"a{i}": k for i, k in enumerate([3, 4, 2, 5, 3, 2])})
    hypothesis, rng = joined(domain, seed, whole=False), np.random.default_rng(seed)
    first, *others = rng.choice(list(domain), rng.integers(1, 7), replace=False)
    query = hr.Query.where(
        domain,
        {a: rng.random(domain[a].size) < 0.6 for a in others},
        weights={first: rng.random(domain[first].size)},
    )
    table = hypothesis.marginal(query.attributes)
    assert hypothesis.expectation(query) == pytest.approx(float(query.apply(table)), abs=1e-12)
    squares = float((table * (query.weights / 2**20) ** 2).sum())
    assert hypothesis.expectation(query, 2) == pytest.approx(squares, abs=1e-12)


@pytest.mark.parametrize("seed", [3, 5, 6, 8, 10])
def test_tables_that_no_rows_could_have_are_fitted_all_the_same(seed):
    """Cells below zero and above all rows, with little noise: their potentials stay finite and right."""
    rng, counts = np.random.default_rng(seed), np.zeros(DOMAIN.shape)
    counts[0, 0, :2, :2, :3] = rng.multinomial(4000, np.ones(12) / 12).reshape(2, 2, 3)
    pairs = [noisy(counts, keep, 0.1, rng) for n in (1, 2) for keep in combinations(range(5), n)]
    hypothesis = FactoredHypothesis(DOMAIN)
    hypothesis.fit_targets(pairs, iterations=400)
    for t in pairs:
        assert np.abs(hypothesis.total * hypothesis.table(t.nodes).ravel() - t.counts).sum() < 40


@pytest.mark.parametrize("spread", [1.0, 30.0, 400.0, 5000.0])
def test_potentials_of_any_size_are_added_up_rightly(spread):
    """Against all cells in logarithms; products of such potentials are zero in floats from 400 on."""
    rng, hypothesis = np.random.default_rng(2), FactoredHypothesis(DOMAIN)
    tables = [((0, 0), (1, 0)), ((1, 0), (2, 0)), ((2, 0), (3, 0)), ((3, 0), (4, 0)), ((0, 0),)]
    for nodes in tables:
        hypothesis.graph.add(nodes)
    beliefs = hypothesis._build(tables)
    theta = rng.normal(0, spread, int(beliefs.starts[-1]))
    cells = np.zeros(DOMAIN.shape)
    for i, nodes in enumerate(tables):
        axes = [a for a, _ in nodes]
        shape = [n if a in axes else 1 for a, n in enumerate(DOMAIN.shape)]
        cells += theta[beliefs.starts[i] : beliefs.starts[i + 1]].reshape(shape)
    log_z = cells.max() + np.log(np.exp(cells - cells.max()).sum())
    assert beliefs.calibrate(theta) == pytest.approx(log_z, rel=1e-12)
    exact, found = np.exp(cells - log_z), beliefs.project()
    for i, nodes in enumerate(tables):
        axes = tuple(a for a in range(5) if a not in [n for n, _ in nodes])
        here = found[beliefs.starts[i] : beliefs.starts[i + 1]]
        np.testing.assert_allclose(here, exact.sum(axis=axes).ravel(), atol=1e-12)


@pytest.mark.parametrize("whole", [False, True])
def test_a_model_is_brought_to_tables_of_single_attributes_and_keeps_its_others(whole):
    domain = hr.Domain({"a": 3, "b": 4, "c": 2})
    model = FactoredHypothesis(domain, total=100.0, whole=whole)
    rng = np.random.default_rng(0)
    pairs = [((0, 0), (1, 0)), ((1, 0), (2, 0))]
    counts = [rng.dirichlet(np.ones(n)) * 100.0 for n in (12, 8)]
    ones = [Target(((2, 0),), np.array([60.0, 40.0]), 1.0)]
    model.fit_targets([*(Target(n, y, 1.0) for n, y in zip(pairs, counts, strict=True)), *ones])
    before, other = model.marginal(("a", "b")), model.marginal(("c",))
    made = model.brought({"a": np.array([10.0, 20.0, 70.0])})
    assert np.allclose(made.marginal(("a",)), [0.1, 0.2, 0.7], atol=1e-3)
    assert np.allclose(made.marginal(("c",)), other, atol=1e-3)
    assert np.allclose(model.marginal(("a", "b")), before)  # the first one is as it was
    assert made.total == model.total


def test_tables_that_meet_in_next_to_nothing_are_merged_without_dividing_by_zero():
    """Two parts of 1e-200 each have a product below the smallest number."""
    both, small = np.array([0.5, 0.5]), np.array([0.5, 1e-200])
    out, places = np.zeros((2, 1)), np.arange(2)
    table = small[:, None]
    kernels.merge(
        np.array([0.5, 1e-200]), np.concatenate([small, small]), np.stack([places, places]), 2, places,
        table, table, out
    )  # fmt: skip
    assert out[:, 0] == pytest.approx([0.5, 0.0])
    carried = np.zeros((2, 1))
    kernels.carry(np.array([0.5, 1e-200]), np.array([0.5, 0.0]), places, places, both[:, None], 0, carried)
    assert carried[:, 0] == pytest.approx([0.5, 0.0])
