"""The dense hypothesis against brute force, against 50 digits, and against the theorems."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import PCG64, Generator

from hedgerow.errors import DomainMismatch, RangeTooLarge, UnsupportedQuery
from hedgerow.learning.dense import kernels
from hedgerow.learning.dense import layout as layouts
from hedgerow.learning.dense.dense import DenseHypothesis, _product, _whole
from hedgerow.learning.experts import relative_entropy
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.query import ONE, Query
from hedgerow.queries.workload import marginals

DOMAIN = Domain({"a": 3, "b": 2, "c": 5, "d": 4})


@pytest.fixture(params=[1 << 16, 20, 1], ids=["one tile", "tiles", "small tiles"])
def tile(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tiles of several sizes, so that small domains exercise what large ones use."""
    monkeypatch.setattr(layouts, "TILE", request.param)
    _whole.cache_clear()
    _product.cache_clear()
    yield
    _whole.cache_clear()
    _product.cache_clear()


def some_query(domain: Domain, random: Generator, kind: str, arity: int) -> Query:
    """A random query: a product of masks, one with weights, or an array over the table."""
    names = [str(n) for n in random.permutation(domain.names)[:arity]]
    if kind == "array":
        return Query.of(domain, names, random.random(domain.shape_of(names)))
    if kind == "mask":
        return Query.of(domain, names, random.integers(0, 2, domain.shape_of(names)))
    masks = {n: random.random(domain[n].size) < 0.6 for n in names}
    weights = {names[0]: random.random(domain[names[0]].size)} if kind == "weighted" and names else None
    return Query.where(domain, masks, weights=weights)


def spread(domain: Domain, query: Query) -> np.ndarray:
    """A query's weights over all cells."""
    weights = query.weights / ONE
    return np.broadcast_to(
        weights.reshape([domain[a].size if a in query.attributes else 1 for a in domain]), domain.shape
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["product", "weighted", "array", "mask"])
def test_answers_tables_and_updates_agree_with_brute_force(tile: None, kind: str, dtype: type) -> None:
    random = Generator(PCG64(7))
    hypothesis, x = DenseHypothesis(DOMAIN, dtype=dtype), np.full(DOMAIN.shape, 1 / DOMAIN.size)
    close = 1e-12 if dtype is np.float64 else 2e-5
    for t in range(60):
        query = some_query(DOMAIN, random, kind, t % 5 if kind == "product" else 1 + t % 4)
        f = spread(DOMAIN, query)
        assert hypothesis.answer(query) == pytest.approx((f * x).sum(), abs=close)
        v, eta = random.random(), random.random()
        direction = hypothesis.update(query, v, eta)
        r = f if v < (f * x).sum() else 1 - f  # [DR14] Alg. 5, as printed
        assert direction == (-1 if v < (f * x).sum() else 1)
        x = x * np.exp(-eta * r)
        x /= x.sum()
        names = tuple(str(n) for n in random.permutation(DOMAIN.names)[: t % 4 + 1])
        rest = tuple(i for i, a in enumerate(DOMAIN) if a not in names)
        table = x.sum(axis=rest).transpose([DOMAIN.order(names).index(a) for a in names])
        np.testing.assert_allclose(hypothesis.marginal(names), table, atol=close)
        assert hypothesis.answer(query) == pytest.approx((f * x).sum(), abs=close)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_a_layout_lists_every_cell_once_and_in_its_place(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=5)))
    axes = sorted(data.draw(st.sets(st.integers(0, len(shape) - 1))))
    levels = []
    for a in axes:
        some = data.draw(st.none() | st.sets(st.integers(0, shape[a] - 1)))
        levels.append(None if some is None else np.array(sorted(some), dtype=np.int64))
    old, layouts.TILE = layouts.TILE, data.draw(st.sampled_from([1, 6, 1 << 16]))
    try:
        plan = layouts.layout(shape, axes, levels)
    finally:
        layouts.TILE = old
    every = [np.arange(shape[a]) for a in axes]
    picked = [e if v is None else v for e, v in zip(every, levels, strict=True)]
    assert plan.shape == tuple(map(len, picked))
    found: dict[int, int] = {}
    for base, offset in zip(plan.bases, plan.offsets, strict=True):
        for start, place, length in zip(plan.starts, plan.places, plan.lengths, strict=True):
            for k in range(length):
                assert base + start + k not in found
                found[int(base + start + k)] = int(offset + place + (k if plan.rows else 0))
    assert len(found) == plan.touched
    wanted = {}
    for cell in range(int(np.prod(shape))):
        codes = np.unravel_index(cell, shape)
        if all(codes[a] in p for a, p in zip(axes, picked, strict=True)):
            at = [int(np.searchsorted(p, codes[a])) for a, p in zip(axes, picked, strict=True)]
            wanted[cell] = int(np.ravel_multi_index(at, plan.shape)) if axes else 0
    assert found == wanted


def test_answers_have_the_same_bits_whatever_was_asked_before(tile: None) -> None:
    random = Generator(PCG64(11))
    quiet, busy = DenseHypothesis(DOMAIN), DenseHypothesis(DOMAIN)
    for t in range(80):
        query = some_query(DOMAIN, random, "weighted" if t % 2 else "product", 1 + t % 4)
        for _ in range(t % 3):
            busy.answer(some_query(DOMAIN, random, "product", 3))
        if t % 5 == 0:
            for names in combinations(DOMAIN.names, len(query.attributes)):
                busy.marginal(names)  # now the answer is read off a table
        assert busy.answer(query) == quiet.answer(query)
        eta = float(random.random())
        assert quiet.update(query, 0.3, eta) == busy.update(query, 0.3, eta)
    np.testing.assert_array_equal(quiet.log_cells(), busy.log_cells())


def test_an_update_invalidates_kept_tables() -> None:
    hypothesis = DenseHypothesis(DOMAIN)
    before = hypothesis.marginal(("a", "c"))
    query = Query.where(DOMAIN, {"a": 0})
    hypothesis.answer(query)
    hypothesis.tilt(query, 1.0)
    after = hypothesis.marginal(("a", "c"))
    assert after[0].sum() > before[0].sum()
    assert hypothesis.answer(query) == pytest.approx(after[0].sum(), abs=1e-15)
    after[:] = 0.0  # a returned table is the caller's own
    assert hypothesis.marginal(("a", "c")).sum() == pytest.approx(1.0)


# -- ten to the five updates ---------------------------------------------------------------------------


def stream(kind: str, random: Generator) -> list[tuple[int, float]]:
    """Which of six queries is tilted at each time, and how far."""
    times = range(100_000)
    if kind == "concentrated":  # one query sinks for half of the run and comes back in the other half
        return [(0, -0.5 if t < 50_000 else 0.5) for t in times]
    if kind == "alternating":
        return [(t % 6, 0.25 if t % 2 else -0.25) for t in times]
    if kind == "waves":  # everything sinks and rises, by turns, far beyond the range of floats
        return [((t // 5_000) % 6, -0.5 if (t // 5_000) % 4 < 2 else 0.5) for t in times]
    steps = random.integers(-2, 3, len(times)) / 4
    return list(zip(random.integers(6, size=len(times)).tolist(), steps.tolist(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["concentrated", "alternating", "waves", "random"])
def test_ten_to_the_five_updates_agree_with_fifty_digits(kind: str) -> None:
    mpmath.mp.dps = 50
    domain, random = Domain({"a": 3, "b": 4}), Generator(PCG64(3))
    kinds = ["product", "product", "weighted", "array", "mask", "weighted"]
    queries = [some_query(domain, random, k, 1 + i % 2) for i, k in enumerate(kinds)]
    weights = [np.rint(spread(domain, q) * ONE).astype(np.int64).ravel() for q in queries]
    hypothesis, quarters = DenseHypothesis(domain), np.zeros(domain.size, dtype=object)
    deepest = 0.0
    for t, (i, step) in enumerate(stream(kind, random)):
        hypothesis.tilt(queries[i], step)
        quarters += weights[i] * round(4 * step)  # exact: logarithms are multiples of 1/(4 ONE)
        if (t + 1) % 10_000 == 0:
            logs = [mpmath.mpf(int(n)) / (4 * ONE) for n in quarters]
            log_sum = mpmath.log(mpmath.fsum(mpmath.exp(v) for v in logs))
            exact = np.array([float(v - log_sum) for v in logs])
            ours = hypothesis.log_cells().ravel()
            assert max(abs(o - (v - log_sum)) for o, v in zip(ours, logs, strict=True)) < 1e-9
            p = np.exp(exact)
            np.testing.assert_allclose(hypothesis.marginal(("a", "b")).ravel(), p, atol=1e-9, rtol=0)
            assert hypothesis.answer(queries[2]) == pytest.approx(p @ weights[2] / ONE, abs=1e-9)
            deepest = min(deepest, exact.min())
    # smaller than any float has been: nothing was lost there
    assert deepest < {"concentrated": -20_000, "waves": -5_000}.get(kind, 0)


def test_float32_cells_that_sank_below_every_float_come_back() -> None:
    domain = Domain({"a": 2, "b": 2})
    hypothesis = DenseHypothesis(domain, dtype=np.float32)
    query = Query.where(domain, {"a": 0})
    for step in (-1.0, 1.0):
        for _ in range(1_000):
            hypothesis.tilt(query, step)
        lowest = float(hypothesis.log_cells().min())
        assert lowest == pytest.approx(-1_000 - np.log(2) if step < 0 else -np.log(4), rel=1e-4)
    np.testing.assert_allclose(hypothesis.marginal(("a",)), [0.5, 0.5], atol=1e-3)
    hypothesis.tilt(query, -500.0)  # one step beyond the range of exponents
    hypothesis.tilt(query, 500.0)
    np.testing.assert_allclose(hypothesis.marginal(("a",)), [0.5, 0.5], atol=1e-3)


# -- the theorem ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("instance", range(100))
def test_mw_needs_few_distinguishing_updates_and_the_potential_falls_at_each(instance: int) -> None:
    random = Generator(PCG64(instance))
    shape = [(4, 4), (2, 3, 5), (16, 8), (2,) * 7, (50,)][instance % 5]
    domain = Domain({f"x{i}": n for i, n in enumerate(shape)})
    alpha = [0.05, 0.1, 0.15, 0.2][instance % 4]
    truth = random.dirichlet(np.full(domain.size, [0.01, 0.03, 0.07][instance % 3]))
    kinds = ["product", "weighted", "array", "mask"]
    queries = [some_query(domain, random, kinds[i % 4], 1 + i % len(shape)) for i in range(60)]
    heaviest = np.unravel_index(int(truth.argmax()), domain.shape)
    queries.append(Query.where(domain, {a: int(c) for a, c in zip(domain, heaviest, strict=True)}))
    every = np.array([spread(domain, q).ravel() for q in queries])
    answers = every @ truth
    hypothesis, updates = DenseHypothesis(domain), 0
    potential = relative_entropy(truth, hypothesis.log_cells())
    while True:
        errors = np.abs(answers - every @ np.exp(hypothesis.log_cells().ravel()))
        if errors.max() <= alpha:
            break
        worst = int(errors.argmax()) if instance % 2 else int(random.choice(np.flatnonzero(errors > alpha)))
        noisy = answers[worst] + random.uniform(-0.99, 0.99) * alpha  # [DR14] Thm 4.10, condition 2
        hypothesis.update(queries[worst], noisy, alpha / 2)
        updates += 1
        now = relative_entropy(truth, hypothesis.log_cells())
        assert potential - now >= alpha**2 / 4 - 1e-12
        potential = now
    assert 0 < updates <= hypothesis.update_bound(alpha)
    assert potential >= 0


# -- making up rows ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sampled_rows_hold_every_cells_share_rounded_up_or_down(dtype: type) -> None:
    random = Generator(PCG64(5))
    hypothesis = DenseHypothesis(DOMAIN, dtype=dtype)
    for _ in range(10):
        hypothesis.tilt(some_query(DOMAIN, random, "array", 3), float(random.normal()) * 3)
    share = 10_001 * hypothesis.marginal(DOMAIN.names)
    rows = hypothesis.sample(10_001, seed=1)
    assert [len(c) for c in rows.values()] == [10_001] * 4
    counts = np.zeros(DOMAIN.shape)
    np.add.at(counts, tuple(rows.values()), 1)
    assert (np.abs(counts - share) < 1 + 1e-6).all()
    again = hypothesis.sample(10_001, seed=1)
    assert all((rows[a] == again[a]).all() for a in DOMAIN)
    other = hypothesis.sample(10_001, seed=2)
    assert any((rows[a] != other[a]).any() for a in DOMAIN)
    assert len(hypothesis.sample(0)["a"]) == 0


def test_sampled_rows_come_in_random_order() -> None:
    codes = DenseHypothesis(DOMAIN).sample(12_000, seed=3)["a"]
    halves = codes[:6_000].mean() - codes[6_000:].mean()
    # the mean of 6,000 of 12,000 fixed codes has sd 0.0075; 6 sd: false alarm below 1e-8, and seeded
    assert abs(halves) < 2 * 6 * 0.0075


def test_a_cell_that_holds_all_mass_gets_all_rows() -> None:
    hypothesis = DenseHypothesis(DOMAIN)
    hypothesis.tilt(Query.where(DOMAIN, {"a": 1, "b": 1, "c": 2, "d": 3}), 60.0)
    rows = hypothesis.sample(100, seed=0)
    assert {tuple(int(c[i]) for c in rows.values()) for i in range(100)} == {(1, 1, 2, 3)}


# -- refusals ------------------------------------------------------------------------------------------


def test_queries_of_another_domain_and_bad_steps_are_refused() -> None:
    hypothesis = DenseHypothesis(DOMAIN)
    with pytest.raises(DomainMismatch):
        hypothesis.answer(Query.where(Domain({"a": 4}), {"a": 0}))
    with pytest.raises(DomainMismatch):
        hypothesis.answer(Query.where(Domain({"b": 2, "a": 3}), {"a": 0, "b": 1}))
    with pytest.raises(UnsupportedQuery):
        hypothesis.marginal(("a", "a"))
    with pytest.raises(UnsupportedQuery):
        hypothesis.sample(-1)
    with pytest.raises(RangeTooLarge, match="1,073,741,824"):
        DenseHypothesis(Domain({f"x{i}": 2 for i in range(30)}))
    for eta in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="positive"):
            hypothesis.update(Query.where(DOMAIN, {"a": 0}), 0.5, eta)
    with pytest.raises(ValueError, match="finite"):
        hypothesis.tilt(Query.where(DOMAIN, {"a": 0}), float("inf"))
    assert hypothesis.answer(Query.where(DOMAIN, {"a": 0})) == pytest.approx(1 / 3)


def test_queries_that_count_nothing_or_everything_change_nothing() -> None:
    hypothesis = DenseHypothesis(DOMAIN)
    nothing = Query.where(DOMAIN, {"a": np.zeros(3, dtype=bool), "c": 1})
    assert hypothesis.answer(nothing) == 0.0
    assert hypothesis.answer(Query.total()) == 1.0
    for query in (nothing, Query.total()):
        hypothesis.update(query, 0.7, 0.5)
        np.testing.assert_allclose(hypothesis.log_cells(), -np.log(DOMAIN.size), rtol=1e-14)


def test_marginal_workloads_are_answered_through_marginals() -> None:
    hypothesis = DenseHypothesis(DOMAIN, total=500.0)
    hypothesis.tilt(Query.where(DOMAIN, {"a": 0, "d": 2}), 2.0)
    workload = marginals(DOMAIN, 2)
    counts = workload.evaluate(lambda s: hypothesis.total * hypothesis.marginal(s))
    assert counts[7] == pytest.approx(500 * hypothesis.answer(workload[7]))


@settings(max_examples=200, deadline=None)
@given(u=st.floats(-700, 1e6))
def test_wright_omega_solves_its_equation(u: float) -> None:
    with mpmath.workdps(40):
        exact = mpmath.findroot(lambda t: mpmath.exp(t) + t - u, u if u < 1 else mpmath.log(u), tol=1e-30)
        assert float(abs(kernels.wright_omega(u) / mpmath.exp(exact) - 1)) < 1e-13 * max(1, abs(u) ** 0.5)


def test_steps_are_exact_fractions_of_what_was_asked() -> None:
    hypothesis = DenseHypothesis(Domain({"a": 2}))
    query = Query.of(hypothesis.domain, ["a"], [1.0, Fraction(1, 4)])
    hypothesis.tilt(query, 1000.0)  # several strides, one distribution
    assert np.diff(hypothesis.log_cells())[0] == pytest.approx(-750.0, rel=1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_hypothesis_is_made_again_from_its_cells_bit_by_bit(dtype):
    rng, domain = np.random.default_rng(5), Domain({"k": 3, "j": 4})
    for updates in range(25):
        h = DenseHypothesis(domain, total=100.0, dtype=dtype)
        for _ in range(updates):
            asked = Query.of(domain, ["k", "j"], rng.integers(0, 2, (3, 4)))
            h.update(asked, rng.random(), float(rng.choice([0.1, 3.0, 29.0])))
        kept = DenseHypothesis.of_cells(domain, h.cells(), total=100.0)
        again = DenseHypothesis.of_cells(domain, kept.cells(), total=100.0)
        np.testing.assert_array_equal(again.marginal(("k", "j")), kept.marginal(("k", "j")))
        np.testing.assert_allclose(kept.marginal(("k", "j")), h.marginal(("k", "j")), atol=1e-6)
