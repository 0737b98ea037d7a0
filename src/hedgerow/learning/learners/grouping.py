"""Groups of levels that rise above the noise, from released counts alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hedgerow.queries.domain.attribute import Attribute

if TYPE_CHECKING:
    from numpy.typing import NDArray


def groups_of(attribute: Attribute, totals: NDArray[np.float64], least: float) -> NDArray[np.int64]:
    """The group of every level, such that groups hold about `least` rows or more.

    Neighbouring levels of an ordered attribute are put together until there are enough; levels without an
    order that have too few share one group. Declared `other` and missing levels stand alone.

    >>> from hedgerow.queries.domain.bins import bins
    >>> groups_of(bins(0, 5, 1), np.array([9.0, 2.0, 3.0, 4.0, 1.0]), 5.0).tolist()
    [0, 1, 1, 2, 2]
    """
    proper = len(attribute.values)
    group = np.zeros(attribute.size, dtype=np.int64)
    if attribute.ordered:
        group[:proper] = _runs(totals[:proper], least)
    else:
        large = totals[:proper] >= least
        group[:proper] = np.where(large, np.cumsum(large), 0)
    tail = np.arange(proper, attribute.size)
    group[tail] = proper + 1 + tail
    return np.asarray(np.unique(group, return_inverse=True)[1], dtype=np.int64).reshape(-1)


def _runs(totals: NDArray[np.float64], least: float) -> NDArray[np.int64]:
    group, held, out = 0, 0.0, np.zeros(len(totals), dtype=np.int64)
    for level, total in enumerate(totals.tolist()):
        out[level] = group
        held += total
        if held >= least:
            group, held = group + 1, 0.0
    if held < least and group:  # what is left over joins the last full group
        out[out == group] = group - 1
    return out
