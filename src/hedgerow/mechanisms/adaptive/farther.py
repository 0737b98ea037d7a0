"""Farther: a cheap look at tables that are not measured, for the bars of those.

What three attributes show together cannot be told from pairs: in rows of one scale it is next to nothing, and
where one attribute is a function of two others it is everything. A bar for both would be too narrow for the
one or ten times too wide for the other, so a small part of the price asks how far off such tables are. Where
tables are chosen, or some pairs are too large to be worth measuring, it asks the same of pairs and triples:
how far off those are that were left out, no measured table tells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import PCG64, Generator

from hedgerow.curator.statistics.distances import TableDistances
from hedgerow.errors import RequestReused
from hedgerow.learning.residuals.basis import Names
from hedgerow.queries.query import Norms
from hedgerow.synopsis.beyond import Beyond
from hedgerow.synopsis.limits import MeasuredTable
from hedgerow.synopsis.quantiles import VARIED
from hedgerow.synopsis.stated import StatedErrors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.mechanisms.adaptive.run import Run
    from hedgerow.privacy.budget import Cost
    from hedgerow.synopsis.learned import Learned

    Floats = NDArray[np.float64]

PART = Fraction(1, 200)  # of the price: noise of everything else is larger by a quarter of a percent
NOTE = "how far larger tables are from what is answered"
_BLIND = 0.1  # of all rows: where the mean distance would be noisier, nothing is looked at
SETS = 64  # that are looked at
CHOSEN = {2: 64, 3: 32}  # where tables are chosen: so many of so many attributes
_ATTRIBUTES = 40  # the first so many
_CELLS, _ALL_CELLS = 1 << 16, 1 << 20  # of a table, and of all


class Farther:
    """What is looked at, and what it may cost.

    Args:
        run: whose price pays for it.
        attributes: those of more than one level that tables are measured of, in the domain's order.
        numbers: by how many attributes a table has, how many are looked at.
        left_out: smaller tables that are not measured and come first, as many as are larger ones.
    """

    def __init__(
        self,
        run: Run,
        attributes: Iterable[str],
        numbers: Mapping[int, int],
        left_out: Sequence[Names] = (),
    ) -> None:
        self._run, names = run, list(attributes)[:_ATTRIBUTES]
        self.sets = self._some(list(left_out), SETS, _ALL_CELLS // 2)
        self._left_out = frozenset(self.sets)
        room = _ALL_CELLS - sum(map(run.domain.cells, self.sets))
        for order, number in numbers.items():
            some = self._some(list(combinations(names, order)), number, room)
            room -= sum(map(run.domain.cells, some))
            self.sets += some

    def _some(self, every: list[Names], number: int, room: int) -> list[Names]:
        """So many of these sets, if there is room for their cells."""
        found: list[Names] = []
        for i in Generator(PCG64(0)).permutation(len(every)):  # public randomness about public names
            cells = self._run.domain.cells(every[i])
            if len(found) < number and cells <= min(_CELLS, room):
                found.append(every[i])
                room -= cells
        return found

    @property
    def price(self) -> Cost:
        """A small part of the run's; nothing where too little would be seen for it."""
        run = self._run
        price = run.price.share(PART)
        if run.pure or 2 * price.amount > run.left.amount:
            return price.share(Fraction(0))
        moved = float(run.curator.privacy.sensitivity(Norms.table()).l2_squared)
        blur = (moved / (2.0 * max(float(price.amount), 1e-300))) ** 0.5 / run.total
        return price if self.sets and blur <= _BLIND else price.share(Fraction(0))

    def looked(self, learned: Learned, before: Callable[[], Learned] | None = None) -> Learned:
        """What was learned, with what a look at it found.

        A ledger of before may hold a look at larger tables alone, or at what an earlier version answered:
        then that is taken up, and those answers with it.

        Args:
            learned: what was learned.
            before: what an earlier version would have learned.
        """
        every = dict.fromkeys([tuple(self.sets), tuple(t for t in self.sets if t not in self._left_out)])
        for made in (lambda: learned, *([] if before is None else [before])):
            found = made()
            for sets in every:
                try:
                    return replace(found, beyond=self.look(found, sets))
                except RequestReused:  # it looked at yet other answers, which says nothing of these
                    self._run.refused()
        return learned

    def unlooked(self, learned: Learned) -> Learned:
        """What was learned, where no look is worth its price: pairs are as far off as is usual."""
        pairs = [t for t in self.sets if len(t) == 2]
        if not pairs:
            return learned
        stated = StatedErrors(self._run.domain, learned, learned.table)
        tables = {t: learned.table(t) for t in pairs}
        return replace(learned, beyond=Beyond.unseen(lambda known: stated.bars_of(1.0, known), tables))

    def look(self, learned: Learned, sets: Sequence[Names]) -> Beyond:
        """Measure how far rows are from what is answered, with all that is left.

        Privacy: one act of Gaussian noise on `TableDistances`, charged in `Curator.measure_all`.

        Args:
            learned: what answers are read from.
            sets: the attributes of each table that is looked at.
        """
        run = self._run
        tables = {t: learned.table(t) for t in sets}
        asked = TableDistances(tuple(tables), tuple(tables.values()))
        found, sigma = run.glance(asked, run.left, NOTE)
        stated = StatedErrors(run.domain, learned, learned.table)
        if learned.reconciled is not None and self._left_out.isdisjoint(sets):
            return Beyond.found(stated.bars_of(2.0), tables, found.tolist(), sigma)
        grouped = {run.domain.order(t.attributes) for t in MeasuredTable.all_of(learned.measurements)}
        return Beyond.chosen(
            lambda known: stated.bars_of(1.0, known), tables, found.tolist(), sigma, VARIED, grouped
        )
