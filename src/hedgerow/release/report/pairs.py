"""Pairs of attributes: how strongly they hang together in what was released, and which a page shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from hedgerow.release.report.views import View, views_of

if TYPE_CHECKING:
    from hedgerow.synopsis import Synopsis

_PAIR_CELLS = 600
_ALL_CELLS = 12_000
_LOOKED_AT = 1_500  # tables, the smallest first
_FEW = 12  # attributes, which stay in the order of the schema

Pair = tuple[str, str]


@dataclass(frozen=True)
class Pairs:
    """Which pairs a page shows, and what is known of the others.

    Tables are chosen by how strongly they hang together, a function of what was released. Error bars of
    numbers that were chosen by looking at them have to be wider: R of m tables are shown at the confidence
    1 - (1 - confidence) R / m, so that on average no larger part of the bars misses than was said (the false
    coverage rate of Benjamini and Yekutieli 2005, Thm 1, for independent errors).

    Args:
        shown: the tables with room, strongest first.
        strengths: of every pair that was looked at, shown or not.
        confidence: of the bars of what is shown.
        names: the attributes of pairs, those that hang together side by side.
        total: how many pairs of attributes there are.
    """

    shown: list[View]
    strengths: dict[Pair, float]
    confidence: float
    names: tuple[str, ...]
    total: int

    @classmethod
    def of(cls, synopsis: Synopsis, confidence: float) -> Pairs:
        """Look at all pairs that are small enough, and keep the strongest while they fit on a page."""
        domain = synopsis.domain
        every = sorted(combinations(domain.names, 2), key=domain.cells)
        some = [p for p in every if domain.cells(p) <= _PAIR_CELLS][:_LOOKED_AT]
        found = views_of(synopsis, list(some), confidence, _PAIR_CELLS)
        ranked = sorted(((v.association, v) for v in found), key=lambda one: -one[0])
        strengths = {(v.attributes[0], v.attributes[1]): strength for strength, v in ranked}
        kept, cells = [], 0
        for _, view in ranked:
            if cells + view.values.size <= _ALL_CELLS:
                kept.append(view)
                cells += view.values.size
        if len(kept) < len(found):
            confidence = 1.0 - (1.0 - confidence) * len(kept) / len(found)
            kept = views_of(synopsis, [v.attributes for v in kept], confidence, _PAIR_CELLS)
        names = domain.order(a for pair in strengths for a in pair)
        return cls(kept, strengths, confidence, _side_by_side(names, strengths), len(every))

    @property
    def left_out(self) -> int:
        """How many pairs of attributes have no table on the page."""
        return self.total - len(self.shown)


def _side_by_side(names: Sequence[str], strengths: dict[Pair, float]) -> tuple[str, ...]:
    """Attributes in an order in which each stands beside the one it hangs together with most."""
    if len(names) <= _FEW:
        return tuple(names)
    both = strengths | {(b, a): s for (a, b), s in strengths.items()}
    rest = list(names)
    rest.sort(key=lambda a: -sum(both.get((a, b), 0.0) for b in names))
    order = [rest.pop(0)]
    while rest:
        nearest = max(rest, key=lambda a: both.get((order[-1], a), 0.0))
        rest.remove(nearest)
        order.append(nearest)
    return tuple(order)


def two_way(synopsis: Synopsis, confidence: float) -> list[View]:
    """The tables of pairs that the synopsis can give and a page has room for, strongest first."""
    return Pairs.of(synopsis, confidence).shown
