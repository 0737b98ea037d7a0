"""Refined: a domain some of whose bins are cut, as a statement's comparisons need it; Cut: of one attribute.

Whoever compiles SQL works on cells that no comparison divides. Rows know which part of a bin they are in; who
holds tables does not, and shares a bin out evenly over the values that it can hold.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from hedgerow.errors import CutsBin, DomainMismatch, RangeTooLarge
from hedgerow.queries.domain.bins import Bins
from hedgerow.queries.domain.divided import Divided, DividedAt
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.domain.lattice import Lattice

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

Made = TypeVar("Made")
MOST = 256
"""The most places at which one statement may cut bins."""


class CutAt(Exception):
    """A comparison cuts bins of an attribute before some multiples of its step."""

    def __init__(self, attribute: str, places: tuple[int, ...], refusal: CutsBin) -> None:
        super().__init__(str(refusal))
        self.attribute, self.places, self.refusal = attribute, places, refusal


@dataclass(frozen=True, eq=False)
class Cut:
    """How the bins of an attribute are cut: its levels as runs of finer ones.

    Args:
        attribute: its name.
        whole: the values of the declared bins.
        fine: the values of their parts, in the same order.
        starts: the first part of each level; `other` and missing come after the bins.
    """

    attribute: str
    whole: Lattice
    fine: Lattice
    starts: NDArray[np.intp]

    def __post_init__(self) -> None:
        """Copies of its own, in order: whatever rows hold, no look at a part can fail."""
        for name in ("whole", "fine"):
            lattice = getattr(self, name)
            own = Lattice(lattice.step, lattice.declared, _own(lattice.low), _own(lattice.high))
            object.__setattr__(self, name, own)
        object.__setattr__(self, "starts", _own(self.starts).astype(np.intp))
        bins, parts = len(self.whole.low), len(self.fine.low)
        ends = np.append(self.starts, self.size)
        in_order = ends[0] == 0 and self.levels >= bins and bool((np.diff(ends) > 0).all())
        after = parts + np.arange(self.levels - bins + 1)  # what is in no bin is not cut
        if not in_order or len(self.fine.high) != parts or not (ends[bins:] == after).all():
            raise DomainMismatch("a cut does not fit the bins that it is of")

    @classmethod
    def of(cls, attribute: str, body: Bins, places: tuple[int, ...]) -> Cut:
        """The bins of an attribute, cut before some multiples of its step."""
        whole = body.lattice
        low: list[int] = []
        high: list[int] = []
        first: list[int] = []
        for a, b in zip(whole.low.tolist(), whole.high.tolist(), strict=True):
            starts = [a, *(p for p in places if a < p <= b)]
            first.append(len(low))
            low += starts
            high += [*(s - 1 for s in starts[1:]), b]
        first += range(len(low), len(low) + body.size - len(first))
        ends = (np.array(x, dtype=np.int64) for x in (low, high))
        return cls(attribute, whole, Lattice(whole.step, whole.declared, *ends), np.array(first))

    @property
    def levels(self) -> int:
        """How many levels the attribute has."""
        return len(self.starts)

    @property
    def size(self) -> int:
        """How many finer levels there are."""
        return self.levels + len(self.fine.low) - len(self.whole.low)

    @cached_property
    def parent(self) -> NDArray[np.intp]:
        """The level that each finer one is of."""
        runs = np.diff(np.append(self.starts, self.size))
        return np.repeat(np.arange(self.levels), runs)

    @cached_property
    def shares(self) -> NDArray[np.float64]:
        """What part of a level's values each finer one holds."""
        out = np.ones(self.size)
        bins = len(self.fine.low)
        out[:bins] = (self.fine.half + 1) / (self.whole.half + 1)[self.parent[:bins]]
        return out

    def fits(self, body: Any) -> bool:
        """Whether it is of the bins of an attribute."""
        mine = (self.whole.low, self.whole.high)
        return (
            isinstance(body, Bins)
            and body.size == self.levels
            and body.lattice.step == self.whole.step
            and all(map(np.array_equal, mine, (body.lattice.low, body.lattice.high)))
        )

    def split(self, codes: NDArray[Any], remainders: NDArray[Any]) -> tuple[NDArray[np.intp], Integers]:
        """The finer levels of rows, and how far they are from the middles of those, from what rows keep."""
        bins = len(self.whole.low)
        inside = codes < bins
        at = np.where(inside, codes, 0)
        twice = self.whole.centre[at] + remainders.astype(np.int64)
        found = np.searchsorted(2 * self.fine.low, twice, side="right") - 1
        ends = np.append(self.starts, self.size)
        found = np.clip(found, ends[at], ends[at + 1] - 1)  # a value may end one bin and begin the next
        fine = np.where(inside, found, self.starts[codes])
        return fine, np.where(inside, twice - self.fine.centre[np.where(inside, found, 0)], 0)

    def mean(self, array: NDArray[Any], axis: int) -> NDArray[Any]:
        """Numbers of finer levels as those of levels: what an evenly spread row has."""
        along = self.shares.reshape([-1 if i == axis else 1 for i in range(array.ndim)])
        return np.asarray(np.add.reduceat(array * along, self.starts, axis=axis))

    def largest(self, array: NDArray[Any], axis: int) -> NDArray[Any]:
        """Numbers of finer levels as those of levels: the largest."""
        return np.asarray(np.maximum.reduceat(array, self.starts, axis=axis))

    def spread(self, array: NDArray[Any], axis: int) -> NDArray[Any]:
        """Numbers of levels as those of finer ones."""
        return np.take(array, self.parent, axis=axis)

    def same(self, array: NDArray[Any], axis: int) -> bool:
        """Whether numbers of finer levels are the same within each level."""
        return bool((self.spread(np.take(array, self.starts, axis=axis), axis) == array).all())

    @cached_property
    def digest(self) -> bytes:
        """A fingerprint."""
        h = hashlib.sha256(f"{self.attribute} {self.fine.step} {self.levels}".encode())
        for array in (self.whole.low, self.whole.high, self.fine.low, self.fine.high, self.starts):
            h.update(len(array).to_bytes(8, "big") + array.tobytes())
        return h.digest()


class Refined(Domain):
    """A domain with the parts of cut bins as levels; for compiling one statement, and for nothing else.

    Args:
        coarse: the declared domain.
        places: for some attributes, before which multiples of the step their bins are cut.
        said: what a refusal of these cuts would have said.
    """

    def __init__(
        self, coarse: Domain, places: Mapping[str, tuple[int, ...]], said: tuple[CutsBin, ...]
    ) -> None:
        self.coarse, self.places, self.said = coarse, dict(places), said
        bodies = {name: coarse[name] for name in places}
        self.cuts = {n: Cut.of(n, b, places[n]) for n, b in bodies.items() if isinstance(b, Bins)}
        super().__init__(
            {
                n: _parts(b, self.cuts[n]) if isinstance(b, Bins) and n in self.cuts else b
                for n, b in coarse.items()
            }
        )
        self.lookups, self.tables = coarse.lookups, coarse.tables

    def more(self, cut: CutAt) -> Refined:
        """With one more cut."""
        mine = self.places.get(cut.attribute, ())
        places = self.places | {cut.attribute: tuple(sorted({*mine, *cut.places}))}
        return Refined(self.coarse, places, (*self.said, cut.refusal))


def cutting(domain: Domain, compiled: Callable[[Domain], Made]) -> Made:
    """What a compiler makes of a domain whose bins, and `other` levels, are divided where it asks for it."""
    cells, known = domain, 0
    others: list[DividedAt] = []
    while True:
        try:
            return compiled(Divided.of(cells, others) if others else cells)
        except CutAt as found:
            cut = found
        except DividedAt as found:
            if len(others) == MOST or any(found.same(o) for o in others):
                raise RangeTooLarge(f"{found} and more comparisons with `other` levels than {MOST}") from None
            others.append(found)
            continue
        cells = (cells if isinstance(cells, Refined) else Refined(domain, {}, ())).more(cut)
        before, known = known, sum(map(len, cells.places.values()))
        if not before < known <= MOST:
            raise cut.refusal


def places_inside(lattice: Lattice, places: list[int]) -> tuple[int, ...]:
    """Those of some multiples of a step that have values of one bin on both sides."""
    low, high = lattice.low.tolist(), lattice.high.tolist()
    at = [bisect_right(low, p) - 1 for p in places]
    return tuple(p for p, k in zip(places, at, strict=True) if k >= 0 and low[k] < p <= high[k])


def _own(array: Any) -> Integers:
    copy = np.array(array, dtype=np.int64)
    copy.setflags(write=False)
    return copy


def _parts(body: Bins, cut: Cut) -> Bins:
    """An attribute whose bins are the parts of another's; it is named as that one is."""
    made = object.__new__(type(body))
    given = {f.name: getattr(body, f.name) for f in fields(body)}
    edges = [float(cut.fine.step * k) for k in cut.fine.low.tolist()]
    for k, edge in zip(cut.starts.tolist(), body.edges[:-1], strict=False):
        edges[k] = edge  # numbers without a step may begin between two multiples
    for name, value in given.items():
        object.__setattr__(made, name, value)
    object.__setattr__(made, "edges", (*edges, body.edges[-1]))
    vars(made).update({"lattice": cut.fine, "labels": tuple(body.labels[k] for k in cut.parent.tolist())})
    return made
