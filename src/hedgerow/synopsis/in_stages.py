"""InStages: the answer to a statement in two stages, put together from the answers to its questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hedgerow.queries.staged import Ground
from hedgerow.synopsis.answer import Answer, Source

if TYPE_CHECKING:
    from hedgerow.queries.question import Question
    from hedgerow.queries.readings import Linear
    from hedgerow.queries.staged import Staged
    from hedgerow.queries.within import Within

_LEAST: tuple[Source, ...] = ("learned", "measured", "certified")


def in_stages(
    staged: Staged,
    ask: Callable[[Sequence[Question]], Sequence[Answer]],
    confidence: float,
    simultaneous: bool,
    ground: Ground | None = None,
) -> Answer:
    """The answer to a statement; post-processing of the answers that `ask` gives.

    Args:
        staged: the statement.
        ask: answers its questions on the statement's own `terms`.
        confidence: how often the bounds hold then.
        simultaneous: whether for all numbers at once.
        ground: what the answers are read off, if they are.
    """
    made, answers = staged.answered(ask, ground)
    result = replace(made.result, confidence=confidence)
    sources = {a.source for a in answers}
    own = {n for a in answers if a.table is not None for n in a.table.endless}  # of what is not shown
    said = (n for a in answers for n in a.notes if n not in own)
    return Answer(
        result.value,
        result.error,
        confidence,
        next((s for s in _LEAST if s in sources), "certified"),
        cached=bool(answers) and all(a.cached for a in answers),
        simultaneous=simultaneous and not (made.each and ground is not None and not ground.simultaneous),
        notes=tuple(dict.fromkeys([*made.notes, *said])),
        table=result,
    )


def one_by_one(
    staged: Staged,
    answer: Callable[[Question, float, bool], Answer],
    confidence: float,
    simultaneous: bool,
    linear: Linear,
    within: Within | None,
) -> Answer:
    """The answer to a statement whose questions are answered one by one, for free.

    Args:
        staged: the statement.
        answer: answers one question with a confidence, for each number or for all at once.
        confidence, simultaneous: as they were asked for.
        linear, within: of whoever answers.
    """
    terms = staged.terms(confidence, simultaneous)

    def ask(questions: Sequence[Question]) -> list[Answer]:
        return [answer(q, terms.confidence, terms.simultaneous) for q in questions]

    ground = Ground(linear, within, confidence, simultaneous)
    return in_stages(staged, ask, confidence, terms.simultaneous, ground)
