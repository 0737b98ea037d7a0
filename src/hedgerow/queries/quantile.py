"""Quantiles: where a distribution function that is known at the ends of bins reaches a part of the rows.

The counts of rows up to the end of each bin have half-widths that hold for all bins at once: a band around
the distribution function. The bins in which the band reaches the wanted part are where the quantile can be,
and the error covers them whole: what is known at their ends says nothing of the rows inside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.queries.domain.attribute import Attribute
from hedgerow.queries.domain.bins import Bins

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.within import Opened

    Floats = NDArray[np.float64]
    Masks = list[NDArray[np.bool_]]


@dataclass(frozen=True)
class QuantileOf:
    """A quantile by counts of rows up to the end of each bin, from the lowest bin to all rows with a number.

    Args:
        q: which part of the rows lies below: 0 is the least value, 1 the largest.
        forms: the counts, as indices into a question's forms.
        low, high: the first and the last value of each bin.
        step: the values' step where one of them is wanted (PERCENTILE_DISC), else 0: evenly within a bin.
    """

    q: float
    forms: tuple[int, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    step: float = 0.0

    def read(self, counts: Floats, errors: Floats) -> tuple[Floats, Floats]:
        """Values and errors of all groups, from counts and half-widths with one column for each of them."""
        pairs = [self._one(counts[:, g], errors[:, g]) for g in range(counts.shape[1])]
        return np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs])

    def _one(self, counts: Floats, errors: Floats) -> tuple[float, float]:
        rows, off = float(counts[-1]), float(errors[-1])
        grown = np.maximum.accumulate(np.maximum(counts, 0.0))
        if not rows > off:  # there may be no row at all; if there is one, it is somewhere
            value = (self.low[0] + self.high[-1]) / 2
            if rows > 0.0 and 0.0 < self.q < 1.0:  # what it would be if more were known
                value = self._between(grown, self.q * rows)
            return value, max(value - self.low[0], self.high[-1] - value)
        before, wide = np.concatenate([[0.0], counts[:-1]]), np.concatenate([[0.0], errors[:-1]])
        if self.q in (0.0, 1.0):
            value, low, high = self._end(before, wide, counts, errors)
        else:
            at = self.q * rows
            reached = (
                counts + errors + self.q * off + 1.0 >= at
            )  # one row: between two values it may be either
            begun = before - wide - self.q * off - 1.0 <= at
            low = self.low[int(np.argmax(reached))]
            high = self.high[len(begun) - 1 - int(np.argmax(begun[::-1]))]
            value = self._between(grown, at)
        value = min(max(value, low), high)
        return value, max(value - low, high - value)

    def _between(self, counts: Floats, at: float) -> float:
        """Where the counts reach a number, evenly within a bin."""
        j = min(int(np.searchsorted(counts, at)), len(counts) - 1)
        first = float(counts[j - 1]) if j else 0.0
        part = (at - first) / (float(counts[j]) - first) if counts[j] > first else 0.5
        value = self.low[j] + min(max(part, 0.0), 1.0) * (self.high[j] - self.low[j])
        return round(value / self.step) * self.step if self.step else value

    def _end(
        self, before: Floats, wide: Floats, counts: Floats, errors: Floats
    ) -> tuple[float, float, float]:
        """The least or largest value: between the declared end and a bin that surely has a row or more."""
        rows, off = float(counts[-1]), float(errors[-1])
        if self.q == 0.0:
            sure, seen = counts - errors > 0, counts - errors / 2 > 0
            j, k = int(np.argmax(sure)), int(np.argmax(seen))
            return self.low[k], self.low[0], self.high[j]
        sure, seen = rows - before - (off + wide) > 0, rows - before - (off + wide) / 2 > 0
        j, k = (len(s) - 1 - int(np.argmax(s[::-1])) for s in (sure, seen))
        return self.high[k], self.low[j], self.high[-1]


def counted(
    forms: Sequence[int], values: Floats, errors: Floats, open_: Mapping[int, Opened]
) -> tuple[Floats, Floats]:
    """Some counts of all forms and their half-widths, with what a condition that cuts bins leaves open."""
    picked, wide = values[list(forms)].copy(), errors[list(forms)].copy()
    for at, form in enumerate(forms):
        left = open_.get(form)
        if left is not None:
            picked[at], wide[at] = picked[at] + left.value, left.on(wide[at])
    return picked, wide


def ladder(attribute: Attribute) -> tuple[list[float], list[float], Masks, float]:
    """The first and last values of bins or numbers in order, the levels up to each of them, and the step."""
    if isinstance(attribute, Bins):
        lattice = attribute.lattice
        unit = float(lattice.step)
        low, high = ([float(lattice.step * int(k)) for k in ends] for ends in (lattice.low, lattice.high))
        codes: Sequence[int] = range(len(low))
    else:
        codes = sorted(range(len(attribute.values)), key=lambda code: float(attribute.values[code]))
        low = high = [float(attribute.values[code]) for code in codes]
        unit = 0.0
    masks = []
    mask = np.zeros(attribute.size, dtype=np.bool_)
    for code in codes:
        mask[code] = True
        masks.append(mask.copy())
    return low, high, masks, unit
