"""Synopses that hold a count for every cell: a theorem vouches for its own queries and for nothing else."""

from __future__ import annotations

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.synopsis.cells import BoundedSynopsis, CellsSynopsis, rows_off

DOMAIN = hr.Domain({"sex": ["F", "M"], "k": 3})
OWN = [hr.Query.where(DOMAIN, {"sex": "F"}), hr.Query.where(DOMAIN, {"k": [1, 2]})]
MAKE = {
    "small": lambda: hr.SmallDB(alpha=0.3),
    "theorem": lambda: hr.OfflineMW(alpha=0.2),
    "learned": lambda: hr.OfflineMW(),
    "model": lambda: hr.AdaptiveRelease(),
    "projection": lambda: hr.Projection(),
}


def released(name: str, neighbours: str) -> hr.Synopsis:
    rng = np.random.default_rng(2)
    rows = {"sex": rng.choice(["F", "M"], 20_000), "k": rng.integers(0, 3, 20_000)}
    budget = hr.Budget(epsilon=20, delta=1e-9)
    curator = hr.Curator(hr.Table.open(rows, DOMAIN), budget, ":memory:", neighbours=neighbours)
    return MAKE[name]().release(curator, OWN)


@pytest.fixture(scope="module", params=[(n, r) for n in MAKE for r in ("add_remove", "replace")])
def synopsis(request: pytest.FixtureRequest) -> hr.Synopsis:
    return released(*request.param)


def test_a_count_is_the_sum_of_its_cells(synopsis):
    assert isinstance(synopsis, CellsSynopsis)
    assert synopsis.can == {"answer", "table", "sample"}
    table, rng = synopsis.table(("sex", "k")), np.random.default_rng(0)
    for _ in range(5):
        weights = rng.random((2, 3)) - 0.5
        assert synopsis.linear(("sex", "k"), weights, 0.95)[0] == pytest.approx((table * weights).sum())


def test_a_theorem_bounds_its_own_queries_and_of_others_only_what_is_trivial_is_said(synopsis):
    if not isinstance(synopsis, BoundedSynopsis):
        return
    theorem, total = synopsis._theorem, synopsis.total
    own = theorem.bound(0.95)
    reach = total + rows_off(total, theorem.law, 0.05 / theorem.parts)
    for query in OWN:
        answer = synopsis.answer(query)
        assert answer.error == pytest.approx(min(own, max(reach - answer.value, answer.value)))
    other = synopsis.answer(hr.Query.where(DOMAIN, {"sex": "M"}))
    assert other.error == pytest.approx(max(reach - other.value, other.value))
    assert other.error > own
    near = np.array([1.0 - 2.0**-30, 0.0])  # no query has such weights: the theorem does not know it
    value, error = synopsis.linear(("sex",), near, 0.95)
    assert error == pytest.approx(max(reach - value, value))
    value, error = synopsis.linear(("sex",), -np.array([0.0, 1.0]), 0.95)
    assert error == pytest.approx(max(-value, value + reach))


def test_what_a_synopsis_can_is_what_its_class_has_a_way_of():
    for kind, made in hr.Synopsis.kinds.items():
        blank = object.__new__(made)
        if kind != "local" and "sample" not in blank.can:
            with pytest.raises(hr.UnsupportedQuery, match="cannot sample"):
                blank.sample(1)
        if "table" not in blank.can:
            with pytest.raises(hr.UnsupportedQuery, match="holds no tables"):
                blank.table(("sex",))
