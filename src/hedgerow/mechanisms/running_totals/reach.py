"""reach: how far off a running total may be; known before a row is read."""

from __future__ import annotations

from fractions import Fraction
from math import log, sqrt
from statistics import NormalDist

from hedgerow.errors import BadValue
from hedgerow.privacy.bounds.running import running_weights

_COUPLED = 4  # steps: from there on a discrete Gaussian and a normal can be a step apart at most


def reach(day: int, horizon: int, sigma: Fraction, confidence: float) -> float:
    """A bound of the error of a day's total that holds with a confidence.

    The error is the sum of r_j z_j. For sigma of 4 steps or more each z_j is within one step of a normal
    (docs/privacy/refining.md), so the sum within the sum of |r_j|; below that the sub-Gaussian tail is used.

    >>> round(reach(1, 1, Fraction(10240), 0.95), 1)
    19.6
    """
    beta = 1.0 - confidence
    if not 0.0 < beta < 1.0:
        raise BadValue("confidence must lie strictly between 0 and 1")
    weights = running_weights(horizon)[:day]
    spread = float(sigma) * sqrt(sum(r * r for r in weights))
    if sigma < _COUPLED:
        return spread * sqrt(2.0 * log(2.0 / beta))
    return -spread * NormalDist().inv_cdf(beta / 2.0) + sum(map(abs, weights))
