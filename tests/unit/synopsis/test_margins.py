"""What measured tables say of tables inside them; tails of noise on a coarse and on a fine lattice."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from statistics import NormalDist

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.learning.residuals.basis import Basis
from hedgerow.learning.residuals.noisy import NoisyResiduals
from hedgerow.queries.measurement import Measurement, Noise
from hedgerow.synopsis.margins import measured_whole, ones_of
from hedgerow.synopsis.reconciled import MeasuredResiduals

DOMAIN = hr.Domain({"a": 3, "b": 4})


def noise(sigma: float, family: str = "gaussian") -> Noise:
    return Noise(family, Fraction(sigma))


def tables(one: float, two: float, family: str = "gaussian") -> list[Measurement]:
    """Of one attribute, and of both."""
    both = np.arange(12).reshape(3, 4)
    return [
        Measurement(("a",), both.sum(axis=1) + 5, noise(one, family)),
        Measurement(("a", "b"), both, noise(two, family)),
    ]


def test_an_attribute_is_known_by_all_tables_that_tell_it():
    known = ones_of(DOMAIN, tables(20.0, 10.0))
    assert known is not None
    assert known.deviations["a",] == pytest.approx((1 / 400 + 1 / (100 * 4)) ** -0.5)
    assert known.deviations["b",] == pytest.approx(sqrt(100 * 3))
    assert known.deviations[()] == pytest.approx((1 / (400 * 3) + 1 / (100 * 12)) ** -0.5)
    total = float(known.values[()])
    assert total == pytest.approx((81 + 66) / 2)  # as precise one as the other
    found = MeasuredResiduals(known, DOMAIN, ("a",), ("a",))
    assert found.counts.sum() == pytest.approx(total)
    whole = known.deviations[()] ** 2
    assert found.deviation(np.ones(3)) ** 2 == pytest.approx(whole)
    assert ones_of(DOMAIN, tables(20.0, 10.0, "laplace")) is None


def test_a_margin_of_a_larger_table_counts_in_the_average():
    found = measured_whole(tables(20.0, 10.0), ("a",))
    assert found is not None
    np.testing.assert_allclose(found.counts, np.arange(12).reshape(3, 4).sum(axis=1) + 2.5)
    assert found.variance == pytest.approx(200.0)
    assert found.noise.denominator == 2  # each of two has the weight 1/2
    pure = measured_whole(tables(20.0, 10.0, "laplace"), ("a",))
    assert pure is not None
    assert pure.noise.scale == 20  # the best one that was measured itself
    assert measured_whole(tables(20.0, 10.0), ("b",)) is None


def test_averages_of_narrow_noise_are_not_made_wider_than_it():
    found = measured_whole(tables(2.0, 1.0), ("a",))
    assert found is not None
    assert found.variance == pytest.approx(2.0)
    assert found.cell_width(0.95, 1) == pytest.approx(sqrt(2.0) * sqrt(2 * np.log(40)))  # sub-Gaussian


@pytest.mark.parametrize("part", [0.5, 0.9])
def test_noise_on_whole_rows_with_finer_noise_has_the_tails_of_the_normal_law(part):
    """By adding up: P(|Z + G| > q) of discrete Gaussian Z and normal G, at the normal law's quantiles."""
    sigma = 1.7
    other = sigma * sqrt(part / (1.0 - part))  # so much of the variance is on the fine lattice
    steps = np.arange(-200, 201)
    chances = np.exp(-(steps**2) / (2.0 * sigma**2))
    chances /= chances.sum()
    normal = NormalDist(0.0, other)
    for confidence in (0.8, 0.95, 0.99, 1 - 1e-6):
        q = sqrt(sigma**2 + other**2) * NormalDist().inv_cdf(0.5 + confidence / 2)
        beyond = sum(p * 2.0 * normal.cdf(-(q - k)) for k, p in zip(steps, chances, strict=True))
        assert beyond == pytest.approx(1.0 - confidence, rel=1e-9)


def evidence(whole: float, scale: float, deviation: float = 2.0) -> NoisyResiduals:
    values = {(): np.array(100.0), ("a",): np.zeros(2)}
    shares = {(): whole, ("a",): whole}
    return NoisyResiduals(
        Basis({"a": 3, "b": 4}), values, dict.fromkeys(values, deviation), None, shares, scale
    )


def test_bars_are_of_the_normal_law_where_the_lattice_is_fine_and_of_a_bound_elsewhere():
    def ratio(known: NoisyResiduals, confidence: float) -> float:
        table = MeasuredResiduals(known, DOMAIN, ("a",), ("a",))
        weights = np.array([1.0, 0.0, 0.0])
        by_cell = table.cell_width(confidence, 1) / table.variance**0.5
        assert table.half_width(confidence, weights, 1) == pytest.approx(by_cell * table.deviation(weights))
        return by_cell

    for confidence in (0.8, 0.95):
        z = NormalDist().inv_cdf(0.5 + confidence / 2)
        bound = sqrt(2 * np.log(2 / (1 - confidence)))
        assert ratio(evidence(0.0, 0.0), confidence) == pytest.approx(z, rel=2e-3)
        assert ratio(evidence(0.5, 1.7), confidence) == pytest.approx(z, rel=2e-3)
        assert ratio(evidence(0.5, 1.0), confidence) == pytest.approx(bound)  # too narrow to be smoothed
        assert ratio(evidence(1.0, 9.0), confidence) == pytest.approx(bound)
