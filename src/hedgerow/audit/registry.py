"""Which audit belongs to which exported mechanism; a mechanism without one fails a test.

A mechanism that makes one private act is registered with `one_act` (fast: the act is drawn many times), one
that makes several with `several_acts` (every sample is a whole run and its transcript - all that left the
curator - is what is attacked). Both go through the real statistics, sensitivity, calibration and samplers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from types import ModuleType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.act_by_act import ActByAct
from hedgerow.audit.conversation import conversations, insistent
from hedgerow.audit.finding import Finding
from hedgerow.audit.ledger_replay import price
from hedgerow.audit.neighbours import (
    DOMAIN,
    TRIO,
    neighbouring_levels,
    neighbouring_names,
    neighbouring_tables,
    neighbouring_trios,
)
from hedgerow.audit.one_sided import values_of
from hedgerow.audit.rehearsal import World, repeated, whole_runs
from hedgerow.audit.statistical import Progress, audit
from hedgerow.curator.comparison import advance, begin
from hedgerow.curator.curator import Curator
from hedgerow.curator.noise import os_entropy
from hedgerow.curator.sparse_vector import SparseVectorRun
from hedgerow.errors import HedgerowError
from hedgerow.privacy.budget import Budget
from hedgerow.queries.query import Query

Act = Callable[[Curator, float], Any]
Relation = Literal["add_remove", "replace"]
BOTH: tuple[Relation, ...] = ("add_remove", "replace")
DELTA = 0.01  # large enough that an audit of an (epsilon, delta) claim has something to find


@dataclass(frozen=True)
class Case:
    """One thing to refute: a sampler of outputs, the neighbours to search, and the claim's delta.

    `claim` says which epsilon is claimed when a mechanism is given one: by default that one.
    """

    name: str
    draw: Callable[[float, World, int], Any]
    pairs: tuple[tuple[World, World], ...]
    delta: float = 0.0
    share: float = 1.0  # of the samples: for mechanisms that are slow to run
    claim: Callable[[float], float] | None = None


AUDITS: dict[str, list[Case]] = {}


def register(mechanism: str, case: Case) -> None:
    """Add an audit for an exported name."""
    AUDITS.setdefault(mechanism, []).append(case)


def exported() -> list[str]:
    """The mechanisms at the front door and in `primitives`: whatever must have an audit."""
    import hedgerow
    from hedgerow import primitives

    homes: dict[str, str] = hedgerow._HOME  # type: ignore[attr-defined]
    mechanisms = [
        name
        for name, home in homes.items()
        if home.startswith("mechanisms.")
        and any(hasattr(getattr(hedgerow, name), verb) for verb in ("release", "open", "fit"))
    ]
    return [*mechanisms, *_functions(primitives)]


def _functions(module: ModuleType) -> list[str]:
    return [name for name in module.__all__ if name.islower()]


def claim(epsilon: float, delta: float) -> Budget:
    """The budget that a case gives its curator."""
    return Budget(epsilon=epsilon, delta=delta) if delta else Budget(epsilon=epsilon)


def tables(relations: Sequence[Relation] = BOTH) -> tuple[tuple[World, World], ...]:
    """Neighbouring tables for rows and for people with three rows, under each relation."""
    return tuple(p for r in relations for k in (1, 3) for p in neighbouring_tables(r, k))


def one_act(
    mechanism: str,
    act: Act,
    *,
    relations: Sequence[Relation] = BOTH,
    pairs: tuple[tuple[World, World], ...] | None = None,
    delta: float = 0.0,
    share: float = 1.0,
) -> None:
    """Register a mechanism that makes exactly one private act."""

    def draw(epsilon: float, world: World, size: int) -> NDArray[Any]:
        budget = claim(epsilon, delta)
        outputs, events = repeated(world, budget, lambda c: act(c, epsilon), size)
        _refuse_dearer(mechanism, events, budget)
        return outputs

    register(mechanism, Case(mechanism, draw, tables(relations) if pairs is None else pairs, delta, share))


def several_acts(
    mechanism: str,
    act: Act,
    *,
    pairs: tuple[tuple[World, World], ...] | None = None,
    delta: float = 0.0,
    share: float = 0.2,
) -> None:
    """Register a mechanism that makes several acts, each of which may depend on those before."""

    def draw(epsilon: float, world: World, size: int) -> list[NDArray[Any]]:
        budget = claim(epsilon, delta)
        outputs, events = whole_runs(world, budget, lambda c: act(c, epsilon), size)
        _refuse_dearer(mechanism, events, budget)
        return outputs

    register(mechanism, Case(mechanism, draw, tables() if pairs is None else pairs, delta, share))


def each_act(
    mechanism: str, act: Act, pairs: tuple[tuple[World, World], ...], acts: int, *, scale: float
) -> None:
    """Register the first acts of a mechanism one by one, each given its history; see `act_by_act`.

    A run is given `scale` times the epsilon that it is audited at, so that its acts have about as much.
    """
    runs = ActByAct(act, pairs, scale)
    for i in range(acts):
        draw, charged = partial(runs.draw, i), partial(runs.claim, i)
        register(mechanism, Case(f"{mechanism}, act {i + 1}", draw, pairs, share=1.0, claim=charged))


def _refuse_dearer(mechanism: str, events: Sequence[Any], budget: Budget) -> None:
    """By the audit's own arithmetic, what was charged fits into the claim."""
    spent = sum((price(e.to_json(), budget.currency)[0] for e in events), budget.cost.amount * 0)
    if spent > budget.cost.amount:
        raise HedgerowError(f"{mechanism} made acts that cost more than it was given")


def stream(
    mechanism: str, name: str, open_run: Callable[[Curator, float], SparseVectorRun], delta: float = 0.0
) -> None:
    """Register a sparse vector: real calibration and opening, then `begin` and `advance` over and over."""
    queries = [Query.where(DOMAIN, {"a": 0})] * 8 + [Query.where(DOMAIN, {"a": 2})]

    def draw(epsilon: float, world: World, size: int) -> NDArray[Any]:
        run = open_run(world.curator(Budget(rho=10**6, delta=0.5) if delta else claim(epsilon, 0)), epsilon)
        return stream_outputs(run, queries, size)

    register(mechanism, Case(name, draw, tables(), delta))


def stream_outputs(run: SparseVectorRun, queries: Sequence[Query], size: int) -> NDArray[Any]:
    """Independent runs of an opened run's plan: 1, 0 or -1 (not asked) per question, then the values."""
    values = run._differences(queries, None, "over")
    rows = np.full((size, values.size + run.plan.count), -1, dtype=np.int64)
    for row in rows:
        _, places, released, asked = advance(run.plan, begin(run.plan, os_entropy), values, os_entropy)
        row[:asked] = 0
        row[places] = 1
        row[values.size : values.size + released.size] = released
    return rows


def audits(
    epsilons: Sequence[float],
    samples: int,
    seconds: float,
    progress: Progress | None = None,
    only: Sequence[str] | None = None,
) -> Iterator[Finding]:
    """Audit everything registered, or some of it, at each epsilon; `seconds` is for all of them together."""
    chosen = [case for name, cases in AUDITS.items() for case in cases if only is None or name in only]
    deadline, left = time.monotonic() + seconds, len(chosen) * len(epsilons)
    for case in chosen:
        for epsilon in epsilons:
            share = max(0.2, (deadline - time.monotonic()) / left)
            left -= 1
            yield audit(
                partial(case.draw, epsilon),
                list(case.pairs),
                epsilon if case.claim is None else case.claim(epsilon),
                case.delta,
                samples=max(200, int(samples * case.share)),
                batch=True,
                time_limit=0.7 * share,  # the rest is for learning and choosing
                name=f"{case.name} at {epsilon:g}",
                progress=progress,
            )


def _register_all() -> None:
    import hedgerow as hr
    from hedgerow import primitives as p
    from hedgerow.queries.workload import marginals

    table, ones = ("a", "b"), marginals(DOMAIN, 1)
    levels = p.LevelCounts("a")
    one_act("laplace", lambda c, e: p.laplace(c, table, e))
    one_act("gaussian", lambda c, e: p.gaussian(c, table, e), delta=DELTA)
    one_act("exponential", lambda c, e: p.exponential(c, levels, e))
    one_act("permute_and_flip", lambda c, e: p.permute_and_flip(c, levels, e))
    one_act(
        "randomized_response", lambda c, e: p.randomized_response(c, e), relations=("replace",), share=0.6
    )
    one_act("LaplaceBaseline", lambda c, e: hr.LaplaceBaseline(epsilon=e).release(c, ones))
    one_act("GaussianBaseline", lambda c, e: hr.GaussianBaseline(epsilon=e).release(c, ones), delta=DELTA)
    one_act("HistogramRelease", lambda c, e: hr.HistogramRelease(epsilon=e).release(c))
    mixed = [Query.where(DOMAIN, {"a": 0}), Query.where(DOMAIN, {"a": 1, "b": 1}), Query.total()]
    pairs = marginals(DOMAIN, 2)
    one_act("Factorization", lambda c, e: hr.Factorization(epsilon=e).release(c, pairs), delta=DELTA)
    one_act("Factorization", lambda c, e: hr.Factorization(epsilon=e).release(c, mixed), delta=DELTA)
    one_act("Projection", lambda c, e: hr.Projection(epsilon=e).release(c, ones), delta=DELTA)
    one_act(
        "RandomizedResponse",
        lambda c, e: hr.RandomizedResponse(epsilon=e, by="attribute").release(c),
        relations=("replace",),
        share=0.6,
    )
    names = tuple(p for r in BOTH for k in (1, 3) for p in neighbouring_names(r, k))
    sketch = hr.SparseProject(size=8, blocks=2, length=4, rows=4, seed=bytes(32))
    one_act("SparseProject", lambda c, e: replace(sketch, epsilon=e).release(c), pairs=names, delta=DELTA)
    one_act("SparseProject", _paper_sketch, pairs=names, delta=DELTA)
    trios = tuple(neighbouring_trios(r, k)[0] for r in BOTH for k in (1, 3))
    for delta in (
        0.0,
        DELTA,
    ):  # Laplace noise and permute-and-flip; Gaussian noise and the exponential mechanism
        several_acts("AdaptiveRelease", _adaptive, pairs=trios[::3], delta=delta)
    each_act("AdaptiveRelease", _adaptive, trios, 3, scale=3.0)
    _register_conversations(names)
    _register_offline(trios)
    _register_boosting()
    _register_session()
    boost = hr.BoostQueries(samples=3, rounds=2)
    several_acts(
        "BoostQueries",
        lambda c, e: replace(boost, epsilon=e).release(c, ones),
        pairs=(neighbouring_tables("add_remove", 3)[0], neighbouring_tables("replace")[0]),
        delta=DELTA,
        share=0.1,
    )
    low = [hr.LargestGap("a", 9), hr.LargestCount("a"), hr.LevelsAbove("a", 2)]
    several_acts(
        "BoostQueries",
        lambda c, e: replace(boost, epsilon=e).release(c, low),
        pairs=(neighbouring_levels("add_remove")[1], neighbouring_levels("replace")[0]),
        delta=DELTA,
        share=0.1,
    )
    stream("above_threshold", "above_threshold", lambda c, e: p.above_threshold(c, 3, e))
    stream("sparse", "sparse", lambda c, e: p.sparse(c, 3, 2, e))
    stream("sparse", "sparse, one threshold", lambda c, e: p.sparse(c, 3, 2, e, restart=False))
    stream("numeric_sparse", "numeric_sparse", lambda c, e: p.numeric_sparse(c, 3, 2, e))
    stream("numeric_sparse", "numeric_sparse, delta", lambda c, e: p.numeric_sparse(c, 3, 2, e, DELTA), DELTA)
    stream("gaussian_sparse", "gaussian_sparse", _gaussian_sparse, DELTA)
    for side in ("over", "under"):
        register("one_sided", Case(f"one_sided, {side}", partial(_one_sided, side), tables(("add_remove",))))


def _register_offline(trios: tuple[tuple[World, World], ...]) -> None:
    """SmallDB: total and choice; offline multiplicative weights as the theorem has it, and tuned."""
    import hedgerow as hr
    from hedgerow.queries.workload import marginals

    ones, runs = marginals(DOMAIN, 1), count()
    mixed = [Query.where(DOMAIN, {"a": 0}), Query.where(DOMAIN, {"a": 1, "b": 1})]
    small, theorem, tuned = hr.SmallDB(alpha=0.9), hr.OfflineMW(alpha=0.9), hr.OfflineMW(rounds=1)

    def named(mechanism: Any, workload: Any) -> Act:
        return lambda c, e: replace(mechanism, epsilon=e, run=str(next(runs))).release(c, workload)

    few = (neighbouring_tables("add_remove", 3)[0], neighbouring_tables("replace")[0])
    for delta in (0.0, DELTA):
        several_acts("SmallDB", named(small, ones), pairs=few, delta=delta)
        several_acts("OfflineMW", named(theorem, mixed), pairs=few, delta=delta)
        several_acts("OfflineMW", named(tuned, marginals(TRIO, 2)), pairs=trios[:2], delta=delta)
    apart = [Query.where(DOMAIN, {"a": 0}), Query.where(DOMAIN, {"a": 2})]  # a swap moves both scores
    each_act("OfflineMW", named(theorem, mixed[:1]), few[:1], 3, scale=18.0)  # total, choice, measurement
    each_act("OfflineMW", named(theorem, apart), few[1:], 2, scale=18.0)
    each_act("OfflineMW", named(tuned, marginals(TRIO, 2)), trios, 3, scale=3.0)


def _register_conversations(names: tuple[tuple[World, World], ...]) -> None:
    """Interactive mechanisms: the total, then trips, values and updates that follow from them."""
    import hedgerow as hr

    counted: dict[str, Any] = {"updates": 2, "queries": 4, "threshold": 1.0}
    declared = counted | {"updates": 1, "rows": 5}  # nearly all of the claim is in one comparison
    asks = insistent([Query.where(DOMAIN, {"a": 0}), Query.where(DOMAIN, {"a": 2, "b": 1})])
    named = insistent([hr.SparseQuery.of({"oak": 1, "elm": 1}), hr.SparseQuery.of({"yew": 1})])

    made: list[tuple[str, Any, Any, Any]] = [
        (name, kind(options), ask, pairs)
        for name, kind, ask, pairs in (
            ("OnlineMW", lambda o: hr.OnlineMW(**o), asks, tables()),
            ("SparseMW", lambda o: hr.SparseMW(sparsity=2, **o), named, names),
        )
        for options in (counted, declared)
    ]
    for name, mechanism, ask, pairs in made:

        def draw(
            epsilon: float,
            world: World,
            size: int,
            name: str = name,
            mechanism: Any = mechanism,
            ask: Any = ask,
        ) -> NDArray[Any]:
            budget = claim(epsilon, 0)
            outputs, events = conversations(mechanism, ask, budget, world, size)
            _refuse_dearer(name, events, budget)
            return outputs

        register(name, Case(name, draw, pairs, share=0.4))


def _register_session() -> None:
    """Priming, then an answer measured for itself; the comparisons are audited as `one_sided`."""
    import hedgerow as hr

    runs = count()

    def act(curator: Curator, epsilon: float) -> None:
        session = hr.Session(epsilon=epsilon / 2, name=str(next(runs))).open(curator)
        coarse = 2 + 4 * curator.privacy.max_rows / epsilon
        session.ask(Query.where(DOMAIN, {"a": 0}), within_count=coarse, confidence=0.5)

    few = (neighbouring_tables("add_remove", 3)[0], neighbouring_tables("replace")[0])
    for delta in (0.0, DELTA):
        one_act("Session", lambda c, e: hr.Session(epsilon=e).open(c), delta=delta)
    several_acts("Session", act, pairs=few, share=0.1)


def _register_boosting() -> None:
    """One round of each mode against a row of full weight, drawn often; and whole runs."""
    import hedgerow as hr
    from hedgerow.learning.histogram_learner import HistogramLearner

    name, learner = "BoostedClassifier", HistogramLearner(rounds=2)
    paper: dict[str, Any] = {"mode": "theorem", "gamma": 0.5, "eta": 0.4}
    swaps = tuple(neighbouring_tables("replace", 1))
    one_act(name, lambda c, e: c.measure(full_weight(c), e), delta=DELTA)
    one_act(name, lambda c, e: _smooth_round(c, e), pairs=swaps)
    several_acts(
        name,
        lambda c, e: hr.BoostedClassifier(e, DELTA, base_learner=learner).fit_curator(c),
        pairs=(*neighbouring_tables("add_remove", 1), *swaps),
        delta=DELTA,
        share=0.1,
    )
    several_acts(
        name, lambda c, e: hr.BoostedClassifier(e, 0, **paper).fit_curator(c), pairs=swaps, share=0.1
    )


def full_weight(curator: Curator) -> Any:
    """Weighted counts after a history that gets rows with a = 0 or a = 2 as wrong as can be."""
    from hedgerow.curator.weighted import REACH, STEPS, WeightedSums
    from hedgerow.mechanisms.boost_rounds import logistic_weights
    from hedgerow.queries.column import Column

    margins = {"a": np.array([REACH, STEPS, -REACH])}
    columns = (Column("a", [0, 1, 2], [1, 1, 1]), Column("b", [0, 1], [2, 2]))
    return WeightedSums("b", [0, 1], 0, margins, logistic_weights(), columns)


def _smooth_round(curator: Curator, epsilon: float) -> Any:
    """A round of the theorem's mode after two hypotheses, at the whole of an epsilon claim."""
    from fractions import Fraction

    from hedgerow.curator.smooth import SmoothRound, weak_hypothesis
    from hedgerow.mechanisms.boost_rounds import penalties_of, stumps

    cap, samples = 3, max(1, int(3 * epsilon / 2))
    base = min(Fraction(1, 2), Fraction(epsilon) * cap / (4 * samples))
    votes = {"a": np.array([2, 0, -2])}
    offered = {"a": stumps(DOMAIN["a"])}
    return weak_hypothesis(
        curator, SmoothRound("b", np.array([0, 1]), votes, penalties_of(0.7, 2), offered, cap, samples, base)
    )


def _paper_sketch(curator: Curator, epsilon: float) -> Any:
    """The paper's Laplace noise on a small sketch, for the whole of an (epsilon, DELTA) claim."""
    from hedgerow.curator.sketch import measure_sketch
    from hedgerow.queries.sketch_matrix import SketchMatrix

    matrix = SketchMatrix(6, bytes(32), columns="signs", independence=4)
    return measure_sketch(curator, matrix, epsilon, noise="laplace")


def _one_sided(side: Literal["over", "under"], epsilon: float, world: World, size: int) -> NDArray[Any]:
    """Independent one-sided runs: where each tripped. Exactly enumerated in `audit.one_sided`."""
    from hedgerow import primitives

    run = primitives.one_sided(world.curator(claim(epsilon, 0)), 3, epsilon, side=side)
    queries = [Query.where(DOMAIN, {"a": 0})] * 8 + [Query.where(DOMAIN, {"a": 2})]
    values = np.array(values_of(world, [(q, 0.0 if side == "over" else 6.0) for q in queries], run.plan))
    starts = (begin(run.plan, os_entropy) for _ in range(size))
    said = (advance(run.plan, start, values, os_entropy) for start in starts)
    return np.array([[asked, places.size] for _, places, _, asked in said])


def _adaptive(curator: Curator, epsilon: float) -> Any:
    """One-way tables, a choice by what they said, the chosen table."""
    from hedgerow.mechanisms.adaptive import AdaptiveRelease
    from hedgerow.queries.workload import marginals

    return AdaptiveRelease(epsilon=epsilon, measurements=1).release(curator, marginals(TRIO, 2))


def _gaussian_sparse(curator: Curator, epsilon: float) -> SparseVectorRun:
    """The whole of an (epsilon, DELTA) claim spent on one run."""
    from hedgerow import primitives
    from hedgerow.privacy.budget import Cost, exact

    price_of_claim = Cost("rho", exact(epsilon) ** 2 / 2)
    return primitives.gaussian_sparse(curator, 3, 1, 100, price_of_claim, DELTA)


_register_all()
