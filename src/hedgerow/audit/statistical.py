"""The statistical audit: look for an event that tells neighbouring data sets apart more than epsilon allows.

The samples are cut into three parts. On the first, scores are learned (how much more likely is this output on
one data set?); on the second, two events "score at least t" are chosen, one daring and one that luck alone
would not make look telling; on the third, which nothing above has seen, those two are counted and bounded,
each with half of the probability of a false alarm. So a mechanism that keeps its promise is refuted with
probability at most 1 - confidence, however much was searched.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf, isfinite, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.confidence import epsilon_bound
from hedgerow.audit.finding import Finding

Progress = Callable[[str], None]
Score = Callable[[NDArray[np.float64], NDArray[np.int64]], NDArray[np.float64]]
Event = Callable[[], list[NDArray[np.bool_]]]

_EXPLORE = 8  # a pair of neighbours is tried with this fraction of the samples before one is chosen
_LEVELS = 48  # values of a coordinate that are told apart; more are binned
_COORDINATES = 96
_FEW = 48  # outputs that are drawn however long it takes
_Z = (4.9, 8.5)  # deviations taken off in choosing: those of the default confidence; and of luck as well


def audit(
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
    """Try to refute that a mechanism is (epsilon, delta)-differentially private.

    Args:
        mechanism: takes a data set, returns an output (a number, text, None, or a list of those); with
            `batch`, takes a data set and a number n and returns n outputs as rows of an array.
        neighbours: a pair of neighbouring data sets, or a list of pairs to search.
        epsilon, delta: the claim.
        samples: how many outputs to draw from each of two data sets.
        confidence: how sure a refutation is.
        batch: see `mechanism`.
        time_limit: seconds; fewer samples are used when they run out.
        name: what to call it in the report.
        progress: called with a few words now and then.

    >>> finding = audit(lambda rows: len(rows), neighbours=([1, 2], [1, 2, 3]), epsilon=1.0, samples=2000)
    >>> finding.refuted
    True
    """
    begun = time.monotonic()
    pairs = list(neighbours) if isinstance(neighbours, list) else [neighbours]
    draw = _batched(mechanism) if not batch else mechanism
    deadline = begun + time_limit
    label = name or str(getattr(mechanism, "__name__", "mechanism"))
    if len(pairs) > 1:
        pairs = [_most_telling(draw, pairs, samples, delta, deadline, label, progress)]
    left = max(time_limit / 4, deadline - time.monotonic())
    p, q = (_sample(draw, data, samples, left / 2) for data in pairs[0])
    if progress:
        progress(f"{label}: {min(len(p), len(q)):,} outputs of each data set")
    found, ratio, words = lower_bound(p, q, delta, 1.0 - confidence)
    counted = min(len(p) - len(p) // 2, len(q) - len(q) // 2)
    return Finding(
        label,
        float(epsilon),
        max(0.0, found),
        found > epsilon,
        float(delta),
        "statistical",
        words,
        min(len(p), len(q)),
        time.monotonic() - begun,
        ratio,
        epsilon_bound(counted, counted, 0, counted, delta, (1.0 - confidence) / len(_Z)),
    )


def lower_bound(p: Any, q: Any, delta: float, alarm: float) -> tuple[float, float, str]:
    """(a lower bound on epsilon, the plain estimate, the event) from outputs of neighbouring data sets."""
    drawn = _Drawn.of(p, q)
    cuts = tuple(_Cuts(slice(0, n // 4), slice(n // 4, n // 2), slice(n // 2, n)) for n in drawn.sizes)
    events = [(event, words) for _, event, words in _chosen(drawn, cuts, delta)]
    return max(_counted(event, words, delta, alarm / len(events)) for event, words in events)


def _counted(event: Event, words: str, delta: float, alarm: float) -> tuple[float, float, str]:
    """What one event, chosen elsewhere, says about epsilon."""
    hits, misses = event()
    k, n, j, m = int(hits.sum()), hits.size, int(misses.sum()), misses.size
    bound = epsilon_bound(k, n, j, m, delta, alarm)
    rate = k / n - delta
    ratio = (log(rate * m / j) if j else inf) if rate > 0 else -inf
    return bound, ratio, f"Event: {words} ({k} of {n} against {j} of {m})."


def promise(p: Any, q: Any, delta: float) -> float:
    """How telling a pair of neighbours looks: not a bound, only fit to compare pairs on thrown-away samples.

    Nothing is kept for counting, and each half learns for the other: that sees as much in a few hundred
    samples as `lower_bound` does in four times as many.
    """
    drawn = _Drawn.of(p, q)
    ends = [(slice(0, n // 2), slice(n // 2, n)) for n in drawn.sizes]
    ways = [tuple(_Cuts(e[w], e[1 - w], e[1 - w]) for e in ends) for w in (0, 1)]
    return sum(_chosen(drawn, cuts, delta)[0][0] for cuts in ways) / 2


@dataclass(frozen=True)
class _Drawn:
    """Outputs of two data sets as rows of numbers; equal rows have equal atoms."""

    values: tuple[NDArray[np.float64], NDArray[np.float64]]
    atoms: tuple[NDArray[np.int64], NDArray[np.int64]]
    names: list[str]

    @classmethod
    def of(cls, p: Any, q: Any) -> _Drawn:
        x, y, names = _as_matrices(p, q)
        return cls((x, y), _atoms(x, y), names)

    @property
    def sizes(self) -> tuple[int, int]:
        return len(self.values[0]), len(self.values[1])


@dataclass(frozen=True)
class _Cuts:
    """Which samples of a data set are for learning scores, for choosing an event, and for counting it."""

    learn: slice
    choose: slice
    test: slice


def _chosen(drawn: _Drawn, cuts: tuple[_Cuts, ...], delta: float) -> list[tuple[float, Event, str]]:
    """For each of `_Z`: (what the best event promises, where it happens among what is counted, its words)."""
    (x, y), (a, b), learn = drawn.values, drawn.atoms, [c.learn for c in cuts]
    learned = _scores(x[learn[0]], y[learn[1]], a[learn[0]], b[learn[1]], drawn.names)
    best: list[tuple[float, Event, str]] = []
    for score, words in learned:
        for ours, theirs in ((0, 1), (1, 0)):

            def scored(
                part: str, sides: tuple[int, int] = (ours, theirs), score: Score = score
            ) -> list[NDArray[np.float64]]:
                where = [(i, getattr(cuts[i], part)) for i in sides]
                return [score(drawn.values[i][cut], drawn.atoms[i][cut]) for i, cut in where]

            side = "the second" if ours else "the first"
            one, two = scored("choose")
            for i, (value, happens, said) in enumerate(_best_events(one, two, delta, len(x) // 2)):

                def event(scored: Any = scored, happens: Any = happens) -> list[NDArray[np.bool_]]:
                    return [happens(s) for s in scored("test")]

                if i == len(best) or value > best[i][0]:
                    best[i : i + 1] = [(value, event, f"{words} {said}, more often on {side} data set")]
    return best


# ---- sampling --------------------------------------------------------------------------------------------


def _batched(mechanism: Callable[[Any], Any]) -> Callable[[Any, int], list[Any]]:
    return lambda data, n: [mechanism(data) for _ in range(n)]


def _sample(draw: Callable[[Any, int], Any], data: Any, n: int, seconds: float) -> Any:
    """n outputs, or as many as the time allows; at least a few dozen."""
    begun, parts, got, step = time.monotonic(), [], 0, _FEW
    while got < n:
        part = draw(data, min(step, n - got))
        parts.append(part)
        got += len(part)
        spent = time.monotonic() - begun
        step = int(got * min(8.0, (seconds - spent) / max(spent, 1e-4)))
        if step < _FEW / 2:
            break
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return [row for part in parts for row in part]


def _most_telling(
    draw: Callable[[Any, int], Any],
    pairs: list[Any],
    samples: int,
    delta: float,
    deadline: float,
    label: str,
    progress: Progress | None,
) -> Any:
    """The pair that looks worst on samples which are then thrown away; of those there is time to try."""
    each = max(150, samples // _EXPLORE)
    seconds = max(0.01, (deadline - time.monotonic()) / 4 / len(pairs))
    scored = []
    for i, (one, two) in enumerate(pairs):
        p, q = _sample(draw, one, each, seconds), _sample(draw, two, each, seconds)
        scored.append((promise(p, q, delta), i))
        if progress:
            progress(f"{label}: tried {i + 1} of {len(pairs)} neighbours")
        if time.monotonic() > deadline:
            break
    return pairs[max(scored)[1]]


# ---- outputs as numbers ----------------------------------------------------------------------------------


def _as_matrices(p: Any, q: Any) -> tuple[NDArray[np.float64], NDArray[np.float64], list[str]]:
    """Outputs as rows of numbers: text and None get codes, lists are padded to one length."""
    if isinstance(p, np.ndarray) and p.dtype != object:
        x, y = (np.asarray(m, dtype=np.float64).reshape(len(m), -1) for m in (p, q))
    else:
        codes: dict[Hashable, float] = {}
        rows = [[_flat(o) for o in outputs] for outputs in (p, q)]
        width = max(1, *(len(r) for side in rows for r in side))
        x, y = (np.array([_coded(r, width, codes) for r in side]) for side in rows)
    return x, y, [f"output[{j}]" if x.shape[1] > 1 else "output" for j in range(x.shape[1])]


def _flat(output: Any) -> list[Any]:
    if isinstance(output, np.ndarray):
        return list(output.ravel())
    if isinstance(output, (list, tuple)):
        return [item for part in output for item in _flat(part)]
    return [output]


def _coded(row: Sequence[Any], width: int, codes: dict[Hashable, float]) -> list[float]:
    numbers = []
    for value in [*row, *["(end)"] * (width - len(row))]:
        if isinstance(value, (bool, int, float, np.number, np.bool_)) and isfinite(value):
            numbers.append(float(value))
        else:
            numbers.append(codes.setdefault(str(value), -(2.0**40) - len(codes)))
    return numbers


def _atoms(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Equal rows get equal numbers."""
    both = np.ascontiguousarray(np.concatenate([x, y]))
    keys = both.view(np.dtype((np.void, both.dtype.itemsize * both.shape[1]))).ravel()
    _, inverse = np.unique(keys, return_inverse=True)
    return inverse[: len(x)], inverse[len(x) :]


# ---- scores ----------------------------------------------------------------------------------------------


def _scores(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    atoms_x: NDArray[np.int64],
    atoms_y: NDArray[np.int64],
    names: list[str],
) -> list[tuple[Score, str]]:
    """Ways to turn an output into one number that may differ between the data sets."""
    width = min(x.shape[1], _COORDINATES)
    scores: list[tuple[Score, str]] = [
        (lambda m, a, j=j: m[:, j], names[j])  # type: ignore[misc]
        for j in range(width)
    ]
    scores.append((_atom_score(atoms_x, atoms_y), "the log likelihood ratio of the whole output"))
    if x.shape[1] > 1:
        scores.append((lambda m, a: m.sum(axis=1), "the sum of the output"))
        scores.append((_bayes_score(x, y, width), "the summed log likelihood ratios of the coordinates"))
        scores.append((_linear_score(x, y), "a linear combination of the output"))
    for j in range(min(width, 8)):
        if (x[:, j] != np.rint(x[:, j])).any():
            scores.append((lambda m, a, j=j: _lowest_bit(m[:, j]), f"the lowest set bit of {names[j]}"))  # type: ignore[misc]
    return scores


def _atom_score(atoms_x: NDArray[np.int64], atoms_y: NDArray[np.int64]) -> Score:
    """Log ratio of how often each whole output was seen; 0 for what was seen too rarely."""
    size = int(max(atoms_x.max(initial=0), atoms_y.max(initial=0))) + 2
    p = np.bincount(atoms_x, minlength=size).astype(np.float64)
    q = np.bincount(atoms_y, minlength=size).astype(np.float64)
    ratio = np.where(p + q >= 6, np.log((p + 0.5) / (q + 0.5)), 0.0)
    return lambda m, a: ratio[np.minimum(a, size - 1)]


def _bayes_score(x: NDArray[np.float64], y: NDArray[np.float64], width: int) -> Score:
    """Naive Bayes: per coordinate, the log ratio of the bin's frequencies."""
    edges, ratios = [], []
    for j in range(width):
        both = np.concatenate([x[:, j], y[:, j]])
        values = np.unique(both)
        if values.size > _LEVELS:
            values = np.unique(np.quantile(both, np.linspace(0, 1, _LEVELS + 1), method="lower"))
        p = np.bincount(np.searchsorted(values, x[:, j], side="right"), minlength=values.size + 1)
        q = np.bincount(np.searchsorted(values, y[:, j], side="right"), minlength=values.size + 1)
        edges.append(values)
        ratios.append(np.log((p + 1.0) / (p.sum() + p.size)) - np.log((q + 1.0) / (q.sum() + q.size)))

    def score(m: NDArray[np.float64], a: NDArray[np.int64]) -> NDArray[np.float64]:
        total = np.zeros(len(m))
        for j in range(width):
            total += ratios[j][np.searchsorted(edges[j], m[:, j], side="right")]
        return np.round(total, 9)

    return score


def _linear_score(x: NDArray[np.float64], y: NDArray[np.float64]) -> Score:
    """Fisher's discriminant: it sees a common shift behind noise that the coordinates share."""
    low, high = np.quantile(np.concatenate([x, y]), [0.02, 0.98], axis=0)
    low, high = np.minimum(low, high), np.maximum(low, high) + 1e-9
    a, b = np.clip(x, low, high), np.clip(y, low, high)
    spread = np.atleast_2d(np.cov(a, rowvar=False) + np.cov(b, rowvar=False))
    ridge = 1e-3 * float(np.trace(spread)) / len(spread) + 1e-9
    weights = np.linalg.solve(spread + ridge * np.eye(len(spread)), a.mean(axis=0) - b.mean(axis=0))
    return lambda m, _: np.round(np.clip(m, low, high) @ weights, 12)


def _lowest_bit(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The exponent of the last binary digit of each float: what floating-point noise gives away."""
    mantissa, exponent = np.frexp(values)
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    trailing = np.log2(np.maximum(whole & -whole, 1).astype(np.float64))
    return np.where(values == 0.0, 0.0, exponent - 53 + trailing)


def _best_events(
    ours: NDArray[np.float64], theirs: NDArray[np.float64], delta: float, size: int
) -> list[tuple[float, Callable[[NDArray[np.float64]], NDArray[np.bool_]], str]]:
    """For each of `_Z`: the event "score >= t", "<= t" or "= t" with the largest approximate bound."""
    values = np.unique(np.concatenate([ours, theirs]))
    few = values.size <= 200
    if not few:
        values = np.unique(np.quantile(values, np.linspace(0, 1, 150), method="lower"))
        both = np.concatenate([ours, theirs])
        values = np.unique(
            np.concatenate([values, np.quantile(both, np.linspace(0, 1, 150), method="lower")])
        )
    o, t = np.sort(ours), np.sort(theirs)
    best: list[tuple[float, Any, str]] = [(-inf, lambda s: s == s, "is anything") for _ in _Z]
    below_o, below_t = np.searchsorted(o, values), np.searchsorted(t, values)
    upto_o, upto_t = np.searchsorted(o, values, "right"), np.searchsorted(t, values, "right")
    kinds = [("at least", o.size - below_o, t.size - below_t), ("at most", upto_o, upto_t)]
    if few:
        kinds.append(("exactly", upto_o - below_o, upto_t - below_t))
    for (kind, k, j), (place, z) in product(kinds, enumerate(_Z)):
        bounds = _approximate(k / o.size, j / t.size, delta, size, z)
        i = int(np.argmax(bounds))
        if bounds[i] > best[place][0]:
            best[place] = float(bounds[i]), _event(kind, float(values[i])), f"is {kind} {values[i]:.6g}"
    return best


def _event(kind: str, t: float) -> Callable[[NDArray[np.float64]], NDArray[np.bool_]]:
    if kind == "at least":
        return lambda s: s >= t
    return (lambda s: s <= t) if kind == "at most" else (lambda s: s == t)


def _approximate(
    p: NDArray[np.float64], q: NDArray[np.float64], delta: float, n: int, z: float
) -> NDArray[np.float64]:
    """Wilson's intervals in place of Clopper and Pearson's: quick, and only used to choose."""
    z2 = z * z / n
    low = (p + z2 / 2 - z * np.sqrt(p * (1 - p) / n + z2 / n / 4)) / (1 + z2) - delta
    high = (q + z2 / 2 + z * np.sqrt(q * (1 - q) / n + z2 / n / 4)) / (1 + z2)
    return np.where(low > 0, np.log(np.maximum(low, 1e-300) / high), -np.inf)
