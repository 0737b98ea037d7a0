"""Certify: answers of a given accuracy - vouched for by a comparison, or measured when that trips."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import BudgetExceeded
from hedgerow.mechanisms.session.price import Goal, direct_price
from hedgerow.mechanisms.session.pure_chain import chain_of
from hedgerow.privacy.budget import Cost

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.curator import Curator
    from hedgerow.mechanisms.session.chain import Chain
    from hedgerow.mechanisms.session.core import Core
    from hedgerow.mechanisms.session.guard import Guard
    from hedgerow.queries.query import Query


_SAVED = 3  # trips that savings pay for: what more would bring is lost when a list's worst case is set aside


@dataclass(frozen=True, eq=False)
class Known:
    """Counts that keep a goal, how far off each may be, and which of them a comparison vouches for."""

    counts: NDArray[np.float64]
    errors: NDArray[np.float64]
    vouched: NDArray[np.bool_]
    cost: Cost

    @property
    def certified(self) -> bool:
        """Whether comparisons vouch for all of them."""
        return bool(self.vouched.all())


class Certify:
    """One question of given accuracy, by one payer.

    Args:
        core: the session.
        payer: who pays.
        goal: what every count must keep.
        numbers: how many counts share the confidence when they are measured.
        beside: whether measured counts are to hold at once with certified ones: then they have only the part
            of beta that guards leave.
    """

    def __init__(self, core: Core, payer: Curator, goal: Goal, numbers: int, *, beside: bool = False) -> None:
        self.core, self.payer, self.goal, self.numbers = core, payer, goal, numbers
        self.measured = Goal(goal.alpha, float(1 - goal.beta * core.mixed)) if beside else goal
        self.cost = Cost.zero(payer.ledger.currency)

    def together(self, queries: Sequence[Query]) -> Known:
        """Counts that are measured in one act if any of them trips: a query, a table, a statement."""
        guard = self.core.guard(self.goal)
        direct = self._direct_price(queries)
        if self._ready(guard, direct):
            estimates = self.core.belief.counts(queries)
            at, tripped = guard.compare(queries, estimates)
            if not tripped:
                self._save(guard, direct.amount)
                return Known(
                    estimates, self._alpha(guard, len(queries)), np.ones(len(queries), np.bool_), self.cost
                )
            return self._tripped(guard, queries, queries[at - 1], direct)
        return self._measured(guard, queries, direct)

    def one_by_one(self, queries: Sequence[Query]) -> Known:
        """Counts that are each certified or measured alone, in order: a list is a stream."""
        directs = [self._single_price(q) for q in queries]
        self._refuse_unpayable(queries, directs)
        guard = self.core.guard(self.goal)
        counts, errors = np.zeros(len(queries)), np.zeros(len(queries))
        at, vouched = 0, np.ones(len(queries), dtype=np.bool_)
        while at < len(queries):
            if self._ready(guard, _largest(directs[at:])):
                estimates = self.core.belief.counts(queries[at:])
                decided, tripped = guard.compare(queries[at:], estimates)
                passed = decided - bool(tripped)
                counts[at : at + passed], errors[at : at + passed] = (
                    estimates[:passed],
                    float(guard.goal.alpha),
                )
                self._save(guard, sum((d.amount for d in directs[at : at + passed]), Fraction(0)))
                at += passed
                if not tripped:
                    continue
                known = self._tripped(guard, queries[at : at + 1], queries[at], directs[at])
            else:
                known = self._measured(guard, queries[at : at + 1], directs[at])
            counts[at], errors[at] = known.counts[0], known.errors[0]
            vouched[at] = False
            at += 1
        return Known(counts, errors, vouched, self.cost)

    def worst(self, queries: Sequence[Query], *, later: bool = False) -> tuple[bool, Cost]:
        """Whether a comparison would come first, and the most that `together` can cost; reads no rows.

        Args:
            queries: what is asked.
            later: other questions come first, so that what the guard is owed may be paid by then.
        """
        guard, direct = self.core.likely_guard(self.goal), self._direct_price(queries)
        compares = self._would_compare(guard, direct)
        if not compares and not later:
            return False, self._unpaid(queries, direct)
        opening = guard.price * len(guard.sides) if later else guard.opening
        return compares, opening + direct + self.core.table_price(self.payer, self.goal)

    def worst_one_by_one(self, queries: Sequence[Query], *, later: bool = False) -> tuple[bool, Cost]:
        """The same for `one_by_one`.

        Every trip but the last is paid by what was saved before, or by what was saved or measured on the way:
        that bounds how many there can be.
        """
        guard, directs = self.core.likely_guard(self.goal), [self._single_price(q) for q in queries]
        whole = sum(directs, Cost.zero(self.payer.ledger.currency))
        compares = self._would_compare(guard, _largest(directs))
        if not later and self._measures_all(guard, directs):
            return False, self._unpaid_one_by_one(queries, directs)
        table, anew = self.core.table_price(self.payer, self.goal), guard.price * len(guard.sides)
        saved = _SAVED * self._trip_price(guard) if later else guard.saved
        trips = min(len(queries), 1 + int((saved + whole.amount) / self._trip_price(guard)))
        return compares, anew + whole + (table + anew) * trips

    def least(self, queries: Sequence[Query]) -> Cost:
        """What `together` must be able to pay: measuring, unless somebody has paid for that."""
        return self._unpaid(queries, self._direct_price(queries))

    # -- inside -------------------------------------------------------------------------------------------

    def _would_compare(self, guard: Guard, direct: Cost) -> bool:
        """Whether a comparison is due and its worst case can be set aside: what `_ready` will find."""
        there = self.payer.left + self.core.reserve.held(self.payer)
        return guard.debt <= 0 and guard.opening + self._worst(guard, direct) <= there

    def _measures_all(self, guard: Guard, directs: Sequence[Cost]) -> bool:
        """Whether a list is measured, query by query: nothing is compared now, nor once that is paid."""
        if not directs or self._would_compare(guard, _largest(directs)):
            return False
        return guard.debt <= 0 or sum(direct.amount for direct in directs) < guard.debt

    def _refuse_unpayable(self, queries: Sequence[Query], directs: Sequence[Cost]) -> None:
        """Refuse a list whose every query must be measured, before the first of them, if not all can be."""
        if not self._measures_all(self.core.likely_guard(self.goal), directs):
            return
        cost = self._unpaid_one_by_one(queries, directs)
        if not cost <= self.payer.left:
            self.core.reserve.release(self.payer)
            self.payer.ledger.check(cost, self.payer.account)

    def _direct_price(self, queries: Sequence[Query]) -> Cost:
        if len(queries) == 1:
            return self._single_price(queries[0])
        return direct_price(self.payer, list(queries), self.measured, self.numbers)

    def _single_price(self, query: Query) -> Cost:
        return self.core.single_price(self.payer, query, self.measured, self.numbers)

    def _worst(self, guard: Guard, direct: Cost) -> Cost:
        """A direct answer, a table, and every side anew."""
        worst = direct + self.core.table_price(self.payer, self.goal)
        for _ in guard.sides:
            worst = worst + guard.price
        return worst

    def _ready(self, guard: Guard, direct: Cost) -> bool:
        """Open what is closed and set the worst case aside; False if that is not due or not affordable."""
        worst, reserve = self._worst(guard, direct), self.core.reserve
        if guard.debt > 0:
            reserve.release(self.payer)  # what is measured now may need it
            return False
        if guard.closed:
            reserve.release(self.payer)
            if not guard.opening + worst <= self.payer.left:
                return False
            try:
                for price in guard.open(self.payer):
                    self._paid(price)
            except BudgetExceeded:  # somebody else was faster
                return False
        return reserve.hold(self.payer, worst)

    def _alpha(self, guard: Guard, size: int) -> NDArray[np.float64]:
        return np.full(size, float(guard.goal.alpha))

    def _tripped(self, guard: Guard, queries: Sequence[Query], wrong: Query, direct: Cost) -> Known:
        """Measure the answer, then the whole table behind what was wrong, and learn it.

        Certified answers save what they would have cost; trips are paid from that. What is missing is made up
        for by as much direct measuring. So all trips but the last cost no more than the questions would have
        cost directly, and whoever always finds a wrong answer spends about twice what fresh noise would.
        """
        table, price = self.core.table_price(self.payer, self.goal), self._trip_price(guard)
        guard.debt = max(price - guard.saved, Fraction(0))
        guard.saved = max(guard.saved - price, Fraction(0))
        fund = self.core.reserve.fund(self.payer)
        counts, errors = self._measure(queries, direct, fund)
        self._paid(self.core.learn_table(fund, wrong.attributes, table))
        self.core.reserve.release(self.payer)
        return Known(counts, errors, np.zeros(len(queries), np.bool_), self.cost)

    def _trip_price(self, guard: Guard) -> Fraction:
        return (guard.price + self.core.table_price(self.payer, self.goal)).amount

    def _save(self, guard: Guard, amount: Fraction) -> None:
        guard.saved = min(guard.saved + amount, _SAVED * self._trip_price(guard))

    def _measured(self, guard: Guard, queries: Sequence[Query], direct: Cost) -> Known:
        counts, errors = self._measure(queries, direct, self.payer)
        guard.debt = max(guard.debt - direct.amount, Fraction(0))
        return Known(counts, errors, np.zeros(len(queries), np.bool_), self.cost)

    def _measure(self, queries: Sequence[Query], direct: Cost, fund: Curator) -> tuple[Any, Any]:
        """Fresh noise as large as the goal allows; counts below zero are put at zero, which is nearer.

        What somebody has paid for already is given again as it was.
        """
        chain = self._chain(queries, direct)
        due = chain.due
        counts, error = chain.measure(fund, "Session: answered by its own measurement")
        self._paid(due)
        return np.maximum(counts, 0.0), np.full(len(queries), error)

    def _chain(self, queries: Sequence[Query], direct: Cost) -> Chain:
        digest = hashlib.sha256("".join(q.digest for q in queries).encode()).hexdigest()[:24]
        about = f"direct {digest}"
        promised = f"{self.goal.alpha} {self.measured.confidence} {self.numbers} {direct.amount}"
        request = f"{self.core.name}: {about} {promised}"
        goal, numbers = self.measured, self.numbers
        return chain_of(self.core, self.payer, list(queries), about, goal, numbers, direct, request)

    def _unpaid(self, queries: Sequence[Query], direct: Cost) -> Cost:
        return self._chain(queries, direct).due

    def _unpaid_one_by_one(self, queries: Sequence[Query], directs: Sequence[Cost]) -> Cost:
        unpaid = (self._unpaid([q], direct) for q, direct in zip(queries, directs, strict=True))
        return sum(unpaid, Cost.zero(self.payer.ledger.currency))

    def _paid(self, cost: Cost) -> None:
        self.cost = self.cost + cost
        self.core.spent = self.core.spent + cost


def _largest(prices: Sequence[Cost]) -> Cost:
    return max(prices, key=lambda cost: cost.amount)
