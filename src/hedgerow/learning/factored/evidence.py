"""Evidence: what part of a factored hypothesis meets a product of conditions, without making their table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hedgerow.learning.factored.belief import Beliefs
from hedgerow.queries.query import ONE

if TYPE_CHECKING:
    from hedgerow.learning.factored.factored import FactoredHypothesis
    from hedgerow.queries.query import Query

_NEVER = -80.0  # the logarithm of a weight of zero: e^-80 of anything is below the last bit of an answer


class TreeEvidence:
    """Answers to product queries by one pass over the junction tree, however large the table behind them.

    A product of per-attribute weights is one more potential on every attribute it names: the part of all rows
    that it counts is the ratio of the two normalisers.

    Args:
        hypothesis: must not change while this is in use.
    """

    def __init__(self, hypothesis: FactoredHypothesis) -> None:
        known = {**hypothesis.potentials, **hypothesis.fixed}
        ones = [((a, 0),) for a in range(len(hypothesis.domain))]
        zeros = [(hypothesis._full(z.attributes), z.possible) for z in hypothesis.zeros]
        self._domain = hypothesis.domain
        self._beliefs = Beliefs(hypothesis.beliefs.tree, [*known, *ones], zeros)
        held = [*known.values(), *(np.zeros(n) for n in hypothesis.domain.shape)]
        self._theta = np.concatenate(held)
        self._first = len(known)
        self._whole = self._beliefs.calibrate(self._theta)

    def answer(self, query: Query) -> float:
        """The fraction of rows, each weighted by the query, which must be a product."""
        assert query.factors is not None
        theta = self._theta.copy()
        for name, factor in zip(query.attributes, query.factors, strict=True):
            at = self._first + self._domain.index(name)
            here = slice(int(self._beliefs.starts[at]), int(self._beliefs.starts[at + 1]))
            weights = factor / max(int(factor.max(initial=0)), 1)
            if not weights.any():
                return 0.0
            theta[here] += np.where(weights > 0, np.log(np.maximum(weights, 1e-30)), _NEVER)
        part = float(np.exp(self._beliefs.calibrate(theta) - self._whole))
        return part * query.largest / ONE
