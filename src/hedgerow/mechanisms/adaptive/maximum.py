"""Every table is measured, and the model is fitted to what stands out of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.learning.factored.consistency import Target
from hedgerow.learning.factored.factored import FactoredHypothesis
from hedgerow.mechanisms.adaptive.plan import Nodes, admitted

if TYPE_CHECKING:
    from hedgerow.mechanisms.adaptive.run import Run

_TABLES = 48  # how many tables the model is fitted to
_FEW, _MORE, _MOST = 16, 6, 200  # of more attributes than that, so many more for each, and so many in all
_TOGETHER = 6
_ROUNDS = 16  # at most: of more tables, more are taken between two fits
CELLS = 1e5
"""The most cells of the model, unless told otherwise."""


def fit_measured(
    run: Run, hypothesis: FactoredHypothesis, whole: Sequence[Target], cells: float = CELLS
) -> int:
    """Fit the tables that stand out most from the model, at the resolution where they do; cells of the model.

    Everything is measured already, so choosing is free: no budget is spent here.
    """
    cap = run.settings.most_cells or cells
    views = [_coarse(run, hypothesis, t) for t in whole]
    taken: set[Nodes] = set()
    wanted = min(tables_wanted(len({a for t in whole for a, _ in t.nodes})), len(whole))
    together = max(_TOGETHER, -(-wanted // _ROUNDS))
    for _ in range(-(-wanted // together)):
        run.fit(hypothesis, 8, guard=False)
        scored = []
        for options in views:
            if not options or options[0].nodes in taken:
                continue
            full = hypothesis.table(options[0].nodes) * hypothesis.total
            best = max(options, key=lambda t: _surplus(hypothesis, options[0].nodes, full, t))
            scored.append((_surplus(hypothesis, options[0].nodes, full, best), options[0].nodes, best))
        for surplus, key, best in sorted(scored, key=lambda s: (-s[0], s[1]))[:together]:
            taken.add(key)
            if surplus > 0.0 and hypothesis.graph.cost(best.nodes, cap) < np.inf:
                run.learn_table(best, hypothesis.table(best.nodes) * hypothesis.total)
                hypothesis.graph.add(best.nodes)
    run.fit_well(hypothesis, 200)
    return hypothesis.beliefs.tree.cells


def tables_wanted(attributes: int) -> int:
    """How many measured tables a model of so many attributes is fitted to, if there is room for them.

    Wide data have more pairs that stand out than a few tables hold: of 35 attributes a model of 48 tables was
    twice as far from the rows as one of 160, and rows are drawn from it.

    >>> tables_wanted(14), tables_wanted(35), tables_wanted(60)
    (48, 162, 200)
    """
    return min(_TABLES + _MORE * max(0, attributes - _FEW), _MOST)


def _coarse(run: Run, hypothesis: FactoredHypothesis, whole: Target) -> list[Target]:
    """A measured table at all resolutions; a group's noise is that of its cells together, on average."""
    part = tuple(a for a, _ in whole.nodes)
    resolutions = hypothesis.resolutions
    options = [whole]
    for nodes in admitted(resolutions, part, 0.0, 1.0):
        if nodes != whole.nodes:
            at = resolutions.step(whole.nodes, nodes)
            sums = np.bincount(at, weights=whole.counts, minlength=resolutions.cells(nodes))
            counts = sums.astype(np.float64, copy=False)
            sigma = whole.sigma * (len(whole.counts) / len(counts)) ** 0.5
            options.append(Target(nodes, counts, sigma))
    return options


def _surplus(hypothesis: FactoredHypothesis, full_nodes: Nodes, full: np.ndarray, target: Target) -> float:
    """How far a table is from the model beyond its noise, in rows."""
    at = hypothesis.resolutions.step(full_nodes, target.nodes)
    expected = np.bincount(at, weights=full.reshape(-1), minlength=len(target.counts))
    return float(np.abs(target.counts - expected).sum()) - target.sigma * len(target.counts)
