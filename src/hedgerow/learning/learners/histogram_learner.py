"""HistogramLearner: every round, one step of every feature's histogram, each as far as its noise allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hedgerow.learning.learners.additive import Additive
from hedgerow.learning.learners.base_learner import Evidence, Sums
from hedgerow.learning.learners.grouping import groups_of
from hedgerow.queries.strategies.column import Column

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FINEST = 16  # factors of the columns run from 1 to this: how the round's price is divided over features


@dataclass(frozen=True)
class HistogramLearner:
    """Piecewise-constant functions of one feature each, on groups of declared levels.

    A round measures sum_i (y_i - p_i) in every group of every feature - the gradient of the log-likelihood
    ([FHT00] additive logistic regression) - and moves by a Newton step towards the posterior mean under a
    Gaussian prior: neighbouring groups of an ordered feature differ by about `step`, levels without an order
    have effects of about `effect`. A group of curvature h whose gradient carries noise variance s2 counts
    with information h^2 / (h + s2), so noise moves nothing that data do not.

    Args:
        rounds: how many rounds.
        step: how much neighbouring groups of an ordered feature differ, in log-odds.
        effect: how large the effects of unordered levels are, in log-odds.
        least: the part of all rows that a group holds at least.
        above: a group holds at least this many standard deviations of the first counts' noise.
    """

    rounds: int = 5
    step: float = 0.8
    effect: float = 0.5
    least: float = 0.004
    above: float = 6.0

    largest: ClassVar[int] = _FINEST

    def begin(self, evidence: Evidence) -> HistogramCourse:
        """Groups, priors and a first model from the released counts."""
        return HistogramCourse(self, evidence)


class HistogramCourse:
    """The histogram learner at work: its groups, its prior, and how it divides a round's price."""

    def __init__(self, learner: HistogramLearner, evidence: Evidence) -> None:
        self._learner, self._evidence = learner, evidence
        zero, one = evidence.totals
        self._rows, self._share = zero + one, one / (zero + one)
        least = max(learner.least * self._rows, learner.above * np.sqrt(2.0 * evidence.variance))
        features = evidence.features
        self._groups = {f: groups_of(a, evidence.counts[f].sum(0), least) for f, a in features.items()}
        counts = {f: _grouped(evidence.counts[f], g) for f, g in self._groups.items()}
        gains = {f: self._gain(c) for f, c in counts.items()}
        best = max(gains.values(), default=0.0)
        finest = {f: max(1, round(_FINEST * (g / best) ** 0.125)) for f, g in gains.items() if g > 0}
        self._factors = finest or dict.fromkeys(features, _FINEST)
        self._names = list(self._factors)
        self._counts = [np.maximum(counts[f].sum(0), 1.0) for f in self._names]
        self._rates = [_rate(counts[f], self._share) for f in self._names]
        self._prior = [self._precision(f) for f in self._names]
        self.first = self._start()

    def _gain(self, counts: NDArray[np.float64]) -> float:
        """How much a feature says about the sides, less what noise alone would seem to say."""
        least = np.maximum(counts.sum(0), np.sqrt(self._evidence.variance) + 1.0)
        p = self._share
        gap = (1.0 - p) * counts[1] - p * counts[0]
        noise = self._evidence.variance * ((1.0 - p) ** 2 + p**2)
        return float(((gap**2 - noise) / least).sum())

    def _precision(self, feature: str) -> NDArray[np.float64]:
        """The prior's precision over a feature's groups; declared extra levels stand apart from the order."""
        groups, attribute = self._groups[feature], self._evidence.features[feature]
        size = int(groups.max()) + 1
        if not attribute.ordered:
            return np.eye(size) / self._learner.effect**2
        chain = int(groups[: len(attribute.values)].max()) + 1 if attribute.values else 0
        difference = np.diff(np.eye(size)[:chain], axis=0)
        loose = np.where(np.arange(size) < chain, 0.02, 1.0 / self._learner.effect**2)
        return np.asarray(difference.T @ difference / self._learner.step**2 + np.diag(loose))

    def _curvature(self, i: int) -> NDArray[np.float64]:
        """About sum_i p_i (1 - p_i) in each group: less than at its mean rate, as rates differ inside."""
        return np.asarray(0.85 * self._counts[i] * self._rates[i] * (1.0 - self._rates[i]))

    def _newton(
        self, i: int, variance: float, gradient: NDArray[np.float64], now: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        h = self._curvature(i)
        information = h * h / (h + variance)
        pull = information * gradient / h - self._prior[i] @ now
        return np.asarray(np.linalg.solve(np.diag(information) + self._prior[i], pull))

    def _start(self) -> Additive:
        """Half of what each feature says alone: features repeat each other."""
        base = np.log(self._share / (1.0 - self._share))
        steps = []
        for i, rate in enumerate(self._rates):
            gradient = self._curvature(i) * (np.log(rate / (1.0 - rate)) - base)
            now = np.zeros(len(rate))
            steps.append(0.5 * self._newton(i, 2.0 * self._evidence.variance, gradient, now))
        return self._model(float(base), steps)

    def _model(self, intercept: float, steps: Sequence[NDArray[np.float64]]) -> Additive:
        tables = {f: s[self._groups[f]] for f, s in zip(self._names, steps, strict=True)}
        return Additive(intercept, tables)

    def columns(self, model: Additive) -> list[Column]:
        """All features' histograms; a factor says how finely one is measured."""
        return [
            Column(f, self._groups[f], np.full(len(self._groups[f]), self._factors[f])) for f in self._names
        ]

    def step(self, model: Additive, sums: Sums) -> Additive:
        """A damped Newton step of all features at once, later ones shorter: their noise averages out."""
        factors = np.array([float(self._factors[f]) for f in self._names])
        gradients = [v / a for v, a in zip(sums.values, factors, strict=True)]
        deviations = sums.deviation / factors
        sizes = np.array([len(g) for g in gradients])
        certainty = 1.0 / (sizes * deviations**2 + 1e-12)
        total = float(certainty @ [g.sum() for g in gradients] / certainty.sum())
        rate = 1.0 / (sums.number + 2.0)
        steps = []
        for i, (name, gradient) in enumerate(zip(self._names, gradients, strict=True)):
            table = model.tables[name]
            now = np.zeros(sizes[i])
            now[self._groups[name]] = table
            centred = gradient - total * self._counts[i] / self._counts[i].sum()
            variance = 1.5 * float(deviations[i]) ** 2 / self._learner.rounds
            steps.append(rate * self._newton(i, variance, centred, now))
        shift = 0.7 * total / (self._rows * self._share * (1.0 - self._share) * 0.85)
        return model.plus(self._model(float(np.clip(shift, -1.0, 1.0)), steps))


def _grouped(counts: NDArray[np.float64], groups: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.stack([np.bincount(groups, side) for side in counts])


def _rate(counts: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """The share of side 1 in each group, with five rows' worth of the overall share."""
    total = np.maximum(counts.sum(0), 1.0)
    low, high = min(0.02, 0.3 * share), 1.0 - min(0.02, 0.3 * (1.0 - share))
    rate: NDArray[np.float64] = np.clip((counts[1] + 5.0 * share) / (total + 5.0), low, high)
    return rate
