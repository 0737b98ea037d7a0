"""The theorem behind raised budgets, tried against every way to raise one: all answers are enumerated."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import exp, expm1, inf, sqrt
from typing import Any

import numpy as np
import pytest

from hedgerow.privacy.budget import Budget, epsilon_of, exact
from hedgerow.privacy.event import Pure
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.privacy.raising import raised


def worst(caps: list[int], stated: list[float], s: float) -> float:
    """The most that P(S) - sum e^stated Q(S) can be, over all events S and all ways to decide when to stop.

    Each act is a randomised response of epsilon s, whose loss is +s or -s, and after each number of acts in
    `caps` somebody who knows all answers may leave the cap there, which promises `stated`, or raise it.
    Backward induction over the sum of losses enumerates all of these ways at once.
    """
    p, promised, value = exp(s) / (1 + exp(s)), dict(zip(caps, stated, strict=True)), np.zeros(0)
    for acts in range(caps[-1], -1, -1):
        loss = s * (2 * np.arange(acts + 1) - acts)
        stop = np.maximum(0.0, -np.expm1(np.minimum(promised.get(acts, inf) - loss, 0.0)))
        value = np.maximum(stop, (1 - p) * value[:-1] + p * value[1:]) if len(value) else stop
    return float(value[0])


def game(delta: Fraction, acts: int, doublings: int) -> tuple[Budget, list[int], list[Fraction], float]:
    """A budget that `acts` answers use up, caps that grow by 2^(1/4) each, and the epsilon of an answer."""
    base = Budget(1, delta)
    s = sqrt(2 * float(base.cost.amount) / acts) * (1 - 1e-9)
    caps = sorted({round(acts * 2 ** (i / 4)) for i in range(4 * doublings + 1)})
    rhos = [base.cost.amount, *(exact(s) ** 2 / 2 * n * (1 + Fraction(1, 10**9)) for n in caps[1:])]
    return base, caps, rhos, s


def budget_after_a_raise(base: Budget, rho: Fraction) -> Budget:
    """What a ledger promises when its cap was raised to rho after an answer."""
    ledger = Ledger.open(":memory:", budget=base)
    ledger.charge(Pure("1/1000000"), lambda: (b"42", None))
    ledger.raise_budget(Budget(rho=rho, delta=ledger.next_delta), "more")
    return ledger.budget


@pytest.mark.parametrize("delta", ["1e-2", "1e-3", "1e-6", "1e-9"])
def test_no_way_of_raising_after_answers_breaks_the_promise(delta: str, size: Callable[..., Any]) -> None:
    for acts, doublings in size([(1, 8), (8, 6)], [(1, 12), (3, 10), (8, 10), (32, 8), (128, 6)]):
        base, caps, rhos, s = game(Fraction(delta), acts, doublings)
        stated = [base, *(budget_after_a_raise(base, rho) for rho in rhos[1:])]
        assert worst(caps, [b.epsilon for b in stated], s) <= max(b.delta for b in stated) * 0.9


def test_a_raised_cap_stated_as_if_it_had_been_fixed_breaks_its_promise() -> None:
    """The statement that earlier versions made: an adversary gets twice delta, and more with patience."""
    base, caps, rhos, s = game(Fraction("1e-3"), 16, 8)
    stated = [epsilon_of(rho, base.conversion_delta) for rho in rhos]
    alone = max(worst([cap], [epsilon], s) for cap, epsilon in zip(caps, stated, strict=True))
    assert alone < base.delta_exact * 9 / 10  # each of them is true when nobody chooses
    assert worst(caps, stated, s) > 2 * base.delta_exact


def test_events_are_bounded_for_every_small_world_enumerated_answer_by_answer(
    size: Callable[..., Any],
) -> None:
    """Answers of three kinds, costs and raises that depend on all answers so far: all events at once."""
    rng = np.random.default_rng(5)
    for _ in range(size(6, 100)):
        base = Budget(
            rho=exact(round(float(rng.uniform(0.05, 1.5)), 3)), delta=rng.choice(["0.02", "0.1", "0.3"])
        )
        whole, seed = 2 * base.delta_exact, int(rng.integers(2**31))
        over: dict[float, float] = {}
        for loss, p, cap, was_raised in transcripts(base, seed):
            final = raised(base, Budget(rho=cap, delta=whole))[0] if was_raised else base
            over[final.epsilon] = over.get(final.epsilon, 0.0) + p * max(0.0, -expm1(final.epsilon - loss))
        assert sum(over.values()) <= float(whole)


def transcripts(base: Budget, seed: int, depth: int = 5) -> Any:
    """All (loss, probability, last cap, whether raised) of one adaptive conversation: acts are two- or
    three-valued pure mechanisms, their epsilons and the raises are pseudo-random functions of the answers."""

    def go(said: tuple[int, ...], spent: Fraction, cap: Fraction, loss: float, p: float, more: bool) -> Any:
        rng = np.random.default_rng([seed, len(said), *said])
        eps = exact(round(float(rng.uniform(0.2, 1.6)), 3))
        if spent + eps**2 / 2 > cap and rng.random() < 0.8:
            cap, more = cap * exact(round(float(rng.uniform(1.1, 5)), 2)), True
        if len(said) == depth or spent + eps**2 / 2 > cap:
            yield loss, p, cap, more
            return
        e = float(eps)
        third = float(rng.choice([0.0, 0.3]))  # an answer that says nothing
        up = (1 - third) * exp(e) / (1 + exp(e))
        for answer, (step, q) in enumerate(((e, up), (-e, 1 - third - up), (0.0, third))):
            if q:
                yield from go((*said, answer), spent + eps**2 / 2, cap, loss + step, p * q, more)

    return go((), Fraction(0), base.cost.amount, 0.0, 1.0, False)
