"""Decision: what a session does with a question - made once, then carried out, described or priced.

A question is said again if it was answered before; people are counted by measuring; without an accuracy it is
read off what was learned; with one, what was learned is compared with the rows, or the question is measured.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hedgerow.errors import BudgetExceeded, UnsupportedQuery
from hedgerow.mechanisms.session.bargain import Bargain, expected
from hedgerow.mechanisms.session.certify import Certify, Known
from hedgerow.mechanisms.session.explain import Explanation
from hedgerow.mechanisms.session.fitting import told
from hedgerow.mechanisms.session.people import People, people_price
from hedgerow.mechanisms.session.price import Goal, direct_price
from hedgerow.privacy.budget import Cost
from hedgerow.privacy.share import percent
from hedgerow.queries.one_form import is_nothing
from hedgerow.queries.pieces import OneQuery, Statement
from hedgerow.queries.reply import Asked, Reply
from hedgerow.synopsis.answer import Answer, Source

if TYPE_CHECKING:
    from hedgerow.curator.curator import Curator
    from hedgerow.mechanisms.session.cache import Promise
    from hedgerow.mechanisms.session.core import Core
    from hedgerow.privacy.budget import Budget
    from hedgerow.queries.query import Query

Way = Literal["people", "learned", "within"]
_NO_ACCURACY = "people are counted by measuring: say how close, with `within_count` (`--within-count 60`)"


def way_of(asked: Asked, goal: Goal | None) -> Way:
    """How a question that nobody has asked before is answered; refused if it cannot be."""
    if isinstance(asked, Statement) and asked.question.units:
        if goal is None:
            raise UnsupportedQuery(_NO_ACCURACY)
        return "people"
    return "learned" if goal is None else "within"


def first_price(curator: Curator, asked: Asked, goal: Goal | None) -> Cost:
    """What a question costs that is asked right after learning: what has an accuracy is measured.

    Args:
        curator: who would pay.
        asked: the question.
        goal: its accuracy.
    """
    way = way_of(asked, goal)
    pieces = list(asked.pieces) if way == "within" else []
    if way == "people":
        assert isinstance(asked, Statement)
        assert goal is not None
        return people_price(curator, asked, goal, asked.selects)
    if goal is None or not pieces:  # free, or the schema alone answers it
        return Cost.zero(curator.ledger.currency)
    return direct_price(curator, pieces, goal, asked.bounds(asked.selects))


def decide(
    core: Core, payer: Curator, asked: Asked, goal: Goal | None, promise: Promise, free: Promise
) -> Decision:
    """What is done with a question now; depends on public things only.

    Args:
        core: the session, in its turn.
        payer: who pays.
        asked: the question.
        goal: its accuracy, if any.
        promise: what is said with the answer.
        free: what would be said with it if no accuracy were named.
    """
    known = core.cache.find(asked.key, promise, asked)
    if known is not None:
        return SayAgain(core, payer, asked, promise, known)
    way = way_of(asked, goal)
    if way == "people":
        assert isinstance(asked, Statement)
        assert goal is not None
        return Count(
            core, payer, asked, promise, goal, People(core, payer, asked, goal, promise.simultaneous)
        )
    if goal is None:
        return ReadOff(core, payer, asked, promise)
    bargain = Bargain.of(core, payer, asked, goal, free)
    if bargain is not None and bargain.none:
        return Spare(core, payer, asked, free, bargain)
    return Vouch(core, payer, asked, promise, goal, bargain)


@dataclass(frozen=True, eq=False)
class Decision(ABC):
    """What is done with one question, by one payer; nothing is done before it is carried out."""

    core: Core
    payer: Curator
    asked: Asked
    promise: Promise

    @abstractmethod
    def carry_out(self) -> tuple[Answer, Cost]:
        """The answer, remembered, and what it cost."""

    @abstractmethod
    def describe(self, *, later: bool = False) -> Explanation:
        """What carrying it out would do.

        Args:
            later: other questions come first, so that what a guard is owed may be paid by then.
        """

    @property
    def notes(self) -> tuple[str, ...]:
        """What is said beside the answer because it was decided so."""
        return ()

    @property
    def nothing(self) -> Cost:
        """A cost of zero in the ledger's currency."""
        return Cost.zero(self.payer.ledger.currency)

    def _kept(self, answer: Answer, goal: Goal | None = None) -> Answer:
        self.core.cache.keep(
            self.asked.key, self.promise, answer, None if goal is None else float(goal.alpha)
        )
        return answer

    def _said(self, source: Source, cost: Cost, error: Any, needed: Cost | None = None) -> Explanation:
        """Affordable if what is needed at least is there, the payer's and what was set aside for them."""
        there = self.payer.left + self.core.reserve.held(self.payer)
        budget = self.payer.ledger.budget
        enough = (cost if needed is None else needed) <= there
        said = Explanation.new(source, budget.part(cost), error, self.promise.confidence, enough)
        return said if cost.is_zero else replace(said, words=f"{said.words} {_taken(cost, budget)}")


@dataclass(frozen=True, eq=False)
class SayAgain(Decision):
    """It was answered before: the same again."""

    known: Answer

    def carry_out(self) -> tuple[Answer, Cost]:
        """The known answer, free."""
        return self.known, self.nothing

    def describe(self, *, later: bool = False) -> Explanation:
        """The known answer, at no cost."""
        return Explanation.known(self.asked.shown(self.known), self.payer.ledger.budget.part(self.nothing))


@dataclass(frozen=True, eq=False)
class Count(Decision):
    """People are counted by measuring."""

    goal: Goal
    people: People

    def carry_out(self) -> tuple[Answer, Cost]:
        """Measure what nobody has paid for yet."""
        try:
            reply, cost = self.people.measure()
        except BudgetExceeded as error:
            raise told(error, self._price, self.goal, self.payer.left) from None
        return self._kept(reply_as(reply, self.promise, "measured"), self.goal), cost

    def _price(self, goal: Goal) -> Cost:
        assert isinstance(self.asked, Statement)
        return people_price(self.payer, self.asked, goal, self.promise.simultaneous)

    def describe(self, *, later: bool = False) -> Explanation:
        """The noise that the accuracy allows."""
        return self._said("measured", self.people.cost, self.people.expected().error)


@dataclass(frozen=True, eq=False)
class ReadOff(Decision):
    """Without an accuracy it is read off what was learned, free."""

    def carry_out(self) -> tuple[Answer, Cost]:
        """Post-processing: no row is read."""
        return self._kept(reply_as(self._reply(), self.promise, "learned")), self.nothing

    def describe(self, *, later: bool = False) -> Explanation:
        """The same numbers' errors."""
        return self._said("learned", self.nothing, self.asked.in_unit(self._reply().error))

    def _reply(self) -> Reply:
        return self.asked.learned(self.core.belief, self.promise.confidence, self.promise.simultaneous)


@dataclass(frozen=True, eq=False)
class Spare(ReadOff):
    """An accuracy that would buy no narrower bound than the free one: the free answer, and why."""

    bargain: Bargain

    def carry_out(self) -> tuple[Answer, Cost]:
        """What whoever names no accuracy gets, or got."""
        known = self._known
        return super().carry_out() if known is None else (known, self.nothing)

    def describe(self, *, later: bool = False) -> Explanation:
        """The free answer's errors, and why it is that one."""
        known, said = self._known, super().describe(later=later)
        if known is not None:
            nothing = self.payer.ledger.budget.part(self.nothing)
            said = Explanation.known(self.asked.shown(known), nothing)
        return replace(said, words=f"{said.words} {self.bargain.words}.")

    @property
    def _known(self) -> Answer | None:
        return self.core.cache.find(self.asked.key, self.promise, self.asked)

    @property
    def notes(self) -> tuple[str, ...]:
        """Why nothing was charged."""
        return (self.bargain.words,)


@dataclass(frozen=True, eq=False)
class Vouch(Decision):
    """With an accuracy a comparison vouches for what was learned, or it is measured."""

    goal: Goal
    bargain: Bargain | None = None

    def carry_out(self) -> tuple[Answer, Cost]:
        """Compare if that is due and affordable, measure what trips and what is not compared."""
        pieces, nothing = list(self.asked.pieces), np.zeros(0)
        certify = self._certify()
        if not pieces:  # the schema alone says that it is zero
            known = Known(nothing, nothing, np.ones(0, np.bool_), certify.cost)
        else:
            try:
                known = certify.together(pieces) if self.asked.joint else self._stream(pieces, certify)
            except BudgetExceeded as error:
                raise told(error, self._price, self.goal, self.payer.left) from None
        reply = self.asked.assemble(known.counts, known.errors, self.goal.confidence, self.core.most_rows)
        answer = reply_as(reply, self.promise, _source(known.certified))
        answer = replace(answer, simultaneous=self.promise.simultaneous or known.certified)
        if known.vouched.any() and not known.certified:
            answer = replace(answer, sources=np.where(known.vouched, "certified", "measured"))
        if self.bargain is not None:
            answer = self.bargain.kept(answer)
        return self._kept(answer, self.goal), known.cost

    def describe(self, *, later: bool = False) -> Explanation:
        """Whether a comparison comes first, and the most that can cost.

        A question that is measured in one act is, when a comparison cannot be afforded; a list may have paid
        for trips before it comes to that.
        """
        certify, pieces = self._certify(), list(self.asked.pieces)
        if not self.asked.joint:
            pieces = [pieces[i] for i in self._known(pieces)[1].values()]
        if not pieces:
            compares, cost, needed = True, certify.cost, certify.cost
        elif self.asked.joint:
            compares, cost = certify.worst(pieces, later=later)
            needed = certify.least(pieces)
        else:
            compares, cost = certify.worst_one_by_one(pieces, later=later)
            needed = cost
        said = self._said(_source(compares), cost, self._expected(), needed)
        if self.bargain is None:
            return said
        if self.bargain.mixes:
            said = replace(said, source="learned", words=f"{said.words} {self.bargain.split}")
        return replace(said, words=f"{said.words} {self.bargain.doubts}".rstrip())

    def _price(self, goal: Goal) -> Cost:
        return direct_price(
            self.payer, list(self.asked.pieces), goal, self.asked.bounds(self.promise.simultaneous)
        )

    def _certify(self) -> Certify:
        together = self.promise.simultaneous
        numbers, beside = self.asked.bounds(together), together and not self.asked.joint
        return Certify(self.core, self.payer, self.goal, numbers, beside=beside)

    @property
    def _alone(self) -> Promise | None:
        """What each query of a list is promised, if it is answered as if it had been asked alone."""
        return None if self.promise.simultaneous else self.promise

    def _stream(self, queries: list[Query], certify: Certify) -> Known:
        """A list: each query is answered, and remembered, as if it had been asked alone."""
        found, new = self._known(queries)
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
            if self._alone and new[q.digest] == i:
                reply = OneQuery(q).assemble(counts[i : i + 1], errors[i : i + 1], self.goal.confidence, 0.0)
                said = reply_as(reply, self._alone, _source(vouched[i]))
                said = replace(said, simultaneous=bool(vouched[i]))
                self.core.cache.keep(OneQuery(q).key, self._alone, said, float(self.goal.alpha))
        return Known(counts, errors, vouched, made.cost)

    def _known(self, queries: list[Query]) -> tuple[list[Answer | None], dict[str, int]]:
        """What was answered before of a list, and where the rest is, without repeats and empty queries."""
        cache, alone = self.core.cache, self._alone
        found = [cache.find(OneQuery(q).key, alone) if alone else None for q in queries]
        new: dict[str, int] = {}
        for i, q in enumerate(queries):
            if found[i] is None and not is_nothing(q):
                new.setdefault(q.digest, i)
        return found, new

    def _expected(self) -> Any:
        """The error that a kept goal means, in the question's unit, if what was learned is about right."""
        if self.bargain is not None:
            return self.bargain.errors()
        return self.asked.in_unit(expected(self.core, self.asked, self.goal).error)


def reply_as(reply: Reply, promise: Promise, source: Source) -> Answer:
    """A reply as an answer with what was promised."""
    return Answer(
        reply.value,
        reply.error,
        promise.confidence,
        source,
        simultaneous=promise.simultaneous,
        notes=reply.notes,
        table=reply.table,
    )


def _taken(cost: Cost, budget: Budget) -> str:
    """What a price takes of a budget: epsilons of small prices add up to far more than they take together."""
    return f"It takes up to {percent(cost, budget)} of the whole budget."


def _source(certified: bool) -> Source:
    return "certified" if certified else "measured"
