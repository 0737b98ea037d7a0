"""One run of the adaptive release: every private act goes through its curator and is accounted here again."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.curator.curator import Curator
from hedgerow.curator.statistics.coarse import CoarseErrors
from hedgerow.learning.factored.consistency import Target, combined, measured_total
from hedgerow.learning.factored.factored import FactoredHypothesis
from hedgerow.learning.hypothesis import Fit
from hedgerow.mechanisms.adaptive import plan as planning
from hedgerow.mechanisms.adaptive.plan import Candidates, Effort, Nodes
from hedgerow.mechanisms.mechanism import one_way_shares
from hedgerow.mechanisms.progress import Progress, Surprise
from hedgerow.privacy import event as events
from hedgerow.privacy.accountant import cost as cost_of
from hedgerow.privacy.budget import Cost, selection_epsilon
from hedgerow.queries.measurement import Measurement
from hedgerow.queries.query import Norms
from hedgerow.queries.workload import Workload
from hedgerow.synopsis.model import Learned

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.mechanisms.adaptive.adaptive import AdaptiveRelease
    from hedgerow.queries.domain.domain import Domain

SELECTION = {"rho": Fraction(1, 10), "epsilon": Fraction(3, 10)}  # of each step's price
TRUST = 100.0  # departures from a public prior cost at most so much more than from the uniform distribution
MORE, NEARER = 5, 0.9  # the last fit goes on so often, while its misfit falls to this part
UNDONE, LONGER = 1.0, 5e7  # what is true has a misfit of 1: a fit further off goes on for so many cells
ENOUGH, MOST = 0.15, 0.8  # one-way tables noisier than this part of all rows get more, up to so much of all
WORTH = 0.01  # of the price: less is not worth an act
QUIET = 2.0  # tables within so many standard errors of pure noise say that all is learned


class Run:
    """The state of a run. `left` is what of its price is not spent; it follows from public values, so that
    a run taken up after a crash makes the same choices and is given the same answers."""

    def __init__(
        self, curator: Curator, domain: Domain, workload: Workload, settings: AdaptiveRelease, price: Cost
    ) -> None:
        self.curator, self.domain, self.workload = curator, domain, workload
        self.settings, self.price, self.left = settings, price, price
        self.measurements: list[Measurement] = []
        self.targets: list[Target] = []
        self._acts, self._slack = 0, 1.0
        self._surprise: list[Surprise] = []
        self.clock = time.process_time()

    @property
    def _pure(self) -> bool:
        return self.price.currency == "epsilon"

    # -- private acts -------------------------------------------------------------------------------------

    def _request(self) -> str:
        self._acts += 1
        return f"{self.curator.account}: {self._acts}"

    def measure(
        self, targets: Sequence[Any], price: Cost, shares: Sequence[int] | None, note: str
    ) -> list[Measurement]:
        found = self.curator.measure_all(
            targets, price, shares=shares, request=self._request(), note=note, run=self.curator.account
        )
        sensitivity = self.curator.privacy.sensitivity(Norms.table())
        acts = [
            events.Laplace(sensitivity.l1, m.noise.scale)
            if m.noise.family == "laplace"
            else events.Gaussian(sensitivity.l2_squared, m.noise.scale)
            for m in found
        ]
        self.left -= cost_of(acts[0] if len(acts) == 1 else events.Together(tuple(acts)), price.currency)
        self.measurements += found
        return found

    def select(self, score: CoarseErrors, price: Cost) -> int:
        epsilon = selection_epsilon(price, bounded_range=not self._pure)
        chosen = self.curator.select(
            score,
            price,
            method="permute_and_flip" if self._pure else "exponential",
            request=self._request(),
            note="adaptive release: choose a table",
            run=self.curator.account,
        )
        act = events.PermuteAndFlip(epsilon) if self._pure else events.Exponential(epsilon)
        self.left -= cost_of(act, price.currency)
        return chosen

    # -- learning -----------------------------------------------------------------------------------------

    def fit(self, hypothesis: FactoredHypothesis, iterations: int, *, guard: bool = True) -> Fit:
        return hypothesis.fit_targets(
            self.targets, total=self._rows, iterations=iterations, slack=self._slack, guard=guard
        )

    def fit_well(self, hypothesis: FactoredHypothesis, iterations: int) -> None:
        """The last fit goes on, a little at a time, while that brings it nearer to what was measured."""
        misfit = self.fit(hypothesis, 3 * iterations // 4).misfit
        for _ in range(MORE):
            before, misfit = misfit, self.fit(hypothesis, iterations // 4).misfit
            if misfit > NEARER * before:
                break
        if misfit > UNDONE and self.settings.seconds is None:
            self.fit(hypothesis, int(min(3 * iterations, LONGER / hypothesis.beliefs.tree.cells)))

    @property
    def _rows(self) -> float | None:
        """The number of rows where that is public."""
        rows = self.curator.rows
        return None if rows is None else float(rows)

    @property
    def _total(self) -> float:
        return max(measured_total(self.targets) if self._rows is None else self._rows, 1.0)

    def learn(
        self,
        hypothesis: FactoredHypothesis,
        weights: Sequence[float] | None,
        watch: Callable[[Progress], None],
    ) -> tuple[Learned, dict[str, Any]]:
        """START: one-way tables. Then SELECT, MEASURE, FIT until the price is spent."""
        sets = planning.importance(self.workload, weights)
        names = self.domain.order({a for s in sets for a in s})
        self._start(hypothesis, names)
        if self.settings.objective == "max":
            return self._learn_all(hypothesis, sets, watch)
        effort, candidates = self._plan(hypothesis, sets)
        from hedgerow.mechanisms.adaptive.rounds import Rounds

        rounds = Rounds(self, hypothesis, effort, candidates)
        done = rounds.run(watch)
        # Nothing more to choose, or nothing more to learn: measure again what is known.
        if self.left.amount * 1000 > self.price.amount:
            self._refresh(hypothesis, candidates, rounds.chosen)
        self.fit_well(hypothesis, effort.last)
        facts = {"tables": len(rounds.chosen), "model_cells": hypothesis.beliefs.tree.cells}
        watch(Progress(done, done, self.error, facts["model_cells"], time.process_time() - self.clock))
        return Learned(hypothesis, tuple(self.measurements), self.spread), facts

    def _start(self, hypothesis: FactoredHypothesis, names: tuple[str, ...]) -> None:
        """One-way tables, and the resolutions that follow from them."""
        part = (
            self.settings.one_way if self.settings.objective == "mean" else min(0.05, self.settings.one_way)
        )
        part = part if any(len(s) > 1 for s in self.workload.cliques) else 1.0
        shares = one_way_shares(self.domain.shape_of(names))
        price = self.price.share(Fraction(part).limit_denominator(10_000))
        found = self.measure([(a,) for a in names], price, shares, "adaptive release: one-way tables")
        self.targets = [hypothesis.target(m) for m in found]
        more = self._lacking(part)
        if more >= WORTH:
            price = self.price.share(Fraction(more).limit_denominator(10_000))
            found = self.measure(
                [(a,) for a in names], price, shares, "adaptive release: one-way tables again"
            )
            self.targets += [hypothesis.target(m) for m in found]
        self._slack = self._trust(hypothesis) if hypothesis.fixed else 1.0
        self.fit(hypothesis, 50, guard=False)
        hypothesis.refine(planning.resolutions_of(self.domain.shape, combined(self.targets), self._total))

    def _lacking(self, part: float) -> float:
        """What more of the price one-way tables need: where little is known of them, less is of pairs.

        It is in proportion to the expected L1 noise of a table, as a part of all rows.
        """
        if self.settings.objective == "max" or part >= MOST:
            return 0.0
        noise = np.mean([(2.0 / np.pi) ** 0.5 * t.sigma * len(t.counts) for t in self.targets]) / self._total
        return part * float(np.clip(noise / ENOUGH, 1.0, MOST / part)) - part

    def _trust(self, hypothesis: FactoredHypothesis) -> float:
        """How well a prior foretold the one-way tables: the inverse of its mean squared relative error."""
        over = under = 0.0
        for t in self.targets:
            expected = self._total * hypothesis.table(t.nodes)
            over += float(((t.counts - expected) ** 2).sum()) - t.sigma**2 * len(t.counts)
            under += float((expected**2).sum())
        return float(np.clip(under / max(over, under / TRUST), 1.0, TRUST))

    def _noise(self, price: Cost) -> tuple[float, float]:
        """Mean absolute value and standard deviation of the noise that a price buys for a table."""
        sensitivity = self.curator.privacy.sensitivity(Norms.table())
        if self._pure:
            scale = float(sensitivity.l1) / max(float(price.amount), 1e-300)
            return scale, scale * 2.0**0.5
        sigma = (float(sensitivity.l2_squared) / max(2.0 * float(price.amount), 1e-300)) ** 0.5
        return sigma * (2.0 / np.pi) ** 0.5, sigma

    def step_price(self, steps: int) -> tuple[Cost, Cost]:
        """An equal part of what is left for each step to come: for choosing, and for measuring."""
        step = self.left.share(Fraction(1, max(steps, 1)))
        choice = step.share(SELECTION[self.price.currency])
        return choice, step - choice

    def _plan(
        self, hypothesis: FactoredHypothesis, sets: dict[tuple[str, ...], float]
    ) -> tuple[Effort, Candidates]:
        """Effort and candidates from the signal: rows in units of the noise of one table."""
        typical = planning.typical_measurements(len({a for s in sets for a in s}))
        signal = self._total / self._noise(self.step_price(typical)[1])[1]
        asked = self.settings
        effort = Effort.of(
            len({a for s in sets for a in s}),
            signal,
            asked.seconds,
            asked.cells,
            asked.most_cells or np.inf,
            self.domain.size,
        )
        if asked.measurements is not None:
            effort = effort.with_measurements(asked.measurements)
        noise = self._noise(self.step_price(effort.measurements)[1])[0]
        room = planning.LOOKED_AT if asked.memory is None else asked.memory * 1e6 / planning.LOOKED_AT_BYTES
        found = Candidates.of(self.domain, hypothesis.resolutions, sets, noise, self._total, room)
        return effort, found

    def learn_table(self, target: Target, expected: NDArray[np.float64]) -> None:
        """Keep a measured table, and how far it was from what was expected of it."""
        gap = target.counts - expected.reshape(-1)
        self._surprise.append(Surprise.of(gap, expected, target.sigma))
        self.targets.append(target)

    @property
    def spread(self) -> float:
        """The variance of a cell's error in units of its count, from tables predicted before measured."""
        late = self._surprise[len(self._surprise) // 2 :]
        over, under = sum(s.excess for s in late), sum(s.rows for s in late)
        floor = sum(s.doubt for s in late) / max(under, 1.0)
        return max(over / under if under else 0.0, floor, 1e-6)

    @property
    def error(self) -> float | None:
        """The estimated L1 error of the last tables before they were learned, as a part of all rows."""
        late = self._surprise[-4:]
        return max(0.0, float(np.mean([s.distance for s in late])) / self._total) if late else None

    def quiet(self, tables: int) -> bool:
        """Whether the last tables held nothing but noise."""
        late = self._surprise[-tables:]
        over, room = sum(s.excess for s in late), sum(2.0 * s.doubt**2 for s in late) ** 0.5
        return len(late) >= tables and over <= QUIET * room

    def _refresh(self, hypothesis: FactoredHypothesis, candidates: Candidates, chosen: list[Nodes]) -> None:
        """Spend what is left on the tables that were chosen already, or else on the one-way tables."""
        ones = list(dict.fromkeys(m.attributes for m in self.measurements if m.workload is None))
        blocks = [Workload([candidates.block(n)]) for n in chosen]
        sizes = [candidates.resolutions.cells(n) for n in chosen] or [self.domain.cells(a) for a in ones]
        shares = one_way_shares(sizes)
        found = self.measure(blocks or ones, self.left, shares, "adaptive release: measure again")
        self.targets += [hypothesis.target(m) for m in found]

    def _learn_all(
        self,
        hypothesis: FactoredHypothesis,
        sets: dict[tuple[str, ...], float],
        watch: Callable[[Progress], None],
    ) -> tuple[Learned, dict[str, Any]]:
        """`max`: every table of the workload is measured in full; choosing what to fit is then free."""
        from hedgerow.mechanisms.adaptive.maximum import fit_measured

        wanted = [s for s in sets if len(s) > 1]
        if wanted:
            self.measure(wanted, self.left, None, "adaptive release: all tables of the workload")
        cells = fit_measured(self, hypothesis, wanted)
        watch(Progress(len(wanted), len(wanted), self.error, cells, time.process_time() - self.clock))
        facts = {"tables": len(wanted), "model_cells": cells}
        return Learned(hypothesis, tuple(self.measurements), self.spread, corrected=True), facts
