"""Plans of one-sided sparse vectors: from a price to scales, what a run certifies, how often it errs."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from math import ceil, exp, expm1, floor, log
from typing import TYPE_CHECKING, Literal

from hedgerow.curator.runs.sparse_vector_plan import _LARGEST, Family, SparseVectorPlan, _scale, first_request
from hedgerow.errors import UnsupportedQuery
from hedgerow.privacy.budget import Cost, selection_epsilon
from hedgerow.privacy.rational import Number, exact
from hedgerow.privacy.sparse_vector_event import OneSidedSparseVector
from hedgerow.queries.argument import one_of
from hedgerow.queries.query import ONE, Norms

if TYPE_CHECKING:
    from hedgerow.curator.curator import Curator
    from hedgerow.curator.spender import Spend

Side = Literal["over", "under"]

_UP = Context(prec=60, rounding=ROUND_CEILING)
_SLACK = Fraction(10**40 + 1, 10**40)  # two operations at 60 digits err by far less
_LATTICE = "a run's denominator is a power of two from 1 to ONE"
_SHARES = [Fraction(i, 64) for i in range(1, 64)]


@dataclass(frozen=True)
class OneSidedPlan(SparseVectorPlan):
    """Everything public about a one-sided run, in lattice steps.

    Args:
        side: `over` tests answer - estimate, `under` tests estimate - answer.
    """

    side: Side = "over"

    @property
    def family(self) -> Family:
        """Noise that is never negative."""
        return "geometric"

    @property
    def public(self) -> str:
        """The plan as text: what reopening a run must agree with."""
        return json.dumps(json.loads(super().public) | {"side": self.side}, sort_keys=True)

    @property
    def rows(self) -> Fraction:
        """The threshold T in rows."""
        return Fraction(self.threshold, self.denominator)

    @property
    def scales(self) -> tuple[Fraction, Fraction]:
        """(b1, b2) in rows: of the threshold's noise and of each question's noise."""
        return self.threshold_scale / self.denominator, self.query_scale / self.denominator

    def certified(self, beta: Number) -> Fraction:
        """An alpha in rows: with probability 1 - beta every "below" answer is within alpha on this side.

        For m = ceil(b1 ln(1/beta)) lattice steps the threshold's noise is at most m - 1 with probability
        1 - e^(-m/b1) >= 1 - beta. "Below" means v + nu < T + z with nu >= 0, so v <= T + m - 2; an estimate
        is off the lattice by half a step at most.

        >>> plan(Cost("epsilon", 1), Fraction(1), 10, 1).certified("1/1000")
        Fraction(45, 2)
        """
        return Fraction(2 * (self.threshold + self._reach(beta)) - 3, 2 * self.denominator)

    def reaching(self, alpha: Number, beta: Number) -> OneSidedPlan:
        """The same noise with the highest threshold that still certifies alpha rows at beta."""
        steps = floor(exact(alpha) * self.denominator + Fraction(3, 2)) - self._reach(beta)
        if abs(steps) > _LARGEST:
            raise UnsupportedQuery("the threshold is too far from any count")
        return replace(self, threshold=steps)

    def false_alarm(self, error: float = 0.0) -> float:
        """The chance that one question trips although its answer is only `error` rows off on this side.

        With a gap of g >= 0 steps below T it is e^(-g/b2) (1 - p1)/(1 - p1 p2), p = e^(-1/b). Over many
        questions the chances add up to a bound.
        """
        gap = self.threshold - ceil(error * self.denominator)
        r1, r2 = 1 / float(self.threshold_scale), 1 / float(self.query_scale)
        if gap >= 0:
            return exp(-gap * r2) * expm1(-r1) / expm1(-r1 - r2)
        missed = exp(gap * r1)  # P(z >= -gap): only then can the question stay below
        return 1.0 - missed + missed * expm1(-r1) / expm1(-r1 - r2)

    def _reach(self, beta: Number) -> int:
        """m = ceil(b1 ln(1/beta))."""
        return reach(self.threshold_scale, beta)


def reach(scale: Fraction, beta: Number) -> int:
    """ceil(scale ln(1/beta)), with the logarithm rounded up.

    >>> reach(Fraction(10), "1/1000")
    70
    """
    b = exact(beta)
    if not 0 < b < 1:
        raise UnsupportedQuery("a beta lies above 0 and below 1")
    inverse = _UP.divide(Decimal(b.denominator), Decimal(b.numerator))
    return ceil(scale * Fraction(_UP.ln(inverse)) * _SLACK)


def plan(
    price: Cost,
    sensitivity: Fraction,
    threshold: Number,
    denominator: int,
    *,
    side: Side = "over",
    share: Number | None = None,
) -> OneSidedPlan:
    """The plan that a price buys.

    Args:
        price: what the run costs: a pure epsilon = Delta/b1 + Delta/b2, or the rho = eta^2/8 of
            eta = Delta/b1 + 2 Delta/b2.
        sensitivity: Delta in lattice steps.
        threshold: T in rows.
        denominator: lattice steps per row.
        side: which difference is tested.
        share: the part of epsilon (or eta) that the threshold's noise takes; b1 = b2 if None.
    """
    one_of("a side", side, "over", "under")
    if type(denominator) is not int or denominator < 1 or ONE % denominator:
        raise UnsupportedQuery(_LATTICE)
    steps = round(exact(threshold) * denominator)
    if abs(steps) > _LARGEST:
        raise UnsupportedQuery("the threshold is too far from any count")
    times = 1 if price.currency == "epsilon" else 2  # how often Delta/b2 counts
    part = Fraction(1, 1 + times) if share is None else exact(share)
    if not 0 < part < 1:
        raise UnsupportedQuery("a share lies above 0 and below 1")
    loss = selection_epsilon(price, bounded_range=True)
    b1, b2 = _scale(sensitivity / (part * loss)), _scale(times * sensitivity / ((1 - part) * loss))
    return OneSidedPlan("one_sided", OneSidedSparseVector(sensitivity, b1, b2), steps, denominator, side)


def planned(
    curator: Curator,
    threshold: Number,
    spend: Spend = None,
    *,
    side: Side,
    denominator: int = ONE,
    share: Number | None = None,
    run: str | None = None,
) -> OneSidedPlan:
    """The plan that `Curator.one_sided` would open; reads no row and charges nothing.

    Args:
        curator: whose unit of privacy and currency count.
        threshold, spend, side, denominator, share, run: as in `Curator.one_sided`.
    """
    sensitivity = _sensitivity(curator, denominator)
    price = curator.price(spend, first_request(run))
    return plan(price, sensitivity, threshold, denominator, side=side, share=share)


def refuse_other_people(curator: Curator, made: OneSidedPlan) -> None:
    """Refuse a plan that was not made for this curator's neighbours, unit and lattice."""
    if type(made) is not OneSidedPlan or type(made.event) is not OneSidedSparseVector:
        raise UnsupportedQuery("a one-sided run is opened with a plan of its own kind")
    if made.side not in ("over", "under") or type(made.threshold) is not int:
        raise UnsupportedQuery("a one-sided run is opened with a plan that `planned` made")
    if made.event.sensitivity != _sensitivity(curator, made.denominator):
        raise UnsupportedQuery("this plan was made for people with another number of rows")


def _sensitivity(curator: Curator, denominator: int) -> Fraction:
    """Delta: how far one unit moves any query, always in the same direction."""
    if curator.privacy.neighbours != "add_remove":
        raise UnsupportedQuery(
            "a one-sided sparse vector needs neighbours='add_remove'; use sparse_vector under 'replace'"
        )
    if type(denominator) is not int or denominator < 1 or ONE % denominator:
        raise UnsupportedQuery(_LATTICE)
    return curator.privacy.sensitivity(Norms.query(denominator)).l1


def best_share(
    curator: Curator,
    spend: Spend,
    alpha: Number,
    beta: Number,
    *,
    error: float = 0.0,
    denominator: int = ONE,
) -> Fraction:
    """The share with the fewest false alarms among runs that certify alpha rows at beta.

    About sqrt(Delta ln(1/beta) / (eta (alpha - error))), by trying 63 of them.

    Args:
        curator, spend, denominator: as in `planned`.
        alpha, beta: what every run is to certify.
        error: how far off, in rows, the answers are that should not trip.
    """

    def alarms(share: Fraction) -> tuple[float, float]:
        made = planned(curator, 0, spend, side="over", denominator=denominator, share=share)
        made = made.reaching(alpha, beta)
        rate = made.false_alarm(error)
        return (log(rate) if rate > 0 else float("-inf")), -float(made.rows)

    return min(_SHARES, key=alarms)
