"""LeftOut: which pairs of attributes a question is about that no measured table holds, in words."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Names = tuple[str, ...]
    Pairs = frozenset[frozenset[str]]

_APART = (
    "What {!r} and {!r}{} have to do with each other was not measured: the answer is what the rest tells of "
    "it, and the error allows for what is usual."
)


def pairs_of(sets: Iterable[Names]) -> Pairs:
    """The pairs of attributes in some sets."""
    return frozenset(frozenset(p) for s in sets for p in combinations(s, 2))


def left_out(measured: Pairs, sets: Iterable[Names]) -> tuple[str, ...]:
    """A note about the first pair in some sets that was not measured, and how many others there are.

    >>> left_out(frozenset({frozenset("ab")}), [("a", "b"), ("a", "b", "c")])[0][:60]
    "What 'a' and 'c', and 1 other pair, have to do with each oth"
    """
    pairs = dict.fromkeys(p for s in sets for p in combinations(s, 2) if frozenset(p) not in measured)
    if not pairs:
        return ()
    more = len(pairs) - 1
    others = f", and {more} other pair{'s' if more > 1 else ''}," if more else ""
    return (_APART.format(*next(iter(pairs)), others),)
