"""A budget raised after answers were seen: what it promises, however the new cap was chosen.

A cap R that is fixed in advance is converted to epsilon at the order that is best for it. A raised cap
depends on answers, and so would its best order. So the orders of raises are fixed before any row is read:
1 + a_1, 1 + a_2, ..., from the order that is best for the first budget on, each a_k about sqrt(2) below the
one before. The k-th has delta_k = fresh / (k (k + 1)), where `fresh` is what the raised delta adds.

Theorem. Let L be the privacy loss of everything that was said, and R the last cap. Costs that are chosen as
answers come in satisfy E[exp(a (L - (1 + a) spent))] <= 1 for each *fixed* order (a supermartingale), and
spent <= R. So with epsilon(R) = (1 + a_k) R + h(1 + a_k, delta_k), k being any function of what was said,
the mean of (1 - exp(epsilon(R) - L))+ is at most sum_k delta_k <= fresh. In words: for all E and D, every
event in which the last promise is at most (E, D) has at most e^E times the probability that it has with a
neighbour's rows, plus D. The whole proof is in docs/privacy/raising.md.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import count
from math import exp, log, log1p

from hedgerow.privacy.budget import FOR_EVENTS, Budget, exact
from hedgerow.privacy.calibration import best_order, excess_above, log_inverse

_NOMINAL = Fraction(1, 10**9)  # where the orders start when the first budget has no delta
_MOST, _LARGEST = 250, 600  # orders for raises, each for caps twice as large; steps that are looked at


def raised(base: Budget, asked: Budget) -> tuple[Budget, int]:
    """The budget that keeps the promise asked for although it is chosen now, and the index of its order.

    Args:
        base: the budget that was in force when the first answer was paid for.
        asked: the new promise; its delta must be above the first one's, or 0 for a promise in rho alone.

    >>> budget, index = raised(Budget(epsilon=1, delta=1e-9), Budget(epsilon=2, delta=2e-9))
    >>> budget, index
    (Budget(epsilon=2.0, delta=2e-09), 2)
    >>> float(budget.cost.amount / Budget(epsilon=2, delta=1e-9).cost.amount)  # doctest: +ELLIPSIS
    0.883...
    """
    if not asked.delta_exact:
        return asked, 1
    fresh = _fresh(base, asked)
    if fresh <= 0:
        raise ValueError(
            f"A raised budget needs a delta above {base.delta}, and twice as much is a good choice."
        )
    if asked.epsilon_exact is not None:
        epsilon = asked.epsilon_exact
        index = _best(lambda k: -_rho(base, fresh, k, epsilon))
        rho = _rho(base, fresh, index, epsilon)
    else:
        assert asked.rho_exact is not None
        rho = asked.rho_exact
        index = _best(lambda k: _epsilon(base, fresh, k, rho))
        epsilon = _epsilon(base, fresh, index, rho)
    reading = _reading(rho, epsilon, _share(fresh, index))
    for places in count(40, -1):  # floats found the reading: it errs by a little, if at all
        budget = asked.read_at(reading)
        if holds(base, budget, index):
            return budget, index
        reading *= 1 - Fraction(1, 2 ** max(places, 1))
    raise AssertionError


def holds(base: Budget, budget: Budget, index: int) -> bool:
    """Whether a raised budget promises no more than the theorem gives at its order.

    Args:
        base: the budget that was in force when the first answer was paid for.
        budget: the raised one.
        index: which of the orders it is stated at.
    """
    if not budget.delta_exact:
        return True
    fresh = _fresh(base, budget)
    if not 1 <= index <= _MOST or fresh <= 0 or budget.event_delta > FOR_EVENTS * budget.delta_exact:
        return False
    if not budget.conversion_delta:  # then no epsilon is promised
        return True
    stated = exact(budget.epsilon) if budget.epsilon_exact is None else budget.epsilon_exact
    return _epsilon(base, fresh, index, budget.cost.amount) <= stated


@lru_cache(maxsize=64)
def restated(base: Budget, recorded: Budget) -> Budget:
    """The true promise of a cap that an earlier version raised as if it had been fixed in advance."""
    if not recorded.delta_exact:
        return recorded
    cap = recorded.cost
    whole = Budget(rho=cap.amount, delta=max(recorded.delta_exact, doubled(base)))
    budget, _ = raised(base, whole)
    return budget.read_at(budget.conversion_delta, recorded.event_delta)


def doubled(base: Budget) -> Fraction:
    """The delta of a raised budget unless another is asked for: twice the first one, or half the way to 1."""
    delta = base.delta_exact
    return min(2 * delta, (1 + delta) / 2)


def least(base: Budget, asked: Budget, rho: Fraction) -> Fraction:
    """The epsilon of a cap that raises led to, at the delta asked for: a raise above that cap needs more."""
    fresh = _fresh(base, asked)
    return _epsilon(base, fresh, _best(lambda k: _epsilon(base, fresh, k, rho)), rho)


def _fresh(base: Budget, budget: Budget) -> Fraction:
    """The delta that the raises' orders share: what the first budget and (epsilon, delta) events leave."""
    return budget.delta_exact * (1 - FOR_EVENTS) - base.conversion_delta


def _share(fresh: Fraction, index: int) -> Fraction:
    return fresh / (index * (index + 1))


def _epsilon(base: Budget, fresh: Fraction, index: int, rho: Fraction) -> Fraction:
    """What a cap promises at an order, rounded up."""
    a = _order(base, index)
    return (1 + Fraction(a)) * rho + excess_above(a, _share(fresh, index))


def _rho(base: Budget, fresh: Fraction, index: int, epsilon: Fraction) -> Fraction:
    """The cap that promises epsilon at an order."""
    a = _order(base, index)
    return (epsilon - excess_above(a, _share(fresh, index))) / (1 + Fraction(a))


def _order(base: Budget, index: int) -> float:
    return _step(_first(base.cost.amount, base.conversion_delta or _NOMINAL) - index + 1)


def _step(n: int) -> float:
    """The n-th of the orders ... 1/2, 3/4, 1, 3/2, 2, 3, 4, ...: floats, and exact."""
    return 2.0 ** (n // 2) * (1.5 if n % 2 else 1.0)


@lru_cache(maxsize=1024)
def _first(rho: Fraction, delta: Fraction) -> int:
    """The step that is best for a cap fixed in advance; decimals decide, so every machine finds the same."""

    def epsilon(n: int) -> Fraction:
        return (1 + Fraction(_step(n))) * rho + excess_above(_step(n), delta)

    n = 0
    while n < _LARGEST and epsilon(n + 1) < epsilon(n):
        n += 1
    while n > -_LARGEST and epsilon(n - 1) <= epsilon(n):
        n -= 1
    return n


def _best(loss: Callable[[int], Fraction]) -> int:
    """The index before losses rise: any index gives a true promise, so the first hollow is good enough."""
    return next(k for k in range(1, _MOST + 1) if k == _MOST or loss(k + 1) >= loss(k))


def _reading(rho: Fraction, epsilon: Fraction, share: Fraction) -> Fraction:
    """The delta at which the best order of all reads rho as epsilon: [CKS20, Cor. 13] solved for delta.

    A raised budget's parts are stated at it, so that all of them together read as the whole.
    """
    r, e = float(rho), float(epsilon)

    def log_delta(log_a: float) -> float:
        a = exp(log_a)
        return a * ((1 + a) * r - e) - log1p(a) - a * log1p(1 / a)

    below = log_delta(log(best_order(log_delta))) + log_inverse(share)
    return share * Fraction(exp(min(0.0, below)))
