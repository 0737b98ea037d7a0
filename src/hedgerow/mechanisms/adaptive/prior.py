"""PublicTables: what is public already, as the base that an adaptive release starts from."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import DomainMismatch
from hedgerow.learning.factored.factored import FactoredHypothesis
from hedgerow.synopsis.synopsis import Synopsis

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain

_SMOOTH = 0.5  # rows added to every cell of a prior table, so that nothing is impossible because of it
_PAIR_CELLS = 1 << 16  # larger pair tables of the prior are left out


class PublicTables:
    """What is known before anything is measured: the one-way and two-way tables of public data."""

    def __init__(self, domain: Domain, table: Callable[[tuple[str, ...]], NDArray[Any]]) -> None:
        self.domain = domain
        self.ones = {a: _share(table((a,))) for a in domain}
        pairs = (p for p in combinations(domain, 2) if domain.cells(p) <= _PAIR_CELLS)
        self.pairs = {p: _share(table(p)) for p in pairs}

    @classmethod
    def of(cls, domain: Domain, prior: Synopsis | Mapping[str, Any]) -> PublicTables:
        """From a synopsis over the same domain, or from columns of public rows."""
        if isinstance(prior, Synopsis):
            if prior.domain != domain:
                raise DomainMismatch("the prior speaks of another domain")
            return cls(domain, prior.table)
        codes = domain.encode(prior)

        def count(names: tuple[str, ...]) -> NDArray[Any]:
            shape = domain.shape_of(names)
            flat = np.ravel_multi_index([codes[a] for a in names], shape)
            return np.bincount(flat, minlength=domain.cells(names)).reshape(shape)

        return cls(domain, count)

    @property
    def digest(self) -> str:
        """A fingerprint of the tables."""
        h = hashlib.sha256()
        for table in (*self.ones.values(), *self.pairs.values()):
            h.update(np.ascontiguousarray(table).tobytes())
        return h.hexdigest()

    def hold(self, hypothesis: FactoredHypothesis) -> None:
        """Multiply a hypothesis by the tree of the strongest pairs [CL68]; fits leave it alone."""
        strength: list[tuple[float, str, str, NDArray[np.float64]]] = []
        for (a, b), joint in self.pairs.items():
            ratio = np.log(joint / np.outer(joint.sum(axis=1), joint.sum(axis=0)))
            strength.append((float((joint * ratio).sum()), a, b, ratio))
        place = self.domain.index
        for a, table in self.ones.items():
            hypothesis.hold(((place(a), 0),), np.log(table))
        joined = {a: {a} for a in self.domain}
        for _, a, b, ratio in sorted(strength, key=lambda s: (-s[0], s[1], s[2])):
            if joined[a] is not joined[b]:  # Kruskal: the heaviest edge that closes no circle
                both = joined[a] | joined[b]
                joined.update(dict.fromkeys(both, both))
                hypothesis.hold(((place(a), 0), (place(b), 0)), ratio.reshape(-1))


def _share(table: NDArray[np.float64]) -> NDArray[np.float64]:
    smooth = np.maximum(table, 0.0) + _SMOOTH
    return np.asarray(smooth / smooth.sum())
