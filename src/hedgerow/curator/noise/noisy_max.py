"""Report-noisy-max: noise on every score, and only the name of the largest is told.

**Theorem** ([DR14] Claim 3.9, for integers and ties). Let scores be integers that move by at most Delta each,
let the noises r_j be independent integers of one law with G(t) = P(r >= t), and let
G(t) <= e^epsilon G(t + s) for all integers t and 0 <= s <= 2 Delta. Ties are broken by a uniform order that
is drawn apart from everything else. Then the choice is epsilon-DP.

Proof. Fix the order, a candidate i and the noises of all others. i is chosen iff r_i >= t_i(D), where t_i(D)
is the largest of u_j + r_j - u_i over the j that come after i in the order, and of u_j + r_j - u_i + 1 over
those before it. From D to D' every u_j rises by at most Delta and u_i falls by at most Delta, so
t_i(D') <= t_i(D) + 2 Delta, and P_D(i) = G(t_i(D)) <= e^epsilon G(t_i(D) + 2 Delta) <= e^epsilon P_D'(i).
Average over the other noises and the order.

Discrete Laplace noise and geometric noise z >= 0 ("exponential", [MS20]) of scale b have
G(t) <= e^(s/b) G(t + s) for all integers t and s >= 0, so b = 2 Delta / epsilon will do. The loss need not
lie in an interval of length epsilon: this is *not* of bounded range, and a rho-ledger charges epsilon^2 / 2.
"""

from __future__ import annotations

from fractions import Fraction
from numbers import Rational
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow.curator.noise.noise import Entropy, discrete_laplace, geometric, tell, uniform_below
from hedgerow.privacy.budget import Cost, laplace_scale

NoisyMaxLaw = Literal["exponential", "laplace"]

_REACH = 1 << 61  # scores further below the best count as this far: as in `selection.exponential`


def noisy_max_scale(sensitivity: int | Fraction, epsilon: Fraction) -> Fraction:
    """b = 2 Delta / epsilon in lattice steps, rounded up to what the samplers take.

    >>> noisy_max_scale(1, Fraction(1, 2))
    Fraction(4, 1)
    """
    if not (isinstance(sensitivity, Rational) and isinstance(epsilon, Rational)):
        raise TypeError("sensitivity and epsilon are exact fractions, never floats")
    if sensitivity <= 0 or epsilon <= 0:
        raise ValueError("a choice needs a sensitivity and an epsilon above zero")
    return laplace_scale(2 * Fraction(sensitivity), Cost("epsilon", Fraction(epsilon)))


def report_noisy_max(
    scores: NDArray[np.int64],
    sensitivity: int | Fraction,
    epsilon: Fraction,
    entropy: Entropy,
    law: NoisyMaxLaw = "exponential",
) -> int:
    """The place of the largest noisy score; epsilon-DP by the theorem above. The Curator makes the charge.

    With exponential noise the choice is within 2 Delta ln(m / beta) / epsilon of the best of m, except with
    probability beta: noise is never negative, and that of the chosen one is no larger than the largest.

    Args:
        scores: one integer per candidate, larger is better, any int64.
        sensitivity: Delta > 0, the most that one unit changes any score.
        epsilon: > 0, what the choice costs.
        entropy: where the bytes come from.
        law: `exponential` (geometric noise z >= 0) or `laplace` (two-sided).

    >>> from hedgerow.curator.noise.noise import os_entropy
    >>> report_noisy_max(np.array([0, 10**6, 5]), 1, Fraction(1), os_entropy)
    1
    """
    if scores.ndim != 1 or scores.size == 0 or scores.dtype != np.int64:
        raise ValueError("a choice needs at least one candidate score in a flat array of exact integers")
    tell(entropy, "report_noisy_max", scores, sensitivity, epsilon, 1)
    sample = geometric if law == "exponential" else discrete_laplace
    noise = sample(noisy_max_scale(sensitivity, epsilon), scores.size, entropy)
    # Only differences matter; that of two int64 fits in uint64. Clamping keeps the sensitivity, see there.
    gaps = np.uint64(int(scores.max()) % 2**64) - np.ascontiguousarray(scores).view(np.uint64)
    noisy = noise - np.minimum(gaps, np.uint64(_REACH)).astype(np.int64)
    best = np.flatnonzero(noisy == noisy.max())
    return int(best[uniform_below(best.size, 1, entropy)[0]])
