"""Exact private choice among candidates, and exact K-ary randomised response, on top of the exact coins.

Nothing here charges a budget: the Curator charges the ledger before it calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from math import ceil, factorial
from numbers import Rational

import numpy as np
from numpy.typing import NDArray

from hedgerow.curator.noise.noise import Entropy, bernoulli_exps, tell, uniform_below
from hedgerow.errors import RangeTooLarge

_BOUND = 1 << 45  # numerator and denominator of the rate stay below this
_REACH = 1 << 62  # (largest gap kept) * numerator stays at or below this
_BATCH = 1 << 10  # first number of candidates tried at once: changes speed, not the distribution


def exponential(
    scores: NDArray[np.int64], sensitivity: int | Fraction, epsilon: Fraction, entropy: Entropy
) -> int:
    """The exponential mechanism: candidate i with probability proportional to exp(epsilon u_i / (2 Delta)).

    epsilon-DP [MT07]; epsilon-bounded range, so (epsilon**2 / 8)-zCDP [CR21]. The Curator makes the charge.
    A uniform candidate is kept with probability exp(-rate * gap), gap = max u - u_i, until one is kept; rate
    is epsilon / (2 Delta) rounded down to p/q with p, q < 2**45, which can only make it more private.
    Gaps are clamped at C = 2**62 // p, a function of epsilon and Delta alone. The scores
    u'_i = max(u_i, max_j u_j - C) have u's sensitivity: maxima of functions of sensitivity Delta have Delta.

    Args:
        scores: one integer per candidate, larger is better, any int64.
        sensitivity: Delta > 0, the most that one unit changes any score.
        epsilon: > 0, what the choice costs.
        entropy: where the bytes come from.

    >>> from hedgerow.curator.noise.noise import os_entropy
    >>> exponential(np.array([0, 10**6, 5]), 1, Fraction(1), os_entropy)
    1
    """
    return int(exponentials(scores, sensitivity, epsilon, 1, entropy)[0])


def exponentials(
    scores: NDArray[np.int64],
    sensitivity: int | Fraction,
    epsilon: Fraction,
    times: int,
    entropy: Entropy,
) -> NDArray[np.int64]:
    """So many independent choices of the exponential mechanism; each costs what `exponential` does."""
    exponents, q = _exponents(scores, sensitivity, epsilon)
    tell(entropy, "exponential", scores, sensitivity, epsilon, times)
    batch = min(_BATCH, 4 * exponents.size)
    chosen: list[NDArray[np.int64]] = []
    missing = times
    while missing:
        candidates = uniform_below(exponents.size, batch, entropy)
        kept = candidates[bernoulli_exps(exponents[candidates], q, entropy).astype(np.bool_)][:missing]
        chosen.append(kept)
        missing -= kept.size
        batch = min(2 * batch, 1 << 17)
    return np.concatenate(chosen).astype(np.int64)


def permute_and_flip(
    scores: NDArray[np.int64], sensitivity: int | Fraction, epsilon: Fraction, entropy: Entropy
) -> int:
    """Permute-and-flip: never worse than `exponential` under pure epsilon, but not bounded-range.

    epsilon-DP [MS20] Thm 1, hence (epsilon**2 / 2)-zCDP. The Curator makes the charge.
    The paper visits candidates in random order and stops at the first whose coin exp(-rate * gap) is true.
    The coins do not depend on the order, so that is a uniform choice among all whose coin is true: one coin
    each (the best one's is always true), one uniform draw. Rate, gaps and clamp as in `exponential`.

    Args:
        scores: one integer per candidate, larger is better, any int64.
        sensitivity: Delta > 0, the most that one unit changes any score.
        epsilon: > 0, what the choice costs.
        entropy: where the bytes come from.

    >>> from hedgerow.curator.noise.noise import os_entropy
    >>> permute_and_flip(np.array([0, 10**6, 5]), 1, Fraction(1), os_entropy)
    1
    """
    exponents, q = _exponents(scores, sensitivity, epsilon)
    tell(entropy, "permute_and_flip", scores, sensitivity, epsilon, 1)
    heads = np.flatnonzero(bernoulli_exps(exponents, q, entropy))
    return int(heads[uniform_below(heads.size, 1, entropy)[0]])


def randomized_response(
    codes: NDArray[np.int64], levels: int, epsilon: Fraction, entropy: Entropy
) -> NDArray[np.int64]:
    """Each code kept with probability e**epsilon / (e**epsilon + levels - 1), else another one, uniformly.

    epsilon-DP for each code (local model) [W65]. The Curator makes the charge.
    The keep probability is irrational; a uniform word is compared with its exact binary digits, and further
    words are drawn while they tie, so there is no float and no rounding, whatever levels is.

    Args:
        codes: integers from 0 to levels - 1.
        levels: K >= 1, declared in the schema.
        epsilon: > 0, what one code costs.
        entropy: where the bytes come from.

    >>> from hedgerow.curator.noise.noise import os_entropy
    >>> randomized_response(np.array([0, 1, 2]), 3, Fraction(100), os_entropy)
    array([0, 1, 2])
    """
    if levels < 1:
        raise ValueError("randomised response needs at least one level")
    if not isinstance(epsilon, Rational):
        raise TypeError("epsilon is an exact fraction, never a float")
    if not 0 < epsilon <= 1000:
        raise ValueError("randomised response needs an epsilon above 0 and at most 1000")
    codes = np.asarray(codes, dtype=np.int64)
    if codes.size and not 0 <= int(codes.min()) <= int(codes.max()) < levels:
        raise ValueError("the codes must lie between 0 and levels - 1")
    tell(entropy, "randomized_response", codes, levels, epsilon)
    if levels == 1:
        return codes.copy()
    keep = _below(lambda bits: _keep_digits(epsilon, levels, bits), codes.size, entropy)
    other = uniform_below(levels - 1, codes.size, entropy).reshape(codes.shape)
    other += other >= codes  # the levels without the true one, renumbered
    return np.where(keep.reshape(codes.shape), codes, other)


def exponential_levels(
    gaps: Sequence[int],
    weights: Sequence[int],
    sensitivity: int | Fraction,
    epsilon: Fraction,
    entropy: Entropy,
) -> int:
    """The exponential mechanism over a range that is only counted: level i with odds w_i exp(-rate gap_i).

    A level holds w_i candidates of the same score, gap_i below the best; the rate is epsilon / (2 Delta),
    exactly. One of its candidates, chosen uniformly, is then the exponential mechanism's choice: epsilon-DP
    [MT07], epsilon-bounded range [DDR20]. The Curator makes the charge. A uniform number, known to some bits,
    is compared with rational enclosures of the cumulative odds; both are refined until one level is certain.

    Args:
        gaps: whole numbers of any length, 0 or more.
        weights: how many candidates each level has; whole numbers of any length, not all 0.
        sensitivity: Delta > 0, the most that one unit changes any score.
        epsilon: > 0, what the choice costs.
        entropy: where the bytes come from.

    >>> from hedgerow.curator.noise.noise import os_entropy
    >>> exponential_levels([10**9, 0, 3], [10**30, 1, 0], 1, Fraction(1), os_entropy)
    1
    """
    if not (isinstance(sensitivity, Rational) and isinstance(epsilon, Rational)):
        raise TypeError("sensitivity and epsilon are exact fractions, never floats")
    if sensitivity <= 0 or epsilon <= 0:
        raise ValueError("a choice needs a sensitivity and an epsilon above zero")
    some = [i for i, w in enumerate(weights) if w > 0]
    if not some:
        raise ValueError("a choice needs at least one candidate")
    tell(entropy, "exponential_levels", gaps, sensitivity, epsilon, 1)
    rate = Fraction(epsilon) / (2 * Fraction(sensitivity))
    exponents = [rate * gaps[i] for i in some]
    drawn, digits = b"", 40
    while True:
        drawn += entropy.bytes(digits // 2 - len(drawn))
        place = _place(exponents, [weights[i] for i in some], drawn, digits)
        if place is not None:
            return some[place]
        digits *= 2


def _place(exponents: list[Fraction], weights: list[int], drawn: bytes, digits: int) -> int | None:
    """Where a uniform number falls among the cumulative odds, if enclosures of so many digits can tell."""
    down, up = (
        Context(prec=digits, rounding=r, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
        for r in (ROUND_FLOOR, ROUND_CEILING)
    )
    below, above = [Decimal(0)], [Decimal(0)]
    for x, w in zip(exponents, weights, strict=True):
        over, under = Decimal(-x.numerator), Decimal(x.denominator)
        # `exp` rounds to nearest whatever the context says: one unit in the last place on each side holds it.
        low = max(Decimal(0), down.next_minus(down.exp(down.divide(over, under))))
        high = up.next_plus(up.exp(up.divide(over, under)))
        below.append(down.add(below[-1], down.multiply(Decimal(w), low)))
        above.append(up.add(above[-1], up.multiply(Decimal(w), high)))
    number, unit = int.from_bytes(drawn, "big"), Decimal(1 << 8 * len(drawn))
    least = down.multiply(down.divide(Decimal(number), unit), below[-1])
    most = up.multiply(up.divide(Decimal(number + 1), unit), above[-1])
    for i in range(len(weights)):
        if least >= above[i] and (most <= below[i + 1] or i + 1 == len(weights)):
            return i
    return None


def _exponents(
    scores: NDArray[np.int64], sensitivity: int | Fraction, epsilon: Fraction
) -> tuple[NDArray[np.int64], int]:
    """(p * clamped gaps, q): candidate i's coin is exp(-p gap_i / q), p/q = epsilon / (2 Delta) or less."""
    if scores.ndim != 1 or scores.size == 0:
        raise ValueError("a choice needs at least one candidate score in a flat array")
    if scores.dtype != np.int64:
        raise TypeError("scores are exact integers in an int64 array")
    if not (isinstance(sensitivity, Rational) and isinstance(epsilon, Rational)):
        raise TypeError("sensitivity and epsilon are exact fractions, never floats")
    if sensitivity <= 0:
        raise ValueError("a choice needs a sensitivity above zero; with zero the scores are public")
    if epsilon <= 0:
        raise ValueError("a choice needs an epsilon above zero")
    p, q = _rate_below(Fraction(epsilon) / (2 * Fraction(sensitivity)))
    # The difference of two int64 always fits in uint64, modulo 2**64: no overflow at the extremes.
    flat = np.ascontiguousarray(scores).view(np.uint64)
    gaps = np.uint64(int(scores.max()) % 2**64) - flat
    return np.minimum(gaps, np.uint64(_REACH // p)).astype(np.int64) * p, q


def _rate_below(rate: Fraction) -> tuple[int, int]:
    """The rate itself if its parts fit below 2**45, else p/q <= rate within one part in about 2**44."""
    p, q = rate.numerator, rate.denominator
    if p < _BOUND and q < _BOUND:
        return p, q
    if rate >= 1:
        q = max(1, int((_BOUND - 1) / rate))
        p = min(int(rate * q), _BOUND - 1)
    else:
        p = int(rate * (_BOUND - 2))
        if p == 0:
            raise RangeTooLarge("epsilon / (2 sensitivity) must be at least 2**-44 for an exact choice")
        q = ceil(p / rate)
    return p, q


def _below(digits: Callable[[int], int], size: int, entropy: Entropy, word: int = 64) -> NDArray[np.bool_]:
    """Coins of irrational probability x, given digits(bits) = floor(x * 2**bits), word bits at a time."""
    out = np.zeros(size, dtype=np.bool_)
    tied = np.arange(size)
    bits = 0
    while tied.size:
        bits += word
        threshold = digits(bits) % 2**word
        drawn = np.frombuffer(entropy.bytes(tied.size * word // 8), dtype=f"<u{word // 8}")
        out[tied] = drawn < threshold
        tied = tied[drawn == threshold]
    return out


def _keep_digits(epsilon: Fraction, levels: int, bits: int) -> int:
    """floor(2**bits / (1 + (levels - 1) e**-epsilon)), exactly: the enclosure narrows until it decides."""
    # e**-epsilon is irrational for rational epsilon != 0 [Lambert], so some enclosure always decides.
    terms = 64
    while True:
        low, high = _exp_between(Fraction(epsilon), terms)
        ends = {2**bits * inverse // (inverse + levels - 1) for inverse in (low, high)}
        if len(ends) == 1:
            return int(ends.pop())
        terms *= 2


def _exp_between(x: Fraction, terms: int) -> tuple[Fraction, Fraction]:
    """Rationals around e**x, 0 < x, from Taylor's series; the remainder bound needs terms >= 2 x."""
    terms = max(terms, 2 * int(x) + 2)
    over, under = 1, 1  # Horner's rule from the last term inwards: over/under = 1 + x/k * (over/under)
    for k in range(terms - 1, 0, -1):
        under *= x.denominator * k
        over = under + x.numerator * over
    partial = Fraction(over, under)
    # The ratio of further terms is at most x / (terms + 1) <= 1/2, so they sum to at most twice the first.
    return partial, partial + 2 * x**terms / factorial(terms)
