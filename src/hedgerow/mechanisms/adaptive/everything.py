"""Everything: all of the workload is measured in one act of residuals, then modelled, weighed, made to agree.

The act is private, and so are looks at pairs or triples before it and after it: `Curator.measure_all` charges
each. All else follows from released one-way tables and from the noisy numbers of these acts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import inf, pi, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.curator.statistics.strategy import StrategyAnswers
from hedgerow.errors import RequestReused
from hedgerow.learning.factored.factored import FactoredHypothesis
from hedgerow.learning.ordered import FittedCounts, regained
from hedgerow.learning.residuals.basis import Names
from hedgerow.learning.residuals.noisy import NoisyResiduals
from hedgerow.learning.residuals.nonnegative import brought, cut
from hedgerow.mechanisms.adaptive.deeper import Deeper
from hedgerow.mechanisms.adaptive.dense import DenseFit, followed, target_of
from hedgerow.mechanisms.adaptive.farther import SETS as LOOKED
from hedgerow.mechanisms.adaptive.farther import Farther
from hedgerow.mechanisms.adaptive.in_runs import InRuns
from hedgerow.mechanisms.adaptive.look import LEFT_OUT, standing_out
from hedgerow.mechanisms.adaptive.maximum import CELLS, fit_measured, tables_wanted
from hedgerow.mechanisms.adaptive.shares import Outlook, Shares
from hedgerow.mechanisms.adaptive.weighing import weighed
from hedgerow.synopsis.agreeing import AgreeingRows
from hedgerow.synopsis.learned import Learned

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.learning.factored.consistency import Target
    from hedgerow.mechanisms.adaptive.run import Run

    Floats = NDArray[np.float64]

WHOLE_CELLS = 1 << 20
"""Domains of so many cells may be held densely when all of the workload is measured."""
WHOLE_VISITS = 1e7  # cells times cliques that one step of such a fit may touch
NUMBERS = 1 << 24  # more numbers than this are not measured at once
SETS = 1 << 15  # nor are workloads of more tables
MANY = 1 << 13  # of more triples their pairs are measured, unless all of them are well worth it
LEVELS = 2048  # nor attributes of more levels
LIMITS = {2: 0.02, 3: 0.017}
"""By the most attributes of a table: with a larger expected error tables are chosen."""
PAIRS_LIMIT = 0.0075  # the same where only pairs inside the workload's tables are measured
SUMS_LIMIT = 0.0035  # the same of sums over any levels, where tables may be chosen for them instead
OFTEN = 3.0  # sums over two, three and four attributes are as often asked for as those over one, each
NUMBERS_TOO = 1.0  # how much single attributes count beside tables, where there are numbers
FLOOR = 0.02  # of the price: the least that one-way tables are given
_LOOKED_AT = 120  # tables that a model may be fitted to, or twice as many as it will be
_ROWS = 1 << 15  # synthetic rows that are looked at, at most, to say what they lose


def worth_holding(sizes: Sequence[int], tables: Sequence[Names]) -> bool:
    """Whether a domain is small enough for a weight on every cell, fitted to so many tables."""
    cells = prod(sizes)
    if cells > WHOLE_CELLS:
        return False
    wide = max(map(len, tables), default=1)
    cliques = min(len(tables), 4 if len(sizes) > 2 * wide else len(tables))
    return cells * cliques <= WHOLE_VISITS


class Everything:
    """One act that measures all residuals of a workload that are worth it, and what follows from it.

    Args:
        run: whose price pays for it.
        tables: the workload's attribute sets with their weights.
        sums: whether it is meant for sums over any levels.
        pairs_only: whether the tables are the pairs inside those of the workload.
        choose: whether tables may be chosen for sums; else they are measured at once wherever they can be.
    """

    def __init__(
        self,
        run: Run,
        tables: Mapping[Names, float],
        *,
        sums: bool = False,
        pairs_only: bool = False,
        choose: bool = False,
    ) -> None:
        self.run_, self.sums, self.pairs_only, self.choose = run, sums, pairs_only, choose
        domain = run.domain
        self.sizes = {a: domain[a].size for t in tables for a in t if domain[a].size > 1}
        self.sizes = {a: self.sizes[a] for a in domain.names if a in self.sizes}
        kept: dict[Names, float] = {}
        for t, weight in tables.items():
            names = tuple(a for a in domain.order(t) if a in self.sizes)
            if len(names) > 1:
                kept[names] = kept.get(names, 0.0) + weight
        self.tables = kept

    @classmethod
    def within_reach(
        cls, run: Run, tables: Mapping[Names, float], *, sums: bool = False, choose: bool = False
    ) -> Everything | None:
        """All of a workload; of too many triples the pairs inside them; None where not even they can be.

        The model is brought to measured pairs wherever a triple is read. Of 60 attributes, triples read so
        were 2.3 times nearer to the rows than those of a model that chose its tables.
        """
        found = cls(run, tables, sums=sums, choose=choose)
        if found.wide == 3 and len(found.tables) > SETS:
            found = found.pairs_inside()
        return found if found.possible else None

    def pairs_inside(self) -> Everything:
        """The same for the pairs inside the tables, which are then read from the model, brought to them."""
        inside: dict[Names, float] = {}
        for t, weight in self.tables.items():
            for pair in combinations(t, 2):
                inside[pair] = inside.get(pair, 0.0) + weight
        return Everything(self.run_, inside, sums=self.sums, pairs_only=True, choose=self.choose)

    @property
    def ways(self) -> list[Everything]:
        """What may be measured at once: all; of very many triples, which takes minutes, else their pairs."""
        many = self.wide == 3 and len(self.tables) > MANY
        return [self, self.pairs_inside()] if many else [self]

    @property
    def possible(self) -> bool:
        """Whether there are several tables, and not too much of them: one alone is best measured as it is."""
        return (
            len(self.tables) > 1
            and self.wide <= 3
            and len(self.tables) <= SETS
            and max(self.sizes.values()) <= LEVELS
        )

    # -- before the act -----------------------------------------------------------------------------------

    def first_part(self, shares: Mapping[str, float], most: float) -> float:
        """The part of the price for the first one-way tables: no more than measuring everything would use.

        Args:
            shares: how it is divided among attributes, summing to 1.
            most: no more than this.
        """
        even = {a: np.full(n, 1.0 / n) for a, n in self.sizes.items()}
        known: dict[Names, float] = {(): 1e30} if self.run_.rows is not None else {}
        outlook = Outlook(self.sizes, self._asked, 1e9, even, known, self.sums, beside=self._beside)
        plan = outlook.plan(1.0)
        return min(most, max(FLOOR, plan.lossless({a: s for a, s in shares.items() if a in self.sizes})))

    @property
    def _asked(self) -> Mapping[Names, float]:
        """What residuals are weighed by: the tables, or sums over as many of one as of more attributes."""
        if not self.sums:
            return self.tables
        wide = max(map(len, self.tables))
        larger = sum(self.tables.values())
        ones = {(a,): larger / (OFTEN * len(self.sizes)) for a in self.sizes}
        return ones | {t: w for t, w in self.tables.items() if len(t) == wide}

    @property
    def _beside(self) -> Mapping[Names, float]:
        """What else counts where there are numbers: each attribute alone, and all rows.

        Sums and averages, overall and by group, are made of those, and noise of pairs says little of them.
        Single attributes together count as much as the tables of the workload, and so does the total.
        """
        if self.sums or not self.run_.numbers_too:
            return {}
        all_ = NUMBERS_TOO * sum(self.tables.values())
        return {(): all_} | {(a,): all_ / len(self.sizes) for a in self.sizes}

    def plan(self, signals: Mapping[Names, float] | None = None) -> Shares:
        """What the rest of the price would measure, and how far off tables would be.

        Args:
            signals: variances that coordinates of some residuals are taken to have; others as usual.
        """
        evidence = NoisyResiduals.of(self.run_.domain, self.run_.measurements, self.run_.rows)
        total = evidence.total
        ones = {}
        for a in self.sizes:
            table = cut(evidence.basis.table((a,), evidence.values))
            ones[a] = np.maximum(table, 0.3 * evidence.deviations[a,]) / total
            ones[a] = ones[a] / ones[a].sum()
        known = {s: d**-2.0 for s, d in evidence.deviations.items()}
        precision = self.run_.noise(self.run_.left)[1] ** -2.0
        return Outlook(
            self.sizes, self._asked, total, ones, known, self.sums, signals or {}, self._beside
        ).plan(precision)

    @property
    def wide(self) -> int:
        """The most attributes of a table."""
        return max(map(len, self.tables), default=0)

    @property
    def usual_limit(self) -> float:
        """The expected error up to which all is measured, where dependence is in a few pairs."""
        if self.sums:
            return SUMS_LIMIT if self.choose else inf
        return PAIRS_LIMIT if self.pairs_only else LIMITS[self.wide]

    def suits(self, shares: Shares, limit: float | None = None, *, whole: bool = False) -> bool:
        """Whether measuring everything is expected to be better than choosing.

        Args:
            shares: what would be measured.
            limit: the largest expected error; the usual one if None.
            whole: whether the model holds every cell: then everything can be fitted, whatever the error.
        """
        if not shares.precisions or shares.numbers > NUMBERS:
            return False
        most = self.usual_limit if limit is None else limit
        return (whole or shares.error <= most) and shares.strategy is not None

    # -- the act, and after it ----------------------------------------------------------------------------

    def learn(self, hypothesis: FactoredHypothesis, shares: Shares) -> tuple[Learned, dict[str, Any]]:
        """MEASURE all residuals; FIT a model; WEIGH it against what was measured; make tables agree."""
        run = self.run_
        dense = None
        if hypothesis.whole:
            coarse = self._in_runs(hypothesis, shares)
            dense = DenseFit(run, hypothesis, coarse)
            shares = self.plan() if coarse else shares
        deeper = None if dense is None else self._deeper(dense, shares)
        if deeper is not None:
            shares = self.plan(deeper.signals)
        if self.sums and dense is None:
            shares = self._with_clear_ones(shares)
        farther = self._measure(shares)
        evidence = NoisyResiduals.of(run.domain, run.measurements, run.rows)
        live = [s for s in evidence.values if s and evidence.holds(s)]
        if dense is None:
            part = self._fit_some(hypothesis, evidence, live)
        else:
            part = dense.fit(evidence, live, None if deeper is None else deeper.variances)
        tables = [t for t in self.tables if evidence.holds(t)]
        reconciled = weighed(hypothesis, evidence, live, part)
        learned = Learned(hypothesis, tuple(run.measurements), run.spread, reconciled=reconciled)
        fitted, learned = learned, self._regained(learned)
        facts: dict[str, Any] = {"tables": len(tables), "model_cells": hypothesis.beliefs.tree.cells}
        facts["rows_off"] = _rows_off(learned)
        run.tell(1, 1, run.total, facts["model_cells"])
        if farther is None:
            return learned, facts
        return farther.looked(learned, lambda: self._regained(fitted, behind=False)), facts

    def _with_clear_ones(self, shares: Shares) -> Shares:
        """The same with pairs that are too large by what is usual, and clearly not independent.

        Two dates of which one follows the other soon fill few of their cells, and those well. A pair whose
        rows are in the part f of what independence expects is off by a factor 1 / f there. Where all of them
        would be more numbers than can be measured, the plan stays.
        """
        run = self.run_
        left = [t for t in self.tables if len(t) == 2 and t not in shares.precisions]
        if not left or run.coming not in (None, LEFT_OUT):  # a session of before has no such look
            return shares
        signals = {}
        for t, far in standing_out(run, run.ones, left).items():
            apart = max(pi / 2.0 * far**2, 1.0 / max(1.0 - far / 2.0, 1.0 / run.domain.cells(t)) - 1.0)
            signals[t] = apart * shares.outlook.usual(t)
        found = self.plan(signals) if signals else shares
        return found if self.suits(found) else shares

    def _in_runs(self, hypothesis: FactoredHypothesis, shares: Shares) -> list[Target]:
        """Pairs of numbers in runs of levels, where single levels would tell too little of averages."""
        fine: dict[Names, float] = {s: float(p**-0.5) for s, p in shares.precisions.items() if len(s) == 2}
        return InRuns(self.run_, hypothesis, self.tables, fine).measure()

    def _deeper(self, dense: DenseFit, shares: Shares) -> Deeper | None:
        """Pairs first, then triples that stand out, where a look at them is worth it; None where not.

        A ledger of before may hold all of it in one act: then that is taken up.
        """
        if self.wide < 3 or self.sums:
            return None
        found = Deeper(self, dense, shares)
        before = len(self.run_.measurements)
        try:
            return found if found and found.learn() else None
        except RequestReused:
            if len(self.run_.measurements) > before:
                raise
            self.run_.refused()
            return None

    def _regained(self, learned: Learned, *, behind: bool = True) -> Learned:
        """What was learned with new counts of numbers that fits without negative cells have displaced."""
        held, model = learned.reconciled, learned.hypothesis
        assert held is not None

        def fitted(a: str) -> Floats:
            return held.read(self.run_.domain, (a,), lambda: model.marginal((a,)) * model.total)

        noisy = {a: held.evidence.basis.table((a,), held.evidence.values) for a in self.sizes}
        sigma = {a: held.evidence.variance((a,)) ** 0.5 for a in self.sizes}
        known = {a: FittedCounts(fitted(a), noisy[a], sigma[a]) for a in self.sizes}
        margins = regained(self.run_.domain, known, model.total, behind=behind)
        if not margins:
            return learned
        parts = brought(held.evidence.basis, held.parts, held.tables, margins) if held.parts else {}
        return replace(learned, hypothesis=model.brought(margins), reconciled=replace(held, parts=parts))

    def _measure(self, shares: Shares) -> Farther | None:
        """MEASURE all residuals, but for what a look at other tables may cost; that look, if there is one.

        A ledger of before may hold this act at its whole price, under this request: then that is taken up.
        """
        assert shares.strategy is not None
        run, note, asked = self.run_, "residuals of all tables", StrategyAnswers(shares.strategy)
        left_out = [t for t in self.tables if t not in shares.precisions] if self.wide == 2 else []
        farther = Farther(run, self.sizes, {self.wide + 1: LOOKED}, left_out)
        if farther.price.amount > 0:
            try:
                run.measure([asked], run.left - farther.price, None, note)
            except RequestReused:
                run.refused()
            else:
                return farther
        run.measure([asked], run.left, None, note)
        return None

    def _fit_some(
        self, hypothesis: FactoredHypothesis, evidence: NoisyResiduals, live: Sequence[Names]
    ) -> dict[Names, float]:
        """Fit the tables that stand out most; what part of the noise of each was followed."""
        run = self.run_
        run.targets = [target_of(hypothesis, evidence, s) for s in live if len(s) == 1]
        ones = len(run.targets)
        larger = sorted((s for s in live if len(s) > 1), key=lambda s: (-_standing_out(evidence, s), s))
        most = max(_LOOKED_AT, 2 * tables_wanted(len(self.sizes)))
        targets = [target_of(hypothesis, evidence, s) for s in larger[:most]]
        # Rows of very wide data are drawn from a model as large as one that chose its tables.
        fit_measured(run, hypothesis, targets, 2.0 * CELLS if self.pairs_only else CELLS)
        names = hypothesis.domain.names
        found: dict[Names, float] = {}
        for i, t in enumerate(run.targets):
            s = tuple(names[a] for a, _ in t.nodes)
            full = prod(hypothesis.domain[a].size for a in s)
            found[s] = followed(hypothesis, t) * (1.0 if i < ones else len(t.counts) / full)
        return found


def _standing_out(evidence: NoisyResiduals, s: Names) -> float:
    """By how many rows a measured residual moves its table, beyond what noise would."""
    beyond = evidence.basis.table(s, {s: evidence.values[s]})
    noise = float(evidence.deviations[s] * np.sqrt(evidence.basis.numbers(s) / beyond.size))
    return float(np.abs(beyond).sum()) - 0.8 * noise * beyond.size


def _rows_off(learned: Learned) -> float:
    """The mean L1 distance of synthetic rows to the tables answers are read from; of more rows it is less."""
    rows = min(round(learned.hypothesis.total), _ROWS)
    return round(AgreeingRows(learned.hypothesis.domain, learned, learned.table).off(rows), 6)
