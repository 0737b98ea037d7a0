"""What one recorded run must satisfy by itself: every number has one fresh draw of the law that was paid for.

Written a second time, from the events that the ledger holds and not from the code that drew: a measurement
is its exact value plus the numbers that a sampler of the declared law and scale reported, in order, all of
them and each once; a choice was made by the exact scores at the declared epsilon; a sparse vector's
outcomes follow from its exact differences, its threshold and its draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.coupled.names import unlawful_names
from hedgerow.audit.coupled.refined import unlawful_refining
from hedgerow.audit.coupled.tape import Draw, Met, Played
from hedgerow.curator.runs.one_sided_plan import OneSidedPlan
from hedgerow.curator.runs.paired import PairedPlan
from hedgerow.curator.statistics.frequent_names import NameCounts
from hedgerow.curator.statistics.small_range import Levels
from hedgerow.privacy import events
from hedgerow.privacy.event import Event

CHOICES = ("exponential", "permute_and_flip", "exponential_levels", "report_noisy_max")
Part = tuple[Event, int, Any, Any]


def parts(met: Met) -> list[Part]:
    """The simple acts of a meeting, each with how often it happens, what met and what was drawn."""
    if isinstance(met.exact, Mapping):
        return []  # the tables of an act of somebody else's, which says nothing of how it draws
    many = met.event.events if isinstance(met.event, events.Together) else (met.event,)
    exact = met.exact if isinstance(met.exact, list) else [met.exact]
    if not len(many) == len(exact) == len(met.drawn):
        return []
    leaves = [list(e.leaves()) for e in many]
    if any(len(leaf) != 1 for leaf in leaves):
        return []
    return [(*leaf[0], x, said) for leaf, x, said in zip(leaves, exact, met.drawn, strict=True)]


def unlawful(played: Played, *, scripted: bool = False) -> Iterator[str]:
    """Sentences about draws that are not what was declared."""
    for number, met in enumerate(played.met):
        if met.drawn is not None:
            found = _comparison(met) if met.plan is not None else _act(met)
            yield from (f"act {number + 1} ({met.told}): {words}" for words in found)
    yield from _charges(played)
    yield from unlawful_refining(played)
    if not scripted:
        yield from _thresholds(played)


def _act(met: Met) -> Iterator[str]:
    draws = [] if isinstance(met.exact, Mapping) else list(met.draws)
    if isinstance(met.exact, NameCounts) and isinstance(met.event, events.ZCDP):
        yield from unlawful_names(met.event, met.exact, met.drawn, draws)
        return
    for leaf, times, exact, said in parts(met):
        if isinstance(leaf, events.Laplace):
            yield from _noise("laplace", leaf.scale, exact, said, draws)
        elif isinstance(leaf, events.RefinedLaplace):
            draws.clear()  # see `unlawful_refining`
        elif isinstance(leaf, events.Gaussian):
            yield from _noise("gaussian", leaf.sigma, exact, said, draws)
        elif isinstance(leaf, events.Exponential | events.PermuteAndFlip):
            yield from _choice(leaf.epsilon, times, exact, draws)
        elif isinstance(leaf, events.ReportNoisyMax):
            sensitivity = Fraction(draws[0].about[1]) if draws and draws[0].law in CHOICES else Fraction(0)
            yield from _choice(leaf.epsilon, times, exact, draws)
            yield from _noisy_max(2 * sensitivity / leaf.epsilon, exact, said, draws)
        elif isinstance(leaf, events.RandomizedRecord):
            yield from _reports(leaf.epsilon, exact, said, draws)
        else:
            return
    if draws:
        yield f"{len(draws)} draws more than there are numbers"


def _noise(law: str, scale: Fraction, exact: Any, said: Any, draws: list[Draw]) -> Iterator[str]:
    if not draws:
        yield "numbers were released with no draw of their own"
        return
    draw = draws.pop(0)
    if draw.law != law or draw.about[0] != scale:
        yield f"{law} noise of scale {scale} was declared, {draw.law} of scale {draw.about[0]} was drawn"
    elif draw.about[1].size != np.size(exact):
        yield f"{np.size(exact)} numbers were released with {draw.about[1].size} draws"
    elif np.asarray(exact).dtype.kind == "f":
        yield "what met noise was no whole number: floats tell more of rows than what they are rounded to"
    elif not np.array_equal(np.ravel(exact) + draw.about[1], np.ravel(said)):
        yield "what was released is not the exact value plus its own fresh draws"


def _choice(epsilon: Fraction, times: int, exact: Any, draws: list[Draw]) -> Iterator[str]:
    if not draws or draws[0].law not in CHOICES:
        yield "a choice was declared and none was drawn"
        return
    scores, _, paid, drawn = draws.pop(0).about
    if paid != epsilon:
        yield f"a choice at epsilon {epsilon} was declared, one at {paid} was drawn"
    if drawn != times:
        yield f"{times} choices were declared, {drawn} were drawn"
    if not isinstance(exact, Levels) and not np.array_equal(np.ravel(exact), np.ravel(scores)):
        yield "the choice was not made by the exact scores"


def _noisy_max(least: Fraction, exact: Any, said: Any, draws: list[Draw]) -> Iterator[str]:
    """Every score has a draw of its own, wide enough, and the place said is one of the largest."""
    draw = draws.pop(0) if draws else None
    if draw is None or draw.law not in ("laplace", "geometric") or draw.about[0] < least:
        yield f"noise of scale {least} at least was declared for every score, and not drawn"
    elif draw.about[1].size != np.size(exact):
        yield f"{np.size(exact)} scores were compared with {draw.about[1].size} draws"
    else:
        noisy = [int(a) + int(b) for a, b in zip(np.ravel(exact), draw.about[1], strict=True)]
        if noisy[int(np.ravel(said)[0])] != max(noisy):
            yield "the choice is not the largest of the exact scores and their own fresh draws"


def _reports(epsilon: Fraction, exact: Any, said: Any, draws: list[Draw]) -> Iterator[str]:
    """Every coordinate of every record of a unit is reported once, and its epsilon is divided among them."""
    if any(d.law != "randomized_response" for d in draws) or len(draws) != len(said):
        yield "the reports were not drawn by randomised response, once for each coordinate"
        return
    units = int(np.max(exact[0], initial=-1)) + 1
    spent = sum((d.about[2] * d.about[0].size for d in draws), Fraction(0))
    if spent > epsilon * max(units, 1):
        yield f"a unit's reports cost {spent / max(units, 1)}, epsilon {epsilon} was declared"
    draws.clear()


def _comparison(met: Met) -> Iterator[str]:
    """The run again, question by question, from its exact differences and the reported draws."""
    plan, state, draws = met.plan, met.state, list(met.draws)
    assert plan is not None
    assert state is not None
    after, places, released, asked = met.drawn
    limit = len(met.exact) if plan.length is None else min(len(met.exact), plan.length - state.asked)
    last = plan.count if met.most is None else min(plan.count, state.above + met.most)
    threshold, above, done = state.threshold, state.above, 0
    again, values, queue = list[int](), list[int](), list[int]()
    try:
        for i, exact in enumerate(met.exact[:limit].tolist()):
            if above == last:
                break
            queue = queue or _take(draws, plan.question_family, plan.query_scale).tolist()
            done = i + 1
            if exact + queue.pop(0) < threshold:
                continue
            above, again = above + 1, [*again, i]
            if plan.value_scale:
                values.append(exact + int(_take(draws, plan.family, plan.value_scale)[0]))
            if plan.refreshed and above < plan.count:
                threshold = plan.threshold + int(_take(draws, plan.family, plan.threshold_scale)[0])
    except ValueError as wrong:
        yield str(wrong)
        return
    if (threshold, again, values, done) != (after.threshold, places.tolist(), released.tolist(), asked):
        yield "the outcomes do not follow from the exact differences and their own fresh draws"
    if draws:
        yield f"{len(draws)} draws more than there are questions"


def _take(draws: list[Draw], family: str, scale: Fraction) -> NDArray[np.int64]:
    if not draws:
        raise ValueError("a question was decided with no draw of its own")
    draw = draws.pop(0)
    if draw.law != family or draw.about[0] != scale:
        drawn = f"{draw.law} of scale {draw.about[0]} was drawn"
        raise ValueError(f"{family} noise of scale {scale} was declared, {drawn}")
    return np.asarray(draw.about[1], dtype=np.int64)


def _thresholds(played: Played) -> Iterator[str]:
    """Each run that opened drew one threshold, of its law; comparisons go by a threshold that was drawn."""
    wanted = [_threshold_law(e) for e in played.runs]
    drawn = [(d.law, d.about[0]) for d in played.aside]
    if sorted(map(str, drawn)) != sorted(map(str, wanted)):
        yield f"{len(wanted)} runs opened, and the draws of their thresholds are not those declared"
    known = {int(d.about[1][0]) for d in played.aside if d.law in ("laplace", "gaussian", "geometric")}
    for number, met in enumerate(played.met):
        if met.plan is None or met.state is None:
            continue
        if met.state.threshold - met.plan.threshold not in known:
            yield f"act {number + 1} ({met.told}): the threshold is not the one that was drawn"
        if met.drawn is not None:
            known.add(met.drawn[0].threshold - met.plan.threshold)


def _threshold_law(event: Event) -> tuple[str, Fraction]:
    if isinstance(event, events.GaussianSparseVector):
        return "gaussian", event.threshold_sigma
    law = "geometric" if isinstance(event, events.OneSidedSparseVector) else "laplace"
    return law, event.threshold_scale  # type: ignore[attr-defined]


def _charges(played: Played) -> Iterator[str]:
    """Every act that was drawn has its line, with its event."""
    paid = [line[4] for line in played.lines if line[0] == "charge" and "sparse_vector" not in line[4]]
    drawn = [str(m.event.to_json()) for m in played.met if m.plan is None and m.drawn is not None]
    if paid != drawn:
        yield "the acts that were drawn are not those that the ledger was charged with"


def one_sided(met: Met) -> int:
    """+1 or -1: how a one-sided comparison's differences move with the answers; 0 for other meetings."""
    if not isinstance(met.plan, OneSidedPlan | PairedPlan) or met.plan.side is None:
        return 0
    return 1 if met.plan.side == "over" else -1
