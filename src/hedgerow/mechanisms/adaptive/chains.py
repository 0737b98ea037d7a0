"""Chains: how much of what pairs of attributes have to do with each other goes through a few of them.

Along a chain of normal variables correlations multiply, and two of correlation r are 2 r / pi from
independent. Where the strongest pairs, joined to a tree and a few more, explain all others so, measuring
those few tables tells of all of them, and each gets more of the price than if all were measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import pi, sqrt
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.learning.residuals.basis import Names

    Floats = NDArray[np.float64]

CLEAR, HALF = 0.1, 0.5  # a correlation that chains leave so much of, or so much of its own, is a link too
HANDED_ON = 1.5  # times the noise of the links: in tables that follow from several of them it adds up
ROUNDS = 1.6  # times what the links need: tables that tell nothing are chosen too, and one-way tables again
CRUDE = 0.03  # of how far pairs are from independent: what a small model has wrong of it
STRONGEST = 0.999


@dataclass(frozen=True)
class Chains:
    """Pairs of attributes by what joins them.

    Args:
        links: how many pairs all others are explained by.
        pairs: how many there are in all.
        left: the root mean square over all pairs of what is not explained, as a part of all rows.
        apart: the mean distance of pairs to independence.
    """

    links: int
    pairs: int
    left: float
    apart: float

    @classmethod
    def of(cls, apart: Mapping[Names, float]) -> Chains:
        """From how far every two attributes are from independent, as parts of all rows.

        >>> Chains.of({("a", "b"): 0.5, ("b", "c"): 0.5, ("a", "c"): 0.125})
        Chains(links=2, pairs=3, left=0.0, apart=0.375)
        """
        names = sorted({a for pair in apart for a in pair})
        place = {a: i for i, a in enumerate(names)}
        related = np.zeros((len(names), len(names)))
        for (a, b), far in apart.items():
            value = min(pi / 2.0 * far, STRONGEST)
            related[place[a], place[b]] = related[place[b], place[a]] = value
        links = _tree(related)
        reached = _reached(links)
        for _ in names:  # a few more, where chains leave much
            gap = np.where(links > 0.0, 0.0, related - reached)
            i, j = np.unravel_index(int(np.argmax(gap)), gap.shape)
            if gap[i, j] < max(CLEAR, HALF * related[i, j]):
                break
            links[i, j] = links[j, i] = related[i, j]
            reached = _reached(links)
        above = np.triu_indices(len(names), 1)
        rest = np.where(links > 0.0, 0.0, np.maximum(related - reached, 0.0))[above]
        left = 2.0 / pi * sqrt(float((rest**2).sum()) / max(len(apart), 1))
        number = int((links[above] > 0.0).sum())
        return cls(number, len(apart), left, float(np.mean(list(apart.values()))))

    def chosen(self, error: float) -> float:
        """The mean error that is expected where tables are chosen, if measuring all of them has this one."""
        noise = least(self.links, self.pairs) * error
        return sqrt(noise**2 + self.left**2 + (CRUDE * self.apart) ** 2)


def least(links: int, pairs: int) -> float:
    """The part of the error of measuring all pairs that noise makes where so many are chosen."""
    return HANDED_ON * sqrt(ROUNDS * links / pairs)


def _tree(related: Floats) -> Floats:
    """The tree of the strongest pairs (Prim)."""
    links, size = np.zeros_like(related), len(related)
    best, via, out = related[0].copy(), np.zeros(size, dtype=np.int64), np.ones(size, dtype=np.bool_)
    out[0] = False
    while out.any():
        j = int(np.argmax(np.where(out, best, -1.0)))
        i, out[j] = int(via[j]), False
        links[i, j] = links[j, i] = max(float(related[i, j]), 1e-9)
        nearer = out & (related[j] > best)
        best[nearer], via[nearer] = related[j][nearer], j
    return links


def _reached(links: Floats) -> Floats:
    """The largest product of links along a chain between every two attributes."""
    found = links.copy()
    np.fill_diagonal(found, 1.0)
    for k in range(len(found)):
        np.maximum(found, np.outer(found[:, k], found[k]), out=found)
    return found
