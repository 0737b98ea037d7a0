"""Recommended: what `auto` uses - the plan's own recommendation for a release, from public numbers only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from hedgerow.homes import HOMES
from hedgerow.mechanisms import cards
from hedgerow.mechanisms.task import MOST_ROWS, Task
from hedgerow.release.plan.choice import chosen, why
from hedgerow.release.plan.plan import predictions

if TYPE_CHECKING:
    from hedgerow.mechanisms.card import Card
    from hedgerow.privacy.budget import Budget, Privacy
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.workload import Workload

Step = Callable[[str, float | None], None]
ASSUMED = 50_000
"""How many rows are planned for where nobody said, or measured, how many there are."""


@dataclass(frozen=True)
class Recommended:
    """A mechanism for a release, and why.

    Args:
        card: the mechanism.
        why: a line for people.
    """

    card: Card
    why: str


def recommend(
    domain: Domain,
    asked: Workload,
    budget: Budget,
    privacy: Privacy,
    rows: float | None = None,
    *,
    takes: frozenset[str] = frozenset(),
    step: Step = lambda words, part: None,
) -> Recommended:
    """The mechanism that a plan of this release recommends; no row is read, and nothing is charged.

    Args:
        domain: the declared schema.
        asked: what the release should answer well.
        budget: what it may spend.
        privacy: whom it protects.
        rows: about how many rows there are, as declared or measured; `ASSUMED` if nobody said.
        takes: what the mechanism is going to be told, see `Card.takes`.
        step: told what is being done.
    """
    ours = [c for c in map(cards.own, HOMES) if c.kind == "offline" and c.stated and not c.open_ended]
    suited = [c for c in ours if takes <= c.takes]
    if takes and len(suited) == 1:
        return Recommended(suited[0], f"the only one that takes {', '.join(sorted(takes))}")
    many = ASSUMED if rows is None else min(max(1, round(rows)), MOST_ROWS)
    task = Task(domain, many, asked, budget, privacy, 0, len(asked))
    found = _planned(_Asked.of(task, tuple(c.name for c in suited), step))
    if rows is not None or not found.why:
        return found
    return Recommended(found.card, f"{found.why} (planned for {ASSUMED:,} rows, as nobody said how many)")


@dataclass(frozen=True)
class _Asked:
    """A task and the mechanisms that are compared, known again by what they say."""

    said: tuple[object, ...]
    names: tuple[str, ...]
    task: Task = field(compare=False)
    step: Step = field(compare=False)

    @classmethod
    def of(cls, task: Task, names: tuple[str, ...], step: Step) -> _Asked:
        cost = task.budget.cost
        whom = (task.privacy.neighbours, task.privacy.max_rows)
        said = (task.finite.fingerprint, task.asked.digest, task.rows, cost.currency, cost.amount)
        return cls((*said, task.budget.delta_exact, *whom), names, task, step)


@lru_cache(maxsize=64)
def _planned(asked: _Asked) -> Recommended:
    """What the errors of a plan say, and nothing else of it: no theorem's promises, no verdicts."""
    task = asked.task
    rows = predictions(task, True, asked.step, frozenset(asked.names))
    if (best := chosen(task, rows)) is not None:
        return Recommended(cards.own(best.mechanism), why(task, best, rows))
    plain = "LaplaceBaseline" if task.pure else "GaussianBaseline"
    return Recommended(cards.own(plain), "")  # none suits: it says itself why not
