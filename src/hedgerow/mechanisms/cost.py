"""Cost: the seconds and megabytes that mechanisms take, from public numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hedgerow.mechanisms.task import Task


def of_counting(task: Task) -> tuple[float, float]:
    """Counting a workload's tables once and adding noise to every number.

    One pass takes about 3 ns per row and table, a noisy number 0.7 us and 40 bytes, a coded row 2 bytes per
    attribute.
    """
    asked = task.asked
    numbers = len(asked) if asked.is_tables else len(asked) + sum(map(task.finite.cells, asked.cliques))
    seconds = 0.05 + 3e-9 * task.rows * len(asked.cliques) + 7e-7 * numbers
    return seconds, 40.0 + (2.0 * task.rows * len(task.finite) + 40.0 * numbers) / 1e6


def of_cells(task: Task, passes: float = 1.0) -> tuple[float, float]:
    """Holding every cell of the domain and going over all of them so many times."""
    cells = float(task.finite.size)
    return 0.05 + 3e-9 * task.rows + passes * 1.5e-8 * cells, 40.0 + 40.0 * cells / 1e6


def of_learning_cells(task: Task) -> tuple[float, float]:
    """Holding every cell, and learning over it in a hundred passes and one per table."""
    return of_cells(task, passes=100.0 + len(task.asked.cliques))


def of_names(task: Task) -> tuple[float, float]:
    """Eight entries per name: about 2 us a row, and the vector."""
    return 0.1 + 2e-6 * task.rows, 60.0 + 100.0 * task.rows / 1e6
