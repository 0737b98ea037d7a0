"""Clopper-Pearson bounds on a probability, and what two of them say about epsilon."""

from __future__ import annotations

from math import exp, inf, lgamma, log, log1p


def epsilon_bound(
    hits: int, of: int, neighbour_hits: int, neighbour_of: int, delta: float, alarm: float
) -> float:
    """A lower bound on epsilon that is wrong with probability at most `alarm`, from one event's counts.

    (epsilon, delta)-DP says p <= e^epsilon q + delta; p is bounded from below and q from above, each with
    half of `alarm` [CP34].

    Args:
        hits, of: how often the event was seen on one data set.
        neighbour_hits, neighbour_of: and on its neighbour.
        delta: the claim's delta.
        alarm: the probability of being wrong.

    >>> round(epsilon_bound(900, 1000, 100, 1000, 0.0, 1e-6), 2)
    1.71
    """
    p = lower(hits, of, alarm / 2) - delta
    q = upper(neighbour_hits, neighbour_of, alarm / 2)
    return log(p / q) if p > 0 else -inf


def lower(hits: int, of: int, alarm: float) -> float:
    """A probability that is too high with probability at most `alarm`."""
    if hits == 0:
        return 0.0
    return _root(lambda p: beta_cdf(hits, of - hits + 1, p) <= alarm)


def upper(hits: int, of: int, alarm: float) -> float:
    """A probability that is too low with probability at most `alarm`."""
    return 1.0 - lower(of - hits, of, alarm)


def _root(holds: object) -> float:
    """The largest p in [0, 1] for which a condition that holds at 0 still holds."""
    low, high = 0.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)  # type: ignore[operator]
    return low


def beta_cdf(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function I_x(a, b), by its continued fraction (Lentz).

    >>> round(beta_cdf(2, 3, 0.5), 6)
    0.6875
    """
    if x <= 0.0 or x >= 1.0:
        return 0.0 if x <= 0.0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1.0 - beta_cdf(b, a, 1.0 - x)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x))
    return front * _fraction(a, b, x) / a


def _fraction(a: float, b: float, x: float) -> float:
    tiny = 1e-300
    c, d = 1.0, 1.0 / _away(1.0 - (a + b) * x / (a + 1), tiny)
    value = d
    for m in range(1, 100_000):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 / _away(1.0 + step * d, tiny)
            c = _away(1.0 + step / c, tiny)
            value *= c * d
        if abs(c * d - 1.0) < 1e-14:
            return value
    return value


def _away(x: float, tiny: float) -> float:
    return x if abs(x) > tiny else tiny
