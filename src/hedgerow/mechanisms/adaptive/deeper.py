"""Deeper: triples are looked at before they are measured, and those that stand out are measured first.

Where one attribute is a function of two others, a few triples hold all that pairs do not, and most of what
the others show follows from those few. Measured all alike, noise is the same on those that matter and those
that do not. So pairs are measured first; a cheap look says how far each triple is from what pairs make of it;
those that stand out most are measured and fitted; a look at the rest says what they hold beyond those.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import pi
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.curator.statistics.distances import TableDistances
from hedgerow.curator.statistics.strategy import StrategyAnswers
from hedgerow.learning.residuals.basis import Names
from hedgerow.learning.residuals.noisy import NoisyResiduals
from hedgerow.mechanisms.adaptive.shares import EXPECTED, Shares

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.mechanisms.adaptive.dense import DenseFit
    from hedgerow.mechanisms.adaptive.everything import Everything

    Floats = NDArray[np.float64]

PAIRS, LOOK, FIRST = "residuals of pairs", "how far triples are from what is known", "triples that stand out"
KEEN = 6.0  # the noise of a look is this part of the error that is expected of tables
DEAREST = 0.005  # of the price: what a look may cost
BLIND = 1.4  # times that error: where its noise would be more, nothing is looked at
WON = 0.9  # of that error: what it is to be at most if triples hold nothing but chance
ROUNDS = 3  # of measuring triples that stand out, at most
FAR = 2.0  # times the expected error: a triple so far from what is known stands out
NEAR = 0.5  # of the farthest: others so far are measured with it
FAITH = 0.5  # how far the expected effect of noise of what is known may be off
MOST = Fraction(4, 5)  # of what is left: for the last act there is always something
CUT = 2.0  # of a cell: it is off by no more
CELLS = 1 << 22  # of all triples: where they have more, nothing is looked at


class Deeper:
    """What is looked at, in what order triples are measured, and what is expected of them.

    Args:
        what: the workload, of triples.
        dense: the fit of every cell.
        shares: what would be measured if all were in one act.
    """

    def __init__(self, what: Everything, dense: DenseFit, shares: Shares) -> None:
        self._what, self._dense, self._run, self._first = what, dense, what.run_, shares
        self.sets = [t for t in what.tables if len(t) == 3]
        self.variances: dict[Names, float] = {}
        self.signals: dict[Names, float] = {}
        self._looks = ROUNDS + 1  # that may come yet
        self._part = self._worth()

    def __bool__(self) -> bool:
        return self._part > 0

    def _worth(self) -> Fraction:
        """The part of the price of one look; 0 where it would not see what matters, or all are measured well.

        The least that triples hold is what chance makes. If even that is worth measuring, nothing is won by
        knowing which hold more.
        """
        run, error = self._run, max(self._first.error, 1e-9)
        cells = {t: run.domain.cells(t) for t in self.sets}
        if not self.sets or sum(cells.values()) > CELLS:
            return Fraction(0)
        moved = float(run.curator.privacy.sensitivity(TableDistances(tuple(self.sets), ()).norms).l2_squared)
        whole = (moved / (2.0 * float(run.price.amount))) ** 0.5 / run.total
        part = min((whole * KEEN / error) ** 2, DEAREST)
        if whole / part**0.5 > BLIND * error:
            return Fraction(0)
        least = self._what.plan({t: run.total / c for t, c in cells.items()})
        return Fraction(part).limit_denominator(1_000_000) if least.error <= WON * error else Fraction(0)

    def learn(self) -> bool:
        """MEASURE pairs; then LOOK, MEASURE what stands out, FIT, until nothing does."""
        self._measure({s: p for s, p in self._first.precisions.items() if len(s) < 3}, self._first, PAIRS)
        for number in range(ROUNDS + 1):
            evidence = self._fit()
            distances = self._look(evidence)
            if number == ROUNDS or not distances:
                break
            plan = self._what.plan(self.signals)
            chosen = self._standing_out(distances, plan)
            if not chosen:
                break
            self._measure({s: plan.precisions[s] for s in chosen}, plan, FIRST)
        return True

    def _fit(self) -> NoisyResiduals:
        run = self._run
        evidence = NoisyResiduals.of(run.domain, run.measurements, run.rows)
        live = [s for s in evidence.values if s and evidence.holds(s)]
        self._dense.fit(evidence, live, self.variances, last=False)
        return evidence

    def _measure(self, precisions: Mapping[Names, float], plan: Shares, note: str) -> None:
        """Some residuals, as precisely as they will be at least."""
        part = Fraction(sum(plan.parts[s] for s in precisions)).limit_denominator(1_000_000)
        strategy = replace(plan, precisions=dict(precisions)).strategy
        assert strategy is not None
        rest = self._run.left - self._run.price.share(self._looks * self._part)  # looks come first
        self._run.measure([StrategyAnswers(strategy)], rest.share(min(part, MOST)), None, note)

    def _look(self, evidence: NoisyResiduals) -> dict[Names, float]:
        """How far triples that were not measured are from what is known, as parts of all rows, beyond noise.

        Privacy: one act of Gaussian noise on `TableDistances`, charged in `Curator.measure_all`.
        """
        run, model = self._run, self._dense.hypothesis
        sets = [t for t in self.sets if t not in evidence.values]
        if not sets:
            return {}
        tables = {t: model.total * model.marginal(t) for t in sets}
        asked = TableDistances(tuple(tables), tuple(tables.values()))
        found, sigma = run.glance(asked, run.price.share(self._part), LOOK)
        self._looks -= 1
        out: dict[Names, float] = {}
        for t, distance in zip(sets, found / run.total, strict=True):
            # No cell is off by more than it holds: where tables are sparse, noise was cut off.
            each = (2.0 / pi * evidence.variance(t)) ** 0.5
            blur = float(np.minimum(CUT * tables[t], each).sum()) / run.total
            apart = max(float(distance) ** 2 - blur**2, 0.0) ** 0.5  # noise and dependence add up as squares
            unsure = np.hypot(sigma / run.total, FAITH * blur**2 / max(apart, blur))
            out[t] = self._believe(t, apart, float(unsure), tables[t], evidence)
        return out

    def _believe(
        self, t: Names, apart: float, unsure: float, table: Floats, evidence: NoisyResiduals
    ) -> float:
        """A triple's distance: what was found, drawn to what is usual by how unsure it is.

        Cells off by a factor whose logarithm has the variance v are off by sqrt(2 v / pi) of all rows. By
        chance alone a cell of m rows is off by m of its square, which is not in proportion to it.
        """
        usual = (2.0 * EXPECTED[3] / pi) ** 0.5
        sure = usual**2 / (usual**2 + unsure**2)
        distance = float(usual + sure * (apart - usual))
        chance = float(np.sqrt(2.0 * table / pi).sum()) / self._run.total
        beyond = pi / 2.0 * max(distance**2 - chance**2, 0.0)
        self.variances[t] = max(pi / 2.0 * distance**2, table.size / self._run.total)
        squares = beyond * float((table**2).sum()) / evidence.basis.numbers(t)
        self.signals[t] = squares + self._run.total / table.size
        return distance

    def _standing_out(self, distances: Mapping[Names, float], plan: Shares) -> list[Names]:
        """The farthest triples, no two of which share a pair: what shares one may follow from it."""
        falling = sorted(distances, key=lambda t: (-distances[t], t))
        least = max(FAR * plan.error, NEAR * distances[falling[0]])
        chosen: list[Names] = []
        for t in falling:
            apart = all(len(set(t) & set(other)) < 2 for other in chosen)
            if distances[t] > least and t in plan.precisions and apart:
                chosen.append(t)
        return chosen
