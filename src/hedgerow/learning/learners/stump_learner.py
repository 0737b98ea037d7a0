"""StumpLearner: every round, the one cut of one feature that the noisy weighted counts speak for most."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hedgerow.learning.learners.additive import Additive
from hedgerow.learning.learners.base_learner import Evidence, Sums
from hedgerow.learning.learners.grouping import groups_of
from hedgerow.queries.strategies.column import Column

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class StumpLearner:
    """Decision stumps: a feature below or above a cut (one level or the others, where there is no order).

    A round measures sum_i (y_i - p_i) in every group of every feature, and adds the stump whose two leaves,
    shrunk by their noise, raise the likelihood most. Choosing among noisy numbers is post-processing.

    Args:
        rounds: how many stumps.
        rate: how much of a leaf's Newton step is taken.
        leaf: how large leaves are, in log-odds.
    """

    rounds: int = 20
    rate: float = 0.7
    leaf: float = 1.0

    largest: ClassVar[int] = 1

    def begin(self, evidence: Evidence) -> StumpCourse:
        """Groups and a constant first model."""
        return StumpCourse(self, evidence)


class StumpCourse:
    """The stump learner at work."""

    def __init__(self, learner: StumpLearner, evidence: Evidence) -> None:
        self._learner, self._features = learner, evidence.features
        zero, one = evidence.totals
        rows, self._share = zero + one, one / (zero + one)
        least = max(0.01 * rows, 4.0 * np.sqrt(2.0 * evidence.variance))
        self._groups = {f: groups_of(a, evidence.counts[f].sum(0), least) for f, a in self._features.items()}
        self._held = {
            f: np.maximum(np.bincount(g, evidence.counts[f].sum(0)), 1.0) for f, g in self._groups.items()
        }
        self.first = Additive(float(np.log(one / zero)))

    def columns(self, model: Additive) -> list[Column]:
        """Every feature's histogram."""
        return [Column(f, g, np.ones(len(g), dtype=np.int64)) for f, g in self._groups.items()]

    def step(self, model: Additive, sums: Sums) -> Additive:
        """The model and one more stump."""
        best, chosen = -np.inf, Additive()
        for (name, groups), gradient in zip(self._groups.items(), sums.values, strict=True):
            curvature = 0.7 * self._held[name] * self._share * (1.0 - self._share)
            for inside in self._cuts(name, len(gradient)):
                gain, leaves = self._leaves(inside, gradient, curvature, sums.deviation**2)
                if gain > best:
                    best = gain
                    chosen = Additive(0.0, {name: np.where(inside, leaves[1], leaves[0])[groups]})
        return model.plus(chosen)

    def _cuts(self, name: str, size: int) -> Iterator[NDArray[np.bool_]]:
        """Masks over groups: the lower ones, or a single one."""
        places = np.arange(size)
        ordered = self._features[name].ordered
        for cut in range(1, size) if ordered else range(size):
            yield places < cut if ordered else places == cut

    def _leaves(
        self,
        inside: NDArray[np.bool_],
        gradient: NDArray[np.float64],
        curvature: NDArray[np.float64],
        variance: float,
    ) -> tuple[float, list[float]]:
        """How much the likelihood seems to gain, less what noise alone would give; the leaves' values."""
        gain, leaves = 0.0, []
        for side in (~inside, inside):
            g, h, noise = float(gradient[side].sum()), float(curvature[side].sum()), variance * side.sum()
            h = max(h, 1e-9)
            information = h * h / (h + noise)
            shrink = information / (information + 1.0 / self._learner.leaf**2)
            leaves.append(float(np.clip(self._learner.rate * shrink * g / h, -3.0, 3.0)))
            gain += shrink * (g * g - noise) / h
        return gain, leaves
