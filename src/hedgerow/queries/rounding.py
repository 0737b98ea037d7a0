"""Rounding: values as weights on the lattice of queries, and what that takes from them."""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.queries.query import ONE

if TYPE_CHECKING:
    from numpy.typing import NDArray


def rounding(values: NDArray[np.float64], rounded: NDArray[np.float64], scale: float) -> tuple[float, float]:
    """How far rounded values are off, and as a part of themselves; float noise is none."""
    off = np.abs(values - rounded)
    if float(off.max()) <= 1e-12 * scale:
        return 0.0, 0.0
    part = np.divide(off, rounded, out=np.full_like(off, np.inf), where=rounded > 0)
    return float(off.max()), float(part[values > 0].max())


def scale_of(values: NDArray[np.float64]) -> float:
    """What weight 1 is worth: if possible so that all values are on the lattice exactly, else the largest.

    If all values are whole multiples k <= ONE of some step, then step times the next power of two is exact,
    and as sensitivity follows from the largest weight and not from 1, costs nothing.
    """
    largest = float(values.max())
    distinct = np.unique(values[values > 0])
    for per_unit in (1, 2, 10, 20, 100, 200, 1000, 2000, 10_000, 20_000):
        steps = distinct * per_unit
        whole = np.rint(steps)
        if whole[-1] < 2.0**53 and (np.abs(steps - whole) <= 1e-12 * steps).all():
            common = gcd(*whole.astype(np.int64).tolist())
            k = int(whole[-1]) // common
            if k <= ONE:
                return common / per_unit * (1 << (k - 1).bit_length())
            break
    return largest
