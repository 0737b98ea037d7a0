"""Weights: a long vector of positive numbers, multiplied piece by piece and never normalised cell by cell."""

from __future__ import annotations

from math import ceil, frexp, isfinite, log
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.learning.dense import kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

_HALF = {np.dtype(np.float64): 400, np.dtype(np.float32): 60}
_REACH = {np.dtype(np.float64): 200.0, np.dtype(np.float32): 26.0}
_TOLERANCE = 1e-12


class Weights:
    """Unnormalised weights whose ratios survive any number of updates.

    After `settle` every stored number lies in [2^-half, 2^half] and the sum is about 2^half. A weight too
    small for that is *deep*: stored times 2^(2 half) per level and with a minus sign; levels past the first
    are counted in a second array that exists only when needed. Deep weights are below 2^-(2 half) of the
    sum, so sums skip them, but multiplying works on them like on any other, and what sank can rise again.
    The sum is kept by adding differences. `settle` renews it when those differences may have lost digits,
    or when the steps since the last time add up to what the exponents can take.

    Args:
        values: positive numbers, float64 or float32; the vector is used, not copied.
        copies: how many weights the first number stands for.
    """

    def __init__(self, values: NDArray[Any], copies: int = 1) -> None:
        self.values = values
        self.copies = copies
        self.reach = _REACH[values.dtype]
        self._half = _HALF[values.dtype]
        self._depth = np.zeros(0, dtype=np.int16)
        self.sum = self._total(float(values.sum(dtype=np.float64)))
        self.settle()

    @classmethod
    def uniform(cls, size: int, dtype: Any, copies: int = 1) -> Weights:
        """`size` equal weights."""
        return cls(np.full(size, 1.0 / (size + copies - 1), dtype=dtype), copies)

    def strides(self, step: float) -> int:
        """How many equal parts a step must be taken in, so that exponents can follow."""
        if not isfinite(step):
            raise ValueError("a step must be finite")
        return max(1, ceil(abs(step) / self.reach))

    def fits(self, step: float) -> bool:
        """Whether weights can be multiplied by up to exp(|step|) before they must `settle`."""
        return self._drift + abs(step) <= self.reach

    def moved(self, before: float, after: float, step: float) -> None:
        """Account for weights multiplied by up to exp(|step|), whose sum went from `before` to `after`."""
        self.sum += after - before
        self._drift += abs(step)
        self._error += 2.0**-50 * (before + after) + 2.0**-52 * self.sum
        if self._error > _TOLERANCE * self.sum:
            self.settle()

    def settle(self) -> None:
        """Bring all weights back into range and sum them afresh; only exact steps, no ratio changes."""
        shift = self._half + 1 - frexp(self.sum)[1]
        if not len(self._depth) and kernels.has_deeper(self.values, 2.0 ** (-self._half - shift)):
            self._depth = np.zeros(len(self.values), dtype=np.int16)
        self.sum = self._total(kernels.settle(self.values, self._depth, shift, self._half))
        self._error = 2.0**-50 * self.sum
        self._drift = 0.0

    def take(self, place: int, places: slice) -> None:
        """Make the weights at `places` equal to the one at `place`, without counting them in the sum."""
        self.values[places] = self.values[place]
        if len(self._depth):
            self._depth[places] = self._depth[place]

    def grow(self, size: int) -> None:
        """Make the vector longer, by zeros."""
        more = size - len(self.values)
        self.values = np.concatenate([self.values, np.zeros(more, dtype=self.values.dtype)])
        if len(self._depth):
            self._depth = np.concatenate([self._depth, np.zeros(more, dtype=np.int16)])

    def logs(self, places: slice = slice(None)) -> NDArray[np.float64]:
        """The logarithm of every normalised weight, deep ones included."""
        values = self.values[places].astype(np.float64)
        levels = (values < 0).astype(np.int64)
        if len(self._depth):
            levels *= 1 + self._depth[places].astype(np.int64)
        logs = np.log(np.abs(values), out=np.full(len(values), -np.inf), where=values != 0)
        return np.asarray(logs - levels * (2 * self._half * log(2.0)) - log(self.sum))

    def plain(self) -> NDArray[np.float64]:
        """All weights with a sum between 1/2 and 2; only exact steps, so that these make the same weights."""
        levels = (self.values < 0).astype(np.int64)
        if len(self._depth):
            levels *= 1 + self._depth
        steps = -frexp(self.sum)[1] - 2 * self._half * levels
        plain: NDArray[np.float64] = np.ldexp(np.abs(self.values).astype(np.float64), steps)
        return plain

    def _total(self, each_once: float) -> float:
        return each_once + (self.copies - 1) * max(float(self.values[0]), 0.0)
