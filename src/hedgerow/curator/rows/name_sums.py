"""Sums over names: what the curator asks of rows of an open domain, as work that can be divided and added up.

Each is given some names and how many rows carry them, and returns whole numbers; those of all rows are the
sums of those of any parts of them. A sketch is linear in rows, so any parts will do; a square of a count
needs all rows of its name in one part, which `whole` says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.strategies.sketch_matrix import SketchMatrix

_HALF = 32  # bits of the lower part of a number that may be larger than 64 bits hold


class NameSum(Protocol):
    """Something that is summed over rows' names; it can be pickled."""

    whole: ClassVar[bool]
    """Whether all rows of a name have to be in one part."""

    def __call__(self, names: Sequence[str], counts: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """The sums over some rows, always in the same shapes; a name is there once."""
        ...


@dataclass(frozen=True)
class SketchSum:
    """A public matrix of signs times the vector of counts: A (x + y) = A x + A y, in whole numbers.

    Args:
        matrix: the matrix.
    """

    matrix: SketchMatrix
    whole: ClassVar[bool] = False

    def __call__(self, names: Sequence[str], counts: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """One vector."""
        return [self.matrix.apply(names, counts)]


@dataclass(frozen=True)
class AskedNames:
    """How many rows carry each of some names.

    Args:
        asked: the names.
    """

    asked: tuple[str, ...]
    whole: ClassVar[bool] = False

    def __call__(self, names: Sequence[str], counts: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """One count for each."""
        held = dict(zip(names, counts.tolist(), strict=True))
        return [np.array([held.get(name, 0) for name in self.asked], dtype=np.int64)]


@dataclass(frozen=True)
class NamedRows:
    """How many rows there are, whatever they name."""

    whole: ClassVar[bool] = False

    def __call__(self, names: Sequence[str], counts: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """One number."""
        return [np.array(int(counts.sum()), dtype=np.int64)]


@dataclass(frozen=True)
class SquaredCounts:
    """The squares of all names' counts, added up."""

    whole: ClassVar[bool] = True

    def __call__(self, names: Sequence[str], counts: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """The sum in two parts, see `number`: that of 10^10 rows of one name does not fit in 64 bits."""
        total = sum(count * count for count in counts.tolist())
        return [np.array([total >> _HALF, total & ((1 << _HALF) - 1)], dtype=np.int64)]

    @staticmethod
    def number(found: Sequence[NDArray[np.int64]]) -> int:
        """The number of which the sum of parts is given."""
        high, low = found[0].tolist()
        return int((high << _HALF) + low)
