"""The weights at which the strategy of least mean variance is the one of least maximum variance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, combinations
from math import prod

import numpy as np

Attributes = tuple[str, ...]

GAP = 1e-3
"""How far the largest variance may be above what is provably least."""
_STEPS = 20_000


def worst_weights(
    sizes: Mapping[str, int], tables: Sequence[Attributes], matters: Sequence[float]
) -> tuple[list[float], float]:
    """What each table must weigh, and how far the largest variance then is above the least possible.

    Let p_S be the precision of residual S. A cell of table t has the variance v_t = sum over S in t of
    c_tS / p_S, c_tS = prod(d - 1 over S) prod(1/d over t without S) / cells, and precisions cost
    sum p_S prod(1 - 1/d over S) = 1. For weights x that add up to 1 the least sum of x_t v_t is
    f(x) = (sum over S of sqrt(column_S sum_t x_t c_tS))^2, by Cauchy-Schwarz [XHZK23]: the closed form for
    weighted marginals, whose residuals are what a Fourier basis spans for each set of attributes. The largest
    of v_t is no less than any mean of them, so f(x) is a lower bound of the least maximum for every x, and by
    Sion's minimax theorem the largest f(x) is that maximum. Tables of one shape have it at equal weights:
    there the closed form is exact. For others weights grow where variance is above the mean,
    x_t <- x_t sqrt(v_t / f) [STT78], until both sides are within one in a thousand.

    Args:
        sizes: levels of every attribute.
        tables: the tables, each once.
        matters: by how much the variance of each counts.
    """
    names = list(dict.fromkeys(s for t in tables for s in _subsets(t)))
    place = {s: i for i, s in enumerate(names)}
    columns = np.array([prod(1.0 - 1.0 / sizes[a] for a in s) for s in names])
    kept = np.zeros((len(tables), len(names)))
    for row, (t, much) in enumerate(zip(tables, matters, strict=True)):
        cells = prod(sizes[a] for a in t)
        for s in _subsets(t):
            spread = prod(sizes[a] - 1 for a in s) * prod(1.0 / sizes[a] for a in t if a not in s)
            kept[row, place[s]] = much * spread / cells
    x = np.full(len(tables), 1.0 / len(tables))
    for _ in range(_STEPS):
        roots = np.sqrt(columns * (x @ kept))
        least = float(roots.sum()) ** 2
        each = kept @ np.divide(columns, roots, out=np.zeros_like(roots), where=roots > 0.0) * roots.sum()
        gap = float(each.max()) / least - 1.0
        if gap <= GAP:
            break
        x *= np.sqrt(each / least)
        x /= x.sum()
    cells_of = np.array([prod(sizes[a] for a in t) for t in tables], dtype=np.float64)
    weights = np.maximum(x, 1e-9 / len(tables)) * np.asarray(matters) / cells_of
    return (weights / weights.max()).tolist(), gap


def _subsets(names: Sequence[str]) -> chain[Attributes]:
    return chain.from_iterable(combinations(names, k) for k in range(len(names) + 1))
