"""PMW-Bypass after the Turbo cache, for comparison: multiplicative weights that learns from direct answers
until a question's cells have been updated often enough.

Noise is drawn in floating point and rows are read freely: this is a simulation of costs, not a mechanism.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np

import hedgerow as hr
from hedgerow.learning.dense import DenseHypothesis


@dataclass
class Bypass:
    """One run; `spent` is its rho.

    Args:
        modern: Gaussian answers and one-sided sparse vectors instead of Laplace noise throughout.
        warm: how often all cells of a question must have been updated before the hypothesis is tried.
        back: how much that rises after each time the hypothesis was wrong.
    """

    domain: hr.Domain
    rows: float
    alpha: float = 0.01
    beta: float = 0.001
    modern: bool = False
    warm: int = 100
    back: int = 5
    rate: float = 0.25
    slowest: float = 0.025
    seed: int = 0

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.hypothesis = DenseHypothesis(self.domain)
        self.updates = np.zeros(self.domain.shape, dtype=np.int32)
        self.spent, self.steps, self.resets = 0.0, 0, 0
        n = self.rows
        # epsilon = 4 ln(1/beta) / (n alpha); a sparse vector costs 3 epsilon, a direct answer one
        self.epsilon = 4.0 * log(1.0 / self.beta) / (n * self.alpha)
        self.sigma = self.alpha * n / 3.2905
        self.direct = 1.0 / (2.0 * self.sigma**2) if self.modern else self.epsilon**2 / 2.0
        reset = 154.0 * 1.0 / (2.0 * self.sigma**2)  # both sides of a one-sided sparse vector cost twice this
        self.reset = reset if self.modern else (3.0 * self.epsilon) ** 2 / 2.0
        self.b1, self.b2 = (13.0, 21.0) if self.modern else (1.0 / self.epsilon, 1.0 / self.epsilon)
        self.threshold = self.alpha * n * (0.78 if self.modern else 0.5)
        self._open(first=True)

    def _open(self, first: bool = False) -> None:
        self.spent += self.reset * (2 if first and self.modern else 1)
        self.resets += not first
        noise = self.rng.exponential(self.b1) if self.modern else self.rng.laplace(0.0, self.b1)
        self.level = self.threshold + noise

    def ask(self, query: hr.Query, truth: float) -> None:
        """Answer one question and pay for it."""
        places = self._places(query)
        h = self.hypothesis.answer(query) * self.rows
        if int(self.updates[places].min()) >= self.warm:
            noise = self.rng.exponential(self.b2) if self.modern else self.rng.laplace(0.0, self.b2)
            if abs(truth - h) + noise < self.level:
                return
            self._open()
            self.warm += self.back
        self.spent += self.direct
        noise = self.rng.normal(0.0, self.sigma) if self.modern else self.rng.laplace(0.0, 1.0 / self.epsilon)
        gap = truth + noise - h
        if abs(gap) > 0.05 * self.alpha * self.rows:  # learn only when sure which way
            self.hypothesis.tilt(
                query, float(np.sign(gap)) * max(self.slowest, self.rate * 0.999**self.steps)
            )
        self.updates[places] += 1
        self.steps += 1

    def _places(self, query: hr.Query) -> tuple[object, ...]:
        """The cells that a question counts, as an index into the whole table."""
        named = dict(zip(query.attributes, query.factors or (), strict=True))
        levels = [
            np.flatnonzero(named[a]) if a in named else np.arange(self.domain[a].size) for a in self.domain
        ]
        return np.ix_(*levels)
