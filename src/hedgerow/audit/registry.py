"""Which audit belongs to which exported mechanism; a mechanism without one fails a test.

A mechanism that makes one private act is registered with `one_act` (fast: the act is drawn many times), one
that makes several with `several_acts` (every sample is a whole run and its transcript - all that left the
curator - is what is attacked). Both go through the real statistics, sensitivity, calibration and samplers.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.finding import Finding
from hedgerow.audit.ledger_replay import price
from hedgerow.audit.neighbours import DOMAIN, neighbouring_tables
from hedgerow.audit.rehearsal import World, repeated, whole_runs
from hedgerow.audit.statistical import Progress, audit
from hedgerow.curator.curator import Curator
from hedgerow.curator.noise import os_entropy
from hedgerow.curator.sparse_vector import SparseVectorRun, advance, begin
from hedgerow.errors import HedgerowError
from hedgerow.privacy.budget import Budget
from hedgerow.queries.query import Query

Act = Callable[[Curator, float], Any]
Relation = Literal["add_remove", "replace"]
BOTH: tuple[Relation, ...] = ("add_remove", "replace")
DELTA = 0.01  # large enough that an audit of an (epsilon, delta) claim has something to find


@dataclass(frozen=True)
class Case:
    """One thing to refute: a sampler of outputs, the neighbours to search, and the claim's delta."""

    name: str
    draw: Callable[[float, World, int], Any]
    pairs: tuple[tuple[World, World], ...]
    delta: float = 0.0
    share: float = 1.0  # of the samples: for mechanisms that are slow to run


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
    mechanism: str, act: Act, *, relations: Sequence[Relation] = BOTH, delta: float = 0.0, share: float = 1.0
) -> None:
    """Register a mechanism that makes exactly one private act."""

    def draw(epsilon: float, world: World, size: int) -> NDArray[Any]:
        budget = claim(epsilon, delta)
        outputs, events = repeated(world, budget, lambda c: act(c, epsilon), size)
        _refuse_dearer(mechanism, events, budget)
        return outputs

    register(mechanism, Case(mechanism, draw, tables(relations), delta, share))


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
                epsilon,
                case.delta,
                samples=max(1000, int(samples * case.share)),
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
    one_act(
        "RandomizedResponse",
        lambda c, e: hr.RandomizedResponse(epsilon=e, by="attribute").release(c),
        relations=("replace",),
        share=0.6,
    )
    stream("above_threshold", "above_threshold", lambda c, e: p.above_threshold(c, 3, e))
    stream("sparse", "sparse", lambda c, e: p.sparse(c, 3, 2, e))
    stream("sparse", "sparse, one threshold", lambda c, e: p.sparse(c, 3, 2, e, restart=False))
    stream("numeric_sparse", "numeric_sparse", lambda c, e: p.numeric_sparse(c, 3, 2, e))
    stream("numeric_sparse", "numeric_sparse, delta", lambda c, e: p.numeric_sparse(c, 3, 2, e, DELTA), DELTA)
    stream("gaussian_sparse", "gaussian_sparse", _gaussian_sparse, DELTA)


def _gaussian_sparse(curator: Curator, epsilon: float) -> SparseVectorRun:
    """The whole of an (epsilon, DELTA) claim spent on one run."""
    from hedgerow import primitives
    from hedgerow.privacy.budget import Cost, exact

    price_of_claim = Cost("rho", exact(epsilon) ** 2 / 2)
    return primitives.gaussian_sparse(curator, 3, 1, 100, price_of_claim, DELTA)


_register_all()
