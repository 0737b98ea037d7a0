"""OpenSession: what an analyst holds - ask, explain, quantiles, tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.curator.statistics import PeopleCounts
from hedgerow.errors import UnsupportedQuery
from hedgerow.mechanisms.session_cache import Promise
from hedgerow.mechanisms.session_certify import Certify, Known
from hedgerow.mechanisms.session_price import Goal, direct_price, refuse_accuracy
from hedgerow.mechanisms.session_quantile import quantile_of
from hedgerow.mechanisms.session_question import Asked, OneQuery, Reply, Statement, read
from hedgerow.synopsis.answer import Answer, Source

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.curator import Curator
    from hedgerow.mechanisms.session_core import Core
    from hedgerow.privacy.budget import Budget, Cost
    from hedgerow.queries.query import Query

_LEARNED = 0.95  # the confidence of indicative errors, unless asked for another


@dataclass(frozen=True)
class Explanation:
    """What asking a question would do, from public things only.

    Args:
        source: where the answer would most likely come from.
        cached: whether it was answered before, and would be again, free.
        cost: the most that asking can cost.
        error: the error to expect, in the question's unit: certified, measured or indicative like the answer.
        confidence: how often the error bound would hold.
        affordable: whether the payer can afford that cost.
        words: the same as a sentence.
    """

    source: Source
    cached: bool
    cost: Budget
    error: Any
    confidence: float
    affordable: bool
    words: str


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
        return self._core.curator.ledger.budget.part(self._core.spent)

    def share(self, payer: Curator) -> OpenSession:
        """The same session for another analyst, who pays from their own account.

        Args:
            payer: a curator made by `Curator.allot` or `Curator.child` from the one that opened the session.
        """
        if payer.ledger is not self._core.curator.ledger or payer._rows is not self._core.curator._rows:
            raise UnsupportedQuery("a session is shared among the accounts of one curator")
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
            query: SQL text, a compiled statement, a `Query`, attribute names (a whole table), a workload, or
                a list of queries; a list with SQL texts gets a list of answers.
            within: how far off every count behind the answer may be, as a part of all rows.
            within_count: the same, as a number of rows.
            confidence: how sure to be: 0.95 for learned answers, the session's own for given accuracy.
            simultaneous: make the bound hold for all numbers of the answer at once.
        """
        if _several(self._core.domain, query):
            options = (within, within_count, confidence)
            return [self.ask(q, *options, simultaneous=simultaneous) for q in query]
        asked = read(self._core.domain, query, self._unit)
        with self._core.lock:
            goal = self._goal(within, within_count, confidence)
            promise = self._promise(goal, confidence, simultaneous)
            known = self._core.cache.find(asked, promise)
            if known is not None:
                return known
            if isinstance(asked, Statement) and asked.question.units:
                return self._people(asked, goal, promise)
            return self._learned(asked, promise) if goal is None else self._within(asked, goal, promise)

    def explain(
        self,
        query: Any,
        within: float | None = None,
        within_count: float | None = None,
        confidence: float | None = None,
        *,
        simultaneous: bool = False,
    ) -> Explanation:
        """What asking would do: from what is public, at no cost, without reading a row.

        Args:
            query, within, within_count, confidence, simultaneous: as in `ask`.
        """
        asked = read(self._core.domain, query, self._unit)
        with self._core.lock:
            goal = self._goal(within, within_count, confidence)
            promise = self._promise(goal, confidence, simultaneous)
            budget, nothing = self._payer.ledger.budget, self._core.spent * 0
            known = self._core.cache.find(asked, promise)
            if known is not None:
                words = "It was asked before: the same answer again, free."
                return Explanation(
                    known.source, True, budget.part(nothing), known.error, known.confidence, True, words
                )
            if goal is None:
                error = asked.learned(self._core.belief, promise.confidence, simultaneous).error
                words = "It is answered from what was learned, free; the error is indicative."
                return Explanation(
                    "learned", False, budget.part(nothing), error, promise.confidence, True, words
                )
            compared, cost = self._worst(asked, goal, promise)
            error = _widths(asked, goal)
            words = (
                "A comparison most likely vouches for what was learned; the cost is the worst case."
                if compared
                else "It is measured with noise of its own."
            )
            source: Source = "certified" if compared else "measured"
            affordable = cost <= self._payer._left
            return Explanation(source, False, budget.part(cost), error, promise.confidence, affordable, words)

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
        with self._core.lock:
            return quantile_of(self._core.belief, attribute, q, where or {}, confidence)

    def median(self, attribute: str, *, where: Mapping[str, Any] | None = None) -> Answer:
        """The median of an ordered attribute, from the learned distribution."""
        return self.quantile(attribute, 0.5, where=where)

    def table(self, attributes: Sequence[str]) -> NDArray[np.float64]:
        """Learned counts over some attributes, axes in the given order; never negative."""
        names = self._core.domain.order(attributes)
        if len(names) < len(attributes):
            raise UnsupportedQuery("an attribute is named twice")
        with self._core.lock:
            return self._core.belief.table(names).transpose([names.index(a) for a in attributes])

    def close(self) -> None:
        """Write down what was said and give back what was set aside; `Session.open` continues it."""
        with self._core.lock:
            self._core.write_answers()
            self._core.reserve.close()

    def __enter__(self) -> OpenSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"OpenSession({self._core.name!r}, {len(self._core.cache):,} answers given)"

    # -- inside -------------------------------------------------------------------------------------------

    @property
    def _unit(self) -> str | None:
        unit = self._core.curator.table.unit
        return unit.column if unit else None

    def _goal(
        self, within: float | None, within_count: float | None, confidence: float | None
    ) -> Goal | None:
        refuse_accuracy(within, within_count, confidence)
        if within is None and within_count is None:
            own = self._core.own_goal
            if own is None or confidence is None:
                return own
            return Goal(own.alpha, confidence)
        sure = self._core.plan.confidence if confidence is None else confidence
        return self._core.goal(within, within_count, sure)

    def _promise(self, goal: Goal | None, confidence: float | None, simultaneous: bool) -> Promise:
        if goal is not None:
            return Promise(goal.confidence, simultaneous, float(goal.alpha))
        sure = _LEARNED if confidence is None else confidence
        if not 0.0 < sure < 1.0:
            raise UnsupportedQuery("a confidence lies between 0 and 1")
        return Promise(sure, simultaneous)

    def _learned(self, asked: Asked, promise: Promise) -> Answer:
        reply = asked.learned(self._core.belief, promise.confidence, promise.simultaneous)
        answer = _answer(reply, promise, "learned")
        self._core.cache.keep(asked, promise, answer, None)
        return answer

    def _certify(self, asked: Asked, goal: Goal, promise: Promise) -> Certify:
        numbers = len(asked.pieces) if promise.simultaneous else asked.shared
        return Certify(self._core, self._payer, goal, max(numbers, 1))

    def _within(self, asked: Asked, goal: Goal, promise: Promise) -> Answer:
        pieces = list(asked.pieces)
        certify = self._certify(asked, goal, promise)
        if not pieces:  # the schema alone says that it is zero
            nothing = np.zeros(0)
            return _answer(asked.assemble(nothing, nothing, goal.confidence), promise, "certified")
        known = certify.together(pieces) if asked.joint else self._stream(pieces, goal, certify)
        source: Source = "certified" if known.certified else "measured"
        reply = asked.assemble(known.counts, known.errors, goal.confidence)
        answer = _answer(reply, promise, source)
        answer = replace(answer, simultaneous=promise.simultaneous or known.certified)
        self._core.cache.keep(asked, promise, answer, float(goal.alpha))
        self._core.write_answers(durable=not known.certified)
        return self._priced(answer, known.cost)

    def _stream(self, queries: list[Query], goal: Goal, certify: Certify) -> Known:
        """A list: each query is answered, and remembered, as if it had been asked alone."""
        alone = Promise(goal.confidence, False, float(goal.alpha)) if certify.numbers == 1 else None
        found = [self._core.cache.find(OneQuery(q), alone) if alone else None for q in queries]
        at = {queries[i].digest: i for i in range(len(queries)) if found[i] is None}
        new = certify.one_by_one([queries[i] for i in at.values()])
        place = {digest: j for j, digest in enumerate(at)}
        counts, errors = np.zeros(len(queries)), np.zeros(len(queries))
        certified = True
        for i, (q, answer) in enumerate(zip(queries, found, strict=True)):
            if answer is not None:
                counts[i] = (answer.value - q.offset) / q.scale if q.scale else 0.0
                errors[i] = answer.error / abs(q.scale) if q.scale else 0.0
                certified = certified and answer.source == "certified"
                continue
            j = place[q.digest]
            counts[i], errors[i], certified = new.counts[j], new.errors[j], certified and bool(new.vouched[j])
            if alone and at[q.digest] == i:
                reply = OneQuery(q).assemble(counts[i : i + 1], errors[i : i + 1], goal.confidence)
                source: Source = "certified" if new.vouched[j] else "measured"
                answered = replace(_answer(reply, alone, source), simultaneous=bool(new.vouched[j]))
                self._core.cache.keep(OneQuery(q), alone, answered, float(goal.alpha))
        return Known(counts, errors, np.full(len(queries), certified), new.cost)

    def _worst(self, asked: Asked, goal: Goal, promise: Promise) -> tuple[bool, Cost]:
        if isinstance(asked, Statement) and asked.question.units:
            counts = [PeopleCounts(f) for f in asked.question.forms if f.units]
            cost = self._core.spent * 0
            for target in counts:
                cost = cost + direct_price(self._payer, target, goal)
            return False, cost
        certify = self._certify(asked, goal, promise)
        pieces = list(asked.pieces)
        if not asked.joint:
            compared, cost = certify.worst(pieces[:1])
            return compared, cost * len(pieces)
        return certify.worst(pieces)

    def _people(self, asked: Statement, goal: Goal | None, promise: Promise) -> Answer:
        """COUNT(DISTINCT person): no table of rows knows it, so it is measured."""
        if goal is None:
            raise UnsupportedQuery("people are counted by measuring: say how close, with `within_count`")
        question = asked.question
        if not all(f.units for f in question.forms):
            raise UnsupportedQuery("ask for people and for rows in two statements")
        values, errors, cost = [], [], self._core.spent * 0
        numbers = question.size * len(question.forms) if promise.simultaneous else len(question.forms)
        for form in question.forms:
            target = PeopleCounts(form)
            price = direct_price(self._payer, target, goal, numbers)
            request = (
                f"{self._core.name}: people {target.digest[:24]} {goal.alpha} {goal.confidence} {numbers}"
            )
            (made,) = self._payer.measure_all(
                [target], price, request=request, note="Session: people", run=self._core.name
            )
            values.append(np.maximum(made.counts.ravel(), 0.0))
            errors.append(np.full(question.size, made.noise.half_width(goal.confidence, numbers=numbers)))
            cost = cost + price
        result = question.combine(np.stack(values), np.stack(errors), confidence=goal.confidence)
        answer = _answer(Reply(result.value, result.error, result, question.notes), promise, "measured")
        self._core.spent = self._core.spent + cost
        self._core.cache.keep(asked, promise, answer, float(goal.alpha))
        self._core.write_answers()
        return self._priced(answer, cost)

    def _priced(self, answer: Answer, cost: Cost) -> Answer:
        return answer if cost.is_zero else replace(answer, cost=self._payer.ledger.budget.part(cost))


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


def _widths(asked: Asked, goal: Goal) -> Any:
    """The error that a kept goal means, in the question's unit; not known in advance for ratios."""
    if isinstance(asked, Statement) and any(a.denominator is not None for a in asked.question.aggregates):
        return float("nan")
    size = len(asked.pieces)
    return asked.assemble(np.zeros(size), np.full(size, float(goal.alpha)), goal.confidence).error


def _several(domain: Any, query: Any) -> bool:
    """Whether a list holds questions that need answers of their own."""
    if isinstance(query, str) or not isinstance(query, list | tuple):
        return False
    return any(isinstance(q, str) and q not in domain for q in query) or any(
        not isinstance(q, str) and hasattr(q, "forms") for q in query
    )
