"""How far off an answer is that was refined by somebody who had seen it: a chain of measurements.

A chain measures one thing again and again, each time with fresh noise, and answers with the mean of all
measurements, weighed by their precisions (one over the variance). How much is added each time may be chosen
in view of all that was said. The error of the j-th answer, in its own standard deviations, is x_j. The proof
of what is bounded here is in docs/privacy/refining.md.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from math import erfc, inf, sqrt

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import BadValue

LEAST = 2  # a refinement multiplies the precision at least by this
_STEP, _FAR = 0.04, 7.4  # of the grid that tails are tabulated on, and its end: beyond it lies 1e-13
_ROOTS = (2.0**0.5, 1.6, 1.8, 2.0, 2.3, 2.7, 3.3, 4.0, 5.0, 7.0, 12.0, 50.0, inf)  # of growths, in pieces
_GRID = np.arange(0.0, _FAR + _STEP, _STEP)
_tail = np.vectorize(lambda x: erfc(x / 2**0.5) / 2.0, otypes=[np.float64])


def refined_reach(step: int, beta: float) -> float:
    """A number k with P(|x_step| > k) <= beta, however the measurements were chosen after what was said.

    Args:
        step: how many measurements there are; 1 is an answer that nobody refined.
        beta: how often it may be missed.

    >>> refined_reach(1, 0.001) < 3.3 < refined_reach(2, 0.001) < 3.5 < refined_reach(9, 0.001) < 3.7
    True
    """
    return least_reach(_missed, step, beta, _FAR, 1e-4)


def least_reach(
    missed: Callable[[int, float], float], step: int, beta: float, far: float, apart: float
) -> float:
    """About the least number that an error passes no more often than beta.

    Args:
        missed: how often it is passed at most, by step and number.
        step, beta: as in `refined_reach`.
        far: a number that is hardly ever passed.
        apart: by how much more than the least it may be.
    """
    if not isinstance(step, int) or step < 1 or not 1e-12 <= beta < 1.0:
        raise BadValue("a chain has one step or more, and its beta lies between 1e-12 and 1")
    low, high = 0.0, far
    while high - low > apart:
        middle = (low + high) / 2
        low, high = (low, middle) if missed(step, middle) <= beta else (middle, high)
    return high


def _missed(step: int, k: float) -> float:
    """A bound on P(|x_step| > k)."""
    if step == 1:
        return 2.0 * float(_tail(k))
    tails = _tails(step - 1)
    return min(1.0, float((_worst(k)[1:] * (tails[:-1] - tails[1:])).sum() + tails[-1]))


@lru_cache(maxsize=64)
def _tails(step: int) -> NDArray[np.float64]:
    """The same on the grid."""
    return np.minimum.accumulate([_missed(step, float(k)) for k in _GRID])


@lru_cache(maxsize=4096)
def _worst(k: float) -> NDArray[np.float64]:
    """The chance that the next answer misses k, at worst, when this one is off by each number of the grid.

    If the precision grows t-fold, x becomes (x + sqrt(t - 1) N) / sqrt t, N standard normal. On a piece
    a <= sqrt t <= b the nearer side is likeliest at sqrt t = k / x or at the end next to that, and the other
    side at b.
    """
    made, x = np.zeros_like(_GRID), _GRID
    with np.errstate(divide="ignore", invalid="ignore"):
        best = np.where(x > 0, k / x, inf)
    for a, b in pairwise(_ROOTS):
        s = np.clip(best, a, min(b, 1e9))
        near, far = (k * s - x) / np.sqrt(s * s - 1), np.full_like(x, k)
        if b < inf:
            far = (k * b + x) / sqrt(b * b - 1)
        made = np.maximum(made, _tail(near) + _tail(far))
    return np.minimum(np.maximum.accumulate(made), 1.0)
