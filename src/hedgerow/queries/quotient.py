"""Quotients: a number of rows by another, with its error, and what is known of it besides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.queries.form import spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.form import LinearForm

    Floats = NDArray[np.float64]
    Found = Callable[[Floats], tuple[float, float]]
    Valued = Callable[[Floats], float]

_CLOSE = 1e-4  # of how far a confidence set goes: it is said to go no more than that farther
_DOUBLED = 40  # times: farther no number is
_TRIES = 100  # of narrowing it down: mostly ten are enough
_SAME = 1e-9  # of a sum: so far apart are two readings of one table, by rounding


@dataclass(frozen=True, eq=False)
class Quotient:
    """A quotient N/D of two weighted sums of the cells of one table.

    For the true ratio R the sum N - R D is zero, so |n - R d| stays within the half-width h(R) of the weights
    of N - R D: all r with |n - r d| <= h(r) are a confidence set (Fieller [F54]). Noise that N and D share
    cancels in it, which bounds for N and D apart cannot see. N - r D may be read off another estimate than N
    and D are (a count off a fit, a sum off what was measured): then r is moved by what that says it is, so
    that value and half-width are of one.

    Args:
        found: a weighted sum and its half-width.
        over, under: the weights of N and of D.
        value: what is said; not a number where D is not what it can be.
        count: what D is said to be.
    """

    found: Found
    over: Floats
    under: Floats
    value: float
    count: float

    @classmethod
    def of(
        cls, found: Found, valued: Valued, over: Floats, under: Floats, *, only_positive: bool
    ) -> Quotient:
        """From whoever holds the table.

        Args:
            found, over, under: as above.
            valued: a weighted sum alone.
            only_positive: whether D cannot be negative.
        """
        n, d = valued(over), valued(under)
        if not (d > 0 if only_positive else d != 0):
            return cls(found, over, under, float("nan"), d)
        value = n / d
        rest = valued(over - value * under)
        if abs(rest) > _SAME * abs(n):
            value += rest / d
        return cls(found, over, under, value, d)

    @cached_property
    def wide(self) -> float:
        """The half-width of what D is said to be."""
        return self.found(self.under)[1]

    @property
    def error(self) -> float:
        """How far off it may be; unbounded where D may be zero."""
        if np.isnan(self.value) or abs(self.count) <= self.wide:
            return float("inf")
        return max(self._reach(side) for side in (1.0, -1.0))

    def _reach(self, side: float) -> float:
        """How far the confidence set goes to one side, or farther.

        At a distance t the set ends where t |d| comes up to the half-width h(t), which grows by at most that
        of D: so there is one such t, and it is at most h(0) / (|d| - the half-width of D). False position.
        """

        def above(t: float) -> float:
            return t * abs(self.count) - self.found(self.over - (self.value + side * t) * self.under)[1]

        near, under = 0.0, above(0.0)
        if under >= 0.0 or not np.isfinite(under):
            return float(-under)
        far = -under / (abs(self.count) - self.wide)
        over, last = above(far), 0
        for _ in range(_DOUBLED if over < 0.0 else 0):  # half-widths are not quite a norm
            far, over = 2.0 * far, above(2.0 * far)
            if not over < 0.0:
                break
        for _ in range(_TRIES):
            if far - near <= _CLOSE * far or not over > 0.0:
                break
            t = (near * over - far * under) / (over - under)
            found = above(t)
            if found >= 0.0:
                far, over, under, last = t, found, under / (2.0 if last > 0 else 1.0), 1
            else:
                near, under, over, last = t, found, over / (2.0 if last < 0 else 1.0), -1
        return far


def between(
    value: NDArray[np.float64], error: NDArray[np.float64], low: float, high: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A number that lies between two ends, and its error: no part of rows averages beyond what a row can be.

    What is beyond an end is moved to it, which brings it nearer to wherever the truth is; and the truth is no
    farther than the other end. An error without end stays one: there may be no rows, and so no average.
    """
    inside = np.clip(value, low, high)
    least = np.minimum(error, np.maximum(inside - low, high - inside))
    return inside, np.where(np.isfinite(error), least, error)


def ratio(
    top: NDArray[np.float64],
    top_error: NDArray[np.float64],
    bottom: NDArray[np.float64],
    bottom_error: NDArray[np.float64],
    only_positive: bool = True,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """N / D with its error: |n/d - N/D| <= (e1 + |n/d| e2) / (d - e2) if |N - n| <= e1, |D - d| <= e2 < d.

    NaN where the denominator is zero, or not positive though it can only be positive.
    """
    usable = bottom > 0 if only_positive else bottom != 0
    with np.errstate(over="ignore", invalid="ignore"):  # overflow becomes NULL; 0 * inf is never shown
        value = np.divide(top, bottom, out=np.full(len(top), np.nan), where=usable)
        value[~np.isfinite(value)] = np.nan
        margin = np.abs(bottom) - bottom_error
        error = np.full(len(top), np.inf)
        sure = np.isfinite(value) & (margin > 0)
        np.divide(top_error + np.abs(value) * bottom_error, margin, out=error, where=sure)
    return value, error


def of_fewer(
    top: Floats, top_error: Floats, bottom: Floats, bottom_error: Floats, part: Floats, only_positive: bool
) -> Floats:
    """Ratios, and the errors that they would have if there were only such a part of the rows."""
    value, _ = ratio(top, top_error, bottom, bottom_error, only_positive)
    _, error = ratio(top * part, top_error, bottom * part, bottom_error, only_positive)
    return np.stack([value, error], axis=1)


def part_of(top: LinearForm, bottom: LinearForm) -> bool:
    """Whether all rows that the one counts are among those that the other counts: a part of them."""
    if not (top.counts and bottom.counts) or top.units != bottom.units:
        return False
    return all(
        any(
            set(b.attributes) <= set(a.attributes)
            and not (a.weights & ~spread(b.attributes, b.weights, a.attributes)).any()
            for a in top.factors
        )
        for b in bottom.factors
    )
