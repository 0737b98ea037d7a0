"""Sparse vectors with one law for the threshold's noise and one for the questions'; each pair by one theorem.

**Theorem.** Integers throughout; "above" iff v_i + nu_i >= T + z; the run stops after c "above". Let
  (1)  P(z) <= e^epsilon1 P(z + Delta)        for all integers z,
  (2)  G(t - s) <= e^epsilon2 G(t)            for all integers t, where G(t) = P(nu >= t).
With s = 2 Delta, if one unit moves every v_i by at most Delta; with s = Delta, if moreover all v_i move the
same way. Then one threshold for all c "above" is (epsilon1 + c epsilon2)-DP, and c thresholds, each drawn
anew after an "above", are c (epsilon1 + epsilon2)-DP; however many "below" there are.

Proof. F(t) = P(nu < t) does not decrease, G does not increase. Given what was said, questions are fixed, and
    P_D = sum_z P(z) prod_below F(T + z - v_i) prod_above G(T + z - v_i).
Let v'_i be the values on the neighbour.
*Any moves, or moves up (0 <= v'_i - v_i <= Delta).* Replace P(z) by e^epsilon1 P(z + Delta) (1). A "below":
F(T + z - v_i) <= F(T + z + Delta - v'_i), as v'_i <= v_i + Delta. An "above": T + z + Delta - v'_i is at most
T + z - v_i + 2 Delta, and if moves are up at most T + z - v_i + Delta: so G(T + z - v_i) <= e^epsilon2
G(T + z + Delta - v'_i) by (2). Sum over z + Delta, which runs through all integers.
*Moves down (0 <= v_i - v'_i <= Delta).* Leave z. A "below": F(T + z - v_i) <= F(T + z - v'_i). An "above":
G(T + z - v_i) <= e^epsilon2 G(T + z - v_i + Delta) <= e^epsilon2 G(T + z - v'_i). Nothing is paid for z.
New thresholds make c runs of one "above" each, in sequence.

**The laws.** Discrete Laplace noise of scale b has (1) with Delta/b and (2) with s/b. Geometric noise on
0, 1, 2, ... ("exponential") has both too: P(z) = e^(Delta/b) P(z + Delta) for z >= 0 and P(z) = 0 below, and
G(t) = e^(-max(t, 0)/b). Turned around, on 0, -1, -2, ..., it has neither: (1) fails where the noise runs out
of room upwards. So these four pairs are offered, and no other: Gaussian noise has no (2) for any epsilon2.

All answers move one way when rows are added or taken away (`add_remove`), weights are not negative, and the
run looks at one side only. The charge is made in `SparseVectorRun`, in the transaction that draws z.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from hedgerow.curator.runs.one_sided_plan import Side as OneSide
from hedgerow.curator.runs.one_sided_plan import reach
from hedgerow.curator.runs.sparse_vector import Side, SparseVectorRun
from hedgerow.curator.runs.sparse_vector_plan import _LARGEST, Family, SparseVectorPlan, _scale, first_request
from hedgerow.errors import UnsupportedQuery
from hedgerow.privacy.budget import Cost, selection_epsilon
from hedgerow.privacy.rational import Number, exact
from hedgerow.privacy.sparse_vector_event import PairedSparseVector
from hedgerow.queries.argument import one_of
from hedgerow.queries.query import ONE, Norms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hedgerow.curator.curator import Curator
    from hedgerow.curator.spender import Spend

PairLaw = Literal["laplace", "exponential"]
_FAMILY: dict[PairLaw, Family] = {"laplace": "laplace", "exponential": "geometric"}


@dataclass(frozen=True)
class PairedPlan(SparseVectorPlan):
    """Everything public about such a run, in lattice steps.

    Args:
        laws: of the threshold's noise and of the questions'.
        side: the only side that is looked at, where all answers move one way; None for any.
    """

    laws: tuple[PairLaw, PairLaw] = ("laplace", "laplace")
    side: OneSide | None = None

    @property
    def family(self) -> Family:
        """Of the threshold's noise."""
        return _FAMILY[self.laws[0]]

    @property
    def question_family(self) -> Family:
        """Of the questions' noise."""
        return _FAMILY[self.laws[1]]

    @property
    def public(self) -> str:
        """The plan as text: what reopening a run must agree with."""
        return json.dumps(json.loads(super().public) | {"laws": self.laws, "side": self.side}, sort_keys=True)

    def certified(self, beta: Number, queries: int | None = None) -> Fraction:
        """An alpha in rows: with probability 1 - beta every "below" has v <= alpha, all of them at once.

        P(z >= m) <= e^(-m/b1) for either law, so for m = ceil(b1 ln(c/beta)) no threshold is raised by m or
        more. Exponential noise on the questions is never negative: "below" means v <= T + m - 2, however many
        there are. Laplace noise takes half of beta, and the number of questions. An estimate is off the
        lattice by half a step at most.

        Args:
            beta: how often it may fail.
            queries: how many questions there will be at most; needed with Laplace noise on them.
        """
        share, thresholds = exact(beta), self.count if self.refreshed else 1
        below = 1
        if self.laws[1] == "laplace":
            if type(queries) is not int or queries < 1:
                raise UnsupportedQuery(
                    "with Laplace noise on the questions a bound needs their number: queries="
                )
            share /= 2
            below = reach(self.query_scale, share / queries)
        raised = reach(self.threshold_scale, share / thresholds)
        return Fraction(2 * (self.threshold + raised + below) - 5, 2 * self.denominator)


class PairedRun(SparseVectorRun):
    """An open run with such a pair of laws; asked like any sparse vector, on its own side if it has one."""

    _plans: ClassVar[type] = PairedPlan
    _events: ClassVar[tuple[type, ...]] = (PairedSparseVector,)
    plan: PairedPlan

    def _refuse_other_plans(self, curator: Curator, plan: SparseVectorPlan) -> None:
        super()._refuse_other_plans(curator, plan)
        assert isinstance(plan, PairedPlan)
        _refuse_two_ways(curator, plan.side)
        shift = plan.event.sensitivity * (1 if plan.side else 2)
        if not isinstance(plan.event, PairedSparseVector) or plan.event.shift != shift:
            raise UnsupportedQuery("this plan was made for another kind of run or for other people")

    def _differences(self, queries: Any, estimates: Any, side: Side) -> NDArray[np.int64]:
        """As every run; where all answers must move one way, on that side only."""
        if self.plan.side not in (None, side):
            raise UnsupportedQuery(f"this run is private for the side {self.plan.side!r} only")
        return super()._differences(queries, estimates, side)

    def certified(self, beta: Number, queries: int | None = None) -> Fraction:
        """How far a "below" may lie above its estimate, in rows; see `PairedPlan.certified`."""
        return self.plan.certified(beta, queries)


def _refuse_two_ways(curator: Curator, side: OneSide | None) -> None:
    if side is not None and curator.privacy.neighbours != "add_remove":
        raise UnsupportedQuery(
            "answers move one way only when rows are added or removed: neighbours='add_remove'"
        )


def paired_plan(
    price: Cost,
    sensitivity: Fraction,
    threshold: Number,
    denominator: int,
    *,
    count: int = 1,
    laws: tuple[PairLaw, PairLaw] = ("laplace", "exponential"),
    side: OneSide | None = None,
    restart: bool = True,
) -> PairedPlan:
    """The plan that a price buys; epsilon1 : c epsilon2 = Delta^(2/3) : (c s)^(2/3) has the least variance.

    Args:
        price: what the whole run may cost.
        sensitivity: Delta in lattice steps.
        threshold: T in rows.
        denominator: lattice steps per row.
        count: c, the most "above".
        laws, side: as in `PairedPlan`.
        restart: whether every "above" draws a new threshold.
    """
    if type(count) is not int or count < 1:
        raise UnsupportedQuery("a run reports a whole number of above, 1 or more")
    for law in laws:
        one_of("noise", law, *_FAMILY)
    steps = round(exact(threshold) * denominator)
    if abs(steps) > _LARGEST:
        raise UnsupportedQuery("the threshold is too far from any count")
    shift = sensitivity * (1 if side else 2)
    c = 1 if restart else count
    part = price.share(Fraction(1, count)) if restart else price
    e = selection_epsilon(part, bounded_range=False)
    e1 = e / (1 + Fraction(round(float(c * shift / sensitivity) ** (2 / 3) * 64), 64))
    b1, b2 = _scale(sensitivity / e1), _scale(c * shift / (e - e1))
    event = PairedSparseVector(sensitivity, shift, b1, b2, Fraction(count), Fraction(int(restart)))
    return PairedPlan("paired", event, steps, denominator, laws, side)


def open_paired(
    curator: Curator,
    threshold: Number,
    spend: Spend = None,
    *,
    count: int = 1,
    laws: tuple[PairLaw, PairLaw] = ("laplace", "exponential"),
    side: OneSide | None = None,
    restart: bool = True,
    denominator: int = ONE,
    run: str | None = None,
    note: str = "",
) -> PairedRun:
    """Open such a run: any number of "below", `count` "above", charged whole, now."""
    if side is not None:
        one_of("side", side, "over", "under")
    _refuse_two_ways(curator, side)
    if type(denominator) is not int or denominator < 1:
        raise UnsupportedQuery("a run's denominator is a whole number of lattice steps per row, 1 or more")
    price = curator.price(spend, first_request(run))
    sensitivity = curator.privacy.sensitivity(Norms.query(denominator)).l1
    made = paired_plan(
        price, sensitivity, threshold, denominator, count=count, laws=laws, side=side, restart=restart
    )
    return PairedRun(curator, made, run, note)
