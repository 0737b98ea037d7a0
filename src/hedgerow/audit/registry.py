"""Which audits belong to which exported mechanism, and all of them run; one without fails a test."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import count
from multiprocessing import get_context
from types import ModuleType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.betting import bet
from hedgerow.audit.case import (
    AUDITS,
    BOTH,
    Act,
    Case,
    claim,
    each_act,
    one_act,
    refuse_dearer,
    register,
    several_acts,
    stream,
    tables,
)
from hedgerow.audit.conversation import conversations, insistent
from hedgerow.audit.finding import Finding
from hedgerow.audit.neighbours import (
    DOMAIN,
    TRIO,
    neighbouring_levels,
    neighbouring_names,
    neighbouring_tables,
    neighbouring_trios,
)
from hedgerow.audit.one_sided import values_of
from hedgerow.audit.rehearsal import World
from hedgerow.audit.statistical import Progress, audit
from hedgerow.curator.curator import Curator
from hedgerow.curator.noise.noise import os_entropy
from hedgerow.curator.runs.comparison import advance, begin
from hedgerow.curator.runs.sparse_vector import SparseVectorRun
from hedgerow.queries.query import Query

DELTA = 0.01  # large enough that an audit of an (epsilon, delta) claim has something to find


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


def audits(
    epsilons: Sequence[float],
    samples: int,
    seconds: float,
    progress: Progress | None = None,
    only: Sequence[str] | None = None,
    slow: Sequence[float] | None = None,
    processes: int = 1,
) -> Iterator[Finding]:
    """Audit everything registered, or some of it, at each epsilon; `seconds` is for all of them together.

    What is slow to run has the more time the fewer outputs it is to draw, and is audited at the epsilons
    `slow` if they are given; what one audit leaves of its time is for those after it.
    """
    cases = [(n, i, c.slow) for n in (only or AUDITS) for i, c in enumerate(AUDITS[n])]
    chosen = [(n, i, e) for n, i, late in cases for e in (slow if late and slow else epsilons)]
    left = np.cumsum([1 / AUDITS[name][i].share for name, i, _ in chosen][::-1])[::-1]
    deadline = time.time() + seconds
    each = partial(_audit, samples=samples, deadline=deadline, processes=processes)
    if processes == 1:
        yield from map(partial(each, progress=progress), chosen, left)
        return
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        for finding in pool.map(each, chosen, left):
            if progress:
                progress(f"{finding.name}: {finding.samples:,} outputs of each data set")
            yield finding


def _audit(
    chosen: tuple[str, int, float],
    left: float,
    samples: int,
    deadline: float,
    processes: int,
    progress: Progress | None = None,
) -> Finding:
    """One audit, with its part of the time that is left for it and those after it."""
    name, place, epsilon = chosen
    case = AUDITS[name][place]
    seconds = max(0.2, (deadline - time.time()) * processes / case.share / left)
    look, least, part = (bet, 120, 0.1) if case.sequential else (audit, 200, 1.0)
    return look(
        partial(case.draw, epsilon),
        list(case.pairs),
        epsilon if case.claim is None else case.claim(epsilon),
        case.delta,
        samples=max(least, int(samples * case.share * part)),
        batch=True,
        time_limit=0.7 * seconds,  # the rest is for learning and choosing
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
    each_act("AdaptiveRelease", partial(_adaptive, one_way=0.8), trios, 3, scale=3.0)
    each_act("AdaptiveRelease", partial(_adaptive, one_way=0.05), trios, 2, scale=3.0)  # ones, ones again
    _register_conversations(names)
    _register_offline(trios)
    _register_boosting()
    _register_session()
    boost = hr.BoostQueries(samples=2, rounds=2)  # fewer than there are questions, so that it samples
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
            refuse_dearer(name, events, budget)
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
    from hedgerow.learning.learners.histogram_learner import HistogramLearner

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
    from hedgerow.curator.statistics.weighted import REACH, STEPS, WeightedSums
    from hedgerow.mechanisms.boost_people.rounds import logistic_weights
    from hedgerow.queries.strategies.column import Column

    margins = {"a": np.array([REACH, STEPS, -REACH])}
    columns = (Column("a", [0, 1, 2], [1, 1, 1]), Column("b", [0, 1], [2, 2]))
    return WeightedSums("b", [0, 1], 0, margins, logistic_weights(), columns)


def _smooth_round(curator: Curator, epsilon: float) -> Any:
    """A round of the theorem's mode after two hypotheses, at the whole of an epsilon claim."""
    from fractions import Fraction

    from hedgerow.curator.statistics.smooth import SmoothRound, weak_hypothesis
    from hedgerow.mechanisms.boost_people.rounds import penalties_of, stumps

    cap, samples = 3, max(1, int(3 * epsilon / 2))
    base = min(Fraction(1, 2), Fraction(epsilon) * cap / (4 * samples))
    votes = {"a": np.array([2, 0, -2])}
    offered = {"a": stumps(DOMAIN["a"])}
    return weak_hypothesis(
        curator, SmoothRound("b", np.array([0, 1]), votes, penalties_of(0.7, 2), offered, cap, samples, base)
    )


def _paper_sketch(curator: Curator, epsilon: float) -> Any:
    """The paper's Laplace noise on a small sketch, for the whole of an (epsilon, DELTA) claim."""
    from hedgerow.curator.statistics.sketch import measure_sketch
    from hedgerow.queries.strategies.sketch_matrix import SketchMatrix

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


def _adaptive(curator: Curator, epsilon: float, one_way: float = 0.35) -> Any:
    """One-way tables, and again if they are mostly noise; a choice by what they said, the chosen table."""
    from hedgerow.mechanisms.adaptive.adaptive import AdaptiveRelease
    from hedgerow.queries.workload import marginals

    made = AdaptiveRelease(epsilon=epsilon, measurements=1, one_way=one_way)
    return made.release(curator, marginals(TRIO, 2))


def _gaussian_sparse(curator: Curator, epsilon: float) -> SparseVectorRun:
    """The whole of an (epsilon, DELTA) claim spent on one run."""
    from hedgerow import primitives
    from hedgerow.privacy.budget import Cost, exact

    price_of_claim = Cost("rho", exact(epsilon) ** 2 / 2)
    return primitives.gaussian_sparse(curator, 3, 1, 100, price_of_claim, DELTA)


_register_all()
