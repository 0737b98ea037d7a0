"""How wide what bins leave open is said to be."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.queries.within import Opened, _quantile


@pytest.mark.parametrize("terms", [1, 2, 7, 60])
@pytest.mark.parametrize("beta", [0.05, 0.001])
def test_sums_of_laplace_noise_stay_within_their_quantile(terms, beta):
    rng, n = np.random.default_rng(terms), 400_000
    total = np.zeros(n)
    for weight in np.linspace(1, 3, terms):
        total += weight * rng.laplace(size=n)
    wide = _quantile(beta, heavy=True) * np.sqrt(2 * np.sum(np.linspace(1, 3, terms) ** 2))
    assert np.mean(np.abs(total) > wide) <= beta * 1.1 + 6 * np.sqrt(beta / n)
    if terms == 1 and beta < 0.01:  # which a normal law's does not hold
        narrow = _quantile(beta, heavy=False) * np.sqrt(2)
        assert np.mean(np.abs(total) > narrow) > 2 * beta


def test_half_widths_of_laplace_noise_add_up():
    one = np.ones(1)
    assert Opened(one, 3 * one, one).on(4 * one) == pytest.approx(6)
    assert Opened(one, 3 * one, one, heavy=True).on(4 * one) == pytest.approx(8)
    assert Opened(one, 3 * one, one, heavy=True).over(one, 0 * one).heavy
