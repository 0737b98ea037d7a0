"""Lower bounds: how many answers of which accuracy give rows away, and how much of them epsilon allows.

A table holds n people, each with one secret bit; a question is a set of people and asks how many of their
bits are 1. Bits that fit all answers are close to the true ones: no noise below a level keeps a secret.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil, comb, exp, floor, inf, log

from hedgerow.privacy.bounds.offline import log_whole


def right_bits(epsilon: float, delta: float = 0.0) -> float:
    """How often a uniform secret bit can be guessed from anything (epsilon, delta) private under `replace`.

    (e^eps + delta) / (1 + e^eps): the two output laws are at most (e^eps - 1 + 2 delta) / (e^eps + 1) apart
    in total variation [KOV15], and a guess gains half of that over a coin. With delta = 0 this holds given
    all other bits, so that the number of right guesses is stochastically no larger than a binomial one.

    >>> round(right_bits(1.0), 4), right_bits(0.0)
    (0.7311, 0.5)
    """
    return (1.0 + delta * exp(-epsilon)) / (1.0 + exp(-epsilon))


def most_right(rows: int, epsilon: float, beta: float) -> int:
    """So many of n uniform bits that an epsilon-private output gives away more with probability below beta.

    >>> most_right(200, 1.0, 1e-6), most_right(200, 0.0, 1e-6)
    (174, 133)
    """
    p, tail = right_bits(epsilon), 0.0
    for r in range(rows, -1, -1):
        tail += exp(log(comb(rows, r)) + r * log(p) + (rows - r) * log(1.0 - p)) if p < 1.0 else 1.0
        if tail >= beta:
            return r
    return 0


def all_subsets_wrong(error: float) -> float:
    """[DN03], [DR14] Thm 8.1: bits that fit the answers to *all* sets within E have at most 4 E wrong.

    On the set of all true zeros the fitting bits have at most 2 E ones, on that of all true ones at most 2 E
    zeros. So an error of n / 401 on all sets gives away 99% of the bits, whatever is promised.

    >>> all_subsets_wrong(25.0)
    100.0
    """
    return 4.0 * error


def least_error(rows: int, epsilon: float, delta: float = 0.0, beta: float = 0.0) -> float:
    """The least error on all sets of people that can be private: below it `all_subsets_wrong` tells too much.

    If all answers are within E except with probability beta, (1 - beta) (n - 4 E) bits are right on average,
    and at most `right_bits` of n may be.

    >>> round(least_error(1000, 1.0), 1)
    67.2
    """
    return max(0.0, rows * (1.0 - right_bits(epsilon, delta) / (1.0 - beta)) / 4.0)


def unfit(rows: int, answers: int, error: float, wrong: int) -> float:
    """[DN03] with numbers: how likely bits with more than `wrong` wrong fit k random answers within E.

    Bits that differ in j places move the answer on a random set by a binomial (j, 1/2) less a constant; both
    fit only if that lies in a window of 2 floor(2E) + 1 numbers. Given the true bits there are C(n, j) such
    bits and the k sets are independent: a union bound over j > wrong.

    Args:
        rows: n.
        answers: k, each about a set in which everybody is with probability 1/2.
        error: E, of every answer, in people.
        wrong: how many bits may be wrong.

    >>> unfit(200, 60, 0.0, 0) < 0.05 < unfit(200, 30, 0.0, 0)
    True
    """
    width = 2 * floor(2.0 * error) + 1
    total = sum(
        exp(min(0.0, log_whole(comb(rows, j)) + answers * log(_central(j, width))))
        for j in range(wrong + 1, rows + 1)
    )
    return min(1.0, total)


@lru_cache(maxsize=1 << 14)
def _central(trials: int, width: int) -> float:
    """The mass of the likeliest `width` neighbouring outcomes of `trials` fair coins."""
    if width > trials:
        return 1.0
    first = (trials - width + 1) // 2
    ways = sum(comb(trials, i) for i in range(first, first + width))
    return float(Fraction(ways, 1 << trials))


def answers_needed(rows: int, error: float, wrong: int, beta: float = 0.05) -> float:
    """[DN03] with numbers: so many random answers within E that all but `wrong` bits are known, by `unfit`.

    Infinite where even all sets leave room for more wrong bits.

    Args:
        rows: n.
        error: E, of every answer, in people.
        wrong: how many bits may be wrong.
        beta: how often that may fail.

    >>> answers_needed(200, 0.0, 0), answers_needed(200, 3.0, 50), answers_needed(200, 50.0, 20)
    (57.0, 1578.0, inf)
    """
    if 2 * floor(2.0 * error) + 1 > wrong + 1:
        return inf
    low, high = 0, 1
    while unfit(rows, high, error, wrong) > beta:
        low, high = high, high * 2
        if high > 1 << 40:
            return inf
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if unfit(rows, middle, error, wrong) <= beta else (middle, high)
    return float(high)


def error_that_hides(rows: int, answers: int, epsilon: float, beta: float = 0.05) -> int:
    """The least whole error of k random answers at which they need not give away more than epsilon allows.

    Below it, so many bits are known by `unfit` (except with beta) that nothing which always answers so many
    questions so well is epsilon private: (1 - beta) (n - wrong) right bits on average are above `right_bits`.

    >>> error_that_hides(200, 800, 1.0)
    3
    """
    wrong = ceil(rows * (1.0 - right_bits(epsilon) / (1.0 - beta))) - 1
    error = 0
    while wrong >= 0 and unfit(rows, answers, float(error), wrong) <= beta:
        error += 1
    return error
