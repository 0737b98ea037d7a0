"""In runs: pairs of a number of many levels and another attribute, brought to what was measured of them.

A fit without negative cells keeps half of the noise of empty ones. Of a number of a hundred levels that adds
up, all of it one way: the number becomes more alike in all groups than it is. Sums over runs of levels tell.
All of it follows from what was measured before: nothing is measured for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.learning.ordered import many

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.learning.dense.dense import DenseHypothesis
    from hedgerow.queries.measurement import Measurement

    Floats = NDArray[np.float64]
    Names = tuple[str, ...]

_HALVES = 3  # times that a number's levels are halved
_CHANCE = 1.3  # times its mean: so far are runs by noise alone
_APART = 0.5  # of the variance of a run whose rows are all in one group or none: a large one
_LEAST = 0.1  # of what a run has in the fit: it is not brought to less


@dataclass(frozen=True, eq=False)
class Pooled:
    """A table by all that was measured of it, and the variance of each cell.

    Args:
        counts: the mean of its own tables and of sums of larger ones, by inverse variance.
        variance: of each.
    """

    counts: Floats
    variance: float

    @classmethod
    def of(cls, measurements: Iterable[Measurement], names: Names) -> Pooled | None:
        """By tables that hold these attributes; None if there is none."""
        precision = 0.0
        total: Floats | None = None
        for m in measurements:
            if m.workload is not None or not set(names) <= set(m.attributes):
                continue
            out = tuple(i for i, a in enumerate(m.attributes) if a not in names)
            added = prod(m.counts.shape[i] for i in out)
            weight = 1.0 / max(m.noise.variance * added, 1e-4)
            part = weight * m.counts.sum(axis=out)
            total = part if total is None else total + part
            precision += weight
        return None if total is None else cls(total / precision, 1.0 / precision)


def brought(hypothesis: DenseHypothesis, measurements: Sequence[Measurement]) -> dict[Names, Floats]:
    """Tables of pairs, in parts of all rows, that a fit should have instead of its own."""
    domain = hypothesis.domain
    out: dict[Names, Floats] = {}
    for number, other in permutations(domain.names, 2):
        if not many(domain[number]) or many(domain[other]):
            continue
        names = domain.order([number, other])
        pooled = Pooled.of(measurements, names)
        if pooled is None:
            continue
        axis = names.index(number)
        fitted = np.moveaxis(hypothesis.marginal(names) * hypothesis.total, axis, 1)
        noisy = np.moveaxis(pooled.counts, axis, 1)
        made = _moved(fitted, noisy, pooled.variance, len(domain[number].values))
        out[names] = np.moveaxis(made, 1, axis) / made.sum()
    return out


def _moved(fitted: Floats, noisy: Floats, variance: float, bins: int) -> Floats:
    """Halves of levels first, then halves of those: each so far towards what was measured as is not noise."""
    table = np.array(fitted)
    edges = np.array([0, bins])
    for _ in range(_HALVES):
        edges = np.unique(np.append(edges, (edges[:-1] + edges[1:]) // 2))
        wide = np.diff(edges)
        now, seen = (np.add.reduceat(x[:, :bins], edges[:-1], axis=1) for x in (table, noisy))
        gap = seen - now
        gap -= gap.sum(axis=1, keepdims=True) * wide / bins  # rows of a group are known better by themselves
        free = len(table) * (len(wide) - 1)
        far = float((gap**2 / (variance * wide)).sum())
        real = max(0.0, 1.0 - _CHANCE * free / max(far, 1e-300))  # James and Stein
        likely = _APART * now * (now.sum(axis=1, keepdims=True) - now)
        part = np.minimum(real, likely / (likely + variance * wide))
        goal = np.maximum(now + part * gap, _LEAST * now)
        ratio = goal / np.maximum(now, 1e-300)
        table[:, :bins] *= np.repeat(ratio, wide, axis=1)
    return np.asarray(table * (fitted.sum(axis=1) / np.maximum(table.sum(axis=1), 1e-300))[:, None])
