"""Quantiles of errors whose variance is noise and something else that is not known."""

from __future__ import annotations

from functools import lru_cache
from math import erf, exp, log
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

VARIES = 1.0  # the standard deviation of the logarithm of what is not known, between questions of a set
_GRID = np.linspace(log(1e-6), log(1e4), 40)  # logarithms of ratios between which quantiles are read off
_GROUPS = 24  # of parts that are told apart
_STEPS = 32  # of a search for a quantile
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


def _varied(deviation: float) -> Floats:
    """Ten numbers of the mean 1 that a logarithm with this deviation has."""
    at = [NormalDist().inv_cdf((i + 0.5) / 10.0) for i in range(10)]
    numbers = np.exp(deviation * np.array(at))
    return np.asarray(numbers / numbers.mean())


VARIED = tuple(_varied(VARIES).tolist())


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
