"""The optimal strategy for a small general workload, by a fixed point of its dual problem."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.errors import RangeTooLarge
from hedgerow.queries.query import ONE
from hedgerow.queries.strategies.strategy import MatrixStrategy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.privacy.budget import Privacy
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.workload import Workload

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

GROUPS = 256
ENTRIES = 1 << 24

_BITS = 16  # of the rounded matrix
_RIDGES = (1e-6, 1e-4)  # of the workload's mean square: keeps directions that nobody asks for invertible
_STEPS, _GAP = 100, 1e-3


@dataclass(frozen=True)
class MatrixPlan:
    """A strategy and the sum of all answers' variances in units of (unit's sensitivity)^2 / (2 rho)."""

    strategy: MatrixStrategy
    variance: float


def plan(domain: Domain, workload: Workload, weights: Sequence[float], privacy: Privacy) -> MatrixPlan:
    """The best of the optimised matrix, the workload itself, and one number per group of cells.

    Cells that no query tells apart are one group, so that the optimiser works on as few columns as there are
    different ones.
    """
    names, groups, columns = grouped(domain, workload)
    counts = np.repeat(np.asarray(weights, dtype=np.float64), [len(b) for b in workload.blocks])
    shares = np.sqrt(counts if workload._order is None else counts[workload._order])
    asked = columns / workload.denominator * shares[:, None]
    found = [
        MatrixPlan(strategy, _variance(asked, matrix) * float(privacy.sensitivity(strategy.norms).l2_squared))
        for matrix in _candidates(asked, columns)
        for strategy in [MatrixStrategy(names, groups, matrix)]
    ]
    return min(found, key=lambda p: p.variance)


def grouped(domain: Domain, workload: Workload) -> tuple[tuple[str, ...], Ints, Ints]:
    """The table behind a workload, the group of each of its cells, and every query's weight on each group."""
    names = domain.order({a for b in workload.blocks for a in b.attributes})
    shape = domain.shape_of(names)
    if len(workload) * prod(shape) > ENTRIES:
        raise RangeTooLarge(
            f"{len(workload):,} queries over a table of {prod(shape):,} cells are too many to optimise for; "
            "ask for whole tables or ranges, or use GaussianBaseline"
        )
    rows = []
    for query in workload:
        place = [n if a in query.attributes else 1 for a, n in zip(names, shape, strict=True)]
        steps = query.weights // (ONE // workload.denominator)
        rows.append(np.broadcast_to(steps.reshape(place), shape).reshape(-1))
    different, group = np.unique(np.array(rows, dtype=np.int64), axis=1, return_inverse=True)
    group = group.reshape(-1)
    asked = np.flatnonzero(different.any(axis=0))
    if len(asked) > GROUPS:
        raise RangeTooLarge(
            f"the queries tell {len(asked):,} groups of cells apart, more than the {GROUPS} that can be "
            "optimised for; ask for whole tables or ranges, or use GaussianBaseline"
        )
    if not len(asked):  # every query counts nothing: one group that all rows are in
        return names, np.zeros(shape, dtype=np.int64), np.zeros((len(rows), 1), dtype=np.int64)
    number = np.full(different.shape[1], -1, dtype=np.int64)
    number[asked] = np.arange(len(asked))
    return names, number[group].reshape(shape), different[:, asked]


def optimal_gram(gram: Floats) -> tuple[Floats, float]:
    """X that minimises tr(G X^-1) with no diagonal entry above 1, and a lower bound on that minimum.

    At the optimum X^-1 G X^-1 is a diagonal matrix v, so X = v^-1/2 (v^1/2 G v^1/2)^1/2 v^-1/2; v is a fixed
    point of v <- diag((v^1/2 G v^1/2)^1/2) [DMRST22]. Every v bounds the minimum from below, by
    2 tr((v^1/2 G v^1/2)^1/2) - sum v.
    """
    v = np.maximum(np.diag(gram), 1e-300)
    best = -np.inf
    for _ in range(_STEPS):
        root = np.sqrt(v)
        values, vectors = np.linalg.eigh(gram * root[:, None] * root[None, :])
        half = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        x = half / root[:, None] / root[None, :]
        x = x / np.diag(x).max()
        best = max(best, float(2.0 * np.trace(half) - v.sum()))
        if float(np.trace(np.linalg.solve(x, gram))) <= best * (1.0 + _GAP):
            break
        v = np.maximum(np.diag(half), 1e-300)
    return x, best


def _candidates(asked: Floats, columns: Ints) -> Iterator[Ints]:
    groups = columns.shape[1]
    yield np.eye(groups, dtype=np.int64)
    if columns.any():
        yield columns[columns.any(axis=1)]
        gram = asked.T @ asked
        for ridge in _RIDGES:
            x, _ = optimal_gram(gram + ridge * np.trace(gram) / groups * np.eye(groups))
            values, vectors = np.linalg.eigh(x)
            root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
            yield np.rint(root * (1 << _BITS)).astype(np.int64)


def _variance(asked: Floats, matrix: Ints) -> float:
    """The sum of all answers' variances by least squares; infinite if some answer does not follow."""
    a = matrix.astype(np.float64)
    mix = asked @ np.linalg.pinv(a, rcond=1e-10)
    if np.abs(mix @ a - asked).max(initial=0.0) > 1e-7 * max(1.0, float(np.abs(asked).max(initial=0.0))):
        return np.inf
    return float((mix**2).sum())
