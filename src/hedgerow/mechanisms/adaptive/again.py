"""Again: how what is left of the price is divided among tables that were measured before.

The error of a table of the workload is the root of a sum of squares: noise of every measured table inside it,
and chance in what no table inside it tells. Where chance is most of it, as of pairs that were not chosen,
less noise of one-way tables hardly makes it smaller.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.learning.residuals.basis import Names
from hedgerow.learning.residuals.nonnegative import cut

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.learning.factored.consistency import Target
    from hedgerow.learning.factored.resolution import Resolutions
    from hedgerow.mechanisms.adaptive.plan import Nodes
    from hedgerow.mechanisms.adaptive.run import Run

    Floats = NDArray[np.float64]

SHARES = 10_000  # what is left, in whole shares
_ROUNDS = 20  # of dividing it anew by the errors that are left
_TOLD = 3  # what more attributes have to do with each other, nothing that is measured tells
_NONE = 1e-300


class Again:
    """What is left, and what it may be spent on.

    Args:
        run: whose price is left.
        sets: the workload's attribute sets with their weights.
        resolutions: what the tables' nodes stand for.
        known: the tables that may be measured again.
    """

    def __init__(
        self,
        run: Run,
        sets: Mapping[Names, float],
        resolutions: Resolutions,
        known: Mapping[Nodes, Target],
    ) -> None:
        self._run, self._sets, self._resolutions, self._known = run, sets, resolutions, known
        self._about = [frozenset(run.domain.names[a] for a, _ in nodes) for nodes in known]
        held = [[about <= frozenset(s) for about in self._about] for s in sets]
        self._inside = np.array(held, dtype=np.float64).reshape(len(sets), len(known))
        self._weights = np.array(list(sets.values()), dtype=np.float64)
        self._sizes = np.array([len(t.counts) for t in known.values()], dtype=np.float64)
        self._power = 1.0 if run.pure else 2.0  # noise is as 1 / part ** (1 / power)

    def shares(self) -> list[int]:
        """Whole shares of what is left, with which the workload's errors add up to least.

        The sum of roots is below its tangents, so each division that is best for the tangents at the errors
        of the one before is better than that.
        """
        unit, power = self._run.noise(self._run.left)[1], 2.0 / self._power
        own = np.array([prod(1.0 - 1.0 / max(g, 2) for g in self._resolutions.shape(n)) for n in self._known])
        noise = own * (unit * self._sizes) ** 2
        chance = np.array([self._chance(s) for s in self._sets])
        new, had = np.full(len(noise), 1.0 / len(noise)), self._had()
        for _ in range(_ROUNDS):
            squares = chance + self._inside @ (noise * (had + new) ** -power)
            slopes = self._weights * np.maximum(squares, _NONE) ** -0.5
            new = filled(np.maximum(noise * (slopes @ self._inside), _NONE) ** (1.0 / (1.0 + power)), had)
        return _whole(new)

    def shares_before(self) -> list[int]:
        """As earlier versions divided it: as if noise of tables added up, and nothing else were wrong."""
        return _whole(filled(((self._weights @ self._inside) * self._sizes) ** (2.0 / 3.0), self._had()))

    def _had(self) -> Floats:
        """What tables have had, in units of what is left."""
        sigma = np.array([t.sigma for t in self._known.values()])
        return np.asarray((self._run.noise(self._run.left)[1] / sigma) ** self._power)

    def _chance(self, names: Names) -> float:
        """The squared sum of what chance makes in a table's cells, as far as nothing inside tells it."""
        roots = [self._roots.get(a, 1.0) for a in names]
        told = sum(self._told(part, names) for k in range(_TOLD + 1) for part in combinations(names, k))
        return max(1.0 - told, 0.0) * self._run.total * prod(roots) ** 2

    def _told(self, part: Names, names: Names) -> float:
        """The part of a table that some of its attributes have to do with each other and is measured."""
        sizes = {a: self._run.domain[a].size for a in names}
        own = prod((sizes[a] - 1.0 if a in part else 1.0) / sizes[a] for a in names)
        return own * (1.0 if len(part) < 2 else self._detail(frozenset(part)))

    def _detail(self, part: frozenset[str]) -> float:
        """In how much detail the attributes of a part were measured together: 1 for all levels."""
        names, best = self._run.domain.names, 0.0
        for nodes, about in zip(self._known, self._about, strict=True):
            if part <= about:
                some = [n for n in nodes if names[n[0]] in part]
                fine = prod(max(self._resolutions.size((a, 0)) - 1.0, 1.0) for a, _ in some)
                best = max(best, prod(self._resolutions.size(n) - 1.0 for n in some) / fine)
        return best

    @cached_property
    def _roots(self) -> dict[str, float]:
        """The sum of the roots of an attribute's released shares."""
        laws = {a: cut(t.counts) for a, t in self._run.ones.items()}
        return {a: float(np.sqrt(x / max(float(x.sum()), _NONE)).sum()) for a, x in laws.items()}


def filled(needs: Floats, had: Floats) -> Floats:
    """What brings all, but those that have more already, to the same part of what they need.

    >>> filled(np.array([1.0, 1.0, 2.0]), np.array([0.0, 3.0, 1.5])).round(4).tolist()
    [0.8333, 0.0, 0.1667]
    """
    order = np.argsort(had / needs, kind="stable")
    levels = (1.0 + np.cumsum(had[order])) / np.cumsum(needs[order])
    within = np.flatnonzero(levels > (had / needs)[order])
    new = np.maximum(levels[within[-1]] * needs - had, 0.0)
    return np.asarray(new / new.sum())


def _whole(parts: Floats) -> list[int]:
    return [round(SHARES * x) for x in parts]
