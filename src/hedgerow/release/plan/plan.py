"""Plan: predict what every mechanism would do, from public numbers and populations, and recommend one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from math import isfinite
from typing import TYPE_CHECKING, Any

from hedgerow.errors import HedgerowError
from hedgerow.homes import HOMES
from hedgerow.mechanisms import cards
from hedgerow.mechanisms.card import Card, first
from hedgerow.mechanisms.task import Task
from hedgerow.release.plan.choice import CLOSE, chosen, why, worth
from hedgerow.release.plan.kinds import by_kind
from hedgerow.release.plan.simulate import publics, refusal, simulate_names
from hedgerow.release.plan.simulate import simulate as try_out
from hedgerow.release.plan.table import Plan, Prediction, number
from hedgerow.release.plan.theorem import promise
from hedgerow.release.plan.winners import winners

__all__ = ["plan", "winners"]

if TYPE_CHECKING:
    from hedgerow.privacy.budget import Budget, Neighbours
    from hedgerow.queries.asked import AnyQuestion
    from hedgerow.queries.domain.domain import Domain, OpenDomain
    from hedgerow.release.plan.population import Crowd

Step = Callable[[str, float | None], None]

_DELTA = "1e-9"


def plan(
    domain: Domain | OpenDomain,
    rows: int,
    workload: AnyQuestion | None = None,
    budget: Budget | None = None,
    neighbours: Neighbours = "add_remove",
    max_rows: int = 1,
    simulate: bool = True,
    *,
    sparsity: int | None = None,
    queries: int | None = None,
    error: float | None = None,
    within: float | None = None,
    step: Step | None = None,
) -> Plan:
    """Predict error, time and memory of every mechanism for a task, and recommend one; reads no private row.

    Args:
        domain: the declared schema, or an `OpenDomain`.
        rows: about how many rows there will be.
        workload: what must be answered well: any question, or a list of them.
        budget: what may be spent; with `error` or `within`, only its delta counts (1e-9 if None).
        neighbours: `add_remove` or `replace`.
        max_rows: the most rows of one protected unit.
        simulate: try mechanisms whose error depends on the data on public populations of the same shape.
        sparsity, queries: for an `OpenDomain` without a workload: names per query, and how many queries.
        error, within: in place of an epsilon, the error of an answer that one can live with, in rows or as a
            part of them: the plan is of about the least epsilon that brings it.
        step: told what is being done and which part of it is done.

    >>> import hedgerow as hr
    >>> domain = hr.Domain({"sex": ["F", "M"], "age": hr.bins(0, 100, 10)})
    >>> one = hr.marginals(domain, [("sex", "age")])
    >>> made = plan(domain, 50_000, one, hr.Budget(epsilon=1, delta=1e-9), simulate=False)
    >>> made.recommended
    'GaussianBaseline'
    """
    from hedgerow.privacy.budget import Budget

    asks = error is not None or within is not None
    known = Budget(epsilon=1, delta=_DELTA) if budget is None and asks else budget
    task = Task.of(domain, rows, workload, known, neighbours, max_rows, sparsity, queries)
    if asks:
        from hedgerow.release.plan.wanted import budget_for, rows_off

        task = task.with_budget(budget_for(task, rows_off(error, within, task.rows), step or _silent))
    return make(task, simulate, step or _silent, questions=True)


def make(
    task: Task,
    simulate: bool,
    step: Step,
    *,
    only: frozenset[str] | None = None,
    questions: bool = False,
    **how: Any,
) -> Plan:
    """The plan of a task; of some mechanisms only, and with errors by kinds of questions, where asked for."""
    everyone = cache(partial(publics, task))
    kept: dict[str, Any] = {}
    rows = predictions(task, simulate, step, only, everyone, promises=True, kept=kept, **how)
    made = _ranked(task, rows, simulate)
    if not questions or not simulate or not made.recommended or task.open_ended:
        return made
    step(f"Planning: which error for which questions of {made.recommended}", None)
    best = made.recommended
    return replace(made, kinds=by_kind(cards.own(best), task, everyone(), kept.get(best)))


def predictions(
    task: Task,
    simulate: bool,
    step: Step,
    only: frozenset[str] | None,
    everyone: Callable[[], list[Crowd]] | None = None,
    *,
    promises: bool = False,
    **how: Any,
) -> list[Prediction]:
    """The error of each mechanism, in no order; whoever decides by errors needs no theorem's promises."""
    tried = planned(task, only)
    everyone = everyone or cache(partial(publics, task))
    rows = []
    for i, card in enumerate(tried):
        step(f"Planning: {card.name}", i / len(tried))
        row = _predict(card, task, promises)
        if simulate and row.refused is None and row.low is None and not row.verdict:
            row = _tried(card, task, row, [] if task.open_ended else everyone(), how)
        rows.append(row)
    return rows


def planned(task: Task, only: frozenset[str] | None = None) -> list[Card]:
    """The mechanisms that a plan of such a task looks at; nobody else's code is loaded for some of ours."""
    ours = only is not None and only <= HOMES.keys()
    known = [cards.own(name) for name in HOMES if name in (only or ())] if ours else cards.every()
    fit = [c for c in known if c.kind in ("offline", "online") and c.open_ended == task.open_ended]
    return [c for c in fit if only is None or c.name in only]


def _predict(card: Card, task: Task, promises: bool) -> Prediction:
    """What is known of a mechanism without trying it."""
    row = Prediction(card.name, card.kind, refused=card.refusal(task))
    if row.refused is not None:
        return row
    if promises:
        row = _promised(card, task, row)
    if card.error is not None:
        error = _closed(card.error, task)
        if error is None:
            return replace(row, refused="the workload is too large or too general for it")
        return replace(row, low=error, high=error, how="closed form")
    skipped = first(card.skips, task)
    return row if skipped is None else replace(row, verdict=f"not simulated: {skipped}")


def _promised(card: Card, task: Task, row: Prediction) -> Prediction:
    """What its theorem says, and what a run takes."""
    said = promise(card, task)
    if said is not None:
        row = replace(
            row,
            bound=said.fraction if said.refused is None else None,
            order_of=said.order_of,
            rows_needed=said.rows_needed if said.refused is None else None,
            theorem=said.theorem,
            parameters=tuple(said.parameters.items()),
            unproved="" if said.refused is None else said.refused,
        )
    seconds, megabytes = card.cost(task)
    return replace(row, seconds=seconds, megabytes=megabytes)


def _closed(error: Callable[[Task], float], task: Task) -> float | None:
    """The closed form of a mechanism's error in rows; None where it refuses."""
    try:
        found = error(task)
    except HedgerowError:
        return None
    return found if isfinite(found) else None


def _tried(card: Card, task: Task, row: Prediction, people: list[Crowd], how: dict[str, Any]) -> Prediction:
    """What a mechanism did on public populations; its own refusal if it refuses."""
    try:
        trial = simulate_names(card, task) if task.open_ended else try_out(card, task, people, **how)
    except HedgerowError as error:
        return replace(
            row,
            refused=refusal(error),
            bound=None,
            rows_needed=None,
            parameters=(),
            seconds=None,
            megabytes=None,
        )
    return replace(
        row,
        low=trial.low,
        high=trial.high,
        how="simulated",
        seconds=trial.seconds,
        megabytes=row.megabytes if trial.megabytes is None else trial.megabytes,
        errors=tuple(trial.errors.items()),
    )


# ---- verdicts --------------------------------------------------------------------------------------------


def _ranked(task: Task, rows: list[Prediction], simulated: bool) -> Plan:
    """Rows in order of their error, each with its verdict, and the advice."""
    known = [r for r in rows if r.refused is None and r.low is not None]
    offline = sorted((r for r in known if r.kind == "offline"), key=worth)
    best = chosen(task, rows)
    because = why(task, best, rows) if best is not None else ""
    order = {"offline": 0, "online": 1}
    rows = sorted(rows, key=lambda r: (r.refused is not None, order[r.kind], worth(r)))
    judged = tuple(replace(r, verdict=_verdict(r, best, task)) for r in rows)
    name = best.mechanism if best is not None else ""
    return Plan(task, judged, name, _advice(task, best, offline, known, simulated), simulated, because)


def _verdict(row: Prediction, best: Prediction | None, task: Task) -> str:
    """One sentence on whether a mechanism suits the task, beside the best one."""
    if row.refused is not None:
        return f"not applicable: {row.refused}"
    said = row.verdict
    if not said:
        said = _comparison(row, best)
    if row.vacuous:
        need = row.rows_needed or float("inf")
        wanted = f", which needs {number(need)} rows for {100 * task.within:g}%" if isfinite(need) else ""
        said += f"; its theorem is vacuous here{wanted}"
    if row.unproved:
        said += f"; its theorem cannot be run here: {row.unproved}"
    return said


def _comparison(row: Prediction, best: Prediction | None) -> str:
    if row.error is None or best is None or best.error is None:
        return "its error depends on the data; simulate to estimate it"
    if row.mechanism == best.mechanism:
        return "best"
    ratio = row.error / best.error if best.error else 1.0 + row.error
    if row.kind == "online":
        return f"question by question, {number(ratio)} times the error of {best.mechanism}"
    if ratio <= CLOSE:
        return f"as good as {best.mechanism}"
    if ratio < 1.0 and not cards.card(row.mechanism).stated:
        return f"{number(ratio)} times the error of {best.mechanism}, but it cannot say how sure that is"
    overlap = row.low is not None and best.high is not None and row.low < best.high
    return f"{number(ratio)} times the error of {best.mechanism}" + (", ranges overlap" if overlap else "")


def _advice(
    task: Task,
    best: Prediction | None,
    offline: list[Prediction],
    known: list[Prediction],
    simulated: bool,
) -> str:
    if best is None or best.error is None:
        return "No mechanism can be recommended: none that applies has a known error here."
    share = 100.0 * best.error / task.rows
    said = f"Recommended: {best.mechanism}, with an error of about {number(best.error)} rows ({share:.2g}%)."
    if noise := cards.card(best.mechanism).plain:
        what = "tables" if task.workload is not None and task.asked.is_tables else "answers"
        said += f" Plain {noise} noise on the {what} wins here, and its error is known beforehand."
    elif best.how == "simulated":
        plain = [r for r in offline if cards.card(r.mechanism).plain]
        if plain and best.high is not None and plain[0].error is not None and plain[0].error < best.high:
            said += f" On some data {plain[0].mechanism} ({number(plain[0].error)} rows) is better."
        said += " Its error depends on the data."
    online = sorted((r for r in known if r.kind == "online"), key=worth)
    if online:
        said += f" For questions that are not known yet: {online[0].mechanism}."
    if not simulated:
        said += " Mechanisms whose error depends on the data were not tried."
    if best.error >= task.rows / 10:
        said += " Even this is more than a tenth of the rows: spend more, or ask for less."
    return said


def _silent(words: str, part: float | None) -> None:
    """A step that nobody watches."""
