"""Smoothing: a noisy one-way table whose levels have an order is nearer to the truth with its neighbours."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.learning.factored.consistency import Target

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_FEWEST = 8  # levels: fewer are left as they are
_WIDEST = 64  # levels on each side that count
_CLEARLY = 2.0  # standard errors of its risk by which a smoothed table is to be better
_LEAST = 0.3  # of its noise: what a smoothed table is taken to be off at least


def smoothed(target: Target) -> Target:
    """A noisy one-way table averaged over neighbouring levels, as widely as that lowers its expected error.

    A linear smoother S of y = truth + noise of variance v per level has the squared error |y - S y|^2 - d v +
    2 v trace(S), without bias and for noise of any law [Mallows' C_p]. The raw table has d v, known up to
    about sqrt(2 d) v. Levels without an order, or with a few large ones, are left alone by that.

    >>> bumps = Target(((0, 0),), np.array([9.0, 1.0] * 8) * 1e4, 10.0)
    >>> smoothed(bumps) is bumps
    True
    """
    y, d, v = target.counts, target.counts.size, target.sigma**2
    if len(target.nodes) != 1 or d < _FEWEST:
        return target
    best, least = target, d * v - _CLEARLY * (2.0 * d) ** 0.5 * v
    width = 1
    while width <= min(_WIDEST, d // 4):
        kernel = 1.0 - np.abs(np.arange(-width, width + 1)) / (width + 1.0)
        reach = np.convolve(np.ones(d), kernel, mode="same")
        z = np.convolve(y, kernel, mode="same") / reach
        risk = float(((y - z) ** 2).sum() - d * v + 2.0 * v * (1.0 / reach).sum())
        if risk < least:
            least = risk
            sigma = max((max(risk, 0.0) / d) ** 0.5, _LEAST * target.sigma)
            best = replace(target, counts=z, sigma=sigma)
        width *= 2
    return best
