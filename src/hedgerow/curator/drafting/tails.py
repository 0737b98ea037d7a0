"""Tails: what a column's far end costs every sum and average of it, for the owner alone.

Noise hides the largest value that a row may have, so a range that a few rows stretch makes sums of all rows
worse. Where it would end if those were clamped, and what that takes from averages, is the owner's to weigh.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

OFF = 40.0
"""Rows: about how far off counts of a release of several columns are at epsilon 1."""

_WORTH = 2.5  # so many times nearer an average must come for a shorter range to be mentioned
_LEAST = 1000  # rows: with fewer nothing is exact


@dataclass(frozen=True)
class Tail:
    """A range, and a shorter one that averages are much better with.

    Args:
        low, high: where the range ends.
        shorter: the end that would do, an edge of the bins.
        upper: whether it is the upper one.
        off: about how far off an average is, at epsilon 1.
        left: about how far off it would be then, without what clamping takes.
        taken: by how much clamping moves the average.
        clamped: which part of the rows it moves.
    """

    low: float
    high: float
    shorter: float
    upper: bool
    off: float
    left: float
    taken: float
    clamped: float

    @classmethod
    def of(cls, edges: Sequence[float], sample: NDArray[np.float64], rows: int) -> Tail | None:
        """Of bins and sorted numbers that stand for so many rows; None if no shorter range is much better."""
        if rows < _LEAST or len(edges) < 4:
            return None
        found = [
            t for upper in (True, False) for e in edges[1:-1] if (t := cls._at(edges, sample, rows, e, upper))
        ]
        best = min(found, key=lambda t: t.left + t.taken, default=None)
        return best if best is not None and _WORTH * (best.left + best.taken) <= best.off else None

    @classmethod
    def _at(
        cls, edges: Sequence[float], sample: NDArray[np.float64], rows: int, end: float, upper: bool
    ) -> Tail | None:
        low, high, middle = edges[0], edges[-1], float(np.median(sample))
        ends = (low, end) if upper else (end, high)
        if not ends[0] <= middle <= ends[1]:
            return None
        beyond = np.maximum(sample - end, 0.0) if upper else np.maximum(end - sample, 0.0)
        off, left = (max(middle - a, b - middle) * OFF / rows for a, b in ((low, high), ends))
        part = float(np.count_nonzero(beyond)) / len(sample)
        return cls(low, high, end, upper, off, left, float(beyond.mean()), part)

    def words(self, name: str) -> str:
        """What the owner should weigh, as the end of a sentence."""
        far, near = (self.high, "last") if self.upper else (self.low, "first")
        return (
            f"few rows reach far towards {far:,g}, and every sum pays for that: AVG({name}) of a release at "
            f"epsilon 1 is about ±{_about(self.off)}; if its {near} edge were {self.shorter:,g}, about "
            f"±{_about(self.left)}, of values clamped to that ({100 * self.clamped:.2g}% of the rows, which "
            f"moves the average by {_about(self.taken)})"
        )


def _about(number: float) -> str:
    """Two digits, without an exponent where that can be read.

    >>> _about(198.4), _about(0.0123)
    ('200', '0.012')
    """
    return f"{float(f'{number:.2g}'):,.12g}"
