"""Places: which variable belongs to which element, for any hashable elements and many lookups at once.

A dict of Python objects is exact, but a lookup in a large one waits for memory several times. So hashes are
looked up first, all of a query's together, in a flat table that one loop reads; only what is found there has
to be compared with the element itself. Elements that were never assigned, the usual case in a large
universe, are told by their hash alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.compiled import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Longs = NDArray[np.int64]

_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: spreads hashes of consecutive numbers


@njit(cache=True, nogil=True)
def _find(keys, held, hashes, shift, out):  # type: ignore[no-untyped-def]
    mask = len(keys) - 1
    for i in range(len(hashes)):
        key = hashes[i]
        slot = np.int64((np.uint64(key) * _MIX) >> shift)
        while held[slot] and keys[slot] != key:
            slot = (slot + 1) & mask
        out[i] = held[slot]


@njit(cache=True, nogil=True)
def _insert(keys, held, hashes, places, shift):  # type: ignore[no-untyped-def]
    mask = len(keys) - 1
    for i in range(len(hashes)):
        slot = np.int64((np.uint64(hashes[i]) * _MIX) >> shift)
        while held[slot] and keys[slot] != hashes[i]:
            slot = (slot + 1) & mask
        if not held[slot]:  # of elements with one hash the first is held, the others are in the dict only
            keys[slot], held[slot] = hashes[i], places[i]


class Places:
    """Elements and their places, 1 and up; an element without one is at place 0.

    >>> places = Places()
    >>> places.add(["oak", ("ash", 2)])
    >>> places.find(("oak", "elm", ("ash", 2)), hashes_of(("oak", "elm", ("ash", 2)))).tolist()
    [1, 0, 2]
    """

    def __init__(self) -> None:
        self._exact: dict[Hashable, int] = {}
        self._names = np.empty(64, dtype=object)  # by place
        self._allocate(64)

    def __len__(self) -> int:
        return len(self._exact)

    def __contains__(self, element: Hashable) -> bool:
        return element in self._exact

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._exact)

    def place(self, element: Hashable) -> int:
        """The place of one element."""
        return self._exact.get(element, 0)

    def find(self, elements: tuple[Hashable, ...], hashes: Longs, before: Longs | None = None) -> Longs:
        """The places of many elements, whose hashes are known.

        Args:
            before: what this said about them earlier: a place is never taken back, and not compared again.
        """
        out = np.empty(len(hashes), dtype=np.int64)
        _find(self._keys, self._held, hashes, self._shift, out)
        new = np.flatnonzero(out if before is None else out != before)
        if not len(new):
            return out
        known = tuple(self._names[out[new]].tolist())
        asked = elements if len(new) == len(out) else tuple(map(elements.__getitem__, new.tolist()))
        if known != asked:  # one hash, two elements
            out[new] = [self._exact.get(e, 0) for e in asked]
        return out

    def add(self, elements: list[Any]) -> None:
        """Give new elements the next places, in order."""
        first, size = len(self) + 1, len(self) + 1 + len(elements)
        if size > len(self._names):
            self._names = np.concatenate([self._names, np.empty(size, dtype=object)])
        for place, element in enumerate(elements, first):  # one by one: an array would unpack tuples
            self._names[place] = element
        self._exact.update(zip(elements, range(first, size), strict=True))
        if 3 * size > len(self._keys):
            self._allocate(8 * size)
            elements, first = list(self._exact), 1
        places = np.arange(first, first + len(elements), dtype=np.int64)
        _insert(self._keys, self._held, hashes_of(elements), places, self._shift)

    def _allocate(self, size: int) -> None:
        bits = max(6, (size - 1).bit_length())
        self._keys = np.zeros(1 << bits, dtype=np.int64)
        self._held = np.zeros(1 << bits, dtype=np.int64)
        self._shift = np.uint64(64 - bits)


def hashes_of(elements: Any) -> Longs:
    """Python's own hashes: equal elements have equal ones."""
    return np.fromiter(map(hash, elements), np.int64, len(elements))
