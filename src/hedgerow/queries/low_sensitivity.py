"""Questions that are no sums over rows, yet that one row moves little: a closed list, each with its proof."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hedgerow.errors import UnsupportedQuery
from hedgerow.queries.query import Norms

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class _OfCounts:
    """A question about the counts of one attribute's levels."""

    attribute: str
    norms: ClassVar[Norms]

    def values(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The answers on tables of counts, levels along the last axis."""
        raise NotImplementedError


@dataclass(frozen=True)
class LargestCount(_OfCounts):
    """How many rows the most frequent level has.

    A row more raises one count by one, and so the largest by at most one; after a swap no count has moved by
    more than one, so neither has the largest.

    >>> LargestCount("tree").values(np.array([4, 9, 2]))
    array(9)
    """

    norms: ClassVar[Norms] = Norms(1, 1, 1, 1)

    def values(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The largest count."""
        return np.asarray(counts.max(axis=-1))


@dataclass(frozen=True)
class LargestGap(_OfCounts):
    """By how many rows the most frequent level leads the second, and at most `clip`.

    A row more raises one count by one. Sorted, the counts change in one place by one, so their first
    difference moves by at most one; clipping moves nothing further. A swap is one of each.

    >>> LargestGap("tree", 100).values(np.array([4, 9, 2]))
    array(5)
    """

    clip: int

    norms: ClassVar[Norms] = Norms(1, 1, 2, 4)

    def __post_init__(self) -> None:
        """The clip is a public whole number."""
        if type(self.clip) is not int or self.clip < 1:
            raise UnsupportedQuery("a gap is clipped at a whole number above 0")

    def values(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The clipped lead."""
        if counts.shape[-1] == 1:
            return np.asarray(np.minimum(counts[..., 0], self.clip))
        ordered = np.sort(counts, axis=-1)
        return np.asarray(np.minimum(ordered[..., -1] - ordered[..., -2], self.clip))


@dataclass(frozen=True)
class LevelsAbove(_OfCounts):
    """How many levels have at least `count` rows.

    A row more takes at most one level over the threshold; a swap takes at most one over it and one below, so
    the number moves by at most one.

    >>> LevelsAbove("tree", 3).values(np.array([4, 9, 2]))
    array(2)
    """

    count: int

    norms: ClassVar[Norms] = Norms(1, 1, 1, 1)

    def __post_init__(self) -> None:
        """The threshold is a public whole number."""
        if type(self.count) is not int or self.count < 1:
            raise UnsupportedQuery("a threshold is a whole number above 0")

    def values(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The number of levels."""
        return np.asarray((counts >= self.count).sum(axis=-1))


LowSensitivity = LargestCount | LargestGap | LevelsAbove
"""What may be asked; sensitivity is read off the class, so the list is closed."""


def is_low_sensitivity(query: object) -> bool:
    """Whether this is one of the questions above, and not a class of somebody else's."""
    return type(query) in (LargestCount, LargestGap, LevelsAbove)
