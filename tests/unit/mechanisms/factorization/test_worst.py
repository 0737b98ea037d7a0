"""The largest variance of a cell: against its lower bound, the closed form, and what is released."""

from __future__ import annotations

from itertools import combinations
from math import prod

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.mechanisms.factorization.worst import GAP, worst_weights

SIZES = {"a": 2, "b": 7, "c": 30, "d": 3}


def released(workload: hr.Workload, sizes: dict[str, int], **options) -> tuple[np.ndarray, float]:
    """The variance of a cell of every table, in units of 1 / (2 rho), and rho."""
    columns = {a: np.zeros(5, dtype=np.int64) for a in sizes}
    table = hr.Table.open(columns, hr.Domain(sizes))
    guard = hr.Curator(table, hr.Budget(rho=1e-7), ":memory:", entropy=hr.testing.seeded(1))
    synopsis = hr.Factorization().release(guard, workload, **options)
    errors = np.asarray(synopsis.answer(workload).error)
    ends = np.cumsum([len(b) for b in workload.blocks])
    per_table = [part.mean() for part in np.split(errors, ends[:-1])]
    one = hr.GaussianBaseline().release(
        hr.Curator(table, hr.Budget(rho=1e-7), ":memory:"), hr.marginals(table.domain, [("a",)])
    )
    unit = float(np.asarray(one.answer(hr.marginals(table.domain, [("a",)])).error)[0])
    return (np.array(per_table) / unit) ** 2, float(guard.ledger.spent().amount)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_tables_of_one_shape_have_the_closed_form_at_equal_weights(k):
    sizes = dict.fromkeys("abcd", 3)
    weights, gap = worst_weights(
        sizes, list(combinations(sizes, k)), [1.0] * len(list(combinations("abcd", k)))
    )
    assert gap == pytest.approx(0.0, abs=1e-12)
    assert weights == pytest.approx([1.0] * len(weights))


@pytest.mark.parametrize("matters", [(1.0,) * 6, (1.0, 3.0, 0.2, 1.0, 9.0, 0.5)])
def test_what_is_released_has_the_least_largest_variance_that_any_strategy_has(matters):
    """No strategy has a largest variance below the mean under any weights: that bound is met."""
    asked = hr.marginals(hr.Domain(SIZES), 2)
    tables = [b.attributes for b in asked.blocks]
    weights, gap = worst_weights(SIZES, tables, matters)
    assert gap <= GAP
    x = np.array(weights) * [prod(SIZES[a] for a in t) for t in tables] / np.array(matters)
    bound = least_mean(tables, matters, x / x.sum())
    found, _ = released(asked, SIZES, objective="max", weights=matters)
    assert bound * 0.999 <= (found * matters).max() <= 1.02 * bound
    plain, _ = released(asked, SIZES, weights=matters)
    assert (found * matters).max() < 0.95 * (plain * matters).max()


def least_mean(tables, matters, x) -> float:
    """The least weighted mean of variances that any strategy has, [XHZK23], written down once more."""
    need: dict[tuple[str, ...], float] = {}
    for t, much, part in zip(tables, matters, x, strict=True):
        for s in (s for j in range(len(t) + 1) for s in combinations(t, j)):
            own = prod(SIZES[a] - 1 for a in s) / prod(SIZES[a] for a in t if a not in s)
            need[s] = need.get(s, 0.0) + part * much * own / prod(SIZES[a] for a in t)
    return sum((v * prod(1 - 1 / SIZES[a] for a in s)) ** 0.5 for s, v in need.items()) ** 2


def test_a_table_inside_another_may_weigh_nothing():
    weights, gap = worst_weights(SIZES, [("a", "b", "c"), ("a",)], [1.0, 1.0])
    assert gap <= GAP
    assert min(weights) > 0.0


@pytest.mark.parametrize(
    ("workload", "objective"),
    [
        (hr.ranges(hr.Domain({"x": hr.bins(0, 8, 1)}), 1), "max"),
        (hr.marginals(hr.Domain({"x": hr.bins(0, 8, 1)}), 1), "most"),
    ],
)
def test_other_objectives_and_other_questions_are_refused_in_words(workload, objective):
    domain = hr.Domain({"x": hr.bins(0, 8, 1)})
    guard = hr.Curator(hr.Table.open({"x": [1, 2]}, domain), hr.Budget(rho=0.5), ":memory:")
    with pytest.raises(hr.UnsupportedQuery, match=r"objective|whole tables"):
        hr.Factorization().release(guard, workload, objective=objective)
    assert guard.ledger.spent().amount == 0
