"""Prospect: what a release would be worth, said before anything is spent, and what would make it worth more.

It follows from public numbers only: the schema, whom the budget protects, the price, and about how many rows
there are, where somebody declared or measured that. It never sees a row. A third of the price goes to tables
of single attributes and the rest to tables of several, in equal parts, as independent noise: what the
adaptive release does better with the same price is not promised here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

from hedgerow.errors import BadValue, RangeTooLarge
from hedgerow.privacy.budget import gaussian_sigma, laplace_scale
from hedgerow.queries.measurement import Noise, unpack
from hedgerow.queries.query import Norms
from hedgerow.release.numerals import about, bound, small

if TYPE_CHECKING:
    from hedgerow.privacy.budget import Budget, Cost, Privacy
    from hedgerow.privacy.ledger.ledger import Ledger
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.workload import Workload

KINDS_NOTE = "the kinds of cells of every column, for a private draft of the schema"
"""What the ledger says of the act of a private draft that counts rows."""

ASSUMED = 50_000
"""Rows that there are at most, where nobody said how many: a plan assumes as many."""

LOOSE = 10
"""An epsilon above this protects hardly anybody."""

LIKELY = 1e-4
"""A delta above this is a chance that somebody meets."""

_ONES = Fraction(1, 3)  # of the price: tables of single attributes
_USELESS, _GOOD = 0.10, 0.03  # of the rows in other cells than they should be
_NOISE = 1 / 3  # the same: about as far off as tables are where every level has as many rows
_MEAN = 0.8  # E|Z| of a normal Z, about
_MOST_NAMED = 6


@dataclass(frozen=True)
class Prospect:
    """What a price buys on a schema.

    Args:
        sizes: the levels of every attribute.
        tables: the cells of every table of several attributes that is asked for.
        privacy: whom the budget protects.
        price: what would be spent.
        rows: about how many rows there are; None if nobody said.
    """

    sizes: Mapping[str, int]
    tables: tuple[int, ...]
    privacy: Privacy
    price: Cost
    rows: float | None = None

    @classmethod
    def of(
        cls, domain: Domain, asked: Workload, privacy: Privacy, price: Cost, rows: float | None
    ) -> Prospect:
        """Of a release of a workload."""
        sizes = {name: a.size for name, a in domain.items()}
        joint = {b.attributes for b in asked.blocks if len(b.attributes) > 1}
        tables = tuple(prod(sizes[a] for a in table) for table in sorted(joint))
        return cls(sizes, tables, privacy, price, rows)

    @property
    def ones(self) -> float:
        """How far off, about, each count of a single attribute's level is, with 0.95 confidence, in rows."""
        return self._noise(_ONES if self.tables else Fraction(1), len(self.sizes)).half_width(0.95)

    @property
    def pairs(self) -> float | None:
        """The same of each cell of the larger tables."""
        return self._noise(1 - _ONES, len(self.tables)).half_width(0.95) if self.tables else None

    @property
    def needed(self) -> float:
        """From about how many rows on the tables of single attributes are good."""
        return self._misplaced / _GOOD

    @property
    def off(self) -> float | None:
        """Which part of the rows single attributes' tables put into other cells, on average."""
        return None if self.rows is None else self._misplaced / max(self.rows, 1.0)

    @property
    def useless(self) -> bool:
        """Whether next to nothing can be read off it."""
        return self.off is not None and self.off > _USELESS

    @property
    def noise(self) -> bool:
        """Whether counts of single levels are off by all the rows, or tables of them as if no row were seen.

        Of the rows that a plan counts with, which are assumed where nobody said how many there are.
        """
        rows = ASSUMED if self.rows is None else self.rows
        return self.ones >= rows or self._misplaced > _NOISE * rows

    def enough(self, price_of: Callable[[float], Cost]) -> float | None:
        """The least epsilon, on a grid of 1, 2 and 5, that is of use; None if none up to `LOOSE` is.

        Args:
            price_of: what an epsilon is in the budget's currency.
        """
        rows = ASSUMED if self.rows is None else self.rows
        ladder = (digit * 10.0**power for power in range(-6, 2) for digit in (1, 2, 5))
        for epsilon in (float(f"{e:.1g}") for e in ladder if e <= LOOSE):
            if not replace(self, price=price_of(epsilon), rows=rows).useless:
                return epsilon
        return None

    def refuse_noise(self, price_of: Callable[[float], Cost]) -> None:
        """Refuse a price that buys noise and nothing else, before anything is charged or a budget made."""
        if not self.noise:
            return
        rows = ASSUMED if self.rows is None else self.rows
        off = f"tables of one attribute by about {min(self._misplaced / max(rows, 1.0), 1):.0%}"
        there = (
            f"up to {ASSUMED:,} rows are assumed, as nobody said how many there are"
            if self.rows is None
            else f"there are about {about(self.rows)} rows"
        )
        least = self.enough(price_of)
        use = f"it is of use from about epsilon {small(least)} on" if least else self.advice
        more = "; say --expect if there are more rows" if self.rows is None else ""
        raise BadValue(
            f"this release would be noise alone: counts of one attribute's level would be off by up to "
            f"{bound(self.ones)} rows and {off}, where {there}; {use}. Nothing was charged",
            hint=f"release with a larger --epsilon{more}; --anyway spends it all the same",
        )

    @property
    def words(self) -> str:
        """What the price buys, in a sentence or two."""
        part = f" ({100 * self.ones / self.rows:.2g}% of about {about(self.rows)} rows)" if self.rows else ""
        said = (
            f"this release buys counts of one attribute's level within about ±{bound(self.ones)} rows{part}"
        )
        if self.pairs is not None:
            many = f"{len(self.tables):,} larger table{'s' * (len(self.tables) != 1)}"
            said += f", and cells of {many} within ±{bound(self.pairs)} by noise alone"
        if self.off is None:
            return f"{said}; that is good from about {bound(self.needed)} rows on"
        if not self.useless:
            return said
        off = f"tables would be about {min(self.off, 1):.0%} off"
        return f"{said}. THAT IS NEXT TO NOTHING: {off}; {self.advice}"

    @property
    def advice(self) -> str:
        """What would do: fewer attributes, fewer levels, fewer rows of each person, or a larger price."""
        offers = []
        kept = self._fewer()
        if kept and len(kept) < len(self.sizes):
            out = [name for name in self.sizes if name not in kept]
            named = ", ".join(map(repr, out[:_MOST_NAMED])) + (
                f" and {len(out) - _MOST_NAMED} more" if len(out) > _MOST_NAMED else ""
            )
            offers.append(f"{len(kept)} attributes (without {named})")
        levels = self._levels()
        if levels >= 2:
            offers.append(f"about {levels} levels each")
        if self.privacy.max_rows > 1 and not replace(self, privacy=self._with_rows(1)).useless:
            offers.append("--max-rows 1")
        more = self._larger()
        if more is not None:
            offers.append(f"{more} times the epsilon")
        return f"what would do is {', or '.join(offers)}" if offers else "no part of it would do"

    def _noise(self, share: Fraction, parts: int) -> Noise:
        """The noise of each of some tables that divide a share of the price."""
        part = self.price.share(share / max(parts, 1))
        moves = self.privacy.sensitivity(Norms.table())
        try:
            if part.currency == "rho":
                return Noise("gaussian", gaussian_sigma(moves.l2_squared, part))
            return Noise("laplace", laplace_scale(moves.l1, part))
        except RangeTooLarge:  # more noise than can be drawn
            return Noise("laplace", Fraction(1 << 44))

    @property
    def _misplaced(self) -> float:
        """Rows in other cells than they should be, on average over single attributes' tables."""
        each = _MEAN * self._noise(_ONES if self.tables else Fraction(1), len(self.sizes)).variance ** 0.5
        return float(each * sum(self.sizes.values()) / max(len(self.sizes), 1) / 2)

    def _with_rows(self, rows: int) -> Privacy:
        return replace(self.privacy, max_rows=rows)

    def _fewer(self) -> list[str]:
        """The most attributes that would do, without those of most levels."""
        names = sorted(self.sizes, key=self.sizes.__getitem__)
        for many in range(len(names), 0, -1):
            held = {n: self.sizes[n] for n in names[:many]}
            if not replace(self, sizes=held).useless:
                return names[:many]
        return []

    def _levels(self) -> int:
        """How many levels each attribute may have at most."""
        for most in [*sorted(set(self.sizes.values()), reverse=True)[1:], 10, 5, 3, 2]:
            if not replace(self, sizes={n: min(s, most) for n, s in self.sizes.items()}).useless:
                return most
        return 0

    def _larger(self) -> int | None:
        """How many times the epsilon would do; rho grows with its square, nearly."""
        if self.off is None:
            return None
        times = next((t for t in (2, 3, 5, 10) if self.off / t <= _USELESS), None)
        return times


def measured_rows(ledger: Ledger) -> float | None:
    """About how many rows there are, as the last private draft of a schema measured it; None if none did."""
    found = None
    for entry in ledger.replay(None, 0):
        if entry.answer is not None and entry.note == KINDS_NOTE:
            sums = [float(table.sum()) for table in unpack(entry.answer)]
            found = max(sum(sums) / len(sums), 1.0)
    return found


def loose_words(budget: Budget, epsilon: float | None) -> str:
    """A warning about a promise that is none; empty where it is one."""
    largest = max(budget.epsilon, epsilon or 0.0)
    if budget.delta > LIKELY:
        return (
            f"WARNING: delta {budget.delta:g} is a weak promise: with that chance it need not hold at all; "
            "let delta be far below one in the number of people, such as 1e-9"
        )
    if largest <= LOOSE:
        return ""
    return (
        f"WARNING: epsilon {largest:g} is a weak promise: whoever sees what is released may become "
        f"e^{largest:g} times as sure of something about a person; above {LOOSE} hardly anybody is protected"
    )
