"""Farther: a cheap look at tables of one attribute more than those that are measured, for the bars of those.

What three attributes show together cannot be told from pairs: in rows of one scale it is next to nothing, and
where one attribute is a function of two others it is everything. A bar for both would be too narrow for the
one or ten times too wide for the other, so a small part of the price asks how far off such tables are.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import PCG64, Generator

from hedgerow.curator.statistics.distances import TableDistances
from hedgerow.learning.residuals.basis import Names
from hedgerow.queries.query import Norms
from hedgerow.synopsis.beyond import Beyond
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
_SETS = 64  # that are looked at
_ATTRIBUTES = 40  # the first so many
_CELLS, _ALL_CELLS = 1 << 16, 1 << 20  # of a table, and of all


class Farther:
    """What is looked at, and what it may cost.

    Args:
        run: whose price pays for it.
        attributes: those of more than one level that tables are measured of, in the domain's order.
        order: how many attributes the measured tables have.
    """

    def __init__(self, run: Run, attributes: Iterable[str], order: int) -> None:
        self._run, domain = run, run.domain
        every = list(combinations(list(attributes)[:_ATTRIBUTES], order + 1))
        self.sets: list[Names] = []
        room = _ALL_CELLS
        for i in Generator(PCG64(0)).permutation(len(every)):  # public randomness about public names
            cells = domain.cells(every[i])
            if len(self.sets) < _SETS and cells <= min(_CELLS, room):
                self.sets.append(every[i])
                room -= cells

    @property
    def price(self) -> Cost:
        """A small part of the run's; nothing where too little would be seen for it."""
        run = self._run
        price = run.price.share(PART)
        moved = float(run.curator.privacy.sensitivity(Norms.table()).l2_squared)
        blur = (moved / (2.0 * max(float(price.amount), 1e-300))) ** 0.5 / run.total
        return price if self.sets and blur <= _BLIND else price.share(Fraction(0))

    def look(self, learned: Learned) -> Beyond | None:
        """Measure how far rows are from what is answered, with all that is left.

        Privacy: one act of Gaussian noise on `TableDistances`, charged in `Curator.measure_all`.

        Args:
            learned: what answers are read from.
        """
        run, held = self._run, learned.reconciled
        assert held is not None

        def table(names: Names) -> Floats:
            model = learned.hypothesis
            return held.read(run.domain, names, lambda: model.marginal(names) * model.total)

        tables = {t: table(t) for t in self.sets}
        asked = TableDistances(tuple(tables), tuple(tables.values()))
        found, sigma = run.glance(asked, run.left, NOTE)
        bars = StatedErrors(run.domain, learned, table).bars_of(2.0)
        return Beyond.found(bars, tables, found.tolist(), sigma)
