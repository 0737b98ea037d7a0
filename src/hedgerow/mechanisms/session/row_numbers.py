"""Numbers: how many rows a session takes there to be, by what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from hedgerow.queries.measurement import Measurement

_NEVER = 1e-15  # how likely there are more rows than `most_rows`


@dataclass(frozen=True)
class Numbers:
    """What a belief says before its hypothesis is asked.

    Args:
        rows: how many rows there are, only where that is public.
        total, total_variance: about how many there are by all that was measured, and that number's variance.
        size, size_variance, most_rows: the same by what was measured first, which a session's accuracies are
            parts of; and a number that the rows do not exceed, infinite if there is none.
        version: how many tables were learned since.
    """

    rows: int | None
    total: float
    total_variance: float
    size: float
    size_variance: float
    most_rows: float
    version: int = 0

    @classmethod
    def first(cls, rows: int | None, total: float, measurements: Sequence[Measurement]) -> Numbers:
        """The numbers as priming leaves them."""
        variance = total_variance(rows, measurements)
        return cls(rows, total, variance, total, variance, _most_rows(rows, measurements))


def public_total(rows: int | None) -> float | None:
    """The number of rows as a fit takes it, where it is public."""
    return None if rows is None else float(max(rows, 1))


def total_variance(rows: int | None, measurements: Sequence[Measurement]) -> float:
    """Of the number of rows, by all that was measured."""
    if rows is not None:
        return 0.0
    sums = [(m.noise.variance, 1 if m.workload else m.values.size) for m in measurements]
    precision = sum(1.0 / max(v * cells, 1e-9) for v, cells in sums)
    return 1.0 / precision if precision else 0.0


def _most_rows(rows: int | None, measurements: Sequence[Measurement]) -> float:
    """A number that the rows do not exceed: public, or measured with its noise; infinite if neither."""
    if rows is not None:
        return float(rows)
    tables = [m for m in measurements if m.is_table]
    if not tables:
        return inf
    m = min(tables, key=lambda m: m.noise.variance * m.values.size)
    if m.noise.family == "gaussian":
        wide = m.noise.half_width(1.0 - _NEVER, np.ones(m.values.size))
    else:
        wide = m.values.size * m.noise.half_width(1.0 - _NEVER, numbers=m.values.size)
    return max(float(m.counts.sum()) + wide, 0.0)
