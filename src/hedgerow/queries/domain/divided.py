"""Divided: a domain whose `other` levels are divided by what their values are compared with.

Rows of an `other` level have values of which only that is known: that they are none of the declared ones. A
comparison may hold for some of them and not for others. Whoever compiles SQL works on cells in which it holds
for all or for none; what becomes of that on declared cells, which nobody can divide, is `queries/doubts.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.queries.domain.attribute import Attribute
from hedgerow.queries.domain.domain import Domain

if TYPE_CHECKING:
    from numpy.typing import NDArray


class DividedAt(Exception):
    """A comparison divides the `other` level of an attribute at a number (a day is its ordinal)."""

    def __init__(self, attribute: str, declared: Declared, number: Fraction, words: str) -> None:
        super().__init__(words)
        self.attribute, self.declared, self.number, self.words = attribute, declared, number, words

    def same(self, other: DividedAt) -> bool:
        """Whether another one divides the level alike."""
        return (self.attribute, self.number) == (other.attribute, other.number)


@dataclass(frozen=True, eq=False)
class OtherParts:
    """The parts of an attribute's `other` level, of each of which every comparison is known.

    Args:
        code: the level.
        levels: how many levels there are.
        stand_ins: for each part a number of it, None for the first: what is no number meets no comparison.
        numbers: what its values are compared with.
    """

    code: int
    levels: int
    stand_ins: tuple[Fraction | None, ...]
    numbers: tuple[Fraction, ...]

    @classmethod
    def of(cls, body: Attribute, numbers: tuple[Fraction, ...], declared: Declared) -> OtherParts:
        """The parts that some numbers make of what is not declared."""
        assert body.other_code is not None
        ends = sorted({*numbers, *declared.ends})
        between = (declared.none_of(a, b) for a, b in pairwise([None, *ends, None]))
        found = sorted({*ends, *(n for n in between if n is not None)})
        kept = [n for n in found if not declared.holds(n)]
        return cls(body.other_code, body.size, (None, *kept), numbers)

    @property
    def size(self) -> int:
        """How many levels there are with the parts in place of the one."""
        return self.levels + len(self.stand_ins) - 1

    @cached_property
    def parent(self) -> NDArray[np.intp]:
        """The level that each of these is, or is a part of."""
        often = np.ones(self.levels, dtype=np.intp)
        often[self.code] = len(self.stand_ins)
        return np.repeat(np.arange(self.levels), often)

    @property
    def firsts(self) -> NDArray[np.intp]:
        """Where each level begins: of the `other` one the part that meets no comparison."""
        return np.array([*range(self.code + 1), *range(self.code + len(self.stand_ins), self.size)])

    def same(self, array: NDArray[Any], axis: int) -> bool:
        """Whether all parts have the same numbers."""
        mine = np.take(array, range(self.code, self.code + len(self.stand_ins)), axis=axis)
        return bool((mine == np.take(mine, [0], axis=axis)).all())


@dataclass(frozen=True)
class Declared:
    """Which numbers an attribute declares, so that its `other` level holds none of them.

    Args:
        levels: single ones.
        ends: a range, without its end; empty if there is none.
        whole: whether all numbers are whole, as days are.
    """

    levels: frozenset[Fraction] = frozenset()
    ends: tuple[Fraction, ...] = ()
    whole: bool = False

    def holds(self, number: Fraction) -> bool:
        """Whether the `other` level cannot hold it."""
        inside = bool(self.ends) and self.ends[0] <= number < self.ends[-1]
        return inside or number in self.levels or (self.whole and number.denominator > 1)

    def none_of(self, low: Fraction | None, high: Fraction | None) -> Fraction | None:
        """A number between two, either of which may be missing, that the `other` level can hold."""
        for i in range(1, len(self.levels) + 2):
            if low is None or high is None or self.whole:
                found = low + i if low is not None else -i if high is None else high - i
            else:
                found = low + (high - low) / (i + 1)
            if high is not None and found >= high:
                return None
            if not self.holds(Fraction(found)):
                return Fraction(found)
        return None


class Divided(Domain):
    """A domain with the parts of `other` levels as levels; for compiling one statement, and for nothing else.

    Args:
        inner: the domain of which they are.
        parts: of the `other` levels of some attributes.
        said: the comparisons, as they were typed.
    """

    def __init__(self, inner: Domain, parts: Mapping[str, OtherParts], said: tuple[str, ...]) -> None:
        self.inner, self.parts, self.said = inner, dict(parts), said
        super().__init__({n: _divided(b, parts[n]) if n in parts else b for n, b in inner.items()})
        self.lookups, self.tables = inner.lookups, inner.tables

    @classmethod
    def of(cls, inner: Domain, found: Sequence[DividedAt]) -> Divided:
        """With what some comparisons divide."""
        declared = {at.attribute: at.declared for at in found}
        numbers = {name: tuple(at.number for at in found if at.attribute == name) for name in declared}
        parts = {name: OtherParts.of(inner[name], numbers[name], declared[name]) for name in declared}
        return cls(inner, parts, tuple(at.words for at in found))


def _divided(body: Attribute, parts: OtherParts) -> Attribute:
    """The same attribute with more levels than it has, all of which are called `other`."""
    kind = type(body)
    made: Attribute = object.__new__(type(kind.__name__, (kind,), {"size": parts.size}))
    for f in fields(body):  # type: ignore[arg-type]
        object.__setattr__(made, f.name, getattr(body, f.name))
    held = {name: getattr(body, name) for name in ("lattice",) if hasattr(body, name)}
    vars(made).update(held | {"labels": tuple(body.labels[k] for k in parts.parent.tolist())})
    return made
