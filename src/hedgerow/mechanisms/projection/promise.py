"""What Projection promises."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING

from hedgerow.learning.projection.projection import converged
from hedgerow.mechanisms.card import Rule, Stated
from hedgerow.mechanisms.estimate import counted, law
from hedgerow.mechanisms.projection.projection import NEAR, Projection
from hedgerow.synopsis.distribution import PUBLIC, Reach

if TYPE_CHECKING:
    from hedgerow.mechanisms.task import Task


def rule(task: Task) -> Rule:
    """The root mean square over the workload, as near to the best as the optimiser is sure to come."""
    asked = task.asked
    left, total, off = counted(task, Fraction(repr(Projection.total_share)), task.beta / 2.0)
    noise = law(task, asked.norms, asked.denominator, left, laplace=False)
    column = sqrt(asked.norms.l2_squared) / asked.denominator

    def at(n: float) -> Stated:
        left_over = converged(task.finite.size, Projection.steps) * (n + off) ** 2
        gap = max(NEAR * noise.variance, left_over)
        reach = Reach(len(asked), task.finite.size, column, noise, total or PUBLIC, gap)
        return Stated(reach.bound(n + off, 1.0 - task.beta))

    return at
