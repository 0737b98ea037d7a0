"""Many tables of a dense hypothesis at once: read off a few larger tables that cover them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.queries.covering import cover

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.learning.dense.dense import DenseHypothesis

Names = tuple[str, ...]
Places = tuple[int, ...]
Step = tuple[Places, list[tuple[Places, Places]]]

_MIDDLE = 1 << 8  # tables are summed from tables of about so many cells, and those from larger ones


def tables_of(hypothesis: DenseHypothesis, cliques: Sequence[Names]) -> dict[Names, NDArray[np.float64]]:
    """The tables of attribute sets in the domain's order; each sums to 1.

    >>> from hedgerow.learning.dense.dense import DenseHypothesis
    >>> from hedgerow.queries.domain.domain import Domain
    >>> tables_of(DenseHypothesis(Domain({"a": 2, "b": 4})), [("a",)])[("a",)]
    array([0.5, 0.5])
    """
    domain = hypothesis.domain
    wanted = tuple(tuple(domain.index(a) for a in names) for names in dict.fromkeys(cliques))
    found = {}
    for whole, middles in _plan(domain.shape, wanted):
        large = hypothesis.marginal([domain.names[i] for i in whole])
        for out, parts in middles:
            middle = large.sum(axis=out)
            for places, rest in parts:
                found[tuple(domain.names[i] for i in places)] = np.asarray(middle.sum(axis=rest))
    return found


@lru_cache(maxsize=16)
def _plan(shape: tuple[int, ...], cliques: tuple[Places, ...]) -> list[tuple[Places, list[Step]]]:
    """Covering sets; of each, what to sum out for smaller ones; of each of those, what for the tables."""
    larges = cover(cliques, shape)
    plan = []
    left = list(cliques)
    for large in larges:
        own, left = _parted(left, large)
        steps: list[Step] = []
        for middle in cover(own, shape, _MIDDLE):
            here, own = _parted(own, middle)
            steps.append((_without(large, middle), [(c, _without(middle, c)) for c in here]))
        plan.append((large, steps))
    return plan


def _parted(sets: list[Places], whole: Places) -> tuple[list[Places], list[Places]]:
    """The sets inside a larger one, and the others."""
    inside = set(whole)
    here = [s for s in sets if inside.issuperset(s)]
    return here, [s for s in sets if not inside.issuperset(s)]


def _without(whole: Places, kept: Places) -> Places:
    """The axes of a table that are summed out."""
    return tuple(i for i, a in enumerate(whole) if a not in kept)
