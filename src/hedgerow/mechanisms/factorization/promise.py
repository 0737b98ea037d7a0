"""What Factorization promises: the noise of the strategy that it would choose."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from hedgerow.mechanisms.estimate import independent_noise, whatever_the_rows
from hedgerow.mechanisms.factorization import matrix
from hedgerow.mechanisms.factorization import plan as tables
from hedgerow.privacy import bounds
from hedgerow.queries.block import ProductBlock

if TYPE_CHECKING:
    from hedgerow.mechanisms.card import Rule
    from hedgerow.mechanisms.task import Task


def rule(task: Task) -> Rule:
    """The union bound over answers of that mean variance."""
    return whatever_the_rows(bounds.gaussian_union(task.queries, error(task), task.beta))


def error(task: Task) -> float:
    """The root mean square error in rows, from the strategy it would choose."""
    asked, ones = task.asked, [1.0] * len(task.asked.blocks)
    blocks = [b for b in asked.blocks if isinstance(b, ProductBlock)]
    if len(blocks) < len(asked.blocks):
        variance = matrix.plan(task.finite, asked, ones, task.privacy).variance
    else:
        made = tables.plan(task.finite, blocks, ones, task.privacy, total_is_public=task.total_is_public)
        if made.variance >= tables.plain_variance(blocks, ones, task.privacy):
            return independent_noise(task, laplace=False)
        variance = made.variance
    return sqrt(variance / (2.0 * task.amount) / len(asked))
