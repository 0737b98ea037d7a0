"""Projection: the nearest distribution, its certificate, and a bound that does not grow with the queries."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.learning.projection.projection import Answering, project
from hedgerow.queries.workload import Workload

DOMAIN = hr.Domain({"a": 3, "b": 2, "c": 4})
BUDGET = hr.Budget(epsilon=1, delta=1e-6)


def listed(k: int, seed: int = 0) -> Workload:
    rng = np.random.default_rng(seed)
    sets = [("a",), ("a", "b"), ("b", "c"), ("a", "b", "c"), ()]
    chosen = [sets[i % len(sets)] for i in range(k)]
    return Workload.of([hr.Query.of(DOMAIN, s, rng.random(DOMAIN.shape_of(s))) for s in chosen])


WORKLOADS = {
    "tables": hr.marginals(DOMAIN, 2),
    "literals": hr.conjunctions(DOMAIN, 2),
    "prefixes": hr.prefixes(DOMAIN, [("a", "c")]),
    "ranges": hr.ranges(DOMAIN, [("b", "c"), ("a",)]),
    "list": listed(30),
}


def curator(neighbours: str = "add_remove", budget: hr.Budget = BUDGET, n: int = 500) -> hr.Curator:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({a: rng.integers(0, DOMAIN[a].size, n) for a in DOMAIN})
    return hr.Curator(hr.Table.open(frame, DOMAIN), budget, ":memory:", neighbours)


def matrix(workload: Workload) -> np.ndarray:
    rows = []
    for q in workload:
        shape = [n if a in q.attributes else 1 for a, n in zip(DOMAIN, DOMAIN.shape, strict=True)]
        rows.append(np.broadcast_to(q.weights.reshape(shape), DOMAIN.shape).ravel() / (1 << 20))
    return np.array(rows)


@pytest.mark.parametrize("places", [1 << 25, 0], ids=["laid out", "by table"])
@pytest.mark.parametrize("name", WORKLOADS)
def test_the_transpose_is_the_transpose(name, places, monkeypatch):
    monkeypatch.setattr("hedgerow.learning.projection.projection._PLACES", places)
    workload = WORKLOADS[name]
    map_, w = Answering(DOMAIN, workload), matrix(workload)
    rng = np.random.default_rng(1)
    cells, part = rng.random(DOMAIN.shape), rng.normal(size=len(workload))
    flat = np.concatenate(map_.answers(cells))
    ordered = flat if workload._order is None else flat[workload._order]
    np.testing.assert_allclose(ordered, w @ cells.ravel(), rtol=1e-5)
    back = map_.transpose(map_.blocks(part))
    np.testing.assert_allclose(back.ravel(), w.T @ part, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", WORKLOADS)
def test_nothing_is_nearer_than_the_projection(name):
    """The Frank-Wolfe gap bounds what any other distribution could gain; it is computed here densely."""
    workload, w = WORKLOADS[name], matrix(WORKLOADS[name])
    rng = np.random.default_rng(2)
    y = w @ rng.dirichlet(np.full(DOMAIN.size, 0.3)) + rng.normal(0, 0.2, len(workload))
    found = project(DOMAIN, workload, y, tolerance=1e-5, steps=3000)
    p = found.cells.ravel()
    assert p.min() >= 0
    assert p.sum() == pytest.approx(1)
    slope = 2 * w.T @ (w @ p - y) / len(workload)
    assert float(slope @ p - slope.min()) <= 1.2e-5
    assert found.distance == pytest.approx(((w @ p - y) ** 2).mean(), rel=1e-3)


def test_what_a_distribution_answers_is_left_alone():
    truth = np.random.default_rng(3).dirichlet(np.full(DOMAIN.size, 1.0))
    workload = hr.marginals(DOMAIN, 3)
    found = project(DOMAIN, workload, truth, tolerance=1e-9, steps=3000)
    np.testing.assert_allclose(found.cells.ravel(), truth, atol=2e-3)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_the_total_is_measured_or_public_never_the_true_one(relation):
    guard = curator(relation)
    synopsis = hr.Projection().release(guard, WORKLOADS["tables"])
    if relation == "replace":
        assert synopsis.total == 500
        assert len(synopsis.measurements) == 1
    else:
        assert (
            synopsis.total == synopsis.measurements[1].counts != 500
            or synopsis.measurements[1].noise.scale > 0
        )
        assert len(synopsis.measurements) == 2
    assert synopsis.table(("a",)).sum() == pytest.approx(synopsis.total)
    assert (synopsis.table(("a", "b")) >= 0).all()
    assert len(synopsis.sample(50, seed=1)["a"]) == 50


def test_the_theorem_holds_and_its_bound_does_not_grow_with_the_queries():
    """Each run may miss its bound with probability 1e-7."""
    bounds = []
    for k in (50, 1000):
        guard, workload = curator(n=2000), listed(k, seed=k)
        synopsis = hr.Projection(epsilon=0.2).release(guard, workload)
        truth = workload.evaluate(lambda s, g=guard: g._rows.tables([s])[s]) / workload.denominator
        bound = synopsis.reach.bound(synopsis.total, 1 - 1e-7)
        assert np.sqrt(((synopsis.answer(workload).value - truth) ** 2).mean()) <= bound
        bounds.append(bound)
    assert bounds[1] <= 1.1 * bounds[0]


def test_error_does_not_grow_with_the_queries_where_plain_noise_does():
    """Seeded noise: a small copy of the benchmark, 256 cells and all tables of 2 to 5 of 8 attributes."""
    domain = hr.Domain({f"b{i}": 2 for i in range(8)})
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({a: rng.random(1000) < rng.uniform(0.2, 0.8) for a in domain}).astype(int)
    sets = [s for k in (2, 3, 4, 5) for s in combinations(domain, k)]
    errors, plain = [], []
    for some in (sets[:40], sets):
        workload = hr.marginals(domain, some)
        guard = hr.Curator(
            hr.Table.open(frame, domain),
            hr.Budget(epsilon=0.5, delta=1e-6),
            ":memory:",
            entropy=hr.testing.seeded(3),
        )
        synopsis = hr.Projection().release(guard, workload)
        truth = workload.evaluate(lambda s, g=guard: g._rows.tables([s])[s])
        errors.append(np.sqrt(((synopsis.answer(workload).value - truth) ** 2).mean()))
        plain.append(float(synopsis.measurements[0].noise.scale))
    assert plain[1] > 2 * plain[0]
    assert errors[1] <= 1.3 * errors[0]
    assert errors[1] < plain[1] / 3


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_queries_that_count_nothing_are_answered_by_nothing(relation, count):
    nothing = [hr.Query.of(DOMAIN, ["a"], np.zeros(3)), hr.Query.of(DOMAIN, ["a", "b"], np.zeros((3, 2)))]
    workload = Workload.of([nothing[i % 2] for i in range(count)])
    guard = curator(relation)
    synopsis = hr.Projection().release(guard, workload)
    assert guard.spent.rho > 0
    np.testing.assert_array_equal(synopsis.answer(workload).value, np.zeros(count))
    assert synopsis.table(("a",)).sum() == pytest.approx(synopsis.total)


@pytest.mark.parametrize(
    ("options", "workload", "match"),
    [
        ({"total_share": 0.0}, WORKLOADS["tables"], "between 0 and 1"),
        ({"total_share": 1.0}, WORKLOADS["tables"], "between 0 and 1"),
        ({"total_share": float("nan")}, WORKLOADS["tables"], "between 0 and 1"),
        ({"steps": 0}, WORKLOADS["tables"], "whole number"),
        ({"steps": 1.5}, WORKLOADS["tables"], "whole number"),
        ({}, [], "non-empty"),
        ({"epsilon": 1.0, "budget": BUDGET}, WORKLOADS["tables"], "not both"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_charged(options, workload, match):
    guard = curator()
    with pytest.raises(hr.HedgerowError, match=match) as caught:
        hr.Projection(**options).release(guard, workload)
    assert "\n" not in str(caught.value)
    assert guard.spent.rho == 0


def test_large_domains_and_pure_budgets_are_refused():
    wide = hr.Domain({f"w{i}": 300 for i in range(3)})
    guard = hr.Curator(hr.Table.open({a: [1] for a in wide}, wide), BUDGET, ":memory:")
    with pytest.raises(hr.RangeTooLarge, match="27,000,000 cells"):
        hr.Projection().release(guard, hr.marginals(wide, 1))
    pure = curator(budget=hr.Budget(epsilon=1))
    with pytest.raises(hr.HedgerowError, match="Gaussian"):
        hr.Projection().release(pure, WORKLOADS["tables"])
    assert guard.spent.rho == pure.spent.epsilon == 0


def test_every_answer_says_that_its_error_is_one_of_the_average():
    guard = hr.Curator(hr.Table.open({"a": [0, 1] * 50}, hr.Domain({"a": 2})), hr.Budget(1, 1e-6), ":memory:")
    synopsis = hr.Projection().release(guard, hr.marginals(guard.domain, 1))
    statement = hr.sql(guard.domain, "SELECT COUNT(*) FROM t")
    for asked in (hr.Query.total(), hr.marginals(guard.domain, 1), statement):
        assert "root mean square" in synopsis.answer(asked).notes[-1]
