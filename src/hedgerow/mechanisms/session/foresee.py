"""Foresight: what learning and a first question cost, as far as that is public before anything is paid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import ceil, inf, sqrt
from typing import TYPE_CHECKING, Any

from hedgerow.errors import BudgetExceeded, UnsupportedQuery
from hedgerow.mechanisms.mechanism import finite
from hedgerow.mechanisms.session.decision import first_price
from hedgerow.mechanisms.session.price import Goal, refuse_accuracy
from hedgerow.privacy.budget import Cost
from hedgerow.privacy.share import used_up
from hedgerow.queries.pieces import by_queries, read_all
from hedgerow.queries.staged import Staged

if TYPE_CHECKING:
    from hedgerow.curator.curator import Curator
    from hedgerow.privacy.budget import Budget
    from hedgerow.queries.reply import Asked

_LIKE = 1000  # rows: prices of other accuracies follow from this one's
_MOST_ROWS = float(1 << 40)  # more than anybody has


@dataclass(frozen=True)
class Foresight:
    """What learning costs, and then a first question; it depends on no row.

    Args:
        learning: what learning costs.
        question: what the question costs then; None where only learning tells how many rows there are.
        left: what is there for both.
        rows: about how many rows there must be, if that is not known, for what learning leaves to be enough.
    """

    learning: Cost
    question: Cost | None
    left: Cost
    rows: float = 0.0

    @property
    def cost(self) -> Cost:
        """What both cost, as far as it is known."""
        return self.learning if self.question is None else self.learning + self.question

    @property
    def affordable(self) -> bool:
        """Whether there is enough for both, or may be."""
        return self.cost <= self.left and self.rows <= _MOST_ROWS

    @property
    def needs_rows(self) -> int | None:
        """About how many rows there must be for what learning leaves to be enough, where that matters."""
        return round(self.rows) if self.question is None and self.affordable else None

    def words(self, budget: Budget) -> str:
        """The same as a sentence or two.

        Args:
            budget: of the dataset, at whose delta costs are told in epsilon.
        """
        learning = f"Learning would cost {_amount(budget, self.learning)}, once"
        if self.question is None:
            if not self.affordable:
                return f"{learning}, and leave too little for this accuracy, however many rows there are."
            return (
                f"{learning}. What the question costs then depends on the number of rows, which is not known "
                f"before: what learning leaves is enough if there are about {self.needs_rows:,} or more."
            )
        too_much = ""
        if not self.affordable:
            there = f", which is more than is left ({_amount(budget, self.left)})"
            too_much = ", and nothing is left" if used_up(self.left, budget) else there
        if self.question.is_zero:
            free = " The question would be free." if self.affordable else ""
            return f"{learning}{too_much}.{free}"
        return (
            f"{learning}, and the question {_amount(budget, self.question)}: together that is "
            f"{_amount(budget, self.cost)}{too_much}."
        )

    def refuse(self, curator: Curator) -> None:
        """Refuse a first question that could only be refused after learning, when that is paid."""
        if not self.affordable:
            budget = curator.ledger.budget
            raise BudgetExceeded(
                self.words(budget), needed=budget.part(self.cost), remaining=budget.part(self.left)
            )


def _amount(budget: Budget, cost: Cost) -> str:
    """In epsilon, or in rho where there is no epsilon or delta alone pays for it."""
    part = budget.part(cost)
    return f"epsilon {part.epsilon:.4g}" if 0 < part.epsilon < inf else f"rho {part.rho:.4g}"


def foresee(
    curator: Curator,
    learning: Cost,
    query: Any,
    within: float | None,
    within_count: float | None,
    confidence: float,
) -> Foresight:
    """What a question asked right after learning would do; refuses what `OpenSession.ask` would refuse then.

    A session of no accuracy of its own measures the first question of given accuracy for itself.

    Args:
        curator: who would pay.
        learning: what learning costs.
        query, within, within_count, confidence: as in `OpenSession.ask`.
    """
    refuse_accuracy(within, within_count, confidence)
    unit, left = curator.table.unit, curator.price()
    asked = read_all(finite(curator), query, unit.column if unit else None)
    if isinstance(asked, list):
        raise UnsupportedQuery("these are several questions; ask them one by one")
    if within is None and within_count is None:
        return Foresight(learning, _price(curator, asked, None), left)
    if within is None or curator.rows is not None:
        goal = Goal.of(within, within_count, confidence, float(max(curator.rows or 0, 1)))
        return Foresight(learning, _price(curator, asked, goal), left)
    price = partial(_price, curator, asked)
    like = price(Goal(Fraction(_LIKE), confidence))
    if like.is_zero:
        return Foresight(learning, like, left)
    return Foresight(
        learning, None, left, _rows(price, like, left.amount - learning.amount, within, confidence)
    )


def _price(curator: Curator, asked: Asked | Staged, goal: Goal | None) -> Cost:
    """What a question costs right after learning; of a statement in two stages, all of it."""
    if not isinstance(asked, Staged):
        return first_price(curator, asked, goal)
    if goal is not None:
        goal = Goal(goal.alpha, asked.terms(goal.confidence, simultaneous=False).confidence)
    prices = (first_price(curator, by_queries(q), goal) for q in asked.questions)
    return sum(prices, Cost.zero(curator.ledger.currency))


def _rows(
    price: Callable[[Goal], Cost], like: Cost, left: Fraction, within: float, confidence: float
) -> float:
    """Of about how many rows a part is an accuracy that `left` pays for.

    Epsilon falls with the number of rows that an answer may be off, rho with its square; a little more is
    needed because noise is whole numbers.
    """
    if left <= 0:
        return inf
    ratio = float(like.amount / left)
    alpha = ceil(_LIKE * (ratio if like.currency == "epsilon" else sqrt(ratio)))
    while alpha <= within * _MOST_ROWS and price(Goal(Fraction(alpha), confidence)).amount > left:
        alpha += 1 + alpha // 500
    return alpha / within
