"""Excluded: how far off a count of nearly all levels of an attribute is, by the rows that it leaves out.

Rows that have a number are all rows less those that have none. Where few have none, a count of the others by
several attributes is nearly one of fewer attributes, which is known better; and of the few no more are left
out than there are in all.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Names = tuple[str, ...]

FEW = 0.1  # of all rows: more are a condition like others


def excluded(table: Floats, weights: Floats) -> tuple[dict[int, NDArray[np.bool_]], Floats]:
    """Axes of which few rows are left out, and which levels these are; the weights of all other levels.

    One axis is kept in any case.

    >>> table = np.array([[9.0, 0.1], [9.0, 0.2]])
    >>> few, usual = excluded(table, np.array([[1.0, 0.0], [0.0, 0.0]]))
    >>> {axis: levels.tolist() for axis, levels in few.items()}, usual.tolist()
    ({1: [False, True]}, [1.0, 0.0])
    """
    found: dict[int, NDArray[np.bool_]] = {}
    most, usual = FEW * float(table.sum()), weights
    for axis in range(table.ndim):
        if usual.ndim < 2:
            break
        by_level = np.moveaxis(usual, axis - len(found), 0)
        few = np.asarray(~by_level.reshape(len(by_level), -1).any(axis=1))
        if not few.any() or few.all():
            continue
        first = by_level[int(np.flatnonzero(~few)[0])]
        out = float(np.moveaxis(table, axis, 0)[few].sum())
        if 0.0 <= out <= most and (by_level[~few] == first).all():
            found[axis], usual = few, first
    return found, usual


def by_excluded(
    attributes: Names,
    table: Floats,
    weights: Floats,
    smaller: Callable[[Names, Floats], float],
    itself: Callable[[Names, Floats, Floats], float],
) -> float:
    """The bar of a weighted count by what it leaves out of attributes of which that is little; or infinite.

    All of them at once: what is left out is in one of them at least, and no more than there is in all.

    Args:
        attributes: of the table.
        table: counts.
        weights: of its cells.
        smaller: the bar of weights of the table of fewer attributes.
        itself: the bar of weights of this table.
    """
    few, usual = excluded(table, weights)
    if not few:
        return inf
    left_out = np.expand_dims(usual, tuple(few)) - weights
    most = 0.0
    for axis, levels in few.items():
        there = float(np.moveaxis(table, axis, 0)[levels].sum())
        most += there + smaller((attributes[axis],), levels.astype(np.float64))
    most *= float(np.abs(usual).max())
    count, low = float((table * left_out).sum()), -most if usual.min() < 0.0 else 0.0
    off = max(min(max(count - low, most - count), itself(attributes, table, left_out)), 0.0)
    rest = tuple(a for i, a in enumerate(attributes) if i not in few)
    return float(np.hypot(smaller(rest, usual), off))
