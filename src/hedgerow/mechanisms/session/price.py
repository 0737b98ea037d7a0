"""Prices: what an answer of a given accuracy costs when it is measured for itself."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from hedgerow.curator.statistics.target import statistic_of
from hedgerow.errors import UnsupportedQuery
from hedgerow.privacy.budget import Cost, gaussian_sigma, laplace_scale
from hedgerow.privacy.rational import exact
from hedgerow.queries.measurement import Noise

if TYPE_CHECKING:
    from hedgerow.curator.curator import Curator


@dataclass(frozen=True)
class Goal:
    """How good an answer must be: every count behind it within `alpha` rows, with `confidence`."""

    alpha: Fraction
    confidence: float

    def __post_init__(self) -> None:
        if not 0.0 < self.confidence < 1.0:
            raise UnsupportedQuery("a confidence lies between 0 and 1")
        if self.alpha < 1:
            raise UnsupportedQuery("an accuracy of less than one row cannot be had; ask for a larger one")

    @classmethod
    def of(cls, within: float | None, within_count: float | None, confidence: float, rows: float) -> Goal:
        """An accuracy in rows: a count, or a part of so many rows, rounded down."""
        if within_count is not None:
            return cls(exact(within_count), confidence)
        assert within is not None
        return cls(Fraction(int(within * rows)), confidence)

    @property
    def beta(self) -> Fraction:
        """How often it may be missed."""
        return 1 - exact(self.confidence)


def refuse_accuracy(
    within: float | None, within_count: float | None, confidence: float | None = None
) -> None:
    """Refuse an accuracy that nobody can mean, from the numbers themselves."""
    if within is not None and within_count is not None:
        raise UnsupportedQuery("give an accuracy as `within` or as `within_count`, not both")
    if within is not None and not 0.0 < within < 1.0:
        raise UnsupportedQuery("`within` is a part of all rows, between 0 and 1")
    if within_count is not None and not 1.0 <= within_count < float(1 << 53):
        raise UnsupportedQuery("`within_count` is a number of rows, 1 or more")
    if confidence is not None and not 0.0 < confidence <= 1.0 - 1e-12:
        raise UnsupportedQuery("a confidence lies between 0 and 1, and not too close to 1")


def direct_price(curator: Curator, target: Any, goal: Goal, numbers: int = 1) -> Cost:
    """What it costs to measure something so that `numbers` of its counts at once keep a goal.

    Gaussian noise under (rho, delta), Laplace noise under a pure budget; reads no rows.
    """
    statistic = statistic_of(target, curator.domain)
    sensitivity = curator.privacy.sensitivity(statistic.norms)
    steps, beta = goal.alpha * statistic.denominator, float(goal.beta) / numbers
    if curator.ledger.currency == "rho":
        scale = float(steps) / width(goal.confidence, numbers)
        scale = min(scale, float(steps) / sqrt(2.0 * log(2.0 / beta))) if scale < 5.0 else scale
        amount = sensitivity.l2_squared / (2 * Fraction(scale) ** 2)
    else:
        amount = sensitivity.l1 / Fraction(float(steps) / log(1.0 / beta))
    while True:
        cost = Cost(curator.ledger.currency, amount)
        if cost.currency == "rho":
            noise = Noise("gaussian", gaussian_sigma(sensitivity.l2_squared, cost), statistic.denominator)
        else:
            noise = Noise("laplace", laplace_scale(sensitivity.l1, cost), statistic.denominator)
        if noise.half_width(goal.confidence, numbers=numbers) <= goal.alpha:
            return cost
        amount *= Fraction(201, 200)


def width(confidence: float, numbers: int = 1) -> float:
    """The normal quantile for so many numbers at once."""
    return NormalDist().inv_cdf(1.0 - (1.0 - confidence) / numbers / 2.0)
