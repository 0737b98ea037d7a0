"""DenseFit: a weight on every cell, fitted to all that was measured; and again when more is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.learning.factored.consistency import Target
from hedgerow.learning.residuals.basis import Names
from hedgerow.mechanisms.adaptive.weighing import modelled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.learning.factored.factored import FactoredHypothesis
    from hedgerow.learning.factored.resolution import Node
    from hedgerow.learning.residuals.noisy import NoisyResiduals
    from hedgerow.mechanisms.adaptive.run import Run

    Floats = NDArray[np.float64]

_POOL = 8.0  # coordinates that other tables of as many attributes count for in a table's slack
_LOOSE = 3000.0  # the largest slack
_FIRST = 40  # steps of the fits but the last
_VISITS = 1e9  # cells that the last one may touch


class DenseFit:
    """Maximum entropy with slack: a cell of count c departs from its table at a price of slack sigma^2 / c.

    That is the posterior mode where logarithms of cells have the variance 1 / slack, which is estimated from
    how far tables are from what was known before them, beyond noise.

    Args:
        run: told how far measured tables were from what was expected of them.
        hypothesis: holds every cell.
        coarse: pairs that were measured in runs of levels, beside what is fitted.
    """

    def __init__(self, run: Run, hypothesis: FactoredHypothesis, coarse: Sequence[Target] = ()) -> None:
        self._run, self.hypothesis, self._coarse = run, hypothesis, coarse
        self._slacks: dict[Names, float] = {}
        self._coarse_slacks: list[float] = []

    def fit(
        self,
        evidence: NoisyResiduals,
        live: Sequence[Names],
        looked: Mapping[Names, float] | None = None,
        *,
        last: bool = True,
    ) -> dict[Names, float]:
        """Fit all that was measured, the smaller tables first; what part of each one's noise it followed.

        Args:
            evidence: what was measured.
            live: the sets whose residuals were, with all inside them.
            looked: variances of logarithms of cells of some tables beyond what was known before them.
            last: whether nothing more will be measured.
        """
        model, targets = self.hypothesis, dict[Names, Target]()
        orders = sorted({len(s) for s in live} | ({2} if self._coarse else set()))
        for order in orders:
            coarse = self._in_runs(evidence) if order > 1 else []
            fresh = {s: target_of(model, evidence, s) for s in live if len(s) == order}
            new = {s: t for s, t in fresh.items() if s not in self._slacks}
            self._slacks |= self._found(evidence, new, looked or {}) if order > 1 else dict.fromkeys(new, 1.0)
            targets |= {s: replace(t, slack=self._slacks[s]) for s, t in fresh.items()}
            if new or order == orders[-1]:
                known = [*targets.values(), *coarse]
                self._step(evidence, known, order, last=last and order == orders[-1])
        return {s: followed(model, t) for s, t in targets.items()}

    def _step(self, evidence: NoisyResiduals, targets: list[Target], order: int, *, last: bool) -> None:
        model = self.hypothesis
        visits = model.beliefs.tree.sizes[0] * len(model.beliefs.tree.sizes)
        steps = int(np.clip(_VISITS / visits, 60, 400)) if last else 20 if order == 1 else _FIRST
        # A fit may end far from what was measured: then again.
        model.fit_targets(targets, total=evidence.total, iterations=steps, guard=last, agreed=True)

    def _in_runs(self, evidence: NoisyResiduals) -> list[Target]:
        """Pairs in runs, each with the margins that all else says, and its slack by how far it was at first.

        What was measured of its margins is noisier than they are known.
        """
        model, found = self.hypothesis, []
        for t in self._coarse:
            shape = model.resolutions.shape(t.nodes)
            first, second = (self._margin(evidence, node) for node in t.nodes)
            both = t.counts.reshape(shape)
            both = both - both.mean(axis=0) - both.mean(axis=1, keepdims=True) + both.mean()
            even = first[:, None] / shape[1] + second / shape[0] - evidence.total / both.size
            found.append(replace(t, counts=(both + even).reshape(-1)))
        if not self._coarse_slacks:
            self._coarse_slacks = [self._slack_of(t) for t in found]
        return [replace(t, slack=s) for t, s in zip(found, self._coarse_slacks, strict=True)]

    def _margin(self, evidence: NoisyResiduals, node: Node) -> Floats:
        name = self.hypothesis.domain.names[node[0]]
        levels = evidence.basis.table((name,), evidence.values)
        groups = self.hypothesis.resolutions.maps[node[0]][node[1]]
        return np.asarray(np.bincount(groups, weights=levels), dtype=np.float64)

    def _slack_of(self, t: Target) -> float:
        """By the distance of a pair in runs to the model before it, beyond noise."""
        model = self.hypothesis
        expected = np.maximum(model.total * model.table(t.nodes).reshape(-1), 1e-9)
        free = prod(n - 1 for n in model.resolutions.shape(t.nodes))
        noise = t.sigma**2 * free / expected.size
        weight = expected / (1.0 + noise / expected**2)
        variance = float((weight * ((t.counts - expected) ** 2 - noise) / expected**2).sum() / weight.sum())
        return float(np.clip(1.0 / max(variance, expected.size / model.total), 1.0, _LOOSE))

    def _found(
        self, evidence: NoisyResiduals, targets: Mapping[Names, Target], looked: Mapping[Names, float]
    ) -> dict[Names, float]:
        """The slack of tables of as many attributes, by their distance to the model."""
        model, found, numbers, weights, unsure = self.hypothesis, [], [], [], []
        for s, t in targets.items():
            expected = model.total * model.table(t.nodes)
            self._run.surprised(t.counts, expected, t.sigma)
            gap = evidence.values[s] - modelled(model, evidence, s)
            beyond = evidence.basis.table(s, {s: gap})
            noise = evidence.deviations[s] ** 2 * gap.size / beyond.size
            ratio = noise / np.maximum(expected, 1e-9) ** 2
            weight = expected / (1.0 + ratio)  # by mass, if seen above noise
            squares = (beyond**2 - noise) / np.maximum(expected, 1e-9) ** 2
            weights.append(float(weight.sum()))
            found.append(float((weight * squares).sum()) / max(weights[-1], 1e-9))
            unsure.append(float((weight * ratio).sum()) / max(weights[-1], 1e-9) * (2.0 / gap.size) ** 0.5)
            numbers.append(float(gap.size))
        v, n, w = np.array(found), np.array(numbers), np.array(weights)
        common = max(float(v @ w) / max(float(w.sum()), 1e-9), 1.0 / _LOOSE)
        variance = (np.maximum(v, 0.0) * n + _POOL * common) / (n + _POOL)
        for i, s in enumerate(targets):
            if s in looked:  # what a look at the table says, and what was measured, by how sure that is
                sure = looked[s] ** 2 / (looked[s] ** 2 + unsure[i] ** 2)
                variance[i] = max(looked[s] + sure * (v[i] - looked[s]), 0.0)
        # A cell of m rows is by chance off by 1/m of its square: by mass, cells / rows on average.
        chance = np.array([t.counts.size for t in targets.values()]) / model.total
        slack = np.clip(1.0 / np.maximum(variance, np.maximum(chance, 1e-9)), 1.0, _LOOSE)
        return dict(zip(targets, slack.tolist(), strict=True))


def target_of(hypothesis: FactoredHypothesis, evidence: NoisyResiduals, s: Names) -> Target:
    """A table as it was measured, for a fit."""
    nodes = tuple((hypothesis.domain.index(a), 0) for a in s)
    counts = evidence.basis.table(s, evidence.values).reshape(-1)
    return Target(nodes, counts, max(evidence.variance(s) ** 0.5, 1e-2))


def followed(hypothesis: FactoredHypothesis, t: Target) -> float:
    """How far the fit of a cell of count c moves with its target: the mean over cells of c / (c + price).

    Squared, since what a cell's other tables say holds it as well.
    """
    counts = hypothesis.total * hypothesis.table(t.nodes).reshape(-1)
    price = t.slack * t.sigma**2 / np.maximum(t.counts, t.sigma)
    return float((counts / (counts + price)).mean()) ** 2
