"""Trying mechanisms on public populations: the real code, a simulated ledger, errors against known rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from math import exp, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import PCG64, Generator

from hedgerow.curator.curator import Curator
from hedgerow.curator.noise.seeded import SeededEntropy
from hedgerow.curator.rows.table import Table
from hedgerow.errors import HedgerowError
from hedgerow.mechanisms.task import Task
from hedgerow.privacy.budget import Budget
from hedgerow.queries.domain.domain import Domain, OpenDomain
from hedgerow.queries.query import SparseQuery
from hedgerow.release.plan.population import Crowd, crowds, names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.mechanisms.card import Card

MOST_ROWS = 200_000
"""Simulations have at most so many rows; beyond, the same n sqrt(rho), and errors as shares of n."""

_FEW, _MANY = 100, 1_000  # questions: tried more than once; tried by online mechanisms on all populations
_RUNS = 2  # of few, on each population
_ASKED = 500  # questions put to mechanisms that answer one by one
_LEAST_MARGIN, _ONE_RUN = 0.10, 0.25  # one run does not know how much runs vary
_CLEAR = Fraction(1, 2)  # the rho, or epsilon, at which noise is about a row


@dataclass(frozen=True)
class Trial:
    """What one mechanism did: the range of its error in rows, CPU seconds and megabytes of a run."""

    low: float
    high: float
    seconds: float
    megabytes: float | None
    errors: dict[str, tuple[float, ...]]


def scaled(task: Task) -> tuple[Task, float]:
    """The task that is simulated instead, and how much smaller its signal n sqrt(rho) is than the real one.

    Few enough rows, and the noise the same part of them - but not below about one row, where whole numbers
    would hide it; then the signal stays smaller.
    """
    if task.rows <= MOST_ROWS:
        return task, 1.0
    by, budget = Fraction(task.rows, MOST_ROWS), task.budget
    amount = budget.cost.amount
    wanted = amount * by if task.pure else amount * by * by
    used = min(wanted, max(amount, _CLEAR))
    budget = Budget(epsilon=used) if task.pure else Budget(rho=used, delta=budget.delta_exact)
    ratio = float(used / wanted)
    return task.with_rows(MOST_ROWS).with_budget(budget), ratio if task.pure else sqrt(ratio)


def publics(task: Task) -> list[Crowd]:
    """The populations of a task."""
    return crowds(task.finite, scaled(task)[0].rows)


def curator_of(task: Task, source: Any, domain: Domain | OpenDomain) -> Curator:
    """A curator of public rows with a simulated ledger; units have `max_rows` rows each."""
    most = task.privacy.max_rows
    options: dict[str, Any] = {}
    if most > 1:
        rows = len(next(iter(source.values())))
        source = source | {"_unit": np.arange(rows) // most}
        options = {"unit": "_unit", "max_rows": most}
    table = Table.open(source, domain, **options)
    return Curator(table, task.budget, ":memory:", task.privacy.neighbours)


def simulate(
    card: Card,
    task: Task,
    people: Sequence[Crowd],
    *,
    repeat: bool = True,
    most: int | None = None,
    kept: dict[str, Any] | None = None,
) -> Trial:
    """Run a mechanism on every population and compare; refusals are the mechanism's own errors.

    Rows and noise are made up, and the same in every process: the same task has the same plan everywhere.

    Args:
        card: the mechanism.
        task: what is planned.
        people: public populations.
        repeat: whether runs are repeated where that takes no time, to learn how much they vary.
        most: how many populations to use, the correlated one first; all if None.
        kept: gets what the first run on the correlated population released, by the mechanism's name.
    """
    small, signal = scaled(task)
    factor = task.rows / small.rows
    if task.queries > _MANY and card.kind == "online":
        people = [crowd for crowd in people if crowd.name == "correlated"] or people
    seconds, peaks, found = [], [], {}
    for crowd in people if most is None else sorted(people, key=lambda c: c.name != "correlated")[:most]:
        errors: list[float] = []
        for run in range(_RUNS if repeat and task.queries <= _FEW else 1):
            with _Peak() as peak, SeededEntropy(run):
                begun = time.process_time()
                made = tried(card, small, crowd)
                errors.append(factor * _missed(made, small, crowd))
                seconds.append(time.process_time() - begun)
            peaks.append(peak.megabytes)
            if kept is not None and crowd.name == "correlated" and run == 0:
                kept[card.name] = made
        found[crowd.name] = tuple(errors)
    known = [p for p in peaks if p is not None]
    low, high = _range(found, signal)
    warm = seconds[1:] or seconds  # the first run may compile
    return Trial(low, high, max(warm), max(known) if known else None, found)


def _range(found: dict[str, tuple[float, ...]], signal: float) -> tuple[float, float]:
    """The least and the largest error, widened by what one more run may differ, at least by a tenth.

    A signal that was too small leaves open whether the error would shrink with it.
    """
    repeated = [np.log(e) for e in found.values() if len(e) > 1 and min(e) > 0.0]
    spread = 0.0
    if repeated:
        free = sum(len(x) - 1 for x in repeated)
        squares = sum(float(((x - x.mean()) ** 2).sum()) for x in repeated)
        spread = _student(free) * sqrt(squares / free)
    wider = exp(min(max(_LEAST_MARGIN if repeated else _ONE_RUN, spread), 1.0))
    every = [x for e in found.values() for x in e]
    return signal * min(every) / wider, max(every) * wider


def _student(free: int) -> float:
    """The 99.9% point of Student's law, by Fisher's expansion: few runs know their spread badly."""
    z, n = 3.2905, float(free)
    terms = (
        (z**3 + z) / 4.0,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96.0,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384.0,
    )
    return z + sum(term / n ** (i + 1) for i, term in enumerate(terms))


def tried(card: Card, task: Task, crowd: Crowd) -> Any:
    """What a mechanism makes of a population: a synopsis, or an open session."""
    mechanism = card.make(**card.trial(task))
    curator = curator_of(task, crowd.codes, crowd.domain)
    return mechanism.open(curator) if card.kind == "online" else mechanism.release(curator, task.asked)


def _error(card: Card, task: Task, crowd: Crowd) -> float:
    """The root mean square error of one run on one population, in rows."""
    return _missed(tried(card, task, crowd), task, crowd)


def _missed(made: Any, task: Task, crowd: Crowd) -> float:
    """By how many rows the answers of a synopsis or a session are off."""
    can = getattr(made, "can", None)
    if can is None:  # a session
        return _blocks(made.table, task, crowd) if hasattr(made, "table") else _one_by_one(made, task, crowd)
    if "table" not in can:
        truth = task.asked.evaluate(crowd.table)
        return _rms(np.asarray(made.answer(list(task.asked)).value) - truth)
    return _blocks(made.table, task, crowd)


def _blocks(table: Callable[[tuple[str, ...]], Any], task: Task, crowd: Crowd) -> float:
    """Over sampled blocks, each answered from released tables."""
    squares = weights = 0.0
    for block, weight in task.sample:
        given = block.apply(np.asarray(table(block.attributes), dtype=np.float64))
        miss = given - block.apply(crowd.table(block.attributes))
        squares += weight * float((miss**2).mean())
        weights += weight
    return sqrt(squares / weights)


def _one_by_one(session: Any, task: Task, crowd: Crowd) -> float:
    """Over sampled queries, asked in a shuffled order."""
    random = Generator(PCG64(7))
    number = min(_ASKED, len(task.asked))
    places = random.permutation(len(task.asked))[:number] if len(task.asked) < 10**6 else None
    if places is None:
        places = random.integers(0, len(task.asked), number)
    queries = [task.asked[int(i)] for i in places]
    given = np.asarray(session.ask(queries).value, dtype=np.float64)
    truth = [float(q.to_unit(q.apply(crowd.table(q.attributes)))) for q in queries]
    return _rms(given - np.array(truth))


def _rms(miss: NDArray[np.float64]) -> float:
    return float(np.sqrt((miss**2).mean()))


# ---- names without end -----------------------------------------------------------------------------------


def simulate_names(card: Card, task: Task) -> Trial:
    """A mechanism for names on two populations of them, asked about runs of names of all frequencies."""
    small, signal = scaled(task)
    factor, seconds = task.rows / small.rows, []
    found: dict[str, tuple[float, ...]] = {}
    for even in (False, True):
        listed = names(small.rows, even=even)
        queries, truth = _about_names(listed, small)
        begun = time.process_time()
        with SeededEntropy(0):
            curator = curator_of(small, {small.domain.column: listed}, small.domain)  # type: ignore[union-attr]
            mechanism = card.make(**card.trial(small))
            if card.kind == "online":
                given = mechanism.open(curator).ask(queries)
            else:
                given = mechanism.release(curator, queries).answer(queries)
        miss = np.asarray(given.value, dtype=np.float64) - truth
        found["even" if even else "zipf"] = (factor * _rms(miss),)
        seconds.append(time.process_time() - begun)
    low, high = _range(found, signal)
    return Trial(low, high, seconds[-1], None, found)


def _about_names(listed: list[str], task: Task) -> tuple[list[SparseQuery], NDArray[np.float64]]:
    """Questions about names that occur, and their true answers."""
    distinct, counts = np.unique(np.array(listed, dtype=object), return_counts=True)
    of = dict(zip(distinct.tolist(), counts.tolist(), strict=True))
    random = Generator(PCG64(11))
    width = min(task.sparsity, len(distinct))
    queries, truth = [], []
    for _ in range(min(_ASKED, task.queries)):
        some = random.choice(distinct, size=width, replace=False)
        queries.append(SparseQuery.of(dict.fromkeys(some.tolist(), 1)))
        truth.append(float(sum(of[x] for x in some)))
    return queries, np.array(truth)


class _Peak:
    """The memory that a run takes on top of what was there, where the system tells; in megabytes."""

    megabytes: float | None = None

    def __enter__(self) -> _Peak:
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts anew
        self._before = dict(_status()).get("VmRSS")
        return self

    def __exit__(self, *_: object) -> None:
        after = dict(_status()).get("VmHWM")
        if self._before is not None and after is not None:
            self.megabytes = max(after - self._before, 0.0)


def _status() -> Iterator[tuple[str, float]]:
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            key, _, value = line.partition(":")
            if key in ("VmRSS", "VmHWM"):
                yield key, float(value.split()[0]) / 1024.0


def refusal(error: HedgerowError) -> str:
    """A mechanism's refusal as the end of a sentence."""
    text = str(error).rstrip(".")
    return text[:1].lower() + text[1:] if text[1:2].islower() else text
