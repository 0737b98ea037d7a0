"""Reading: what a session has learned and said, for any number of readers, who wait for nobody.

A session takes turns: whoever asks it waits for those who compare and measure. A reading holds a copy of what
was learned, and answers what needs no row: learned numbers, and whatever was said before. It is
post-processing of released values, so it is charged nowhere, and how long it takes says nothing about rows.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hedgerow.mechanisms.session.decision import reply_as, way_of
from hedgerow.mechanisms.session.explain import Explanation
from hedgerow.mechanisms.session.open_session import OpenSession, Wish, left_out
from hedgerow.privacy.budget import Cost
from hedgerow.queries.moments import WithinBins
from hedgerow.queries.pieces import by_queries
from hedgerow.queries.readings import Readings, value_of
from hedgerow.queries.staged import Staged
from hedgerow.synopsis.dense import DenseSynopsis
from hedgerow.synopsis.in_stages import in_stages
from hedgerow.synopsis.model import ModelSynopsis
from hedgerow.synopsis.synopsis import Provenance

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from hedgerow.mechanisms.session.cache import Promise
    from hedgerow.mechanisms.session.core import Core
    from hedgerow.privacy.ledger.receipt import Receipt
    from hedgerow.queries.question import Question
    from hedgerow.queries.reply import Asked
    from hedgerow.queries.within import Within
    from hedgerow.synopsis.answer import Answer

    Floats = NDArray[np.float64]

_ANY = {"within": None, "within_count": None, "confidence": None, "simultaneous": False}
_KEPT = 20_000  # learned answers that are remembered
_SHOWN = 2_000  # answers that are found again by the words of a question


class SessionReading(OpenSession):
    """An open session that is only read; made by `of`, and made anew when the session has learned more.

    Args:
        core: what all who ask the session share.
        payer: the curator that opened it.
        earlier: the reading before, whose answers are given again.
    """

    def __init__(self, core: Core, payer: Any, earlier: SessionReading | None = None) -> None:
        super().__init__(core, payer)
        self._belief, self._stamp = core.belief.copied(), core.belief.stamp
        self._learnt: OrderedDict[tuple[str, str], Answer] = earlier._learnt if earlier else OrderedDict()
        self._shown: OrderedDict[str, Answer] = OrderedDict()
        self._staging = threading.Lock()
        self._compute = threading.Lock()  # of readers among themselves: tables are kept on first use

    @classmethod
    def of(cls, session: OpenSession, earlier: SessionReading | None = None) -> SessionReading:
        """A reading of what a session knows now; waits for the session's turn.

        Args:
            session: the open session.
            earlier: a reading that it takes the place of.
        """
        with session._core.turn():
            _ = session._core.belief.spread  # found once, and kept: else the first reader waits for it
            return cls(session._core, session._payer, earlier)

    @property
    def stale(self) -> bool:
        """Whether the session has learned more since."""
        return self._core.belief.version != self._stamp[0]

    @property
    def behind(self) -> bool:
        """Whether other processes wrote something since: then what is read here may be out of date."""
        return self._core.behind

    @property
    def rows(self) -> float:
        """About how many rows there are, as it was released."""
        return self._belief.total

    def free(self, query: Any, words: str | None = None, **wish: Any) -> Answer | None:
        """The answer, if it takes no comparison and no measurement; None if it does.

        Args:
            query: SQL text, or another question that is one.
            words: what to know the question and the wish again by, see `again`.
            wish: the options of `OpenSession.ask`.
        """
        wished = Wish(**_ANY | wish)
        asked = self._read(query)
        assert not isinstance(asked, list)
        answer = self._staged(asked, wished) if isinstance(asked, Staged) else self._one(asked, wished)
        if answer is not None and words is not None:
            self._shown[words] = replace(answer, cached=True)
            while len(self._shown) > _SHOWN:
                self._shown.popitem(last=False)
        return answer

    def again(self, words: str) -> Answer | None:
        """What this reading said to the same words before: at once, without reading them again."""
        return self._shown.get(words)

    def foretell(self, query: Any, **wish: Any) -> Explanation | None:
        """What asking would do, where that needs no turn of the session; None where it does."""
        answer = self.free(query, **wish)
        if answer is None:
            return None
        nothing = self._part(Cost.zero(self._payer.ledger.currency))
        if answer.source == "learned" and not answer.cached:
            return Explanation.new("learned", nothing, answer.error, answer.confidence)
        return Explanation.known(answer, nothing)

    def synopsis(self, receipt: Receipt) -> ModelSynopsis:
        """All that was learned, as a file to take home.

        Args:
            receipt: what the ledger says now.
        """
        spent = self._payer.ledger.budget.part(self._core.spent)
        signed = Provenance("Session", {"name": self._core.name}, spent, receipt, self._payer.private)
        kind = DenseSynopsis if self._belief.kind == "dense" else ModelSynopsis
        with self._compute:
            return kind(self._core.domain, signed, self._belief.learned)

    def _one(self, asked: Asked, wish: Wish) -> Answer | None:
        goal, promise, _ = self._meant(asked, wish)
        answer = self._known(asked, promise)
        if answer is None:
            if way_of(asked, goal) != "learned":
                return None
            answer = self._learned(asked, promise)
        answer = asked.shown(answer)
        notes = (*answer.notes, *answer.doubts, *self._doubts(wish, goal))
        return replace(answer, notes=(*notes, *left_out(asked, answer, self._belief)))

    def _staged(self, staged: Staged, wish: Wish) -> Answer | None:
        """A statement in two stages, if all of its questions are free."""
        confidence, terms, each = self._terms(staged, wish)
        given = {id(q): self._one(by_queries(q), each) for q in staged.questions}
        if None in given.values():
            return None

        def ask(questions: Sequence[Question]) -> list[Answer]:
            said = [given[id(q)] if id(q) in given else self._one(by_queries(q), each) for q in questions]
            return [answer for answer in said if answer is not None]

        ground = self._ground(wish, confidence, Readings(self._linear, self._value), self._within)
        with self._staging:
            return in_stages(staged, ask, confidence, terms.simultaneous, ground)

    def _linear(
        self, attributes: tuple[str, ...], weights: Floats, confidence: float, numbers: int = 1
    ) -> tuple[float, float]:
        with self._compute:
            return self._belief.linear(attributes, weights, confidence, numbers)

    def _value(self, attributes: tuple[str, ...], weights: Floats) -> float:
        with self._compute:
            return value_of(self._belief.readings, attributes, weights, 0.5, 1)

    @property
    def _within(self) -> Within | None:
        moments = self._belief.moments
        return None if moments is None else WithinBins(moments, self._table)

    def _table(self, attributes: tuple[str, ...]) -> Floats:
        with self._compute:
            return self._belief.table(attributes)

    def _known(self, asked: Asked, promise: Promise) -> Answer | None:
        """What was said before: by the session, once it is in the ledger for good, or by a reading."""
        known = self._core.cache.find(asked.key, promise, asked, settled=True)
        if known is None:
            known = self._learnt.get((asked.key, promise.text))
        return None if known is None else replace(known, cached=True, cost=None)

    def _learned(self, asked: Asked, promise: Promise) -> Answer:
        with self._compute:
            reply = asked.learned(self._belief, promise.confidence, promise.simultaneous)
            answer = reply_as(reply, promise, "learned")
            answer = self._learnt.setdefault((asked.key, promise.text), answer)
            while len(self._learnt) > _KEPT:
                self._learnt.popitem(last=False)
            return answer
