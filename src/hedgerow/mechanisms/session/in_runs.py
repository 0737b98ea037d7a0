"""In runs: pairs of a number of many levels and another attribute, brought to what was measured of them.

A fit without negative cells keeps half of the noise of empty ones. Of a number of a hundred levels that adds
up, all of it one way: the number becomes more alike in all groups than it is. Sums over runs of levels tell.
All of it follows from what was measured before: nothing is measured for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.learning.ordered import many
from hedgerow.mechanisms.session.pooled import Pooled

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

    from hedgerow.learning.dense.dense import DenseHypothesis
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.form import LinearForm
    from hedgerow.queries.measurement import Measurement

    Floats = NDArray[np.float64]
    Names = tuple[str, ...]
    Fitted = tuple[DenseHypothesis, Sequence[Measurement]]

_HALVES = 3  # times that a number's levels are halved
_CHANCE = 1.3  # times its mean: so far are runs by noise alone
_APART = 0.5  # of the variance of a run whose rows are all in one group or none: a large one
_WIDE = 0.125  # of all levels: fewer are no run, and their errors do not add up
_RUNS = 8  # questions of each kind that a calibration asks of every group
_WIDER = 1.1  # one draw of rows and noise stands for all
_LEAST = 0.25  # of what a run has in the fit: it is not brought to less


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


# -- how far off ------------------------------------------------------------------------------------------


def across(domain: Domain, names: Names) -> int | None:
    """The place of the one number of many levels among these attributes; None if there is not one."""
    found = [i for i, a in enumerate(names) if many(domain[a])]
    return found[0] if len(found) == 1 else None


def are_wide(form: LinearForm) -> bool:
    """Whether a group of a form may add up many levels of a number: not, where each has few of them."""
    axis = across(form.domain, form.attributes)
    name = "" if axis is None else form.attributes[axis]
    most = [int(np.bincount(by.parent).max()) for by in form.axes if by.attribute == name]
    return axis is not None and min(most, default=inf) >= _WIDE * len(form.domain[name].values)


def length(domain: Domain, names: Names, weights: Floats) -> float:
    """The root of the sum of squares of weights that add up many levels of a number; 0 of others.

    What all levels have in common, in a cell of the others, counts its rows, and those are known better.
    """
    axis = across(domain, names)
    if axis is None:
        return 0.0
    bins = len(domain[names[axis]].values)
    each = np.moveaxis(np.asarray(weights, dtype=np.float64), axis, -1).reshape(-1, domain[names[axis]].size)
    each = each[:, :bins]
    squares = (each**2).sum(axis=1)
    wide = np.abs(each).sum(axis=1) ** 2 >= _WIDE * bins * squares
    centred = ((each - each.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    return float(np.sqrt(centred[wide].sum()))


def deviations(
    truth: DenseHypothesis, real: Fitted, made: Fitted, confidences: Mapping[float, float], rng: Generator
) -> dict[Names, float]:
    """Of a number of many levels, alone and in pairs: what a cell is off by, where many levels are added up.

    Errors of a bootstrap, in units of the noise that was added to the same weights of the measured table; and
    by how much more the real fit differs from what was measured than that of the bootstrap does.

    Args:
        truth: the rows of a bootstrap.
        real: a hypothesis and what it was fitted to.
        made: the same of the bootstrap.
        confidences: at which bounds are to cover, and how many deviations wide each is.
        rng: of public randomness.
    """
    domain, out = truth.domain, dict[tuple[str, ...], float]()
    for names in dict.fromkeys(m.attributes for m in real[1] if m.workload is None):
        axis = across(domain, names)
        seen, anew = Pooled.of(real[1], names), Pooled.of(made[1], names)
        if axis is None or len(names) > 2 or seen is None or anew is None:
            continue
        bins = len(domain[names[axis]].values)

        def by_levels(table: Floats, axis: int = axis, bins: int = bins) -> Floats:
            return np.moveaxis(table, axis, -1).reshape(-1, table.shape[axis])[:, :bins]

        fits = [by_levels(h.marginal(names) * h.total) for h in (real[0], made[0], truth)]
        weights = _questions(bins, rng)
        unit = np.sqrt(seen.variance * (weights**2).sum(axis=0))
        off = (fits[1] - fits[2]) @ weights / unit
        gaps = [(f - by_levels(p.counts)) @ weights / unit for f, p in zip(fits, (seen, anew), strict=False)]
        reach = max(float(np.quantile(np.abs(off), c)) / wide for c, wide in confidences.items())
        more = max(float((gaps[0] ** 2 - gaps[1] ** 2).mean()), 0.0)
        out[names] = float(np.sqrt(seen.variance * ((_WIDER * reach) ** 2 + more)))
    return out


def _questions(bins: int, rng: Generator) -> Floats:
    """Weights of levels, in columns: they grow along all of them, or are those of a run; none counts rows."""
    columns = [np.linspace(-1.0, 1.0, bins)] * _RUNS
    for _ in range(2 * _RUNS):
        long = int(rng.integers(max(int(_WIDE * bins), 1), max(bins // 2, 1) + 1))
        first = int(rng.integers(bins - long + 1))
        run = np.zeros(bins)
        run[first : first + long] = 1.0
        columns.append(run)
    every = np.stack(columns, axis=1)
    return np.asarray(every - every.mean(axis=0))
