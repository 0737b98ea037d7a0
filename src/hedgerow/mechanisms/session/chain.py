"""Chain: one thing measured again by somebody who needs it closer; both cost what the closer one costs.

Under (rho, delta) a stronger answer is the weaker one refined: a fresh, independent measurement worth what is
missing, and the mean of all of them by inverse variance. The charges add up to the price of the mean, by
composition; nothing is drawn again in view of what was said (discrete Gaussians are not closed under
addition). Whoever refines has seen what there was, so bounds are those of `refined_reach`, and a chain has
the confidence that it was begun with: one that is chosen afterwards would promise nothing. Under a pure
budget it is a `PureChain`. The proofs: docs/privacy/refining.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.curator.statistics.target import statistic_of
from hedgerow.privacy.bounds.refining import LEAST, refined_reach
from hedgerow.privacy.budget import Cost, gaussian_sigma
from hedgerow.queries.measurement import Noise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.curator import Curator
    from hedgerow.curator.statistics.statistics import Statistic
    from hedgerow.mechanisms.session.core import Core
    from hedgerow.mechanisms.session.price import Goal
    from hedgerow.privacy.budget import Sensitivity

_REFINED = "refined"  # stands in requests that go on with a chain; ledgers hold it
_SMOOTH = 4  # lattice steps of sigma from which on the normal law holds, see `Noise.half_width`


@dataclass(frozen=True, eq=False)
class Chain:
    """The measurements of one thing in a session, and what one more accuracy of it costs.

    Args:
        core: the session, in its turn.
        payer: who would pay.
        target: what is measured.
        about: what requests about it begin with, after the session's name: a word and a digest.
        goal: what every count must keep.
        numbers: how many counts share the confidence.
        direct: the price of a measurement that keeps the goal alone.
        request: of that measurement.
    """

    core: Core
    payer: Curator
    target: Any
    about: str
    goal: Goal
    numbers: int
    direct: Cost
    request: str

    @cached_property
    def due(self) -> Cost:
        """What is still to be paid for an answer that keeps the goal; depends on no row."""
        if self._enough or self.request in self.core.log.paid:
            return Cost.zero(self.direct.currency)
        more = self._missing
        return self.direct if more is None else more

    def measure(self, fund: Curator, note: str) -> tuple[NDArray[np.float64], float]:
        """The counts, and how far off each may be; what is due is paid now.

        Args:
            fund: who pays.
            note: what the ledger says of it.
        """
        more = None
        if not self._enough:
            more = None if self.request in self.core.log.paid else self._missing
            if more is None:
                return self._alone(fund, note)
        return self._with(more, fund, note)

    # -- inside -------------------------------------------------------------------------------------------

    def _with(self, more: Cost | None, fund: Curator, note: str) -> tuple[NDArray[np.float64], float]:
        """The mean of what was measured and, for a price, of one more; None where that is enough."""
        steps = list(self._steps)
        if more is not None:
            which = f"{self.goal.confidence} {self.numbers} {_REFINED} {len(steps)}"
            steps.append(f"{self.core.name}: {self.about} {which} {more.amount}")
        prices = [_price(request, self.direct) for request in steps]
        asked = zip(prices, steps, strict=True)
        made_all = [self.core.measure(fund, self.target, price, r, note)[0] for price, r in asked]
        scales = [made.noise.scale for made in made_all]
        whole, mean = _precision(scales), np.zeros_like(made_all[0].counts)
        for made in made_all:
            mean = mean + made.counts * float(1 / (made.noise.scale**2 * whole))
        return mean, self._width(scales)

    def _alone(self, fund: Curator, note: str) -> tuple[NDArray[np.float64], float]:
        """Measured for itself: what was there before does not help."""
        made, _ = self.core.measure(fund, self.target, self.direct, self.request, note)
        return made.counts, made.noise.half_width(self.goal.confidence, numbers=self.numbers)

    @cached_property
    def _steps(self) -> list[str]:
        """What was paid for it at this confidence, since it was last measured alone.

        A request ends with: confidence, numbers, price; one that goes on with a chain with: confidence,
        numbers, `refined`, how many there were, price.
        """
        found: list[str] = []
        promised = [str(self.goal.confidence), str(self.numbers)]
        for request in self.core.log.paid_for(self.about):
            words = request.split(" ")
            if words[-3] == _REFINED and words[-5:-3] == promised:
                found = [*found, request]
            elif words[-3:-1] == promised:
                found = [request]
        return found

    @cached_property
    def _scales(self) -> list[Fraction]:
        """The scales of their noise, in lattice steps."""
        return [self._scale(_price(request, self.direct)) for request in self._steps]

    @cached_property
    def _enough(self) -> bool:
        """Whether what was measured keeps the goal."""
        return bool(self._scales) and self._width(self._scales) <= float(self.goal.alpha)

    @cached_property
    def _missing(self) -> Cost | None:
        """What one more measurement costs that makes the chain keep the goal; None if that is not less."""
        known = self._scales
        if not known or min(known) < _SMOOTH:
            return None
        for cost in self._offers():
            sigma = self._scale(cost)
            if not cost.amount < self.direct.amount or sigma < _SMOOTH:
                return None
            grown = _precision([*known, sigma]) >= LEAST * _precision(known)
            if grown and self._width([*known, sigma]) <= float(self.goal.alpha):
                return cost
        return None

    def _offers(self) -> Iterator[Cost]:
        """Prices to try, each a little above the last: sigma is rounded up to a small rational."""
        steps, known = self.goal.alpha * self._measured.denominator - 1, _precision(self._scales)
        if steps <= 0:
            return
        wanted = Fraction(refined_reach(len(self._scales) + 1, self._beta) / float(steps)) ** 2
        more = max(wanted - known, (LEAST - 1) * known)
        amount = (self._sensitivity.l2_squared * more / 2).limit_denominator(1 << 60)
        while True:
            yield Cost(self.direct.currency, amount)
            amount *= Fraction(1001, 1000)

    @property
    def _beta(self) -> float:
        return max(float(self.goal.beta) / self.numbers, 1e-12)

    @cached_property
    def _measured(self) -> Statistic:
        return statistic_of(self.target, self.payer.domain)

    @cached_property
    def _sensitivity(self) -> Sensitivity:
        return self.payer.privacy.sensitivity(self._measured.norms)

    def _scale(self, price: Cost) -> Fraction:
        """The scale of the noise that a price buys."""
        return gaussian_sigma(self._sensitivity.l2_squared, price)

    def _width(self, scales: list[Fraction]) -> float:
        """How far off the mean of measurements of so large noise may be, in rows."""
        denominator = self._measured.denominator
        if len(scales) == 1:
            noise = Noise("gaussian", scales[0], denominator)
            return noise.half_width(self.goal.confidence, numbers=self.numbers)
        sigma = sqrt(1 / _precision(scales))
        return (refined_reach(len(scales), self._beta) * sigma + 1.0) / denominator


def _price(request: str, like: Cost) -> Cost:
    """What a request cost: its last word."""
    return Cost(like.currency, Fraction(request.rsplit(" ", 1)[1]))


def _precision(scales: list[Fraction]) -> Fraction:
    """Of the mean by inverse variance."""
    return sum((1 / scale**2 for scale in scales), Fraction(0))
