"""How far off an answer with Laplace noise is that was refined by somebody who had seen it.

The chain V_1, V_2, ... has discrete Laplace noise of scales b_1 > b_2 > ..., each drawn given the one before
(`curator.noise.refined`); how much less noise is left may be chosen in view of all that was said. Z_j is
(|V_j| - 1/2) / b_j, the error in its own scale. The proof of what is bounded here is in
docs/privacy/refining.md.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import ceil, exp

import numpy as np
from numpy.typing import NDArray

from hedgerow.privacy.bounds.refining import least_reach

SHRINK = Fraction(3, 2)
"""A refinement divides the scale at least by this."""
FINEST = 4
"""Lattice steps: noise of a smaller scale is not refined."""

_STEP, _FAR = 0.05, 42.0  # of the grid that tails are tabulated on, and its end: beyond it lies 1e-18
_RATIOS = (0.0, 0.05, 0.15, 0.35, float(1 / SHRINK))  # of scales, in pieces
_ROUNDED = exp(1 / FINEST)  # what the lattice adds on the far side of a weaker answer
_GRID = np.arange(0.0, _FAR + _STEP, _STEP)


def refined_laplace_reach(step: int, beta: float) -> float:
    """A number k with P(Z_step >= k) <= beta, however the scales were chosen after what was said.

    Args:
        step: how many answers there are; 1 is one that nobody refined.
        beta: how often it may be missed.

    >>> refined_laplace_reach(1, 0.001) < 7 < refined_laplace_reach(2, 0.001) < 8.6
    True
    >>> refined_laplace_reach(9, 0.001) < 10.3
    True
    """
    return least_reach(_missed, step, beta, _FAR, 1e-3)


def refined_laplace_width(scale: Fraction, step: int, beta: float) -> int:
    """Lattice steps that the noise of a chain's answer passes no more often than beta.

    Args:
        scale: of the noise that is left, in lattice steps.
        step: as in `refined_laplace_reach`.
        beta: how often it may be passed.
    """
    return ceil(refined_laplace_reach(step, beta) * float(scale) + 0.5) - 1


def _missed(step: int, k: float) -> float:
    """A bound on P(Z_step >= k)."""
    if step == 1:
        return exp(-k)
    tails = _tails(step - 1)
    return _mean(_worst(k), tails)


def _mean(worst: NDArray[np.float64], tails: NDArray[np.float64]) -> float:
    """The mean of a function that does not decrease, over a law with these tails: from above."""
    return min(1.0, float((worst[1:] * (tails[:-1] - tails[1:])).sum() + tails[-1]))


@lru_cache(maxsize=64)
def _tails(step: int) -> NDArray[np.float64]:
    """The same on the grid."""
    if step == 1:
        return np.asarray(np.exp(-_GRID))
    before = _tails(step - 1)
    return np.minimum.accumulate([_mean(worst, before) for worst in _table()])


@lru_cache(maxsize=1)
def _table() -> NDArray[np.float64]:
    """`_worst` of every number of the grid."""
    return np.array([_worst(float(k)) for k in _GRID])


def _worst(k: float) -> NDArray[np.float64]:
    """The chance that the next answer misses k, at worst, when this one is off by each number of the grid.

    Let u be the new scale over this one's. On a piece a <= u <= b the near side, while it lies within this
    answer's own error (u k <= z), is likeliest at the largest such u, and beyond it at the smallest; the
    other side at a.
    """
    made, z = np.zeros_like(_GRID), _GRID
    if k <= 0:
        return made + 1.0
    best = z / k
    for a, b in pairwise(_RATIOS):
        u = np.minimum(best, b)
        within = np.where(best >= a, (1 + u) / 2 * np.exp(-(1 - u) * k), 0.0)
        u = np.maximum(best, a)
        beyond = np.where(best < b, _ROUNDED * (1 - u) / 2 * np.exp(2 * z - (1 + u) * k), 0.0)
        made = np.maximum(made, np.maximum(within, beyond) + (1 - a) / 2 * np.exp(-(1 + a) * k))
    return np.minimum(np.maximum.accumulate(made), 1.0)
