"""Bounds of refined answers hold for whoever chooses the noise after having seen, by the exact law."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, exp

import pytest

from hedgerow.errors import BadValue
from hedgerow.privacy.bounds.refined_laplace import (
    FINEST,
    SHRINK,
    refined_laplace_reach,
    refined_laplace_width,
)
from hedgerow.queries.measurement import Noise

SCALES = [4.0, 11.0, 60.0]


def beyond(weaker: float, scale: float, offset: int, least: int) -> float:
    """P(|V| >= least | the weaker noise is offset), for least >= 1: tails of the exact law."""
    p, q = exp(-1 / weaker), exp(-1 / scale)
    r, s = q / p, abs(offset)
    near = (1 - p * q) * r**least if least <= s else (p - q) * p * r ** (s + 1) * (p * q) ** (least - s - 1)
    return (near + (p - q) * q * (p * q) ** (least - 1)) / (1 - q * q)


def worst(weaker: float, beta: float, width) -> float:
    """How often somebody who knows the truth gets the second answer outside its bound, at most."""
    p, total = exp(-1 / weaker), 0.0
    ratios = [float(SHRINK) * 1.07**i for i in range(60)]
    bounds = [(weaker / ratio, width(weaker / ratio)) for ratio in ratios]
    for offset in range(ceil(40 * weaker)):
        chance = (1 - p) / (1 + p) * p**offset * (1 if offset == 0 else 2)
        total += chance * max(beyond(weaker, scale, offset, within + 1) for scale, within in bounds)
    return total


@pytest.mark.parametrize("weaker", SCALES)
@pytest.mark.parametrize("beta", [0.1, 0.001])
def test_no_choice_of_noise_in_view_of_the_first_answer_breaks_the_bound(weaker, beta):
    assert worst(weaker, beta, lambda b: refined_laplace_width(Fraction(b), 2, beta)) <= beta


def test_the_plain_quantile_would_be_broken_by_such_a_choice():
    plain = worst(60.0, 0.001, lambda b: int(Noise("laplace", Fraction(b)).half_width(0.999)))
    assert plain > 0.003


def test_bounds_grow_with_the_steps_and_stay_bounded():
    found = [refined_laplace_reach(step, 0.001) for step in (1, 2, 3, 6, 12, 40)]
    assert found == sorted(found)
    assert found[-1] < 1.5 * found[0]
    assert refined_laplace_width(Fraction(FINEST), 1, 0.01) >= 4.6 * FINEST - 1
    for step, beta in ((0, 0.1), (1, 0.0), (2, 1e-13)):
        with pytest.raises(BadValue):
            refined_laplace_reach(step, beta)
