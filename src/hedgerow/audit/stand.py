"""Stand: what a mechanism's card is given to register its audits: small worlds, questions, ways to run it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count
from typing import Any

from numpy.typing import NDArray

from hedgerow.audit.case import (
    BOTH,
    Act,
    Case,
    Relation,
    claim,
    each_act,
    one_act,
    refuse_dearer,
    register,
    several_acts,
    tables,
)
from hedgerow.audit.conversation import conversations, insistent
from hedgerow.audit.neighbours import (
    DOMAIN,
    TRIO,
    neighbouring_levels,
    neighbouring_names,
    neighbouring_tables,
    neighbouring_trios,
)
from hedgerow.audit.rehearsal import World
from hedgerow.mechanisms.card import Card
from hedgerow.queries.low_sensitivity import LargestCount, LargestGap, LevelsAbove
from hedgerow.queries.query import Query, SparseQuery
from hedgerow.queries.workload import marginals

DELTA = 0.01  # large enough that an audit of an (epsilon, delta) claim has something to find
Worlds = tuple[tuple[World, World], ...]


@dataclass(frozen=True)
class Stand:
    """Registers the audits of one mechanism, as `hedgerow.mechanisms.card.Auditor` says."""

    card: Card
    delta: float = DELTA
    domain: Any = DOMAIN

    def pairs(self, kind: str = "tables", *, people: Sequence[int] = (1, 3), replace: bool = False) -> Worlds:
        """Neighbouring worlds for rows and for people with several, under both relations or swaps alone."""
        relations: tuple[Relation, ...] = ("replace",) if replace else BOTH
        if kind == "few":
            return (neighbouring_tables("add_remove", 3)[0], neighbouring_tables("replace")[0])
        if kind == "trios":
            return tuple(neighbouring_trios(r, k)[0] for r in relations for k in people)
        if kind == "levels":
            return tuple(p for r in relations for p in neighbouring_levels(r))
        made: Callable[[Relation, int], Any] = _WORLDS[kind]
        return tuple(p for r in relations for k in people for p in made(r, k))

    def workload(self, name: str) -> Any:
        """Something small to ask."""
        return _asked()[name]

    def one_act(
        self,
        workload: Any = None,
        *,
        act: Act | None = None,
        worlds: Worlds | None = None,
        delta: float = 0.0,
        share: float = 1.0,
        **parameters: Any,
    ) -> None:
        """The mechanism, or `act`, makes exactly one private act: it is drawn over and over."""
        made = act or self.act(workload, **parameters)
        one_act(self.card.name, made, pairs=worlds, delta=delta, share=share)

    def several_acts(
        self,
        workload: Any = None,
        *,
        act: Act | None = None,
        worlds: Worlds | None = None,
        delta: float = 0.0,
        share: float = 0.2,
        **parameters: Any,
    ) -> None:
        """The mechanism, or `act`, makes several: every sample is a whole run."""
        made = act or self.act(workload, **parameters)
        several_acts(self.card.name, made, pairs=worlds, delta=delta, share=share)

    def each_act(self, workload: Any, acts: int, *, worlds: Worlds, scale: float, **parameters: Any) -> None:
        """The first acts one by one, each given its history."""
        each_act(self.card.name, self.act(workload, **parameters), worlds, acts, scale=scale)

    def conversation(
        self, questions: Sequence[Any], *, worlds: Worlds | None = None, **parameters: Any
    ) -> None:
        """Whole conversations: the first question again and again, then the others, the last again."""
        name, ask, mechanism = self.card.name, insistent(questions), self.card.make(**parameters)

        def draw(epsilon: float, world: World, size: int) -> NDArray[Any]:
            budget = claim(epsilon, 0)
            outputs, events = conversations(mechanism, ask, budget, world, size)
            refuse_dearer(name, events, budget)
            return outputs

        register(name, Case(name, draw, tables() if worlds is None else worlds, share=0.4))

    def act(self, workload: Any = None, *, named: bool = False, **parameters: Any) -> Act:
        """The mechanism run at an epsilon; each of its runs by a name of its own, if they are to have one."""
        runs = count()

        def release(curator: Any, epsilon: float) -> Any:
            own = parameters | ({"run": str(next(runs))} if named else {})
            asked = () if workload is None else (workload,)
            return self.card.make(epsilon=epsilon, **own).release(curator, *asked)

        return release


_WORLDS: dict[str, Any] = {"tables": neighbouring_tables, "names": neighbouring_names}


@cache
def _asked() -> dict[str, Any]:
    one, other = Query.where(DOMAIN, {"a": 0}), Query.where(DOMAIN, {"a": 1, "b": 1})
    return {
        "ones": marginals(DOMAIN, 1),
        "pairs": marginals(DOMAIN, 2),
        "trio pairs": marginals(TRIO, 2),
        "one": [one],
        "two": [one, other],
        "mixed": [one, other, Query.total()],
        "apart": [one, Query.where(DOMAIN, {"a": 2})],  # a swap moves both scores
        "distant": [one, Query.where(DOMAIN, {"a": 2, "b": 1})],
        "low": [LargestGap("a", 9), LargestCount("a"), LevelsAbove("a", 2)],
        "names": [SparseQuery.of({"oak": 1, "elm": 1}), SparseQuery.of({"yew": 1})],
    }
