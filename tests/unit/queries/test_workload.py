"""Workloads: answers from tables equal the queries' own, and norms are true bounds."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.queries.packing import pack_workload, unpack_workload
from hedgerow.queries.query import ONE

DOMAIN = hr.Domain({"a": 2, "b": 3, "c": hr.bins(0, 4, 1), "d": 2})
RNG = np.random.default_rng(0)
FAMILIES = [
    hr.marginals(DOMAIN, 0),
    hr.marginals(DOMAIN, 2),
    hr.marginals(DOMAIN, [("c", "a"), ("b",)]),
    hr.conjunctions(DOMAIN, 2),
    hr.conjunctions(DOMAIN, 3, negation=False),
    hr.ranges(DOMAIN, [("c",), ("b", "c")]),
    hr.prefixes(DOMAIN, 1),
    hr.parities(DOMAIN, 2),
    hr.Workload.of(
        [
            hr.Query.where(DOMAIN, {"a": 1, "c": [0.5, 1.5]}),
            hr.Query.of(DOMAIN, ["c", "b"], RNG.random((4, 3)), scale=7.0),
            hr.Query.total(),
            hr.Query.where(DOMAIN, {"d": 0}, weights={"b": [0, 0.25, 1]}),
            hr.Query.where(DOMAIN, {"c": 3.5, "a": 0}),
        ]
    ),
]


def random_rows(n: int, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {a: rng.integers(0, DOMAIN[a].size, n) for a in DOMAIN}


def tables_of(rows: dict[str, np.ndarray]):
    def marginal(names: tuple[str, ...]) -> np.ndarray:
        out = np.zeros(DOMAIN.shape_of(names), dtype=np.int64)
        n = len(rows["a"])
        np.add.at(
            out, tuple(rows[a] for a in names) or (np.zeros(n, dtype=int),) * 0 or ..., 1 if names else n
        )
        return out

    return marginal


def by_hand(query: hr.Query, rows: dict[str, np.ndarray]) -> int:
    return int(np.broadcast_to(query.weights[tuple(rows[a] for a in query.attributes)], len(rows["a"])).sum())


@pytest.mark.parametrize("workload", FAMILIES, ids=lambda w: w.name)
@pytest.mark.parametrize("n", [0, 1, 60])
def test_answers_from_tables_equal_answers_row_by_row(workload, n):
    rows = random_rows(n, n)
    exact = workload.evaluate(tables_of(rows))
    floats = workload.evaluate(lambda s: tables_of(rows)(s).astype(float))
    assert exact.dtype == np.int64
    assert len(workload) == len(exact) == len(list(workload))
    for i, query in enumerate(workload):
        assert exact[i] * (ONE // workload.denominator) == by_hand(query, rows)
        assert floats[i] == pytest.approx(by_hand(query, rows) / ONE, abs=1e-9)
        assert query.apply(tables_of(rows)(query.attributes)) * (ONE // query.denominator) == by_hand(
            query, rows
        )


@pytest.mark.parametrize("workload", FAMILIES, ids=lambda w: w.name)
def test_norms_bound_every_column_and_every_difference(workload):
    """Brute force over all rows of the domain: the facts are true, and tight for whole tables."""
    columns = []
    for flat in range(DOMAIN.size):
        codes = dict(zip(DOMAIN, np.unravel_index(flat, DOMAIN.shape), strict=True))
        columns.append(workload.evaluate(tables_of({a: np.array([c]) for a, c in codes.items()})))
    matrix = np.array(columns, dtype=np.float64)
    norms = workload.norms
    assert np.abs(matrix).sum(axis=1).max() <= norms.l1
    assert (matrix**2).sum(axis=1).max() <= norms.l2_squared
    differences = matrix[:, None, :] - matrix[None, :, :]
    assert np.abs(differences).sum(axis=2).max() <= norms.replace_l1
    assert (differences**2).sum(axis=2).max() <= norms.replace_l2_squared
    if workload.is_tables:
        assert np.abs(matrix).sum(axis=1).max() == norms.l1


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=12, max_size=12))
def test_weights_are_the_nearest_multiples_of_the_lattice(weights):
    query = hr.Query.of(DOMAIN, ["b", "c"], np.reshape(weights, (3, 4)))
    assert np.abs(query.weights / ONE - np.reshape(weights, (3, 4))).max() <= 0.5 / ONE
    assert 0 <= query.weights.min() <= query.largest <= ONE


def test_weights_outside_the_unit_interval_are_refused():
    with pytest.raises(hr.UnsupportedQuery, match="between 0 and 1"):
        hr.Query.of(DOMAIN, ["a"], [0.5, 1.5])
    with pytest.raises(hr.UnsupportedQuery, match="between 0 and 1"):
        hr.Query.of(DOMAIN, ["a"], [0.5, float("nan")])
    with pytest.raises(hr.DomainMismatch, match="shape"):
        hr.Query.of(DOMAIN, ["a"], [0.5])
    with pytest.raises(hr.DomainMismatch, match="not a declared level"):
        hr.Query.where(DOMAIN, {"a": 9})


def test_axes_may_be_given_in_any_order():
    weights = RNG.random((4, 2))
    one, two = hr.Query.of(DOMAIN, ["c", "a"], weights), hr.Query.of(DOMAIN, ["a", "c"], weights.T)
    assert one.attributes == two.attributes == ("a", "c")
    assert one.digest == two.digest


def test_all_three_way_cells_of_fourteen_attributes_are_never_materialised():
    sizes = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)
    domain = hr.Domain({f"x{i}": s for i, s in enumerate(sizes)})
    tracemalloc.start()
    workload = hr.marginals(domain, 3)
    assert len(workload.cliques) == 364
    assert len(workload) == sum(
        np.prod([sizes[i] for i in c]) for c in __import__("itertools").combinations(range(14), 3)
    )
    assert workload[len(workload) - 1].attributes == ("x11", "x12", "x13")
    assert workload.norms.l1 == 364
    assert workload.digest
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


@pytest.mark.parametrize("workload", FAMILIES, ids=lambda w: w.name)
def test_a_packed_workload_unpacks_to_the_same_questions(workload):
    arrays: dict[str, np.ndarray] = {}
    again = unpack_workload(pack_workload(workload, arrays), arrays)
    assert [q.digest for q in again] == [q.digest for q in workload]
    assert again.digest == workload.digest


@pytest.mark.parametrize(
    "call",
    [
        lambda: hr.marginals(DOMAIN, 9),
        lambda: hr.marginals(DOMAIN, []),
        lambda: hr.parities(hr.Domain({"a": 3}), 1),
        lambda: hr.parities(DOMAIN, [("b",)]),
        lambda: hr.Workload.of([]),
        lambda: hr.Workload.of(["x"]),
        lambda: hr.marginals(hr.Domain({f"x{i}": 2 for i in range(64)}), 10),
    ],
)
def test_impossible_workloads_are_refused_in_one_sentence(call):
    with pytest.raises(hr.HedgerowError):
        call()


def test_sparse_queries_count_named_elements():
    query = hr.SparseQuery.of({"oak": 1, "ash": 0.5, "elm": 0})
    assert query.weights == {"oak": ONE, "ash": ONE // 2}
    assert query.denominator == ONE
    assert hr.SparseQuery.of({"oak": 1}).denominator == 1
    with pytest.raises(hr.UnsupportedQuery):
        hr.SparseQuery.of({"oak": 2})
