"""What OnlineMW and SparseMW promise in theorem mode."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import ceil, inf, sqrt
from typing import TYPE_CHECKING

from hedgerow.mechanisms.card import Rule, Stated
from hedgerow.mechanisms.estimate import counted
from hedgerow.mechanisms.online.idc import TOTAL_SHARE
from hedgerow.privacy import bounds

if TYPE_CHECKING:
    from hedgerow.mechanisms.task import Task

_SHORT = 1.0 - 1e-6  # a sparse vector's epsilon is rounded down by far less on its way from the price


def _idc(task: Task, updates: Callable[[float], float]) -> Rule:
    """3 alpha at the least alpha whose rows are there, see `bounds.idc_rows`; alpha is below 1/3."""
    left, law, off = counted(task, TOTAL_SHARE, float(TOTAL_SHARE) * task.beta)
    beta = task.beta * float(1 - TOTAL_SHARE) if law is not None else task.beta
    amount = float(left.amount) * _SHORT

    def needed(alpha: float) -> float:
        c = updates(alpha)
        epsilon = amount if task.pure else c * sqrt(162.0 * amount / (65.0 * c))  # NumericSparse in rho
        given = {"sensitivity": task.row, "total_off": off}
        return alpha * bounds.idc_rows(alpha, c, task.queries, epsilon, 0.0, beta, **given)

    def at(n: float) -> Stated:
        if n <= off:
            return Stated(inf)
        alpha = bounds.least_above(lambda a: needed(a) / (n - off), high=1.0)
        if alpha >= 1.0 / 3.0:
            return Stated(inf)
        return Stated(3.0 * alpha * (n + off), {"alpha": alpha, "queries": task.queries})

    return at


def online_mw(task: Task) -> Rule:
    """Thm 4.14, with the updates of Thm 4.10."""
    return _idc(task, partial(bounds.online_mw_updates, task.finite.size))


def sparse_mw(task: Task) -> Rule:
    """The same with the updates of [BR11] Thm 3.5."""
    rule = _idc(task, lambda alpha: ceil(bounds.thm_3_5(task.sparsity, max(alpha, 1e-5))))

    def named(n: float) -> Stated:
        said = rule(n)
        return Stated(said.error, said.parameters | {"sparsity": task.sparsity} if said.parameters else {})

    return named
