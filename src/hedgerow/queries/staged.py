"""Staged: a statement of which rows are asked one part, and released numbers the rest, as doors see it.

The statement itself is `queries/sql/stages/two_stages.py`, which is not loaded before such SQL is spoken.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hedgerow.errors import UnsupportedQuery

if TYPE_CHECKING:
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.question import Question, Result
    from hedgerow.queries.readings import Linear
    from hedgerow.queries.within import Within


@dataclass(frozen=True, eq=False)
class Finished:
    """The rows of a statement in two stages.

    Args:
        result: the rows.
        notes: sentences that belong to them.
        values: what statements inside conditions on rows were released as; each a list.
        each: whether the bounds hold for each number by itself, though its parts were asked for all at once.
    """

    result: Result
    notes: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...] = ()
    each: bool = False


@dataclass(frozen=True, eq=False)
class Ground:
    """Whoever holds the tables that answers were read off: what else of them can be asked for free.

    Args:
        linear: gives a weighted sum of a table's cells and its half-width.
        within: whoever measured what is within bins.
        confidence: how often what is shown must hold.
        simultaneous: whether for all numbers at once.
        numbers: for how many numbers at once half-widths must hold.
    """

    linear: Linear
    within: Within | None
    confidence: float
    simultaneous: bool
    numbers: int = 1


@dataclass(frozen=True)
class AnswerTerms:
    """How sure the answer to each question of a statement must be, for all numbers that it shows to be.

    Args:
        confidence: of each answer.
        simultaneous: whether it holds for all numbers of an answer at once, and so for all that are shown.
    """

    confidence: float
    simultaneous: bool


class Staged(ABC):
    """What is asked in two stages: the questions that rows are asked, and what becomes of the answers."""

    domain: Domain

    @property
    @abstractmethod
    def questions(self) -> tuple[Question, ...]:
        """All that is asked of rows; where it `waits`, what comes later has stand-ins for released values."""

    @property
    @abstractmethod
    def attributes(self) -> tuple[str, ...]:
        """All attributes that the answer depends on, in the domain's order."""

    @property
    @abstractmethod
    def waits(self) -> bool:
        """Whether an inner statement must be released before all questions are known."""

    @property
    @abstractmethod
    def row_by_row(self) -> bool:
        """Whether each row of the answer is worked out from one row of one table, and all are shown."""

    @property
    @abstractmethod
    def numbers(self) -> int:
        """How many numbers of a row must be within their bounds for one that is shown to be."""

    @abstractmethod
    def answered(
        self, ask: Callable[[Sequence[Question]], Sequence[Any]], ground: Ground | None = None
    ) -> tuple[Finished, list[Any]]:
        """The answer, and the answers that it was made of.

        Args:
            ask: answers questions with objects that have a `table`.
            ground: what the answers were read off, if they were.
        """

    def refusal(self) -> UnsupportedQuery:
        """Why who takes queries alone does not take it."""
        return UnsupportedQuery(
            "this statement is worked out in two stages; a synopsis or a session answers it"
        )

    def terms(self, confidence: float, simultaneous: bool) -> AnswerTerms:
        """What to ask of the answers, by the union bound: all of them miss with no more than one may.

        A statement that works row by row needs the numbers that one of a row is made of; any other needs all
        of them at once.
        """
        if self.row_by_row and not simultaneous:
            return AnswerTerms(1.0 - (1.0 - confidence) / max(1, self.numbers), False)
        return AnswerTerms(1.0 - (1.0 - confidence) / max(1, len(self.questions)), True)
