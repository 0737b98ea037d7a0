"""Related: how a number may go together with another attribute, where no table of the two was measured.

A correlation moves all cells of a table a little, the same way along both. Beside what chance does to each
cell no distance of tables shows that, but an average of a number by a range of another adds it all up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Names = tuple[str, ...]

PART = 0.1  # of what is not known of two numbers' table: so much is usually a correlation of them
CHOSEN = 10.0  # by this part of all rows, in deviations of a table's noise: more would have been chosen
USUAL = 0.2  # where none was: a usual correlation


@dataclass(frozen=True)
class Related:
    """Correlations that a number and another attribute may have of which no table was measured.

    What is not known of a table is a spread, in units of what its cells vary by. Where a part of it is one
    pattern, an outer product over both, a weighted count is off by as much as its own weights follow
    that: at most by as many times its own variance as there are cells alike. Two normal variables of a
    correlation r are 2 r / pi of all rows from independent, and the noise of a table of 3 x 3 groups is 7
    deviations: a correlation of 10 deviations is as far as that, and a larger one would have been chosen.
    The constants were chosen on thirty public tables of 10^3 to 10^5 rows.

    Args:
        bins: of every number, how many of its levels are ordered; those without a number come after them.
        most: the largest usual correlation, squared, times all rows.
        known: pairs that were measured, level by level or in groups.
    """

    bins: Mapping[str, int]
    most: float
    known: frozenset[frozenset[str]] = frozenset()

    @classmethod
    def of(
        cls,
        bins: Mapping[str, int],
        rows: float,
        deviation: float | None,
        known: Iterable[Names] = (),
    ) -> Related:
        """By the noise of the tables that were chosen; None if there is none."""
        rows = max(rows, 1.0)
        r = USUAL if deviation is None else min(USUAL, CHOSEN * deviation / rows)
        return cls(bins, r**2 * rows, frozenset(map(frozenset, known)))

    def holds(self, names: Names) -> bool:
        """Whether a set is a number and another attribute that were not measured together."""
        return (
            len(names) == 2 and not self.bins.keys().isdisjoint(names) and frozenset(names) not in self.known
        )

    def more(self, spread: float, cells: float) -> float:
        """What is more of the spread of a weighted count, whose weights are alike in so many cells."""
        return min(PART * spread * cells, self.most)

    def alike(self, name: str, law: Floats, inside: Floats) -> float:
        """In how many levels of an attribute a set of them is alike; 0 if that does not cut a number's bins.

        Args:
            name: the attribute.
            law: its distribution.
            inside: 1 at the levels of the set, 0 at others.
        """
        cut = inside[: self.bins.get(name)] > 0.0
        if cut.all() or not cut.any():
            return 0.0
        chance = float(law @ inside)
        return alike(law * np.where(inside > 0.0, 1.0 - chance, chance) ** 2)


def alike(energy: Floats) -> float:
    """In how many cells weights are alike, by squares of them times how many rows each has."""
    whole = float(energy.sum())
    return float(np.sqrt(energy).sum()) ** 2 / whole if whole > 0.0 else 0.0


NOTHING = Related({}, 0.0)
