"""Error bars of averages and ratios hold as often as they say. False alarm 1e-6 by an exact binomial test."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

import hedgerow as hr
from hedgerow.curator.noise import noise

DOMAIN = hr.Domain({"sex": ["F", "M"], "age": list(range(5, 100, 10))})  # numbers that no bin leaves open
RUNS = 600
QUESTIONS = [
    "SELECT AVG(age) FROM t",
    "SELECT AVG(age) FROM t WHERE sex = 'F'",
    "SELECT SUM(age) / COUNT(*) FROM t WHERE age < 50",
    "SELECT SUM(CASE WHEN sex = 'F' THEN 1 ELSE 0 END) / COUNT(*) FROM t",
]


@pytest.mark.parametrize("family", ["laplace", "gaussian"])
@pytest.mark.parametrize("text", QUESTIONS)
@pytest.mark.parametrize("rows", [600, 20_000])
def test_ratio_bounds_cover_the_true_ratio(family, text, rows):
    exact = np.random.default_rng(1).multinomial(rows, np.full(20, 1 / 20)).reshape(2, 10).astype(float)
    question, scale = hr.sql(DOMAIN, text), Fraction(8)
    truth = question.evaluate(
        lambda s: exact.sum(axis=tuple(i for i, a in enumerate(DOMAIN) if a not in s))
    ).value
    sample = noise.discrete_laplace if family == "laplace" else noise.discrete_gaussian
    noises = sample(scale, RUNS * 20, noise.os_entropy).reshape(RUNS, 2, 10)
    law = hr.Noise(family, scale)
    covered, widths = 0, []
    for draw in noises[: RUNS if family == "gaussian" else RUNS // 6]:
        table = exact + draw

        def linear(names, weights, confidence, numbers, table=table):
            full = np.broadcast_to(
                weights.reshape(
                    [-1 if a in names else 1 for a in DOMAIN] if len(names) == 1 else weights.shape or (1, 1)
                ),
                (2, 10),
            )
            return float((table * full).sum()), law.half_width(confidence, full, numbers)

        got = question.answer(linear)
        covered += abs(got.value - truth) <= got.error
        widths.append(got.error)
    runs = RUNS if family == "gaussian" else RUNS // 6
    assert covered >= binom.isf(1 - 1e-6, runs, 0.95), covered / runs
    if rows == 20_000:  # noise that numerator and denominator share cancels
        assert np.median(widths) < 0.5


def test_a_denominator_that_may_be_zero_gives_no_finite_bound():
    question = hr.sql(DOMAIN, "SELECT AVG(age) FROM t")
    got = question.answer(lambda s, w, c, n: (float(w.sum()), 1e6))
    assert got.error == np.inf
    assert np.isnan(question.answer(lambda s, w, c, n: (-float(w.sum()), 1.0)).value)


def test_without_one_table_for_both_the_bounds_are_taken_apart():
    question = hr.sql(
        hr.Domain({"a": [0.5, 1.5, 2.5], "b": [0.5, 1.5, 2.5]}), "SELECT SUM(a) / SUM(b) FROM t"
    )

    def linear(names, weights, confidence, numbers):
        if len(names) > 1:
            raise hr.UnsupportedQuery("no released table holds it")
        return 1000.0, 10.0

    got = question.answer(linear)
    assert got.value == 1
    assert got.error == pytest.approx(20 / 990)
