"""Excluded: how far off a count of nearly all levels of an attribute is, by the rows that it leaves out.

Rows that have a number are all rows less those that have none. Where few have none, a count of the others by
several attributes is nearly one of fewer attributes, which is known better; and of the few no more are left
out than there are in all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Names = tuple[str, ...]

FEW = 0.1  # of all rows: more are a condition like others


def excluded(table: Floats, weights: Floats) -> Iterator[tuple[int, NDArray[np.bool_], Floats]]:
    """Axes of which few rows are left out: which levels these are, and the weights of all other levels.

    >>> table = np.array([[9.0, 0.1], [9.0, 0.2]])
    >>> [(i, few.tolist()) for i, few, _ in excluded(table, np.array([[1.0, 0.0], [0.0, 0.0]]))]
    [(1, [False, True])]
    """
    total = float(table.sum())
    for i in range(table.ndim if table.ndim > 1 and total > 0.0 else 0):
        by_level = np.moveaxis(weights, i, 0)
        few = np.asarray(~by_level.reshape(len(by_level), -1).any(axis=1))
        if not few.any() or few.all():
            continue
        usual = by_level[int(np.flatnonzero(~few)[0])]
        out = float(np.moveaxis(table, i, 0)[few].sum())
        if out <= FEW * total and (by_level[~few] == usual).all():
            yield i, few, usual


def by_excluded(
    attributes: Names,
    table: Floats,
    weights: Floats,
    smaller: Callable[[Names, Floats], float],
    itself: Callable[[Names, Floats, Floats], float],
) -> Iterator[float]:
    """Bars of a weighted count by what it leaves out, for every attribute of which that is little.

    Args:
        attributes: of the table.
        table: counts.
        weights: of its cells.
        smaller: the bar of weights of the table of fewer attributes.
        itself: the bar of weights of this table.
    """
    for i, few, usual in excluded(table, weights):
        others = attributes[:i] + attributes[i + 1 :]
        left_out = np.moveaxis(np.multiply.outer(few, usual), 0, i).astype(np.float64)
        there = float(np.moveaxis(table, i, 0)[few].sum())
        most = float(np.abs(usual).max()) * (there + smaller((attributes[i],), few.astype(np.float64)))
        count, low = float((table * left_out).sum()), -most if usual.min() < 0.0 else 0.0
        off = min(max(count - low, most - count), itself(attributes, table, left_out))
        yield float(np.hypot(smaller(others, usual), off))
