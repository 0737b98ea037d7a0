"""Numbers as people read them: no more digits than the error bound supports."""

from __future__ import annotations

from math import ceil, floor, isfinite, log10
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hedgerow.privacy.budget import Budget, Cost


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


def small(value: float) -> str:
    """An epsilon or delta in a few digits.

    >>> small(1.0000000000000002), small(1e-9), small(float("inf"))
    ('1', '1e-9', 'infinite')
    """
    if not isfinite(value):
        return "infinite"
    return f"{value:.4g}".replace("e-0", "e-")


def amount(budget: Budget, whole: Budget | None = None) -> str:
    """A budget, or a part of one, in words; a part is stated at the delta of the whole.

    >>> from hedgerow.privacy.budget import Budget
    >>> amount(Budget(epsilon=1, delta=1e-9)), amount(Budget(epsilon=0.5))
    ('epsilon 1, delta 1e-9', 'epsilon 0.5')
    >>> amount(Budget(rho=1e-22, delta=1e-9))  # delta alone pays for it
    'rho 1e-22'
    """
    if not isfinite(budget.epsilon):
        return f"rho {small(budget.rho)}"
    if not budget.epsilon:
        return _crumb(budget)
    delta = (whole or budget).delta
    return f"epsilon {small(budget.epsilon)}" + (f", delta {small(delta)}" if delta else "")


def _crumb(budget: Budget) -> str:
    """So little that its delta alone pays for it: epsilon would read as 0, though something was spent."""
    if budget.rho:
        return f"rho {small(budget.rho)}"
    return f"delta {small(float(budget.event_delta))}" if budget.event_delta else "nothing"


def rest(left: Cost, budget: Budget) -> str:
    """What is left of a budget, in words; less than a millionth of it is nothing that could be used.

    >>> from hedgerow.privacy.budget import Budget, Cost
    >>> rest(Cost("epsilon", "1/4"), Budget(epsilon=1)), rest(Cost("epsilon", 0), Budget(epsilon=1))
    ('epsilon 0.25', 'nothing')
    """
    return "nothing" if used_up(left, budget) else amount(budget.part(left), budget)


def used_up(left: Cost, budget: Budget) -> bool:
    """Whether what is left is only what rounding noise scales up leaves over."""
    return left.amount * 1_000_000 < budget.cost.amount
