"""Fitting: which accuracy what is left would pay for, where the one that was named costs more."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import ceil, sqrt
from typing import TYPE_CHECKING

from hedgerow.errors import BudgetExceeded, HedgerowError
from hedgerow.mechanisms.session.price import Goal

if TYPE_CHECKING:
    from hedgerow.privacy.budget import Cost

_TRIES = 100
_STEP = Fraction(51, 50)  # noise is whole numbers: a price falls a little less than it would else


def fitting(price: Callable[[Goal], Cost], goal: Goal, left: Cost) -> int | None:
    """The first number of rows, about, of which the price is there; None if it is not found."""
    if left.amount <= 0:
        return None
    try:
        often = float(price(goal).amount / left.amount)
        alpha = Fraction(ceil(goal.alpha * Fraction(often if left.currency == "epsilon" else sqrt(often))))
        for _ in range(_TRIES):
            if price(Goal(alpha, goal.confidence)) <= left:
                return int(alpha)
            alpha = Fraction(ceil(alpha * _STEP))
    except HedgerowError:  # more noise than can be drawn
        return None
    return None


def told(error: BudgetExceeded, price: Callable[[Goal], Cost], goal: Goal, left: Cost) -> BudgetExceeded:
    """A refusal with the accuracy that fits, in the words of who named one in rows."""
    rows = None if error.hint else fitting(price, goal, left)
    if rows is not None and rows > goal.alpha:
        error.hint = (
            f"within {rows:,} rows it can be paid for (`--within-count {rows}`), or let the owner raise the "
            "budget with `hedgerow budget raise`"
        )
    return error
