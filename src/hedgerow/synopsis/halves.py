"""Halves: a conjunction of many levels, from tables of two attributes each, without the table behind it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.queries.query import ONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.query import Query

    Floats = NDArray[np.float64]

_MOST = 6  # attributes: the model is asked for every cell of their table in halves
_SWEEPS = 12


def halved(
    query: Query, table: Callable[[tuple[str, ...]], Floats], modelled: Callable[[Query], float]
) -> float | None:
    """How many rows meet conditions on several attributes, by what two of them at a time meet.

    Every attribute has two halves: the levels that are asked for, and the others. The table of halves is the
    model's, brought to those of all pairs in turn (iterative proportional fitting): of all tables with these
    pairs, the one nearest to the model by relative entropy.

    Args:
        query: a product of 0/1 weights; None is returned for others.
        table: reads a table of two attributes, in rows.
        modelled: the part of all rows that a product counts, by the model.
    """
    assert query.factors is not None
    names, tops = query.attributes, [int(f.max(initial=0)) for f in query.factors]
    masks = [f > 0 for f in query.factors]
    plain = all(bool((f[m] == top).all()) for f, m, top in zip(query.factors, masks, tops, strict=True))
    if not plain or not 2 <= len(names) <= _MOST or not all(tops):
        return None
    sides = {a: np.stack([m, ~m]).astype(np.float64) for a, m in zip(names, masks, strict=True)}
    goals = {
        (i, j): sides[names[i]] @ np.maximum(table((names[i], names[j])), 0.0)
        @ sides[names[j]].T
        for i, j in combinations(range(len(names)), 2)
    }  # fmt: skip
    out = np.zeros((2,) * len(names))
    for at in np.ndindex(out.shape):
        factors = [sides[a][i].astype(np.int64) for a, i in zip(names, at, strict=True)]
        factors[0] = factors[0] * ONE
        out[at] = modelled(replace(query, factors=tuple(factors))) if all(f.any() for f in factors) else 0.0
    for _ in range(_SWEEPS):
        for (i, j), goal in goals.items():
            others = tuple(k for k in range(len(names)) if k not in (i, j))
            now = out.sum(axis=others)
            ratio = np.divide(goal, now, out=np.zeros_like(goal), where=now > 0.0)
            out = out * np.expand_dims(ratio, others)
    return float(out[(0,) * len(names)]) * query.largest / ONE
