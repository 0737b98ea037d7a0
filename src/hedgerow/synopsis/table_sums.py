"""TableSums: what many questions about one table have in common, worked out once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Names = tuple[str, ...]
    Axes = tuple[int, ...]

_LARGEST = 1 << 23  # cells: so many are kept, of all tables


class KeptTables:
    """Tables as they are read off a model, kept for the next question; those of longest ago go first.

    Args:
        make: reads one.
    """

    def __init__(self, make: Callable[[Names], Floats]) -> None:
        self._make = make
        self._kept: dict[Names, Floats] = {}

    def table(self, names: Names) -> Floats:
        """A table; nobody may write to it."""
        found = self._kept.get(names)
        if found is None:
            found = np.asarray(self._make(names)).view()
            found.flags.writeable = False
            if found.size <= _LARGEST:
                room = _LARGEST - found.size
                for first in [*self._kept]:
                    if sum(t.size for t in [*self._kept.values()]) <= room:
                        break
                    self._kept.pop(first, None)
                self._kept[names] = found
        return found


class TableSums:
    """A table, and sums of it along some of its axes.

    Args:
        table: in rows.
    """

    def __init__(self, table: Floats) -> None:
        self.table = table
        self._over: dict[Axes, Floats] = {}

    def over(self, out: Axes) -> Floats:
        """Summed over some axes."""
        found = self._over.get(out)
        if found is None:
            found = self._over[out] = np.asarray(self.table.sum(axis=out))
        return found

    @cached_property
    def total(self) -> float:
        """Of all cells."""
        return float(self.table.sum())


class BoxedWeights:
    """Weights of a table's cells, and the box outside of which all are zero: a group has few cells of many.

    Args:
        array: the weights.
    """

    def __init__(self, array: Floats) -> None:
        self.array = array
        inside, self.box = array, tuple[slice, ...]()
        for axis in range(array.ndim):
            rest = tuple(i for i in range(array.ndim) if i != axis)
            there = np.flatnonzero((inside != 0.0).any(axis=rest))
            ends = slice(int(there[0]), int(there[-1]) + 1) if there.size else slice(0, 0)
            self.box = (*self.box, ends)
            inside = inside[(slice(None),) * axis + (ends,)]
        self.inside = inside

    def counted(self, table: Floats) -> float:
        """The weighted sum of a table's cells."""
        return float((table[self.box] * self.inside).sum())

    @cached_property
    def some(self) -> int:
        """How many are not zero."""
        return int(np.count_nonzero(self.inside))

    @cached_property
    def key(self) -> bytes:
        """The same for the same weights, and for no others."""
        box = repr([(s.start, s.stop) for s in self.box]).encode()
        return blake2b(np.ascontiguousarray(self.inside).tobytes(), key=blake2b(box).digest()).digest()

    def sums(self, table: Floats, out: Axes) -> Floats:
        """A table of the same number of axes times the weights, summed over some axes.

        It may have one level along an axis, which then stands for all.
        """
        box = tuple(s if n > 1 else slice(None) for s, n in zip(self.box, table.shape, strict=True))
        found = (table[box] * self.inside).sum(axis=out)
        kept = [i for i in range(self.array.ndim) if i not in out]
        whole = np.zeros([self.array.shape[i] for i in kept])
        whole[tuple(self.box[i] for i in kept)] = found
        return whole

    @cached_property
    def factors(self) -> tuple[float, list[Floats]] | None:
        """The largest weight, and a factor up to 1 for each attribute whose product the rest is; or None."""
        largest = float(self.inside.max(initial=0.0))
        if largest <= 0.0 or float(self.inside.min(initial=0.0)) < 0.0:
            return None
        axes, made, each = range(self.array.ndim), np.array(largest), []
        for axis in axes:
            f = self.inside.max(axis=tuple(i for i in axes if i != axis)) / largest
            made = np.multiply.outer(made, f)
            each.append(np.zeros(self.array.shape[axis]))
            each[-1][self.box[axis]] = f
        return (largest, each) if np.allclose(made, self.inside, rtol=1e-9, atol=0.0) else None
