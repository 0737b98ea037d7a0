"""RunningTotals: totals so far, day after day, by the square root of the summing matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hedgerow.curator.curator import Curator
from hedgerow.curator.growing.growing import Growing
from hedgerow.curator.growing.running import RunningRun
from hedgerow.curator.spender import Spend
from hedgerow.curator.statistics.running import DaySteps
from hedgerow.errors import RunClosed, UnsupportedQuery
from hedgerow.mechanisms.mechanism import finite
from hedgerow.mechanisms.running_totals.reach import reach
from hedgerow.privacy.bounds.running import running_weights
from hedgerow.synopsis.answer import Answer

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from hedgerow.privacy.budget import Budget


@dataclass(frozen=True)
class RunningTotals:
    """The total so far, every day of a declared horizon, for one price.

    Privacy: Theorem 4 of docs/privacy/growing.md: a unit moves the answers of all days by at most k |c|, c
    the whole-number square root of the summing matrix ([DMRST22], [FHU23]), and each day is a discrete
    Gaussian act ([CKS20] Thm 4). Accuracy: a day's error is a known weighted sum of independent noise, 2.94
    times that of one total at worst over 365 days; stated with every answer. Charged in `RunningRun`, whole,
    when it is opened.

    Args:
        horizon: for how many blocks, those to come included.
        epsilon: what all of them cost together; all that is left for the blocks if None.
        budget: the same as a `Budget`.
        name: tells totals on one dataset apart; the same name continues them.

    >>> import hedgerow as hr
    >>> domain = hr.Domain({"sex": ["F", "M"]})
    >>> growing = hr.Growing.make(":memory:", domain, hr.Budget(epsilon=1, delta=1e-6))
    >>> block = growing.append({"sex": ["F", "M", "M"]}, day="2026-01-01")
    >>> totals = hr.RunningTotals(horizon=7).open(growing)
    >>> len(totals.update())
    1
    """

    horizon: int = 365
    epsilon: float | None = None
    budget: Budget | None = None
    name: str = ""

    citations: ClassVar[tuple[str, ...]] = ("DMRST22", "FHU23", "CKS20")

    def open(
        self, growing: Growing, attributes: Sequence[str] = (), *, first: int | None = None
    ) -> OpenTotals:
        """Open the totals, or continue them, free.

        Args:
            growing: the table that grows.
            attributes: of the table whose cells are totalled; none for the number of rows.
            first: the number of the block that new totals begin with; the newest if None.
        """
        if not isinstance(growing, Growing):
            raise UnsupportedQuery("running totals are opened on a hedgerow.Growing; a Table has `along`")
        names = tuple(growing.domain.order(tuple(attributes)))
        label = f"running totals {self.name or 'of ' + (', '.join(names) or 'rows')}"
        known = growing.ledger.knows_account(label)
        price = None if known else growing.price(self.horizon, self._spend, first)
        return OpenTotals(RunningRun(growing, label, names, self.horizon, price, first), growing.words)

    def along(self, curator: Curator, attribute: str, *, confidence: float = 0.95) -> Answer:
        """Totals up to every level of an ordered attribute of one table, in one act; the horizon is its size.

        Args:
            curator: who guards the table.
            attribute: days, or anything in order.
            confidence: of the error of each total.
        """
        levels = finite(curator)[attribute].size
        measured = curator.measure(DaySteps(attribute, levels), self._spend, noise="gaussian")
        sigma = measured.noise.scale
        values = [_total(list(measured.values[: t + 1]), levels) for t in range(levels)]
        errors = [reach(t + 1, levels, sigma, confidence) for t in range(levels)]
        return Answer(np.array(values), np.array(errors), confidence, "measured")

    @property
    def _spend(self) -> Spend:
        return self.budget if self.budget is not None else self.epsilon


class OpenTotals:
    """Open running totals: `update` after blocks were appended, then ask for any day.

    Args:
        run: the run in the curator.
        words: what is counted, for the answers.
    """

    def __init__(self, run: RunningRun, words: str) -> None:
        self._run, self._words = run, words

    @property
    def horizon(self) -> int:
        """For how many blocks the totals were paid for."""
        return self._run.horizon

    @property
    def first(self) -> int:
        """The number of the first block."""
        return self._run.plan.first

    @property
    def sigma(self) -> Fraction:
        """The noise of each day's answer, in 1/1024 of a row."""
        return self._run.plan.sigma

    def update(self) -> list[Answer]:
        """The totals of all days so far; those of new blocks are drawn now, once."""
        return [self.answer(day) for day in range(1, self._run.advance() + 1)]

    def answer(self, day: int | None = None, *, confidence: float = 0.95) -> Answer:
        """The total up to a day, 1 for the first block; the newest if None.

        Args:
            day: which.
            confidence: of the error of each number.
        """
        days = self._days(day)
        day = days if day is None else day
        if not 1 <= day <= days:
            raise UnsupportedQuery(f"there are totals of days 1 to {days}, not of day {day}")
        value = _total(self._run.released[:day], self.horizon)
        error = reach(day, self.horizon, self.sigma, confidence)
        notes = (self._words,) if self._run.private else (self._words, "Not private: a simulation.")
        axes = self._axes()
        if axes is None:
            return Answer(float(value), error, confidence, "measured", notes=notes)
        errors = np.full(np.shape(value), error)
        return Answer(value, errors, confidence, "measured", notes=notes, axes=axes)

    def _days(self, day: int | None) -> int:
        """How many days there are; totals that have ended keep the days that they had."""
        try:
            return self._run.advance()
        except RunClosed:
            days = len(self._run.released)
            if day is None or not 1 <= day <= days:
                raise
            return days

    def _axes(self) -> Any:
        names, domain = self._run.plan.attributes, self._run.growing.domain
        return tuple((n, tuple(map(str, domain[n].labels))) for n in names) if names else None

    def __repr__(self) -> str:
        return f"OpenTotals(from block {self.first}, {self.horizon} blocks)"


def _total(steps: list[NDArray[Any]], horizon: int) -> NDArray[np.float64]:
    """Answers of days 1..t, weighted so that they are the total up to day t."""
    weights = np.array(running_weights(horizon)[: len(steps)])[::-1]
    return np.asarray(np.tensordot(weights, np.array(steps, dtype=np.float64), axes=1))
