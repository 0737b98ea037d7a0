"""Choosing: tables that the model has most wrong are measured in rounds, and at the end looked back at."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import RequestReused
from hedgerow.learning.factored.consistency import combined
from hedgerow.mechanisms.adaptive import plan as planning
from hedgerow.mechanisms.adaptive.again import Again
from hedgerow.mechanisms.adaptive.farther import CHOSEN, Farther
from hedgerow.mechanisms.adaptive.plan import Candidates, Effort, Nodes
from hedgerow.mechanisms.adaptive.rounds import AdaptiveRounds
from hedgerow.mechanisms.adaptive.stopping import Stopping
from hedgerow.mechanisms.mechanism import one_way_shares
from hedgerow.queries.workload import Workload
from hedgerow.synopsis.learned import Learned

if TYPE_CHECKING:
    from hedgerow.learning.factored.factored import FactoredHypothesis
    from hedgerow.mechanisms.adaptive.run import Run
    from hedgerow.queries.measurement import Measurement

AGAIN = "measure again"


class Choosing:
    """The part of a run that chooses.

    Args:
        run: whose price pays for it; one-way tables were measured.
        sets: the workload's attribute sets with their weights.
    """

    def __init__(self, run: Run, sets: dict[tuple[str, ...], float]) -> None:
        self.run_, self.sets = run, sets

    def learn(self, hypothesis: FactoredHypothesis) -> tuple[Learned, dict[str, Any]]:
        """Rounds, but for what a look at pairs and triples may cost; then that look, for their bars.

        A ledger of before may hold the first act of the rounds at its whole price: then that is taken up, on
        a model that was not touched.
        """
        run, domain = self.run_, self.run_.domain
        names = domain.order({a for s in self.sets for a in s if domain[a].size > 1})
        farther = Farther(run, names, CHOSEN)
        price, whole, before = farther.price, run.left, run.acts
        if price.amount == 0:
            return self._unlooked(farther, *self._in_rounds(hypothesis))
        resumed = run.begun
        run.left -= price
        try:
            learned, facts = self._in_rounds(deepcopy(hypothesis) if resumed else hypothesis)
        except RequestReused:
            if not resumed or run.acts > before + 1:
                raise
            run.refused()
            run.left = whole
            return self._unlooked(farther, *self._in_rounds(hypothesis))
        run.left += price

        def as_before() -> Learned:
            return replace(learned, hypothesis=run.regained(self._fitted, behind=False))

        return farther.looked(learned, as_before), facts

    @staticmethod
    def _unlooked(
        farther: Farther, learned: Learned, facts: dict[str, Any]
    ) -> tuple[Learned, dict[str, Any]]:
        """With what is usual of pairs, where none was chosen: those that were tell more of the others."""
        return learned if facts["tables"] else farther.unlooked(learned), facts

    def _in_rounds(self, hypothesis: FactoredHypothesis) -> tuple[Learned, dict[str, Any]]:
        """SELECT, MEASURE, FIT, as often as what is left allows."""
        run = self.run_
        effort, candidates = self._plan(hypothesis)
        rounds = AdaptiveRounds(run, hypothesis, effort, candidates, Stopping(run, self.sets))
        done = rounds.run()
        # Nothing more to choose, or nothing more to learn: measure again what is known.
        if run.left.amount * 1000 > run.price.amount:
            self._refresh(hypothesis, candidates, rounds.chosen)
        run.fit_last(hypothesis, effort.last)
        self._fitted = hypothesis
        facts = {"tables": len(rounds.chosen), "model_cells": hypothesis.beliefs.tree.cells}
        run.tell(done, done, run.total, facts["model_cells"])
        return Learned(run.regained(hypothesis), tuple(run.measurements), run.spread), facts

    def _plan(self, hypothesis: FactoredHypothesis) -> tuple[Effort, Candidates]:
        """Effort and candidates from the signal: rows in units of the noise of one table."""
        run, sets = self.run_, self.sets
        typical = planning.typical_measurements(len({a for s in sets for a in s}))
        signal = run.total / run.noise(run.step_price(typical)[1])[1]
        asked = run.settings
        effort = Effort.of(
            len({a for s in sets for a in s}),
            signal,
            asked.seconds,
            asked.cells,
            asked.most_cells or np.inf,
            run.domain.size,
        )
        if asked.measurements is not None:
            effort = effort.with_measurements(asked.measurements)
        noise = run.noise(run.step_price(effort.measurements)[1])[0]
        room = planning.LOOKED_AT if asked.memory is None else asked.memory * 1e6 / planning.LOOKED_AT_BYTES
        found = Candidates.of(run.domain, hypothesis.resolutions, sets, noise, run.total, room)
        return effort, found

    def _refresh(self, hypothesis: FactoredHypothesis, candidates: Candidates, chosen: list[Nodes]) -> None:
        """Spend what is left on one-way tables and those that were chosen, where it takes most noise away.

        A ledger of before may hold another division, or all on the chosen tables: then that is taken up.
        """
        run, names = self.run_, self.run_.domain.names
        known = {t.nodes: t for t in combined(run.targets) if len(t.nodes) == 1 or t.nodes in set(chosen)}
        again = Again(run, self.sets, hypothesis.resolutions, known)
        for shares in (again.shares, again.shares_before):
            kept = [(nodes, share) for nodes, share in zip(known, shares(), strict=True) if share > 0]
            asked = [
                (names[nodes[0][0]],) if len(nodes) == 1 else Workload([candidates.block(nodes)])
                for nodes, _ in kept
            ]
            try:
                found = run.measure(asked, run.left, [share for _, share in kept], AGAIN)
                break
            except RequestReused:
                run.refused()
        else:
            found = self._as_before(candidates, chosen)
        run.targets += [hypothesis.target(m) for m in found]

    def _as_before(self, candidates: Candidates, chosen: list[Nodes]) -> list[Measurement]:
        """What is left on the tables that were chosen already, or else on the one-way tables."""
        run = self.run_
        ones = list(dict.fromkeys(m.attributes for m in run.measurements if m.workload is None))
        blocks = [Workload([candidates.block(n)]) for n in chosen]
        sizes = [candidates.resolutions.cells(n) for n in chosen] or [run.domain.cells(a) for a in ones]
        return run.measure(blocks or ones, run.left, one_way_shares(sizes), AGAIN)
