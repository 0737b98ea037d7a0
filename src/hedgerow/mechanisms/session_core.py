"""Core: what everyone who asks one session shares - what is believed, said, compared and paid."""

from __future__ import annotations

import threading
from fractions import Fraction
from functools import cached_property
from math import log
from typing import TYPE_CHECKING, Any

from hedgerow.learning.factored import FactoredHypothesis
from hedgerow.mechanisms import session_prime as priming
from hedgerow.mechanisms.session_belief import Belief, DenseBelief, FactoredBelief
from hedgerow.mechanisms.session_cache import Cache
from hedgerow.mechanisms.session_guard import Guard
from hedgerow.mechanisms.session_log import Log, Reserve
from hedgerow.mechanisms.session_price import Goal, direct_price
from hedgerow.privacy.budget import Cost
from hedgerow.privacy.rational import exact
from hedgerow.queries.query import Norms, Query

if TYPE_CHECKING:
    from hedgerow.curator.curator import Curator
    from hedgerow.mechanisms.session import Session
    from hedgerow.queries.measurement import Measurement

_COARSE = 10_000  # rows: the noise of the first look at the number of rows
_ENOUGH = 50  # standard deviations that the number of rows must stand above its noise
_TWO_SIDED = 0.45  # of alpha: what the noise of an ordinary sparse vector may take
_TABLE = 8  # the price of the table behind a question that tripped, in directly measured answers
_TABLE_CELLS = 1 << 20


class Core:
    """The shared state of an open session, rebuilt from the ledger when there is one.

    Args:
        plan: the session's parameters.
        curator: who opened it and pays for priming.
        name: its name in the ledger.
    """

    def __init__(self, plan: Session, curator: Curator, name: str) -> None:
        self.plan, self.curator, self.name = plan, curator, name
        self.domain = curator._domain
        self.lock = threading.RLock()
        self.log = Log(curator, name)
        self.reserve = Reserve(self.log)
        self.cache = Cache()
        self.guards: list[Guard] = []
        self.rows = curator.rows
        self.spent = Cost.zero(curator.ledger.currency)
        self.primed = True
        self.belief = self._believe()
        self.size = self.belief.total
        self._resume()

    # -- starting -----------------------------------------------------------------------------------------

    @property
    def own_goal(self) -> Goal | None:
        """The accuracy that the whole session was opened for."""
        if self.plan.within is None and self.plan.within_count is None:
            return None
        return self.goal(self.plan.within, self.plan.within_count, self.plan.confidence)

    def goal(self, within: float | None, within_count: float | None, confidence: float) -> Goal:
        """An accuracy in rows: a part of the released number of rows, rounded down, or a count."""
        if within_count is not None:
            return Goal(exact(within_count), confidence)
        assert within is not None
        return Goal(Fraction(int(within * self.size)), confidence)

    def _believe(self) -> Belief:
        """Decide what priming may cost, once; then measure and fit, or find it in the ledger."""
        line = next(self.log.of("prime"), None)
        if line is None:
            price = self._priming()
            self.log.write({"do": "prime", "price": price and price.to_json()})
        else:
            price = line["price"] and Cost.from_json(line["price"])
        if price is None:
            self.primed = False
            return self._unprimed(self._counted)
        self.spent = self.spent + price
        return priming.prime(self.curator, price, self.name, self.plan.cells, self.rows)

    def _priming(self) -> Cost | None:
        """What priming costs: what it was given, or what the accuracy needs; None when it would not pay."""
        plan, curator = self.plan, self.curator
        if plan.spend() is not None or (plan.within is None and plan.within_count is None):
            return curator.price(plan.spend())
        self.size = self._counted[0] if plan.within is not None else 0.0
        goal = self.own_goal
        assert goal is not None
        direct = direct_price(curator, Query.total(), goal)
        price = priming.start_price(self.domain, direct, plan.questions)
        start = price + self._run_price(goal) * len(Guard(goal, price, 1, self.log, 0).sides)
        return price if start.amount < direct.amount * plan.questions else None

    @cached_property
    def _counted(self) -> tuple[float, list[Measurement]]:
        """About how many rows there are: public, or measured more and more closely until it stands out."""
        if self.rows is not None:
            return float(self.rows), []
        if self.plan.within is None:
            return 1.0, []
        sigma, measured = Fraction(_COARSE), []
        while True:
            goal = Goal(sigma, 0.6827)
            price = direct_price(self.curator, (), goal)
            request = f"{self.name}: rows {sigma}"
            measured += self.curator.measure_all(
                [()], price, request=request, note="Session: rows", run=self.name
            )
            self.spent = self.spent + price
            value = float(measured[-1].counts)
            if value > _ENOUGH * sigma or sigma <= 8:
                return max(value, 1.0), measured
            sigma /= 4

    def _unprimed(self, counted: tuple[float, list[Measurement]]) -> Belief:
        """A belief that knows only how many rows there are: every question is measured for itself."""
        total, measured = counted
        belief: Belief
        if priming.is_dense(self.domain, self.plan.cells):
            belief = DenseBelief(self.domain, measured, self.rows)
        else:
            hypothesis = FactoredHypothesis(self.domain, total=total)
            belief = FactoredBelief(hypothesis, measured, self.rows, total)
        belief.hypothesis.total = total  # type: ignore[attr-defined]
        return belief

    def _resume(self) -> None:
        """Follow the log: guards, runs, tables and answers in the order in which they came."""
        for line in self.log.lines:
            if line["do"] == "guard":
                goal = Goal(Fraction(line["alpha"]), line["confidence"])
                self._guard(goal, Cost.from_json(line["price"]), line["number"], Fraction(line["debt"]))
            elif line["do"] == "run":
                self.guards[line["guard"]].resume(line)
            elif line["do"] == "table" and line["request"] in self.log.known:
                self.belief.learn(self.measure_table(self._payer(line["account"]), line))
            elif line["do"] == "answers":
                self.cache.load(line["answers"])
                for number, debt in line["debts"].items():
                    self.guards[int(number)].debt = Fraction(debt)

    def _payer(self, account: str) -> Curator:
        return self.curator if account == self.curator.account else self.curator.child(account)

    # -- while it is open ---------------------------------------------------------------------------------

    def _run_price(self, goal: Goal) -> Cost:
        """What one run of a guard costs: by experience when one-sided, by its error bound when ordinary."""
        direct = direct_price(self.curator, Query.total(), goal)
        if self.curator.privacy.neighbours == "add_remove":
            return priming.run_price(direct, self.plan.questions)
        beta = float(goal.beta) / 2
        reach = 2 * log(2 / beta) + 4 * log(2 * self.plan.questions / beta)  # in units of Delta / epsilon
        delta = self.curator.privacy.sensitivity(Norms.query(1)).l1
        epsilon = delta * Fraction(reach / (_TWO_SIDED * float(goal.alpha)))
        return Cost(direct.currency, epsilon if direct.currency == "epsilon" else epsilon**2 / 2)

    def guard(self, goal: Goal) -> Guard:
        """The guard that certifies a goal: one that is there and certifies no less, or a new one.

        A guard for another accuracy than the session's own is opened only after directly measured answers
        have cost as much as opening it: one question alone is not worth two sparse vectors.
        """
        guard = self.likely_guard(goal)
        if guard not in self.guards:
            self.log.write(
                {"do": "guard", "number": guard.number, "alpha": str(goal.alpha),
                 "confidence": goal.confidence, "price": guard.price.to_json(), "debt": str(guard.debt)}
            )  # fmt: skip
            self.guards.append(guard)
        return guard

    def likely_guard(self, goal: Goal) -> Guard:
        """The guard that `guard` would give, without making it."""
        for guard in self.guards:
            if goal.alpha / 2 <= guard.goal.alpha <= goal.alpha and guard.goal.confidence >= goal.confidence:
                return guard
        price = self._run_price(goal)
        made = Guard(goal, price, self.plan.questions, self.log, len(self.guards))
        if goal != self.own_goal or not self.primed:
            made.debt = made.opening.amount
        return made

    def _guard(self, goal: Goal, price: Cost, number: int, debt: Fraction) -> Guard:
        self.guards.append(Guard(goal, price, self.plan.questions, self.log, number, debt))
        return self.guards[-1]

    def table_price(self, payer: Curator, goal: Goal) -> Cost:
        """What the table behind a question that tripped is measured for."""
        return direct_price(payer, Query.total(), goal) * _TABLE

    def learn_table(self, payer: Curator, attributes: tuple[str, ...], price: Cost) -> Cost:
        """Measure the whole table behind a question, fit it, and say what that cost."""
        if not attributes or self.domain.cells(attributes) > _TABLE_CELLS:
            return Cost.zero(price.currency)
        line = {"do": "table", "attributes": list(attributes), "price": price.to_json(),
                "request": self.log.request("table"), "account": payer.account}  # fmt: skip
        self.write_answers()
        self.log.write(line)
        self.belief.learn(self.measure_table(payer, line))
        return price

    def measure_table(self, payer: Curator, line: dict[str, Any]) -> Measurement:
        """The measurement that a line of the log is about: made now, or found in the ledger."""
        return payer.measure_all(
            [tuple(line["attributes"])],
            Cost.from_json(line["price"]),
            request=line["request"],
            note="Session: a table that was learned wrong",
            run=self.name,
        )[0]

    def write_answers(self, *, durable: bool = True) -> None:
        """Put what was said since the last time into the ledger."""
        answers = self.cache.written()
        if answers:
            debts = {str(g.number): str(g.debt) for g in self.guards}
            self.log.write({"do": "answers", "answers": answers, "debts": debts}, durable=durable)
