"""Lattice: the step of a number, and which of its multiples lie in each bin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import ceil, floor
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import DomainMismatch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

WIDEST = 1 << 30
"""The most steps from one end of a range to the other: twice that, in half-steps, is below 2^31."""
_FARTHEST = 1 << 52
_FINE = 40_000  # about how many steps a range has when none is declared


@dataclass(frozen=True, eq=False)
class Lattice:
    """The whole multiples of a step that lie in each bin, from `low` to `high`, both included.

    A row's value is the multiple nearest to its number, and never leaves the bin that the number falls into.
    So bins do not depend on the step, and a value's distance from the middle of its bin has a bound that the
    schema alone gives. Steps and edges are read as the decimals they are written as: 0.1 is a tenth.

    Args:
        step: the distance of neighbouring values.
        declared: whether the owner declared it; else numbers are rounded to a fine one, which costs `coarse`.
        low, high: the first and the last multiple in each bin.
    """

    step: Fraction
    declared: bool
    low: Integers
    high: Integers

    @classmethod
    def of(cls, edges: Sequence[float], step: float | None) -> Lattice:
        """The lattice of bins; DomainMismatch when a bin holds none of it, or there are too many."""
        ends = [exact(e) for e in edges]
        size = _fine_step(ends) if step is None else exact(step)
        if not fits(ends[0], ends[-1], size):
            raise DomainMismatch(f"the step is too small: a range has {WIDEST:,} steps at most")
        small = max(abs(e) for e in ends) < 1 << 62
        if step is not None and size.denominator == 1 and small and all(e.denominator == 1 for e in ends):
            whole = np.array([int(e) for e in ends], dtype=np.int64)
            first = -(-whole // int(size))
            return cls(size, True, first[:-1], first[1:] - 1)
        low = [ceil(e / size) for e in ends[:-1]]
        if step is None:  # any number up to the next edge may round to it
            high = [max(floor(e / size), a) for e, a in zip(ends[1:], low, strict=True)]
        else:
            high = [ceil(e / size) - 1 for e in ends[1:]]
        return cls(size, step is not None, np.array(low, np.int64), np.array(high, np.int64))

    @property
    def coarse(self) -> float:
        """How far a value may be from its number: nothing with a declared step, which numbers keep to."""
        return 0.0 if self.declared else float(self.step)

    @cached_property
    def centre(self) -> Integers:
        """The middle of each bin, in half-steps."""
        return self.low + self.high

    @cached_property
    def half(self) -> Integers:
        """How far a value can be from the middle of its bin, in half-steps."""
        return self.high - self.low

    @property
    def bins(self) -> NDArray[np.intp]:
        """The bin of every value, from the first to the last; of a declared step."""
        return np.repeat(np.arange(len(self.low)), self.half + 1)

    @cached_property
    def middles(self) -> tuple[float, ...]:
        """The middle of each bin as a number."""
        return tuple(float(self.step * m / 2) for m in self.centre.tolist())

    @cached_property
    def halves(self) -> NDArray[np.float64]:
        """How far a number can be from the middle of its bin: half of the bin, and what rounding takes."""
        return np.array([float(self.step * h / 2) for h in self.half.tolist()]) + self.coarse

    def spell(self, place: int) -> str:
        """A multiple of the step as it is written."""
        return spelled(self.step * place)

    def below(self, bound: Any, *, through: bool) -> int:
        """Where the comparison `< bound` (`<=` if `through`) cuts: the first multiple that fails it."""
        at = exact(bound) / self.step
        return floor(at) + 1 if through else ceil(at)

    def place(self, number: Any) -> int | None:
        """The multiple that a number is, if it is one."""
        at = exact(number) / self.step
        return int(at) if at.denominator == 1 else None

    def nearest(self, number: Any) -> int:
        """The multiple that a number is read as."""
        return round(exact(number) / self.step)

    def values(self, numbers: NDArray[np.float64], codes: NDArray[np.int32]) -> Integers:
        """The rows' values in half-steps from the middles of their bins; 0 where a row is in no bin.

        Floats only choose which multiple is meant; what is chosen is an integer between the bin's ends.
        """
        bins = len(self.low)
        inside = (codes < bins) & ~np.isnan(numbers)
        at = np.where(inside, codes, 0)
        p, q = self.step.numerator, self.step.denominator
        low, high = self.low[at], self.high[at]
        with np.errstate(over="ignore", invalid="ignore"):
            near = np.rint(numbers * float(q) / float(p))
        near = np.clip(np.nan_to_num(near, nan=0.0, posinf=2.0**53, neginf=-(2.0**53)), -(2.0**53), 2.0**53)
        place = np.clip(near.astype(np.int64), low, high)
        out: Integers = np.where(inside, 2 * place - (low + high), 0)
        return out


def fits(low: Fraction, high: Fraction, step: Fraction) -> bool:
    """Whether a range has no more steps than a lattice can, and none that is too far from zero."""
    return max(abs(low), abs(high)) / step <= _FARTHEST and (high - low) / step <= WIDEST


def exact(number: Any) -> Fraction:
    """A number as the decimal that it is written as."""
    if isinstance(number, (float, np.floating)):
        return Fraction(Decimal(repr(float(number))))
    return Fraction(number) if isinstance(number, (Fraction, Decimal)) else Fraction(int(number))


def spelled(number: Fraction) -> str:
    """A fraction as a decimal, without needless digits."""
    if number.denominator == 1:
        return str(number.numerator)
    return f"{Decimal(number.numerator) / Decimal(number.denominator):f}".rstrip("0").rstrip(".")


def _fine_step(ends: Sequence[Fraction]) -> Fraction:
    """A power of ten that makes some million steps of a range, fewer where edges are far from zero."""
    width = max(ends[-1] - ends[0], max(abs(ends[0]), abs(ends[-1])) / (1 << 33))
    step = Fraction(10) ** (len(str(int(width))) - len(str(_FINE)))
    while width / step < _FINE:
        step /= 10
    return step
