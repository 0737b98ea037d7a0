"""Pooled: a table by all that was measured of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import hypot, inf, prod, sqrt
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.queries.domain.bins import Bins, Dates
from hedgerow.synopsis.measured_bars import measured_bar

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.attribute import Attribute
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.measurement import Measurement

    Floats = NDArray[np.float64]
    Names = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Pooled:
    """A table by all that was measured of it, and the variance of each cell.

    Args:
        counts: the mean of its own tables and of sums of larger ones, by inverse variance.
        variance: of each.
        numbers: of the table of a number, what its bins are worth; the levels behind them are no bins.
    """

    counts: Floats
    variance: float
    numbers: tuple[float, ...] = ()

    @classmethod
    def of(
        cls, measurements: Iterable[Measurement], names: Names, numbers: tuple[float, ...] = ()
    ) -> Pooled | None:
        """By tables that hold these attributes; None if there is none."""
        precision = 0.0
        total: Floats | None = None
        for m in measurements:
            if m.workload is not None or not set(names) <= set(m.attributes):
                continue
            out = tuple(i for i, a in enumerate(m.attributes) if a not in names)
            added = prod(m.counts.shape[i] for i in out)
            weight = 1.0 / max(m.noise.variance * added, 1e-4)
            part = weight * m.counts.sum(axis=out)
            total = part if total is None else total + part
            precision += weight
        return None if total is None else cls(total / precision, 1.0 / precision, numbers)

    @property
    def there(self) -> Floats:
        """Weights that count the rows that have the number."""
        return (np.arange(self.counts.size) < len(self.numbers)).astype(np.float64)

    @property
    def trend(self) -> Floats:
        """Weights of its sum that sum to nothing over its bins."""
        out = np.zeros(self.counts.size)
        out[: len(self.numbers)] = np.array(self.numbers) - np.mean(self.numbers)
        return out

    def sums(self, weights: Floats) -> bool:
        """Whether weights are a + b times the number where there is one, b not 0: of sums and averages.

        >>> import numpy as np
        >>> pooled = Pooled(np.array([3.0, 1.0, 2.0, 5.0]), 4.0, (10.0, 20.0, 40.0))
        >>> [pooled.sums(np.array(w)) for w in ([1, 2, 4, 0], [1, 1, 1, 0], [1, 2, 0, 0])]
        [True, False, False]
        """
        bins, trend = weights[: len(self.numbers)], self.trend[: len(self.numbers)]
        if not trend.any() or weights[len(self.numbers) :].any():
            return False
        slope = float(bins @ trend) / float(trend @ trend)
        near = 1e-9 * float(np.abs(bins).max())
        return abs(slope) * float(np.ptp(trend)) > near and bool(
            (np.abs(bins - bins.mean() - slope * trend) <= near).all()
        )

    def weighted(self, weights: Floats, rows: float, off: float) -> tuple[float, float]:
        """A weighted sum of the bins and its standard deviation, where their number of rows is known besides.

        The mean of the weights counts those rows, of which all tables tell; what is left of the weights sums
        to nothing, and noise that is alike in all cells moves that independently of their sum: least squares.

        Args:
            weights: of all levels.
            rows: how many have the number.
            off: the standard deviation of that.

        >>> import numpy as np
        >>> Pooled(np.array([30.0, 10.0]), 4.0, (0.0, 1.0)).weighted(np.array([1.0, 0.0]), 42.0, 2.0)
        (31.0, 1.7320508075688772)
        """
        bins = weights[: len(self.numbers)]
        mean = float(bins.mean())
        rest = bins - mean
        own = self.variance * float((rest**2).sum())
        return mean * rows + float(rest @ self.counts[: len(bins)]), sqrt(own + (mean * off) ** 2)

    def off(self, table: Floats, weights: Floats, total: float, total_off: float) -> float:
        """The standard deviation of a count that was read off a model: by its distance to what was measured.

        Args:
            table: as it is believed.
            weights: of the cells that are counted.
            total, total_off: the number of rows, which is known better, and its standard deviation.
        """
        mean = float(weights.mean())
        rest = weights - mean
        own = hypot(sqrt(self.variance * float((rest**2).sum())), mean * total_off)
        moved = float((table * weights).sum()) - mean * total - float((rest * self.counts).sum())
        return float(measured_bar(0.0, moved, own, own, counts=False)) if own else inf


@dataclass(frozen=True, eq=False)
class GroupedSum:
    """A sum of a number over rows of some groups: its weights and a table, a row for each group.

    A table without negative cells is displaced where they are many and rows few: a group whose rows are all
    at one end of a number has spurious ones all on the other side. What was measured is not displaced.

    Args:
        weights: of the number's bins, then of the levels behind them.
        rows: as they are believed.
        measured: the same cells, as they were measured.
        variance: of each of those.
    """

    weights: Floats
    rows: Floats
    measured: Floats
    variance: float

    @classmethod
    def of(
        cls,
        domain: Domain,
        names: Names,
        table: Floats,
        weights: Floats,
        known: Callable[[Names], Pooled | None],
    ) -> GroupedSum | None:
        """By the one attribute that weights follow as a number; None if there is none, or nothing measured.

        What was measured is asked for last: of other sums it is not needed.
        """
        for axis, name in enumerate(names):
            values = numbers_of(domain[name])
            if not values:
                continue
            asked = _along(weights, axis)
            there = asked.any(axis=1)
            along = Pooled(asked[0], 0.0, values)
            if there.any() and all(along.sums(w) for w in asked[there]):
                pooled = known(names)
                if pooled is None:
                    return None
                tables = (weights, table, pooled.counts)
                asked, rows, measured = (_along(x, axis)[there][:, : len(values)] for x in tables)
                return cls(asked, rows, measured, pooled.variance)
        return None

    @property
    def means(self) -> Floats:
        """Of every group's weights."""
        return np.asarray(self.weights.mean(axis=1, keepdims=True))

    def weighted(self, off: float) -> tuple[float, float]:
        """The sum and its standard deviation, where the rows of groups are believed, and off by so much.

        What weights are beside their mean sums to nothing in every group: that is as it was measured.
        """
        rest = self.weights - self.means
        value = float(
            (self.means * self.rows.sum(axis=1, keepdims=True)).sum() + (rest * self.measured).sum()
        )
        return value, sqrt(self.variance * float((rest**2).sum()) + off**2)

    @property
    def spilled(self) -> float:
        """How far rows that noise may have put into empty cells move what is believed.

        A cell of fewer rows than its noise may have none. On both sides of a group's mean they cancel.
        """
        mean = (self.rows * self.weights).sum(axis=1, keepdims=True)
        mean = mean / np.maximum(self.rows.sum(axis=1, keepdims=True), 1e-300)
        few = np.where(self.rows < sqrt(self.variance), self.rows, 0.0)
        return abs(float((few * (self.weights - mean)).sum()))


def _along(values: Floats, axis: int) -> Floats:
    """A row for each combination of levels of the other attributes."""
    return np.moveaxis(values, axis, -1).reshape(-1, values.shape[axis])


def numbers_of(body: Attribute) -> tuple[float, ...]:
    """What the bins of a number are worth; nothing of days and other attributes."""
    found = isinstance(body, Bins) and not isinstance(body, Dates)
    return tuple(map(float, body.values)) if found else ()
