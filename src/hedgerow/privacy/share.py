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
    >>> percent(Budget(rho="11/2", delta=0).cost, Budget(rho=1, delta=0))
    '550%'
    """
    whole = budget.cost.amount
    if not whole:
        return "all"
    part = 100 * float(cost.amount / whole)
    return f"{part:.2g}%" if part < 99.5 else f"{part:,.0f}%"


def used_up(left: Cost, budget: Budget) -> bool:
    """Whether what is left is only what rounding noise scales up leaves over."""
    return left.amount * 1_000_000 < budget.cost.amount
