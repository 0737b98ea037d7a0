"""What BoostQueries promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hedgerow.mechanisms.boost_queries.boost_queries import SURE, TOTAL, setting_of
from hedgerow.mechanisms.boost_queries.plan import plan
from hedgerow.mechanisms.card import Rule, Stated
from hedgerow.mechanisms.estimate import counted

if TYPE_CHECKING:
    from hedgerow.mechanisms.task import Task


def rule(task: Task) -> Rule:
    """lambda + mu as the mechanism plans them."""
    price, _, slack = counted(task, TOTAL, task.beta * float(SURE))
    asked, beta = task.asked, task.beta * float(1 - SURE)

    def at(n: float) -> Stated:
        setting = setting_of(asked, task.privacy, len(asked), slack, n + slack, task.finite.size)
        return Stated(plan(setting, price, beta).error / asked.denominator)

    return at
