"""People: COUNT(DISTINCT unit) in a session - no table of rows knows it, so it is measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hedgerow.curator.statistics.people import PeopleCounts
from hedgerow.mechanisms.session.price import Goal, direct_price
from hedgerow.mechanisms.session.pure_chain import chain_of
from hedgerow.privacy.budget import Cost
from hedgerow.queries.pieces import Statement
from hedgerow.queries.reply import Reply

if TYPE_CHECKING:
    from hedgerow.curator.curator import Curator
    from hedgerow.mechanisms.session.chain import Chain
    from hedgerow.mechanisms.session.core import Core


def people_price(payer: Curator, asked: Statement, goal: Goal, simultaneous: bool) -> Cost:
    """What counting people costs, when nobody has paid for any of it."""
    numbers, nothing = _numbers(asked, simultaneous), Cost.zero(payer.ledger.currency)
    forms = asked.question.forms
    return sum((direct_price(payer, PeopleCounts(form), goal, numbers) for form in forms), nothing)


def _numbers(asked: Statement, simultaneous: bool) -> int:
    return len(asked.question.forms) * (asked.question.size if simultaneous else 1)


class People:
    """A statement that counts people, by one payer.

    Args:
        core: the session.
        payer: who pays.
        asked: the statement.
        goal: what every count must keep.
        simultaneous: for all of them at once.
    """

    def __init__(self, core: Core, payer: Curator, asked: Statement, goal: Goal, simultaneous: bool) -> None:
        question = asked.question
        self._core, self._payer, self._question, self._goal = core, payer, question, goal
        self._numbers = _numbers(asked, simultaneous)
        self._targets = [PeopleCounts(form) for form in question.forms]
        self._prices = [direct_price(payer, t, goal, self._numbers) for t in self._targets]

    @property
    def cost(self) -> Cost:
        """What is still to be paid for it."""
        return sum((chain.due for chain in self._chains), Cost.zero(self._payer.ledger.currency))

    def expected(self) -> Reply:
        """The errors that it will keep; no values."""
        size = self._question.size
        wide = np.full((len(self._targets), size), float(self._goal.alpha))
        return self._reply(np.zeros_like(wide), wide)

    def measure(self) -> tuple[Reply, Cost]:
        """Measure every form, and say what that cost."""
        cost, values, errors = self.cost, [], []
        if not cost <= self._payer.left:
            self._core.reserve.release(self._payer)
        self._payer.ledger.check(cost, self._payer.account)
        for chain in self._chains:
            counts, width = chain.measure(self._payer, "Session: people")
            values.append(np.maximum(counts.ravel(), 0.0))
            errors.append(np.full(self._question.size, width))
        self._core.spent = self._core.spent + cost
        return self._reply(np.stack(values), np.stack(errors)), cost

    @property
    def _chains(self) -> list[Chain]:
        """What was measured of each form before, and what is missing."""
        promised = f"{self._goal.alpha} {self._goal.confidence} {self._numbers}"
        made = []
        for target, price in zip(self._targets, self._prices, strict=True):
            about = f"people {target.digest[:24]}"
            request = f"{self._core.name}: {about} {promised} {price.amount}"
            made.append(
                chain_of(self._core, self._payer, target, about, self._goal, self._numbers, price, request)
            )
        return made

    def _reply(self, values: np.ndarray, errors: np.ndarray) -> Reply:
        result = self._question.combine(values, errors, confidence=self._goal.confidence)
        return Reply(result.value, result.error, result, self._question.notes)
