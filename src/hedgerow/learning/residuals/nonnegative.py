"""The nearest residuals whose tables have no negative cell; and one table at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.learning.residuals.basis import Basis, Names, subsets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Parts = Mapping[Names, Floats]

_CELLS, _TABLES = 2e7, 12_000  # cells, and tables, that a projection may visit
_SWEEPS = 2000
_RAKED = 4  # sweeps over the single attributes of a table
_CLEAN = 1e-6  # of the even share of a cell: so little below zero is made up for by mixing
_UNSEEN = 0.005  # of the noise of a table: what that may move it by, each time


def nonnegative(
    basis: Basis, parts: Parts, tables: Sequence[Names], noise: float = inf
) -> dict[Names, Floats]:
    """Residuals nearby whose tables have no negative cell.

    Two projections take turns: every table goes to the nearest one without negative cells (`cut`), then all
    of them to the nearest ones that agree, which takes the mean of every residual over the tables that hold
    it, each by what it keeps of it. Both sets are convex and the truth is in both, so no step goes away from
    the truth, in the sum of squared errors of all tables; and the limit is in both sets. It ends when next to
    nothing is below zero, or after a fixed amount of work; reading a table then cuts what is left.

    Args:
        basis: of the residuals.
        parts: the residuals.
        tables: of attributes, none within another.
        noise: the L1 norm of a table's noise, as a part of all rows: what is next to nothing beside it.
    """
    least = min(_CLEAN, _UNSEEN * noise)
    cells = sum(int(np.prod([basis.sizes[a] for a in t])) for t in tables)
    now = {s: np.asarray(v, dtype=np.float64) for s, v in parts.items()}
    weights: dict[Names, float] = {}
    for t in tables:
        for s in subsets(t):
            weights[s] = weights.get(s, 0.0) + basis.spread(s, t)
    for _ in range(int(max(3.0, min(_SWEEPS, _CELLS / max(cells, 1), _TABLES / max(len(tables), 1))))):
        clean, sums = True, {s: np.zeros_like(now[s]) for s in weights}
        for t in tables:
            built = basis.table(t, now)
            clean = clean and float(built.min()) >= -least * abs(float(built.sum())) / built.size
            for s, v in basis.parts(t, cut(built)).items():
                sums[s] += basis.spread(s, t) * v
        if clean:
            break
        now |= {s: np.asarray(sums[s] / w) for s, w in weights.items()}
    return _mixed(basis, now, tables, min(100.0 * _CLEAN, 10.0 * _UNSEEN * noise))


def brought(
    basis: Basis, parts: Parts, tables: Sequence[Names], margins: Mapping[str, Floats]
) -> dict[Names, Floats]:
    """Residuals whose tables have these counts of single attributes, and their own of the others.

    Every table is fitted to them in turn (iterative proportional fitting); residuals that several tables hold
    are the mean of theirs.

    Args:
        basis, parts, tables: as for `nonnegative`.
        margins: by attribute, none negative; all of one sum.
    """
    goals = {a: margins.get(a, cut(basis.table((a,), parts))) for t in tables for a in t}
    sums: dict[Names, Floats] = {}
    weights: dict[Names, float] = {}
    for t in tables:
        table = cut(basis.table(t, parts))
        for _ in range(_RAKED):
            for i, a in enumerate(t):
                others = tuple(j for j in range(len(t)) if j != i)
                now = table.sum(axis=others)
                ratio = np.divide(goals[a], now, out=np.zeros_like(now), where=now > 0.0)
                table = table * np.expand_dims(ratio, others)
        for s, v in basis.parts(t, table).items():
            weights[s] = weights.get(s, 0.0) + basis.spread(s, t)
            sums[s] = sums.get(s, 0.0) + basis.spread(s, t) * v
    return {**parts, **{s: np.asarray(v / weights[s]) for s, v in sums.items()}}


def cut(table: Floats) -> Floats:
    """The nearest table without negative cells and with the same sum (at least 0)."""
    if table.size == 0 or float(table.min()) >= 0.0:
        return table
    total = max(float(table.sum()), 0.0)
    falling = np.sort(table.reshape(-1))[::-1]
    levels = (np.cumsum(falling) - total) / np.arange(1, falling.size + 1)
    last = int(np.flatnonzero(falling >= levels)[-1])
    return np.asarray(np.maximum(table - levels[last], 0.0))


def _mixed(
    basis: Basis, parts: dict[Names, Floats], tables: Sequence[Names], most: float
) -> dict[Names, Floats]:
    """A very little of the even distribution, at most so much, where that lifts every cell to zero."""
    part = 0.0
    for t in tables:
        built = basis.table(t, parts)
        even, least = float(built.sum()) / built.size, float(built.min())
        if least < 0.0 < even:
            part = max(part, -least / (even - least))
    if not 0.0 < part <= most:
        return parts
    part = min(1.0, part * (1.0 + 1e-6))
    return {s: np.asarray(v if not s else (1.0 - part) * v) for s, v in parts.items()}


def outermost(tables: Sequence[Names]) -> list[Names]:
    """Those of some tables that are in no other, the largest first."""
    inside: set[Names] = set()
    out = []
    for t in sorted(set(tables), key=lambda t: (-len(t), t)):
        if t not in inside:
            out.append(t)
            inside.update(subsets(t))
    return out
