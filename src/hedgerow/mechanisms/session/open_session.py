"""OpenSession: what an analyst holds - ask, explain, quantiles, tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import UnsupportedQuery
from hedgerow.mechanisms.session.cache import Promise
from hedgerow.mechanisms.session.certify import Certify, Known
from hedgerow.mechanisms.session.explain import Explanation
from hedgerow.mechanisms.session.form import is_nothing
from hedgerow.mechanisms.session.people import People
from hedgerow.mechanisms.session.price import Goal, refuse_accuracy
from hedgerow.mechanisms.session.quantile import Quantile
from hedgerow.mechanisms.session.question import Asked, OneQuery, Reply, Statement, read_all
from hedgerow.privacy.budget import Cost
from hedgerow.queries.asked import named_table
from hedgerow.queries.query import Query
from hedgerow.synopsis.answer import Answer, Source

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.curator import Curator
    from hedgerow.mechanisms.session.core import Core
    from hedgerow.privacy.budget import Budget

__all__ = ["Explanation", "OpenSession"]

_LEARNED = 0.95  # the confidence of indicative errors, unless asked for another


@dataclass(frozen=True)
class Wish:
    """How good an answer is wished for: the options of `OpenSession.ask`."""

    within: float | None
    within_count: float | None
    confidence: float | None
    simultaneous: bool

    def __post_init__(self) -> None:
        """Numbers are plain ones: the same wish is the same, whatever type it came in."""
        for name in ("within", "within_count", "confidence"):
            object.__setattr__(self, name, number(name, getattr(self, name)))
        object.__setattr__(self, "simultaneous", bool(self.simultaneous))


class OpenSession:
    """An open session: ask it. Made by `Session.open`; several analysts may `share` one.

    Args:
        core: what all of them share.
        payer: whose budget pays for what this analyst asks.
    """

    def __init__(self, core: Core, payer: Curator) -> None:
        self._core = core
        self._payer = payer

    @property
    def total(self) -> float:
        """The number of rows: public, or as measured."""
        return self._core.belief.total

    @property
    def spent(self) -> Budget:
        """What priming, comparisons and measurements of this process have cost, for all analysts."""
        return self._part(self._core.spent)

    def share(self, payer: Curator) -> OpenSession:
        """The same session for another analyst, who pays from their own account.

        Args:
            payer: a curator made by `Curator.allot` or `Curator.child` from the one that opened the session.
        """
        own = self._core.curator
        if not isinstance(payer, type(own)):
            raise UnsupportedQuery("a session is shared with a curator: the account that pays")
        if not own.same_rows(payer):
            raise UnsupportedQuery("a session is shared among the accounts of one curator")
        if payer.account != own.account and not own.ledger.descends(payer.account, own.account):
            raise UnsupportedQuery("a session is shared with accounts allotted from the one that opened it")
        return OpenSession(self._core, payer)

    def ask(
        self,
        query: Any,
        within: float | None = None,
        within_count: float | None = None,
        confidence: float | None = None,
        *,
        simultaneous: bool = False,
    ) -> Any:
        """Answer a question; the same question again is free and gets the same answer.

        Args:
            query: any question: SQL text, a compiled statement, a `Query`, attribute names (a whole table),
                a workload, or a list of queries; a list of other things gets a list of answers.
            within: how far off every count behind the answer may be, as a part of all rows.
            within_count: the same, as a number of rows.
            confidence: how sure to be: 0.95 for learned answers, the session's own for given accuracy.
            simultaneous: make the bound hold for all numbers of the answer at once.
        """
        wish = Wish(within, within_count, confidence, simultaneous)
        asked = self._read(query)
        return [self._ask(a, wish) for a in asked] if isinstance(asked, list) else self._ask(asked, wish)

    def explain(
        self,
        query: Any,
        within: float | None = None,
        within_count: float | None = None,
        confidence: float | None = None,
        *,
        simultaneous: bool = False,
    ) -> Any:
        """What asking would do, an `Explanation`: from what is public, at no cost, without reading a row.

        Args:
            query, within, within_count, confidence, simultaneous: as in `ask`; where that gives a list of
                answers, a list of explanations.
        """
        wish = Wish(within, within_count, confidence, simultaneous)
        asked = self._read(query)
        if isinstance(asked, list):
            return [self._explain(a, wish, later=i > 0) for i, a in enumerate(asked)]
        return self._explain(asked, wish)

    def quantile(
        self,
        attribute: str,
        q: float = 0.5,
        *,
        where: Mapping[str, Any] | None = None,
        confidence: float = _LEARNED,
    ) -> Answer:
        """A quantile of an ordered attribute from the learned distribution; the median unless said.

        Args:
            attribute: bins or dates; missing and other values are left out.
            q: which quantile, between 0 and 1.
            where: conditions on other attributes, as in `Query.where`.
            confidence: how often the indicative error should hold.
        """
        where = {} if where is None else where
        if not isinstance(where, Mapping):
            raise UnsupportedQuery("the conditions of a quantile are attributes with their levels")
        asked = Quantile(attribute, number("q", q) or 0.0, where)
        promise = _indicative(number("confidence", confidence) or 0.0, simultaneous=False)
        key = asked.key(self._core.domain)
        with self._core.turn():
            known = self._core.cache.find(key, promise)
            if known is not None:
                return known
            answer = asked.learned(self._core.belief, promise.confidence)
            self._core.cache.keep(key, promise, answer, None)
            return answer

    def median(self, attribute: str, *, where: Mapping[str, Any] | None = None) -> Answer:
        """The median of an ordered attribute, from the learned distribution."""
        return self.quantile(attribute, 0.5, where=where)

    def table(self, attributes: str | Sequence[str]) -> NDArray[np.float64]:
        """What is learned now: counts over some attributes, axes in the given order; never negative."""
        asked = named_table(self._core.domain, attributes)
        with self._core.turn():
            made = self._core.belief.table(self._core.domain.order(asked.attributes))
            return asked.shaped(made).copy()  # what is learned stays so

    def close(self) -> None:
        """Write down what was said and give back what was set aside; `Session.open` continues it."""
        with self._core.turn():
            self._core.write_answers()
            self._core.reserve.close()

    def __enter__(self) -> OpenSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"OpenSession({self._core.name!r}, {len(self._core.cache):,} answers given)"

    # -- inside -------------------------------------------------------------------------------------------

    def _ask(self, asked: Asked, wish: Wish) -> Answer:
        with self._core.turn():
            goal, promise = self._meant(asked, wish)
            answer = asked.shown(self._answered(asked, goal, promise))
            return replace(answer, notes=(*answer.notes, *self._doubts(wish, goal)))

    def _answered(self, asked: Asked, goal: Goal | None, promise: Promise) -> Answer:
        """As it was answered before, or now."""
        known = self._core.cache.find(asked.key, promise, asked)
        if known is not None:
            return known
        if isinstance(asked, Statement) and asked.question.units:
            people = People(self._core, self._payer, asked, goal, promise.simultaneous)
            reply, cost = people.measure()
            answer = _answer(reply, promise, "measured")
        elif goal is None:
            reply = asked.learned(self._core.belief, promise.confidence, promise.simultaneous)
            answer, cost = _answer(reply, promise, "learned"), Cost.zero(self._payer.ledger.currency)
        else:
            answer, cost = self._within(asked, goal, promise)
        self._core.cache.keep(asked.key, promise, answer, None if goal is None else float(goal.alpha))
        return answer if cost.is_zero else replace(answer, cost=self._part(cost))

    def _explain(self, asked: Asked, wish: Wish, *, later: bool = False) -> Explanation:
        with self._core.turn():
            goal, promise = self._meant(asked, wish)
            said = self._explained(asked, goal, promise, later)
            return replace(said, words=" ".join((said.words, *self._doubts(wish, goal))))

    def _explained(self, asked: Asked, goal: Goal | None, promise: Promise, later: bool) -> Explanation:
        nothing = Cost.zero(self._payer.ledger.currency)
        known = self._core.cache.find(asked.key, promise, asked)
        if known is not None:
            return Explanation.known(asked.shown(known), self._part(nothing))
        there = self._payer.left + self._core.reserve.held(self._payer)
        if isinstance(asked, Statement) and asked.question.units:
            people = People(self._core, self._payer, asked, goal, promise.simultaneous)
            error, cost = people.expected().error, people.cost
            return Explanation.new("measured", self._part(cost), error, promise.confidence, cost <= there)
        if goal is None:
            error = asked.learned(self._core.belief, promise.confidence, promise.simultaneous).error
            return Explanation.new("learned", self._part(nothing), asked.in_unit(error), promise.confidence)
        compares, cost, needed = self._worst(asked, goal, promise, later)
        source: Source = "certified" if compares else "measured"
        return Explanation.new(
            source, self._part(cost), self._expected(asked, goal), promise.confidence, needed <= there
        )

    def _doubts(self, wish: Wish, goal: Goal | None) -> tuple[str, ...]:
        """Notes about an accuracy that is a part of all rows."""
        if goal is None:
            return ()
        own = wish.within is None and wish.within_count is None
        return self._core.doubts(self._core.plan.within if own else wish.within, goal)

    def _read(self, query: Any) -> Asked | list[Asked]:
        unit = self._core.curator.table.unit
        return read_all(self._core.domain, query, unit.column if unit else None)

    def _part(self, cost: Cost) -> Budget:
        return self._payer.ledger.budget.part(cost)

    def _meant(self, asked: Asked, wish: Wish) -> tuple[Goal | None, Promise]:
        """What accuracy is asked for, and what is promised with the answer.

        Where the answer itself chooses the groups that it shows, the bounds must hold for all of them.
        """
        together = wish.simultaneous or asked.selects
        goal = self._goal(wish)
        if goal is not None:
            return goal, Promise(goal.confidence, together, float(goal.alpha))
        return None, _indicative(_LEARNED if wish.confidence is None else wish.confidence, together)

    def _goal(self, wish: Wish) -> Goal | None:
        refuse_accuracy(wish.within, wish.within_count, wish.confidence)
        if wish.within is None and wish.within_count is None:
            own = self._core.own_goal
            return own if own is None or wish.confidence is None else Goal(own.alpha, wish.confidence)
        sure = self._core.plan.confidence if wish.confidence is None else wish.confidence
        return self._core.goal(wish.within, wish.within_count, sure)

    def _certify(self, asked: Asked, goal: Goal, promise: Promise) -> Certify:
        beside = promise.simultaneous and not asked.joint
        numbers = asked.bounds(promise.simultaneous)
        return Certify(self._core, self._payer, goal, numbers, beside=beside)

    def _within(self, asked: Asked, goal: Goal, promise: Promise) -> tuple[Answer, Cost]:
        pieces = list(asked.pieces)
        certify, nothing = self._certify(asked, goal, promise), np.zeros(0)
        if not pieces:  # the schema alone says that it is zero
            known = Known(nothing, nothing, np.ones(0, np.bool_), certify.cost)
        elif asked.joint:
            known = certify.together(pieces)
        else:
            known = self._stream(pieces, goal, certify, None if promise.simultaneous else promise)
        reply = asked.assemble(known.counts, known.errors, goal.confidence, self._core.most_rows)
        answer = _answer(reply, promise, _source(known.certified))
        answer = replace(answer, simultaneous=promise.simultaneous or known.certified)
        if known.vouched.any() and not known.certified:
            answer = replace(answer, sources=np.where(known.vouched, "certified", "measured"))
        return answer, known.cost

    def _stream(self, queries: list[Query], goal: Goal, certify: Certify, alone: Promise | None) -> Known:
        """A list: each query is answered, and remembered, as if it had been asked alone."""
        found, new = self._known(queries, alone)
        made = certify.one_by_one([queries[i] for i in new.values()])
        place = {digest: j for j, digest in enumerate(new)}
        counts, errors = np.zeros(len(queries)), np.zeros(len(queries))
        vouched = np.ones(len(queries), dtype=np.bool_)
        for i, (q, answer) in enumerate(zip(queries, found, strict=True)):
            if is_nothing(q):
                continue
            if answer is not None:
                counts[i], errors[i] = answer.value, answer.error
                vouched[i] = answer.source == "certified"
                continue
            j = place[q.digest]
            counts[i], errors[i], vouched[i] = made.counts[j], made.errors[j], made.vouched[j]
            if alone and new[q.digest] == i:
                reply = OneQuery(q).assemble(counts[i : i + 1], errors[i : i + 1], goal.confidence, 0.0)
                said = replace(_answer(reply, alone, _source(vouched[i])), simultaneous=bool(vouched[i]))
                self._core.cache.keep(OneQuery(q).key, alone, said, float(goal.alpha))
        return Known(counts, errors, vouched, made.cost)

    def _known(
        self, queries: list[Query], alone: Promise | None
    ) -> tuple[list[Answer | None], dict[str, int]]:
        """What was answered before of a list, and where the rest is, without repeats and empty queries."""
        cache = self._core.cache
        found = [cache.find(OneQuery(q).key, alone) if alone else None for q in queries]
        new: dict[str, int] = {}
        for i, q in enumerate(queries):
            if found[i] is None and not is_nothing(q):
                new.setdefault(q.digest, i)
        return found, new

    def _worst(self, asked: Asked, goal: Goal, promise: Promise, later: bool) -> tuple[bool, Cost, Cost]:
        """Whether a comparison would come first, the most that asking can cost, and what must be there.

        A question that is measured in one act is, when a comparison cannot be afforded; a list may have paid
        for trips before it comes to that.
        """
        certify, pieces = self._certify(asked, goal, promise), list(asked.pieces)
        if not asked.joint:
            new = self._known(pieces, None if promise.simultaneous else promise)[1]
            pieces = [pieces[i] for i in new.values()]
        if not pieces:
            return True, certify.cost, certify.cost
        if asked.joint:
            return *certify.worst(pieces, later=later), certify.least(pieces)
        compares, cost = certify.worst_one_by_one(pieces, later=later)
        return compares, cost, cost

    def _expected(self, asked: Asked, goal: Goal) -> Any:
        """The error that a kept goal means, in the question's unit, if what was learned is about right."""
        counts = self._core.belief.counts(list(asked.pieces))
        errors = np.full(len(counts), float(goal.alpha))
        reply = asked.assemble(counts, errors, goal.confidence, self._core.most_rows)
        return asked.in_unit(reply.error)


def _answer(reply: Reply, promise: Promise, source: Source) -> Answer:
    return Answer(
        reply.value,
        reply.error,
        promise.confidence,
        source,
        simultaneous=promise.simultaneous,
        notes=reply.notes,
        table=reply.table,
    )


def _source(certified: bool) -> Source:
    return "certified" if certified else "measured"


def number(name: str, given: Any) -> float | None:
    """A number as a float, whatever type it came in; a refusal if it is none."""
    if given is None:
        return None
    if isinstance(given, bool | np.bool_) or not isinstance(given, Real | Decimal):
        raise UnsupportedQuery(f"`{name}` is a number, not a {type(given).__name__}")
    try:
        return float(given)
    except OverflowError:
        return float("inf")


def _indicative(confidence: float, simultaneous: bool) -> Promise:
    if not 0.0 < confidence < 1.0:
        raise UnsupportedQuery("a confidence lies between 0 and 1")
    return Promise(confidence, simultaneous)
