"""What SmallDB promises."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from hedgerow.mechanisms.card import Rule, Stated
from hedgerow.mechanisms.estimate import counted
from hedgerow.mechanisms.small_db.small_db import TOTAL, chosen
from hedgerow.privacy.budget import selection_epsilon
from hedgerow.synopsis.small import small_bound

if TYPE_CHECKING:
    from hedgerow.mechanisms.task import Task


def rule(task: Task) -> Rule:
    """Prop. 4.4 at the alpha that the mechanism chooses among ranges it can visit."""
    left, law, off = counted(task, TOTAL, task.beta / 2.0)
    epsilon = selection_epsilon(left, bounded_range=True)

    def at(n: float) -> Stated:
        total = max(1, ceil(n + off))
        found = chosen(task.finite, task.asked, total, epsilon, task.row)
        return Stated(small_bound(total, law, *found[1:], task.row, 1.0 - task.beta))

    return at
