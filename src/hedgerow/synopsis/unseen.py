"""Unseen: how a number of many levels and few rows goes together with anything else.

Where the noise of a number's own table is more than its rows, no larger table that has its levels is worth
measuring, and none that was measured tells anything: a model takes the number to be the same in every group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hedgerow.learning.ordered import displaced, hidden
from hedgerow.learning.residuals.nonnegative import cut

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.attribute import Attribute

    Floats = NDArray[np.float64]

_HIDES = 0.25  # of all rows: with less noise on all levels, larger tables tell something of a number
_RELATED = 0.2  # a usual correlation of a number with what rows are grouped by


def thin(body: Attribute, noisy: Floats, sigma: float) -> bool:
    """Whether noise hides a number's rows: the nearest table without negative cells would displace it.

    Args:
        body: the attribute.
        noisy: its table as it was measured.
        sigma: the standard deviation of each count.
    """
    rows = float(noisy.sum())
    much = hidden(body, sigma, rows) and sigma * body.size > _HIDES * rows
    return much and displaced(cut(noisy), noisy, sigma, len(body.values))


def unseen(table: Floats, weights: Floats, axis: int) -> float:
    """The standard deviation of a weighted count by how a thin number may go together with the rest.

    Of the weights only what depends on both sides counts, w - E[w | number] - E[w | rest] + E[w]. For the sum
    of a number over a group that is (v - mean) (1[group] - its part of rows): with a correlation r of number
    and group the sum is off by r times all rows times the root of its mean square.

    Args:
        table: in rows.
        weights: of its cells.
        axis: of the number.
    """
    w, counts = (np.moveaxis(x, axis, -1).reshape(-1, table.shape[axis]) for x in (weights, table))
    rows = max(float(counts.sum()), 1e-300)
    p, q = np.maximum(counts.sum(axis=0), 0.0) / rows, np.maximum(counts.sum(axis=1), 0.0) / rows
    if len(q) < 2 or np.count_nonzero(w.any(axis=0)) < 2:
        return 0.0
    both = w - (w @ p)[:, None] - (q @ w)[None, :] + q @ w @ p
    return _RELATED * rows * float(np.sqrt(np.maximum(q @ both**2 @ p, 0.0)))
