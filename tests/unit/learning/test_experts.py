"""Experts: the mistake and regret bounds hold whatever the sequence."""

from __future__ import annotations

from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import PCG64, Generator

from hedgerow.learning.experts import (
    Hedge,
    LinearWeights,
    PerfectExpert,
    WeightedMajority,
    hedge_regret,
    linear_rate,
    linear_regret,
    perfect_expert_mistakes,
    relative_entropy,
    update_bound,
    weighted_majority_mistakes,
)

SEEDS = st.integers(0, 2**32 - 1)


def splitting_advice(weights: np.ndarray, random: Generator) -> np.ndarray:
    """Advice that splits the trusted weight as evenly as a greedy adversary can."""
    said = np.zeros(len(weights), dtype=bool)
    balance = 0.0
    order = random.permutation(len(weights))
    for i in order[np.argsort(-weights[order], kind="stable")]:
        said[i] = balance <= 0
        balance += weights[i] if said[i] else -weights[i]
    return said


@settings(max_examples=60, deadline=None)
@given(experts=st.integers(1, 200), seed=SEEDS)
def test_perfect_expert_makes_at_most_log2_mistakes_against_an_adversary(experts: int, seed: int) -> None:
    random = Generator(PCG64(seed))
    crowd, perfect, mistakes = PerfectExpert(experts), int(random.integers(experts)), 0
    for _ in range(40):
        said = splitting_advice(crowd.left.astype(float), random)
        if crowd.predict(said) == said[perfect]:  # the adversary must keep one expert perfect: turn all round
            said = ~said
        predicted, outcome = crowd.predict(said), bool(said[perfect])
        mistakes += predicted != outcome
        crowd.learn(said, outcome)
        assert crowd.left[perfect]
    assert mistakes <= perfect_expert_mistakes(experts)


@pytest.mark.parametrize("levels", [1, 5, 10])
def test_halving_adversary_forces_exactly_log2_mistakes(levels: int) -> None:
    crowd, mistakes = PerfectExpert(2**levels), 0
    for bit in range(levels):  # expert i always says its own bits; the truth is whatever we do not say
        said = (np.arange(2**levels) >> bit) & 1 == 1
        outcome = not crowd.predict(said)
        mistakes += 1
        crowd.learn(said, outcome)
    assert mistakes == perfect_expert_mistakes(2**levels)


def test_a_crowd_without_a_perfect_expert_is_refused_without_change() -> None:
    crowd = PerfectExpert(3)
    crowd.learn([True, True, False], True)
    with pytest.raises(ValueError, match="no expert is perfect"):
        crowd.learn([False, False, True], True)
    assert crowd.left.tolist() == [True, True, False]


@settings(max_examples=60, deadline=None)
@given(experts=st.integers(1, 100), rounds=st.integers(1, 300), seed=SEEDS)
def test_weighted_majority_stays_within_its_bound_when_every_outcome_is_against_it(
    experts: int, rounds: int, seed: int
) -> None:
    random = Generator(PCG64(seed))
    crowd, mistakes = WeightedMajority(experts), 0
    for _ in range(rounds):
        said = splitting_advice(crowd.weights, random)
        outcome = not crowd.predict(said)
        mistakes += 1
        crowd.learn(said, outcome)
    assert mistakes <= weighted_majority_mistakes(experts, int(crowd.mistakes.min()))


def test_weighted_majority_survives_more_rounds_than_floats_have_halvings() -> None:
    crowd = WeightedMajority(3)
    for _ in range(5_000):
        crowd.learn([True, True, False], False)
    assert crowd.weights.tolist() == [0.0, 0.0, 1.0]
    assert crowd.predict([True, True, False]) is False
    for _ in range(5_000):
        crowd.learn([False, True, True], False)
    assert crowd.weights.tolist() == [1.0, 0.0, 1.0]  # what sank has come back: nothing was lost


def adversarial_losses(kind: str, p: np.ndarray, t: int, random: Generator, low: float) -> np.ndarray:
    """Losses in [low, 1] that hurt whom the algorithm trusts, or come at random, or alternate."""
    if kind == "trusted":
        return np.where(p >= np.sort(p)[-max(1, len(p) // 2)], 1.0, low)
    if kind == "alternating":
        return np.where((np.arange(len(p)) + t) % 2 == 0, 1.0, low)
    return random.uniform(low, 1.0, len(p))


@settings(max_examples=60, deadline=None)
@given(
    experts=st.integers(1, 60),
    rounds=st.integers(1, 400),
    kind=st.sampled_from(["trusted", "alternating", "random"]),
    eta=st.floats(0.001, 3.0),
    seed=SEEDS,
)
def test_hedge_regret_is_within_theorem_1_5(
    experts: int, rounds: int, kind: str, eta: float, seed: int
) -> None:
    random = Generator(PCG64(seed))
    hedge, losses, paid, squared = Hedge(experts, eta), np.zeros(experts), 0.0, 0.0
    for t in range(rounds):
        p = hedge.distribution
        loss = adversarial_losses(kind, p, t, random, 0.0)
        paid += p @ loss
        squared += p @ loss**2
        losses += loss
        hedge.learn(loss)
    assert paid - losses.min() <= hedge_regret(experts, eta, squared) + 1e-9


@settings(max_examples=60, deadline=None)
@given(
    experts=st.integers(1, 60),
    extra=st.integers(0, 400),
    kind=st.sampled_from(["trusted", "alternating", "random"]),
    seed=SEEDS,
)
def test_linear_weights_regret_is_within_theorem_12_4(experts: int, extra: int, kind: str, seed: int) -> None:
    random = Generator(PCG64(seed))
    rounds = int(np.ceil(4 * log(experts))) + extra + 1
    linear = LinearWeights(experts, max(linear_rate(experts, rounds), 1e-9))
    losses, paid = np.zeros(experts), 0.0
    for t in range(rounds):
        p = linear.distribution
        loss = adversarial_losses(kind, p, t, random, -1.0)
        paid += p @ loss
        losses += loss
        linear.learn(loss)
    assert paid - losses.min() <= linear_regret(experts, rounds) + 1e-9


def test_linear_weights_refuse_steps_beyond_one_half_without_change() -> None:
    linear = LinearWeights(2, gamma=0.6)
    with pytest.raises(ValueError, match="1/2"):
        linear.learn([1.0, 0.0])
    assert linear.distribution.tolist() == [0.5, 0.5]
    with pytest.raises(ValueError, match="rounds"):
        linear_regret(100, 10)


def test_bounds_are_the_theorems_numbers() -> None:
    assert update_bound(1000, 0.1) == pytest.approx(1 + 4 * log(1000) / 0.01)
    assert relative_entropy([1.0, 0.0], np.log([0.25, 0.75])) == pytest.approx(log(4))
    for make in (lambda: Hedge(0, 1.0), lambda: Hedge(2, 0.0), lambda: LinearWeights(2, -1.0)):
        with pytest.raises(ValueError, match="must be"):
            make()
    with pytest.raises(ValueError, match="2 experts"):
        Hedge(2, 1.0).learn([1.0, 2.0, 3.0])
