"""Figures: a number and its error bound as people read them, with no more digits than the bound supports.

One rule for pages, tables, reports and notebooks: two digits of an error bound, three if it begins with 1,
and its number to the same place. A bound is rounded up. Files, frames and JSON hold what was computed.
"""

from __future__ import annotations

from math import ceil, floor, isfinite, log10

NULL = "NULL"
"""The label of a group of rows without a value."""

_NO_BOUND = 3  # significant digits of a number whose error is not known
_EXACT = 6  # of a number without error, after its whole part


def signed(value: float, error: float) -> str:
    """A number to the last place of its error bound; NULL where there is none.

    >>> signed(12345.678, 217.2), signed(2176.6, 54.9), signed(2176.6, 15.49), signed(0.123456, 0.004)
    ('12,350', '2,177', '2,176.6', '0.1235')
    >>> signed(12345, 0), signed(0.5, 0), signed(12345.678, float("inf"))
    ('12,345', '0.5', '12,300')
    """
    if not isfinite(value):
        return "NULL" if value != value else "unbounded"
    if not error:
        return _at(value, _EXACT).rstrip("0").rstrip(".")
    return about(value) if not isfinite(error) else _at(value, _place(error))


def bound(error: float) -> str:
    """An error bound in two or three significant digits, rounded up so that it still holds.

    >>> bound(217.2), bound(27820351), bound(0.0340), bound(15.49), bound(0), bound(float("inf"))
    ('220', '28,000,000', '0.034', '15.5', '0', 'unbounded')
    """
    if not isfinite(error):
        return "unbounded"
    if not error:
        return "0"
    place = _place(error)
    step = 10.0**-place
    return _at(ceil(error / step - 1e-9) * step, place)


def about(value: float) -> str:
    """A number in three significant digits, where its error does not matter or is not known.

    >>> about(30162), about(0.012345), about(0)
    ('30,200', '0.0123', '0')
    """
    return _at(value, _NO_BOUND - 1 - floor(log10(abs(value)))) if value else "0"


def small(value: float) -> str:
    """An epsilon or delta in a few digits.

    >>> small(1.0000000000000002), small(1e-9), small(float("inf"))
    ('1', '1e-9', 'infinite')
    """
    if not isfinite(value):
        return "infinite"
    return f"{value:.4g}".replace("e-0", "e-")


def _at(value: float, place: int) -> str:
    return f"{round(value, place) + 0.0:,.{max(place, 0)}f}"  # nothing is shown as -0


def _place(error: float) -> int:
    """The decimal place of the last digit that is shown."""
    power = floor(log10(error))
    return (2 if error < 2.0 * 10.0**power else 1) - power
