"""Rows from answers: a linear program recovers a hidden column from exact or rounded counts [DN03], [DMT07].

A made-up table holds one bit for each of n people; who they are is public. An analyst asks how many of random
sets of them have a 1. What is recovered from exact answers, from rounded ones and from answers with too
little noise is set beside what is recovered from this library's releases and what their epsilon allows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.privacy.bounds.reconstruction import most_right, right_bits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.audit.statistical import Progress

ALARM = 1e-6
"""How often a sound mechanism may be refuted."""

STRONG = 0.95
"""The part of the bits that the attack must recover from exact answers, or it shows nothing."""


def recover(
    sets: NDArray[Any], answers: NDArray[Any] | Sequence[float], within: float = 0.0
) -> NDArray[np.bool_]:
    """The bits that fit counts over sets of people best, each rounded from a share in [0, 1].

    The linear program minimises the sum of what answers miss beyond `within`; with 0 it is the decoding of
    [DMT07], which few wild answers do not disturb, and with the answers' true accuracy the fit of [DN03].
    Without scipy it is plain least squares.

    Args:
        sets: one row for each answer, one column for each person: who was counted.
        answers: how many of each set are said to have a 1.
        within: how far off every answer is known to be at most.

    >>> sets = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    >>> recover(sets, [1, 1, 2]).tolist()
    [True, False, True]
    """
    counted, said = np.asarray(sets, dtype=np.float64), np.asarray(answers, dtype=np.float64)
    try:
        from scipy import optimize, sparse
    except ImportError:
        return np.asarray(np.linalg.lstsq(counted, said, rcond=None)[0] > 0.5)
    k, n = counted.shape
    one = sparse.eye(k)
    parts = [sparse.csr_matrix(counted), one, -one]  # counts + short - over, and what is forgiven, = answers
    limits = [(0.0, 1.0)] * n + [(0.0, None)] * (2 * k)
    if within > 0.0:
        parts.append(one)
        limits += [(-within, within)] * k
    cost = np.r_[np.zeros(n), np.ones(2 * k), np.zeros(len(limits) - n - 2 * k)]
    a = sparse.hstack(parts, format="csr")
    done = optimize.linprog(cost, A_eq=a, b_eq=said, bounds=limits, method="highs")
    return np.asarray(done.x[:n] > 0.5)


@dataclass(frozen=True)
class Recovered:
    """What the attack got out of one way to answer.

    Args:
        name: how the questions were answered.
        epsilon: what is promised under `replace`; None where nothing is.
        people, answers: how many bits were hidden, and how many questions were asked.
        right: how many bits were recovered.
    """

    name: str
    epsilon: float | None
    people: int
    answers: int
    right: int

    @property
    def allowed(self) -> int:
        """So many right bits that more are seen with probability below ALARM; all, without a promise."""
        return self.people if self.epsilon is None else most_right(self.people, self.epsilon, ALARM)

    @property
    def refuted(self) -> bool:
        """Whether more was recovered than is promised."""
        return self.right > self.allowed

    def to_json(self) -> dict[str, Any]:
        """A row of plain data."""
        each = None if self.epsilon is None else right_bits(self.epsilon)
        return {
            "name": self.name,
            "epsilon": self.epsilon,
            "people": self.people,
            "answers": self.answers,
            "right": self.right,
            "expected_at_most": None if each is None else round(each * self.people, 3),
            "allowed": self.allowed,
            "refuted": self.refuted,
        }


@dataclass(frozen=True)
class Hidden:
    """A made-up table with a hidden column, and random questions about it.

    Args:
        bits: the hidden column.
        sets: who is counted by each question.
    """

    bits: NDArray[np.int64]
    sets: NDArray[np.bool_]

    @classmethod
    def of(cls, people: int, answers: int, seed: int | None = None) -> Hidden:
        """Uniform bits, and sets that hold everybody with probability one half."""
        random = np.random.default_rng(seed)
        return cls(random.integers(0, 2, people), random.integers(0, 2, (answers, people)) == 1)

    @property
    def exact(self) -> NDArray[np.int64]:
        """The true answers."""
        return np.asarray(self.sets @ self.bits)

    def found(
        self, name: str, answers: NDArray[Any], *, within: float = 0.0, epsilon: float | None = None
    ) -> Recovered:
        """Attack these answers."""
        k, n = self.sets.shape
        right = int((recover(self.sets, answers, within) == (self.bits == 1)).sum())
        return Recovered(name, epsilon, n, k, right)

    def released(self, mechanism: Any, epsilon: float) -> NDArray[np.float64]:
        """The answers of a release at this epsilon, through a real curator with rows replaced."""
        import hedgerow as hr

        people = len(self.bits)
        domain = hr.Domain({"person": people, "secret": 2})
        table = hr.Table.open({"person": np.arange(people), "secret": self.bits}, domain)
        budget = hr.Budget(epsilon=epsilon)
        curator = hr.Curator(table, budget=budget, ledger=":memory:", neighbours="replace")
        asked = hr.Workload.of([hr.Query.where(domain, {"person": s, "secret": 1}) for s in self.sets])
        return np.asarray(mechanism.release(curator, asked).answer(asked).value, dtype=np.float64)


def reconstruct(
    *, people: int = 200, answers: int = 800, seed: int | None = None, progress: Progress | None = None
) -> list[Recovered]:
    """Attack answers that promise nothing, then this library's releases of pure epsilon.

    Args:
        people: how many bits are hidden.
        answers: how many questions are asked.
        seed: of the bits and questions; noise is always fresh.
        progress: called with a few words now and then.
    """
    hidden, found = Hidden.of(people, answers, seed), []
    for name, make in (*_unprotected(hidden), *_ours(hidden)):
        if progress:
            progress(f"attacking {name}")
        found.append(make())
    return found


Attempt = tuple[str, Callable[[], Recovered]]


def _unprotected(hidden: Hidden) -> list[Attempt]:
    """Exact answers, rounded ones, and noise that is small and fresh for every question."""
    exact = hidden.exact
    noise = np.random.default_rng().laplace(scale=2.0, size=len(exact))
    ways: list[tuple[str, NDArray[Any], float]] = [
        ("exact answers", exact, 0.0),
        ("rounded to multiples of 5", 5 * np.rint(exact / 5), 2.5),
        ("rounded to multiples of 10", 10 * np.rint(exact / 10), 5.0),
        ("noise of scale 2 on every answer", exact + noise, 0.0),
    ]
    return [(n, lambda n=n, a=a, w=w: hidden.found(n, a, within=w)) for n, a, w in ways]  # type: ignore[misc]


def _ours(hidden: Hidden) -> list[Attempt]:
    import hedgerow as hr

    ways: list[tuple[Any, float]] = [
        (hr.LaplaceBaseline(), 1.0),
        (hr.RandomizedResponse(), 1.0),
        (hr.OfflineMW(), 1.0),
        (hr.AdaptiveRelease(), 1.0),
        (hr.HistogramRelease(), 1.0),
        (hr.HistogramRelease(), 10.0),
    ]

    def attempt(mechanism: Any, epsilon: float) -> Attempt:
        name = f"{type(mechanism).__name__}, epsilon {epsilon:g}"
        return name, lambda: hidden.found(name, hidden.released(mechanism, epsilon), epsilon=epsilon)

    return [attempt(m, e) for m, e in ways]


def blind(found: Sequence[Recovered]) -> bool:
    """Whether the attack did not even work on exact answers: then nothing was shown."""
    return any(f.right < STRONG * f.people for f in found if f.name == "exact answers")


def recovered_table(found: Sequence[Recovered]) -> str:
    """What was recovered, as a table for a terminal."""
    width = max(len(f.name) for f in found)
    head = f"{'recovered':>9}  {'may be, on average':>18}  {'refuted above':>13}"
    lines = [f"{'how the questions were answered':<{width}}  {head}  verdict"]
    for f in found:
        mean = most = "-"
        if f.epsilon is not None:
            mean, most = _percent(right_bits(f.epsilon)), _percent(f.allowed / f.people)
        verdict = "no promise" if f.epsilon is None else "REFUTED" if f.refuted else "ok"
        lines.append(
            f"{f.name:<{width}}  {_percent(f.right / f.people):>9}  {mean:>18}  {most:>13}  {verdict}"
        )
    return "\n".join(lines)


def _percent(share: float) -> str:
    return f"{100.0 * share:.1f}%"
