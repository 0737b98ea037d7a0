"""Valued: what a row is worth by its own numbers, not by its bins; Fine: a query that weighs rows so.

A row's number is the middle of its bin and a remainder, both whole numbers of half-steps (`Lattice`). What
SQL sums is base(cell) + the sum of coefficient(cell) x remainder over some attributes, a whole number of
`unit`s for every row. Inside a cell it is affine in the remainders, each of which lies in [-h, h], or has
products of two of them: `most` - base plus |coefficient| h, and |coefficient| h h' for products - bounds what
a row of the cell can weigh. Norms are read off `most`: the columns of several queries have no negative
entries, and each is at most that of its cell, so L1 and L2 norms are at most the envelope's, and those of a
difference of two rows at most twice L1 and twice the square of L2 (`Norms.nonnegative`), whether they are in
one cell or in two.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import DomainMismatch, UnsupportedQuery
from hedgerow.queries.domain.bins import Bins
from hedgerow.queries.domain.refined import Cut
from hedgerow.queries.query import ONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain

    Integers = NDArray[np.int64]

_LARGEST = 1 << 61


@dataclass(frozen=True, eq=False)
class Valued:
    """What rows are worth, in whole units, over the cells of a few attributes; only one sign of it.

    Args:
        attributes: the attributes whose cells it depends on.
        base: what a row in the middle of its bins is worth.
        parts: for some of the attributes, what a half-step away from the middle of the bin adds.
        squares: for some pairs of them, what the product of two such distances adds.
        sign: 1 keeps what is positive, -1 what is negative, turned round; the rest weighs nothing.
        digits: which binary digits of the units are weighed: from which on, and how many.
        step: how many weights of 1/ONE the first of these digits is.
        most: the most that a row of a cell can weigh, in units of 1/ONE.
    """

    attributes: tuple[str, ...]
    base: Integers
    parts: tuple[tuple[str, Integers], ...]
    sign: int
    digits: tuple[int, int]
    step: int
    most: Integers
    squares: tuple[tuple[tuple[str, str], Integers], ...] = ()
    cuts: tuple[Cut, ...] = ()  # `base` and `parts` are over the parts of the bins that these cut

    def __post_init__(self) -> None:
        """Copies that nobody can change: what a row weighs and what it may weigh are read at two times."""
        shape = np.shape(self.most)
        if any(type(cut) is not Cut or cut.attribute not in self.attributes for cut in self.cuts):
            raise UnsupportedQuery("what rows are worth is made by compiling SQL")
        if self.sign not in (1, -1) or not 0 < self.step <= ONE or len(self.attributes) != len(shape):
            raise UnsupportedQuery("what rows are worth is made by compiling SQL")
        fine = fine_shape(self.attributes, shape, self.cuts)
        object.__setattr__(self, "most", _whole(self.most, shape))
        object.__setattr__(self, "base", _whole(self.base, fine))
        object.__setattr__(self, "parts", tuple((str(n), _whole(c, fine)) for n, c in self.parts))
        pairs = tuple(((str(a), str(b)), _whole(c, fine)) for (a, b), c in self.squares)
        object.__setattr__(self, "squares", pairs)
        if self.most.size and not 0 <= int(self.most.min()) <= int(self.most.max()) <= ONE:
            raise UnsupportedQuery("weights must lie between 0 and 1; put the unit into `scale`")

    def check(self, domain: Domain) -> None:
        """Refuse what was made for another domain, before rows meet it."""
        binned = all(isinstance(domain[name], Bins) for name in self.numbers)
        fits = binned and all(cut.fits(domain[cut.attribute]) for cut in self.cuts)
        if not fits or domain.shape_of(self.attributes) != self.most.shape:
            raise DomainMismatch("a query was made for another domain than this one")

    def steps(self, units: Integers) -> Integers:
        """Units as weights in units of 1/ONE, exactly; negative ones weigh nothing."""
        first, many = self.digits
        kept = np.maximum(self.sign * units, 0) >> first
        return np.asarray((kept & ((1 << many) - 1)) * self.step)

    @property
    def numbers(self) -> list[str]:
        """The attributes whose rows' own numbers are read."""
        named = [*(name for name, _ in self.parts), *(name for pair, _ in self.squares for name in pair)]
        return list(dict.fromkeys([*named, *(c.attribute for c in self.cuts)]))

    @cached_property
    def middle(self) -> Integers:
        """What a row in the middle of its bins weighs; in a bin that is cut, what rows do on average."""
        weights = self.steps(self.base)
        if not self.cuts:
            return weights
        even = over(self.attributes, self.cuts, weights.astype(np.float64), Cut.mean)
        return np.asarray(np.minimum(np.rint(even).astype(np.int64), self.most))

    def weigh(self, codes: Mapping[str, NDArray[Any]], remainders: Mapping[str, NDArray[Any]]) -> Integers:
        """The weights of rows, from their codes and remainders; between 0 and `most` of their cells."""
        whole = tuple(codes[a] for a in self.attributes)
        fine, own = dict(codes), dict(remainders)
        for cut in self.cuts:
            fine[cut.attribute], own[cut.attribute] = cut.split(codes[cut.attribute], own[cut.attribute])
        at = tuple(fine[a] for a in self.attributes)
        units = self.base[at]
        for name, coefficient in self.parts:
            units = units + coefficient[at] * own[name].astype(np.int64)
        for (one, other), coefficient in self.squares:
            units = units + coefficient[at] * own[one].astype(np.int64) * own[other].astype(np.int64)
        # whatever was made of the rest, and though it wraps around, the norms hold
        return np.asarray(np.clip(self.steps(units), 0, self.most[whole]))

    @cached_property
    def digest(self) -> str:
        """A fingerprint of what rows are worth."""
        h = hashlib.sha256(repr((self.attributes, self.sign, self.digits, self.step)).encode())
        for name, array in (("", self.base), *self.parts):
            h.update(name.encode() + b"\0" + np.ascontiguousarray(array).tobytes())
        for (one, other), array in self.squares:
            h.update(f"{one}\0{other}\0".encode() + np.ascontiguousarray(array).tobytes())
        for cut in self.cuts:
            h.update(cut.digest)
        return h.hexdigest()


@dataclass(frozen=True, eq=False)
class Fine:
    """The rows that a query weighs, and what each of them is worth.

    Args:
        value: what rows are worth.
        masks: which cells count: a mask for each attribute of the query, or one array over its table.
    """

    value: Valued
    masks: tuple[NDArray[np.bool_], ...]

    def __post_init__(self) -> None:
        """Masks of its own."""
        if type(self.value) is not Valued:
            raise UnsupportedQuery("what rows are worth is made by compiling SQL")
        object.__setattr__(self, "masks", tuple(_frozen_mask(m) for m in self.masks))

    def check(self, attributes: tuple[str, ...], shape: tuple[int, ...]) -> None:
        """Refuse masks and values that are not about the query's table."""
        each = [mask.shape for mask in self.masks]
        fits = each in ([tuple(shape)], [(n,) for n in shape])
        along = tuple(a for a in attributes if a in self.value.attributes)  # so `most` is spread out
        if not fits or along != self.value.attributes:
            raise DomainMismatch("what rows are worth does not fit the query's table")

    def mask(self, attributes: tuple[str, ...], shape: tuple[int, ...]) -> NDArray[np.bool_]:
        """The cells that count, over the query's table."""
        if len(self.masks) == 1 and self.masks[0].shape == tuple(shape):
            return self.masks[0]
        out = np.ones((1,) * len(shape), dtype=np.bool_)
        for axis, mask in enumerate(self.masks):
            out = out & mask.reshape([-1 if i == axis else 1 for i in range(len(shape))])
        return np.broadcast_to(out, shape)

    def most(self, attributes: tuple[str, ...], shape: tuple[int, ...]) -> Integers:
        """The most that a row of each cell can weigh."""
        sizes = dict(zip(self.value.attributes, self.value.most.shape, strict=True))
        spread = self.value.most.reshape([sizes.get(a, 1) for a in attributes])
        return np.where(self.mask(attributes, shape), spread, 0)

    def largest(self, attributes: tuple[str, ...], shape: tuple[int, ...]) -> int:
        """The most that any row can weigh."""
        if len(self.masks) == len(attributes) and len(self.value.attributes) == 1:
            own = attributes.index(self.value.attributes[0])
            if not all(bool(mask.any()) for mask in self.masks):
                return 0
            return int(np.where(self.masks[own], self.value.most, 0).max(initial=0))
        return int(self.most(attributes, shape).max(initial=0))

    @cached_property
    def digest(self) -> bytes:
        """A fingerprint of both."""
        h = hashlib.sha256(self.value.digest.encode())
        for mask in self.masks:
            h.update(np.packbits(mask).tobytes())
        return h.digest()


def _whole(array: Any, shape: tuple[int, ...]) -> Integers:
    copy = np.array(array, dtype=np.int64)
    if copy.shape != shape or np.abs(copy).max(initial=0) > _LARGEST:
        raise UnsupportedQuery("what rows are worth is made by compiling SQL")
    copy.setflags(write=False)
    return copy


def _frozen_mask(mask: Any) -> NDArray[np.bool_]:
    copy = np.array(mask, dtype=np.bool_)
    copy.setflags(write=False)
    return copy


def fine_shape(attributes: tuple[str, ...], shape: tuple[int, ...], cuts: Sequence[Cut]) -> tuple[int, ...]:
    """The shape of a table with the parts of cut bins as levels."""
    sizes = {cut.attribute: cut.size for cut in cuts}
    return tuple(sizes.get(a, n) for a, n in zip(attributes, shape, strict=True))


def over(
    attributes: tuple[str, ...],
    cuts: Sequence[Cut],
    array: NDArray[Any],
    what: Callable[[Cut, NDArray[Any], int], NDArray[Any]],
) -> NDArray[Any]:
    """An array with something done along the axis of every cut."""
    for cut in cuts:
        array = what(cut, array, attributes.index(cut.attribute))
    return array
