"""The sequential audit: bet against a claim, sample by sample, and stop when the bets have won too much.

A claim of (epsilon, delta)-DP says P(X in S) <= e^epsilon P(Y in S) + delta for outputs X and Y of
neighbours, in both directions, and for every set S. Draw pairs (X_t, Y_t), choose S_t and lambda_t from
earlier pairs only, 0 <= lambda_t <= 1/(e^epsilon + delta), and let
    W_t = W_(t-1) (1 + lambda_t (1[X_t in S_t] - e^epsilon 1[Y_t in S_t] - delta)),   W_0 = 1.
The factor is not negative, for the bracket is at least -(e^epsilon + delta). Given the past, S_t and
lambda_t are fixed and the bracket's mean is P(X in S_t) - e^epsilon P(Y in S_t) - delta <= 0 under the
claim: W is a nonnegative supermartingale, and by Ville's inequality P(W_t >= 1/beta for some t) <= beta. So
one may look after every pair, stop whenever one likes, and go on with other neighbours (chosen from the
past, too): a mechanism that keeps its promise is refuted with probability at most beta in all. The mean of
two such processes is another one: half of the stake bets that the first data set is the likelier, half that
the second one is.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from math import exp, inf, log, log1p
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.finding import Finding
from hedgerow.audit.statistical import (
    Progress,
    Score,
    _atoms,
    _batched,
    _coded,
    _event,
    _flat,
    _scores,
)

_FIRST = 24  # pairs that are only looked at, for every pair of neighbours
_GROW = 0.25  # a round has so many new pairs for each one seen before
_WIDEST = 96  # coordinates that are looked at: those that moved most in the past
_STAKES = np.array([0.04, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97])  # of the largest lambda


def bet(
    mechanism: Callable[..., Any],
    neighbours: Any,
    epsilon: float,
    delta: float = 0.0,
    *,
    samples: int = 100_000,
    confidence: float = 1.0 - 1e-6,
    batch: bool = False,
    time_limit: float = 60.0,
    name: str | None = None,
    progress: Progress | None = None,
) -> Finding:
    """Try to refute that a mechanism is (epsilon, delta)-private, with as few samples as it takes.

    Args:
        mechanism, neighbours, epsilon, delta, confidence, batch, name, progress: as in `audit`.
        samples: the most outputs to draw from each data set, all pairs of neighbours together.
        time_limit: seconds after which it gives up.

    >>> bet(lambda rows: len(rows), neighbours=([1, 2], [1, 2, 3]), epsilon=1.0).refuted
    True
    """
    begun, beta = time.monotonic(), 1.0 - confidence
    draw = mechanism if batch else _batched(mechanism)
    pairs = list(neighbours) if isinstance(neighbours, list) else [neighbours]
    table = _Table(exp(epsilon), delta, log(1.0 / beta))
    seen = [_Seen(one, two) for one, two in pairs]
    drawn, tried = 0, 0
    while drawn < samples and not table.won and time.monotonic() - begun < time_limit:
        pair = seen[tried] if tried < len(seen) else max(seen, key=lambda s: (s.growth, -s.size))
        tried += 1
        new = min(max(_FIRST, int(_GROW * pair.size)), samples - drawn)
        drawn += table.round(pair, draw(pair.one, new), draw(pair.two, new))
        if progress:
            progress(
                f"{name or 'mechanism'}: {drawn:,} outputs, stake times {exp(min(table.wealth, 700)):.3g}"
            )
    label = name or str(getattr(mechanism, "__name__", "mechanism"))
    reach = _reach(drawn - _FIRST, delta, beta)
    return Finding(
        label,
        float(epsilon),
        float(epsilon) if table.won else 0.0,
        table.won,
        float(delta),
        "sequential",
        table.words,
        drawn,
        time.monotonic() - begun,
        reach=reach,
    )


@dataclass(eq=False)
class _Seen:
    """A pair of neighbours and what was drawn from it so far."""

    one: Any
    two: Any
    rows: tuple[list[list[float]], list[list[float]]] = field(default_factory=lambda: ([], []))
    codes: dict[Hashable, float] = field(default_factory=dict)
    growth: float = 0.0

    @property
    def size(self) -> int:
        return len(self.rows[0])

    def add(self, x: Any, y: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Keep new outputs; all of them as rows of numbers of one length."""
        for rows, outputs in zip(self.rows, (x, y), strict=True):
            rows += [_coded(flat, len(flat), self.codes) for flat in map(_flat, outputs)]
        width = max(1, *(len(r) for side in self.rows for r in side))
        end = self.codes.setdefault("(end)", -(2.0**40) - len(self.codes))
        x, y = (np.array([r + [end] * (width - len(r)) for r in side]) for side in self.rows)
        return x, y


@dataclass(frozen=True)
class _Bet:
    """A set of outputs, the part of the stake to risk on it, and how fast it should win."""

    growth: float
    stake: float
    score: Score
    happens: Callable[[NDArray[np.float64]], NDArray[np.bool_]]
    words: str


class _Table:
    """The two wealths, as logarithms, and the rule by which bets are chosen from the past."""

    def __init__(self, ratio: float, delta: float, goal: float) -> None:
        self.ratio, self.delta, self.goal = ratio, delta, goal
        self.sides = [0.0, 0.0]
        self.won = False
        self.words = ""

    @property
    def wealth(self) -> float:
        """ln of the mean of both sides."""
        return float(np.logaddexp(self.sides[0], self.sides[1])) - log(2.0)

    def round(self, pair: _Seen, x: Any, y: Any) -> int:
        """Choose bets from what was seen before, then settle them on new outputs: how many it took."""
        past, new = pair.size, min(len(x), len(y))
        one, two = pair.add(x[:new], y[:new])
        wins = np.zeros((2, new))
        if past:
            columns = _moved(one[:past], two[:past])
            one, two = np.ascontiguousarray(one[:, columns]), np.ascontiguousarray(two[:, columns])
            data, atoms = (one, two), _atoms(one, two)
            bets = self._chosen(data, atoms, past, columns)
            pair.growth = max(b.growth if b else 0.0 for b in bets)
            wins = np.array([self._settled(b, data, atoms, past, i) for i, b in enumerate(bets)])
            words = [b.words for b in bets if b is not None and b.growth == pair.growth]
            self.words = f"Event: {words[0]}." if words else self.words
        running = np.cumsum(wins, axis=1) + np.array(self.sides)[:, None]
        reached = np.flatnonzero(np.logaddexp(running[0], running[1]) - log(2.0) >= self.goal)
        last = int(reached[0]) if reached.size else new - 1
        self.won, self.sides = bool(reached.size), [float(s) for s in running[:, last]]
        return last + 1

    def _chosen(self, data: Any, atoms: Any, past: int, columns: NDArray[np.int64]) -> list[_Bet | None]:
        """For each direction the bet that would have grown fastest; scores learned on every second pair."""
        learn, judge = slice(0, past, 2), slice(1, past, 2)
        names = [f"output[{j}]" for j in columns]
        learned = _scores(data[0][learn], data[1][learn], atoms[0][learn], atoms[1][learn], names)
        best: list[_Bet | None] = [None, None]
        for score, words in learned:
            judged = [score(d[judge], a[judge]) for d, a in zip(data, atoms, strict=True)]
            for way in (0, 1):
                made = self._best(score, judged[way], judged[1 - way], words)
                if made is not None and made.growth > getattr(best[way], "growth", 0.0):
                    best[way] = made
        return best

    def _best(
        self, score: Score, ours: NDArray[np.float64], theirs: NDArray[np.float64], words: str
    ) -> _Bet | None:
        """The event "score at least, at most or exactly t" and the stake with the fastest cautious growth."""
        values = np.unique(np.concatenate([ours, theirs]))
        if values.size > 64:
            values = np.unique(np.quantile(values, np.linspace(0, 1, 64), method="lower"))
        grids = {
            kind: [(test(s[:, None], values[None, :])).sum(axis=0) for s in (ours, theirs)]
            for kind, test in (
                ("at least", np.greater_equal),
                ("at most", np.less_equal),
                ("exactly", np.equal),
            )
        }
        best: _Bet | None = None
        for kind, (k, j) in grids.items():
            growth = self._growth(k, j, ours.size)
            place, at = np.unravel_index(int(np.argmax(growth)), growth.shape)
            if growth[place, at] > (best.growth if best else 0.0):
                t = float(values[at])
                stake = float(_STAKES[place])
                told = f"{words} is {kind} {t:.6g}"
                best = _Bet(float(growth[place, at]), stake, score, _event(kind, t), told)
        return best

    def _growth(self, k: NDArray[np.int64], j: NDArray[np.int64], n: int) -> NDArray[np.float64]:
        """Mean ln of the factor for every stake and event, frequencies moved by a deviation against us."""
        p, q = (k + 0.5) / (n + 1.0), (j + 0.5) / (n + 1.0)
        p = np.clip(p - np.sqrt(p * (1 - p) / n), 0.0, 1.0)
        q = np.clip(q + np.sqrt(q * (1 - q) / n), 0.0, 1.0)
        amount = (_STAKES / (self.ratio + self.delta))[:, None]
        total = np.zeros((len(_STAKES), p.size))
        for hit, chance in ((1.0, p), (0.0, 1 - p)):
            for miss, odds in ((1.0, q), (0.0, 1 - q)):
                total += chance * odds * np.log1p(amount * (hit - self.ratio * miss - self.delta))
        return total

    def _settled(self, made: _Bet | None, data: Any, atoms: Any, past: int, way: int) -> NDArray[np.float64]:
        """ln of the factor of each new pair."""
        new = slice(past, None)
        ours, theirs = (way, 1 - way)
        if made is None:
            return np.zeros(len(data[0]) - past)
        hit = made.happens(made.score(data[ours][new], atoms[ours][new]))
        miss = made.happens(made.score(data[theirs][new], atoms[theirs][new]))
        amount = made.stake / (self.ratio + self.delta)
        return np.asarray(np.log1p(amount * (hit - self.ratio * miss - self.delta)))


def _moved(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.int64]:
    """The coordinates that were not the same in all that was seen: those that moved most if many."""
    both = np.concatenate([x, y])
    spread = both.max(axis=0) - both.min(axis=0)
    moving = np.flatnonzero(spread > 0)
    if moving.size > _WIDEST:
        a, b = x[:, moving], y[:, moving]
        with np.errstate(all="ignore"):  # of numbers that are too large for a mean
            gap = np.abs(a.mean(axis=0) - b.mean(axis=0)) / (a.std(axis=0) + b.std(axis=0) + 1e-300)
        gap = np.nan_to_num(gap, nan=1e300)
        moving = np.sort(moving[np.argsort(-gap)[:_WIDEST]])
    return moving if moving.size else np.zeros(1, dtype=np.int64)


def _reach(samples: int, delta: float, beta: float) -> float:
    """The largest epsilon that so many bets could refute, were all of them won at the highest stake."""
    if samples <= 0 or samples * log1p(float(_STAKES[-1])) < log(2.0 / beta):
        return 0.0
    each = exp(log(2.0 / beta) / samples) - 1.0  # what every pair must win
    top = float(_STAKES[-1]) * (1.0 - delta) / each - delta
    return log(top) if top > 1.0 else (0.0 if top > 0 else -inf)
