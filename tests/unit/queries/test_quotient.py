"""Quotients: an average of rows is never beyond what a row can be."""

from __future__ import annotations

import numpy as np

from hedgerow.queries.domain.bins import Bins
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.quotient import Quotient, between
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


def test_the_confidence_set_of_a_ratio_ends_where_its_sum_and_half_width_meet() -> None:
    """Half-widths of independent noise have a closed form; a nearly empty denominator takes no more work."""
    counts = np.array([30.0, 50.0, 20.0])
    values, all_of_them = np.array([1.0, 4.0, 9.0]), np.ones(3)
    for sigma in (0.5, 4.0, 20.0, 28.86):  # 1.96 x 28.86 x the root of 3 is 98 of 100
        asked = []

        def found(weights: np.ndarray, sigma: float = sigma, asked: list[int] = asked) -> tuple[float, float]:
            asked.append(1)
            return float(weights @ counts), 1.96 * sigma * float((weights**2).sum() ** 0.5)

        q = Quotient.of(found, lambda w: float(w @ counts), values, all_of_them, only_positive=True)
        n, d, z2 = q.value * 100.0, 100.0, (1.96 * sigma) ** 2
        # (n - r d)^2 = z^2 |values - r|^2, solved for r
        ends = np.roots([d**2 - 3 * z2, -2 * (n * d - z2 * values.sum()), n**2 - z2 * (values**2).sum()])
        farthest = float(np.abs(ends - q.value).max())
        assert farthest <= q.error <= farthest * 1.0002
        assert len(asked) < 40


def test_a_denominator_that_may_be_nothing_has_no_error_without_more_work() -> None:
    asked = []

    def found(weights: np.ndarray) -> tuple[float, float]:
        asked.append(1)
        return float(weights.sum()), 30.0 * float(np.abs(weights).max())

    q = Quotient.of(found, lambda w: float(w.sum()), np.ones(5), np.ones(5), only_positive=True)
    assert q.error == float("inf")
    assert len(asked) == 1


def test_half_widths_that_jump_are_gone_beyond() -> None:
    """Bars that are the least of several ways are no norm: the end is then where they are surely less."""

    def found(weights: np.ndarray) -> tuple[float, float]:
        wide = float(np.abs(weights).max())
        return float(weights.sum()), (9.0 if wide > 1.5 else 1.0) * wide

    over = np.array([1.0, 1.0, 1.0, 1.0])
    q = Quotient.of(found, lambda w: float(w.sum()), over, np.ones(4), only_positive=True)
    error = q.error
    r = q.value + error
    assert np.isfinite(error)
    assert error * 4.0 >= found(over - r * np.ones(4))[1] * 0.999
