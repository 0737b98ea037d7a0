"""Quotients: a number of rows by another, with its error, and what is known of it besides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hedgerow.queries.form import spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.form import LinearForm


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
