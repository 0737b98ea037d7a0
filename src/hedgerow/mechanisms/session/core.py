"""Core: what everyone who asks one session shares - what is believed, said, compared and paid."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import cached_property
from math import log, sqrt
from typing import TYPE_CHECKING, Any

from hedgerow.curator.refining import refine
from hedgerow.curator.rows.source import begin_run
from hedgerow.errors import HedgerowError, LedgerError
from hedgerow.learning.factored.factored import FactoredHypothesis
from hedgerow.mechanisms.mechanism import finite
from hedgerow.mechanisms.session import prime as priming
from hedgerow.mechanisms.session.dense_belief import DenseBelief
from hedgerow.mechanisms.session.factored_belief import FactoredBelief
from hedgerow.mechanisms.session.guard import Guard
from hedgerow.mechanisms.session.log import Log, lines_of
from hedgerow.mechanisms.session.price import Goal, direct_price, width
from hedgerow.mechanisms.session.state import SessionState
from hedgerow.privacy.budget import Cost
from hedgerow.queries.query import Norms, Query
from hedgerow.synopsis.learned import Learned

if TYPE_CHECKING:
    from hedgerow.curator.curator import Curator
    from hedgerow.mechanisms.session.belief import Belief
    from hedgerow.mechanisms.session.session import Session
    from hedgerow.queries.measurement import Measurement

_COARSE = 10_000  # rows: the noise of the first look at the number of rows
_ENOUGH = 50  # standard deviations that the number of rows must stand above its noise
_TWO_SIDED = 0.7  # of alpha: what the noise of an ordinary sparse vector may take
_TABLE = 8  # the price of the table behind a question that tripped, in directly measured answers
_TABLE_CELLS = 1 << 20
_ROUGH = 0.1  # of the number of rows: a part of it means little when it may be off by more
_MIXED = Fraction(1, 10)  # of beta: for measured numbers that are to hold at once with certified ones
_FIRST_GUARD = Fraction(8, 10)  # of beta: for the first guard; all others together have what is left


_UNPRIMED = {"do": "prime", "price": None}


def guard_share(number: int) -> Fraction:
    """The part of beta that a guard may use: with _MIXED the parts of all guards add up to 1.

    >>> float(guard_share(0) + sum(guard_share(m) for m in range(1, 1000)) + _MIXED)
    0.9999
    """
    if number == 0:
        return _FIRST_GUARD
    return (1 - _FIRST_GUARD - _MIXED) / (number * (number + 1))


def is_begun(curator: Curator, name: str) -> bool:
    """Whether a session was primed, or decided that priming would not pay."""
    primed = curator.ledger.requested(request := f"{name}: prime")
    if primed is not None and (primed.kind, primed.run) == ("charge", name):
        return True
    from hedgerow.mechanisms.adaptive.adaptive import AdaptiveRelease  # which primes large domains

    runs = (request, priming.pairs_run(name), priming.best_run(name))
    if any(AdaptiveRelease(run=r).begun(curator) for r in runs):
        return True
    return any(line == _UNPRIMED for _, line in lines_of(curator.ledger, name))


def begun_sessions(curator: Curator, named: str) -> list[str]:
    """The sessions that were primed, under whichever schema and parameters.

    Args:
        curator: whose ledger knows them.
        named: a regular expression for the names that they were given.
    """
    opened = re.compile(rf"(session {named} [0-9a-f]{{12}}): opened")
    found = [opened.fullmatch(entry.request or "") for entry in curator.ledger.replay(None)]
    return [match[1] for match in found if match and is_begun(curator, match[1])]


class Core(SessionState):
    """The shared state of an open session, rebuilt from the ledger when there is one.

    Args:
        plan: the session's parameters.
        curator: who opened it and pays for priming.
        name: its name in the ledger.
        watch: told how far learning is, where that takes a while.
    """

    mixed = _MIXED

    def __init__(
        self, plan: Session, curator: Curator, name: str, watch: priming.Watch | None = None
    ) -> None:
        self.questions = plan.questions
        self.plan, self.curator, self.name, self._watch = plan, curator, name, watch
        self.domain = finite(curator)
        self.lock = threading.RLock()
        self.spent = Cost.zero(curator.ledger.currency)
        self.whom = curator.ledger.settings.counts  # fixed for good, and read once
        self._broken = False  # a turn was interrupted
        self._table_prices: dict[Goal, Cost] = {}
        self._single_prices: dict[Any, Cost] = {}
        with curator.ledger.alone():
            begin_run(curator, b"", request=f"{name}: opened", question=name, note="Session: opened")
            self._start()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """The session for one question: nobody else has it, and what others did is known.

        Threads and processes that share a session take turns; what one of them asked, measured, compared and
        said is in the ledger when the next one begins. After an interruption everything is read anew.
        """
        ledger = self.curator.ledger
        with self.lock, ledger.alone():
            if self._broken or self._lost:
                self._restart()
            self._broken = True
            if ledger.newest != self._newest:
                self.follow(self.log.news())
                for guard in self.guards:
                    guard.refresh()
            before = ledger.newest
            try:
                yield
            except BaseException as error:  # a refusal leaves all in order, and so does what did nothing yet
                refused = isinstance(error, HedgerowError) and not isinstance(error, LedgerError)
                if refused or ledger.newest == before:
                    self._end_turn()
                raise
            self._end_turn()

    @property
    def _lost(self) -> bool:
        """Whether the ledger lacks the newest line that is known: a turn was lost before it was committed."""
        return self.curator.ledger.hash_at(self._newest) != self._line

    @property
    def behind(self) -> bool:
        """Whether another process wrote something that this one has not followed yet: a turn does."""
        ledger, known = self.curator.ledger, self._newest
        return ledger.elsewhere > known or (ledger.newest >= known and self._lost)

    def _end_turn(self) -> None:
        """Nothing is told before it is written: else the next turn begins by reading everything anew."""
        self.write_answers(learned=not self.curator.ledger.simulation)
        self.save()
        self._stop_at_newest()

    # -- starting -----------------------------------------------------------------------------------------

    def _start(self) -> None:
        """Everything as the ledger has it."""
        self.begin(Log(self.curator, self.name))
        lines = self.log.news()
        decided = [line for _, line in lines if line["do"] == "prime"]
        if self.restore(self.domain):
            self.spent = self.spent + Cost.from_json(decided[-1]["price"])
        else:
            self.belief = self._believe(decided)
        self.follow(lines)
        self._stop_at_newest()

    def _stop_at_newest(self) -> None:
        """All is known and written, up to this line."""
        self._newest = self.curator.ledger.newest
        self._line = self.curator.ledger.hash_at(self._newest)
        self._broken = False

    def _restart(self) -> None:
        spent = self.spent
        self.write_answers()
        self._start()
        self.spent = spent

    @cached_property
    def rows(self) -> int | None:
        """How many rows there are, only where that is public."""
        return self.curator.rows

    @property
    def own_goal(self) -> Goal | None:
        """The accuracy that the whole session was opened for."""
        if self.plan.within is None and self.plan.within_count is None:
            return None
        return self.goal(self.plan.within, self.plan.within_count, self.plan.confidence)

    def goal(self, within: float | None, within_count: float | None, confidence: float) -> Goal:
        """An accuracy in rows: a part of the released number of rows, rounded down, or a count."""
        return Goal.of(within, within_count, confidence, self.size)

    def doubts(self, within: float | None, goal: Goal) -> tuple[str, ...]:
        """A note where a part of all rows was asked for and their number was only learned roughly."""
        off = width(goal.confidence) * sqrt(self.belief.numbers.size_variance)
        if within is None or off <= _ROUGH * self.size:
            return ()
        return (
            f"The accuracy is {within:.3g} of {self.size:,.0f} rows, but that number was learned with little "
            f"budget and may be off by {off:,.0f}: if there are fewer rows, it is a larger part of them.",
        )

    def _believe(self, decided: list[dict[str, Any]]) -> Belief:
        """Decide what priming may cost, once; then measure and fit, or find it in the ledger.

        A decision that was never paid for (the process died, somebody else was faster) binds nobody.
        """
        price = Cost.from_json(decided[-1]["price"]) if decided and decided[-1]["price"] else None
        if not decided or (price is not None and not self._begun):
            price = self._priming()
            if price is not None:
                self.curator.ledger.check(price, self.curator.account)
            self.log.write({"do": "prime", "price": price and price.to_json()})
        if price is None:
            self.primed = False
            return self._unprimed(self._counted)
        self.spent = self.spent + price
        return priming.prime(self.curator, price, self.name, self.plan.cells, self.rows, self._watch)

    @property
    def _begun(self) -> bool:
        """Whether some of what was decided is paid for: all of priming, or its first act."""
        first = self.curator.ledger.requested(priming.first_act(self.name))
        return is_begun(self.curator, self.name) or (first is not None and first.kind == "charge")

    def _priming(self) -> Cost | None:
        """What priming costs: what it was given, or what the accuracy needs; None when it would not pay."""
        plan, curator = self.plan, self.curator
        if plan.spend() is not None or (plan.within is None and plan.within_count is None):
            return curator.price(plan.spend())
        rows = self._counted[0] if plan.within is not None else 0.0
        goal = Goal.of(plan.within, plan.within_count, plan.confidence, rows)
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
        if priming.is_dense(self.domain, self.plan.cells):
            return DenseBelief.fitted(self.domain, measured, self.rows, total)
        hypothesis = FactoredHypothesis(self.domain, total=total)
        return FactoredBelief.of(Learned(hypothesis, tuple(measured), total), self.rows)

    # -- while it is open ---------------------------------------------------------------------------------

    def _run_price(self, goal: Goal, number: int = 0) -> Cost:
        """What one run of a guard costs: by experience when one-sided, by its error bound when ordinary."""
        direct = direct_price(self.curator, Query.total(), goal)
        if self.curator.privacy.neighbours == "add_remove":
            return priming.run_price(direct, self.plan.questions)
        beta = float(goal.beta * guard_share(number)) / 2
        reach = 4 * (log(4 / (3 * beta)) + log(self.plan.questions))  # in units of Delta / epsilon
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
                 "confidence": goal.confidence, "price": guard.price.to_json(), "debt": str(guard.debt),
                 "share": str(guard.share)},
                durable=False,  # what it leads to is charged, and covers it
            )  # fmt: skip
            self.guards.append(guard)
        return guard

    def likely_guard(self, goal: Goal) -> Guard:
        """The guard that `guard` would give, without making it."""
        own = goal == self.own_goal and self.primed
        for guard in self.guards:
            if own and guard.debt and guard.goal != goal:  # its own accuracy waits for no other one's debt
                continue
            if goal.alpha / 2 <= guard.goal.alpha <= goal.alpha and guard.goal.confidence >= goal.confidence:
                return guard
        number = len(self.guards)
        price, share = self._run_price(goal, number), guard_share(number)
        made = Guard(goal, price, self.questions, self.log, number, share=share)
        if not own:
            made.debt = made.opening.amount
        return made

    def table_price(self, payer: Curator, goal: Goal) -> Cost:
        """What the table behind a question that tripped is measured for."""
        if goal not in self._table_prices:
            self._table_prices[goal] = direct_price(payer, Query.total(), goal) * _TABLE
        return self._table_prices[goal]

    def single_price(self, payer: Curator, query: Query, goal: Goal, numbers: int) -> Cost:
        """What one query costs when it is measured; it depends on the largest weight and the lattice only."""
        like = (query.norms, query.denominator, goal, numbers)
        if like not in self._single_prices:
            self._single_prices[like] = direct_price(payer, [query], goal, numbers)
        return self._single_prices[like]

    def learn_table(self, payer: Curator, attributes: tuple[str, ...], price: Cost) -> Cost:
        """Measure the whole table behind a question, fit it, and say what that cost."""
        if not attributes or self.domain.cells(attributes) > _TABLE_CELLS:
            return Cost.zero(price.currency)
        line = {"do": "table", "attributes": list(attributes), "price": price.to_json(),
                "request": self.log.request("table"), "account": payer.account}  # fmt: skip
        self.write_answers()
        self.log.write(line)
        self.belief.learn(self.measure_table(line))
        return price

    def measure_table(self, line: dict[str, Any]) -> Measurement:
        """The measurement that a line of the log is about: made now, or found in the ledger."""
        made, _ = self.measure(
            self.log.payer(line["account"]),
            tuple(line["attributes"]),
            Cost.from_json(line["price"]),
            line["request"],
            "Session: a table that was learned wrong",
        )
        return made

    def measure(
        self, payer: Curator, target: Any, price: Cost, request: str, note: str
    ) -> tuple[Measurement, bool]:
        """Measure something, once for the whole session; says whether that was paid now.

        A request belongs to whoever paid for it: to anyone else it is given as that one got it, free.
        """
        paid = self.log.paid.get(request)
        by = payer if paid is None else self.log.payer(paid)
        (made,) = by.measure_all([target], price, request=request, note=note, run=self.name)
        self.log.paid[request] = by.account
        return made, paid is None

    def refine(self, payer: Curator, target: Any, line: int, step: Fraction, note: str) -> Measurement:
        """Refine the answer of a line, once for the whole session, as `measure` measures."""
        request = f"refined line {line}"
        paid = self.log.paid.get(request)
        by = payer if paid is None else self.log.payer(paid)
        made = refine(by, target, line, step, note=note, run=self.name)
        self.log.paid[request] = by.account
        return made
