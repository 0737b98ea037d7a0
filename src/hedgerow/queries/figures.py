"""Figures: a number and its error bound as people read them, with no more digits than the bound supports."""

from __future__ import annotations

from math import ceil, floor, isfinite, log10

NULL = "NULL"
"""The label of a group of rows without a value."""


def signed(value: float, error: float) -> str:
    """A number to the third significant digit of its error bound; NULL where there is none.

    >>> signed(12345.678, 217.2), signed(337565000, 27820351), signed(0.123456, 0.004)
    ('12,346', '337,600,000', '0.12346')
    """
    if not isfinite(value):
        return "NULL" if value != value else "unbounded"
    place = _place(error if isfinite(error) and error else abs(value) or 1.0)
    return f"{round(value, place):,.{max(place, 0)}f}"


def bound(error: float) -> str:
    """An error bound in three significant digits, rounded up so that it still holds.

    >>> bound(217.2), bound(27820351), bound(0.0340), bound(float("inf"))
    ('218', '27,900,000', '0.0340', 'unbounded')
    """
    if not isfinite(error):
        return "unbounded"
    place = _place(error or 1.0)
    step = 10.0**-place
    return f"{round(ceil(error / step - 1e-9) * step, place):,.{max(place, 0)}f}"


def _place(error: float) -> int:
    """The decimal place of the third significant digit."""
    return 2 - floor(log10(error))
