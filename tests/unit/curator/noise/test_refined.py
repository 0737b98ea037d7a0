"""Noise given that of a weaker answer: its law, what a chain of it loses, and that a fork would lose more."""

from __future__ import annotations

from fractions import Fraction
from math import exp, log

import numpy as np
import pytest

from hedgerow.curator.noise.refined import refined_laplace
from hedgerow.testing import SeededEntropy
from sizes import size

WIDE = np.arange(-400, 401)


def laplace(scale: float, values: np.ndarray) -> np.ndarray:
    p = exp(-1 / scale)
    return (1 - p) / (1 + p) * p ** np.abs(values)


def kernel(weaker: float, scale: float, offset: int, values: np.ndarray) -> np.ndarray:
    """P(V = values | V + W = offset), from the definition of W."""
    p, q = exp(-1 / weaker), exp(-1 / scale)
    nothing = q / p * ((1 - p) / (1 - q)) ** 2
    added = np.where(values == offset, nothing, 0.0) + (1 - nothing) * laplace(weaker, offset - values)
    return laplace(scale, values) * added / laplace(weaker, np.array([offset]))


@pytest.mark.parametrize(
    ("parts", "step"), [(["6"], "6"), (["7/2"], "3/2"), (["10"], "200"), (["20", "25/2"], "9")]
)
def test_what_is_drawn_has_the_law_of_the_stronger_noise_given_the_weaker(parts, step):
    parts, step = [Fraction(part) for part in parts], Fraction(step)
    weaker = 1 / sum(1 / part for part in parts)
    scale = 1 / (1 / weaker + 1 / step)
    for seed, offset in enumerate((0, 1, -7, 25)):
        tries = size(4000, 400_000)
        drawn = refined_laplace(np.full(tries, offset), parts, step, SeededEntropy(seed))
        law = kernel(float(weaker), float(scale), offset, WIDE)
        assert law.sum() == pytest.approx(1, abs=1e-9)
        seen, expected = np.bincount(drawn + 400, minlength=WIDE.size), law * tries
        often = expected > 8
        apart = (((seen - expected) ** 2)[often] / expected[often]).sum()
        degrees = int(often.sum())
        assert apart < degrees + 5.5 * (2 * degrees) ** 0.5 + 25  # Laurent and Massart, beyond 1e-6; seeded


def test_the_stronger_noise_has_its_own_law_whatever_is_known_of_no_weaker_one():
    for weaker, scale in ((9.0, 6.0), (5.0, 1.5)):
        mixed = sum(
            laplace(weaker, np.array([s])) * kernel(weaker, scale, s, WIDE[300:501]) for s in range(-300, 301)
        )
        assert mixed == pytest.approx(laplace(scale, WIDE[300:501]), abs=1e-12)


def loss(weaker: float, scale: float, forks: int) -> float:
    """The largest loss of a weaker answer and so many closer ones drawn from it, of numbers 0 and 1."""

    def chance(exact: int, said: int, closer: int) -> float:
        one = kernel(weaker, scale, said - exact, np.array([closer - exact]))[0]
        return float(log(laplace(weaker, np.array([said - exact]))[0]) + forks * log(one))

    places = range(-12, 14)
    return max(abs(chance(0, y, z) - chance(1, y, z)) for y in places for z in places)


def test_a_weaker_and_a_closer_answer_lose_what_the_closer_one_alone_would_and_a_fork_more():
    for weaker, scale in ((9.0, 6.0), (8.0, 2.0)):
        assert loss(weaker, scale, 1) == pytest.approx(1 / scale, abs=1e-9)
        paid_for_a_fork = 2 * (1 / scale - 1 / weaker) + 1 / weaker
        assert loss(weaker, scale, 2) > paid_for_a_fork + 0.05
