"""Offline multiplicative weights for real rows: whole tables, replayed until the fit stops improving."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.curator.statistics.statistics import QueryErrors, Score, TableErrors
from hedgerow.learning.dense.dense import DenseHypothesis
from hedgerow.learning.dense.tables import tables_of
from hedgerow.mechanisms.mechanism import one_way_shares
from hedgerow.mechanisms.run import SelectMeasure
from hedgerow.queries.query import Query
from hedgerow.queries.workload import Workload
from hedgerow.synopsis.dense import settled
from hedgerow.synopsis.learned import Learned

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.mechanisms.account import Purse
    from hedgerow.mechanisms.progress import Progress
    from hedgerow.privacy.budget import Cost
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.measurement import Measurement

    Names = tuple[str, ...]

ONE_WAY = Fraction(1, 10)  # of the price, for the table of every attribute alone
LOUD = 0.25  # a typical table's noise, summed over its cells, is at most this part of all rows
FEWEST, MOST = 8, 64  # rounds
TABLE_CELLS = 1 << 18  # the table behind a chosen query is measured whole up to here, else the query alone
BIAS = 0.5  # how much of the expected noise a table's score is lowered by
QUIET = 3  # so many tables in a row that hold nothing but noise say that all is learned


class TunedRounds(SelectMeasure):
    """One run: START with one-way tables, then SELECT, MEASURE, UPDATE, and at the end REPLAY everything."""

    words = "offline-mw"

    def __init__(
        self, purse: Purse, domain: Domain, workload: Workload, watch: Callable[[Progress], None]
    ) -> None:
        super().__init__(purse, domain, workload, watch)
        self.sets: list[Names] = [s for s in workload.cliques if s]
        self.chosen: list[Names] = []

    def learn(self, rounds: int | None) -> tuple[Learned, dict[str, Any]]:
        """Carry out the whole run; the fitted model, and what a receipt says of it."""
        todo = [s for s in self.sets if len(s) > 1 and self._fits(s)]
        large = not all(map(self._fits, self.sets))
        ones = [(a,) for a in self.domain.order({a for s in self.sets for a in s})]
        share = self.price.share(ONE_WAY) if any(len(s) > 1 for s in self._candidates) else self.left
        self.measure(ones, share, one_way_shares([self.domain.cells(s) for s in ones]), "one-way tables")
        h = DenseHypothesis(self.domain)
        h.fit(self.measurements, total=self.rows)
        if todo and not large and (rounds or self._planned(todo)) >= len(todo):
            self._all(h, todo)
        elif not self.left.is_zero:
            self._rounds(h, rounds or self._planned(self._candidates))
        final = DenseHypothesis(self.domain)
        fit = final.fit(self.measurements, total=self.rows)  # from the start: no table's noise lingers
        facts = {"tables": len(set(self.chosen)), "rounds": len(self.chosen), "misfit": fit.misfit}
        hypothesis: Any = settled(final)
        return Learned(hypothesis, tuple(self.measurements), self.spread), facts

    # -- the rounds ---------------------------------------------------------------------------------------

    def _all(self, h: DenseHypothesis, tables: list[Names]) -> None:
        """As many rounds as tables: choosing would only cost."""
        expected = tables_of(h, tables)
        found = self.measure(tables, self.left, None, "all tables")
        for names, m in zip(tables, found, strict=True):
            self._learn(names, m, h.total * expected[names])

    def _rounds(self, h: DenseHypothesis, planned: int) -> None:
        """Choose, measure, update; what an early stop leaves measures the chosen tables again."""
        alive = self._candidates
        for t in range(planned):
            if self.quiet(QUIET) and t >= planned // 3:
                again = list(dict.fromkeys(self.chosen))
                self.measure(again, self.left, None, "measure again")
                break
            self.tell(t, planned, h.total, self.domain.size)
            choice, price = self.step_price(planned - t)
            names, query = self._worst(h, alive, choice, price)
            expected = h.total * h.marginal(names)
            whole = self._fits(names)
            (m,) = self.measure([names if whole else query], price, None, " x ".join(names))
            if whole:
                self._learn(names, m, expected)
            h.fit([m], total=h.total, passes=2, kappa=1.0)
            if self.workload.is_tables and len(alive) > 1:
                alive.remove(names)

    def _worst(
        self, h: DenseHypothesis, alive: list[Names], price: Cost, measurement: Cost
    ) -> tuple[Names, Query]:
        """The worst table, less what its noise would add; or the worst query and the table behind it."""
        tables = tables_of(h, alive if self.workload.is_tables else self.workload.cliques)
        score: Score
        if self.workload.is_tables:
            noise = BIAS * self.noise(measurement)[0]
            penalties = np.array([noise * tables[s].size for s in alive])
            score = TableErrors(tuple(alive), tuple(h.total * tables[s] for s in alive), penalties)
        else:
            score = QueryErrors(self.workload, h.total * self.workload.evaluate(tables.__getitem__))
        index = self.select(score, price)
        if self.workload.is_tables:
            return alive[index], Query.total()
        query: Query = self.workload[index]
        return query.attributes, query

    # -- what follows from released values ----------------------------------------------------------------

    def _fits(self, names: Names) -> bool:
        """Whether a table is measured whole."""
        return self.domain.cells(names) <= TABLE_CELLS

    @property
    def _candidates(self) -> list[Names]:
        """What to choose from: tables asked for and the pairs inside them, which hold less noise.

        A table too large to be measured is none; triples inside it that fit take its place.
        """
        if not self.workload.is_tables:
            return list(self.sets)
        found = list(filter(self._fits, self.sets))
        for s in self.sets:
            inside = [*combinations(s, 2), *(() if self._fits(s) else combinations(s, 3))]
            found += filter(self._fits, inside)
        return list(dict.fromkeys(found))

    def _planned(self, tables: Sequence[Names]) -> int:
        """As many rounds as leave a typical table's noise below a part of all rows."""
        sizes = [min(self.domain.cells(s), TABLE_CELLS) for s in tables]
        loud = self.noise(self.left)[0] * float(np.median(sizes or [1]))
        rows = self.rows or max(float(np.mean([m.counts.sum() for m in self.measurements])), 1.0)
        ratio = LOUD * rows / loud
        rounds = ratio if self.left.currency == "epsilon" else ratio**2
        return int(min(max(rounds, FEWEST), MOST))

    def _learn(self, names: Names, m: Measurement, expected: NDArray[np.float64]) -> None:
        self.chosen.append(names)
        self.surprised(m.counts, expected, sqrt(m.noise.variance))
