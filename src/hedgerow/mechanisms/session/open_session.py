"""OpenSession: what an analyst holds - ask, explain, quantiles, tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from html import escape
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import BudgetExceeded, UnsupportedQuery
from hedgerow.mechanisms.session.cache import Promise
from hedgerow.mechanisms.session.decision import decide
from hedgerow.mechanisms.session.explain import Explanation
from hedgerow.mechanisms.session.price import Goal, refuse_accuracy
from hedgerow.mechanisms.session.quantile import Quantile
from hedgerow.privacy.budget import Cost
from hedgerow.privacy.share import used_up
from hedgerow.queries.asked import named_table
from hedgerow.queries.pieces import Statement, by_queries, read_all
from hedgerow.queries.reply import Asked
from hedgerow.queries.staged import AnswerTerms, Ground, Staged
from hedgerow.synopsis.answer import Answer
from hedgerow.synopsis.in_stages import in_stages

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.curator import Curator
    from hedgerow.mechanisms.session.belief import Belief
    from hedgerow.mechanisms.session.core import Core
    from hedgerow.plot import Plot
    from hedgerow.privacy.budget import Budget
    from hedgerow.queries.question import Question
    from hedgerow.queries.readings import Linear
    from hedgerow.queries.within import Within

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
        with self._core.turn():  # what is not in the ledger is not believed
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
        if payer is self._payer:
            return self
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
        return [self._said(a, wish) for a in asked] if isinstance(asked, list) else self._said(asked, wish)

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
            return [self._foretold(a, wish, later=i > 0) for i, a in enumerate(asked)]
        return self._foretold(asked, wish)

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

    def plot(self, attributes: str | Sequence[str], *others: str, confidence: float = _LEARNED) -> Plot:
        """A picture of what is learned over one attribute or two, with its errors; it spends nothing.

        Args:
            attributes, others: their names.
            confidence: how often the whiskers, or the band, should hold the true count.
        """
        names = (str(attributes), *others) if others else attributes
        asked = named_table(self._core.domain, names).attributes
        picture: Plot = self.ask(asked, confidence=confidence).plot()
        return picture

    def settle(self) -> None:
        """What was asked until now is in the ledger for good: whoever reads beside the session may know it.

        For whoever put several questions into one `Ledger.turn`, after that has ended.
        """
        self._core.cache.settle()

    def follow(self) -> None:
        """Learn what other processes have done with this session since."""
        with self._core.turn():
            pass

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

    def _repr_html_(self) -> str:
        left = self._payer.remaining.epsilon
        said = (
            f"{len(self._core.cache):,} answers given, about {self.total:,.0f} rows, epsilon {left:.4g} left"
        )
        name = self._core.name.removeprefix("session ")
        return f"<p><b>Session</b> {escape(name)}: {said}</p>{self._core.domain._repr_html_()}"

    # -- inside -------------------------------------------------------------------------------------------

    def _said(self, asked: Asked | Staged, wish: Wish) -> Answer:
        if isinstance(asked, Staged):
            return self._in_stages(asked, wish)
        answer, cost = self._ask(asked, wish)
        return answer if cost.is_zero else replace(answer, cost=self._part(cost))

    def _ask(self, asked: Asked, wish: Wish) -> tuple[Answer, Cost]:
        with self._core.turn():
            goal, promise, free = self._meant(asked, wish)
            decision = decide(self._core, self._payer, asked, goal, promise, free)
            answer, cost = decision.carry_out()
            answer = asked.shown(answer)
            notes = (*answer.notes, *answer.doubts, *decision.notes, *self._doubts(wish, goal))
            return replace(answer, notes=(*notes, *left_out(asked, answer, self._core.belief))), cost

    def _in_stages(self, staged: Staged, wish: Wish) -> Answer:
        """A statement in two stages: its questions are priced, and refused, together before any is paid."""
        ledger = self._payer.ledger
        with self._core.lock, ledger.alone():
            with self._core.turn():  # what is not in the ledger is not believed
                belief = self._core.belief
            confidence, terms, each = self._terms(staged, wish)
            if len(staged.questions) > 1:
                self._refuse_together(staged, each)
            spent = Cost.zero(ledger.currency)

            def ask(questions: Sequence[Question]) -> list[Answer]:
                nonlocal spent
                said = [self._ask(by_queries(q), each) for q in questions]
                spent = sum((cost for _, cost in said), spent)
                return [answer for answer, _ in said]

            ground = self._ground(wish, confidence, belief.readings, belief.within)
            answer = in_stages(staged, ask, confidence, terms.simultaneous, ground)
            return answer if spent.is_zero else replace(answer, cost=self._part(spent))

    def _ground(self, wish: Wish, confidence: float, linear: Linear, within: Within | None) -> Ground | None:
        """What a statement's numbers are read off, if no accuracy is named; else they are not."""
        learned = self._goal(wish) is None
        return Ground(linear, within, confidence, wish.simultaneous) if learned else None

    def _terms(self, staged: Staged, wish: Wish) -> tuple[float, AnswerTerms, Wish]:
        """The confidence of a statement, what that asks of each answer, and the same as a wish."""
        goal = self._goal(wish)
        sure = (
            wish.confidence if wish.confidence is not None else _LEARNED if goal is None else goal.confidence
        )
        _indicative(sure, simultaneous=False)
        terms = staged.terms(sure, wish.simultaneous)
        return sure, terms, replace(wish, confidence=terms.confidence, simultaneous=terms.simultaneous)

    def _refuse_together(self, staged: Staged, each: Wish) -> None:
        """Refuse a statement that could only be answered in part, by what its questions cost now."""
        parts = [self._explain(by_queries(q), each) for q in staged.questions]
        cost = sum((p.cost.cost for p in parts), Cost.zero(self._payer.ledger.currency))
        if all(p.affordable for p in parts) and cost <= self._there():
            return
        needed, left = self._part(cost), self._payer.remaining
        spent = used_up(self._there(), self._payer.ledger.budget)
        there = "nothing" if spent else f"epsilon {left.epsilon:.3g}"
        raise BudgetExceeded(
            f"the questions of the statement cost epsilon {needed.epsilon:.3g} together, and {there} is left",
            hint="ask for less accuracy, or for a part of it",
            needed=needed,
            remaining=left,
        )

    def _there(self) -> Cost:
        """What there is to pay with: the payer's own, and what was set aside for them."""
        with self._core.turn():
            return self._payer.left + self._core.reserve.held(self._payer)

    def _foretold(self, asked: Asked | Staged, wish: Wish, *, later: bool = False) -> Explanation:
        if not isinstance(asked, Staged):
            return self._explain(asked, wish, later=later)
        confidence, _, each = self._terms(asked, wish)
        parts = [
            self._explain(by_queries(q), each, later=later or i > 0) for i, q in enumerate(asked.questions)
        ]
        cost = sum((p.cost.cost for p in parts), Cost.zero(self._payer.ledger.currency))
        return Explanation.together(parts, self._part(cost), confidence, cost <= self._there())

    def _explain(self, asked: Asked, wish: Wish, *, later: bool = False) -> Explanation:
        with self._core.turn():
            goal, promise, free = self._meant(asked, wish)
            decision = decide(self._core, self._payer, asked, goal, promise, free)
            said = decision.describe(later=later)
            return replace(said, words=" ".join((said.words, *self._doubts(wish, goal))))

    def _doubts(self, wish: Wish, goal: Goal | None) -> tuple[str, ...]:
        """Notes about an accuracy that is a part of all rows, and about whom counts are of."""
        if goal is None:
            return self._core.whom
        own = wish.within is None and wish.within_count is None
        return (*self._core.doubts(self._core.plan.within if own else wish.within, goal), *self._core.whom)

    def _read(self, query: Any) -> Asked | Staged | list[Asked | Staged]:
        unit = self._core.curator.table.unit
        return read_all(self._core.domain, query, unit.column if unit else None)

    def _part(self, cost: Cost) -> Budget:
        return self._payer.ledger.budget.part(cost)

    def _meant(self, asked: Asked, wish: Wish) -> tuple[Goal | None, Promise, Promise]:
        """What accuracy is asked for; what is promised with the answer, and what if no accuracy is named.

        Where the answer itself chooses the groups that it shows, the bounds must hold for all of them.
        """
        together = wish.simultaneous or asked.selects
        goal = self._goal(wish)
        free = _indicative(_LEARNED if wish.confidence is None else wish.confidence, together)
        promise = free if goal is None else Promise(goal.confidence, together, float(goal.alpha))
        return goal, promise, free

    def _goal(self, wish: Wish) -> Goal | None:
        refuse_accuracy(wish.within, wish.within_count, wish.confidence)
        if wish.within is None and wish.within_count is None:
            own = self._core.own_goal
            return own if own is None or wish.confidence is None else Goal(own.alpha, wish.confidence)
        sure = self._core.plan.confidence if wish.confidence is None else wish.confidence
        return self._core.goal(wish.within, wish.within_count, sure)


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


def left_out(asked: Asked, answer: Answer, belief: Belief) -> tuple[str, ...]:
    """What a learned answer says of attributes that were not measured together."""
    if answer.source != "learned":
        return ()
    parts = asked.question.forms if isinstance(asked, Statement) else asked.pieces
    return belief.notes(p.attributes for p in parts)
