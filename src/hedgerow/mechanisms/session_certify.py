"""Certify: answers of a given accuracy - vouched for by a comparison, or measured when that trips."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.mechanisms.session_price import Goal, direct_price
from hedgerow.privacy.budget import Cost

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.curator import Curator
    from hedgerow.mechanisms.session_core import Core
    from hedgerow.mechanisms.session_guard import Guard
    from hedgerow.queries.query import Query


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
    """

    def __init__(self, core: Core, payer: Curator, goal: Goal, numbers: int) -> None:
        self.core, self.payer, self.goal, self.numbers = core, payer, goal, numbers
        self.cost = Cost.zero(payer.ledger.currency)

    def together(self, queries: Sequence[Query]) -> Known:
        """Counts that are measured in one act if any of them trips: a query, a table, a statement."""
        guard = self.core.guard(self.goal)
        direct = self._direct_price(queries)
        if self._ready(guard, direct):
            estimates = self.core.belief.counts(queries)
            at, tripped = guard.compare(queries, estimates)
            if not tripped:
                guard.saved += direct.amount
                return Known(
                    estimates, self._alpha(guard, len(queries)), np.ones(len(queries), np.bool_), self.cost
                )
            return self._tripped(guard, queries, queries[at - 1], direct)
        return self._measured(guard, queries, direct)

    def one_by_one(self, queries: Sequence[Query]) -> Known:
        """Counts that are each certified or measured alone, in order: a list is a stream."""
        guard = self.core.guard(self.goal)
        counts, errors = np.zeros(len(queries)), np.zeros(len(queries))
        at, vouched = 0, np.ones(len(queries), dtype=np.bool_)
        while at < len(queries):
            direct = self._direct_price(queries[at : at + 1])
            if self._ready(guard, direct):
                estimates = self.core.belief.counts(queries[at:])
                decided, tripped = guard.compare(queries[at:], estimates)
                passed = decided - bool(tripped)
                counts[at : at + passed], errors[at : at + passed] = (
                    estimates[:passed],
                    float(guard.goal.alpha),
                )
                guard.saved += passed * direct.amount
                at += passed
                if not tripped:
                    continue
                known = self._tripped(guard, queries[at : at + 1], queries[at], direct)
            else:
                known = self._measured(guard, queries[at : at + 1], direct)
            counts[at], errors[at] = known.counts[0], known.errors[0]
            vouched[at] = False
            at += 1
        return Known(counts, errors, vouched, self.cost)

    def worst(self, queries: Sequence[Query]) -> tuple[bool, Cost]:
        """Whether a comparison would come first, and the most that asking can cost; reads no rows."""
        guard = self.core.likely_guard(self.goal)
        direct = self._direct_price(queries)
        if guard.debt > 0:
            return False, direct
        return True, guard.opening + self._worst(guard, direct)

    # -- inside -------------------------------------------------------------------------------------------

    def _direct_price(self, queries: Sequence[Query]) -> Cost:
        return direct_price(self.payer, list(queries), self.goal, self.numbers)

    def _worst(self, guard: Guard, direct: Cost) -> Cost:
        """A direct answer, a table, and every side anew."""
        worst = direct + self.core.table_price(self.payer, self.goal)
        for _ in guard.sides:
            worst = worst + guard.price
        return worst

    def _ready(self, guard: Guard, direct: Cost) -> bool:
        """Open what is closed and set the worst case aside; False if that is not due or not affordable."""
        if guard.debt > 0:
            return False
        worst, reserve = self._worst(guard, direct), self.core.reserve
        if guard.closed:
            reserve.release(self.payer)
            opening = guard.opening
            if not opening + worst <= self.payer._left:
                return False
            guard.open(self.payer)
            self._paid(opening)
        return reserve.hold(self.payer, worst)

    def _alpha(self, guard: Guard, size: int) -> NDArray[np.float64]:
        return np.full(size, float(guard.goal.alpha))

    def _tripped(self, guard: Guard, queries: Sequence[Query], wrong: Query, direct: Cost) -> Known:
        """Measure the answer, then the whole table behind what was wrong, and learn it.

        A trip that came before its price was saved is followed by as much direct measuring: an adversary who
        always finds a wrong answer then pays about twice what fresh noise would cost.
        """
        table = self.core.table_price(self.payer, self.goal)
        price = (guard.price + table).amount
        early, guard.saved = guard.saved < price, Fraction(0)
        self.core.reserve.release(self.payer)
        counts, errors = self._measure(queries, direct)
        self._paid(self.core.learn_table(self.payer, wrong.attributes, table))
        guard.debt = price if early else Fraction(0)
        return Known(counts, errors, np.zeros(len(queries), np.bool_), self.cost)

    def _measured(self, guard: Guard, queries: Sequence[Query], direct: Cost) -> Known:
        counts, errors = self._measure(queries, direct)
        guard.debt = max(guard.debt - direct.amount, Fraction(0))
        return Known(counts, errors, np.zeros(len(queries), np.bool_), self.cost)

    def _measure(self, queries: Sequence[Query], direct: Cost) -> tuple[Any, Any]:
        """Fresh noise as large as the goal allows; counts below zero are put at zero, which is nearer."""
        about = hashlib.sha256("".join(q.digest for q in queries).encode()).hexdigest()[:24]
        promised = f"{self.goal.alpha} {self.goal.confidence} {self.numbers}"
        (made,) = self.payer.measure_all(
            [list(queries)],
            direct,
            request=f"{self.core.name}: direct {about} {promised}",
            note="Session: answered by its own measurement",
            run=self.core.name,
        )
        self._paid(direct)
        error = made.noise.half_width(self.goal.confidence, numbers=self.numbers)
        return np.maximum(made.counts, 0.0), np.full(len(queries), error)

    def _paid(self, cost: Cost) -> None:
        self.cost = self.cost + cost
        self.core.spent = self.core.spent + cost
