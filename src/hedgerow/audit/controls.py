"""Controls: mechanisms that are wrong on purpose, through the real building blocks. Never exported.

Each reproduces one mistake that has been made in earnest. The audit must refute every one of them, and must
not refute Algorithms 1 and 2 of the published sparse vectors.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.betting import bet
from hedgerow.audit.broken_svt import PublishedSVT
from hedgerow.audit.finding import Finding
from hedgerow.audit.ledger_replay import replay
from hedgerow.audit.neighbours import DOMAIN, neighbouring_answers, neighbouring_tables
from hedgerow.audit.one_sided import MISTAKES
from hedgerow.audit.rehearsal import Rehearsal, World, repeated, runs_of, whole_runs
from hedgerow.audit.statistical import Progress, audit
from hedgerow.curator.curator import Curator
from hedgerow.curator.noise.noise import os_entropy
from hedgerow.curator.runs.comparison import _noise
from hedgerow.curator.runs.sparse_vector_plan import plan
from hedgerow.curator.statistics.boosting import BoostWeights, sample_questions
from hedgerow.curator.statistics.statistics import Answers, QueryErrors
from hedgerow.privacy.budget import Budget, Cost, Privacy
from hedgerow.privacy.event import Nothing
from hedgerow.queries.query import Query
from hedgerow.queries.workload import Workload

EPSILON = 1
_LARGE = 4  # the claim at which reused noise shows in a few hundred thousand samples
_TABLE = ("a", "b")


@dataclass(frozen=True)
class Control:
    """One control: how to audit it, and whether it must be refuted."""

    name: str
    wrong: bool
    run: Callable[[int, float, Progress | None], Finding]


class NoiseHalved(Rehearsal):
    """The noise has half the scale that was paid for."""

    def _law(self, stat: Any, price: Cost, choice: Any) -> Any:
        law, event = super()._law(stat, price, choice)
        return replace(law, scale=law.scale / 2), event


class ReplaceForgotten(Rehearsal):
    """The sensitivity of a table is taken as 1, though rows are replaced and two cells change."""

    @property
    def privacy(self) -> Privacy:
        return Privacy("add_remove", super().privacy.max_rows)


class MaxRowsForgotten(Rehearsal):
    """A person has up to three rows and the sensitivity is that of one."""

    @property
    def privacy(self) -> Privacy:
        return Privacy(super().privacy.neighbours, 1)


class ChargeSkipped(Curator):
    """Draws and returns without a line in the ledger."""

    def _act(self, event: Any, evaluate: Any, draw: Any, question: str, **_: Any) -> list[NDArray[Any]]:
        return draw(evaluate())  # type: ignore[no-any-return]


class ExactErrors(Rehearsal):
    """After a private measurement, the next query is the one of the largest *exact* error: not charged."""

    def next_query(self, measured: NDArray[Any], workload: Workload) -> int:
        score = QueryErrors(workload, measured.astype(np.float64))
        return int(np.argmax(score.exact(self._rows)))


class FreeSampling(Rehearsal):
    """Questions are sampled by their exact errors, as boosting does, and that is not charged."""

    def _act(self, event: Any, evaluate: Any, draw: Any, question: str, **rest: Any) -> list[NDArray[Any]]:
        free = question.startswith("boost:")
        return super()._act(Nothing() if free else event, evaluate, draw, question, **rest)


def _table(world: World, size: int, kind: type[Rehearsal]) -> NDArray[Any]:
    return repeated(world, Budget(epsilon=EPSILON), lambda c: c.measure(_TABLE, EPSILON), size, kind)[0]


def _planted(name: str, kind: type[Rehearsal], pairs: list[tuple[World, World]]) -> Control:
    def run(samples: int, seconds: float, progress: Progress | None) -> Finding:
        return audit(
            lambda world, n: _table(world, n, kind),
            pairs,
            EPSILON,
            samples=samples // 2,
            batch=True,
            time_limit=seconds,
            name=name,
            progress=progress,
        )

    return Control(name, True, run)


def reused_noise(answers: list[int], size: int) -> NDArray[Any]:
    """NumericSparse, but what is released after "above" is the noisy number that was compared."""
    made = plan("numeric_sparse", Cost("epsilon", Fraction(_LARGE)), Fraction(1), 0, 1)
    q = np.array(answers, dtype=np.int64)
    noisy = q + _noise(made.question_family, made.query_scale, size * q.size, os_entropy).reshape(size, -1)
    threshold = made.threshold + _noise(made.family, made.threshold_scale, size, os_entropy)
    above = noisy >= threshold[:, None]
    first = np.where(above.any(axis=1), above.argmax(axis=1), q.size)
    value = np.where(first < q.size, noisy[np.arange(size), np.minimum(first, q.size - 1)], -(10**6))
    return np.stack([first, value], axis=1)


def float_laplace(count: int, size: int) -> NDArray[np.float64]:
    """The textbook sampler in floating point: count - sign ln(uniform) / epsilon."""
    words = np.frombuffer(os.urandom(16 * size), dtype=np.uint64).reshape(2, size)
    uniform = ((words[0] >> np.uint64(11)).astype(np.float64) + 1.0) * 2.0**-53
    sign = np.where(words[1] & np.uint64(1), 1.0, -1.0)
    return np.asarray(count - sign * np.log(uniform) / EPSILON).reshape(-1, 1)


def exact_errors(world: World, size: int) -> NDArray[Any]:
    """Measure two counts with all of epsilon, then announce which has the largest exact error."""
    workload = Workload.of([Query.where(DOMAIN, {"a": level}) for level in (0, 2)])
    curator = world.curator(Budget(epsilon=EPSILON), ExactErrors)
    assert isinstance(curator, ExactErrors)
    curator.repeat = size
    curator.measure(workload, EPSILON)
    rows = curator.transcript()
    seen, which = np.unique(rows, axis=0, return_inverse=True)
    chosen = np.array([curator.next_query(row, workload) for row in seen])
    return np.column_stack([rows, chosen[which.ravel()]])


def free_boosting(world: World, size: int) -> list[NDArray[Any]]:
    """Measure two counts with all of epsilon, then sample questions by their exact errors."""
    workload = Workload.of([Query.where(DOMAIN, {"a": level}) for level in (0, 2)])

    def act(curator: Curator) -> None:
        measured = curator.measure(workload, EPSILON)
        weights = BoostWeights(Answers(workload), (measured.values,), 0, 1)
        sample_questions(curator, weights, Fraction(3), 6)

    return whole_runs(world, Budget(epsilon=EPSILON), act, size, FreeSampling)[0]


def exact_table_returned(curator: Curator) -> tuple[Any, Any]:
    """One honest act, and beside it the exact table."""
    return curator.measure(_TABLE, EPSILON), curator._rows.tables([_TABLE])[_TABLE]


def query_of_the_largest_count(curator: Curator) -> Any:
    """The one query that is measured, and paid for, is chosen by exact counts."""
    counts = curator._rows.tables([("a",)])[("a",)]
    return curator.measure(Query.where(DOMAIN, {"a": int(np.argmax(counts))}), EPSILON)


def _handed_back(name: str, act: Callable[[Curator], Any], pairs: list[tuple[World, World]]) -> Control:
    def run(samples: int, seconds: float, progress: Progress | None) -> Finding:
        runs = runs_of(act, Budget(epsilon=EPSILON), result_only=True)
        limits: dict[str, Any] = {"samples": samples // 100, "time_limit": seconds, "progress": progress}
        return bet(runs, pairs, EPSILON, batch=True, name=name, **limits)

    return Control(name, True, run)


def charge_skipped(samples: int, seconds: float, progress: Progress | None) -> Finding:
    """Two measurements are released, one of them without a charge; the ledger is replayed.

    The stolen one is so noisy that it is never the same as the other by chance (below 1e-19).
    """
    world = neighbouring_tables("add_remove")[0][1]
    honest = world.curator(Budget(epsilon=2 * EPSILON))
    kept = honest.measure(_TABLE, EPSILON)
    thief = ChargeSkipped(honest.table, ledger=honest.ledger)
    stolen = thief.measure(_TABLE, EPSILON / 1000)
    return replay(honest.ledger, [kept, stolen]).finding("charge skipped")


def _simple(
    name: str,
    mechanism: Any,
    pairs: Any,
    *,
    share: float = 1.0,
    wrong: bool = True,
    epsilon: float = EPSILON,
) -> Control:
    def run(samples: int, seconds: float, progress: Progress | None) -> Finding:
        return audit(
            mechanism,
            pairs,
            epsilon,
            samples=int(samples * share),
            batch=True,
            time_limit=seconds,
            name=name,
            progress=progress,
        )

    return Control(name, wrong, run)


def controls() -> list[Control]:
    """All of them, in the order of the report."""
    streams = neighbouring_answers(6, levels=(0, -1))
    swaps, people = neighbouring_tables("replace"), neighbouring_tables("add_remove", 3)
    titles = [
        "Lyu et al.",
        "Dwork and Roth",
        "Roth's notes",
        "Lee, Clifton",
        "Stoddard et al.",
        "Chen et al.",
    ]
    worst = {3: _against(10), 4: _against(6), 6: neighbouring_answers(16, levels=(-1,))[3]}
    published = [
        _simple(
            f"SVT {i} ({titles[i - 1]})",
            PublishedSVT(i, Fraction(EPSILON), 1),
            worst.get(i, streams),
            share=4.0 if i in (3, 4) else 1.0,
            wrong=i > 2,
        )
        for i in range(1, 7)
    ]
    return [
        *published,
        _planted("noise halved", NoiseHalved, neighbouring_tables("add_remove")),
        _planted("sensitivity 1 under replace", ReplaceForgotten, swaps),
        _planted("max_rows forgotten", MaxRowsForgotten, people),
        _simple(
            "noise reused in the released value",
            reused_noise,
            _against(17),
            share=4.0,
            epsilon=_LARGE,
        ),
        Control("charge skipped", True, charge_skipped),
        _simple("float Laplace", float_laplace, (0, 1), share=0.2),
        _simple("exact error used for reweighting", exact_errors, swaps, share=0.25),
        _simple("boosting reweighted for free", free_boosting, swaps[:1], share=0.03),
        _handed_back("exact table returned", exact_table_returned, neighbouring_tables("add_remove")),
        _handed_back("query chosen by a free argmax", query_of_the_largest_count, swaps),
        *(Control(mistake.name, True, _exactly(mistake.run)) for mistake in MISTAKES),
    ]


def _against(queries: int) -> tuple[list[int], list[int]]:
    """All questions but the last move one way and the last the other: what a late "above" gives away."""
    return neighbouring_answers(queries, levels=(-1,))[1]


def _exactly(run: Callable[[], Finding]) -> Callable[[int, float, Progress | None], Finding]:
    return lambda *_: run()
