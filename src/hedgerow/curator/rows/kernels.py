"""The counting loop: many contingency tables from coded rows in one pass."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.compiled import njit
from hedgerow.queries.covering import Clique, cover

if TYPE_CHECKING:
    from numpy.typing import NDArray


def count_tables(
    batches: Iterable[NDArray[Any]], sizes: Sequence[int], cliques: Sequence[Clique]
) -> dict[Clique, NDArray[np.int64]]:
    """Exact tables over sets of columns from batches of codes (one row of the array per column).

    Every requested set is counted inside a covering set: fewer, slightly larger tables cost fewer increments
    per row, and summing a table over an axis is exact.
    """
    covers = cover(cliques, sizes)
    columns = np.array([c for cover_ in covers for c in cover_], dtype=np.int64)
    first = np.cumsum([0, *(len(c) for c in covers)]).astype(np.int64)
    strides = np.concatenate([_strides(c, sizes) for c in covers]) if len(columns) else np.zeros(0, np.int64)
    cells = np.cumsum([0, *(prod(sizes[c] for c in cover_) for cover_ in covers)]).astype(np.int64)
    counts = np.zeros(int(cells[-1]), dtype=np.int64)
    for codes in batches:
        _count(codes, columns, first, strides, cells, counts)
    tables = {
        cover_: counts[cells[i] : cells[i + 1]].reshape([sizes[c] for c in cover_])
        for i, cover_ in enumerate(covers)
    }
    return {clique: _sum_out(tables, clique) for clique in cliques}


def _strides(clique: Clique, sizes: Sequence[int]) -> NDArray[np.int64]:
    shape = [sizes[c] for c in clique]
    return np.array([prod(shape[i + 1 :]) for i in range(len(shape))], dtype=np.int64)


def _sum_out(tables: dict[Clique, NDArray[np.int64]], clique: Clique) -> NDArray[np.int64]:
    """The table of `clique`, axes in its order, from the smallest counted table that contains it."""
    inside = min((c for c in tables if set(clique) <= set(c)), key=lambda c: tables[c].size)
    table = tables[inside].sum(axis=tuple(i for i, c in enumerate(inside) if c not in clique))
    kept = [c for c in inside if c in clique]
    return np.asarray(table, dtype=np.int64).transpose([kept.index(c) for c in clique]).copy(order="C")


@njit(cache=True, nogil=True)
def _count(codes, columns, first, strides, cells, counts):
    rows = codes.shape[1]
    index = np.empty(4096, dtype=np.int64)
    for lo in range(0, rows, 4096):
        n = min(4096, rows - lo)
        for t in range(len(first) - 1):
            a, arity = first[t], first[t + 1] - first[t]
            table = counts[cells[t] : cells[t + 1]]
            if arity == 0:
                table[0] += n
                continue
            head, step = codes[columns[a], lo : lo + n], strides[a]
            for r in range(n):
                index[r] = head[r] * step
            for j in range(1, arity - 1):
                middle, step = codes[columns[a + j], lo : lo + n], strides[a + j]
                for r in range(n):
                    index[r] += middle[r] * step
            if arity == 1:
                for r in range(n):
                    table[index[r]] += 1
            else:
                tail = codes[columns[a + arity - 1], lo : lo + n]
                for r in range(n):
                    table[index[r] + tail[r]] += 1


@njit(cache=True, nogil=True)  # type: ignore[untyped-decorator]
def coarse_sums(
    gaps: NDArray[np.int64],
    first: NDArray[np.int64],
    table_of: NDArray[np.int64],
    source_of: NDArray[np.int64],
    maps: NDArray[np.int32],
    starts: NDArray[np.int64],
    places: NDArray[np.int64],
    sums: NDArray[np.int64],
    out: NDArray[np.int64],
) -> None:
    """Differences summed into groups, view by view, and the L1 norm of each; `first` is -1 for no table."""
    for view in range(len(table_of)):
        if first[table_of[view]] < 0:
            continue
        source = source_of[view]
        for i in range(starts[view + 1] - starts[view]):
            gap = gaps[first[table_of[view]] + i] if source < 0 else sums[places[source] + i]
            sums[places[view] + maps[starts[view] + i]] += gap
        total = 0
        for i in range(places[view], places[view + 1]):
            total += abs(sums[i])
        out[view] = total
