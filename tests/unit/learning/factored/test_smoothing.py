"""One-way tables averaged over neighbours: nearer where levels have an order, untouched elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.learning.factored.consistency import Target
from hedgerow.learning.factored.smoothing import smoothed

SIGMA = 200.0


def noisy(law: np.ndarray, seed: int = 0) -> Target:
    noise = np.random.default_rng(seed).normal(0.0, SIGMA, law.size)
    return Target(((0, 0),), law + noise, SIGMA)


def hill(levels: int = 80) -> np.ndarray:
    at = np.arange(levels)
    return 20_000.0 * np.exp(-(((at - levels / 3) / (levels / 5)) ** 2)) / levels


def off(tables: list[np.ndarray], law: np.ndarray) -> float:
    return float(np.mean([((t - law) ** 2).sum() for t in tables]))


def test_a_hill_comes_nearer_and_its_error_is_about_what_it_says():
    law = hill()
    raw = [noisy(law, seed) for seed in range(20)]
    made = [smoothed(t) for t in raw]
    assert off([t.counts for t in made], law) < 0.3 * off([t.counts for t in raw], law)
    said = np.mean([t.sigma**2 * law.size for t in made])
    assert 0.5 * said < off([t.counts for t in made], law) < 1.5 * said


@pytest.mark.parametrize("levels", [20, 100])
def test_levels_without_an_order_are_left_alone(levels):
    law = np.random.default_rng(5).dirichlet(np.full(levels, 0.3)) * 50_000
    assert all((t := noisy(law, seed)) is smoothed(t) for seed in range(20))


def test_pairs_and_few_levels_are_left_alone():
    few, pair = noisy(hill(6)), Target(((0, 0), (1, 0)), np.zeros(80), SIGMA)
    assert smoothed(few) is few
    assert smoothed(pair) is pair
