"""Critical values for answers that are biased by an unknown amount of known mean square."""

from __future__ import annotations

from functools import lru_cache
from math import erfc, exp, log, sqrt
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_STEPS = 40  # of a search for the height of a chord, and for a critical value
_GRID = np.linspace(log(1e-3), log(1e5), 48)  # logarithms of m2 between which critical values are read off


def missed(bias_squared: float, c: float) -> float:
    """The probability that |Z + b| is more than c, Z standard normal.

    >>> round(missed(0.0, 1.959964), 4)
    0.05
    """
    b = sqrt(bias_squared)
    return 0.5 * (erfc((c + b) / sqrt(2.0)) + erfc((c - b) / sqrt(2.0)))


def most_missed(m2: float, c: float) -> float:
    """The largest mean of `missed` over all distributions of a bias whose mean square is m2.

    As a function of b^2, `missed` is concave, or first convex and then concave. So its least concave majorant
    at m2 lies on a chord from 0 to some t >= m2, and the worst biases are 0 and that one [AKP22, Sec. 3].
    """
    if m2 <= 0.0:
        return missed(0.0, c)
    none = missed(0.0, c)

    def chord(x: float) -> float:
        t = m2 * exp(x)
        return none + (missed(t, c) - none) / exp(x)

    low, high = 0.0, log(max((c + 6.0) ** 2 / m2, 1.0)) + 1.0
    for _ in range(_STEPS):  # the chord's height has one maximum
        one, two = low + (high - low) / 3.0, high - (high - low) / 3.0
        low, high = (one, high) if chord(one) < chord(two) else (low, two)
    return max(chord(0.0), chord(low))


@lru_cache(maxsize=4096)
def cva(m2: float, confidence: float = 0.95) -> float:
    """How many standard deviations of noise cover on average, whatever the biases are.

    The least c such that most_missed(m2, c) <= 1 - confidence, where m2 is the mean square of biases in units
    of the noise's variance. Then intervals of half-width c sigma cover the truth in `confidence` of all
    answers of a kind, on average over these answers, for any biases with this mean square [AKP22].

    >>> round(cva(0.0), 3), round(cva(1.0) / (1.96 * 2**0.5), 2)
    (1.96, 1.18)
    """
    low, high = 0.0, 2.0 * sqrt((1.0 + m2) / (1.0 - confidence)) + 1.0  # Chebyshev's bound covers
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if most_missed(m2, middle) > 1.0 - confidence else (low, middle)
    return high


@lru_cache(maxsize=64)
def _read_off(confidence: float) -> Floats:
    return np.array([cva(exp(x), confidence) / sqrt(1.0 + exp(x)) for x in _GRID])


def critical_values(m2: Floats, confidence: float) -> Floats:
    """`cva` of many at once, read off between values 1.4 times apart: right to a part in a thousand."""
    given = np.asarray(m2, dtype=np.float64)
    at = np.log(np.clip(given, exp(_GRID[0]), exp(_GRID[-1])))
    return np.asarray(np.interp(at, _GRID, _read_off(confidence)) * np.sqrt(1.0 + given))
