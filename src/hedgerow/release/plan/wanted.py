"""Wanted: the epsilon for an error that one can live with, from public numbers and made-up populations."""

from __future__ import annotations

from math import exp, log
from typing import TYPE_CHECKING, Any

from hedgerow.errors import UnsupportedQuery
from hedgerow.homes import HOMES
from hedgerow.mechanisms import cards
from hedgerow.privacy.budget import Budget
from hedgerow.release.plan.plan import predictions
from hedgerow.release.plan.table import number

if TYPE_CHECKING:
    from collections.abc import Callable

    from hedgerow.mechanisms.task import Task

_LEAST, _MOST = 1e-3, 100.0
_HALVINGS = 12
_STEPS = 2  # towards the epsilon of what has to be tried
_SLACK = 1.1  # of the error: what is tried differs from run to run


def rows_off(error: Any, within: Any, rows: int) -> float:
    """The error that was asked for, in rows.

    Args:
        error: in rows, or None.
        within: as a part of the rows, or None.
        rows: how many there are.
    """
    if (error is None) == (within is None):
        raise UnsupportedQuery("say either the error, in rows, or within, as a part of the rows such as 0.01")
    name, given = ("error", error) if within is None else ("within", within)
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 < given < float("inf"):
        raise UnsupportedQuery(f"{name} is a number above 0, not {given!r}")
    if within is not None and within >= 1:
        raise UnsupportedQuery("within is a part of the rows, below 1, such as 0.01")
    return float(given) if within is None else float(within) * rows


def budget_for(task: Task, error: float, step: Callable[[str, float | None], None]) -> Budget:
    """About the least budget, of the task's delta, at which a plan's recommendation is within an error.

    Closed forms are searched; what has to be tried is asked what it does there, and a little below.

    Args:
        task: with a budget of which the delta counts.
        error: in rows.
        step: told what is being done.
    """
    ours = [c for c in map(cards.own, HOMES) if c.kind == "offline" and c.stated]
    closed = frozenset(c.name for c in ours if c.error is not None)
    every = frozenset(c.name for c in ours)

    def error_at(epsilon: float, names: frozenset[str], simulate: bool) -> float:
        rows = predictions(_at(task, epsilon), simulate, step, names, repeat=False, most=1)
        found = [r.error for r in rows if r.error is not None]
        return min(found, default=float("inf"))

    low, high = log(_LEAST), log(_MOST)
    if error_at(_MOST, closed, False) > error:
        best = number(error_at(_MOST, closed, False))
        raise UnsupportedQuery(
            f"no epsilon up to {_MOST:g} brings an error of {number(error)} rows; {_MOST:g} brings {best}"
        )
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if error_at(exp(middle), closed, False) <= error else (middle, high)
    epsilon = exp(high)
    for _ in range(_STEPS if every > closed else 0):
        there = error_at(epsilon, every, True)
        if not there * _SLACK < error:
            break
        less = max(_LEAST, epsilon * there / error)
        if error_at(less, every, True) > error * _SLACK:
            break
        epsilon = less
    return _at(task, float(f"{epsilon:.2g}")).budget


def _at(task: Task, epsilon: float) -> Task:
    return task.with_budget(Budget(epsilon=epsilon, delta=task.budget.delta_exact))
