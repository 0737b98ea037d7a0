"""One run of the adaptive release: what is measured first, what the rounds go by, and the last fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import RequestReused
from hedgerow.learning.factored.consistency import Target, combined, measured_total
from hedgerow.learning.factored.factored import FactoredHypothesis
from hedgerow.learning.factored.smoothing import smoothed
from hedgerow.learning.hypothesis import Fit
from hedgerow.learning.ordered import FittedCounts, regained
from hedgerow.mechanisms.adaptive import plan as planning
from hedgerow.mechanisms.adaptive.chains import least
from hedgerow.mechanisms.adaptive.everything import Everything
from hedgerow.mechanisms.adaptive.farther import CHOSEN, Farther
from hedgerow.mechanisms.adaptive.look import JOINED, Look, blur_of, joined, look, pairs_of
from hedgerow.mechanisms.mechanism import one_way_shares
from hedgerow.mechanisms.run import SelectMeasure
from hedgerow.privacy import events
from hedgerow.privacy.accountant import cost as cost_of
from hedgerow.privacy.budget import Cost, selection_epsilon
from hedgerow.queries.number_sums import numbers
from hedgerow.queries.query import Norms
from hedgerow.queries.strategies.strategy import ResidualStrategy
from hedgerow.queries.workload import Workload, marginals
from hedgerow.synopsis.learned import Learned

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.statistics.distances import TableDistances
    from hedgerow.mechanisms.account import Purse
    from hedgerow.mechanisms.adaptive.adaptive import AdaptiveRelease
    from hedgerow.mechanisms.adaptive.shares import Shares
    from hedgerow.mechanisms.progress import Progress
    from hedgerow.privacy.event import Event
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.measurement import Measurement

TRUST = 100.0  # departures from a public prior cost at most so much more than from the uniform distribution
MORE, NEARER = 5, 0.9  # the last fit goes on so often, while its misfit falls to this part
UNDONE, LONGER = 1.0, 5e7  # what is true has a misfit of 1: a fit further off goes on for so many cells
ENOUGH, MOST = 0.15, 0.8  # one-way tables noisier than this part of all rows get more, up to so much of all
SHARP = 0.05  # of all rows: noise of products of one-way tables at which pairs are looked at
CLEAR = 0.04  # with a larger expected error triples are better read from their pairs than measured
KNOWN = 8.0  # times better than triples: then more of pairs is worth nothing
ALL = 2.0  # times what is expected of measuring all: so far off its tables are, on average
FINE = 0.002  # of all rows: where that is less, measuring all is best
WELL = 0.93  # of it: what is expected of choosing has to be less
FIRST, FIRST_TOO = "one-way tables", "one-way tables, for sums of numbers too"  # notes of the first act
AGAIN = "one-way tables again"  # the note of a later one
TRIPLES = 100_000  # that tables are chosen for: of more, for pairs
WORTH = 0.01  # of the price: less is not worth an act


class Run(SelectMeasure):
    """One-way tables, then rounds: what is measured becomes the targets that the hypothesis is fitted to."""

    words = "adaptive release"

    def __init__(
        self,
        purse: Purse,
        domain: Domain,
        workload: Workload,
        settings: AdaptiveRelease,
        watch: Callable[[Progress], None],
    ) -> None:
        super().__init__(purse, domain, workload, watch)
        self.settings = settings
        self.targets: list[Target] = []
        self.numbers_too = bool(numbers(domain)) and self.coming != FIRST  # that one began before there were
        self.sparse = False  # whether a look found that a few pairs say nearly all
        self._slack = 1.0

    def _paid(self, price: Cost, found: Sequence[Measurement] = ()) -> Cost:
        """What was charged, to the last rational: noise on a lattice costs a little less than its price."""
        if len(found) == 1 and isinstance(found[0].strategy, ResidualStrategy):
            moved = self.curator.privacy.sensitivity(found[0].strategy.norms).l2_squared
            return cost_of(events.Gaussian(moved, found[0].noise.scale), price.currency)
        sensitivity = self.curator.privacy.sensitivity(Norms.table())
        acts: list[Event] = [
            events.Laplace(sensitivity.l1, m.noise.scale)
            if m.noise.family == "laplace"
            else events.Gaussian(sensitivity.l2_squared, m.noise.scale)
            for m in found
        ]
        if not found:
            epsilon = selection_epsilon(price, bounded_range=not self.pure)
            acts = [events.PermuteAndFlip(epsilon) if self.pure else events.Exponential(epsilon)]
        return cost_of(acts[0] if len(acts) == 1 else events.Together(tuple(acts)), price.currency)

    # -- learning -----------------------------------------------------------------------------------------

    def fit(
        self,
        hypothesis: FactoredHypothesis,
        iterations: int,
        *,
        guard: bool = True,
        targets: Sequence[Target] | None = None,
    ) -> Fit:
        known = self.targets if targets is None else targets
        return hypothesis.fit_targets(
            known, total=self.total, iterations=iterations, slack=self._slack, guard=guard
        )

    def fit_well(
        self, hypothesis: FactoredHypothesis, iterations: int, targets: Sequence[Target] | None = None
    ) -> None:
        """The last fit goes on, a little at a time, while that brings it nearer to what was measured."""
        misfit = self.fit(hypothesis, 3 * iterations // 4, targets=targets).misfit
        for _ in range(MORE):
            before, misfit = misfit, self.fit(hypothesis, iterations // 4, targets=targets).misfit
            if misfit > NEARER * before:
                break
        if misfit > UNDONE and self.settings.seconds is None:
            most = int(min(3 * iterations, LONGER / hypothesis.beliefs.tree.cells))
            self.fit(hypothesis, most, targets=targets)

    def fit_last(self, hypothesis: FactoredHypothesis, iterations: int) -> None:
        """The last fit where tables are chosen: one-way tables are smoothed where that pays.

        Not before: a choice is known by the estimates that it was made by.
        """
        self.fit_well(hypothesis, iterations, [smoothed(t) for t in combined(self.targets)])

    @property
    def total(self) -> float:
        """The number of rows, public or measured, and at least one."""
        return max(measured_total(self.targets) if self.rows is None else self.rows, 1.0)

    def learn(
        self,
        hypothesis: FactoredHypothesis,
        weights: Sequence[float] | None,
        *,
        everything_too: bool = False,
        sums: bool = False,
        choose: bool = False,
    ) -> tuple[Learned, dict[str, Any]]:
        """START: one-way tables. Then all of the workload at once, or SELECT, MEASURE, FIT in rounds.

        Args:
            hypothesis: what learns.
            weights: how much each block of the workload matters.
            everything_too: whether all of the workload may be measured at once, where that is expected to be
                better than choosing.
            sums: whether that is meant for sums over any levels; then it is done wherever it can be.
            choose: whether it is done for sums only where that is expected to be better, too.
        """
        sets = planning.importance(self.workload, weights)
        names = self.domain.order({a for s in sets for a in s})
        everything = None
        if everything_too:
            everything = Everything.within_reach(self, sets, sums=sums, choose=choose)
        everything = self._begin(hypothesis, names, everything)
        if self.settings.objective == "max":
            return self._learn_all(hypothesis, sets)
        found = None if everything is None else self._all_at_once(hypothesis, everything, names)
        if found is not None:
            return found
        self._more(hypothesis, names)
        from hedgerow.mechanisms.adaptive.choosing import Choosing

        if sums and choose and comb(len(self.domain), 3) <= TRIPLES:  # larger sums are of larger tables
            sets = planning.importance(marginals(self.domain, min(3, len(self.domain))), None)
        return Choosing(self, sets).learn(hypothesis)

    def regained(self, hypothesis: FactoredHypothesis, *, behind: bool = True) -> FactoredHypothesis:
        """What was fitted, with new counts of numbers that a fit without negative cells has displaced."""
        fitted = {a: hypothesis.marginal((a,)) * hypothesis.total for a in self.ones}
        known = {a: FittedCounts(fitted[a], t.counts, t.sigma) for a, t in self.ones.items()}
        margins = regained(self.domain, known, hypothesis.total, behind=behind)
        return hypothesis.brought(margins) if margins else hypothesis

    def _all_at_once(
        self, hypothesis: FactoredHypothesis, everything: Everything, names: tuple[str, ...]
    ) -> tuple[Learned, dict[str, Any]] | None:
        """All of the workload in one act, where that is expected to be best."""
        ways = everything.ways
        for what in ways:
            shares = what.plan()
            if what.suits(shares, whole=hypothesis.whole):
                cost = shares if hypothesis.whole else self._unless_sparse(what, shares)
                found = None if cost is None else self._taken_up(hypothesis, what, cost)
                if cost is None or found is not None:
                    return found
        everything = ways[-1]
        if everything.pairs_only or (everything.sums and everything.choose):
            return None
        self._sharpen(hypothesis, names, everything)
        seen = look(self, self.ones, everything.tables)
        return self._in_one_act(hypothesis, everything, seen) or self._as_before(hypothesis, names)

    def _in_one_act(
        self, hypothesis: FactoredHypothesis, everything: Everything, seen: Look
    ) -> tuple[Learned, dict[str, Any]] | None:
        """All tables or, of triples that would be noisy, the pairs inside them; None if neither suits."""
        limit, shares = seen.limit(everything.usual_limit, everything.wide), everything.plan()
        ways = [(everything, shares, limit)]
        if everything.wide == 3:
            pairs = everything.pairs_inside()
            few = (pairs, pairs.plan(), seen.limit(pairs.usual_limit, 2))
            known = shares.error >= KNOWN * few[1].error  # what is left to learn is in triples
            ways = [(everything, shares, CLEAR if known else min(limit, CLEAR)), few, *ways]
        for what, cost, most in ways:
            if not what.suits(cost, most):
                continue
            left = self._unless_sparse(what, cost)
            if left is None:
                return None
            found = self._taken_up(hypothesis, what, left)
            if found is not None:
                return found
        return None

    def _unless_sparse(self, what: Everything, cost: Shares) -> Shares | None:
        """What measuring all costs, after a look; None where a few pairs say nearly all: they are chosen.

        That is looked at where it may be so: with many attributes, and where noise is more than what a small
        model has wrong. A ledger of before may hold all of the workload in one act, and no such look.
        """
        pairs, attributes = list(what.tables), len(what.sizes)
        every = what.wide == 2 and len(pairs) == attributes * (attributes - 1) // 2
        off = ALL * cost.error
        maybe = every and not what.sums and least(attributes - 1, len(pairs)) < WELL and off >= FINE
        if not maybe or self.coming not in (None, JOINED):
            return cost
        chains = joined(self, self.ones, pairs)
        if chains is None:
            return cost
        self.sparse = chains.chosen(off) < WELL * off
        left = what.plan()
        return None if self.sparse else left if left.strategy is not None else cost

    def _taken_up(
        self, hypothesis: FactoredHypothesis, what: Everything, cost: Shares
    ) -> tuple[Learned, dict[str, Any]] | None:
        """All in one act; None if a ledger of before holds something else there: then that is taken up."""
        before = len(self.measurements)
        try:
            return what.learn(hypothesis, cost)
        except RequestReused:
            if len(self.measurements) > before:
                raise
            self.refused()
            return None

    @property
    def ones(self) -> dict[str, Target]:
        """The one-way tables as they are known by now."""
        ones = [t for t in self.targets if len(t.nodes) == 1 and t.nodes[0][1] == 0]
        return {self.domain.names[t.nodes[0][0]]: t for t in combined(ones)}

    def _sharpen(
        self, hypothesis: FactoredHypothesis, names: tuple[str, ...], everything: Everything
    ) -> None:
        """One-way tables again, until their noise is below what is looked for, or they have their part."""
        blur = blur_of(self.ones, pairs_of(everything.tables), self.total)
        part = min(self.part * (blur / SHARP) ** 2, self.part + self._lacking(self.part))
        if part - self.part >= WORTH:
            self._again(hypothesis, names, part - self.part)

    def _as_before(
        self, hypothesis: FactoredHypothesis, names: tuple[str, ...]
    ) -> tuple[Learned, dict[str, Any]] | None:
        """What a ledger of before may hold: all that is left on one-way tables, as pairs seemed independent.

        It is not done any more. Choosing ends by itself where tables tell little, and what is left goes to
        one-way tables then; but a few pairs that decide about each other are lost in a mean of all.
        """
        if self.coming != AGAIN:
            return None
        try:
            found = self.measure([(a,) for a in names], self.left, self._shares, AGAIN)
        except RequestReused:
            self.refused()
            return None
        self.targets += [hypothesis.target(m) for m in found]
        self.fit_last(hypothesis, 200)
        facts = {"tables": 0, "model_cells": hypothesis.beliefs.tree.cells}
        self.tell(1, 1, self.total, facts["model_cells"])
        learned = Learned(self.regained(hypothesis), tuple(self.measurements), self.spread)
        real = self.domain.order({a for a in names if self.domain[a].size > 1})
        return Farther(self, real, CHOSEN).unlooked(learned), facts

    def glance(self, asked: TableDistances, price: Cost, note: str) -> tuple[NDArray[np.float64], float]:
        """Measure distances, which nothing is fitted to; and the standard deviation of their noise."""
        (found,) = self.curator.measure_all([asked], price, **self._known(note))
        moved = self.curator.privacy.sensitivity(asked.norms).l2_squared
        self.left -= cost_of(events.Gaussian(moved, found.noise.scale), price.currency)
        return np.asarray(found.values, dtype=np.float64), float(found.noise.variance) ** 0.5

    def _begin(
        self, hypothesis: FactoredHypothesis, names: tuple[str, ...], everything: Everything | None
    ) -> Everything | None:
        """START, and what may be measured at once.

        A ledger of before may hold larger first tables where triples are very many, and then their pairs, or
        chosen ones after them: then that is taken up.
        """
        ways = [] if everything is None else everything.ways
        for way in ways:
            try:
                self._start(hypothesis, names, way)
            except RequestReused:
                if not ways[-1].pairs_only:
                    raise
                self.refused()
            else:
                return way
        self._start(hypothesis, names, None)
        return None

    def _start(
        self, hypothesis: FactoredHypothesis, names: tuple[str, ...], everything: Everything | None
    ) -> None:
        """One-way tables, and the resolutions that follow from them."""
        part = (
            self.settings.one_way if self.settings.objective == "mean" else min(0.05, self.settings.one_way)
        )
        part = part if any(len(s) > 1 for s in self.workload.cliques) else 1.0
        shares = one_way_shares(self.domain.shape_of(names))
        if everything is not None:
            spread = {a: share / sum(shares) for a, share in zip(names, shares, strict=True)}
            part = everything.first_part(spread, part)
        self.part, self._shares = part, shares
        price = self.price.share(Fraction(part).limit_denominator(10_000))
        found = self.measure([(a,) for a in names], price, shares, FIRST_TOO if self.numbers_too else FIRST)
        self.targets = [hypothesis.target(m) for m in found]
        self._prepare(hypothesis)

    def _more(self, hypothesis: FactoredHypothesis, names: tuple[str, ...]) -> None:
        """One-way tables again, where they had less than their part or are mostly noise."""
        more = self._lacking(self.part)
        if more >= WORTH:
            self._again(hypothesis, names, more)

    def _again(self, hypothesis: FactoredHypothesis, names: tuple[str, ...], more: float) -> None:
        """One-way tables again, for so much of the price."""
        price = self.price.share(Fraction(more).limit_denominator(10_000))
        found = self.measure([(a,) for a in names], price, self._shares, AGAIN)
        self.targets = combined([*self.targets, *(hypothesis.target(m) for m in found)])
        self.part += more
        self._prepare(hypothesis)

    def _prepare(self, hypothesis: FactoredHypothesis) -> None:
        """Fit what is known of single attributes; what can be told apart of each."""
        self._slack = self._trust(hypothesis) if hypothesis.fixed else 1.0
        self.fit(hypothesis, 50, guard=False)
        hypothesis.refine(planning.resolutions_of(self.domain.shape, combined(self.targets), self.total))

    def _lacking(self, part: float) -> float:
        """What more of the price one-way tables need: where little is known of them, less is of pairs.

        It is in proportion to the expected L1 noise of a table, as a part of all rows.
        """
        if self.settings.objective == "max" or part >= MOST:
            return 0.0
        usual = max(part, self.settings.one_way)  # noise falls with the root of what is spent
        noise = np.mean([(2.0 / np.pi) ** 0.5 * t.sigma * len(t.counts) for t in self.targets]) / self.total
        noise *= (part / usual) ** (1.0 if self.pure else 0.5)
        return usual * float(np.clip(noise / ENOUGH, 1.0, MOST / usual)) - part

    def _trust(self, hypothesis: FactoredHypothesis) -> float:
        """How well a prior foretold the one-way tables: the inverse of its mean squared relative error."""
        over = under = 0.0
        for t in self.targets:
            expected = self.total * hypothesis.table(t.nodes)
            over += float(((t.counts - expected) ** 2).sum()) - t.sigma**2 * len(t.counts)
            under += float((expected**2).sum())
        return float(np.clip(under / max(over, under / TRUST), 1.0, TRUST))

    def learn_table(self, target: Target, expected: NDArray[np.float64]) -> None:
        """Keep a measured table, and how far it was from what was expected of it."""
        self.surprised(target.counts, expected, target.sigma)
        self.targets.append(target)

    def _learn_all(
        self, hypothesis: FactoredHypothesis, sets: dict[tuple[str, ...], float]
    ) -> tuple[Learned, dict[str, Any]]:
        """`max`: every table of the workload is measured in full; choosing what to fit is then free."""
        from hedgerow.mechanisms.adaptive.maximum import fit_measured

        wanted = [s for s in sets if len(s) > 1]
        if wanted:
            self.measure(wanted, self.left, None, "all tables of the workload")
        ones = len(self.measurements) - len(wanted)
        cells = fit_measured(self, hypothesis, [hypothesis.target(m) for m in self.measurements[ones:]])
        self.tell(len(wanted), len(wanted), self.total, cells)
        facts = {"tables": len(wanted), "model_cells": cells}
        better = self.regained(hypothesis)
        return Learned(better, tuple(self.measurements), self.spread, corrected=True), facts
