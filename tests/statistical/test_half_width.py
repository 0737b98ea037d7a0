"""Stated error bounds hold as often as they say. False alarm 1e-6 per test by an exact binomial test."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

import hedgerow as hr
from hedgerow.curator.noise import noise

RUNS = 20_000
WEIGHTS = {"one": [1.0], "five": [1.0] * 5, "mixed": [0.5, 1, 0.2, 0.9], "many": [1.0] * 60}


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(10), Fraction(700)])
@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS)
def test_error_bounds_cover_and_are_not_wasteful(family, scale, weights):
    sample = noise.discrete_laplace if family == "laplace" else noise.discrete_gaussian
    draws = sample(scale, RUNS * len(weights), noise.os_entropy).reshape(RUNS, len(weights))
    errors = np.abs(draws @ np.array(weights))
    law = hr.Noise(family, scale)
    for confidence in (0.9, 0.95, 0.99):
        width = law.half_width(confidence, weights)
        covered = int((errors <= width + 1e-9).sum())
        assert covered >= binom.isf(1 - 1e-6 / 3, RUNS, confidence), (confidence, covered / RUNS)
    spread = np.sqrt(law.variance * np.square(weights).sum())
    assert law.half_width(0.95, weights) <= 3.0 * spread + 3.0


def test_a_simultaneous_bound_covers_all_numbers_at_once():
    law = hr.Noise("laplace", Fraction(5))
    draws = noise.discrete_laplace(Fraction(5), 2000 * 50, noise.os_entropy).reshape(2000, 50)
    covered = int((np.abs(draws).max(axis=1) <= law.half_width(0.95, numbers=50)).sum())
    assert covered >= binom.isf(1 - 1e-6, 2000, 0.95)


def test_single_laplace_bounds_are_the_exact_discrete_quantiles():
    for scale in (Fraction(1, 3), Fraction(1), Fraction(10), Fraction(1000)):
        z = np.arange(200_000)
        p = np.exp(-z / float(scale))
        p[1:] *= 2
        p /= p.sum()
        beyond = 1 - np.cumsum(p)
        for beta in (0.2, 0.05, 1e-3):
            assert hr.Noise("laplace", scale).half_width(1 - beta) == float(np.argmax(beyond <= beta + 1e-12))


def test_lattice_denominators_scale_the_width():
    fine, coarse = hr.Noise("laplace", Fraction(1 << 24), 1 << 20), hr.Noise("laplace", Fraction(16))
    assert fine.half_width(0.95) == pytest.approx(coarse.half_width(0.95), rel=0.05)
    assert fine.variance == pytest.approx(coarse.variance, rel=0.05)
