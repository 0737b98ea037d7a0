"""Grouped: what a pair that was measured in groups of levels says of any weighted count of its cells.

A weighted count is one of groups, each with the mean weight that its rows seem to have, and what rows of a
group differ by. The first was measured; the second was not, and is small where groups are runs of a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.synopsis.limits import MeasuredTable
from hedgerow.synopsis.measured_bars import measured_bar

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Names = tuple[str, ...]

RELATED = 0.3  # within a cell of groups: a usual correlation of a number with what rows are grouped by


@dataclass(frozen=True, eq=False)
class GroupedTable:
    """A table that was measured with levels put together.

    Args:
        measured: it, with its attributes in the order in which they are asked for.
    """

    measured: MeasuredTable

    @classmethod
    def of(cls, tables: Iterable[MeasuredTable], attributes: Names) -> list[GroupedTable]:
        """Those of just these attributes that hold fewer groups than levels."""
        found = []
        for t in tables:
            if len(attributes) > 1 and set(t.attributes) == set(attributes) and cls._is_grouped(t):
                axes = [t.attributes.index(a) for a in attributes]
                groups = tuple(t.groups[i] for i in axes)
                found.append(cls(MeasuredTable(attributes, groups, t.counts.transpose(axes), t.noise)))
        return found

    @staticmethod
    def _is_grouped(t: MeasuredTable) -> bool:
        return any(n < len(g) for n, g in zip(t.counts.shape, t.groups, strict=True))

    @cached_property
    def _at(self) -> NDArray[np.int64]:
        """The cell of groups of every cell, flat."""
        shape = self.measured.counts.shape
        return np.ravel_multi_index(np.ix_(*self.measured.groups), shape).reshape(-1)

    def parts(self, table: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """The weights of groups, and what is left of the weights of cells.

        A cell of groups has the mean weight of its rows; one without any that of its cells.
        """
        size = self.measured.counts.size
        rows = np.maximum(table, 0.0).reshape(-1)
        rows = rows + 1e-9 * (rows.sum() / rows.size + 1.0)
        held = np.bincount(self._at, weights=rows, minlength=size)
        means = np.bincount(self._at, weights=rows * weights.reshape(-1), minlength=size) / held
        return means, (weights.reshape(-1) - means[self._at]).reshape(weights.shape)

    def bar(
        self,
        table: Floats,
        weights: Floats,
        confidence: float,
        numbers: int,
        alone: Callable[[int, Floats], float | None],
    ) -> float:
        """How far off the part of a weighted count is that groups tell.

        What a pair's weights of groups have in common along one attribute is a count of the other, which may
        be known better by itself: only the rest is compared with what was measured of the pair.

        Args:
            table: in rows, as it is answered.
            weights: of its cells.
            confidence, numbers: of how many numbers at once it is to hold.
            alone: how far off a weighted count of one attribute is, given by its place; None if not known.
        """
        means = self.parts(table, weights)[0].reshape(self.measured.counts.shape)
        if means.ndim == 2:
            first, second = means.mean(axis=1) - means.mean(), means.mean(axis=0)
            groups = self.measured.groups
            known = [alone(i, each[groups[i]]) for i, each in enumerate((first, second))]
            if known[0] is not None and known[1] is not None:
                both = means - first[:, None] - second
                off = self._off(table, both, confidence, numbers, positive=False)
                return float(np.sqrt(off**2 + known[0] ** 2 + known[1] ** 2))
        return self._off(table, means, confidence, numbers, positive=bool((weights >= 0.0).all()))

    def _off(self, table: Floats, means: Floats, confidence: float, numbers: int, *, positive: bool) -> float:
        """Of a weighted count of groups: by noise, and how far the answer is from what was measured."""
        noise, own = self.measured.noise, means.reshape(-1)
        value = float(table.reshape(-1) @ own[self._at])
        noisy = float(self.measured.counts.reshape(-1) @ own)
        wide = noise.half_width(confidence, own, numbers)
        deviation = float(np.sqrt(noise.variance * (own**2).sum()))
        certain = abs(value - noisy) + wide
        return min(float(measured_bar(value, noisy, deviation, wide, counts=positive)), certain)

    def within(self, table: Floats, weights: Floats) -> float:
        """The standard deviation by how rows of one cell of groups may differ from those of its neighbours.

        In each such cell the weights have a spread, and a correlation with what rows are grouped by moves
        their mean by a part of it; in one cell this way, in another that.
        """
        _, left = self.parts(table, weights)
        rows, size = np.maximum(table, 0.0).reshape(-1), self.measured.counts.size
        squares = np.bincount(self._at, weights=rows * left.reshape(-1) ** 2, minlength=size)
        held = np.bincount(self._at, weights=rows, minlength=size)
        return RELATED * float(np.sqrt((held * squares).sum()))
