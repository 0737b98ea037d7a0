"""Result: the rows that a question returns, each number with how far off it may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


_ENDLESS = (
    "{!r} has no bound in {:,} of {:,} rows: by what was released there may be nobody in those groups, and "
    "the number says nothing; HAVING COUNT(*) >= 50, or as many as are large here, leaves such groups out."
)


@dataclass(frozen=True)
class Show:
    """One output column: a group column or an aggregate, by its index, under the name SELECT gives it."""

    name: str
    index: int
    aggregate: bool


@dataclass(frozen=True, eq=False)
class Result:
    """The rows a question returns: labels of groups, values and error bounds of aggregates.

    NaN stands for SQL's NULL: a ratio whose denominator is not positive.

    Args:
        columns: the output columns' names.
        groups: per row the labels of the GROUP BY columns, in their order.
        values: one row per group, one column per aggregate.
        errors: half-widths, of the same shape.
        confidence: how often each bound holds.
        ranges: two arrays that fit `values`: what each truth is no less and no more than, whatever noise is.
    """

    columns: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    values: NDArray[np.float64]
    errors: NDArray[np.float64]
    confidence: float
    show: tuple[Show, ...] = ()
    grouped: bool = False
    ranges: NDArray[np.float64] | None = None

    def _shaped(self, array: NDArray[np.float64]) -> Any:
        out = array[:, 0] if array.shape[1] == 1 else array
        return out if self.grouped else (float(out[0]) if out.ndim == 1 else out[0])

    @property
    def endless(self) -> tuple[str, ...]:
        """What to say of numbers of groups that have no bound, as notes."""
        open_ = (np.isinf(self.errors) & np.isfinite(self.values)).sum(axis=0)
        if not self.grouped or not open_.any():
            return ()
        shown = ((c.name, int(open_[c.index])) for c in self.show if c.aggregate)
        return tuple(_ENDLESS.format(name, many, len(self.values)) for name, many in shown if many)

    @property
    def value(self) -> Any:
        """The value: a float, an array over several aggregates, over groups, or over (groups, aggregates)."""
        return self._shaped(self.values)

    @property
    def error(self) -> Any:
        """The error bound, in the shape of `value`."""
        return self._shaped(self.errors)

    @property
    def ends(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Where each truth may begin and end: the value less and more its error, within its range."""
        low, high = self.values - self.errors, self.values + self.errors
        if self.ranges is None:
            return low, high
        known = np.isfinite(self.errors)  # else there may be no number
        least, most = self.ranges
        return np.where(known, np.maximum(low, least), low), np.where(known, np.minimum(high, most), high)

    @property
    def low(self) -> Any:
        """Where the truth may begin, in the shape of `value`."""
        return self._shaped(self.ends[0])

    @property
    def high(self) -> Any:
        """Where the truth may end, in the shape of `value`."""
        return self._shaped(self.ends[1])

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """The rows as SELECT orders their columns: labels and values."""
        return [
            tuple(float(values[c.index]) if c.aggregate else labels[c.index] for c in self.show)
            for labels, values in zip(self.groups, self.values, strict=True)
        ]

    def __len__(self) -> int:
        return len(self.groups)
