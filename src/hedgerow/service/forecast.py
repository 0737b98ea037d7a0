"""Forecast: what an amount of a budget buys, in words and numbers, before any of it is spent.

It follows from public numbers only: whom the budget protects, what is left of it, and, where somebody
declared or measured it, about how many rows there are. It never sees a row.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hedgerow.errors import RangeTooLarge, UnsupportedQuery
from hedgerow.privacy.budget import gaussian_sigma, laplace_scale
from hedgerow.queries.measurement import Noise
from hedgerow.queries.query import Norms
from hedgerow.release.numerals import bound

if TYPE_CHECKING:
    from hedgerow.privacy.budget import Cost, Privacy
    from hedgerow.privacy.ledger.ledger import Ledger
    from hedgerow.release.plan.table import Plan
    from hedgerow.synopsis import Synopsis

CONFIDENCE = 0.95
_TARGETS = (10, 100, 1000)  # about so many questions are of interest
_MOST = 1_000_000
_HUGE = 1e9  # rows: more than anybody counts
_COUNT = Norms.query(1)
_USELESS = 0.1  # of the rows: nobody asks for a count that may be so far off


@dataclass(frozen=True)
class Bought:
    """One thing that a budget buys.

    Args:
        what: "counts", each measured for itself, "tables", the same, or "release".
        within_count: how far off each number may be, in rows: with 0.95 confidence; of a release, typically.
        questions: about how many.
    """

    what: str
    within_count: float
    questions: int


@dataclass(frozen=True)
class Forecast:
    """What may be spent, as what it buys.

    Args:
        privacy: whom the budget protects.
        left: what may be spent.
        rows: about how many rows there are, as declared or as measured; None if nobody said.
        release: how far off answers of one release that spends all of it typically are, in rows, if known.
        tables: how many tables a release would measure one by one, each of its cells for itself.

    >>> from hedgerow.privacy.budget import Cost, Privacy
    >>> Forecast(Privacy(), Cost("epsilon", 1)).words
    'about 16 counts within ±50, or 160 within ±500, or 1,600 within ±5,000'
    """

    privacy: Privacy
    left: Cost
    rows: float | None = None
    release: float | None = None
    tables: int | None = None

    @classmethod
    def of_ledger(cls, ledger: Ledger) -> Forecast:
        """Of what is left of a dataset's budget."""
        return cls(ledger.settings.privacy, ledger.remaining())

    @classmethod
    def of_plan(cls, plan: Plan) -> Forecast:
        """Of the budget of a plan, for as many rows as were declared, by the mechanism that it recommends."""
        task = plan.task
        error = plan[plan.recommended].error if plan.recommended else None
        return cls(task.privacy, task.budget.cost, task.rows, error)

    @classmethod
    def after(cls, synopsis: Synopsis) -> Forecast:
        """Of what a release has left, for as many rows as it measured."""
        receipt, rows = synopsis.receipt, None
        with suppress(UnsupportedQuery):  # the number of rows may not be among what was released
            rows = max(synopsis.total, 1.0)
        return cls(receipt.settings.privacy, receipt.settings.budget.cost - receipt.spent, rows)

    @property
    def bought(self) -> list[Bought]:
        """Alternatives: each would use up all of it."""
        widths = [self._width(many) for many in _TARGETS]
        found = dict.fromkeys(_rung(width) for width in widths if width < _HUGE)
        useful = [width for width in found if self.rows is None or width <= _USELESS * self.rows]
        counts = [Bought("counts", width, self.counts(width)) for width in useful]
        if self.tables and (width := self._width(self.tables, Norms.table())) < _HUGE:
            counts.append(Bought("tables", float(f"{width:.2g}"), self.tables))
        return counts if self.release is None else [*counts, Bought("release", self.release, 1)]

    @property
    def words(self) -> str:
        """What the amount buys, as the second half of a sentence."""
        said: list[str] = []
        for item in self.bought:
            of = "" if said else " of all rows"
            share = f" ({100 * item.within_count / self.rows:.2g}%{of})" if self.rows else ""
            if item.what == "release":
                said.append(f"one release with answers about {bound(item.within_count)} rows{share} off")
            elif item.what == "tables":
                each = f"within ±{item.within_count:,.0f}{share}"
                which = (
                    f"all {item.questions:,} two-way tables" if item.questions > 1 else "the two-way table"
                )
                said.append(f"one release of {which} with cells {each}")
            else:
                many = f"{item.questions:,}" if said else f"about {item.questions:,} counts"
                said.append(f"{many} within ±{item.within_count:,.0f}{share}")
        return ", or ".join(said) or "nothing that would be of use"

    def to_json(self) -> list[dict[str, Any]]:
        """Plain data."""
        return [vars(item) for item in self.bought]

    def counts(self, width: float) -> int:
        """About how many counts can be measured so that each is within `width` rows, with 0.95 confidence.

        Args:
            width: how far off each may be.
        """
        low, high = 0, _MOST + 1
        while high - low > 1:
            many = (low + high) // 2
            low, high = (many, high) if self._width(many) <= width else (low, many)
        place: int = 10 ** max(0, len(str(low)) - 2)
        return low // place * place

    def _width(self, many: int, norms: Norms = _COUNT) -> float:
        """How far off each of so many counts, or cells of tables, is when they share what is left."""
        part = self.left.share(Fraction(1, many))
        if part.amount <= 0:
            return float("inf")
        moves = self.privacy.sensitivity(norms)
        try:
            if part.currency == "rho":
                noise = Noise("gaussian", gaussian_sigma(moves.l2_squared, part))
            else:
                noise = Noise("laplace", laplace_scale(moves.l1, part))
        except RangeTooLarge:  # what rounding left behind: more noise than can be drawn
            return float("inf")
        return noise.half_width(CONFIDENCE)


def _rung(width: float) -> float:
    """A width rounded up to 1, 2 or 5 times a power of ten."""
    step = 1
    while step < width:
        step = step * 5 // 2 if str(step)[0] == "2" else step * 2
    return float(step)
