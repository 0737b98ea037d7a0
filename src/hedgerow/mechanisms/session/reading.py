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
from hedgerow.mechanisms.session.open_session import OpenSession, Wish
from hedgerow.privacy.budget import Cost
from hedgerow.synopsis.dense import DenseSynopsis
from hedgerow.synopsis.model import ModelSynopsis
from hedgerow.synopsis.synopsis import Provenance

if TYPE_CHECKING:
    from hedgerow.mechanisms.session.cache import Promise
    from hedgerow.mechanisms.session.core import Core
    from hedgerow.privacy.ledger.receipt import Receipt
    from hedgerow.queries.reply import Asked
    from hedgerow.synopsis.answer import Answer

_ANY = {"within": None, "within_count": None, "confidence": None, "simultaneous": False}
_KEPT = 20_000  # learned answers that are remembered


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
        self._said: OrderedDict[tuple[str, str], Answer] = earlier._said if earlier else OrderedDict()
        self._shown: OrderedDict[tuple[Any, ...], Answer] = OrderedDict()
        self._compute = threading.Lock()  # of readers among themselves: tables are kept on first use

    @classmethod
    def of(cls, session: OpenSession, earlier: SessionReading | None = None) -> SessionReading:
        """A reading of what a session knows now; waits for the session's turn.

        Args:
            session: the open session.
            earlier: a reading that it takes the place of.
        """
        with session._core.turn():
            return cls(session._core, session._payer, earlier)

    @property
    def stale(self) -> bool:
        """Whether the session has learned more since."""
        return self._core.belief.version != self._stamp[0]

    @property
    def rows(self) -> float:
        """About how many rows there are, as it was released."""
        return self._belief.total

    def free(self, query: Any, **wish: Any) -> Answer | None:
        """The answer, if it takes no comparison and no measurement; None if it does.

        Args:
            query: SQL text, or another question that is one.
            wish: the options of `OpenSession.ask`.
        """
        said = self.again(query, **wish)
        if said is not None:
            return said
        wished = Wish(**_ANY | wish)
        asked = self._read(query)
        assert not isinstance(asked, list)
        goal, promise = self._meant(asked, wished)
        answer = self._known(asked, promise)
        if answer is None:
            if way_of(asked, goal) != "learned":
                return None
            answer = self._learned(asked, promise)
        answer = asked.shown(answer)
        answer = replace(answer, notes=(*answer.notes, *self._doubts(wished, goal)))
        if isinstance(query, str):
            self._shown[(query, *wish.items())] = replace(answer, cached=True)
            while len(self._shown) > _KEPT:
                self._shown.popitem(last=False)
        return answer

    def again(self, query: Any, **wish: Any) -> Answer | None:
        """What this reading said to the same text before: at once, without reading the text again."""
        return self._shown.get((query, *wish.items())) if isinstance(query, str) else None

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

    def _known(self, asked: Asked, promise: Promise) -> Answer | None:
        """What was said before: by the session, which only ever adds to it, or by a reading."""
        known = self._core.cache.find(asked.key, promise, asked)
        if known is None:
            known = self._said.get((asked.key, promise.text))
        return None if known is None else replace(known, cached=True, cost=None)

    def _learned(self, asked: Asked, promise: Promise) -> Answer:
        with self._compute:
            reply = asked.learned(self._belief, promise.confidence, promise.simultaneous)
            answer = reply_as(reply, promise, "learned")
            answer = self._said.setdefault((asked.key, promise.text), answer)
            while len(self._said) > _KEPT:
                self._said.popitem(last=False)
            return answer
