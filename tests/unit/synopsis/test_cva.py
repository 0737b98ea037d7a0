"""Critical values that cover on average whatever the biases are."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.synopsis.cva import critical_values, cva, missed, most_missed

NORMAL = 1.959963984540054


def test_without_bias_it_is_the_normal_quantile():
    assert cva(0.0) == pytest.approx(NORMAL, abs=1e-6)
    assert cva(0.0, 0.8) == pytest.approx(1.2815515655446004, abs=1e-6)


@pytest.mark.parametrize(("weight", "wider"), [(0.5, 1.18), (0.3, 1.47), (0.1, 1.85)])
def test_it_is_wider_than_normal_theory_by_the_published_factors(weight, wider):
    m2 = (1.0 - weight) / weight  # (1 - w)^2 mu2 / (w^2 sigma^2) at the best weight w = mu2 / (mu2 + sigma^2)
    assert cva(m2) / (NORMAL * (1.0 + m2) ** 0.5) == pytest.approx(wider, abs=0.006)


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("m2", [0.01, 0.3, 1.0, 4.0, 50.0])
def test_no_distribution_of_biases_misses_more_often_and_one_misses_as_often(m2, confidence):
    c = cva(m2, confidence)
    assert most_missed(m2, c) == pytest.approx(1.0 - confidence, rel=1e-4)
    rng = np.random.default_rng(1)
    for _ in range(200):  # mixtures of a few biases with this mean square
        squares, parts = rng.gamma(0.3, 1.0, 4) + 1e-9, rng.dirichlet(np.ones(4))
        squares = squares * m2 / float(parts @ squares)
        mean = sum(p * missed(b, c) for p, b in zip(parts, squares, strict=True))
        assert mean <= (1.0 - confidence) * (1.0 + 1e-4)


def test_values_read_off_a_grid_are_those_of_the_search():
    m2 = np.exp(np.random.default_rng(2).uniform(-8, 9, 60))
    assert critical_values(m2, 0.95) == pytest.approx([cva(x) for x in m2], rel=0.015)
    assert critical_values(np.array(0.0), 0.95) == pytest.approx(NORMAL, rel=1e-2)
