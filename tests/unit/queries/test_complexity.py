"""VC dimensions against their closed forms, and bounds against what the theorems print."""

from __future__ import annotations

from math import comb, inf, log

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.learning.dense.dense import DenseHypothesis
from hedgerow.learning.dense.tables import tables_of
from hedgerow.privacy import bounds
from hedgerow.queries.complexity import (
    Incidence,
    vc_conjunctions,
    vc_dimension,
    vc_intervals,
    vc_rectangles,
    vc_sparse,
)


@pytest.mark.parametrize("levels", [1, 2, 3, 7])
def test_the_search_finds_the_dimension_of_intervals(levels):
    domain = hr.Domain({"x": hr.bins(0, levels, 1)})
    assert vc_dimension(domain, hr.ranges(domain, 1)) == vc_intervals(levels)


def test_the_search_finds_the_dimension_of_rectangles():
    domain = hr.Domain({"x": hr.bins(0, 3, 1), "y": hr.bins(0, 4, 1)})
    assert vc_dimension(domain, hr.ranges(domain, 2)) == vc_rectangles(2) == 4


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_the_search_finds_the_dimension_of_monotone_conjunctions(d):
    domain = hr.Domain({f"x{i}": 2 for i in range(d)})
    chosen = [[f"x{i}" for i in range(d) if mask >> i & 1] for mask in range(2**d)]
    queries = [hr.Query.where(domain, dict.fromkeys(names, 1)) for names in chosen]
    assert vc_dimension(domain, hr.Workload.of(queries)) == vc_conjunctions(d)


def test_the_search_finds_the_dimension_of_sparse_queries():
    domain = hr.Domain({"x": 4})
    masks = [np.array([m >> i & 1 for i in range(4)], dtype=np.float64) for m in range(16)]
    queries = [hr.Query.of(domain, ["x"], w) for w in masks if w.sum() <= 2]
    assert vc_dimension(domain, hr.Workload.of(queries)) == vc_sparse(2)


def test_a_single_query_shatters_nothing_and_equal_queries_are_one():
    domain = hr.Domain({"x": 3, "y": 5})
    query = hr.Query.where(domain, {"x": 0})
    found = Incidence.of(domain, hr.Workload.of([query, query]))
    assert (found.queries, sorted(found.cells)) == (1, [5, 10])
    assert vc_dimension(domain, hr.Workload.of([query])) == 0


def test_fractional_weights_are_refused():
    domain = hr.Domain({"x": 3})
    with pytest.raises(hr.UnsupportedQuery, match="0 or 1"):
        vc_dimension(domain, hr.Workload.of(hr.Query.of(domain, ["x"], [0, 0.5, 1])))


def test_bounds_are_what_the_theorems_print():
    assert bounds.small_db_size(100, 0.1) == 461
    assert bounds.small_db_size(2, 0.9) == 1
    x, q, n, e, b = 100, 50, 10_000, 1.0, 0.05
    fraction = bounds.thm_4_5(n, x, q, e, b)
    assert fraction**3 == pytest.approx((16 * log(x) * log(q) + 4 * log(1 / b)) / n)
    assert bounds.thm_4_5_rows(fraction, x, q, e, b) == pytest.approx(n)
    assert bounds.thm_4_6(n, x, q, e, b) == pytest.approx(n * fraction)
    assert bounds.thm_4_9(n, x, 2, e, b) < bounds.thm_4_5(n, x, q, e, b)
    assert bounds.log_whole(comb(10**6, 500)) == pytest.approx(4296.5, rel=0.01)
    assert bounds.cor_12_5(np.e, 0.5) == 16
    assert bounds.thm_12_6(0.1, 1.0, 20.0, rows=100) == inf


def test_many_tables_at_once_are_the_tables_one_by_one():
    domain = hr.Domain({"a": 3, "b": 40, "c": 5, "d": 2, "e": 300})
    hypothesis = DenseHypothesis.of_cells(domain, np.random.default_rng(0).random(domain.shape))
    sets = [(), ("a",), ("a", "e"), ("b", "c", "d"), ("b", "e"), ("a", "b", "c"), ("c",), ("d", "e")]
    for names, table in tables_of(hypothesis, sets).items():
        np.testing.assert_allclose(table, hypothesis.marginal(names), rtol=1e-12)


def test_queries_answered_together_are_those_answered_one_by_one():
    domain = hr.Domain({"a": 3, "b": 4})
    rng = np.random.default_rng(2)
    queries = [hr.Query.of(domain, ["a", "b"], rng.integers(0, 5, (3, 4)) / 4) for _ in range(9)]
    block = hr.Workload.of(queries).blocks[0]
    counts = rng.integers(0, 99, (3, 4))
    assert block.apply(counts).tolist() == [q.apply(counts) for q in queries]
    np.testing.assert_allclose(block.apply(counts / 7), [q.apply(counts / 7) for q in queries])
