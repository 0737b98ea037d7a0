"""Bars of what was not measured: noise handed down, and the part of a count that no measured table holds."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

import hedgerow as hr
from hedgerow.learning.residuals.basis import Basis
from hedgerow.queries.measurement import Noise
from hedgerow.synopsis.bars import SMALLEST, Bars
from hedgerow.synopsis.margins import NoisyTable
from hedgerow.synopsis.measured_bars import LEAST, ROOM, left_apart, measured_bar, near_zero
from hedgerow.synopsis.quantiles import VARIED, of_count, quantile
from hedgerow.synopsis.unheld import conjunction

SIZES = {"a": 3, "b": 2, "c": 4}
ONES = {"a": np.array([0.2, 0.3, 0.5]), "b": np.array([0.6, 0.4]), "c": np.array([0.1, 0.2, 0.3, 0.4])}
ALL = ("a", "b", "c")


def bars(*measured: tuple[str, ...], deviation: float = 7.0) -> Bars:
    return Bars(Basis(SIZES), dict.fromkeys(measured, deviation), ONES.__getitem__, 1.0)


def table() -> np.ndarray:
    return 5000.0 * np.einsum("i,j,k->ijk", *ONES.values())


def test_quantiles_are_those_of_a_mixture_of_normal_laws():
    for confidence in (0.5, 0.8, 0.95, 0.999):
        assert quantile(0.0, VARIED, confidence) == pytest.approx(norm.ppf(0.5 + confidence / 2), rel=1e-3)
        for ratio in (0.1, 3.0, 1e3):
            c = quantile(ratio, (0.2, 1.8), confidence)
            inside = [2 * norm.cdf(c / (1 + ratio * s) ** 0.5) - 1 for s in (0.2, 1.8)]
            assert np.mean(inside) == pytest.approx(confidence, abs=3e-3)
    narrow, wide = (quantile(1e4, VARIED, c) / quantile(1e4, (1.0,), c) for c in (0.8, 0.99))
    assert narrow < 1.0 < wide  # much in some, little in most


def test_a_count_near_zero_has_a_narrower_bar_and_a_large_one_all_of_its_noise():
    assert near_zero(0.0, 10.0) < 0.3 < near_zero(10.0, 10.0) < near_zero(1e6, 10.0) == 1.0
    assert measured_bar(1e6, 1e6, 10.0, 19.6, counts=True) == pytest.approx(ROOM * 19.6)
    assert measured_bar(1e6, 1e6 + 30.0, 10.0, 19.6, counts=True) > ROOM * 19.6
    assert measured_bar(0.0, 0.0, 10.0, 19.6, counts=False) == pytest.approx(ROOM * 19.6)
    for count in (5.0, 12.0, 19.0):  # what noise alone may have made may be nothing
        assert measured_bar(count, count, 10.0, 19.6, counts=True) >= count


def test_counts_that_are_weighed_against_each_other_have_what_is_left_of_their_noise():
    for left, off, wide in (
        (1.0, 0.0, 19.6),
        (1.0, 9.0, 19.6),
        (1.0, 30.0, 19.6 * 9.0**0.5),
        (0.3, 0.0, 5.88),
    ):
        bar = measured_bar(0.0, off, 10.0, 19.6, counts=False, apart=left)
        assert bar == pytest.approx(wide)


def test_a_share_has_all_of_its_noise_where_both_of_its_parts_are_large_and_less_where_they_are_not():
    known, weights = (
        NoisyTable(np.zeros((2, 2)), Noise("gaussian", Fraction(10))),
        np.array([[0.3, -0.7]] * 2),
    )
    large, few = np.full((2, 2), 1e5), np.full((2, 2), 1.0)
    assert left_apart(known, large, weights) == pytest.approx(1.0)
    assert left_apart(known, np.zeros((2, 2)), weights) == pytest.approx(LEAST)
    assert LEAST < left_apart(known, few, weights) < 0.6
    one = np.array([[1e5, 1.0]] * 2)  # what few rows are off by counts by its weight
    assert left_apart(known, few, weights) < left_apart(known, one, weights) < 1.0
    assert left_apart(known, one[:, ::-1], weights) > left_apart(known, one, weights)


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95, 0.99])
def test_a_count_of_which_more_may_be_off_than_is_there_is_a_lognormal_one_that_may_be_nothing(confidence):
    z = norm.ppf(0.5 + confidence / 2)
    draws = np.random.default_rng(8).normal(size=100_000)
    for count in (0.0, 0.5, 5.0, 40.0, 300.0, 1e5):
        bar = of_count(z * 100.0, count, 0.0, 1e4, confidence)
        assert bar <= z * 100.0
        assert bar >= min(count, z * 100.0)
        if count:
            spread = np.log1p(1e4 / count**2) ** 0.5
            truths = count * np.exp(spread * draws - spread**2 / 2)
            inside = float((np.abs(truths - count) <= bar).mean())
            assert inside >= confidence - 0.005 or bar == pytest.approx(z * 100.0)
    assert of_count(z * 100.0, 1e5, 0.0, 1e4, confidence) == pytest.approx(z * 100.0, rel=1e-2)
    assert of_count(z * 100.0, 0.0, 25.0, 1e4, confidence) > 0.0  # noise hides some of it


def test_a_single_cell_has_the_bar_of_a_person_who_is_there_and_a_range_that_of_a_count():
    names, some = ("a", "b", "c"), bars((), ("a",), ("b",), ("c",))
    found = some.variances(names, table(), np.ones((3, 2, 4)))
    assert some.half_width(names, (400.0, 0.0), 0.8, 1, 3.0) < some.half_width(names, (400.0, 0.0), 0.8, 1)
    both = [some.half_width(names, (400.0, 0.0), 0.8, 9, c) for c in (3.0, None)]
    assert both[0] == both[1]  # of many numbers at once the largest error is no usual one
    assert found[1] == 0.0


@pytest.mark.parametrize("measured", [[()], [(), ("a",)], [(), ("a",), ("b",), ("c",), ("a", "c")]])
def test_what_rows_vary_by_is_the_variance_given_all_measured_tables(measured):
    """Of any weights by least squares on all functions of measured sets; of a conjunction by its corners."""
    rng = np.random.default_rng(3)
    counts = 5000.0 * rng.dirichlet(np.ones(24)).reshape(3, 2, 4) + 50.0
    mask = np.einsum("i,j,k->ijk", [1.0, 0.0, 1.0], [0.0, 1.0], [1.0, 1.0, 0.0, 0.0])
    sizes = [[0, 1, 2], [0, 1], [0, 1, 2, 3]]
    for weights, levels in ((rng.random((3, 2, 4)), sizes), (mask, [[0, 1, 0], [0, 1], [0, 0, 1, 1]])):
        cells, columns = list(product(*(range(n) for n in SIZES.values()))), []
        for s in measured:
            where = [tuple(levels[ALL.index(a)][cell[ALL.index(a)]] for a in s) for cell in cells]
            columns += [[float(w == level) for w in where] for level in set(where)]
        design, roots = np.array(columns).T, np.sqrt(counts.reshape(-1))
        fit, *_ = np.linalg.lstsq(design * roots[:, None], weights.reshape(-1) * roots, rcond=None)
        expected = float((counts.reshape(-1) * (weights.reshape(-1) - design @ fit) ** 2).sum())
        known = Bars(Basis(SIZES), dict.fromkeys(measured, 1e-6), ONES.__getitem__, 1.0)
        found = known.variances(ALL, counts, weights)[0] - SMALLEST**2 * float(weights.max()) ** 2
        assert found == pytest.approx(expected, rel=0.02)


def test_a_conjunction_is_told_from_other_weights():
    masks = [np.array([1.0, 0.0, 1.0]), np.array([0.0, 1.0])]
    found = conjunction(0.5 * np.outer(*masks))
    assert found is not None
    assert all(np.array_equal(f, m) for f, m in zip(found, masks, strict=True))
    assert conjunction(np.eye(2)) is conjunction(np.array([1.0, 0.5])) is conjunction(np.zeros(2)) is None


def test_nothing_is_left_where_everything_was_measured():
    known = bars((), ("a",), ("b",), ("a", "b"))
    noise, left = known.variances(("a", "b"), table().sum(axis=2), np.eye(3, 2))
    assert left == 0.0
    assert noise > 0.0


def test_cells_all_at_once_are_as_one_by_one_in_any_order_of_attributes():
    known = bars((), ("a",), ("b",), ("c",), ("a", "c"))
    noise, left = known.of_cells(ALL, table())
    turned = known.of_cells(("c", "a", "b"), table().transpose(2, 0, 1))
    for cell in [(0, 0, 0), (2, 1, 3), (1, 0, 2)]:
        weights = np.zeros((3, 2, 4))
        weights[cell] = 1.0
        one = known.variances(ALL, table(), weights)
        assert (noise[cell], left[cell]) == pytest.approx(one)
        i, j, k = cell
        assert (turned[0][k, i, j], turned[1][k, i, j]) == pytest.approx(one)


def test_a_product_without_its_table_is_about_as_with_it():
    known = bars((), ("a",), ("b",), ("c",), ("a", "b"), deviation=20.0)
    factors = [np.array([1.0, 0.0, 1.0]), np.array([0.0, 1.0]), np.array([1.0, 1.0, 0.0, 0.0])]
    weights = np.einsum("i,j,k->ijk", *factors)
    count = float((table() * weights).sum())
    exact, about = known.variances(ALL, table(), weights), known.of_product(ALL, factors, count)
    assert about[1] == exact[1] == 0.0
    assert 0.5 * exact[0] <= about[0] <= 2.0 * exact[0]


@pytest.mark.parametrize("order", [2, 3])
def test_bars_of_a_release_are_of_the_size_of_its_errors(order):
    rng = np.random.default_rng(8)
    a = rng.choice(6, 20_000, p=[0.4, 0.25, 0.15, 0.1, 0.07, 0.03])
    columns = {"a": a, "b": (a + rng.integers(0, 3, 20_000)) % 5, "c": rng.integers(0, 4, 20_000)}
    domain = hr.Domain({"a": 6, "b": 5, "c": 4, "d": 3} if order == 3 else {"a": 6, "b": 5, "c": 4})
    if order == 3:
        columns["d"] = np.where(rng.random(20_000) < 0.5, a // 2, rng.integers(0, 3, 20_000))
    ratios = []
    for seed in range(4):  # seeded noise: the same numbers every time
        with hr.testing.seeded(seed):
            guard = hr.Curator(hr.Table.open(columns, domain), hr.Budget(epsilon=1, delta=1e-9), ":memory:")
            synopsis = hr.AdaptiveRelease().release(guard, hr.marginals(domain, 2))
        names = tuple(domain)[:order]
        flat = np.ravel_multi_index([columns[n] for n in names], domain.shape_of(names))
        truth = np.bincount(flat, minlength=domain.cells(names))
        answer = synopsis.answer(hr.marginals(domain, [names]))
        ratios.append(np.abs(answer.value - truth) / answer.error)
    together = np.concatenate(ratios)
    assert float((together <= 1.0).mean()) >= 0.92
    assert 0.1 <= float(np.median(together)) <= 0.7


@pytest.mark.parametrize("seed", range(3))
def test_averages_by_group_are_as_uncertain_as_the_overall_one_that_no_group_was_measured_for(seed):
    """4,000 rows on 800 levels: no cell is negative, so noise moves the average towards the middle."""
    rng = np.random.default_rng(seed)
    n, domain = 4_000, hr.Domain({"land": 5, "sex": 2, "ms": hr.bins(0, 800, 1, whole=True)})
    columns = {
        "land": rng.integers(0, 5, n),
        "sex": rng.integers(0, 2, n),
        "ms": np.minimum(rng.gamma(2.0, 60.0, n).astype(int), 799),
    }
    budget, table = hr.Budget(epsilon=1, delta=1e-9), hr.Table.open(columns, domain)
    curator = hr.Curator(table, budget, ":memory:", entropy=hr.testing.seeded(seed))
    released = hr.AdaptiveRelease().release(curator, hr.marginals(domain, 2))
    found = released.answer("SELECT land, AVG(ms) FROM t GROUP BY land ORDER BY land").table
    true = np.array([columns["ms"][columns["land"] == k].mean() for k in range(5)])
    assert (np.abs(found.values[:, 0] - true) <= found.errors[:, 0]).all()


@pytest.mark.parametrize("dependent", [False, True])
def test_bars_of_larger_conjunctions_hold_as_often_as_they_say_at_every_confidence(dependent):
    """Rows' own levels of three to five attributes, of which pairs were measured or nothing was chosen."""
    rng, n = np.random.default_rng(12), 20_000
    sizes = {"a": 6, "b": 4, "c": 5, "d": 3, "e": 8, "f": 2}
    columns = {a: rng.choice(k, n, p=rng.dirichlet(np.ones(k))) for a, k in sizes.items()}
    if dependent:
        columns["c"] = np.where(rng.random(n) < 0.6, (columns["a"] + columns["b"]) % 5, columns["c"])
        columns["e"] = np.where(rng.random(n) < 0.5, columns["c"] + columns["d"], columns["e"])
    domain, inside, ratios = hr.Domain(sizes), [], []
    for seed in range(4):  # seeded noise: the same numbers every time
        curator = hr.Curator(
            hr.Table.open(columns, domain),
            hr.Budget(epsilon=1, delta=1e-9),
            ":memory:",
            entropy=hr.testing.seeded(seed),
        )
        synopsis = hr.AdaptiveRelease().release(curator, hr.marginals(domain, 2))
        for i in range(90):
            row, names = rng.integers(n), rng.choice(list(sizes), 3 + i % 3, replace=False)
            query = hr.Query.where(domain, {str(a): [int(columns[a][row])] for a in names})
            true = np.all([columns[a] == columns[a][row] for a in names], axis=0).sum()
            answers = [synopsis.answer(query, confidence=c) for c in (0.8, 0.95, 0.99)]
            off = abs(answers[0].value - true)
            inside.append([off <= a.error for a in answers])
            ratios.append(off / answers[1].error)
    held = np.mean(inside, axis=0)  # of four releases, that differ by 0.03 from each other
    assert 0.75 <= held[0] <= 0.95
    assert held[1] >= 0.91
    assert held[2] >= 0.96
    assert 0.15 <= float(np.median(ratios)) <= 0.5
