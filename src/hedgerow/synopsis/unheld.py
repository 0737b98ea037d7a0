"""Unheld: how much a count can still vary among rows that agree with every measured table.

Rows drawn from a model differ from it by chance. Once they are known to agree with it in some tables, a count
varies by less: all that is left are changes of cells that add up to nothing in each of those tables. Of a
conjunction that is a table of two levels for each attribute, inside and outside, and the changes are spanned
by one pattern of signs for each set of attributes that was not measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Axes = tuple[int, ...]

_EMPTY = 1.0  # row: what a cell is taken to hold beside what it is said to
_SWEEPS = 12  # of projections, for weights that are not those of a conjunction
_WORK = 1 << 24  # numbers that they may take
MOST = 1 << 23  # numbers that the corners of all cells of a table may take


def corners(table: Floats, inside: Sequence[Floats]) -> Floats:
    """A table as one of two levels for each attribute: what is inside a conjunction, then what is not."""
    for mask in inside:
        levels = table.reshape(len(mask), -1)
        one = mask @ levels
        table = np.stack([one, levels.sum(axis=0) - one], axis=-1).reshape(*table.shape[1:], 2)
    return table


def all_corners(table: Floats) -> Floats:
    """The same of every cell of a table: levels first, then cells."""
    found = table
    for axis in reversed(range(table.ndim)):
        at = found.ndim - table.ndim + axis
        found = np.stack([found, found.sum(axis=at, keepdims=True) - found])
    return found


def of_corners(found: Floats, unmeasured: Sequence[Axes], axes: int) -> Floats:
    """The variance of the inside of conjunctions, given all tables but those of the unmeasured sets.

    Changes of cells that leave the measured margins as they are have the form Z x, a column of Z for each
    unmeasured set: the product over its attributes of +1 inside and -1 outside. By the counts n, x has the
    covariance (Z' diag(1/n) Z)^-1, and the inside is their sum.

    Args:
        found: counts by two levels of each attribute, then of as many conjunctions as there are.
        unmeasured: places of the attributes of every set that was not measured.
        axes: how many attributes there are.
    """
    kept = found.shape[axes:]
    if not unmeasured:
        return np.zeros(kept)
    rare = 1.0 / (np.maximum(found, 0.0) + _EMPTY).reshape(2**axes, -1)
    signs = np.array(list(product((1.0, -1.0), repeat=axes)))
    z = np.stack([signs[:, list(s)].prod(axis=1) for s in unmeasured], axis=1)
    if len(unmeasured) == 1:
        return np.asarray(1.0 / rare.sum(axis=0)).reshape(kept)
    pairs = (z[:, :, None] * z[:, None, :]).reshape(len(z), -1)
    precision = (rare.T @ pairs).reshape(-1, z.shape[1], z.shape[1])
    ones = np.ones((len(precision), z.shape[1], 1))
    return np.asarray(np.linalg.solve(precision, ones).sum(axis=(1, 2))).reshape(kept)


def of_weights(table: Floats, weights: Floats, measured: Sequence[Axes]) -> float:
    """The same of any weighted count: of its weights, what no sum of functions of measured sets is.

    Projections on the functions of one set after another only come nearer to that from above.

    Args:
        table: the counts.
        weights: of its cells.
        measured: places of the attributes of every measured set that is in no other.
    """
    rows = np.maximum(table, 0.0) + _EMPTY / max(table.size, 1)
    left = np.asarray(weights, dtype=np.float64)
    others = [tuple(i for i in range(table.ndim) if i not in s) for s in measured]
    inside = [rows.sum(axis=out, keepdims=True) for out in others]
    for _ in range(1 if len(others) < 2 else max(2, min(_SWEEPS, _WORK // (table.size * len(others))))):
        for out, whole in zip(others, inside, strict=True):
            left = left - (rows * left).sum(axis=out, keepdims=True) / whole
    return float((rows * left**2).sum())


def aligned(energy: Floats, part: float) -> float:
    """By how much what is off adds up in a weighted count, where a usual part of it is along the weights.

    Args:
        energy: of the weights, by levels of some attributes: squares by how many rows there are.
        part: of all that is off.
    """
    most = 1.0
    for axis in range(energy.ndim):
        each = np.sqrt(energy.sum(axis=tuple(i for i in range(energy.ndim) if i != axis)))
        squares = float((each**2).sum())
        if squares > 0.0:
            most = max(most, part * float(each.sum()) ** 2 / squares)
    return most


def conjunction(weights: Floats) -> list[Floats] | None:
    """The levels of each attribute that a conjunction's weights hold; None if they are none's."""
    there = weights > 0.0
    if not there.any() or float(weights.min()) < 0.0 or np.ptp(weights[there]) > 1e-9 * float(weights.max()):
        return None
    axes = range(weights.ndim)
    masks = [np.asarray(there.any(axis=tuple(i for i in axes if i != axis))) for axis in axes]
    whole = prod(int(m.sum()) for m in masks) == int(there.sum())
    return [m.astype(np.float64) for m in masks] if whole else None
