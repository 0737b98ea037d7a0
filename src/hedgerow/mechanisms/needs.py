"""Needs: what several mechanisms need of a task, each as the reason why it is not for one that lacks it."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hedgerow.mechanisms.card import Need
    from hedgerow.mechanisms.task import Task

_TRIED = 1 << 17  # cells up to which mechanisms that hold every cell are tried by a plan


def delta(task: Task) -> str | None:
    """Gaussian noise, and what is composed in rho."""
    return "it needs a budget with a delta above 0, and this one is pure epsilon" if task.pure else None


def replace(task: Task) -> str | None:
    """Reports whose number is the number of units."""
    if task.privacy.neighbours == "replace":
        return None
    return "it publishes the number of units, so it needs neighbours 'replace'"


def attributes(task: Task) -> str | None:
    """Something to learn from beside the number of rows."""
    return None if any(task.asked.cliques) else "it needs questions about at least one attribute"


def counting(task: Task) -> str | None:
    """Queries of weights 0 and 1."""
    return None if task.counting else "it is for queries that count rows"


def cells(most: int) -> Need:
    """A domain whose cells are all held."""

    def need(task: Task) -> str | None:
        size = task.finite.size
        return f"the domain has {large(size)} cells, more than {most:,}" if size > most else None

    return need


def countable(task: Task) -> str | None:
    """Tables and answers that the curator counts at all."""
    from hedgerow.curator.rows.table import CELL_LIMIT
    from hedgerow.queries.workload import ANSWER_LIMIT

    widest = max(map(task.finite.cells, task.asked.cliques))
    if widest > CELL_LIMIT:
        return f"a table of the workload has {large(widest)} cells, more than {CELL_LIMIT:,}"
    if len(task.asked) > ANSWER_LIMIT:
        return f"the workload has {large(len(task.asked))} answers, more than {ANSWER_LIMIT:,}"
    return None


def quick_to_try(task: Task) -> str | None:
    """A plan that holds every cell is made in seconds."""
    size = task.finite.size
    return f"{size:,} cells would take too long to try" if size > _TRIED else None


def large(number: int) -> str:
    """A whole number as people read it.

    >>> large(12_345), large(3 * 10**12)
    ('12,345', '3.0e+12')
    """
    return f"{number:,}" if number < 10**9 else f"{Decimal(number):.1e}"
