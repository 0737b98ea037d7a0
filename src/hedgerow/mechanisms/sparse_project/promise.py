"""What SparseProject promises, and the error of its tuned form."""

from __future__ import annotations

from math import ceil, sqrt
from typing import TYPE_CHECKING

from hedgerow.errors import RangeTooLarge
from hedgerow.mechanisms.card import Rule, Stated
from hedgerow.mechanisms.sparse_project.sparse_project import ASIDE, SparseProject
from hedgerow.privacy import bounds
from hedgerow.queries.query import Norms
from hedgerow.queries.strategies.sketch_matrix import LARGEST

if TYPE_CHECKING:
    from hedgerow.mechanisms.task import Task

_BELOW_ONE = 0.999  # the largest epsilon of a theorem that wants one below 1


def rule(task: Task) -> Rule:
    """Thm 4.9 at the paper's T, if a sketch of that size can be made."""
    epsilon, delta = min(task.budget.epsilon, _BELOW_ONE), task.budget.delta
    step = float(task.privacy.sensitivity(Norms.signed(1, 1)).l1)
    m, k = task.sparsity, task.queries

    def at(n: float) -> Stated:
        size = bounds.sparse_project_size(n, m, k, task.beta)
        if size > LARGEST:
            raise RangeTooLarge(
                f"the paper's T is {size:.1e} coordinates, more than {LARGEST:,}; use mode='tuned'"
            )
        found = bounds.thm_4_9_sparse(n, m, k, epsilon, delta, task.beta, sensitivity=step)
        given = {"epsilon": epsilon, "delta": delta, "sparsity": m, "queries": k, "rows": ceil(n)}
        return Stated(found, {"mode": "theorem"} | given)

    return at


def error(task: Task) -> float:
    """The root mean square error for queries of m names: noise and distortion."""
    known = task.total_is_public
    rest = task.price.share(1 - (ASIDE[0] if known else sum(ASIDE)))
    each = float(task.privacy.sensitivity(Norms.signed(1, 1)).l2_squared) / (2.0 * float(rest.amount))
    spread = 1.0 + SparseProject.distortion**2
    return sqrt(task.sparsity * each * spread)
