"""PureChain: the same under a pure budget, where a closer answer is drawn given the weaker one.

Discrete Laplace noise is a chain from weak to strong (`curator.noise.refined`): all answers together lose
what the closest one alone would, so whoever needs it closer pays the difference of the epsilons, and is
told the closest answer, not a mean. Bounds are those of `refined_laplace_reach`. The proofs:
docs/privacy/refining.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import floor
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.curator.refining import can_refine
from hedgerow.mechanisms.session.chain import Chain
from hedgerow.privacy.bounds.refined_laplace import (
    FINEST,
    SHRINK,
    refined_laplace_reach,
    refined_laplace_width,
)
from hedgerow.privacy.budget import Cost, laplace_scale
from hedgerow.queries.measurement import Noise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.curator import Curator
    from hedgerow.privacy.ledger.entry import Entry


def chain_of(*args: Any) -> Chain:
    """The chain of a session's currency; arguments as for `Chain`."""
    made = Chain(*args)
    return made if made.direct.currency == "rho" else PureChain(*args)


@dataclass(frozen=True, eq=False)
class PureChain(Chain):
    """The answers to one thing in a session with a pure budget, each drawn given the one before."""

    def _with(self, more: Cost | None, fund: Curator, note: str) -> tuple[NDArray[np.float64], float]:
        """The closest answer, drawn now for a price; None where the one that was given is close enough."""
        number = len(self._answers)
        if more is None:
            made = self._again(fund, note)
        else:
            step, weaker = laplace_scale(self._sensitivity.l1, more), self._answers[-1]
            made = self.core.refine(fund, self.target, weaker.seq, step, note)
            number += 1
        return made.counts, self._off(made.noise.scale, number)

    def _again(self, fund: Curator, note: str) -> Any:
        """The closest answer, as whoever paid for it got it."""
        last: Any = self._answers[-1]
        if len(self._answers) == 1:
            price = Cost(self.direct.currency, Fraction(last.request.rsplit(" ", 1)[1]))
            return self.core.measure(fund, self.target, price, last.request, note)[0]
        step = 1 / (1 / last.event.scale - 1 / last.event.weaker_scale)
        return self.core.refine(fund, self.target, self._answers[-2].seq, step, note)

    @cached_property
    def _answers(self) -> list[Entry]:
        """The first answer at this confidence, and those that refined it, one after the other."""
        found, ledger, paid = list[Any](), self.core.curator.ledger, self.core.log.paid
        request = self._steps[-1] if self._steps else None
        while request is not None and (entry := ledger.requested(request)) is not None:
            found.append(entry)
            following = f"refined line {entry.seq}"
            request = following if following in paid else None
        return found

    @cached_property
    def _enough(self) -> bool:
        """Whether the closest answer keeps the goal."""
        answers: list[Any] = self._answers
        return bool(answers) and self._off(answers[-1].event.scale, len(answers)) <= float(self.goal.alpha)

    @cached_property
    def _missing(self) -> Cost | None:
        """What a closer answer costs that keeps the goal; None if there is none for less than a fresh one."""
        answers: list[Any] = self._answers
        if not answers or not can_refine(self.payer, self.target, answers[-1].seq):
            return None
        weaker, number = answers[-1].event.scale, len(answers) + 1
        steps = floor(self.goal.alpha * self._measured.denominator) + Fraction(1, 2)
        wanted = min(weaker / SHRINK, steps / Fraction(refined_laplace_reach(number, self._beta)))
        if weaker < FINEST:
            return None
        amount = self._sensitivity.l1 * (1 / wanted - 1 / weaker)
        while amount < self.direct.amount:
            cost = Cost(self.direct.currency, amount)
            scale = 1 / (1 / weaker + 1 / laplace_scale(self._sensitivity.l1, cost))
            if scale * SHRINK <= weaker and self._off(scale, number) <= float(self.goal.alpha):
                return cost
            amount *= Fraction(1001, 1000)
        return None

    def _off(self, scale: Fraction, number: int) -> float:
        """How far off the answer of a number in the chain may be, in rows."""
        denominator = self._measured.denominator
        if number == 1:
            noise = Noise("laplace", scale, denominator)
            return noise.half_width(self.goal.confidence, numbers=self.numbers)
        return refined_laplace_width(scale, number, self._beta) / denominator
