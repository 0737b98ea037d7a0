"""Answers that are refined by somebody who has seen them: bounds that hold, however that is chosen."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist

import numpy as np
import pytest

from hedgerow.errors import BadValue
from hedgerow.privacy.bounds.refining import LEAST, refined_reach

PATHS = 200_000
ALARM = 5.2  # standard deviations of a frequency: a false alarm of 1e-7 in one test of several


def missed(k: float, steps: int, seed: int) -> float:
    """How often the last answer misses k, when each refinement is what makes that likeliest."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(PATHS)
    for _ in range(steps - 1):
        t = np.clip((k / np.maximum(np.abs(x), 1e-9)) ** 2, LEAST, 1e12)
        x = (x + np.sqrt(t - 1) * rng.standard_normal(PATHS)) / np.sqrt(t)
    return float((np.abs(x) > k).mean())


@pytest.mark.parametrize("steps", [1, 2, 3, 6])
@pytest.mark.parametrize("beta", [0.2, 0.05, 0.01])
def test_the_strongest_strategy_that_we_know_misses_no_more_often_than_stated(steps, beta):
    assert missed(refined_reach(steps, beta), steps, 1) <= beta + ALARM * sqrt(beta / PATHS)


def test_the_same_strategy_breaks_bounds_that_forget_who_has_seen_what():
    beta = 0.05
    plain = NormalDist().inv_cdf(1 - beta / 2)
    assert missed(plain, 2, 2) > beta + ALARM * sqrt(beta / PATHS)


def test_the_first_answer_is_the_plain_quantile_and_later_ones_are_wider_up_to_a_point():
    for beta in (0.05, 1e-3, 1e-9):
        reach = [refined_reach(step, beta) for step in (1, 2, 3, 10, 40)]
        assert reach[0] == pytest.approx(-NormalDist().inv_cdf(beta / 2), abs=2e-4)
        assert reach == sorted(reach)
        assert reach[-1] < 1.25 * reach[0]


def test_what_is_no_chain_is_refused():
    for step, beta in ((0, 0.1), (1, 0.0), (1, 1.0), (2, 1e-13)):
        with pytest.raises(BadValue):
            refined_reach(step, beta)
