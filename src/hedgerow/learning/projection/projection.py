"""Projection: the distribution whose answers are nearest to noisy ones, by mirror descent on all cells."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import RangeTooLarge
from hedgerow.learning.projection import kernels
from hedgerow.queries.block import Axis, Block, ProductBlock
from hedgerow.queries.query import ONE
from hedgerow.queries.workload import Workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain

    Floats = NDArray[np.float64]

CELLS = 1 << 24
"""Larger domains are refused."""

_PLACES = 1 << 25
_ENTRIES = 1 << 28  # of the weights of all listed queries together, in float32


@dataclass(frozen=True)
class Projected:
    """A distribution over all cells, and how near to the best one it is.

    Args:
        cells: probabilities, in the domain's shape.
        distance: mean squared distance of its answers to the noisy ones, as fractions of the total.
        gap: the most by which some other distribution can have a smaller one (the Frank-Wolfe gap).
        steps: how many steps were made.
    """

    cells: Floats
    distance: float
    gap: float
    steps: int


class Answering:
    """The linear map from a table of all attributes to a workload's answers, and its transpose, by tables."""

    def __init__(self, domain: Domain, workload: Workload) -> None:
        refuse_large(domain, workload)
        self.domain, self.workload = domain, workload
        self._listed = [None if isinstance(b, ProductBlock) else _rows(b) for b in workload.blocks]
        self._starts: dict[tuple[str, ...], int] = {}
        size = 0
        for s in workload.cliques:
            self._starts[s] = size
            size += domain.cells(s)
        self._size = size
        small = len(workload.cliques) * domain.size <= _PLACES
        self._places = self._lay_out() if small else None

    def _lay_out(self) -> NDArray[np.int32]:
        """Where each cell is summed for each table; held only when that is not much more than the cells."""
        levels = dict(zip(self.domain, np.indices(self.domain.shape, sparse=True), strict=True))
        out = np.empty((len(self._starts), self.domain.size), dtype=np.int32)
        for row, (s, start) in zip(out, self._starts.items(), strict=True):
            place = np.zeros((1,) * len(self.domain), dtype=np.int64)
            for a in s:
                place = place * self.domain[a].size + levels[a]
            row[:] = np.broadcast_to(start + place, self.domain.shape).reshape(-1)
        return out

    def _tables(self, cells: Floats) -> Floats:
        """All tables of the cells, one after another."""
        out = np.zeros(self._size)
        if self._places is not None:
            kernels.sum_tables(np.ascontiguousarray(cells).reshape(-1), self._places, out)
            return out
        for s, start in self._starts.items():
            table = cells.sum(axis=self._others(s))
            out[start : start + table.size] = table.reshape(-1)
        return out

    def answers(self, cells: Floats) -> list[Floats]:
        """The answers of each block."""
        tables, out = self._tables(cells), []
        for block, rows in zip(self.workload.blocks, self._listed, strict=True):
            table = tables[self._range(block.attributes)]
            out.append(_times(rows, table) if rows is not None else block.apply(table))
        return out

    def transpose(self, parts: list[Floats]) -> Floats:
        """The sum over queries of a number times the query's weight on every cell."""
        tables = np.zeros(self._size)
        for block, rows, part in zip(self.workload.blocks, self._listed, parts, strict=True):
            back = _times(rows.T, part) if rows is not None else _back(block, part)
            tables[self._range(block.attributes)] += back.reshape(-1)
        out = np.zeros(self.domain.shape)
        if self._places is not None:
            kernels.spread_tables(tables, self._places, out.reshape(-1))
            return out
        for s in self._starts:
            table = tables[self._range(s)].reshape(self.domain.shape_of(s))
            out += np.expand_dims(table, self._others(s))
        return out

    def _range(self, s: tuple[str, ...]) -> slice:
        return slice(self._starts[s], self._starts[s] + self.domain.cells(s))

    def _others(self, s: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(i for i, name in enumerate(self.domain) if name not in s)

    def blocks(self, answers: Floats) -> list[Floats]:
        """Answers in the workload's order, block by block."""
        order = self.workload._order
        flat = np.empty(len(answers))
        flat[slice(None) if order is None else order] = answers
        return np.split(flat, self.workload._starts[1:-1])


def project(
    domain: Domain, workload: Workload, targets: Floats, *, tolerance: float, steps: int = 1000
) -> Projected:
    """The distribution whose answers to a workload are nearest to `targets`, in Euclidean distance.

    Accelerated mirror descent with entropy on the simplex (Tseng's method): after t steps the mean squared
    distance is above the least one by at most 4 L ln|X| / t^2, where the curvature L <= 2 along the simplex
    is found by doubling. Stops when the Frank-Wolfe gap, a certificate, is below `tolerance`.

    Args:
        domain: the declared attributes.
        workload: the queries.
        targets: noisy answers as fractions of the total, in the workload's order.
        tolerance: on the mean squared distance.
        steps: the most steps to make.

    >>> from hedgerow.queries.domain.domain import Domain
    >>> from hedgerow.queries.workload import marginals
    >>> two = Domain({"a": 2})
    >>> project(two, marginals(two, 1), np.array([1.2, -0.2]), tolerance=1e-9).cells.round(2).tolist()
    [1.0, 0.0]
    """
    map_, k = Answering(domain, workload), len(workload)
    goal = map_.blocks(np.asarray(targets, dtype=np.float64))
    log_z = np.zeros(domain.shape)
    x = z = _shares(log_z)
    answers_x = answers_z = map_.answers(x)
    curve, theta, step, gap, distance = 1e-3, 1.0, 0, np.inf, 0.0
    while True:
        distance = _squares(answers_x, goal) / k
        if step % 5 == 0 or step == steps:
            slope = map_.transpose([(a - g) * (2.0 / k) for a, g in zip(answers_x, goal, strict=True)])
            gap = float((slope * x).sum() - slope.min())
        if gap <= tolerance or step == steps:
            return Projected(x, distance, max(gap, 0.0), step)
        step += 1
        while True:
            mixed = [(1 - theta) * a + theta * b for a, b in zip(answers_x, answers_z, strict=True)]
            slope = map_.transpose([(a - g) * (2.0 / k) for a, g in zip(mixed, goal, strict=True)])
            new_log = log_z - slope / (curve * theta)
            new_z = _shares(new_log)
            answers_new = map_.answers(new_z)
            moved = _divergence(new_z, new_log, log_z)
            if curve >= 2.0 or _squares(answers_new, answers_z) / k <= curve * moved:
                break  # weights are at most 1, so that by Pinsker 2 always is enough
            curve *= 2.0
        log_z, z = new_log - new_log.max(), new_z
        x = (1 - theta) * x + theta * z
        answers_x = [(1 - theta) * a + theta * b for a, b in zip(answers_x, answers_new, strict=True)]
        answers_z = answers_new
        theta = 0.5 * (np.sqrt(theta**4 + 4.0 * theta**2) - theta**2)


def converged(cells: int, steps: int) -> float:
    """How far above the least the mean squared distance is at most after so many steps: see `project`."""
    return 8.0 * log(max(cells, 2)) / max(steps, 1) ** 2


def refuse_large(domain: Domain, workload: Workload) -> None:
    """Refuse domains whose cells, or workloads whose weights, cannot be held."""
    if domain.size > CELLS:
        raise RangeTooLarge(
            f"the domain has {domain.size:,} cells; a projection holds at most {CELLS:,}, "
            "use AdaptiveRelease or Factorization"
        )
    listed = sum(len(b) * prod(b.query(0).shape) for b in workload.blocks if not isinstance(b, ProductBlock))
    if listed > _ENTRIES:
        raise RangeTooLarge(f"the listed queries have {listed:,} weights, more than {_ENTRIES:,}")


def _squares(left: list[Floats], right: list[Floats]) -> float:
    return float(sum(((a - b) ** 2).sum() for a, b in zip(left, right, strict=True)))


def _shares(logs: Floats) -> Floats:
    out: Floats = np.exp(logs - logs.max())
    return out / float(out.sum())


def _divergence(new: Floats, new_log: Floats, old_log: Floats) -> float:
    """Kullback-Leibler divergence of two distributions given by unnormalised logarithms."""
    new_sum, old_sum = (float(np.log(np.exp(x - x.max()).sum()) + x.max()) for x in (new_log, old_log))
    return float((new * (new_log - old_log)).sum()) - new_sum + old_sum


def _rows(block: Block) -> NDArray[np.float32]:
    """A block's weights as a matrix."""
    return np.array(
        [block.query(i).weights.reshape(-1) / np.float32(ONE) for i in range(len(block))], dtype=np.float32
    )


def _times(matrix: NDArray[np.float32], vector: Floats) -> Floats:
    return (matrix @ vector.astype(np.float32)).astype(np.float64)


def _back(block: Any, part: Floats) -> Floats:
    """The transpose of a product block's map, one attribute after another."""
    table = part.reshape(block.shape)
    for i, axis in enumerate(block.axes):
        table = np.moveaxis(_axis_back(axis, np.moveaxis(table, i, 0)), 0, i)
    return table


def _axis_back(axis: Axis, rows: Floats) -> Floats:
    """What each level is part of: the transpose of `Axis.apply` along the first axis."""
    n = axis.levels
    if axis.kind == "cells" or (axis.kind == "literals" and n <= 2):
        return rows
    if axis.kind == "literals":
        others: Floats = rows[n:].sum(axis=0) - rows[n:]
        return rows[:n] + others
    if axis.kind == "prefixes":
        return np.cumsum(rows[::-1], axis=0)[::-1]
    start, stop = np.triu_indices(n)
    ends = np.zeros((n + 1, *rows.shape[1:]))
    np.add.at(ends, start, rows)
    np.subtract.at(ends, stop + 1, rows)
    return np.cumsum(ends[:-1], axis=0)
