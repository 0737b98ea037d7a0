"""PMW-Bypass after the Turbo cache, for comparison: multiplicative weights that learns from direct answers
until a question's bins have been updated often enough, and is checked by a sparse vector from then on.

Noise is drawn in floating point and rows are read freely: this is a simulation of costs, not a mechanism.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

import numpy as np

import hedgerow as hr
from hedgerow.learning.dense.dense import DenseHypothesis
from hedgerow.learning.dense.fitting import _tilt

_BINS = 60_000  # bins whose updates are counted, drawn at random: the least of all is hardly smaller


@dataclass
class Bypass:
    """One run over different questions (an exact-match cache is the caller's); `spent` is its rho.

    `off` counts answers that were further than alpha from the truth: of `direct` ones about beta are, of the
    others one in about a thousand runs has any, both by the same bounds as a session's.

    Args:
        domain, rows: what is asked about; the number of rows is taken to be public.
        alpha, beta: what every answer keeps, as a part of all rows, and how often it may be missed.
        modern: Gaussian answers, steps as long as their noise warrants, and two one-sided sparse vectors of
            which the one that trips is paid again; otherwise Laplace noise, steps of one length and a sparse
            vector of |error|, as the Turbo library has them.
        warm: how often each bin of a question must have been updated before the histogram is tried.
        back: how much more often after it was wrong.
        rate: the length of a step; of a modern one in units of what the noise warrants, at first.
        slower: after so many answers modern steps are half as long, after twice as many a third, ...
        again: how often all answers are learned again, with ever shorter steps, when there are `first` of
            them, and whenever there are twice as many as the last time (modern only).
        tau: answers that are nearer than this part of alpha are not learned from.
        runs: the price of a one-sided sparse vector, in direct answers.
    """

    domain: hr.Domain
    rows: float
    alpha: float = 0.01
    beta: float = 0.001
    modern: bool = False
    warm: int = 5
    back: int = 1
    rate: float = 0.5
    slower: float = 1e9
    again: int = 0
    first: int = 1000
    tau: float = 0.01
    runs: float = 125.0
    seed: int = 0

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.hypothesis = DenseHypothesis(self.domain)
        self.bins = {a: self.rng.integers(self.domain[a].size, size=_BINS) for a in self.domain}
        self.updates = np.zeros(_BINS, dtype=np.int64)
        self.needed = np.full(_BINS, self.warm, dtype=np.int64)
        self.spent, self.direct, self.trips, self.off = 0.0, 0, 0, 0
        self.answers: list[tuple[hr.Query, float]] = []
        self.due = self.first
        reach = self.alpha * self.rows
        self.epsilon = 4.0 * log(1.0 / self.beta) / reach
        self.sigma = reach / 3.2905
        self.price = 1.0 / (2.0 * self.sigma**2) if self.modern else self.epsilon**2 / 2.0
        self.levels: dict[int, float] = {}  # of the sides that are open: noisy thresholds
        self.opened = {1: 0, -1: 0}
        self.b1, self.b2 = self._scales(reach) if self.modern else (1.0 / self.epsilon, 1.0 / self.epsilon)

    def ask(self, query: hr.Query, truth: float) -> None:
        """Answer one question and pay for it."""
        bins = self._places(query)
        h = self.hypothesis.answer(query) * self.rows
        about = bins if bins.size else slice(None)  # what counts none of these bins waits for all of them
        tried = bool((self.updates[about] >= self.needed[about]).all())
        if tried:
            if not self._above(truth - h):
                self.off += abs(truth - h) > self.alpha * self.rows
                return
            self.trips += 1
            self.needed[bins] = self.updates[bins].min(initial=self.updates.max()) + self.back
        self.spent += self.price
        self.direct += 1
        noise = self.rng.normal(0.0, self.sigma) if self.modern else self.rng.laplace(0.0, 1.0 / self.epsilon)
        self.off += abs(noise) > self.alpha * self.rows
        self._learn(query, bins, truth + noise, h, 0.0 if tried else self.tau * self.alpha * self.rows)

    def _above(self, error: float) -> bool:
        """Whether a sparse vector says that the histogram is wrong; what is closed is opened and paid."""
        if not self.modern:
            if 0 not in self.levels:
                self.spent += (3.0 * self.epsilon) ** 2 / 2.0
                self.levels[0] = self.alpha * self.rows / 2.0 + self.rng.laplace(0.0, self.b1)
            if abs(error) + self.rng.laplace(0.0, self.b2) < self.levels[0]:
                return False
            del self.levels[0]
            return True
        for side in (1, -1):
            if side not in self.levels:
                self.spent += self.runs * self.price
                self.opened[side] += 1
                j = self.opened[side]
                threshold = self.alpha * self.rows - self.b1 * log(2.0 * j * (j + 1) / self.beta)
                self.levels[side] = threshold + self.rng.exponential(self.b1)
        hit = [s for s in (1, -1) if s * error + self.rng.exponential(self.b2) >= self.levels[s]]
        for side in hit:
            del self.levels[side]
        return bool(hit)

    def _scales(self, reach: float) -> tuple[float, float]:
        """b1 and b2 of the price, divided so that answers that are a third of alpha off trip least."""
        eta, tail = sqrt(8.0 * self.runs * self.price), log(4.0 / self.beta)

        def alarms(x: float) -> float:
            b1, b2 = 1.0 / (x * eta), 2.0 / ((1.0 - x) * eta)
            return -(reach * 2.0 / 3.0 - b1 * tail) / b2 + log(b2 / (b1 + b2))

        x = min((i / 64 for i in range(1, 64)), key=alarms)
        return 1.0 / (x * eta), 2.0 / ((1.0 - x) * eta)

    def _learn(self, query: hr.Query, bins: np.ndarray, count: float, h: float, margin: float) -> None:
        if abs(count - h) <= margin:
            return
        self.updates[bins] += 1
        if not self.modern:
            self.hypothesis.tilt(query, self.rate if count > h else -self.rate)
            return
        self.answers.append((query, count))
        self._step(query, count, self.rate / (1.0 + len(self.answers) / self.slower))
        if self.again and len(self.answers) >= self.due:
            self.due *= 2
            for i in range(self.again):
                for q, c in self.answers:
                    self._step(q, c, self.rate / (1.0 + i) ** 2)

    def _step(self, query: hr.Query, count: float, rate: float) -> None:
        p = self.hypothesis.answer(query)
        self.hypothesis.tilt(query, _tilt(self.rows, p, count, rate / self.sigma**2))

    def _places(self, query: hr.Query) -> np.ndarray:
        """Which of the counted bins a question counts."""
        inside = np.ones(_BINS, dtype=np.bool_)
        for name, factor in zip(query.attributes, query.factors or (), strict=True):
            inside &= (np.asarray(factor) > 0)[self.bins[name]]
        return np.flatnonzero(inside)
