"""How wide what bins leave open is said to be."""

from __future__ import annotations

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.queries.within import Opened, _Inside, _quantile

DOMAIN = hr.Domain(
    {
        "k": hr.Categorical(range(12)),
        "sex": ["F", "M"],
        "pay": hr.Bins([0, 10, 20, 50, 100, 1000], step=1),
        "age": hr.bins(0, 100, 5, step=1),
    }
)


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


@pytest.mark.parametrize("heavy", [False, True])
def test_what_is_made_of_remainders_is_within_its_bounds_at_every_confidence(heavy):
    """Sums that are no larger than the worst, measured with an error within its quantile."""
    rng, n = np.random.default_rng(7), 200_000
    middle, off, deviation = (rng.exponential(scale, n) for scale in (3.0, 1.0, 2.0))
    usual = _quantile(0.05, heavy=heavy)
    for beta in (0.5, 0.05, 0.001):
        wide, worst = _quantile(beta, heavy=heavy), middle + _quantile(beta, heavy=False) * off
        truth = rng.uniform(-1, 1, n) * worst
        measured = truth + rng.uniform(-1, 1, n) * wide * deviation
        inside = _Inside(measured, deviation, middle + _quantile(0.05, heavy=False) * off, heavy)
        soft = inside.soft(beta, worst)
        assert (np.abs(inside.value - truth) <= soft + 1e-9).all()
        if beta == 0.05:  # no wider than what was measured, or than the schema allows
            assert (soft <= np.maximum(usual * deviation, 1e-9) + 1e-9).all()


@pytest.fixture(scope="module")
def doors():
    rng, n = np.random.default_rng(3), 3000
    k = np.minimum(rng.geometric(0.3, n) - 1, 11)
    pay = np.clip(rng.lognormal(3, 1.2, n), 0, 999).astype(int)
    rows = {"k": k, "sex": rng.choice(["F", "M"], n), "pay": pay, "age": rng.integers(0, 100, n)}
    table = hr.Table.open(rows, DOMAIN)
    one, other = (
        hr.Curator(table, hr.Budget(4, 1e-6), ":memory:", entropy=hr.testing.seeded(i)) for i in (5, 6)
    )
    released = hr.AdaptiveRelease(epsilon=0.3).release(one, hr.marginals(DOMAIN, 2))
    return released.answer, hr.Session(epsilon=0.3).open(other).ask


@pytest.mark.parametrize("number", ["SUM(pay)", "AVG(pay)", "AVG(age)", "STDDEV(pay)", "MEDIAN(pay)"])
@pytest.mark.parametrize("group", ["k", "sex", None])
def test_a_value_does_not_move_with_the_confidence(doors, number, group):
    text = f"SELECT {group}, {number} FROM t GROUP BY {group}" if group else f"SELECT {number} FROM t"
    for answer in doors:
        said = [
            np.atleast_1d(answer(text, confidence=sure, simultaneous=together).value)
            for sure in (0.5, 0.8, 0.95, 0.99, 0.999)
            for together in (False, True)
        ]
        for other in said[1:]:
            np.testing.assert_allclose(other, said[0], rtol=1e-9)


@pytest.mark.parametrize("group", ["k", "sex", "sex, k"])
def test_sums_by_group_add_up_to_the_overall_sum_within_its_bars(doors, group):
    """The overall sum of a number with a long tail has a measurement of its own, which groups do not have."""
    for answer in doors:
        whole = answer("SELECT SUM(pay) FROM t")
        parts = answer(f"SELECT {group}, SUM(pay) FROM t GROUP BY {group}")
        assert abs(float(np.sum(parts.value)) - whole.value) <= whole.error


def test_of_rows_that_may_be_none_an_average_is_open_without_end_and_what_is_nothing_stays_nothing():
    counts, off = np.array([10.0, 10.0, 10.0, 0.0]), np.array([10.0, 11.0, 4.0, 0.0])
    soft, hard = np.array([5.0, 5.0, 6.0, 5.0]), np.array([0.0, 0.0, 3.0, 0.0])
    made = Opened(np.zeros(4), soft, hard).over(counts, off)
    assert made.on(np.zeros(4)).tolist() == [np.inf, np.inf, 1.5, np.inf]
    assert Opened(np.zeros(1), np.zeros(1), np.zeros(1)).over(counts[:1], off[:1]).on(np.zeros(1)) == 0.0
    moved = Opened(np.array([6.0]), np.array([0.0]), np.array([0.0])).over(counts[2:3], off[2:3])
    assert moved.value == pytest.approx(0.6)
    assert moved.on(np.zeros(1)) == pytest.approx(0.6 * 4 / 6)
