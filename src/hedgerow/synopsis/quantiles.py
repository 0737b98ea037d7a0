"""Quantiles of errors whose variance is noise and something else that is not known; of small counts too."""

from __future__ import annotations

from functools import lru_cache
from math import erf, exp, log, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

VARIES = 1.3  # the standard deviation of the logarithm of what is not known, between questions of a set
HIDDEN = 0.3  # of the deviation by noise and chance: what a count near zero is more than it is said to be
_GRID = np.linspace(log(1e-6), log(1e4), 40)  # logarithms of ratios between which quantiles are read off
_GROUPS = 24  # of parts that are told apart
_STEPS = 32  # of a search for a quantile
_SMALL = np.linspace(log(1e-3), log(1e2), 60)  # logarithms of means, in deviations, of counts
_erf = np.frompyfunc(erf, 1, 1)


def normal(confidence: float, numbers: int) -> float:
    """The normal quantile for so many numbers at once."""
    return NormalDist().inv_cdf(1.0 - (1.0 - confidence) / numbers / 2.0)


def quantile(ratio: Any, draws: tuple[float, ...], confidence: float) -> Any:
    """Of errors with the variance 1 + ratio S, S one of these by chance: how far they reach so often."""
    given = np.asarray(ratio, dtype=np.float64)
    at = np.log(np.clip(given, exp(_GRID[0]), exp(_GRID[-1])))
    scale = np.sqrt(1.0 + np.mean(draws) * given)
    return np.interp(at, _GRID, _quantiles(draws, confidence)) * scale


def of_count(wide: Any, count: Any, normally: Any, unknown: Any, confidence: float) -> Any:
    """How far off a count is that cannot be negative, where normal laws would say `wide`.

    Where more may be off than is there, most truths are next to nothing and few are far above: a count of
    this mean and variance is taken to be lognormal. Its interval reaches down to zero, which it may well be.

    Args:
        wide: the half width of an error that may have either sign.
        count: what is answered.
        normally, unknown: the variance of its error.
        confidence: of the interval.
    """
    mean = np.maximum(count, 0.0) + HIDDEN * np.sqrt(normally)
    ratio = mean / np.sqrt(normally + unknown)
    at = np.log(np.clip(ratio, exp(_SMALL[0]), exp(_SMALL[-1])))
    part = np.interp(at, _SMALL, _small(confidence)) / normal(confidence, 1)
    return np.minimum(wide, np.maximum(wide * part, mean))


@lru_cache(maxsize=64)
def _small(confidence: float) -> Floats:
    """Half widths of lognormal numbers of the deviation 1, at every mean of the grid."""
    means = np.exp(_SMALL)
    spreads = np.sqrt(np.log1p(means**-2.0))

    def below(x: Floats) -> Floats:
        at = np.asarray((np.log(np.maximum(x, 1e-300) / means) / spreads + spreads / 2.0) / sqrt(2.0))
        return np.asarray(1.0 + np.asarray(_erf(at), dtype=np.float64)) / 2.0

    low, high = np.zeros(len(means)), np.full(len(means), 64.0)
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        inside = below(means + middle) - np.where(middle < means, below(means - middle), 0.0)
        low, high = np.where(inside < confidence, middle, low), np.where(inside < confidence, high, middle)
    return high


def lognormal(deviation: float) -> Floats:
    """Ten numbers of the mean 1 that a logarithm with this deviation has."""
    at = [NormalDist().inv_cdf((i + 0.5) / 10.0) for i in range(10)]
    numbers = np.exp(deviation * np.array(at))
    return np.asarray(numbers / numbers.mean())


VARIED = tuple(lognormal(VARIES).tolist())


@lru_cache(maxsize=256)
def together(spreads: tuple[float, ...]) -> tuple[float, ...]:
    """Parts of the mean, by what sets may have and by what varies between questions of a set."""
    every = np.sort(np.multiply.outer(np.array(spreads) / np.mean(spreads), np.array(VARIED)).reshape(-1))
    return tuple(float(g.mean()) for g in np.array_split(every, min(_GROUPS, len(every))))


@lru_cache(maxsize=256)
def _quantiles(draws: tuple[float, ...], confidence: float) -> Floats:
    """The same at every ratio of the grid, in units of the standard deviation."""
    ratios = np.exp(_GRID)
    scales = np.sqrt(1.0 + np.multiply.outer(ratios, np.asarray(draws)))
    scales *= 2.0**0.5
    low, high = np.zeros(len(_GRID)), 6.0 * scales.max(axis=1)
    for _ in range(_STEPS):
        middle = (low + high) / 2.0
        inside = _erf(middle[:, None] / scales).astype(np.float64).mean(axis=1)
        low, high = np.where(inside < confidence, middle, low), np.where(inside < confidence, high, middle)
    return np.asarray(high / np.sqrt(1.0 + np.mean(draws) * ratios))
