"""What is replayed of every exported mechanism: one without a case fails a test.

A case is a mechanism as its user would run it, on a small domain that has bins, a level for others and one
for missing values, with questions that are fixed beforehand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from hedgerow.audit.coupled import left_out
from hedgerow.audit.coupled.looks import FOUR, LONG, _in_runs, deeper, pairs_inside
from hedgerow.audit.coupled.replay import GROUPS, Replayed, joined, replay_neighbours
from hedgerow.audit.coupled.scenes import Relation
from hedgerow.curator.curator import Curator
from hedgerow.curator.statistics.claimed import REGISTERED
from hedgerow.errors import HedgerowError
from hedgerow.mechanisms.cards import guests
from hedgerow.privacy.budget import Budget
from hedgerow.queries.domain.attribute import Categorical
from hedgerow.queries.domain.bins import bins
from hedgerow.queries.domain.domain import Domain, OpenDomain
from hedgerow.queries.query import Query, SparseQuery

DOMAIN = Domain({"a": 3, "b": 2})
PEOPLE = Domain(
    {"sex": ["F", "M"], "age": bins(0, 30, 10, missing=True), "job": Categorical(["oak", "elm"], other=True)}
)
NAMES = OpenDomain()

PURE = Budget(epsilon=2)
LARGE = Budget(epsilon=8, delta=0.01)
BOTH: tuple[Relation, ...] = ("add_remove", "replace")
ROWS: tuple[tuple[int, bool], ...] = ((1, False),)

QUESTIONS = (
    "SELECT COUNT(*) FROM t WHERE sex = 'F'",
    "SELECT job, COUNT(*) FROM t GROUP BY job",
    "SELECT SUM(age) FROM t WHERE sex = 'M'",
    "SELECT AVG(age) FROM t",
    "SELECT COUNT(*) FROM t WHERE sex = 'F' AND age >= 10",
    "SELECT COUNT(*) FROM t WHERE sex = 'F'",
    "SELECT COUNT(DISTINCT person) FROM t WHERE age >= 20",
    "SELECT MEDIAN(age) FROM t",
)


@dataclass(frozen=True)
class Coupled:
    """One way to run a mechanism, and the tables and relations that it is replayed on."""

    name: str
    run: Callable[[Curator], Any]
    domain: Domain | OpenDomain = PEOPLE
    budget: Budget = PURE
    relations: Sequence[Relation] = BOTH
    groups: Sequence[tuple[int, bool]] = GROUPS

    def replayed(self, neighbours: int, seconds: float, seed: int = 0) -> Replayed:
        """Replay it on so many neighbours, or for so long."""
        return replay_neighbours(
            self.run,
            self.domain,
            budget=self.budget,
            relations=self.relations,
            groups=self.groups,
            neighbours=neighbours,
            seconds=seconds,
            seed=seed,
            name=self.name,
        )


def told(ask: Callable[[Any], Any], questions: Sequence[Any]) -> list[Any]:
    """What is said to each question, an error's words included: the conversation goes on after a refusal."""
    said: list[Any] = []
    for question in questions:
        try:
            said.append(ask(question))
        except HedgerowError as refused:
            said.append(f"{type(refused).__name__}: {refused}")
    return said


@cache
def own_cases() -> tuple[Coupled, ...]:
    """Every way into the curator that is replayed on neighbouring tables."""
    return (
        *_primitives(),
        *_runs(),
        *_offline(),
        *_boosting(),
        *_online(),
        *_sessions(),
        *_sums(),
        *_left_out(),
    )


def cases() -> tuple[Coupled, ...]:
    """Our own, and what guests claim of statistics and scores, as far as they give examples."""
    for card in guests().values():
        card.load()  # claims are entered where a mechanism is at home
    return (*own_cases(), *_claims())


def _claims() -> Iterator[Coupled]:
    for known in REGISTERED.values():
        for example in known.examples(PEOPLE) if known.examples else ():
            measured = known.word == "statistic"

            def run(curator: Curator, example: Any = example, measured: bool = measured) -> Any:
                return curator.measure(example, 1) if measured else curator.select(example, 1)

            for budget in (PURE, LARGE):
                yield Coupled(f"claim {known.kind.__name__}", run, budget=budget)


def replays(
    neighbours: int, seconds: float, only: Sequence[str] | None = None, seed: int = 0
) -> Iterator[Replayed]:
    """Replay every exported mechanism, or some: so many neighbours and so long for each of its cases."""
    chosen = [c for c in cases() if only is None or c.name in only]
    for name in dict.fromkeys(c.name for c in chosen):
        yield joined(name, [c.replayed(neighbours, seconds, seed) for c in chosen if c.name == name])


def _primitives() -> Iterator[Coupled]:
    from hedgerow import primitives as p

    mixed = [
        Query.where(PEOPLE, {"sex": "F"}),
        Query.where(PEOPLE, {"job": "oak", "sex": "M"}),
        Query.total(),
    ]
    targets: tuple[Any, ...] = (("sex", "age"), mixed)
    yield Coupled("laplace", lambda c: [p.laplace(c, t, 1) for t in targets])
    yield Coupled("gaussian", lambda c: [p.gaussian(c, t, 1) for t in targets], budget=LARGE)
    for name in ("exponential", "permute_and_flip", "report_noisy_max"):
        choose = getattr(p, name)
        for score in (p.LevelCounts("age"), _errors(mixed), _table_errors()):
            yield Coupled(name, lambda c, f=choose, s=score: f(c, s, 1))  # type: ignore[misc]
    for by in ("row", "attribute"):
        yield Coupled(
            "randomized_response",
            lambda c, by=by: p.randomized_response(c, 1, by=by),  # type: ignore[misc]
            relations=("replace",),
        )


def _errors(queries: Sequence[Query]) -> Any:
    import numpy as np

    from hedgerow import primitives as p
    from hedgerow.queries.workload import Workload

    return p.QueryErrors(Workload.of(list(queries)), np.array([1.0, 0.5, 4.0]))


def _table_errors() -> Any:
    import numpy as np

    from hedgerow import primitives as p

    return p.TableErrors((("sex",), ("job",)), (np.array([2.0, 1.0]), np.zeros(3)), np.array([0.0, 1.5]))


def _runs() -> Iterator[Coupled]:
    from hedgerow import primitives as p

    opened: dict[str, Callable[[Curator], Any]] = {
        "above_threshold": lambda c: p.above_threshold(c, 1, 1),
        "sparse": lambda c: p.sparse(c, 1, 2, 1),
        "numeric_sparse": lambda c: p.numeric_sparse(c, 1, 2, 1),
        "paired_sparse": lambda c: p.paired_sparse(c, 1, 2, 1),
    }
    sides = ("over", "both", "absolute")

    def ask(run: Any) -> Any:
        return told(lambda side: run.ask_all(("sex", "age"), [0.5], side=side, most=1), sides)

    for name, start in opened.items():
        yield Coupled(name, lambda c, start=start: ask(start(c)))  # type: ignore[misc]
    yield Coupled("sparse", lambda c: ask(p.sparse(c, 1, 2, 1, restart=False)))
    yield Coupled("numeric_sparse", lambda c: ask(p.numeric_sparse(c, 1, 2, 1, 0.001)), budget=LARGE)
    yield Coupled("gaussian_sparse", lambda c: ask(p.gaussian_sparse(c, 1, 2, 20, 1, 0.0005)), budget=LARGE)
    yield Coupled(
        "paired_sparse",
        lambda c: told(
            lambda _: p.paired_sparse(c, 1, 2, 1, side="over", restart=False).ask_all(
                ("sex", "age"), [0.5], side="over", most=1
            ),
            sides[:1],
        ),
        relations=("add_remove",),
    )
    queries = [Query.where(PEOPLE, {"sex": "F"}), Query.where(PEOPLE, {"job": "other"}), Query.total()]
    for side in ("over", "under"):

        def one_sided(curator: Curator, side: Any = side) -> Any:
            run = p.one_sided(curator, 2, 1, side=side)
            return told(lambda guess: run.ask(queries, [guess, guess, 2 * guess]), (0.0, 1.0, 3.0))

        yield Coupled("one_sided", one_sided, relations=("add_remove",))


def _offline() -> Iterator[Coupled]:
    import hedgerow as hr
    from hedgerow.queries.workload import marginals

    ones, pairs, mixed = marginals(PEOPLE, 1), marginals(PEOPLE, 2), _mixed()
    small = marginals(DOMAIN, 1)

    def releases(mechanism: Any, workload: Any, budget: Budget = PURE, **rest: Any) -> Coupled:
        return Coupled(
            type(mechanism).__name__, lambda c: mechanism.release(c, workload), budget=budget, **rest
        )

    yield releases(hr.LaplaceBaseline(), ones)
    yield releases(hr.GaussianBaseline(), ones, LARGE)
    yield Coupled("HistogramRelease", lambda c: hr.HistogramRelease().release(c))
    for budget in (PURE, LARGE):
        yield releases(hr.Factorization(), pairs, LARGE)
        yield releases(hr.AdaptiveRelease(measurements=2), pairs, budget)
        yield releases(hr.OfflineMW(alpha=0.9), mixed[:2], budget, domain=DOMAIN)
        yield releases(hr.OfflineMW(rounds=1), pairs, budget)
        yield releases(hr.SmallDB(alpha=0.9), small, budget, domain=DOMAIN)
    yield releases(hr.AdaptiveRelease(), pairs, LARGE)  # all of the workload in one act
    yield releases(hr.AdaptiveRelease(cells=1), pairs, LARGE)  # not held densely: rows too few to look at
    for ordered in (deeper, pairs_inside):
        yield Coupled("AdaptiveRelease", ordered, FOUR, Budget(rho=50, delta=0.01))
    yield Coupled("AdaptiveRelease", _in_runs, LONG, Budget(rho=50, delta=0.01))
    seen = Budget(rho=5000, delta=0.01)  # so much that a few rows are looked at
    yield releases(hr.AdaptiveRelease(), pairs, seen)  # all at once, then distances of larger tables
    yield Coupled(  # chosen, then distances of pairs and triples
        "AdaptiveRelease", lambda c: hr.AdaptiveRelease().release(c, pairs, choose=True), budget=seen
    )
    yield releases(hr.Factorization(), mixed, LARGE, domain=DOMAIN)
    yield releases(hr.Projection(), ones, LARGE)
    yield Coupled(
        "RandomizedResponse",
        lambda c: hr.RandomizedResponse(epsilon=1, by="attribute").release(c),
        relations=("replace",),
    )
    sketch = hr.SparseProject(size=8, blocks=2, length=4, rows=4, seed=bytes(32))
    for made in (sketch, replace(sketch, seed=None)):
        yield Coupled("SparseProject", lambda c, m=made: m.release(c), NAMES, LARGE)  # type: ignore[misc]


def _mixed() -> list[Query]:
    return [Query.where(DOMAIN, {"a": 0}), Query.where(DOMAIN, {"a": 1, "b": 1}), Query.total()]


def _boosting() -> Iterator[Coupled]:
    import hedgerow as hr
    from hedgerow.learning.learners.histogram_learner import HistogramLearner
    from hedgerow.queries.workload import marginals

    boost = hr.BoostQueries(samples=2, rounds=2)
    ones = marginals(DOMAIN, 1)
    low = [hr.LargestGap("a", 9), hr.LargestCount("a"), hr.LevelsAbove("a", 2)]
    yield Coupled("BoostQueries", lambda c: boost.release(c, ones), DOMAIN, LARGE)
    yield Coupled("BoostQueries", lambda c: boost.release(c, low), Domain({"a": 3}), LARGE, groups=ROWS)
    learner: Any = HistogramLearner(rounds=2)
    yield Coupled(
        "BoostedClassifier",
        lambda c: hr.BoostedClassifier(2, 0.005, base_learner=learner).fit_curator(c),
        DOMAIN,
        LARGE,
        groups=ROWS,
    )
    paper: dict[str, Any] = {"mode": "theorem", "gamma": 0.5, "eta": 0.4}
    yield Coupled(
        "BoostedClassifier",
        lambda c: hr.BoostedClassifier(2, 0, **paper).fit_curator(c),
        DOMAIN,
        PURE,
        ("replace",),
        ROWS,
    )


def _online() -> Iterator[Coupled]:
    import hedgerow as hr

    asks = [
        *[Query.where(PEOPLE, {"sex": "F"})] * 3,
        Query.where(PEOPLE, {"job": "oak", "sex": "M"}),
        Query.total(),
    ]
    names = [SparseQuery.of({"oak": 1, "elm": 1}), SparseQuery.of({"yew": 1}), SparseQuery.of({"oak": 1})]
    counted: dict[str, Any] = {"updates": 2, "queries": 6, "threshold": 1.0}
    for options in (counted, counted | {"rows": 5}):
        for budget in (PURE, LARGE):
            yield Coupled(
                "OnlineMW",
                lambda c, o=options: told(hr.OnlineMW(**o).open(c).ask, asks),  # type: ignore[misc]
                budget=budget,
            )
            yield Coupled(
                "SparseMW",
                lambda c, o=options: told(hr.SparseMW(sparsity=2, **o).open(c).ask, names),  # type: ignore[misc]
                NAMES,
                budget,
            )


def _sessions() -> Iterator[Coupled]:
    """Questions that are certified, until one trips or not; measured; refused; asked again; or learned."""
    import hedgerow as hr

    def certified(curator: Curator) -> Any:
        session = hr.Session(within_count=40, questions=2000, confidence=0.9).open(curator)
        return told(session.ask, (*QUESTIONS[:1], *_asked(PEOPLE), *QUESTIONS[1:]))

    def tripped(curator: Curator) -> Any:
        session = hr.Session(within_count=12, questions=50, confidence=0.5).open(curator)
        return told(session.ask, (*QUESTIONS[:1], *_asked(PEOPLE)))

    def measured(curator: Curator) -> Any:
        session = hr.Session(epsilon=1).open(curator)
        return told(lambda q: session.ask(q, within_count=8.0, confidence=0.9), QUESTIONS)

    def refined(curator: Curator) -> Any:
        session = hr.Session(epsilon=1).open(curator)
        asks = [(q, rows) for rows in (60.0, 36.0, 20.0) for q in QUESTIONS[:2]]
        return told(lambda ask: session.ask(ask[0], within_count=ask[1], confidence=0.9), asks)

    def learned(curator: Curator) -> Any:
        return told(hr.Session(epsilon=1).open(curator).ask, QUESTIONS)

    def large(curator: Curator) -> Any:
        """As in a domain too large for a weight on every cell: residuals of all pairs, then as always."""
        return told(hr.Session(epsilon=1, cells=1).open(curator).ask, QUESTIONS)

    for run in (certified, tripped, measured, refined, learned, large):
        for budget in (Budget(epsilon=400), Budget(rho=500, delta=0.01)):
            yield Coupled("Session", run, budget=budget)


def _left_out() -> Iterator[Coupled]:
    """Pairs that are not measured are looked at: of people with one to three rows, at the ends of bins."""
    for name, run, budget in left_out.RUNS:
        yield Coupled(name, run, left_out.UNEVEN, budget, groups=left_out.GROUPS)


def _sums() -> Iterator[Coupled]:
    """Rows' own numbers: measured, beside a release's tables, certified and learned."""
    import hedgerow as hr
    from hedgerow.audit.coupled import sums
    from hedgerow.queries.workload import marginals

    tables = marginals(sums.NUMBERS, 1)
    large = Budget(rho=500, delta=0.01)

    def conversed(curator: Curator) -> Any:
        session = hr.Session(within_count=40, questions=2000, confidence=0.9).open(curator)
        return told(session.ask, sums.ASKED)

    for budget in (Budget(epsilon=40), large):
        yield Coupled(
            "laplace" if budget.currency == "epsilon" else "gaussian",
            sums.measured, sums.NUMBERS, budget, groups=sums.GROUPS,
        )  # fmt: skip
        yield Coupled(
            "AdaptiveRelease",
            lambda c: hr.AdaptiveRelease(measurements=1).release(c, tables),
            sums.NUMBERS, budget, groups=sums.GROUPS,
        )  # fmt: skip
    yield Coupled("Session", conversed, sums.NUMBERS, large, groups=sums.GROUPS)


def _asked(domain: Domain) -> list[Query]:
    names = [(a, b) for a in ("F", "M") for b in ("oak", "elm", "other")]
    return [Query.where(domain, {"sex": sex, "job": job}) for sex, job in names]
