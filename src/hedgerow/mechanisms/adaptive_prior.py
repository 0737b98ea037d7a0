"""A public synopsis as the base that an adaptive release starts from."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.errors import DomainMismatch
from hedgerow.learning.factored import FactoredHypothesis

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.synopsis.synopsis import Synopsis

_SMOOTH = 0.5  # rows added to every cell of a prior table, so that nothing is impossible because of it
_PAIR_CELLS = 1 << 16  # larger pair tables of the prior are left out


def hold_prior(hypothesis: FactoredHypothesis, prior: Synopsis) -> None:
    """Multiply the hypothesis by the tree of the prior's strongest pairs [CL68]; fits leave it alone."""
    domain = hypothesis.domain
    if prior.domain != domain:
        raise DomainMismatch("the prior speaks of another domain")
    ones = {a: _share(prior.table((a,))) for a in domain}
    strength: list[tuple[float, str, str, NDArray[np.float64]]] = []
    for a, b in combinations(domain, 2):
        if domain.cells((a, b)) <= _PAIR_CELLS:
            joint = _share(prior.table((a, b)))
            ratio = np.log(joint / np.outer(joint.sum(axis=1), joint.sum(axis=0)))
            strength.append((float((joint * ratio).sum()), a, b, ratio))
    for a, table in ones.items():
        hypothesis.hold(((domain.index(a), 0),), np.log(table))
    joined = {a: {a} for a in domain}
    for _, a, b, ratio in sorted(strength, key=lambda s: (-s[0], s[1], s[2])):
        if joined[a] is not joined[b]:  # Kruskal: the heaviest edge that closes no circle
            both = joined[a] | joined[b]
            joined.update(dict.fromkeys(both, both))
            hypothesis.hold(((domain.index(a), 0), (domain.index(b), 0)), ratio.reshape(-1))


def _share(table: NDArray[np.float64]) -> NDArray[np.float64]:
    smooth = np.maximum(table, 0.0) + _SMOOTH
    return np.asarray(smooth / smooth.sum())
