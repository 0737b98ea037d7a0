"""Private choices and randomised response have exactly the probabilities of their theorems.

Every statistical test here has false-alarm probability 1e-6 (stated once, as ALARM) and is never retried.
"""

from __future__ import annotations

import hashlib
from fractions import Fraction
from itertools import permutations

import mpmath
import numpy as np
import pytest
from scipy import stats

from hedgerow.curator.noise import selection
from hedgerow.curator.noise.noise import os_entropy
from hedgerow.errors import RangeTooLarge

ALARM = 1e-6
DRAWS = 5_000
TOP = np.iinfo(np.int64).max
BOTTOM = np.iinfo(np.int64).min
MECHANISMS = [selection.exponential, selection.permute_and_flip]
CASES = {  # scores, sensitivity, epsilon
    "small": ([0, 1, 2, 4], 1, Fraction(1)),
    "ties": ([3, 3, 0, 3], 1, Fraction(3, 2)),
    "one candidate": ([7], 1, Fraction(1)),
    "fractional sensitivity": ([0, 1, 2], Fraction(3, 7), Fraction(1, 2)),
    "lattice": ([0, 2**44, 2**45, 3 * 2**43], 2**44, Fraction(2)),
    "top of int64": ([BOTTOM, TOP, TOP - 1, TOP - 3], 1, Fraction(1)),
    "bottom of int64": ([BOTTOM, BOTTOM + 2, BOTTOM + 1], 1, Fraction(2)),
    "whole of int64": ([BOTTOM, 0, TOP], 2**40, Fraction(1, 8)),
    "rate with large parts": ([0, 3, 6], Fraction(10**20 + 39, 10**20), Fraction(10**19 + 51, 10**19)),
}


def heads(scores: list[int], sensitivity: int | Fraction, epsilon: Fraction) -> list[float]:
    """exp(-epsilon gap / (2 sensitivity)) for each candidate, in exact gaps."""
    return [
        float(mpmath.exp(-mpmath.mpf(1) * (max(scores) - u) * epsilon / (2 * sensitivity))) for u in scores
    ]


def probabilities(mechanism: object, coins: list[float]) -> np.ndarray:
    """What the theorem says, by definition: normalised weights, or a walk over all orders."""
    if mechanism is selection.exponential:
        return np.array(coins) / sum(coins)
    result = np.zeros(len(coins))
    orders = list(permutations(range(len(coins))))
    for order in orders:
        still = 1.0
        for i in order:
            result[i] += still * coins[i] / len(orders)
            still *= 1 - coins[i]
    return result


def p_value(seen: np.ndarray, expected: np.ndarray) -> float:
    """Chi-square p-value; a candidate that expects less than 1e-9 draws must not be seen at all.

    With 100 expected draws or more a p-value of ALARM / 2 has, by enumeration, a chance below ALARM.
    """
    impossible = expected < 1e-9
    assert seen[impossible].sum() == 0
    seen, expected = seen[~impossible], expected[~impossible]
    assert (expected >= 100).all()
    return (
        float(stats.chisquare(seen, expected * (seen.sum() / expected.sum())).pvalue)
        if seen.size > 1
        else 1.0
    )


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_choices_have_the_probabilities_of_the_theorem(mechanism, case: str) -> None:
    scores, sensitivity, epsilon = CASES[case]
    array = np.array(scores, dtype=np.int64)
    chosen = [mechanism(array, sensitivity, epsilon, os_entropy) for _ in range(DRAWS)]
    seen = np.bincount(chosen, minlength=len(scores))
    exact = probabilities(mechanism, heads(scores, sensitivity, epsilon))
    assert p_value(seen, exact * DRAWS) > ALARM / 2


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_true_epsilon_is_accepted_and_a_fifth_less_or_more_is_rejected(mechanism) -> None:
    scores, draws = [0, 1, 2, 4], 4 * DRAWS
    array = np.array(scores, dtype=np.int64)
    chosen = [mechanism(array, 1, Fraction(1), os_entropy) for _ in range(draws)]
    seen = np.bincount(chosen, minlength=4)

    def p(epsilon: Fraction) -> float:
        return p_value(seen, probabilities(mechanism, heads(scores, 1, epsilon)) * draws)

    assert p(Fraction(1)) > ALARM / 2
    # A fifth shifts the statistic by more than 300, nine standard deviations past the limit of 31.
    assert p(Fraction(4, 5)) < ALARM
    assert p(Fraction(6, 5)) < ALARM


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_many_equal_candidates_are_chosen_uniformly(mechanism) -> None:
    """Twenty draws in each tenth: by enumeration the statistic passes this limit with probability 9.6e-7."""
    scores = np.zeros(100_000, dtype=np.int64)
    chosen = np.array([mechanism(scores, 1, Fraction(1), os_entropy) for _ in range(200)])
    assert stats.chisquare(np.bincount(chosen // 10_000, minlength=10)).pvalue > ALARM / 2


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_one_far_better_among_a_million_is_found(mechanism) -> None:
    """Fails with probability below 1e6 exp(-1000)."""
    scores = np.zeros(1_000_000, dtype=np.int64)
    scores[123_456] = 2000
    assert mechanism(scores, 1, Fraction(1), os_entropy) == 123_456


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_choices_without_candidates_or_sensitivity_are_refused(mechanism) -> None:
    three = np.array([1, 2, 3])
    with pytest.raises(ValueError, match="at least one candidate"):
        mechanism(np.array([], dtype=np.int64), 1, Fraction(1), os_entropy)
    with pytest.raises(ValueError, match="sensitivity above zero"):
        mechanism(three, 0, Fraction(1), os_entropy)
    with pytest.raises(ValueError, match="epsilon above zero"):
        mechanism(three, 1, Fraction(0), os_entropy)
    with pytest.raises(TypeError, match="int64"):
        mechanism(three.astype(float), 1, Fraction(1), os_entropy)
    with pytest.raises(TypeError, match="never floats"):
        mechanism(three, 1, 0.5, os_entropy)
    with pytest.raises(RangeTooLarge, match="2\\*\\*-44"):
        mechanism(three, 2**60, Fraction(1, 2**10), os_entropy)


def test_rates_are_rounded_down_and_never_by_much() -> None:
    for i in range(400):
        raw = hashlib.shake_256(i.to_bytes(2, "big")).digest(30)
        top = int.from_bytes(raw[: 1 + i % 15], "big") + 1
        rate = Fraction(top, int.from_bytes(raw[15 : 16 + i // 15 % 15], "big") + 1)
        if rate < Fraction(1, 2**44):
            continue
        p, q = selection._rate_below(rate)
        assert 1 <= p < 2**45
        assert 1 <= q < 2**45
        assert Fraction(p, q) <= rate
        if rate < 2**44:
            assert Fraction(p, q) >= rate * (1 - Fraction(1, 2**42))


@pytest.mark.parametrize(
    ("levels", "epsilon"), [(2, Fraction(1)), (5, Fraction(1, 2)), (3, Fraction(3)), (1000, Fraction(5))]
)
def test_randomised_response_keeps_and_spreads_as_declared(levels: int, epsilon: Fraction) -> None:
    size = 1_000_000
    codes = np.arange(size) % levels
    noisy = selection.randomized_response(codes, levels, epsilon, os_entropy)
    keep = float(mpmath.exp(epsilon) / (mpmath.exp(epsilon) + levels - 1))
    moved = (noisy - codes) % levels  # 0 is "kept"; every other shift is equally likely
    seen = np.bincount(moved, minlength=levels)
    expected = np.r_[keep, np.full(levels - 1, (1 - keep) / (levels - 1))] * size
    assert stats.chisquare(seen, expected).pvalue > ALARM / 2
    low = moved[codes < levels // 2] == 0  # the true code does not matter
    assert stats.binomtest(int(low.sum()), low.size, keep).pvalue > ALARM / 2


def test_keep_digits_are_the_digits_of_the_keep_probability() -> None:
    with mpmath.workprec(600):
        for levels, epsilon in (
            (2, Fraction(1)),
            (11, Fraction(7, 3)),
            (10**6, Fraction(20)),
            (3, Fraction(1, 10**6)),
        ):
            exact = 1 / (1 + (levels - 1) * mpmath.exp(-mpmath.mpf(epsilon.numerator) / epsilon.denominator))
            for bits in (8, 64, 400):
                digits = selection._keep_digits(epsilon, levels, bits)
                assert digits == int(mpmath.floor(exact * mpmath.mpf(2) ** bits))


@pytest.mark.parametrize("third", [0, 255])
def test_a_tie_with_the_digits_is_decided_by_further_bytes_and_only_by_them(third: int) -> None:
    """All 65536 two-byte prefixes, once each: exactly those below the digits are heads; the tie goes on."""

    class Bytes:
        private = False
        rounds = iter([np.repeat(np.arange(256), 256), np.arange(256), np.array([third])])

        def bytes(self, n: int) -> bytes:
            drawn = next(self.rounds).astype(np.uint8).tobytes()
            assert len(drawn) == n
            return drawn

    def digits(bits: int) -> int:
        return selection._keep_digits(Fraction(1), 2, bits)

    # 256 coins share each first byte; those that tie meet every second byte; the one still tied, `third`.
    coins = selection._below(digits, 65536, Bytes(), word=8)
    assert int(coins.sum()) == digits(16) + (third < digits(24) % 256)


def test_randomised_response_refuses_bad_codes_levels_and_epsilon() -> None:
    codes = np.array([0, 1, 2])
    with pytest.raises(ValueError, match="levels - 1"):
        selection.randomized_response(codes, 2, Fraction(1), os_entropy)
    with pytest.raises(ValueError, match="at least one level"):
        selection.randomized_response(codes, 0, Fraction(1), os_entropy)
    with pytest.raises(ValueError, match="epsilon above 0"):
        selection.randomized_response(codes, 3, Fraction(0), os_entropy)
    with pytest.raises(TypeError, match="never a float"):
        selection.randomized_response(codes, 3, 0.5, os_entropy)
