"""BaseLearner: the protocol of a weak learner that sees nothing but released, noisy weighted counts.

To write one's own, give an object `rounds` and `begin(evidence)`; what `begin` returns is asked in every
round for `columns(model)` - what to measure - and handed the noisy sums in `step`, which returns the next
model. All of it is post-processing: whatever a learner does, it cannot cost more privacy than the round it
was given. A learner may say in `largest` the largest factor of its columns (1024 if it does not): a price
too small for noise at such factors to be drawn is refused before anything is charged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from hedgerow.learning.learners.additive import Additive
from hedgerow.queries.domain.attribute import Attribute
from hedgerow.queries.strategies.column import Column

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Evidence:
    """What is known before the first round: the features, and released counts of both sides by level.

    Args:
        features: the declared attributes.
        counts: noisy rows of side 0 and side 1 for every level of each feature, an array of two rows.
        variance: of the noise in each of these counts.
    """

    features: Mapping[str, Attribute]
    counts: Mapping[str, NDArray[np.float64]]
    variance: float

    @property
    def totals(self) -> tuple[float, float]:
        """About how many rows the two sides have, each at least 1; large tables say it less well."""
        sizes = np.array([c.shape[1] for c in self.counts.values()], dtype=np.float64)
        sums = np.array([c.sum(axis=1) for c in self.counts.values()])
        zero, one = np.maximum((sums / sizes[:, None]).sum(axis=0) / (1.0 / sizes).sum(), 1.0)
        return float(zero), float(one)


@dataclass(frozen=True, eq=False)
class Sums:
    """What a round measured: per column of the feature map the noisy sums of weight x sign x factor, in rows.

    Args:
        values: one array for each column that was asked for.
        deviation: the standard deviation of the noise in every number.
        number: the round, from 0.
    """

    values: Sequence[NDArray[np.float64]]
    deviation: float
    number: int


class Course(Protocol):
    """A learner at work on one problem; it may remember what was released to it."""

    first: Additive

    def columns(self, model: Additive) -> Sequence[Column]:
        """What the next round should measure."""
        ...

    def step(self, model: Additive, sums: Sums) -> Additive:
        """The model after a round."""
        ...


@runtime_checkable
class BaseLearner(Protocol):
    """A weak learner: how many rounds it wants, and how it begins."""

    @property
    def rounds(self) -> int:
        """How many rounds it wants."""
        ...

    def begin(self, evidence: Evidence) -> Course:
        """A course for one problem (one class against the rest)."""
        ...
