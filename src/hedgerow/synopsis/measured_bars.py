"""Errors of answers whose table was measured: what noise leaves in them once no count is negative."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.synopsis.margins import KnownTable

    Floats = NDArray[np.float64]

LEAST, RISE = 0.25, 0.4  # of its noise: what a count near zero is off by, and how that grows with its root
USUAL = 0.15  # of its noise's variance: so far is an answer usually moved from what was measured, squared
NEVER_LESS = 0.05  # of its noise's half width: no stated error is less
_FEW = 4  # numbers that one statement combines: an average has two
ROOM = 1.05  # times the bar of what was measured: numbers of one release share its noise


def near_zero(value: Any, deviation: Any) -> Any:
    """The part of a measured count's noise that is left in it once no count is negative.

    Where few rows are, a table without negative cells is off by far less than its noise; where many are, by
    all of it.
    """
    ratio = np.maximum(value, 0.0) / np.maximum(deviation, 1e-12)
    return np.minimum(1.0, LEAST + RISE * np.sqrt(ratio))


def left_apart(known: KnownTable, table: Floats, weights: Floats) -> float:
    """The part of noise that is left in counts that are weighed against each other: in each as in any."""
    each = [np.maximum(weights, 0.0), np.maximum(-weights, 0.0)]
    noise = np.array([known.deviation(w) for w in each])
    left = np.array([near_zero((table * w).sum(), off) for w, off in zip(each, noise, strict=True)])
    return float(np.hypot(*(noise * left)) / max(np.hypot(*noise), 1e-12))


def measured_bar(
    value: Any, noisy: Any, deviation: Any, wide: float, *, counts: bool, apart: float | None = None
) -> Any:
    """How far off an answer is whose table was measured.

    An answer that was moved from what was measured by w (Y - M) is off by D - 1 + 2 g in units of its noise's
    variance, on average: D is the squared distance to Y, g the part of the noise that it follows (Stein). So
    one that is far from what was measured has a wider bar; near zero that distance is noise that was cut off.
    A count that noise alone may have made has a bar that reaches down to zero: most of them are nothing else.

    Args:
        value: the answer.
        noisy: what was measured of it.
        deviation: the standard deviation of that.
        wide: the half width of its noise.
        counts: whether the truth cannot be negative.
        apart: of counts that are weighed against each other, as in a share, what is left of their noise: they
            are moved together, and what a fit moves no farther than noise is off by no more than noise.
    """
    left: Any = 1.0 if apart is None else apart
    room, usual = (ROOM, USUAL) if apart is None else (1.0, 1.0)
    if counts:
        made = np.clip(value / max(wide, 1e-12), 0.0, 1.0) / room
        left = np.maximum(near_zero(value, deviation), made)
    beyond = np.maximum((value - noisy) ** 2 / np.maximum(deviation, 1e-12) ** 2 - usual, 0.0)
    return room * wide * left * np.sqrt(1.0 + beyond)


def stated_bar(
    value: Any,
    noisy: Any,
    deviation: float,
    wide: float,
    *,
    counts: bool,
    numbers: int,
    apart: float | None = None,
) -> Any:
    """The error of an answer that was measured: what is usual, and never more than what is certain.

    Many numbers that are to hold at once keep what is certain: the largest of them is no usual one.
    """
    certain = _reach(value, noisy, wide, counts=counts)
    if numbers > _FEW:
        return certain
    return np.minimum(measured_bar(value, noisy, deviation, wide, counts=counts, apart=apart), certain)


def _reach(value: Any, noisy: Any, wide: float, *, counts: bool) -> Any:
    """How far from an answer the truth may be that lies within `wide` of what was measured.

    Args:
        value: the answer.
        noisy: what was measured of it.
        wide: the half width of its noise.
        counts: whether the truth cannot be negative: then a cell put to 0 is off by what was measured above
            0, and its noise.
    """
    if not counts:
        return np.abs(value - noisy) + wide
    most = np.maximum(noisy, 0.0) + wide - value
    least = value - np.maximum(noisy - wide, 0.0)
    return np.maximum(np.maximum(most, least), NEVER_LESS * wide)
