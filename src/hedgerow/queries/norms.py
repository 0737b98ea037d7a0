"""Norms: how far one row can move a linear map."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Norms:
    """How far one row can move a linear map, in lattice steps; sensitivity follows.

    `l1` and `l2_squared` bound one row's column; the `replace_` pair bounds both that and the difference of
    any two columns. With `per_unit` they bound a unit in one row of every group. `Privacy.sensitivity` turns
    them into a sensitivity; nothing else does.
    """

    l1: int
    l2_squared: int
    replace_l1: int
    replace_l2_squared: int
    per_unit: bool = False

    @classmethod
    def people(cls, groups: int) -> Norms:
        """Numbers of distinct units, one for each group: a unit counts once in each group it is in."""
        swapped = groups if groups == 1 else 2 * groups
        return cls(groups, groups, swapped, swapped, per_unit=True)

    @classmethod
    def table(cls) -> Norms:
        """A whole contingency table: a row is in one cell; a swap touches two."""
        return cls(1, 1, 2, 2)

    @classmethod
    def query(cls, largest: int) -> Norms:
        """One query with weights in [0, largest]: adding or swapping a row moves it by at most `largest`."""
        return cls(largest, largest**2, largest, largest**2)

    @classmethod
    def nonnegative(cls, l1: int, l2_squared: int) -> Norms:
        """Columns without negative entries: |a - b|^2 = |a|^2 + |b|^2 - 2ab is at most twice the largest."""
        return cls(l1, l2_squared, 2 * l1, 2 * l2_squared)

    @classmethod
    def signed(cls, l1: int, l2_squared: int) -> Norms:
        """Columns of any sign: |a - b|_2 is at most twice the largest norm, its square four times."""
        return cls(l1, l2_squared, 2 * l1, 4 * l2_squared)
