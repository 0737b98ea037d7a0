"""Conversions and noise scales: never on the wrong side, and close to the best."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from math import inf

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import RangeTooLarge, UnknownEvent
from hedgerow.privacy.accountant import cost
from hedgerow.privacy.budget import (
    GRAIN,
    Cost,
    epsilon_of,
    gaussian_sigma,
    laplace_scale,
    rho_of,
    selection_epsilon,
)
from hedgerow.privacy.calibration import renyi_of_bounded_range, renyi_of_laplace
from hedgerow.privacy.event import Exponential, Gaussian, Laplace, PermuteAndFlip
from sizes import size

EPSILONS = size(["0.001", "0.1", "1", "20"], ["0.001", "0.01", "0.1", "0.5", "1", "3", "8", "20"])
DELTAS = size((2, 6, 9, 15), range(2, 16))
amounts = st.fractions(min_value=Fraction(1, 10**6), max_value=50)
sensitivities = st.integers(1, 2**24)


@pytest.fixture(autouse=True)
def fifty_digits() -> object:
    with mpmath.workdps(50):
        yield


def mp(x: Fraction | float) -> mpmath.mpf:
    x = Fraction(x)
    return mpmath.mpf(x.numerator) / x.denominator


def least(objective: Callable[[mpmath.mpf], mpmath.mpf]) -> mpmath.mpf:
    """The least value over alpha > 1 of a unimodal function, by golden sections in ln(alpha - 1)."""
    low, high, golden = mpmath.mpf(-30), mpmath.mpf(80), (mpmath.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = objective(1 + mpmath.exp(left)), objective(1 + mpmath.exp(right))
    for _ in range(140):
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = objective(1 + mpmath.exp(left))
        else:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = objective(1 + mpmath.exp(right))
    return min(at_left, at_right)


def delta_of(rho: mpmath.mpf, epsilon: mpmath.mpf, alpha: mpmath.mpf) -> mpmath.mpf:
    """[CKS20] Cor. 13 before the infimum, as the paper prints it."""
    return mpmath.exp((alpha - 1) * (alpha * rho - epsilon)) / (alpha - 1) * (1 - 1 / alpha) ** alpha


@pytest.mark.parametrize("digits", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_rho_of_keeps_the_promise_and_is_the_largest_that_does(epsilon: str, digits: int) -> None:
    e, d = mp(Fraction(epsilon)), mpmath.mpf(10) ** -digits
    rho = mp(rho_of(epsilon, Fraction(1, 10**digits)))
    assert rho > 0
    assert least(lambda alpha: delta_of(rho, e, alpha)) <= d
    assert least(lambda alpha: delta_of(rho * (1 + mpmath.mpf("1e-6")), e, alpha)) > d


@pytest.mark.parametrize("digits", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_epsilon_of_keeps_the_promise_and_is_the_smallest_that_does(epsilon: str, digits: int) -> None:
    delta = Fraction(1, 10**digits)
    d = mp(delta)
    for rho in (rho_of(epsilon, delta), rho_of(epsilon, delta) * Fraction(7, 9)):
        found = epsilon_of(rho, delta)
        assert least(partial(delta_of, mp(rho), mp(found))) <= d
        if found > 0:
            assert least(partial(delta_of, mp(rho), mp(found) * (1 - mpmath.mpf("1e-6")))) > d


@settings(deadline=None)
@given(amounts, st.integers(1, 40))
def test_there_and_back_never_gains(epsilon: Fraction, digits: int) -> None:
    delta = Fraction(1, 10**digits)
    rho = rho_of(epsilon, delta)
    assert GRAIN % rho.denominator == 0
    assert epsilon_of(rho, delta) <= float(epsilon) * (1 + 1e-9)
    assert rho_of(Fraction(epsilon_of(rho, delta)), delta) >= rho * (1 - Fraction(1, 10**9))


def test_without_delta_no_rho_is_pure() -> None:
    assert rho_of(1, 0) == 0
    assert epsilon_of(0.1, 0) == inf
    assert epsilon_of(0, 0) == epsilon_of(0, 1e-6) == 0.0


@pytest.mark.parametrize("wrong", [-1, float("nan"), float("inf"), "x", None])
def test_impossible_conversions_are_refused(wrong: object) -> None:
    for convert in (rho_of, epsilon_of):
        with pytest.raises(ValueError, match=r"^[A-Z].*\.$"):
            convert(wrong, 1e-6)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=r"^[A-Z].*\.$"):
            convert(1, wrong)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="below 1"):
            convert(1, 1)


def small_or_dyadic(x: Fraction) -> bool:
    a, b = x.numerator, x.denominator
    return max(a, b) < 2**20 or (max(a, b) < 2**45 and b & (b - 1) == 0)


@settings(deadline=None)
@given(sensitivities, amounts, st.sampled_from(["epsilon", "rho"]))
def test_calibrated_laplace_costs_at_most_what_was_given_and_hardly_less(
    s: int, amount: Fraction, unit: str
) -> None:
    given_ = Cost(unit, amount)  # type: ignore[arg-type]
    scale = laplace_scale(s, given_)
    assert small_or_dyadic(scale)
    assert cost(Laplace(s, scale), unit) <= given_  # type: ignore[arg-type]
    tighter = Laplace(s, scale * (1 - Fraction(1, 10**9)) - Fraction(1, 2**43))
    assert not cost(tighter, unit) <= given_  # type: ignore[arg-type]


@settings(deadline=None)
@given(st.integers(1, 2**48), amounts)
def test_calibrated_gaussian_costs_at_most_what_was_given_and_hardly_less(
    l2_squared: int, amount: Fraction
) -> None:
    given_ = Cost("rho", amount)
    sigma = gaussian_sigma(l2_squared, given_)
    assert small_or_dyadic(sigma)
    assert cost(Gaussian(l2_squared, sigma), "rho") <= given_
    tighter = Gaussian(l2_squared, sigma * (1 - Fraction(1, 10**9)) - Fraction(1, 2**43))
    assert not cost(tighter, "rho") <= given_


@settings(deadline=None)
@given(amounts, st.sampled_from(["epsilon", "rho"]), st.booleans())
def test_calibrated_selection_costs_at_most_what_was_given_and_hardly_less(
    amount: Fraction, unit: str, bounded_range: bool
) -> None:
    given_ = Cost(unit, amount)  # type: ignore[arg-type]
    epsilon = selection_epsilon(given_, bounded_range)
    event = Exponential if bounded_range else PermuteAndFlip
    assert small_or_dyadic(epsilon)
    assert cost(event(epsilon), unit) <= given_  # type: ignore[arg-type]
    assert not cost(event(epsilon * (1 + Fraction(1, 10**9)) + Fraction(1, 2**43)), unit) <= given_  # type: ignore[arg-type]


def test_scales_that_are_small_rationals_stay_exact() -> None:
    assert laplace_scale(1, Cost("epsilon", 0.1)) == 10
    assert laplace_scale(1, Cost("epsilon", Fraction(1, 7))) == 7
    assert laplace_scale(3, Cost("epsilon", Fraction(9, 7))) == Fraction(7, 3)
    assert laplace_scale(2**20, Cost("epsilon", 0.1)) == 10 * 2**20
    assert laplace_scale(1, Cost("rho", Fraction(1, 200))) == 10
    assert gaussian_sigma(2, Cost("rho", 1)) == 1
    assert selection_epsilon(Cost("epsilon", Fraction(1, 3)), False) == Fraction(1, 3)
    assert selection_epsilon(Cost("rho", Fraction(1, 18)), False) == Fraction(1, 3)
    assert selection_epsilon(Cost("rho", Fraction(1, 72)), True) == Fraction(1, 3)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: laplace_scale(2**45, Cost("epsilon", Fraction(1, 3))),
        lambda: laplace_scale(2**46, Cost("epsilon", 1)),
        lambda: gaussian_sigma(2**92, Cost("rho", 1)),
        lambda: laplace_scale(1, Cost.zero("epsilon")),
        lambda: laplace_scale(1, Cost.of_grains("epsilon", 1)),
        lambda: selection_epsilon(Cost.of_grains("epsilon", 1), True),
        lambda: selection_epsilon(Cost("epsilon", 2**46), True),
    ],
)
def test_scales_that_cannot_be_expressed_are_refused(ask: Callable[[], Fraction]) -> None:
    with pytest.raises(RangeTooLarge, match=r"^[A-Z].*\.$"):
        ask()


def test_gaussian_noise_for_a_pure_budget_is_refused() -> None:
    with pytest.raises(UnknownEvent, match=r"^[A-Z].*\.$"):
        gaussian_sigma(1, Cost("epsilon", 1))


@pytest.mark.parametrize("s", [0, -1, float("nan")])
def test_noise_for_no_sensitivity_is_refused(s: float) -> None:
    with pytest.raises(ValueError, match=r"^[A-Z].*\.$"):
        laplace_scale(s, Cost("epsilon", 1))


def laplace_moment(s: int, scale: Fraction, a: mpmath.mpf) -> mpmath.mpf:
    """sum over x of P(x)^alpha Q(x)^(1 - alpha) for discrete Laplace noise moved by s, term by term."""
    step = 1 / mp(scale)
    z = (1 - mpmath.exp(-step)) / (1 + mpmath.exp(-step))

    def term(x: int) -> mpmath.mpf:
        return z * mpmath.exp(-step * ((1 + a) * abs(x) - a * abs(x - s)))

    middle = mpmath.fsum(term(x) for x in range(s + 1))
    ends = term(0) + term(s)
    return middle + ends * mpmath.exp(-step) / (1 - mpmath.exp(-step))  # both tails are geometric in step


@pytest.mark.parametrize("a", [1e-4, 0.1, 1.0, 7.3, 100.0, 1e5])
@pytest.mark.parametrize(("s", "scale"), [(1, 1), (1, 10), (2, 3), (5, 50), (40, 7), (300, 3000), (1, 1000)])
def test_laplace_divergence_is_that_of_the_discrete_noise_and_never_below_it(
    s: int, scale: int, a: float
) -> None:
    order = mpmath.mpf(a)
    true = mpmath.log(laplace_moment(s, Fraction(scale), order)) / order
    found = renyi_of_laplace(s / scale, 1 / scale, a)
    assert mpmath.mpf(found) >= true * (1 - mpmath.mpf("1e-15"))
    assert found == pytest.approx(float(true), rel=1e-8)
    # [Mir17] Prop. 6, the continuous curve, would be too small.
    e = mpmath.mpf(s) / scale
    continuous = (1 + order) / (1 + 2 * order) * mpmath.exp(order * e) + order / (1 + 2 * order) * mpmath.exp(
        -(1 + order) * e
    )
    assert mpmath.log(continuous) / order < true


@pytest.mark.parametrize("a", [1e-3, 0.5, 3.0, 50.0, 1e4])
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 4.0, 20.0])
def test_bounded_range_divergence_is_above_every_two_point_pair_and_reached_by_one(
    epsilon: float, a: float
) -> None:
    e, order = mpmath.mpf(epsilon), mpmath.mpf(a)

    def pair(t: mpmath.mpf) -> mpmath.mpf:
        q = (mpmath.exp(-t) - mpmath.exp(-e)) / (1 - mpmath.exp(-e))
        p = mpmath.exp(t) * q
        return mpmath.log(p * mpmath.exp(order * t) + (1 - p) * mpmath.exp(order * (t - e))) / order

    true = max(pair(e * i / 2000) for i in range(2001))
    found = renyi_of_bounded_range(epsilon, a)
    assert mpmath.mpf(found) >= true
    assert found == pytest.approx(float(true), rel=1e-3)
