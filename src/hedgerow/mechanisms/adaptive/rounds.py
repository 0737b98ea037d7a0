"""The rounds of an adaptive release: choose a few tables, measure them, fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hedgerow.curator.statistics.coarse import CoarseErrors
from hedgerow.learning.factored.factored import FactoredHypothesis
from hedgerow.mechanisms.adaptive import plan as planning
from hedgerow.mechanisms.adaptive.plan import Candidates, Effort, Nodes
from hedgerow.mechanisms.adaptive.run import Run
from hedgerow.mechanisms.adaptive.stopping import Found, Stopping
from hedgerow.mechanisms.run import CHOOSE
from hedgerow.privacy.budget import Cost
from hedgerow.queries.workload import Workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

QUIET = 2.0  # tables within so many standard errors of pure noise say that all is learned
LAST = 6  # tables that told little: those that were chosen before are measured again
STALE = 4.0  # a model size is computed again when it may have come this near to the cap


class AdaptiveRounds:
    """SELECT, MEASURE, FIT: several tables are chosen between two fits, over different attributes.

    Args:
        run: whose price pays for them.
        hypothesis: what learns.
        effort: how many tables, at most, and how large a model.
        candidates: what may be chosen.
        stopping: says when one-way tables are worth more than another table.
    """

    def __init__(
        self,
        run: Run,
        hypothesis: FactoredHypothesis,
        effort: Effort,
        candidates: Candidates,
        stopping: Stopping,
    ) -> None:
        self.run_, self.hypothesis, self.effort, self.candidates = run, hypothesis, effort, candidates
        self.chosen: list[Nodes] = []
        self._stopping, self._found = stopping, list[Found]()
        self._alive = np.ones(len(candidates), dtype=np.bool_)
        base = float(hypothesis.beliefs.tree.cells)
        self._cost = candidates.sizes.astype(np.float64) + base if len(candidates) else np.zeros(0)
        self._when = np.full(len(candidates), base)
        self._places = hypothesis.graph.places(candidates.tables)
        sets = int(candidates.set_of.max(initial=0)) + 1
        self._together = min(effort.together, max(1, sets // 8))

    def run(self) -> int:
        """All rounds; how many steps were taken."""
        step, effort, run = 0, self.effort, self.run_
        number = 0
        while step < effort.measurements:
            run.fit(self.hypothesis, effort.iterations, guard=False)
            cells = self.hypothesis.beliefs.tree.cells
            run.tell(step, effort.measurements, run.total, cells)
            self._prune(cells)
            open_ = self._open(number)
            late = step >= effort.measurements // 3
            if not open_.any() or (late and run.quiet(max(3, self._together), QUIET)):
                break
            step += self._round(open_, step)
            number += 1
            if not self._goes_on(effort.measurements - step):
                break
        return step

    def _goes_on(self, steps: int) -> bool:
        """Whether more tables are worth their price; an earlier version may have gone on in any case.

        The next one is taken to be like a quarter of all: a few that told little say little of the others.
        Where a few tables say nearly all, the last ones are compared with what those are worth again.
        """
        late = self._found[-max(3, self.effort.measurements // 4) :]
        if not late or self.run_.coming == CHOOSE:
            return True
        last = self._found[-LAST:]
        sparse = self.run_.sparse and steps > 0 and len(last) == LAST
        again = sparse and self._stopping.again(last, steps)
        return self._stopping.more(late, steps) and not again

    def _prune(self, cells: int) -> None:
        """Give up candidates that would make the model too large; looks only at those near the cap."""
        near = self._alive & (self._cost * (cells / self._when) * STALE > self.effort.cells)
        if near.any():
            self._cost[near] = self.hypothesis.graph.costs(self._places[near], self.effort.cells)
            self._when[near] = cells
            self._alive &= np.isfinite(self._cost)

    def _room_price(self, live: NDArray[np.int64], step: int) -> NDArray[np.float64]:
        """What is taken off the candidates' scores for the room they take, in rows."""
        if self.hypothesis.whole:  # every table fits
            return np.zeros(len(live))
        cells = float(self.hypothesis.beliefs.tree.cells)  # as of the last fit, like the estimates
        growth = self._cost[live] * (cells / self._when[live]) - cells
        return self.hypothesis.total * self.effort.room_price(
            self.candidates.sizes[live], growth, cells, step
        )

    def _open(self, number: int) -> NDArray[np.bool_]:
        """The candidates of a round: all pairs, and a share of the larger sets in turn."""
        higher = np.array([len(t) > 2 for t in self.candidates.tables], dtype=np.bool_)
        turns = -(-int((higher & self._alive).sum()) // planning.HIGHER_AT_ONCE)
        if turns < 2:
            return self._alive.copy()
        place = np.cumsum(higher & self._alive)
        return np.asarray(self._alive & (~higher | (place % turns == number % turns)))

    def _estimates(self, open_: NDArray[np.bool_]) -> dict[int, NDArray[np.float64]]:
        """The hypothesis's tables of all open attribute sets, in rows."""
        found: dict[int, NDArray[np.float64]] = {}
        needed = np.unique(self.candidates.set_of[open_])
        total, step = self.hypothesis.total, self.candidates.resolutions.step
        finest, nodes = self.candidates.finest, self.candidates.nodes
        pairs = [s for s in needed if len(finest[s]) == 2]
        known = {}
        if len(pairs) > len(nodes) * (len(nodes) - 1) / 8:
            known = {(a[0], b[0]): ((a, b), t) for (a, b), t in self.hypothesis.pairs(nodes).items()}
        for s in needed:
            key = tuple(a for a, _ in finest[s])
            if key in known:
                (held, table), cells = known[key], self.candidates.resolutions.cells(finest[s])
                at = step(held, finest[s])
                sums = np.bincount(at, weights=table.reshape(-1), minlength=cells)
                found[int(s)] = total * sums.astype(np.float64, copy=False)
            else:
                found[int(s)] = total * np.ascontiguousarray(self.hypothesis.table(finest[s])).reshape(-1)
        return found

    def _round(self, open_: NDArray[np.bool_], step: int) -> int:
        """Choose and measure a few tables over different attribute sets; how many steps were used."""
        estimates, used = self._estimates(open_), 0
        c, views = self.candidates, self.candidates.views
        while used < self._together and step + used < self.effort.measurements and open_.any():
            left = self.effort.measurements - step - used
            choice, price = self.run_.step_price(left)
            live = np.flatnonzero(open_)
            score = CoarseErrors(
                views,
                live,
                np.concatenate([estimates[int(s)] for s in np.unique(c.set_of[live])]),
                c.weights[live],
                c.penalties[live] + self._room_price(live, step + used),
            )
            index = int(live[self.run_.select(score, choice)])
            open_ &= c.set_of != c.set_of[index]
            used += 1
            fitting = (
                j
                for j in c.coarser(index)
                if self.hypothesis.graph.cost(c.tables[j], self.effort.cells) < np.inf
            )
            pick = next(fitting, None)
            if pick is None:  # the model has grown too much since this candidate was looked at
                self._alive[index] = False
                continue
            self._learn(pick, price if left > 1 else self.run_.left, estimates)
            if not self._goes_on(left - 1):
                break
        return used

    def _learn(self, pick: int, price: Cost, estimates: dict[int, NDArray[np.float64]]) -> None:
        c = self.candidates
        nodes, s = c.tables[pick], int(c.set_of[pick])
        block = c.block(nodes)
        words = " x ".join(block.attributes)
        (found,) = self.run_.measure([Workload([block], name=words)], price, None, words)
        expected = np.bincount(
            c.resolutions.step(c.finest[s], nodes), weights=estimates[s], minlength=len(block)
        )
        target, guess = self.hypothesis.target(found), expected.astype(np.float64, copy=False)
        self.run_.learn_table(target, guess)
        self._found.append(Found.of(target, guess, self.run_.total))
        self.hypothesis.graph.add(nodes)
        if nodes not in self.chosen:
            self.chosen.append(nodes)
