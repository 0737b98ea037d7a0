"""Explanation: what asking a session a question would do, from public things only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hedgerow.privacy.budget import Budget
    from hedgerow.synopsis.answer import Answer, Source

_WORDS: dict[Source, str] = {
    "learned": "It is answered from what was learned, free; the error is indicative.",
    "certified": "A comparison most likely vouches for what was learned; the cost is the worst case.",
    "measured": "It is measured with noise of its own.",
}


@dataclass(frozen=True)
class Explanation:
    """What asking a question would do, from public things only.

    Args:
        source: where the answer would most likely come from.
        cached: whether it was answered before, and would be again, free.
        cost: the most that asking can cost.
        error: the error to expect, in the question's unit: certified, measured or indicative like the answer.
        confidence: how often the error bound would hold.
        affordable: whether the payer is sure to get an answer, by being measured if not by being compared.
        words: the same as a sentence.
    """

    source: Source
    cached: bool
    cost: Budget
    error: Any
    confidence: float
    affordable: bool
    words: str

    @classmethod
    def known(cls, answer: Answer, nothing: Budget) -> Explanation:
        """Of a question that was answered before."""
        words = "It was asked before: the same answer again, free."
        return cls(answer.source, True, nothing, answer.error, answer.confidence, True, words)

    @classmethod
    def together(
        cls, parts: Sequence[Explanation], cost: Budget, confidence: float, affordable: bool
    ) -> Explanation:
        """Of a statement in two stages: the errors of what it shows follow from the answers, later.

        Args:
            parts: what asking each of its questions would do.
            cost: of all of them.
            confidence: how often its error bounds would hold.
            affordable: whether all of them are.
        """
        words = {0: "The schema alone answers it.", 1: parts[0].words if parts else ""}.get(
            len(parts),
            f"Rows are asked {len(parts)} questions, and their answers are worked out further, free.",
        )
        source: Source = next((s for s in _WORDS if any(p.source == s for p in parts)), "certified")
        cached = all(p.cached for p in parts)
        return cls(source, cached, cost, float("nan"), confidence, affordable, words)

    @classmethod
    def new(
        cls, source: Source, cost: Budget, error: Any, confidence: float, affordable: bool = True
    ) -> Explanation:
        """Of a question that was not."""
        return cls(source, False, cost, error, confidence, affordable, _WORDS[source])
