"""LogisticLearner: logistic regression, linear in ordered features, by noisy gradients of bounded rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hedgerow.learning.learners.additive import Additive
from hedgerow.learning.learners.base_learner import Evidence, Sums
from hedgerow.queries.strategies.column import Column

if TYPE_CHECKING:
    from numpy.typing import NDArray

_UNIT = 1 << 8


@dataclass(frozen=True)
class LogisticLearner:
    """A linear term for every ordered feature, an effect for every level of the others.

    An ordered feature enters by its level's place between the declared ends, from -1 to 1, so a row's
    gradient is bounded by the declared domain: |v_i g_i| needs no look at rows to be clipped.

    Args:
        rounds: how many gradient steps.
        effect: how large coefficients are, in log-odds.
    """

    rounds: int = 8
    effect: float = 1.0

    largest: ClassVar[int] = 2 * _UNIT

    def begin(self, evidence: Evidence) -> LogisticCourse:
        """A constant first model."""
        return LogisticCourse(self, evidence)


class LogisticCourse:
    """Logistic regression at work: one column per coordinate block, one Newton step per round."""

    def __init__(self, learner: LogisticLearner, evidence: Evidence) -> None:
        self._learner = learner
        zero, one = evidence.totals
        self._share = one / (zero + one)
        self.first = Additive(float(np.log(one / zero)))
        self._columns: list[Column] = []
        self._curvature: list[NDArray[np.float64]] = []
        slope = 0.7 * self._share * (1.0 - self._share)
        self._whole = slope * (zero + one) + 1.0
        for name, attribute in evidence.features.items():
            held = np.maximum(evidence.counts[name].sum(0), 0.0)
            held = held * (zero + one) / max(held.sum(), 1.0)
            proper = len(attribute.values)
            if attribute.ordered and proper > 1:
                place = np.linspace(-1.0, 1.0, proper)
                mean = float(held[:proper] @ place) / max(float(held[:proper].sum()), 1.0)
                factors = np.zeros(attribute.size)
                factors[:proper] = np.clip(place - mean, -2.0, 2.0)
                cells = np.zeros(attribute.size, dtype=np.int64)
            else:
                factors, cells = np.ones(attribute.size), np.arange(attribute.size)
            whole = np.rint(factors * _UNIT).astype(np.int64)
            self._columns.append(Column(name, cells, whole))
            squares = np.asarray(np.bincount(cells, held * (whole / _UNIT) ** 2), dtype=np.float64)
            self._curvature.append(slope * squares + 1.0)

    def columns(self, model: Additive) -> list[Column]:
        """The gradient's coordinates, and the constant's."""
        levels = len(self._columns[0].cells)
        constant = Column(
            self._columns[0].attribute, np.zeros(levels, dtype=np.int64), np.full(levels, _UNIT)
        )
        return [*self._columns, constant]

    def step(self, model: Additive, sums: Sums) -> Additive:
        """A damped, noise-aware Newton step of every coordinate."""
        deviation, rate = sums.deviation / _UNIT, 1.0 / (0.5 * sums.number + 2.0)
        tables = {}
        for column, h, value in zip(self._columns, self._curvature, sums.values[:-1], strict=True):
            information = h * h / (h + 2.0 * deviation**2 / self._learner.rounds)
            now = self._coordinates(model, column)
            prior = 1.0 / self._learner.effect**2
            move = rate * (information * (value / _UNIT) / h - prior * now) / (information + prior)
            tables[column.attribute] = move[column.cells] * column.factors / _UNIT
        constant = 0.7 * float(sums.values[-1][0]) / _UNIT / self._whole
        return model.plus(Additive(float(np.clip(constant, -1.0, 1.0)), tables))

    def _coordinates(self, model: Additive, column: Column) -> NDArray[np.float64]:
        """The coefficients of a column, read back from the model's table."""
        out = np.zeros(column.size)
        if column.attribute in model.tables:
            factors = column.factors / _UNIT
            far = np.abs(column.factors) == column.largest  # a level that shows the coefficient best
            out[column.cells[far]] = model.tables[column.attribute][far] / factors[far]
        return out
