"""Noisy tables made to agree where they overlap, by weighted least squares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.learning.factored.resolution import Node, Resolutions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_SWEEPS = 6


@dataclass(frozen=True, eq=False)
class Target:
    """A noisy table over nodes: flat counts, the standard deviation of the noise in each, and its slack.

    A slack above 1 lets a fit depart from the table more cheaply: less is expected of it than of others.
    """

    nodes: tuple[Node, ...]
    counts: Floats
    sigma: float
    slack: float = 1.0


def combined(targets: Sequence[Target]) -> list[Target]:
    """Repeated measurements of one table as one, weighted by inverse variance, in order of first mention."""
    groups: dict[tuple[Node, ...], list[Target]] = {}
    for t in targets:
        groups.setdefault(t.nodes, []).append(t)
    out = []
    for nodes, group in groups.items():
        precision = np.array([t.sigma**-2.0 for t in group])
        shares = precision / precision.sum()
        counts = np.asarray(sum(c * t.counts for c, t in zip(shares, group, strict=True)))
        out.append(Target(nodes, counts, float(precision.sum() ** -0.5), group[0].slack))
    return out


def measured_total(targets: Sequence[Target]) -> float:
    """The number of rows that the tables' sums speak for, weighted by inverse variance."""
    precision = np.array([1.0 / (t.sigma**2 * len(t.counts)) for t in targets])
    return float(precision @ [t.counts.sum() for t in targets] / precision.sum())


def consistent(resolutions: Resolutions, targets: Sequence[Target], total: float) -> list[Target]:
    """The nearest tables, in units of their noise, that have one total and agree on every attribute.

    With equal totals, moving a table's margin on one attribute evenly over its other cells leaves its other
    margins alone, so one pass over the attributes is exact; attribute sets shared by several tables are then
    brought together by alternating projections.
    """
    tables = [t.counts + (total - t.counts.sum()) / len(t.counts) for t in targets]
    for a in range(len(resolutions.sizes)):
        _agree_on(a, resolutions, targets, tables, total)
    _agree_on_sets(resolutions, targets, tables)
    return [replace(t, counts=x) for t, x in zip(targets, tables, strict=True)]


def _agree_on(
    a: int, resolutions: Resolutions, targets: Sequence[Target], tables: list[Floats], total: float
) -> None:
    """One attribute's margins by generalised least squares over the tree of its nested groups."""
    chain = resolutions.sizes[a]
    seen = [(i, dict(t.nodes)[a]) for i, t in enumerate(targets) if a in dict(t.nodes)]
    if len(seen) < 2:
        return
    margins = {}
    value, weight = [np.zeros(n) for n in chain], [0.0] * len(chain)
    for i, r in seen:
        at = resolutions.step(targets[i].nodes, ((a, r),))
        margins[i] = (at, np.bincount(at, weights=tables[i], minlength=chain[r]))
        precision = chain[r] / (targets[i].sigma ** 2 * len(tables[i]))
        value[r] += precision * margins[i][1]
        weight[r] += precision
    best = _tree_estimate(a, resolutions, value, weight, total)
    for i, r in seen:
        at, margin = margins[i]
        tables[i] = tables[i] + ((best[r] - margin) * (chain[r] / len(tables[i])))[at]


def _tree_estimate(
    a: int, resolutions: Resolutions, value: list[Floats], weight: list[float], total: float
) -> list[Floats]:
    """Up: each group's best guess from below and from its own measurements; down: make sums fit."""
    levels = len(value)
    guess: list[Floats] = []
    spread: list[Floats] = []
    for r in range(levels):
        if r == 0:  # a level that only coarser tables speak of is known up to a very large variance
            precision = np.full(len(value[0]), max(weight[0], 1e-18))
            guess.append(value[0] / precision)
        else:
            up = resolutions.between(a, r - 1, r)
            below = np.bincount(up, weights=spread[-1], minlength=len(value[r]))
            precision = 1.0 / below + weight[r]
            sums = np.bincount(up, weights=guess[-1], minlength=len(value[r]))
            guess.append((sums / below + value[r]) / precision)
        spread.append(1.0 / precision)
    top = guess[-1] + (total - guess[-1].sum()) * spread[-1] / spread[-1].sum()
    best = [top]
    for r in range(levels - 2, -1, -1):
        up = resolutions.between(a, r, r + 1)
        sums = np.bincount(up, weights=guess[r], minlength=len(best[0]))
        room = np.bincount(up, weights=spread[r], minlength=len(best[0]))
        best.insert(0, guess[r] + ((best[0] - sums) / room)[up] * spread[r])
    return best


def _agree_on_sets(resolutions: Resolutions, targets: Sequence[Target], tables: list[Floats]) -> None:
    """Pairs of tables that share two attributes or more meet at their common coarsening."""
    meetings = []
    for i, t in enumerate(targets):
        mine = dict(t.nodes)
        for j in range(i):
            theirs = dict(targets[j].nodes)
            shared = [a for a in mine if a in theirs]
            if len(shared) > 1:
                nodes = tuple((a, max(mine[a], theirs[a])) for a in sorted(shared))
                meetings.append((i, j, nodes))
    for _ in range(_SWEEPS if len(meetings) > 1 else 1):
        for i, j, nodes in meetings:
            cells = resolutions.cells(nodes)
            maps = [resolutions.step(targets[k].nodes, nodes) for k in (i, j)]
            sizes = [np.bincount(m, minlength=cells) for m in maps]
            sums = [
                np.bincount(m, weights=tables[k], minlength=cells) for m, k in zip(maps, (i, j), strict=True)
            ]
            spread = [s * targets[k].sigma ** 2 for s, k in zip(sizes, (i, j), strict=True)]
            gap = (sums[1] - sums[0]) / (spread[0] + spread[1])
            tables[i] = tables[i] + (gap * spread[0] / sizes[0])[maps[0]]
            tables[j] = tables[j] - (gap * spread[1] / sizes[1])[maps[1]]
