"""Stopping: whether one more table is worth its price, or one-way tables are worth more.

Errors of a table that is not measured add up as squares: what attributes have to do with each other, and
noise of their one-way tables. A measured table takes away some of the first in a few tables of the workload;
the same price for one-way tables takes away some of the second in all of them. Where every two attributes
depend on each other a little and noise is large, as in few rankings, the second is more. Where a few tables
say nearly all, as in a ring, their own noise is most of what is left: they are worth more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import comb, pi
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.learning.factored.consistency import combined
from hedgerow.learning.residuals.basis import Names
from hedgerow.mechanisms.adaptive.look import blur_of, pairs_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.learning.factored.consistency import Target
    from hedgerow.mechanisms.adaptive.run import Run

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Found:
    """How far a measured table was from what was expected of it, as parts of all rows.

    Args:
        squared: the squared L1 distance, less that of noise.
        doubt: the standard deviation of that.
        noise: the squared L1 distance that noise has.
    """

    squared: float
    doubt: float
    noise: float

    @classmethod
    def of(cls, target: Target, expected: Floats, total: float) -> Found:
        """From a table, and what was expected."""
        distance = float(np.abs(target.counts - expected).sum()) / total
        noise = (2.0 / pi) ** 0.5 * target.sigma * expected.size / total
        unsure = ((1.0 - 2.0 / pi) * expected.size) ** 0.5 * target.sigma / total
        return cls(distance**2 - noise**2, 2.0 * distance * unsure, noise**2)


class Stopping:
    """What a table and what one-way tables would gain, from released values.

    Args:
        run: whose price pays for them.
        sets: the workload's attribute sets with their weights.
    """

    def __init__(self, run: Run, sets: Mapping[Names, float]) -> None:
        larger = {s: w for s, w in sets.items() if len(s) > 1}
        self._run, self._pairs = run, pairs_of(larger)
        self._attributes = len({a for s in larger for a in s})
        # Noise of one-way tables is in all of the workload, a pair in those tables that hold it.
        all_of_it = sum(w * len(s) / 2.0 for s, w in larger.items())
        each = sum(w * comb(len(s), 2) for s, w in larger.items()) / max(len(self._pairs), 1)
        self._times = all_of_it / each if each else 0.0

    def more(self, late: list[Found], steps: int) -> bool:
        """Whether another table is worth more than one-way tables for the same price.

        A table that is `a` from what is expected, with noise e, brings its pair nearer by a^4 / (a^2 + e^2)
        in squares. Through it, pairs with a common attribute are brought nearer as far as correlation
        goes on: r^2 of that, where two normal variables of correlation r are 2 r / pi from independent. Half
        of all other attributes are so near in a tree that has one in its middle.

        Args:
            late: the tables measured last; the next one is taken to be like them, a standard error farther.
            steps: how many tables the rest of the price is for.
        """
        run, step = self._run, self._step(steps)
        kept = (run.part / (run.part + step)) ** (2.0 if run.pure else 1.0)
        ones = self._times * blur_of(run.ones, self._pairs, run.total) ** 2 * (1.0 - kept)
        return bool(self._gained(late) >= ones)

    def again(self, late: list[Found], steps: int) -> bool:
        """Whether the tables that were chosen are worth more than another one.

        They had a part p of the price, and a step s more takes s / (p + s) off the squares of their noise.

        Args:
            late: the tables measured last, as above.
            steps: how many tables the rest of the price is for.
        """
        run, step = self._run, self._step(steps)
        known = [t for t in combined(run.targets) if len(t.nodes) > 1]
        noise = sum(2.0 / pi * (t.sigma * len(t.counts) / run.total) ** 2 for t in known)
        rest = float(run.left.amount / run.price.amount)
        had = rest * sum((run.noise(run.left)[1] / t.sigma) ** (1.0 if run.pure else 2.0) for t in known)
        left = (had / (had + step)) ** (2.0 if run.pure else 1.0)
        return bool(self._gained(late) < noise * (1.0 - left))

    def _gained(self, late: list[Found]) -> float:
        """By how much another table brings the workload nearer, in squares."""
        unsure = sum(f.doubt**2 for f in late) ** 0.5 / len(late)
        apart = max(float(np.mean([f.squared for f in late])) + unsure, 0.0)
        noise = float(np.mean([f.noise for f in late]))
        reach = 1.0 + max(self._attributes - 2, 0) / 2.0 * min((pi / 2.0) ** 2 * apart, 1.0)
        return float(reach * apart**2 / max(apart + noise, 1e-30))

    def _step(self, steps: int) -> float:
        """The part of the price that a table gets."""
        return float(self._run.left.amount / self._run.price.amount) / max(steps, 1)
