"""Shares: which part of a budget a cost takes, as people read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hedgerow.privacy.budget import Budget, Cost


def percent(cost: Cost, budget: Budget) -> str:
    """Which part of a budget a cost takes, in the budget's own currency, in which costs add up.

    >>> from hedgerow.privacy.budget import Budget
    >>> percent(Budget(rho="1/100", delta=0).cost, Budget(rho=1, delta=0))
    '1%'
    """
    whole = budget.cost.amount
    return f"{100 * float(cost.amount / whole):.2g}%" if whole else "all"


def used_up(left: Cost, budget: Budget) -> bool:
    """Whether what is left is only what rounding noise scales up leaves over."""
    return left.amount * 1_000_000 < budget.cost.amount
