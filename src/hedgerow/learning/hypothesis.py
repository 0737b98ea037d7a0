"""Hypothesis: a public distribution that answers questions, and learns when an answer was wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from hedgerow.queries.query import Query

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.measurement import Measurement

Question = TypeVar("Question", contravariant=True)


class Hypothesis(Protocol[Question]):
    """What an iterative database construction works with: [BR11] Def. 3.2.

    `answer` is a fraction of the rows; times `total` it is a count.
    """

    total: float

    def answer(self, query: Question) -> float:
        """The fraction of rows that the hypothesis believes in: the mean weight of a row."""
        ...

    def tilt(self, query: Question, step: float) -> None:
        """Multiply every weight by exp(step * query's weight), up to normalisation."""
        ...

    def update(self, query: Question, value: float, eta: float) -> int:
        """One step of the MW rule towards `value`; -1 if the answer was lowered, +1 if it was raised."""
        ...

    def update_bound(self, alpha: float) -> float:
        """B(alpha): how many true distinguishing updates there can be, with eta = alpha/2."""
        ...


class TableHypothesis(Hypothesis[Query], Protocol):
    """A hypothesis over a declared domain: it also has tables, fits measurements and makes up rows."""

    @property
    def domain(self) -> Domain: ...

    def marginal(self, attributes: Sequence[str]) -> NDArray[np.float64]:
        """The table over some attributes, axes in the given order; sums to 1."""
        ...

    def fit(self, measurements: Sequence[Measurement], **options: Any) -> Fit:
        """Move towards measurements, each as far as its noise warrants."""
        ...

    def sample(self, rows: int, *, seed: int | None = None) -> dict[str, NDArray[np.int64]]:
        """Level codes of made-up rows, one column per attribute."""
        ...


@dataclass(frozen=True)
class Fit:
    """How well a fit went, from public values only.

    Args:
        passes: how often every measurement was visited.
        misfit: mean squared distance to the measured numbers, in units of their variance: about 1 or less.
        total: the number of rows it was made for.
    """

    passes: int
    misfit: float
    total: float


def multiplicative_weights(
    hypothesis: Hypothesis[Question], query: Question, value: float, eta: float
) -> int:
    """The MW update rule, [DR14] Alg. 5; says which way the answer went.

    The rule multiplies by exp(-eta r), with r = f when v < f(x) and r = 1 - f otherwise. Normalisation makes
    exp(-eta (1 - f)) the same as exp(eta f): either way only the query's support is touched.
    """
    if not eta > 0:
        raise ValueError("the learning rate must be positive")
    direction = -1 if value < hypothesis.answer(query) else 1
    hypothesis.tilt(query, direction * eta)
    return direction
