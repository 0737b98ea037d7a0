"""Questions that fix nearly all bits of a row: few rows can meet them, and those are listed, not sought."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
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
    return _listed(pattern, lambda ones: True, elements, scale, pattern)


def literal_parity(
    pattern: str, *, even: bool = True, elements: Elements = "text", scale: float = 1.0
) -> SparseQuery:
    """The rows of bits that meet a pattern and have an even (or odd) number of ones among its open bits.

    With k bits left open the query names 2^(k - 1) elements ([BR11] Remark 2.2).

    Args:
        pattern: as in `literal_conjunction`; the parity is that of the bits marked `*`.
        even: which parity.
        elements, scale: as in `literal_conjunction`.

    >>> sorted(literal_parity("1**").weights)
    ['100', '111']
    """
    name = f"parity {pattern}" if even else f"odd parity {pattern}"
    return _listed(pattern, lambda ones: ones % 2 == (0 if even else 1), elements, scale, name)


def literal_disjunction(pattern: str, *, elements: Elements = "text", scale: float = 1.0) -> SparseQuery:
    """The rows of bits that meet a pattern and have a one in at least one of its open bits.

    With k bits left open the query names 2^k - 1 elements ([BR11] Remark 2.2).

    >>> sorted(literal_disjunction("0**").weights)
    ['001', '010', '011']
    """
    return _listed(pattern, lambda ones: ones > 0, elements, scale, f"any of {pattern}")


def _listed(
    pattern: str, wanted: Callable[[int], bool], elements: Elements, scale: float, name: str
) -> SparseQuery:
    """The rows that meet a pattern and whose open bits hold a wanted number of ones."""
    if not isinstance(pattern, str) or not pattern or set(pattern) - set("01*"):
        raise UnsupportedQuery("a pattern of literals is written with the characters 0, 1 and *")
    if elements not in ("text", "tuple"):
        raise UnsupportedQuery("elements are written as 'text' or as 'tuple'")
    free = [i for i, c in enumerate(pattern) if c == "*"]
    if len(free) > FREE_LIMIT:
        raise RangeTooLarge(f"the pattern leaves {len(free)} bits open, more than {FREE_LIMIT}")
    bits = list(pattern)
    support: dict[Hashable, int] = {}
    for choice in product("01", repeat=len(free)):
        if not wanted(choice.count("1")):
            continue
        for place, bit in zip(free, choice, strict=True):
            bits[place] = bit
        support["".join(bits) if elements == "text" else tuple(map(int, bits))] = ONE
    return SparseQuery(support, scale=scale, name=name)


def literal_conjunctions(bits: int, free: int, *, elements: Elements = "text") -> Iterator[SparseQuery]:
    """All conjunctions of `bits - free` positive literals out of `bits`, one by one: C_(d-k) of [BR11].

    Args:
        bits: d, the length of a row.
        free: k, how many bits each conjunction leaves open.
        elements: as in `literal_conjunction`.

    >>> [q.name for q in literal_conjunctions(3, 1)]
    ['*11', '1*1', '11*']
    """
    for pattern in _patterns(bits, free):
        yield literal_conjunction(pattern, elements=elements)


def literal_parities(bits: int, free: int, *, elements: Elements = "text") -> Iterator[SparseQuery]:
    """The even parities of each choice of `free` bits, all others being 1; one by one.

    >>> [sorted(q.weights) for q in literal_parities(2, 1)]
    [['01'], ['10']]
    """
    for pattern in _patterns(bits, free):
        yield literal_parity(pattern, elements=elements)


def literal_disjunctions(bits: int, free: int, *, elements: Elements = "text") -> Iterator[SparseQuery]:
    """The disjunctions of each choice of `free` bits, all others being 1; one by one.

    >>> [len(q.weights) for q in literal_disjunctions(3, 2)]
    [3, 3, 3]
    """
    for pattern in _patterns(bits, free):
        yield literal_disjunction(pattern, elements=elements)


def _patterns(bits: int, free: int) -> Iterator[str]:
    """Every pattern of ones that leaves so many bits open."""
    if whole("the number of open bits", free) > whole("the number of bits", bits, 1, _BITS):
        raise UnsupportedQuery(f"cannot leave {free} of {bits} bits open")
    for places in combinations(range(bits), free):
        yield "".join("*" if i in places else "1" for i in range(bits))


def conjunction_count(bits: int, free: int) -> int:
    """|C_(d-k)|: how many conjunctions leave `free` of `bits` bits open.

    >>> conjunction_count(64, 10)
    151473214816
    """
    return comb(bits, free)
