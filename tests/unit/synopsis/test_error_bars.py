"""Error bars at every epsilon: no warning, no failure, and never less than the law of the noise says."""

from __future__ import annotations

from fractions import Fraction
from math import exp, inf

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.queries.measurement import Noise, _chernoff
from hedgerow.synopsis.limits import limits
from hedgerow.synopsis.margins import measured_whole

EPSILONS = [1e-12, 1e-6, 1.0, 30.0, 700.0, 1e3, 1e4, 1e6, 1e9, 1e12]
WEIGHTS = {
    "one": (1.0,),
    "a sum": (1.0,) * 7,
    "a long sum": (1.0,) * 1_000,
    "weights": (1.0, 2.0, 0.5),
    "far apart": (1e-6, 1.0),
    "many": tuple(np.linspace(0.1, 1.0, 300)),
}
CONFIDENCES = [0.95, 1.0 - 1e-9]
DOMAIN = hr.Domain({"sex": ["F", "M"], "age": hr.bins(0, 100, 20)})
TOTAL = hr.Query.where(DOMAIN, {"sex": "F"})


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("weights", WEIGHTS)
def test_an_error_bar_is_a_number_at_every_epsilon(family, epsilon, weights):
    for denominator in (1, 1 << 20):
        noise = Noise(family, denominator / Fraction(epsilon), denominator)
        assert 0.0 <= noise.variance < inf
        for confidence in CONFIDENCES:
            for numbers in (1, 10**9):
                assert 0.0 <= noise.half_width(confidence, WEIGHTS[weights], numbers) < inf


@pytest.mark.parametrize("weights", WEIGHTS)
def test_noise_that_hardly_ever_comes_has_an_error_bar_of_none(weights):
    noise = Noise("laplace", Fraction(1, 1000))  # P(noise) = 2 exp(-1000)
    assert noise.half_width(0.999, WEIGHTS[weights]) == 0.0
    assert Noise("laplace", Fraction(1, 2)).half_width(0.999, WEIGHTS[weights]) > 0.0


@pytest.mark.parametrize("epsilon", [8.0, 10.0, 20.0])
def test_the_bar_goes_to_nothing_only_where_the_chance_of_any_noise_does(epsilon):
    noise, weights = Noise("laplace", 1 / Fraction(epsilon)), (1.0, 2.0, 3.0)
    silent = ((1.0 - exp(-epsilon)) / (1.0 + exp(-epsilon))) ** 3  # no number carries any
    assert noise.half_width(1.0 - 1.01 * (1.0 - silent), weights) == pytest.approx(0.0, abs=1e-300)
    assert noise.half_width(1.0 - 0.98 * (1.0 - silent), weights) >= 1.0


@pytest.mark.parametrize("scale", [0.05, 0.5, 3.0, 1e6])
def test_the_proven_bound_is_the_one_of_the_moment_generating_function(scale):
    weights = np.array([1.0, 2.0, 0.5])
    s = np.linspace(0.01, 0.99, 99)[:, None] / (scale * 2.0)
    ratio = np.sinh(s * weights / 2.0) ** 2 / np.sinh(0.5 / scale) ** 2
    said = np.min((-np.log1p(-ratio).sum(axis=1) + np.log(2.0 / 0.01)) / s[:, 0])
    assert _chernoff(scale, weights, 0.01) == pytest.approx(said, rel=1e-9)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", [0, 1e-9])
def test_a_release_states_its_errors_at_every_epsilon(epsilon, delta):
    table = hr.Table.open(pd.DataFrame({"sex": ["F", "M"] * 50, "age": range(100)}), DOMAIN)
    curator = hr.Curator(table, hr.Budget(epsilon=epsilon, delta=delta), ":memory:")
    make = hr.GaussianBaseline if delta else hr.LaplaceBaseline
    synopsis = make().release(curator, hr.marginals(DOMAIN, 2))
    for text in (
        "SELECT COUNT(*) FROM t",
        "SELECT sex, COUNT(*) FROM t WHERE age >= 20 GROUP BY sex",
        "SELECT SUM(age) FROM t",
        "SELECT sex, AVG(age) FROM t GROUP BY sex",
    ):
        assert not np.any(np.isnan(synopsis.answer(hr.sql(DOMAIN, text)).error))
    low, high = limits(synopsis.measurements, TOTAL, 0.95)
    assert low <= high
    found = measured_whole(synopsis.measurements, ("age", "sex"))
    assert found is not None
    assert found.variance < inf
    if epsilon >= 1e3:
        count = synopsis.answer(hr.sql(DOMAIN, "SELECT COUNT(*) FROM t")).value
        assert float(count) == pytest.approx(100, abs=1)
        assert low <= 50 <= high


@pytest.mark.parametrize("mechanism", [hr.GaussianBaseline(), hr.AdaptiveRelease()])
def test_what_released_numbers_chose_has_the_bars_that_hold_for_all_of_them(mechanism):
    rows = {"sex": ["F", "M"] * 50, "age": list(range(100))}
    budget, entropy = hr.Budget(epsilon=1, delta=1e-6), hr.testing.seeded(1)
    curator = hr.Curator(hr.Table.open(rows, DOMAIN), budget, ":memory:", entropy=entropy)
    released = mechanism.release(curator, hr.marginals(DOMAIN, 1))
    groups = "SELECT age, COUNT(*) AS n FROM t GROUP BY age"
    each, top = released.answer(groups), released.answer(f"{groups} ORDER BY n DESC LIMIT 2")
    every = released.answer(groups, simultaneous=True)
    assert top.simultaneous
    assert np.isin(top.error.round(9), every.error.round(9)).all()
    assert top.error.min() > each.error.max()
    for chosen_by_no_number in (f"{groups} ORDER BY age LIMIT 2", f"{groups} ORDER BY n"):
        assert not released.answer(chosen_by_no_number).simultaneous
