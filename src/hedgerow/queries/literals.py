"""Conjunctions of nearly all bits of a row: few rows can meet them, and those are listed, not sought."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import combinations, product
from math import comb
from typing import Literal

from hedgerow.errors import RangeTooLarge, UnsupportedQuery
from hedgerow.queries.argument import whole
from hedgerow.queries.query import ONE, SparseQuery

FREE_LIMIT = 20
"""The most bits that a conjunction may leave open: its support has 2^20 elements."""

_BITS = 1 << 16
Elements = Literal["text", "tuple"]


def literal_conjunction(pattern: str, *, elements: Elements = "text", scale: float = 1.0) -> SparseQuery:
    """The rows of bits that meet a pattern of literals: [BR11] Def. 3.9, with negations.

    With k bits left open the query names 2^k elements, whatever the length of the pattern is (Remark 3.10).

    Args:
        pattern: one character per bit: `1`, `0`, or `*` for a bit that does not matter.
        elements: rows are written as text ("011") or as tuples ((0, 1, 1)).
        scale: the map to the user's unit.

    >>> sorted(literal_conjunction("1*0").weights)
    ['100', '110']
    >>> len(literal_conjunction("1" * 54 + "*" * 10).weights)
    1024
    """
    if not isinstance(pattern, str) or not pattern or set(pattern) - set("01*"):
        raise UnsupportedQuery("a conjunction of literals is written with the characters 0, 1 and *")
    if elements not in ("text", "tuple"):
        raise UnsupportedQuery("elements are written as 'text' or as 'tuple'")
    free = [i for i, c in enumerate(pattern) if c == "*"]
    if len(free) > FREE_LIMIT:
        raise RangeTooLarge(f"the conjunction leaves {len(free)} bits open, more than {FREE_LIMIT}")
    bits = list(pattern)
    support: dict[Hashable, int] = {}
    for choice in product("01", repeat=len(free)):
        for place, bit in zip(free, choice, strict=True):
            bits[place] = bit
        support["".join(bits) if elements == "text" else tuple(map(int, bits))] = ONE
    return SparseQuery(support, scale=scale, name=pattern)


def literal_conjunctions(bits: int, free: int, *, elements: Elements = "text") -> Iterator[SparseQuery]:
    """All conjunctions of `bits - free` positive literals out of `bits`, one by one: C_(d-k) of [BR11].

    Args:
        bits: d, the length of a row.
        free: k, how many bits each conjunction leaves open.
        elements: as in `literal_conjunction`.

    >>> [q.name for q in literal_conjunctions(3, 1)]
    ['*11', '1*1', '11*']
    """
    if whole("the number of open bits", free) > whole("the number of bits", bits, 1, _BITS):
        raise UnsupportedQuery(f"cannot leave {free} of {bits} bits open")
    for places in combinations(range(bits), free):
        yield literal_conjunction(
            "".join("*" if i in places else "1" for i in range(bits)), elements=elements
        )


def conjunction_count(bits: int, free: int) -> int:
    """|C_(d-k)|: how many conjunctions leave `free` of `bits` bits open.

    >>> conjunction_count(64, 10)
    151473214816
    """
    return comb(bits, free)
