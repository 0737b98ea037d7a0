"""The sparse hypothesis against dense MW, against 50 digits, and against the paper's theorem."""

from __future__ import annotations

from math import log

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import PCG64, Generator

from hedgerow.errors import RangeTooLarge, UnsupportedQuery
from hedgerow.learning.dense.dense import DenseHypothesis
from hedgerow.learning.sparse.sparse import SparseHypothesis, StructureFull, variables
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.query import ONE, Query, SparseQuery


def some_query(names: list[object], random: Generator, sparsity: int, fractional: bool) -> SparseQuery:
    """A random query of at most `sparsity` elements."""
    picked = random.choice(len(names), int(random.integers(1, sparsity + 1)), replace=False)
    weights = random.random(len(picked)) if fractional else np.ones(len(picked))
    return SparseQuery.of({names[i]: float(w) for i, w in zip(picked, weights, strict=True)})


@settings(max_examples=200, deadline=None)
@given(m=st.integers(1, 10**6), alpha=st.floats(0.01, 1.0))
def test_s_is_the_smallest_integer_that_the_paper_asks_for(m: int, alpha: float) -> None:
    s, need = variables(m, alpha), 4 * m / alpha**2
    assert s / (log(s) + 1) >= need
    assert s == 1 or (s - 1) / (log(s - 1) + 1) < need


@pytest.mark.parametrize("fractional", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_transcript_is_that_of_dense_mw_on_the_paper_s_small_universe(seed: int, fractional: bool) -> None:
    """[BR11] runs MW on s variables in place of X; with |X| = s the two are one algorithm.

    The universe has s elements. Dense MW holds a cell for each, from 1/s on; the sparse structure names
    them as updates come. Every answer, and every decision taken from it, is the same.
    """
    random = Generator(PCG64(seed))
    names: list[object] = [f"element {i}" for i in range(300)]
    domain = Domain({"x": names})
    truth = random.dirichlet(np.full(300, 0.05))
    sparse, dense = SparseHypothesis(20, size=300), DenseHypothesis(domain)
    alpha, decisions = 0.05, []
    for _ in range(1_500):
        query = some_query(names, random, 20, fractional)
        weights = np.array([query.weights.get(n, 0) / ONE for n in names])
        twin = Query.of(domain, ["x"], weights)
        a, b = sparse.answer(query), dense.answer(twin)
        assert a == pytest.approx(b, abs=1e-12)
        value = float(weights @ truth)
        decisions.append((abs(value - a) > alpha, abs(value - b) > alpha))
        if decisions[-1][0]:
            assert sparse.update(query, value, alpha / 2) == dense.update(twin, value, alpha / 2)
    assert all(x == y for x, y in decisions)
    assert 0 < sum(x for x, _ in decisions) <= sparse.update_bound(alpha)
    for i, name in enumerate(names):
        assert sparse.log_weight(name) == pytest.approx(dense.log_cells()[i], abs=1e-11)


@pytest.mark.parametrize("seed", range(10))
def test_true_updates_stay_within_theorem_3_5_and_never_fail(seed: int) -> None:
    random = Generator(PCG64(seed))
    m, alpha = int(random.integers(2, 8)), 0.2
    names: list[object] = [(i, "row") for i in range(5_000)]
    truth = np.zeros(5_000)
    truth[:40] = random.dirichlet(np.full(40, 0.3))
    hypothesis, updates = SparseHypothesis(m, alpha), 0
    assert hypothesis.size == variables(m, alpha)
    course = []
    for _ in range(4_000):
        heavy = [names[i] for i in random.choice(40, min(2, m), replace=False)]
        query = SparseQuery.of(dict.fromkeys(heavy + [names[i] for i in random.choice(5_000, m - 2)], 1.0))
        value = float(sum(truth[e[0]] for e in query.weights))  # type: ignore[index]
        if abs(value - hypothesis.answer(query)) >= alpha:
            course.append([hypothesis.log_weight(names[i]) for i in range(40)])
            hypothesis.update(query, value + float(random.uniform(-0.9, 0.9)) * alpha, alpha / 2)
            updates += 1
    course.append([hypothesis.log_weight(names[i]) for i in range(40)])
    assert 0 < updates <= hypothesis.update_bound(alpha)
    assert len(hypothesis) <= m * updates
    last = [i for i in range(40) if names[i] in hypothesis and truth[i] > 0]  # those that h_T assigns
    potential = np.array([sum(truth[i] * (log(truth[i]) - logs[i]) for i in last) for logs in course])
    assert potential[0] <= log(hypothesis.size)  # Claim 3.6
    assert potential.min() >= -1 / np.e
    assert (-np.diff(potential) >= alpha**2 / 4 - 1e-12).all()  # Lemma 3.7


def test_unassigned_elements_weigh_what_an_unassigned_variable_does() -> None:
    hypothesis = SparseHypothesis(3, size=10)
    assert hypothesis.answer(SparseQuery.of({"a": 1.0, ("b", 2): 0.5})) == pytest.approx(0.15)
    assert len(hypothesis) == 0  # asking assigns nothing
    hypothesis.tilt(SparseQuery.of({"a": 1.0}), 1.0)
    rest = 1 / (9 + np.e)
    assert hypothesis.answer(SparseQuery.of({"z": 1.0})) == pytest.approx(rest)
    assert hypothesis.answer(SparseQuery.of({"a": 1.0, "z": 1.0})) == pytest.approx((1 + np.e) * rest)


def test_failure_is_a_clean_error_that_changes_nothing() -> None:
    hypothesis = SparseHypothesis(3, size=5)
    hypothesis.tilt(SparseQuery.of({"a": 1.0, "b": 1.0, "c": 1.0}), 0.5)
    asked = [SparseQuery.of({e: 1.0}) for e in "abcdef"]
    before = [hypothesis.answer(q) for q in asked]
    with pytest.raises(StructureFull, match="3 new elements, but only 2 of 5") as refusal:
        hypothesis.update(SparseQuery.of({"d": 1.0, "e": 1.0, "f": 1.0}), 0.9, 0.5)
    assert isinstance(refusal.value, RangeTooLarge)
    assert [hypothesis.answer(q) for q in asked] == before
    assert len(hypothesis) == 3
    hypothesis.tilt(SparseQuery.of({"a": 1.0, "d": 1.0, "e": 1.0}), 0.5)  # exactly as many as are left
    assert hypothesis.answer(SparseQuery.of({"f": 1.0})) == 0.0  # D[i] = 0 for i > s
    assert hypothesis.answer(SparseQuery.of({"a": 1.0, "b": 1.0, "c": 1.0})) + hypothesis.answer(
        SparseQuery.of({"d": 1.0, "e": 1.0})
    ) == pytest.approx(1.0)
    for _ in range(1_000):
        hypothesis.tilt(asked[0], 0.5)
    assert hypothesis.answer(asked[0]) == pytest.approx(1.0)


def test_bad_queries_and_parameters_are_refused() -> None:
    hypothesis = SparseHypothesis(2, 0.5)
    with pytest.raises(UnsupportedQuery, match="3 elements"):
        hypothesis.answer(SparseQuery.of({"a": 1.0, "b": 1.0, "c": 1.0}))
    assert hypothesis.answer(SparseQuery({"a": ONE, "b": ONE, "c": 0})) > 0  # zeros name nobody
    with pytest.raises(ValueError, match="finite"):
        hypothesis.tilt(SparseQuery.of({"a": 1.0}), float("nan"))
    assert len(hypothesis) == 0
    for bad in ((0, 0.5), (1, 0.0), (1, 1.5)):
        with pytest.raises(ValueError, match="sparsity"):
            variables(*bad)
    with pytest.raises(ValueError, match="variable"):
        SparseHypothesis(1, size=0)


def test_sampling_gives_every_element_its_share_and_none_to_nobody() -> None:
    hypothesis = SparseHypothesis(2, size=1_000)
    hypothesis.tilt(SparseQuery.of({"a": 1.0, "b": 0.5}), 10.0)
    rows = hypothesis.sample(5_000, seed=1)
    for name in "ab":
        share = 5_000 * hypothesis.answer(SparseQuery.of({name: 1.0}))
        assert abs(rows.count(name) - share) < 1
    assert rows.count(None) == 5_000 - rows.count("a") - rows.count("b")
    assert rows == hypothesis.sample(5_000, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["concentrated", "alternating", "random"])
def test_ten_to_the_five_updates_agree_with_fifty_digits(kind: str) -> None:
    mpmath.mp.dps = 50
    random = Generator(PCG64(17))
    names: list[object] = [f"n{i}" for i in range(12)]
    queries = [some_query(names, random, 4, i % 2 == 0) for i in range(6)]
    picks, signs = random.integers(6, size=100_000), random.integers(0, 2, 100_000)
    hypothesis = SparseHypothesis(4, size=15)  # three variables are never assigned
    halves: dict[object, int] = dict.fromkeys(names, 0)
    for t in range(100_000):
        if kind == "concentrated":
            i, sign = 1, -1 if t < 50_000 else 1
        elif kind == "alternating":
            i, sign = t % 6, 1 if t % 2 else -1
        else:
            i, sign = int(picks[t]), 1 if signs[t] else -1
        hypothesis.tilt(queries[i], sign * 0.5)
        for name, weight in queries[i].weights.items():
            halves[name] += sign * weight
        if (t + 1) % 10_000 == 0:
            logs = {n: mpmath.mpf(v) / (2 * ONE) for n, v in halves.items()}
            log_sum = mpmath.log(3 + mpmath.fsum(mpmath.exp(v) for v in logs.values()))
            for name, v in logs.items():
                assert abs(hypothesis.log_weight(name) - (v - log_sum)) < 1e-9
            for query in queries:
                exact = mpmath.fsum(w * mpmath.exp(logs[n] - log_sum) for n, w in query.weights.items()) / ONE
                assert hypothesis.answer(query) == pytest.approx(float(exact), abs=1e-9)


def test_work_per_ask_does_not_grow_with_s() -> None:
    """The structure holds one number per assigned element, and one for all the others together."""
    for s in (10**3, 10**6, 10**12):
        hypothesis = SparseHypothesis(10, size=s)
        assert hypothesis.answer(SparseQuery.of({"x": 1.0})) == pytest.approx(1 / s)
        hypothesis.tilt(SparseQuery.of(dict.fromkeys(range(10), 1.0)), 0.5)
        assert len(hypothesis._weights.values) <= 64


class Alike:
    """Elements of one hash that are not equal."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __hash__(self) -> int:
        return 7

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alike) and self.name == other.name

    def __str__(self) -> str:
        return f"alike {self.name}"


def test_elements_with_one_hash_are_told_apart() -> None:
    """Small numbers that differ by 2^61 - 1 have one hash in CPython, and so do all of `Alike`."""
    prime = 2**61 - 1
    elements: list[object] = [5, 5 + prime, 5 + 2 * prime, Alike("a"), Alike("b"), "x"]
    hypothesis = SparseHypothesis(3, size=50)
    whole = SparseQuery.of({elements[0]: 1.0, elements[3]: 1.0})
    hypothesis.tilt(whole, 1.0)
    ones = [SparseQuery.of({e: 1.0}) for e in elements]
    up = pytest.approx(np.e * hypothesis.answer(ones[5]))
    assert [hypothesis.answer(q) == up for q in ones] == [True, False, False, True, False, False]
    hypothesis.tilt(SparseQuery.of({elements[1]: 1.0, elements[4]: 1.0, "x": 1.0}), 2.0)
    assert [e in hypothesis for e in elements] == [True, True, False, True, True, True]
    relative = [hypothesis.log_weight(e) - hypothesis.log_weight("nobody") for e in elements]
    assert relative == pytest.approx([1, 2, 0, 1, 2, 2])
    asked = [hypothesis.answer(q) / hypothesis.answer(SparseQuery.of({"nobody": 1.0})) for q in ones]
    assert asked == pytest.approx(np.exp([1, 2, 0, 1, 2, 2]))
    assert hypothesis.answer(SparseQuery.of({Alike("b"): 1.0})) == hypothesis.answer(
        ones[4]
    )  # equal, not the same


def test_places_agree_with_a_dict_through_growth() -> None:
    random = Generator(PCG64(3))
    hypothesis, exact = SparseHypothesis(200, size=10**6), {}
    queries = []
    for t in range(60):
        kind = [int, str, float, lambda v: (int(v), "t")][t % 4]
        drawn = {kind(v): 1.0 for v in random.integers(0, 3_000, 150)}
        try:
            queries.append(SparseQuery.of(drawn))
        except UnsupportedQuery:
            continue
        if t % 3 == 0:
            hypothesis.tilt(queries[-1], 0.01)
            for e in drawn:
                exact.setdefault(e, len(exact) + 1)
        for query in queries[-5:]:
            places, _ = hypothesis._places(query)
            assert places.tolist() == [exact.get(e, 0) for e in query.weights]
    assert len(hypothesis) == len(exact) > 2_000
