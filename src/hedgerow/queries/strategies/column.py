"""Column: one attribute's part of a public feature map - which cell a level goes to, and with what factor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.errors import UnsupportedQuery

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

LARGEST_FACTOR = 1 << 10


@dataclass(frozen=True, eq=False)
class Column:
    """A row adds `factors[level]` to the cell `cells[level]` of this column, and to no other of its cells.

    A histogram of an attribute has one cell per group of levels and one factor for all of them; a coordinate
    of a linear model has one cell and a factor for every level.

    Args:
        attribute: whose levels are mapped.
        cells: the cell of every level.
        factors: a whole number between -1024 and 1024 for every level.

    >>> Column("age", [0, 0, 1], [1, 1, 1]).size
    2
    """

    attribute: str
    cells: NDArray[np.int64]
    factors: NDArray[np.int64]

    def __init__(
        self,
        attribute: str,
        cells: Sequence[int] | NDArray[np.int64],
        factors: Sequence[int] | NDArray[np.int64],
    ) -> None:
        """Copy, check and freeze: a sensitivity is read off these numbers."""
        object.__setattr__(self, "attribute", attribute)
        object.__setattr__(self, "cells", whole(cells))
        object.__setattr__(self, "factors", whole(factors))
        if self.cells.ndim != 1 or self.cells.shape != self.factors.shape or not self.cells.size:
            raise UnsupportedQuery("a column has one cell and one factor for every level")
        if int(self.cells.min()) < 0 or int(self.cells.max()) >= self.cells.size:
            raise UnsupportedQuery("a column's cells are numbered from 0, with no more cells than levels")
        if int(np.abs(self.factors).max()) > LARGEST_FACTOR:
            raise UnsupportedQuery(f"a column's factors lie between -{LARGEST_FACTOR} and {LARGEST_FACTOR}")

    @property
    def size(self) -> int:
        """How many cells there are."""
        return int(self.cells.max()) + 1

    @property
    def largest(self) -> int:
        """The most that one row adds to any cell, in absolute value."""
        return int(np.abs(self.factors).max())


def whole(values: object) -> NDArray[np.int64]:
    """A frozen copy of an array of whole numbers that fit 32 bits; anything else is refused."""
    array = np.array(values)
    if array.dtype.kind not in "iub" or (
        array.size and max(abs(int(array.min())), abs(int(array.max()))) >> 31
    ):
        raise UnsupportedQuery("public numbers that meet rows must be whole numbers of moderate size")
    array = array.astype(np.int64)
    array.setflags(write=False)
    return array
