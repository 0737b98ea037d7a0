"""Running totals by the square root of the summing matrix ([DMRST22], [FHU23]), in whole numbers.

The theorem and its proof are in docs/privacy/growing.md; no data here.
"""

from __future__ import annotations

from functools import lru_cache
from math import sqrt

from hedgerow.errors import BadValue

STEPS = 1024
"""c_0: how many lattice steps of noise a row of the same day is worth."""

MOST = 1 << 14
"""The longest horizon, in days."""


@lru_cache(maxsize=16)
def running_coefficients(horizon: int) -> tuple[int, ...]:
    """c_j = round(1024 C(2j, j) / 4^j), exactly, for j below the horizon.

    >>> running_coefficients(4)
    (1024, 512, 384, 320)
    """
    if isinstance(horizon, bool) or not isinstance(horizon, int) or not 1 <= horizon <= MOST:
        raise BadValue(f"A horizon is a whole number of days, from 1 to {MOST:,}, not {horizon!r}.")
    found, above, below = [], STEPS, 1  # 1024 C(2j, j) / 4^j = above / below
    for j in range(horizon):
        found.append((2 * above + below) // (2 * below))
        above, below = above * (2 * j + 1), below * (2 * j + 2)
        if below.bit_length() > 256:  # as good as exact: the next coefficients differ by far more
            shift = below.bit_length() - 192
            above, below = above >> shift, below >> shift
    return tuple(found)


def running_norm_squared(horizon: int) -> int:
    """By how much, squared, a row moves the answers of all days at most: c_0^2 + ... + c_(T-1)^2.

    >>> running_norm_squared(2)
    1310720
    """
    return sum(c * c for c in running_coefficients(horizon))


@lru_cache(maxsize=16)
def running_weights(horizon: int) -> tuple[float, ...]:
    """r_j, by which answers of earlier days add up to a total: 1 / ((1 - x) c(x)) as a power series.

    They act on released numbers only, so floats do.
    """
    c = running_coefficients(horizon)
    inverse: list[float] = []
    for j in range(horizon):
        known = sum(c[i] * inverse[j - i] for i in range(1, j + 1))
        inverse.append(((1.0 if j == 0 else 0.0) - known) / c[0])
    weights, total = [], 0.0
    for step in inverse:
        total += step
        weights.append(total)
    return tuple(weights)


def running_factor(day: int, horizon: int) -> float:
    """The noise of a day's total in units of one total measured alone at the whole price.

    >>> round(running_factor(365, 365), 2)
    2.94
    """
    if not 1 <= day <= horizon:
        raise BadValue(f"A day lies between 1 and the horizon {horizon}, not at {day}.")
    weights = running_weights(horizon)[:day]
    return sqrt(running_norm_squared(horizon) * sum(r * r for r in weights))
