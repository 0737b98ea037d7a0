"""Cases: what there is to refute about a mechanism, and the ways to make one from its own code.

A mechanism that makes one private act is registered with `one_act` (fast: the act is drawn many times), one
that makes several with `several_acts` (every sample is a whole run and its transcript - all that left the
curator - is what is attacked). Both go through the real statistics, sensitivity, calibration and samplers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.act_by_act import ActByAct
from hedgerow.audit.ledger_replay import price
from hedgerow.audit.neighbours import DOMAIN, neighbouring_tables
from hedgerow.audit.rehearsal import World, repeated, runs_of, whole_runs
from hedgerow.curator.curator import Curator
from hedgerow.curator.noise.noise import os_entropy
from hedgerow.curator.runs.comparison import advance, begin
from hedgerow.curator.runs.sparse_vector import SparseVectorRun
from hedgerow.errors import HedgerowError
from hedgerow.privacy.budget import Budget
from hedgerow.queries.query import Query

Act = Callable[[Curator, float], Any]
Relation = Literal["add_remove", "replace"]
BOTH: tuple[Relation, ...] = ("add_remove", "replace")


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
    sequential: bool = False  # by bets, which need a tenth of the outputs

    @property
    def slow(self) -> bool:
        """Whether it takes so long to run that one epsilon must do where time is short."""
        return self.share < 0.5


AUDITS: dict[str, list[Case]] = {}


def register(mechanism: str, case: Case) -> None:
    """Add an audit for an exported name."""
    AUDITS.setdefault(mechanism, []).append(case)


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
        refuse_dearer(mechanism, events, budget)
        return outputs

    worlds = tables(relations) if pairs is None else pairs
    register(mechanism, Case(mechanism, draw, worlds, delta, share))
    _returned(mechanism, act, worlds, delta)


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
        refuse_dearer(mechanism, events, budget)
        return outputs

    worlds = tables() if pairs is None else pairs
    register(mechanism, Case(mechanism, draw, worlds, delta, share))
    _returned(mechanism, act, worlds, delta)


def _returned(mechanism: str, act: Act, pairs: tuple[tuple[World, World], ...], delta: float) -> None:
    """What a mechanism hands back, not only what left the curator: one audit for each name."""
    if any(case.sequential for case in AUDITS[mechanism]):
        return

    def draw(epsilon: float, world: World, size: int) -> list[list[Any]]:
        return runs_of(lambda c: act(c, epsilon), claim(epsilon, delta), result_only=True)(world, size)

    few = pairs[:1] + pairs[-1:]
    register(mechanism, Case(f"{mechanism}, returned", draw, few, delta, share=0.3, sequential=True))


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


def refuse_dearer(mechanism: str, events: Sequence[Any], budget: Budget) -> None:
    """By the audit's own arithmetic, what was charged fits into the claim."""
    spent = sum((price(e.to_json(), budget.currency)[0] for e in events), budget.cost.amount * 0)
    if spent > budget.cost.amount:
        raise HedgerowError(f"{mechanism} made acts that cost more than it was given")


def stream(
    mechanism: str,
    name: str,
    open_run: Callable[[Curator, float], SparseVectorRun],
    delta: float = 0.0,
    relations: Sequence[Relation] = BOTH,
) -> None:
    """Register a sparse vector: real calibration and opening, then `begin` and `advance` over and over."""
    queries = [Query.where(DOMAIN, {"a": 0})] * 8 + [Query.where(DOMAIN, {"a": 2})]

    def draw(epsilon: float, world: World, size: int) -> NDArray[Any]:
        run = open_run(world.curator(Budget(rho=10**6, delta=0.5) if delta else claim(epsilon, 0)), epsilon)
        return stream_outputs(run, queries, size)

    register(mechanism, Case(name, draw, tables(relations), delta))


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
