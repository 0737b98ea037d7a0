"""Kinds: which error for which questions - counts of all rows, of one column's level, of two, of three."""

from __future__ import annotations

from itertools import combinations
from math import prod, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.curator.noise.seeded import SeededEntropy
from hedgerow.errors import HedgerowError
from hedgerow.release.plan.simulate import scaled, tried

if TYPE_CHECKING:
    from hedgerow.mechanisms.card import Card
    from hedgerow.mechanisms.task import Task
    from hedgerow.release.plan.population import Crowd

_WORDS = ("all rows", "one column", "two columns", "three columns")
_TABLES, _CELLS = 12, 1 << 16  # so many tables of a kind are looked at, of so many cells

Kind = tuple[str, float | None]


def by_kind(card: Card, task: Task, people: list[Crowd], synopsis: Any = None) -> tuple[Kind, ...]:
    """The error of counts by their columns, in rows, in one run on made-up rows; None: not answered.

    Args:
        card: the mechanism.
        task: what is planned.
        people: public populations.
        synopsis: what its first run on the correlated one released, where it was tried.
    """
    small, _ = scaled(task)
    crowd = next((c for c in people if c.name == "correlated"), people[0])
    if synopsis is None:
        with SeededEntropy(0):
            synopsis = tried(card, small, crowd)
    factor = task.rows / small.rows
    return tuple(
        (words, None if (found := _error(synopsis, crowd, tables)) is None else factor * found)
        for many, words in enumerate(_WORDS)
        if (tables := _some(task, many))
    )


def _some(task: Task, many: int) -> list[tuple[str, ...]]:
    """Tables over so many columns, spread evenly over all that are not too large."""
    held = [t for t in combinations(task.finite.names, many) if prod(task.finite.shape_of(t)) <= _CELLS]
    return held[:: max(1, len(held) // _TABLES)][:_TABLES]


def _error(synopsis: Any, crowd: Crowd, tables: list[tuple[str, ...]]) -> float | None:
    squares, cells = 0.0, 0
    for names in tables:
        try:
            miss = np.asarray(synopsis.table(names), dtype=np.float64) - crowd.table(names)
        except HedgerowError:
            return None
        squares, cells = squares + float((miss**2).sum()), cells + miss.size
    return sqrt(squares / cells)
