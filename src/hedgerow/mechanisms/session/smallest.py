"""Smallest: the tables that a snapshot of a session has."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hedgerow.queries.domain.domain import Domain

SMALL = 1 << 16
"""Cells: tables up to here are made and kept; questions about larger ones are answered alone."""
_WRITTEN = 1 << 20  # cells of all, those of few attributes first
_TRIED = 1 << 10  # tables that are looked at for that


def smallest(domain: Domain) -> list[tuple[str, ...]]:
    """The tables of fewest attributes, as many as there is room for."""
    found: list[tuple[str, ...]] = []
    room, tries = _WRITTEN, 0
    for order in range(1, len(domain) + 1):
        for names in combinations(domain.names, order):
            tries += 1
            size = domain.cells(names)
            if tries > _TRIED:
                return found
            if size <= min(room, SMALL):
                found.append(names)
                room -= size
    return found
