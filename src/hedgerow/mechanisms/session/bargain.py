"""Bargain: whether an answer that costs would say more than the one that is free.

An accuracy is a number of rows that counts may be off. What it means for an average or a sum is not what was
named: there the bound that would be paid for can be wider than that of what was learned. Which is narrower is
decided before a row is read, from released values only, so that no bound depends on the noise that it allows
for, and nothing is charged for a number that would not get better.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import HedgerowError
from hedgerow.figures import bound
from hedgerow.mechanisms.session.certify import Certify
from hedgerow.mechanisms.session.price import Goal, width
from hedgerow.queries.pieces import Statement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from hedgerow.curator.curator import Curator
    from hedgerow.mechanisms.session.cache import Promise
    from hedgerow.mechanisms.session.core import Core
    from hedgerow.queries.reply import Asked, Reply
    from hedgerow.queries.result import Result
    from hedgerow.synopsis.answer import Answer

_USUAL = 0.95  # what is decided is, whatever confidence is asked for
_HALF = Fraction(1, 2)  # a closer accuracy is proposed at which bounds are about this part of the free ones
_ABOUT_HALF = 0.6
_TOO_MUCH = ", which is more than is left"
_STEP = Fraction(5, 4)  # at least so much closer is each accuracy that is tried
_NARROWER = 0.95  # of the free bound: one that is paid for is less, else it is as wide as shown


def expected(core: Core, asked: Asked, goal: Goal) -> Reply:
    """What is learned with the errors that a kept goal means, in the question's unit."""
    counts = core.belief.counts(list(asked.pieces))
    errors = np.full(len(counts), float(goal.alpha))
    return asked.assemble(counts, errors, goal.confidence, core.most_rows)


@dataclass(frozen=True, eq=False)
class Purchase:
    """What an accuracy would get of a statement: nothing is told of the mean of fewer rows than it is.

    How many rows there are is what was learned, which may be off: so errors are of what is there at the
    least, but for one time of twenty, by what was learned and by the noise that the accuracy allows.

    Args:
        core: the session.
        asked: the statement.
        counts: what is learned of the counts behind it.
        below: by forms that are divided by, what is learned of each group, and its standard deviation.
    """

    core: Core
    asked: Statement
    counts: NDArray[np.float64]
    below: dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]]

    @classmethod
    def of(cls, core: Core, asked: Statement) -> Purchase:
        """By what is learned now."""
        q, below = asked.question, {}
        for i in sorted({a.denominator for a in q.aggregates if a.denominator is not None}):
            there, off = core.belief.form(q.forms[i], _USUAL, 1)
            below[i] = there, off / width(_USUAL)
        return cls(core, asked, core.belief.counts(list(asked.pieces)), below)

    def within(self, goal: Goal) -> Reply:
        """What is learned, with the errors to expect."""
        noise = float(goal.alpha) / width(goal.confidence)
        parts = {i: least_part(there, np.hypot(off, noise)) for i, (there, off) in self.below.items()}
        errors = np.full(len(self.counts), float(goal.alpha))
        made = self.asked.assemble(self.counts, errors, goal.confidence, self.core.most_rows, parts)
        return _worth(made) if parts else made


def _worth(reply: Reply) -> Reply:
    """The same with no error where it is what the schema says by itself: that is not worth a price."""
    table: Result = reply.table
    assert table.ranges is not None
    ends = np.broadcast_to(table.ranges, (2, *table.values.shape))
    most = np.maximum(table.values - ends[0], ends[1] - table.values)
    made = replace(table, errors=np.where(table.errors < _NARROWER * most, table.errors, np.inf))
    return replace(reply, error=made.error, table=made)


def least_part(there: NDArray[np.float64], off: NDArray[np.float64]) -> NDArray[np.float64]:
    """Which part of some counts is there but for one time of twenty, if none is below zero.

    Args:
        there: what is known of them.
        off: the standard deviation of that.
    """
    out = np.ones(len(there))
    normal = NormalDist()
    for i, (count, wide) in enumerate(zip(np.abs(there).tolist(), off.tolist(), strict=True)):
        if count > 0 and wide > 0:
            below = normal.cdf(-count / wide)
            least = count + wide * normal.inv_cdf(below + (1.0 - _USUAL) * (1.0 - below))
            out[i] = min(max(least, 0.0) / count, 1.0)
    return out


@dataclass(frozen=True, eq=False)
class Bargain:
    """A question whose bounds are not the accuracy that was named: what it would get, and what is free.

    Args:
        core: the session, in its turn.
        payer: who would pay.
        asked: the question.
        goal: the accuracy.
        bought: the expected answer of that accuracy.
        free: the learned answer as it is given to who names no accuracy, with the confidence of that.
        shown: its bounds, in the order of the groups of what would be bought.
        promise: how often those are meant to hold, and whether at once.
        purchase: what accuracies would get.
    """

    core: Core
    payer: Curator
    asked: Statement
    goal: Goal
    bought: Reply
    free: Reply
    shown: NDArray[np.float64]
    promise: Promise
    purchase: Purchase

    @classmethod
    def of(cls, core: Core, payer: Curator, asked: Asked, goal: Goal, free: Promise) -> Bargain | None:
        """None where bounds are what was named, or the whole session has an accuracy that is vouched for."""
        if not isinstance(asked, Statement) or asked.question.units or not asked.pieces:
            return None
        if _counts(asked):  # however its groups are ordered: each bound is what was named
            return None
        if core.own_goal is not None:
            return None
        purchase = Purchase.of(core, asked)
        bought = purchase.within(goal)
        learned = asked.learned(core.belief, free.confidence, free.simultaneous)
        return cls(core, payer, asked, goal, bought, learned, _aligned(learned, bought), free, purchase)

    @property
    def none(self) -> bool:
        """Whether no number would get a narrower bound than the one that is free."""
        return not bool(_narrower(self.bought, self.shown).any())

    @property
    def words(self) -> str:
        """Why nothing is charged, and what accuracy would be worth paying for."""
        rows = f"within {_rows(self.goal.alpha)}"
        said = f"Measuring this {rows} would give no narrower bounds than these, which are free: "
        said += "nothing is charged"
        if not np.isfinite(self.shown).any():
            return said + self._bounded
        closer = self._closer()
        if closer is None:
            return said
        alpha, part, price = closer
        wide = "half" if 0.4 < part <= _ABOUT_HALF else f"{100 * part:.0f}%"
        return f"{said}; within {_rows(alpha)} they would be about {wide} as wide, for {price}"

    @property
    def _bounded(self) -> str:
        """Why no bound is to be expected, and at what accuracy one would be; of groups for half of them."""
        said = "; by what was released there may be too few rows for that"
        alpha = self.goal.alpha
        while (alpha := Fraction(int(alpha / _STEP))) >= 1:
            errors = self.purchase.within(Goal(alpha, self.goal.confidence)).table.errors
            price = self._price(Goal(alpha, self.goal.confidence))
            if price is None:
                break
            if np.isfinite(errors).mean() >= float(_HALF):
                wide = bound(float(np.max(errors[np.isfinite(errors)])))
                return f"{said}: within {_rows(alpha)} bounds of up to {wide} are to be expected, for {price}"
        return said

    @property
    def doubts(self) -> str:
        """How many numbers of an answer that is paid for may get no bound, and why; nothing if none does."""
        errors = np.asarray(self.errors(), dtype=np.float64)
        none = int((~np.isfinite(errors)).sum())
        if not none:
            return ""
        return (
            f"{none:,} of {errors.size:,} numbers are likely to have no bound: by what was released there "
            "may be too few rows of them for this accuracy."
        )

    @property
    def _better(self) -> NDArray[np.bool_]:
        free = self.free.table.errors
        return np.asarray(~_narrower(self.bought, free) & np.isfinite(free))

    @property
    def mixes(self) -> bool:
        """Whether some numbers are the learned ones; groups that their numbers put in order are not mixed."""
        q = self.asked.question
        return not q.order and q.limit is None and bool(self._better.any())

    @property
    def split(self) -> str:
        """How many numbers of an answer that mixes are paid for."""
        paid, size = int(_narrower(self.bought, self.free.table.errors).sum()), self._better.size
        return f"{paid} of {size} numbers would be better than what was learned; the rest is read off that."

    def kept(self, answer: Answer) -> Answer:
        """A paid answer in which every number that was to be no better than the free one is that one."""
        table, learned, better = answer.table, self.free.table, self._better
        if not self.mixes:
            return answer
        values = np.where(better, learned.values, table.values)
        errors = np.where(better, learned.errors, table.errors)
        mixed = replace(table, values=values, errors=errors)
        each = np.full(values.shape, answer.source) if answer.sources is None else answer.sources
        sources = np.where(better, "learned", np.asarray(each).reshape(values.shape))
        made = replace(
            answer, value=mixed.value, error=mixed.error, table=mixed, source="learned", sources=sources
        )
        sure = self.promise.confidence
        return made if sure == answer.confidence else replace(made, indicative=sure)

    def errors(self) -> Any:
        """The bounds to expect of what is paid for."""
        if self.asked.question.order or self.asked.question.limit is not None:
            return self.bought.error
        mixed = np.where(self._better, self.free.table.errors, self.bought.table.errors)
        return replace(self.bought.table, errors=mixed).error

    def _closer(self) -> tuple[Fraction, float, str] | None:
        """An accuracy at which bounds are about half of the free ones, what part they are, and its price.

        Bounds of quantiles have steps, from bin to bin: then it is the first accuracy after which they get no
        narrower, if what they are there is worth naming.
        """
        found = None
        for alpha, part in self._tries():
            if found is None or part < found[1] * _NARROWER:
                found = alpha, part
            if part <= _ABOUT_HALF:
                break
        if found is None or not 0 < found[1] < _NARROWER:
            return None
        price = self._price(Goal(found[0], self.goal.confidence))
        return None if price is None or price.endswith(_TOO_MUCH) else (*found, price)

    def _tries(self) -> Iterator[tuple[Fraction, float]]:
        """Accuracies, each closer than the last, with what part of the free bounds theirs would be."""
        alpha, part = self.goal.alpha, self._part(self.goal.alpha)
        while True:
            if part > 1:  # first to where both are as wide, then to half of that
                less = Fraction(2) if np.isinf(part) else max(Fraction(part), _STEP)
            else:
                less = max(Fraction(part) / _HALF, _STEP)
            if (alpha := Fraction(int(alpha / less))) < 1:
                return
            part = self._part(alpha)
            yield alpha, part

    def _price(self, goal: Goal) -> str | None:
        """What an accuracy would cost at most; None if it cannot be had."""
        pieces, together = list(self.asked.pieces), self.promise.simultaneous
        certify = Certify(self.core, self.payer, goal, self.asked.bounds(together))
        try:
            cost = certify.worst(pieces)[1]
        except HedgerowError:  # more noise, or less, than can be drawn
            return None
        said = f"epsilon {self.payer.ledger.budget.part(cost).epsilon:.3g}"
        return said if cost <= self.payer.left else f"{said}{_TOO_MUCH}"

    def _part(self, alpha: Fraction) -> float:
        """What part of the free bounds the bounds of an accuracy would be, for the number in the middle."""
        goal = Goal(alpha, self.goal.confidence)
        bought = self.purchase.within(goal).table.errors
        known = np.isfinite(self.shown) & (self.shown > 0) & ~np.isnan(bought)
        return float(np.median(bought[known] / self.shown[known])) if known.any() else np.inf


def _narrower(bought: Reply, free: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which bounds would be narrower by more than is lost when they are shown."""
    return np.asarray(bought.table.errors < _NARROWER * free)


def _counts(asked: Statement) -> bool:
    """Whether every number of a statement is a count of rows."""
    q = asked.question
    plain = all(a.denominator is None and a.quantile is None for a in q.aggregates)
    return plain and not q.doubts and all(form.counts for form in q.forms)


def _aligned(free: Reply, bought: Reply) -> NDArray[np.float64]:
    """The free bounds in the order of the groups of what would be bought."""
    place = {group: i for i, group in enumerate(free.table.groups)}
    out = np.full(bought.table.errors.shape, np.inf)
    for at, group in enumerate(bought.table.groups):
        if group in place:
            out[at] = free.table.errors[place[group]]
    return out


def _rows(alpha: Fraction) -> str:
    return f"{float(alpha):,.4g} row{'' if alpha == 1 else 's'}"
