"""Which audits belong to which exported mechanism, and all of them run; one without fails a test."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from types import ModuleType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.betting import bet
from hedgerow.audit.case import (
    AUDITS,
    Case,
    claim,
    one_act,
    register,
    stream,
    tables,
)
from hedgerow.audit.finding import Finding
from hedgerow.audit.neighbours import DOMAIN
from hedgerow.audit.one_sided import values_of
from hedgerow.audit.rehearsal import World
from hedgerow.audit.stand import DELTA, Stand
from hedgerow.audit.statistical import Progress, audit
from hedgerow.curator.curator import Curator
from hedgerow.curator.noise.noise import os_entropy
from hedgerow.curator.runs.comparison import advance, begin
from hedgerow.curator.runs.sparse_vector import SparseVectorRun
from hedgerow.mechanisms import cards
from hedgerow.queries.query import Query


def exported() -> list[str]:
    """The mechanisms that have a card, and what is in `primitives`: whatever must have an audit."""
    from hedgerow import primitives

    return [*(card.name for card in cards.every()), *_functions(primitives)]


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
    """Mechanisms as their cards say, then the primitives."""
    for card in cards.every():
        card.audits(Stand(card))
    from hedgerow import primitives as p

    table, levels = ("a", "b"), p.LevelCounts("a")
    one_act("laplace", lambda c, e: p.laplace(c, table, e))
    one_act("gaussian", lambda c, e: p.gaussian(c, table, e), delta=DELTA)
    one_act("exponential", lambda c, e: p.exponential(c, levels, e))
    one_act("permute_and_flip", lambda c, e: p.permute_and_flip(c, levels, e))
    one_act("report_noisy_max", lambda c, e: p.report_noisy_max(c, levels, e))
    one_act("report_noisy_max", lambda c, e: p.report_noisy_max(c, levels, e, noise="laplace"))
    one_act(
        "randomized_response", lambda c, e: p.randomized_response(c, e), relations=("replace",), share=0.6
    )
    stream("above_threshold", "above_threshold", lambda c, e: p.above_threshold(c, 3, e))
    stream("sparse", "sparse", lambda c, e: p.sparse(c, 3, 2, e))
    stream("sparse", "sparse, one threshold", lambda c, e: p.sparse(c, 3, 2, e, restart=False))
    stream("numeric_sparse", "numeric_sparse", lambda c, e: p.numeric_sparse(c, 3, 2, e))
    stream("numeric_sparse", "numeric_sparse, delta", lambda c, e: p.numeric_sparse(c, 3, 2, e, DELTA), DELTA)
    stream("gaussian_sparse", "gaussian_sparse", _gaussian_sparse, DELTA)
    stream("paired_sparse", "paired_sparse", lambda c, e: p.paired_sparse(c, 3, 2, e))
    once: dict[str, Any] = {"threshold_noise": "exponential", "side": "over", "restart": False}
    stream(
        "paired_sparse",
        "paired_sparse, one way",
        lambda c, e: p.paired_sparse(c, 3, 2, e, **once),
        relations=("add_remove",),
    )
    for side in ("over", "under"):
        register("one_sided", Case(f"one_sided, {side}", partial(_one_sided, side), tables(("add_remove",))))


def _one_sided(side: Literal["over", "under"], epsilon: float, world: World, size: int) -> NDArray[Any]:
    """Independent one-sided runs: where each tripped. Exactly enumerated in `audit.one_sided`."""
    from hedgerow import primitives

    run = primitives.one_sided(world.curator(claim(epsilon, 0)), 3, epsilon, side=side)
    queries = [Query.where(DOMAIN, {"a": 0})] * 8 + [Query.where(DOMAIN, {"a": 2})]
    values = np.array(values_of(world, [(q, 0.0 if side == "over" else 6.0) for q in queries], run.plan))
    starts = (begin(run.plan, os_entropy) for _ in range(size))
    said = (advance(run.plan, start, values, os_entropy) for start in starts)
    return np.array([[asked, places.size] for _, places, _, asked in said])


def _gaussian_sparse(curator: Curator, epsilon: float) -> SparseVectorRun:
    """The whole of an (epsilon, DELTA) claim spent on one run."""
    from hedgerow import primitives
    from hedgerow.privacy.budget import Cost, exact

    price_of_claim = Cost("rho", exact(epsilon) ** 2 / 2)
    return primitives.gaussian_sparse(curator, 3, 1, 100, price_of_claim, DELTA)


_register_all()
