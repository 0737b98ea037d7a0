"""Goals: tables that rows are to have, and rows changed value by value until they have them.

Post-processing: rows drawn from a model, and tables that were released.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.learning import goals_kernels as kernels

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Codes = NDArray[np.int32]

CHUNK = 1 << 14
"""Rows that are brought together; what they are still off by is left to the next."""
_NEVER = 1e12  # how full a cell that cannot occur counts as
_WORK = 1.5e9  # cells that may be looked at in all sweeps, if one does not take more
_SWEEPS = 3
_OTHERS = 2  # a table has at most so many attributes beside one


class Goals:
    """Tables over one, two or three attributes that rows are to have, as parts of all rows.

    A row's value goes to the level that lowers the sum of squared distances to all tables most, if any does:
    from cell u to v of a table the sum changes by 2 (gap_v - gap_u + 1), where a gap is how many rows too
    many a cell has. Only rows in cells that are over-full on the whole are looked at. So other dependence
    stays as it was drawn, and what drawing rounds goes too.

    Args:
        shape: how many levels each attribute has.
        tables: by the attributes' places, the parts of all rows; they need not sum to 1.
        possible: by the attributes' places, False where a combination cannot occur.

    >>> goals = Goals((2, 2), {(0, 1): np.array([[0.5, 0.0], [0.0, 0.5]])})
    >>> from numpy.random import PCG64, Generator
    >>> rows = np.array([[0, 1], [1, 0], [0, 0], [1, 1]], dtype=np.int32)
    >>> Approach(goals, 4, Generator(PCG64(1))).bring(rows)[:, 0].tolist() in ([0, 1, 0, 1], [1, 0, 0, 1])
    True
    """

    def __init__(
        self,
        shape: Sequence[int],
        tables: Mapping[tuple[int, ...], Floats],
        possible: Mapping[tuple[int, ...], NDArray[np.bool_]] | None = None,
    ) -> None:
        self.shape = tuple(shape)
        self.possible = dict(possible or {})
        self._free = {t: np.zeros(p.shape) for t, p in self.possible.items() if t not in tables}
        self.tables = {t: _shares(table) for t, table in {**self._free, **tables}.items()}
        self.cost = sum(map(len, self.tables))

    @cached_property
    def shares(self) -> NDArray[np.float32]:
        """All tables, one after another; one that is only there for what cannot occur has none, nor rows."""
        parts = [table.reshape(-1) for table in self.tables.values()]
        return np.concatenate([np.zeros(0), *parts]).astype(np.float32)

    @cached_property
    def barred(self) -> NDArray[np.float32]:
        """What cells count as over-full by before there are rows: nothing, or far too much."""
        none = {t: np.ones(table.shape, dtype=np.bool_) for t, table in self.tables.items()}
        parts = [~self.possible.get(t, free).reshape(-1) for t, free in none.items()]
        return np.concatenate([np.zeros(0), *parts]).astype(np.float32) * np.float32(_NEVER)

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """Of every table: where it starts, three attributes with the steps of their levels, if rows count."""
        out, start = np.zeros((len(self.tables), 8), dtype=np.int64), 0
        for row, (t, table) in zip(out, self.tables.items(), strict=True):
            steps = [int(np.prod(table.shape[i + 1 :])) for i in range(len(t))]
            filled = [*zip(t, steps, strict=True), *[(len(self.shape), 0)] * (_OTHERS + 1 - len(t))]
            row[:] = (start, *(x for pair in filled for x in pair), t not in self._free)
            start += table.size
        return out

    @cached_property
    def views(self) -> list[NDArray[np.int64]]:
        """Of every attribute, its tables: start, own step, the other attributes and theirs, if rows count."""
        found: list[list[tuple[int, ...]]] = [[] for _ in self.shape]
        for t, row in zip(self.tables, self.places, strict=True):
            pairs = [(int(row[1 + 2 * i]), int(row[2 + 2 * i])) for i in range(_OTHERS + 1)]
            for i, a in enumerate(t):
                others = [x for j, pair in enumerate(pairs) if j != i for x in pair]
                found[a].append((int(row[0]), pairs[i][1], *others, int(row[-1])))
        return [np.array(v, dtype=np.int64).reshape(-1, 3 + 2 * _OTHERS).T.copy() for v in found]


class Approach:
    """Rows on their way to their goals, a part at a time: what one part leaves is made up for by the next.

    Args:
        goals: the tables.
        rows: how many there will be in all.
        random: the order in which rows are looked at.
    """

    def __init__(self, goals: Goals, rows: int, random: Generator) -> None:
        self.goals, self._random = goals, random
        self._sweeps = int(np.clip(_WORK / max(rows * goals.cost, 1), 1, _SWEEPS))
        self._gaps = goals.barred.copy()
        self._scores = np.zeros(max(goals.shape, default=1), dtype=np.float32)
        self._at = np.zeros(max((v.shape[1] for v in goals.views), default=0), dtype=np.int64)

    def bring(self, rows: Codes) -> Codes:
        """Changed rows, in the same order."""
        out = np.empty_like(rows)
        mixed = self._random.permutation(len(rows))
        for start in range(0, len(rows), CHUNK):
            chosen = mixed[start : start + CHUNK]
            part = np.zeros((len(chosen), rows.shape[1] + 1), dtype=np.int32)  # the last stands for no other
            part[:, :-1] = rows[chosen]
            self._gaps -= self.goals.shares * np.float32(len(chosen))
            kernels.count(part, self.goals.places, self._gaps)
            for _ in range(self._sweeps):
                if not self._sweep(part):
                    break
            out[chosen] = part[:, :-1]
        return out

    def _sweep(self, part: Codes) -> int:
        """Look at every value once; how many were changed."""
        moved = 0
        order = self._random.permutation(len(part))
        for a in self._random.permutation(len(self.goals.shape)):
            view = self.goals.views[a]
            if view.shape[1]:
                turn = int(self._random.integers(len(part)))  # other rows come first for every attribute
                levels = self.goals.shape[a]
                moved += kernels.move(
                    part, order, turn, int(a), levels, self._gaps, view, self._scores, self._at
                )
        return moved


def _shares(table: Floats) -> Floats:
    """A table without negative cells, as parts of all rows."""
    kept = np.maximum(table, 0.0)
    return np.asarray(kept / max(float(kept.sum()), 1e-300))
