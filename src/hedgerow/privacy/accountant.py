"""From private acts to what they cost: the ledger's currencies, and accountants that report an epsilon."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import reduce
from math import exp, expm1, fsum, inf, log, sqrt
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from hedgerow.errors import BadValue, UnknownEvent
from hedgerow.privacy.budget import Cost, Currency, epsilon_of
from hedgerow.privacy.calibration import (
    ROUNDING,
    best_order,
    excess,
    float_up,
    log_inverse,
    renyi_of_bounded_range,
    renyi_of_laplace,
)
from hedgerow.privacy.event import (
    ZCDP,
    Approximate,
    BoundedRange,
    Event,
    Exponential,
    Gaussian,
    Laplace,
    PermuteAndFlip,
    Pure,
    RandomizedRecord,
    RefinedLaplace,
    ReportNoisyMax,
)
from hedgerow.privacy.loss import Loss, bounded_range_loss, gaussian_loss, laplace_loss, pmf
from hedgerow.privacy.rational import Number, exact
from hedgerow.privacy.sparse_vector_event import GaussianSparseVector, OneSidedSparseVector

Floats = npt.NDArray[np.float64]

_BOUNDED_RANGE = (Exponential, BoundedRange, OneSidedSparseVector)
_PURE = (Laplace, PermuteAndFlip, ReportNoisyMax, RandomizedRecord, Pure, *_BOUNDED_RANGE)
_CONCENTRATED = (Gaussian, ZCDP, GaussianSparseVector)


def cost(event: Event, currency: Currency) -> Cost:
    """What an act costs in a ledger's currency; acts that the currency cannot express are refused.

    Args:
        event: the act; k repetitions cost exactly k times the act.
        currency: "epsilon" takes pure acts only; "rho" takes all, (epsilon, delta) acts with their delta.

    >>> cost(Exponential(1), "rho").amount, cost(Pure(1), "rho").amount
    (Fraction(1, 8), Fraction(1, 2))
    """
    total = Cost.zero(currency)
    for act, times in _leaves(event):
        total += _cost_of_one(act, currency) * times
    return total


def _cost_of_one(act: Event, currency: Currency) -> Cost:
    """The cost of a simple act, rounded up to the grain."""
    if isinstance(act, RefinedLaplace):  # charges telescope in epsilon, and in nothing else
        if currency != "epsilon":
            raise UnknownEvent("A weaker Laplace answer is refined under a pure epsilon budget only.")
        return Cost(currency, act.epsilon)
    if isinstance(act, _PURE):
        if currency == "epsilon":
            return Cost(currency, act.epsilon)
        if isinstance(act, _BOUNDED_RANGE):
            return Cost(currency, _range(act) ** 2 / 8)
        return Cost(currency, act.epsilon**2 / 2)
    if currency == "epsilon":
        raise UnknownEvent(
            f"A pure epsilon budget cannot pay for a {type(act).__name__} event.",
            hint="make the budget with a delta above 0, such as 1e-9",
        )
    if isinstance(act, Gaussian):
        return Cost(currency, act.rho)
    if isinstance(act, ZCDP):
        return Cost(currency, act.rho, act.delta)
    if isinstance(act, Approximate):
        return Cost(currency, act.epsilon**2 / 2, act.delta)
    if isinstance(act, GaussianSparseVector):
        return Cost(currency, exact(_sparse_epsilon(act)) ** 2 / 2, act.delta)
    raise UnknownEvent(f"There is no cost for a {type(act).__name__} event.")


def _range(act: Exponential | BoundedRange | OneSidedSparseVector) -> Fraction:
    """The length of the interval that holds the loss of an act of bounded range."""
    return act.range if isinstance(act, OneSidedSparseVector) else act.epsilon


def _sparse_epsilon(act: GaussianSparseVector) -> float:
    """Epsilon at the act's own delta: the ln(1 + length) of each above is a factor of that delta."""
    return epsilon_of(act.count * act.rho, act.delta / (1 + act.length) ** int(act.count))


def _leaves(event: Event) -> Iterator[tuple[Event, int]]:
    """The simple acts of an event, or a refusal of what is not an event."""
    if not isinstance(event, Event):
        raise UnknownEvent(f"An accountant counts events, not a {type(event).__name__}.")
    return event.leaves()


def _is_free(act: Event) -> bool:
    """Whether a simple act has no privacy loss at all."""
    losses = ("sensitivity", "sensitivity_squared", "epsilon", "rho", "delta")
    return not any(getattr(act, name, 0) for name in losses)


class Accountant:
    """What all accountants share: how often each simple act happened, so that order never matters."""

    known: ClassVar[tuple[type[Event], ...]] = ()

    def __init__(self) -> None:
        self._acts: Counter[Event] = Counter()

    def supports(self, event: Event) -> bool:
        """Whether `compose` has a theorem for every part of this event."""
        return all(self._refusal(act) is None for act, _ in _leaves(event))

    def compose(self, event: Event, times: int = 1) -> None:
        """Add an act, done so many times; UnknownEvent, and nothing is added, if there is no theorem."""
        if isinstance(times, bool) or not isinstance(times, int) or times < 0:
            raise BadValue(f"An act happens a whole number of times, not {times!r}.")
        acts = list(_leaves(event))
        for act, _ in acts:
            refusal = self._refusal(act)
            if refusal is not None:
                raise UnknownEvent(refusal)
        for act, count in acts:
            if count * times and not _is_free(act):
                self._acts[act] += count * times

    def epsilon(self, delta: Number) -> float:
        """An epsilon, rounded up, such that all acts together are (epsilon, delta)-DP; may be infinite."""
        d = exact(delta)
        if not 0 <= d < 1:
            raise BadValue(f"Delta must be at least 0 and below 1, not {delta}.")
        return self._epsilon(d) if self._acts else 0.0

    def _refusal(self, act: Event) -> str | None:
        if isinstance(act, self.known):
            return None
        return f"{type(self).__name__} has no theorem for a {type(act).__name__} event."

    def _epsilon(self, delta: Fraction) -> float:
        raise NotImplementedError

    def _deltas(self) -> Fraction:
        """The deltas of all (epsilon, delta) acts, summed."""
        acts = self._acts.items()
        return sum((n * act.delta for act, n in acts if isinstance(act, Approximate | ZCDP)), Fraction(0))

    def _epsilons(self) -> list[tuple[Fraction, int]] | None:
        """Every act's epsilon and count, or None when some act has none."""
        if any(isinstance(act, _CONCENTRATED) for act in self._acts):
            return None
        return [(act.epsilon, n) for act, n in self._acts.items()]  # type: ignore[attr-defined]

    def _basic(self) -> float:
        """The sum of the epsilons, rounded up; infinite when some act has none."""
        epsilons = self._epsilons()
        return inf if epsilons is None else float_up(sum((e * n for e, n in epsilons), Fraction(0)))


class BasicAccountant(Accountant):
    """Epsilons and deltas add up [DRV10, Thm 3.1].

    >>> accountant = BasicAccountant()
    >>> accountant.compose(Pure(0.1), times=10)
    >>> accountant.epsilon(0)
    1.0
    """

    known = (*_PURE, Approximate)

    def _epsilon(self, delta: Fraction) -> float:
        return self._basic() if self._deltas() <= delta else inf


class AdvancedAccountant(Accountant):
    """The advanced composition theorem [DRV10, Thm 3.3], for acts of different epsilons.

    Args:
        delta_prime: the theorem's delta'; the total delta is the acts' deltas plus this.

    >>> accountant = AdvancedAccountant(1e-6)
    >>> accountant.compose(Pure(0.01), times=1000)
    >>> round(accountant.epsilon(1e-6), 3)
    1.763
    """

    known = (*_PURE, Approximate)

    def __init__(self, delta_prime: Number) -> None:
        super().__init__()
        self.delta_prime = exact(delta_prime)
        if not 0 < self.delta_prime < 1:
            raise BadValue(f"Advanced composition needs a delta' above 0 and below 1, not {delta_prime}.")

    def _epsilon(self, delta: Fraction) -> float:
        if self._deltas() + self.delta_prime > delta:
            return inf
        epsilons = self._epsilons() or []
        squares = sum((e * e * n for e, n in epsilons), Fraction(0))
        if any(e > 700 for e, _ in epsilons):
            return inf
        drift = fsum(float(e) * expm1(float(e)) * n for e, n in epsilons)
        spread = sqrt(2 * log_inverse(self.delta_prime) * float(squares))
        return (spread + drift) * (1 + ROUNDING)


class ZCDPAccountant(Accountant):
    """Rhos and deltas add up, then the tight conversion [BS16; CKS20, Cor. 13]; what a rho ledger reports.

    >>> accountant = ZCDPAccountant()
    >>> accountant.compose(Gaussian(1, 10), times=4)
    >>> round(accountant.epsilon(1e-6), 3)
    0.9
    """

    known = (*_PURE, *_CONCENTRATED, Approximate)

    def _epsilon(self, delta: Fraction) -> float:
        total = Cost.zero("rho")
        for act, times in self._acts.items():
            total += _cost_of_one(act, "rho") * times
        if total.is_zero:
            return 0.0
        return epsilon_of(total.amount, delta - total.delta) if total.delta < delta else inf


class RenyiAccountant(Accountant):
    """Renyi divergences add up order by order, then the tight conversion [Mir17; CKS20, Prop. 12].

    Args:
        orders: the orders alpha > 1 to try; all of them, by a search, unless given.

    >>> accountant = RenyiAccountant()
    >>> accountant.compose(Exponential(0.1), times=100)
    >>> round(accountant.epsilon(1e-6), 2)
    2.4
    """

    known = (*_PURE, *_CONCENTRATED, Approximate)

    def __init__(self, orders: Iterable[float] | None = None) -> None:
        super().__init__()
        self.orders = None if orders is None else tuple(orders)
        if self.orders is not None and not all(1 < alpha < inf for alpha in self.orders):
            raise BadValue("Renyi orders must be finite and above 1.")

    def _divergence(self, a: float) -> float:
        """The Renyi divergence of order 1 + a of all acts together, rounded up."""
        return fsum(n * _renyi(act, a) for act, n in self._acts.items())

    def _epsilon(self, delta: Fraction) -> float:
        deltas = self._deltas()
        basic = self._basic()
        if deltas >= delta:
            return basic if deltas == 0 else inf  # order infinity needs no delta
        log_inverse_delta = log_inverse(delta - deltas)

        def converted(log_a: float) -> float:
            total = self._divergence(exp(log_a)) + excess(log_a, log_inverse_delta)
            return total + ROUNDING * (abs(total) + (log_inverse_delta + 40 + abs(log_a)) * (1 + exp(-log_a)))

        logs = [log(best_order(converted))] if self.orders is None else [log(x - 1) for x in self.orders]
        return max(0.0, min(basic, *(converted(log_a) for log_a in logs)))


def _renyi(act: Event, a: float) -> float:
    """The Renyi divergence of order 1 + a of a simple act, rounded up."""
    if isinstance(act, Gaussian | ZCDP):
        return (1 + a) * float_up(act.rho)  # [CKS20, Thm 4] covers the discrete Gaussian
    if isinstance(act, GaussianSparseVector):  # the theorem in curator.sparse_vector, for every above
        each = (1 + a) * float_up(act.rho) + log(1 + int(act.length)) / a
        return float(act.count) * each * (1 + 4 * ROUNDING)
    epsilon = float_up(act.epsilon)  # type: ignore[attr-defined]
    if epsilon == 0:
        return 0.0
    if isinstance(act, _BOUNDED_RANGE):
        return renyi_of_bounded_range(float_up(_range(act)), a)
    if isinstance(act, Laplace) and act.sensitivity.denominator == 1:
        return renyi_of_laplace(epsilon, 1 / float(act.scale), a)
    return renyi_of_laplace(epsilon, epsilon, a)


class TightAccountant(Accountant):
    """Privacy loss distributions composed numerically: the smallest epsilon, for acts fixed in advance.

    Needs the extra `accounting`. It reports; it may not enforce a budget that adapts to answers.

    >>> accountant = TightAccountant()
    >>> accountant.compose(Laplace(1, 10), times=100)
    >>> round(accountant.epsilon(1e-6), 1)
    4.8
    """

    known = (*_PURE, Gaussian, Approximate)
    largest_sensitivity: ClassVar[int] = 2**20
    largest_sigma: ClassVar[int] = 2**16
    _points: ClassVar[int] = 2**17

    def _refusal(self, act: Event) -> str | None:
        if isinstance(act, ZCDP):
            return "A zCDP event fixes no loss distribution: use ZCDPAccountant or RenyiAccountant."
        if isinstance(act, Laplace) and act.sensitivity > self.largest_sensitivity:
            return (
                f"Tight numbers for Laplace noise need a sensitivity up to {self.largest_sensitivity} steps."
            )
        if isinstance(act, Gaussian) and (act.sensitivity_squared not in (0, 1, 2, 3)):
            # A vector that moves by squared length 1, 2 or 3 moves 1, 2 or 3 coordinates by one step each;
            # from 4 on, (2) and (1, 1, 1, 1) are both possible and neither dominates the other.
            return "Tight numbers for Gaussian noise need a squared sensitivity of 1, 2 or 3 lattice steps."
        if isinstance(act, Gaussian) and act.sigma > self.largest_sigma:
            return f"Tight numbers for Gaussian noise need a sigma up to {self.largest_sigma} steps."
        return super()._refusal(act)

    def _epsilon(self, delta: Fraction) -> float:
        renyi = RenyiAccountant()
        renyi._acts = self._acts
        known = renyi._epsilon(delta)  # also true; smaller where acts of bounded range repeat
        if self._deltas() >= delta:
            return known
        acts = [(_loss(act), n) for act, n in self._acts.items()]
        interval, cut = self._interval(acts), float(delta) * 1e-7
        parts = [pmf(loss, interval).self_compose(n * loss.copies, cut) for loss, n in acts]
        total = reduce(lambda one, two: one.compose(two, cut), parts)
        left = float(delta) * (1 - ROUNDING) - self._error(total._probs, sum(n * x.copies for x, n in acts))
        return min(known, total.get_epsilon_for_delta(left) * (1 + 1e-12)) if left > 0 else known

    def _error(self, probs: Floats, count: int) -> float:
        """Room for the transforms: count + 1 of them err by log2(size) ulps of the result's 2-norm, and a sum
        over the tail collects at most sqrt(size) of that."""
        size = len(probs)
        return 4 * (count + 1) * log(size + 1, 2) * sqrt(size) * float(np.linalg.norm(probs)) * 2.0**-53

    def _interval(self, acts: list[tuple[Loss, int]]) -> float:
        """A grid step that spreads the likely total loss over a fixed number of points."""
        widest = fsum(n * loss.copies * loss.reach for loss, n in acts)
        variance = fsum(n * loss.copies * loss.spread**2 for loss, n in acts)
        return 2 * min(widest, 12 * sqrt(variance) + variance) / self._points


def _loss(act: Event) -> Loss:
    """A dominating pair for a simple act on the integer lattice."""
    if isinstance(act, Gaussian):
        return gaussian_loss(float(act.sigma), int(act.sensitivity_squared))
    epsilon = float_up(act.epsilon)  # type: ignore[attr-defined]
    if isinstance(act, Approximate):
        pair = laplace_loss(epsilon, 1)  # [KOV15]: randomised response, and everything with probability delta
        return Loss(pair.losses, pair.masses * (1 - float(act.delta)), float_up(act.delta))
    if isinstance(act, _BOUNDED_RANGE):
        return bounded_range_loss(float_up(_range(act)))
    if isinstance(act, Laplace) and act.sensitivity.denominator == 1:
        return laplace_loss(1 / float(act.scale), int(act.sensitivity))
    return laplace_loss(epsilon, 1)
