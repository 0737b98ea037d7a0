"""InRuns: pairs of a number of many levels and a group are measured in runs of its levels, before all else.

How far single cells are off says little of an average by group: errors of a hundred levels add up. Noise of
single cells says much of it, for the same reason. A few runs of levels hold most of what an average is made
of, at a noise that is lower by the root of how many levels a run has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.errors import RequestReused
from hedgerow.learning.ordered import many, ordered
from hedgerow.learning.residuals.basis import Names
from hedgerow.queries.strategies.coarse import GroupBlock
from hedgerow.queries.workload import Workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.learning.factored.consistency import Target
    from hedgerow.learning.factored.factored import FactoredHypothesis
    from hedgerow.mechanisms.adaptive.run import Run
    from hedgerow.queries.domain.attribute import Attribute

    Floats = NDArray[np.float64]
    Groups = NDArray[np.int64]

NOTE = "pairs of numbers in runs of their levels"
RUNS = 8  # of levels
AIM = 0.05  # of a number's own spread: the standard deviation wanted of its average in a group
FINE = 0.3  # of that: where single levels say so much, they are enough
DEAREST = Fraction(3, 20)  # of the price
PAIRS = 64  # more are not measured so
_SHARE = 1 << 20  # shares are whole numbers of this


@dataclass(frozen=True)
class _Wanted:
    """A pair, and the noise of a cell of it at which averages are as near as they are wanted."""

    pair: Names
    sigma: float


class InRuns:
    """Which pairs are measured in runs, of which levels, and what for.

    All of it follows from the schema and from released one-way tables.

    Args:
        run: whose price pays for it.
        hypothesis: holds every cell; learns of the runs.
        tables: the workload's tables, whose pairs are looked at.
        fine: the deviation that a coordinate of each pair's residual is expected to have level by level.
    """

    def __init__(
        self, run: Run, hypothesis: FactoredHypothesis, tables: Iterable[Names], fine: Mapping[Names, float]
    ) -> None:
        self._run, self._model, self._fine = run, hypothesis, fine
        pairs = dict.fromkeys(p for t in tables for p in combinations(t, 2))
        self._many = {a for p in pairs for a in p if many(run.domain[a])}
        found = [self._wanted(p) for p in pairs if self._many & set(p)]
        self.wanted = [w for w in found if w is not None][:PAIRS]

    def _wanted(self, pair: Names) -> _Wanted | None:
        """What an average by the other attribute's levels needs; None if single levels tell it as well.

        With noise sigma on each of k runs, a group of m rows has an average that is off by sigma sqrt(k) / m
        of the number's spread, if its runs are even.
        """
        run = self._run
        groups = max(self._groups(a) for a in pair) if self._many >= set(pair) else self._others(pair)
        rows = run.total / groups
        levels = max(run.domain[a].size for a in pair if a in self._many)
        if pair in self._fine and self._fine[pair] * levels**0.5 <= FINE * AIM * rows:
            return None
        return _Wanted(pair, AIM * rows / RUNS**0.5)

    def _groups(self, attribute: str) -> int:
        return RUNS if attribute in self._many else self._run.domain[attribute].size

    def _others(self, pair: Names) -> int:
        return max(self._groups(a) for a in pair if a not in self._many)

    def measure(self) -> list[Target]:
        """MEASURE the pairs as grouped tables; none where a ledger of before holds another act there.

        Privacy: a row is in one cell of each grouped table, so each is the discrete Gaussian (or Laplace)
        mechanism at the norms of a table; all are charged together, in `Curator.measure_all`.
        """
        run = self._run
        if not self.wanted:
            return []
        whole = run.noise(run.price)[1]
        power = 1.0 if run.pure else 2.0
        parts = np.array([(whole / w.sigma) ** power for w in self.wanted])
        price = run.price.share(min(DEAREST, Fraction(float(parts.sum())).limit_denominator(10_000)))
        shares = np.maximum(np.rint(_SHARE * parts / parts.sum()), 1.0).astype(np.int64).tolist()
        if price.amount <= 0:
            return []
        runs = {a: runs_of(run.domain[a], *self._known(a)) for a in sorted(self._many)}
        blocks = [Workload([self._block(w.pair, runs)]) for w in self.wanted]
        try:
            found = run.measure(blocks, price, shares, NOTE)
        except RequestReused:
            run.refused()
            return []
        self._learn_of(runs)
        return [self._model.target(m) for m in found]

    def _known(self, attribute: str) -> tuple[Floats, float, float]:
        """What was measured of one attribute: counts, their deviation, all rows."""
        table = self._run.ones[attribute]
        return table.counts, table.sigma, self._run.total

    def _block(self, pair: Names, runs: Mapping[str, Groups]) -> GroupBlock:
        each = tuple(runs.get(a, np.arange(self._run.domain[a].size)) for a in pair)
        return GroupBlock(pair, each)

    def _learn_of(self, runs: Mapping[str, Groups]) -> None:
        """The model's resolutions with these runs in place of others."""
        found = self._model.resolutions.full(self._run.domain.shape)
        for a, groups in runs.items():
            found = found.with_groups(self._run.domain.index(a), groups)
        self._model.refine(found)


def runs_of(body: Attribute, noisy: Floats, sigma: float, total: float) -> Groups:
    """The run of every level: runs are even in the cube root of rows, and what is no number is one more.

    Where values are put together in so many runs, that leaves the least squared distance to the mean of a
    run (Panter and Dite): runs are short where rows are, and long tails still have some.

    Args:
        body: the attribute.
        noisy: its table as it was measured.
        sigma: the standard deviation of each count.
        total: the number of rows.
    """
    bins = len(body.values)
    roots = np.cbrt(np.maximum(ordered(noisy, sigma, total, bins)[:bins], 0.0))
    middle = (np.cumsum(roots) - roots / 2.0) / max(float(roots.sum()), 1e-300)
    group = np.minimum((RUNS * middle).astype(np.int64), RUNS - 1)
    every = np.append(group, np.full(body.size - bins, RUNS, dtype=np.int64))
    return np.asarray(np.unique(every, return_inverse=True)[1], dtype=np.int64)
