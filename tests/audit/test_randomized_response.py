"""Randomised response: bits and k levels, the unbiased estimator of W3 and its Hoeffding bound."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log, sqrt

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.curator.noise.local import LocalReports, _invert, randomize

ALARM = 1e-6


def curator(domain: hr.Domain, rows: dict, epsilon: float) -> hr.Curator:
    return hr.Curator(hr.Table.open(rows, domain), hr.Budget(epsilon=epsilon), ":memory:", "replace")


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(4)])
def test_a_bit_is_decoded_by_the_lectures_formula(epsilon):
    p = exp(epsilon) / (1 + exp(epsilon))
    for bit in (0, 1):
        assert _invert(np.array([0.0, 1.0]), 0, epsilon)[bit] == pytest.approx(
            0.5 + (bit - 0.5) / (2 * p - 1)
        )


@pytest.mark.parametrize("levels", [2, 3, 7])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(4)])
def test_the_estimator_is_unbiased_for_every_true_level(levels, epsilon):
    """Exactly: the channel's expectation of the decoded weight is the weight."""
    e = exp(epsilon)
    channel = (np.full((levels, levels), 1.0) + np.eye(levels) * (e - 1)) / (e + levels - 1)
    weights = np.linspace(0, 1, levels)
    np.testing.assert_allclose(channel @ _invert(weights, 0, epsilon), weights, atol=1e-12)


@pytest.mark.parametrize("levels", [2, 5])
def test_the_error_bound_holds_as_often_as_it_says(levels):
    """Hoeffding at confidence 1 - 1e-6 for each of the estimates: any violation is an alarm."""
    domain = hr.Domain({"x": levels})
    rows = {"x": [0] * 3000 + [levels - 1] * 1000}
    for epsilon in (0.5, 1.0, 4.0):
        reports = randomize(curator(domain, rows, epsilon), epsilon)
        for level, true in ((0, 3000), (levels - 1, 1000)):
            weights = (np.arange(levels) == level).astype(float)
            value, bound = reports.estimate(("x",), weights, 1 - ALARM)
            e = exp(epsilon)
            width = (e + levels - 1) / (e - 1)  # of the decoded weight, W3's 1/(2p-1) for a bit
            assert bound == pytest.approx(width * sqrt(4000 * log(2 / ALARM) / 2))
            assert abs(value - true) <= bound


def test_epsilon_is_split_over_rows_and_attributes():
    domain = hr.Domain({"x": 3, "y": 2})
    for by, parts in (("row", 1), ("attribute", 2)):
        plan = LocalReports.plan(domain, Fraction(1), 3, by)
        assert plan.epsilon_each == Fraction(1, 3 * parts)
