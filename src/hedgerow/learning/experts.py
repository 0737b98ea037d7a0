"""Experts: deciding with the advice of many, and how little that loses against the best of them."""

from __future__ import annotations

from math import log, log2, sqrt
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_MAJORITY = 2.41  # 1 / log2(4/3) = 2.4094..., rounded up


def perfect_expert_mistakes(experts: int) -> float:
    """Lemma 12.1 of [W12]: mistakes of `PerfectExpert` when one expert never errs.

    >>> perfect_expert_mistakes(1024)
    10.0
    """
    return log2(experts)


def weighted_majority_mistakes(experts: int, best: int) -> float:
    """Lemma 12.2 of [W12]: mistakes of `WeightedMajority` when the best expert makes `best` mistakes.

    >>> round(weighted_majority_mistakes(1024, 5), 2)
    36.15
    """
    return _MAJORITY * (best + log2(experts))


def hedge_regret(experts: int, eta: float, squared_loss: float) -> float:
    """Theorem 1.5 of [W3]: regret of `Hedge`, where `squared_loss` is the sum of its expected squared losses.

    >>> round(hedge_regret(8, 0.5, 10.0), 3)
    9.159
    """
    return eta * squared_loss + log(experts) / eta


def linear_rate(experts: int, rounds: int) -> float:
    """The rate gamma = sqrt(ln N / T) that Theorem 12.4 of [W12] sets; at most 1/2 once T >= 4 ln N."""
    return sqrt(log(experts) / rounds)


def linear_regret(experts: int, rounds: int) -> float:
    """Theorem 12.4 of [W12]: regret of `LinearWeights` at `linear_rate`, losses in [-1, 1].

    Its proof needs |gamma * loss| <= 1/2, that is T >= 4 ln N; fewer rounds are refused.

    >>> round(linear_regret(8, 100), 2)
    28.84
    """
    if rounds < 4 * log(experts):
        raise ValueError(f"the regret bound needs at least 4 ln N = {4 * log(experts):.1f} rounds")
    return 2.0 * sqrt(rounds * log(experts))


def update_bound(cells: int, alpha: float) -> float:
    """Theorem 4.10 of [DR14]: the most true distinguishing updates that the MW rule needs, eta = alpha/2.

    >>> round(update_bound(256, 0.1))
    2219
    """
    return 1.0 + 4.0 * log(cells) / alpha**2


def relative_entropy(truth: ArrayLike, log_guess: ArrayLike) -> float:
    """The potential of the MW proofs: KL(truth | guess), the guess given by its logarithms."""
    x = np.asarray(truth, dtype=np.float64).ravel()
    some = x > 0
    return float((x[some] * (np.log(x[some]) - np.asarray(log_guess, dtype=np.float64).ravel()[some])).sum())


class PerfectExpert:
    """[W12] Algorithm 1: follow the majority of those experts that were never wrong.

    Args:
        experts: how many there are.

    >>> crowd = PerfectExpert(3)
    >>> crowd.predict([True, False, True])
    True
    >>> crowd.learn([True, False, True], False); crowd.left.tolist()
    [False, True, False]
    """

    def __init__(self, experts: int) -> None:
        self.left = np.ones(_some(experts), dtype=np.bool_)

    def predict(self, advice: ArrayLike) -> bool:
        """What more than half of the remaining experts say."""
        said = _advice(advice, len(self.left))
        return bool(2 * (said & self.left).sum() > self.left.sum())

    def learn(self, advice: ArrayLike, outcome: bool) -> None:
        """Dismiss every expert who was wrong; a ValueError, and no change, if that is all of them."""
        right = self.left & (_advice(advice, len(self.left)) == outcome)
        if not right.any():
            raise ValueError("no expert is perfect: every one of them has been wrong")
        self.left = right


class WeightedMajority:
    """[W12] Algorithm 2: follow the weighted majority, and halve the weight of those who were wrong.

    Args:
        experts: how many there are.

    >>> crowd = WeightedMajority(3)
    >>> crowd.learn([True, True, False], False); crowd.predict([False, False, True])
    False
    """

    def __init__(self, experts: int) -> None:
        self.mistakes = np.zeros(_some(experts), dtype=np.int64)

    @property
    def weights(self) -> NDArray[np.float64]:
        """2^-mistakes, relative to the best expert so that a long run does not underflow."""
        return np.asarray(np.ldexp(1.0, (self.mistakes.min() - self.mistakes).astype(np.int32)))

    def predict(self, advice: ArrayLike) -> bool:
        """What more than half of the weight says."""
        said, weights = _advice(advice, len(self.mistakes)), self.weights
        return bool(weights[said].sum() > weights[~said].sum())

    def learn(self, advice: ArrayLike, outcome: bool) -> None:
        """Halve the weight of every expert who was wrong."""
        self.mistakes += _advice(advice, len(self.mistakes)) != outcome


class Hedge:
    """[W3] Algorithm 1: a distribution over experts, each weighted by exp(-eta * its loss so far).

    Args:
        experts: how many there are.
        eta: the learning rate.

    >>> hedge = Hedge(2, eta=1.0)
    >>> hedge.learn([0.0, 1.0]); hedge.distribution.round(3).tolist()
    [0.731, 0.269]
    """

    def __init__(self, experts: int, eta: float) -> None:
        if not eta > 0:
            raise ValueError("the learning rate must be positive")
        self.eta = eta
        self._logs = np.zeros(_some(experts))

    @property
    def distribution(self) -> NDArray[np.float64]:
        """How much each expert is trusted; sums to 1."""
        return _normalised(self._logs)

    def learn(self, losses: ArrayLike) -> None:
        """Reweight by exp(-eta * loss)."""
        self._logs -= self.eta * _losses(losses, len(self._logs))
        self._logs -= self._logs.max()


class LinearWeights:
    """[W12] Algorithm 4: a distribution over experts, reweighted by 1 - gamma * loss.

    Args:
        experts: how many there are.
        gamma: the learning rate; every |gamma * loss| must be at most 1/2.

    >>> linear = LinearWeights(2, gamma=0.5)
    >>> linear.learn([0.0, 1.0]); linear.distribution.round(3).tolist()
    [0.667, 0.333]
    """

    def __init__(self, experts: int, gamma: float) -> None:
        if not gamma > 0:
            raise ValueError("the learning rate must be positive")
        self.gamma = gamma
        self._logs = np.zeros(_some(experts))

    @property
    def distribution(self) -> NDArray[np.float64]:
        """How much each expert is trusted; sums to 1."""
        return _normalised(self._logs)

    def learn(self, losses: ArrayLike) -> None:
        """Reweight by 1 - gamma * loss; refuses, without a change, steps beyond 1/2."""
        steps = self.gamma * _losses(losses, len(self._logs))
        if np.abs(steps).max() > 0.5:
            raise ValueError("linear weights need |gamma * loss| <= 1/2; lower gamma")
        self._logs += np.log1p(-steps)
        self._logs -= self._logs.max()


def _some(experts: int) -> int:
    if experts < 1:
        raise ValueError("there must be at least one expert")
    return experts


def _advice(advice: ArrayLike, experts: int) -> NDArray[np.bool_]:
    said = np.asarray(advice, dtype=np.bool_)
    if said.shape != (experts,):
        raise ValueError(f"every one of the {experts} experts must say something")
    return said


def _losses(losses: ArrayLike, experts: int) -> NDArray[np.float64]:
    loss = np.asarray(losses, dtype=np.float64)
    if loss.shape != (experts,) or not np.isfinite(loss).all():
        raise ValueError(f"every one of the {experts} experts must have a finite loss")
    return loss


def _normalised(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())
