"""Rows drawn from beliefs, clique by clique: systematic rounding, shuffled within groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.random import PCG64, Generator

from hedgerow.learning.factored import kernels
from hedgerow.learning.factored.belief import Beliefs

if TYPE_CHECKING:
    from numpy.typing import NDArray

CHUNK = 1 << 18
"""Rows drawn together; each chunk is rounded on its own and stays in the cache."""


def draw_rows(beliefs: Beliefs, rows: int, seed: int | None = None) -> list[NDArray[np.int64]]:
    """Level codes, one array per attribute.

    The root clique's cells are given to rows in proportion to their probability, rounded systematically; each
    further clique does the same within the rows that share a separator cell, and shuffles them: without that,
    two cliques behind one separator would be sorted alike, and look dependent.
    """
    random = Generator(PCG64(seed))
    tree = beliefs.tree
    out = [np.empty(rows, dtype=np.int64) for _ in tree.resolutions.sizes]
    plans = [_Plan(beliefs, k) for k in range(len(tree.cliques))]
    for start in range(0, rows, CHUNK):
        size = min(CHUNK, rows - start)
        cells: list[NDArray[np.int32]] = []
        for k, plan in enumerate(plans):
            parent = tree.parent[k]
            keys = plan.gate[cells[parent]] if parent >= 0 else np.zeros(size, dtype=np.int32)
            cells.append(plan.draw(keys, random))
            for a, codes in plan.codes:
                out[a][start : start + size] = codes[cells[k]]
    return out


class _Plan:
    """What one clique needs to draw its cells: cells by separator cell, and the levels they stand for."""

    def __init__(self, beliefs: Beliefs, k: int) -> None:
        tree = beliefs.tree
        separator = tree.separators[k]
        self._groups = tree.resolutions.cells(separator)
        group = beliefs.index(k, separator)
        self._beliefs = beliefs.clique(k)
        self._order = np.argsort(group, kind="stable")
        self._starts = np.searchsorted(group[self._order], np.arange(self._groups + 1)).astype(np.int64)
        parent = tree.parent[k]
        self.gate = beliefs.index(parent, separator) if parent >= 0 else np.zeros(1, dtype=np.int32)
        known = set(separator)
        full = [n for n in tree.cliques[k] if n[1] == 0 and n not in known]
        self.codes = [(a, beliefs.index(k, ((a, r),)).astype(np.int64)) for a, r in full]

    def draw(self, keys: NDArray[np.int32], random: Generator) -> NDArray[np.int32]:
        """A cell for every row, given the separator cell it is in."""
        counts = np.bincount(keys, minlength=self._groups)
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        out = np.empty(len(keys), dtype=np.int32)
        seed = random.integers(0, 1 << 63, dtype=np.uint64)
        kernels.draw_cells(
            self._beliefs,
            self._groups,
            self._order,
            self._starts,
            keys,
            starts,
            random.random(self._groups),
            seed,
            out,
        )
        return out
