"""Quotients: an average of rows is never beyond what a row can be."""

from __future__ import annotations

import numpy as np

from hedgerow.queries.domain.bins import Bins
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.quotient import between
from hedgerow.queries.sql.statement import sql


def test_what_lies_between_two_ends_is_moved_there_and_its_error_goes_no_farther() -> None:
    value, error = between(
        np.array([-5.0, 3.0, 12.0, np.nan, 4.0]), np.array([9, 99, 2, np.inf, np.inf]), 0, 10
    )
    np.testing.assert_array_equal(value, [0, 3, 10, np.nan, 4])
    np.testing.assert_array_equal(error, [9, 7, 2, np.inf, np.inf])
    count = sql(Domain({"k": [1, 2]}), "SELECT COUNT(*) FROM t")  # has no ends
    held = count.combine(np.array([[50.0]]), np.array([[3.0]]))
    assert (held.value, held.error) == (50.0, 3.0)


def test_what_a_model_leaves_of_no_rows_is_none_of_them_and_has_no_average() -> None:
    domain = Domain({"x": Bins([0, 10, 50, 100], step=1), "g": ["a", "b"]})
    question = sql(domain, "SELECT COUNT(*), AVG(x), SUM(x) FROM t WHERE g = 'b'")
    values = np.array([[1e-19 if f.counts else -4e-19] for f in question.forms])
    result = question.combine(values, np.full_like(values, 7.0))
    count, mean, total = result.values[0]
    assert count == 0.0
    assert np.isnan(mean)
    assert abs(total) < 1e-9
    assert result.errors[0, 0] == 7.0
    assert np.isinf(result.errors[0, 1])
    few = question.combine(np.full_like(values, 1e-8), np.full_like(values, 7.0))
    assert few.values[0, 0] == 1e-8


def test_the_ends_of_an_average_are_those_of_the_rows_that_the_condition_leaves() -> None:
    domain = Domain({"x": Bins([0, 10, 50, 100], step=1), "k": [1, 2, 5]})
    ends = [
        sql(domain, f"SELECT AVG({what}) FROM t{where}").aggregates[0]
        for what, where in (("x", ""), ("x", " WHERE x < 50"), ("x", " WHERE x >= 13"), ("k", " WHERE k > 1"))
    ]
    assert [tuple(float(e) + a.plus for e in a.ends) for a in ends] == [(0, 99), (0, 49), (13, 99), (2, 5)]
