"""Covering: few larger tables that many small ones can be summed from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log, prod

Clique = tuple[int, ...]

CACHE_CELLS = 1 << 13
"""Tables counted together are merged into larger ones up to this size, which stays in the L2 cache."""


def cover(cliques: Iterable[Clique], sizes: Sequence[int], limit: int = CACHE_CELLS) -> list[Clique]:
    """Few sets of at most `limit` cells that contain all given sets (larger given sets stand alone)."""
    missing = dict.fromkeys(sorted(set(map(tuple, map(sorted, cliques))), key=len, reverse=True))
    covers: list[Clique] = []
    while missing:
        seed = next(iter(missing))
        grown = set(seed)
        while True:
            room = limit // max(1, prod(sizes[c] for c in grown))
            gain: dict[int, int] = {}
            for clique in missing:
                new = set(clique) - grown
                if len(new) == 1 and sizes[next(iter(new))] <= room:
                    c = next(iter(new))
                    gain[c] = gain.get(c, 0) + 1
            if not gain:
                break
            grown.add(max(gain, key=lambda c: (gain[c] / log(sizes[c] + 1.0), -c)))
        covers.append(tuple(sorted(grown)))
        missing = {c: None for c in missing if not set(c) <= grown}
    return covers
