"""Quantiles of ordered attributes from a learned distribution, with an indicative error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import UnsupportedQuery
from hedgerow.mechanisms.session.price import width
from hedgerow.queries.domain.bins import Bins
from hedgerow.queries.query import Query
from hedgerow.synopsis.answer import Answer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.mechanisms.session.belief import Belief
    from hedgerow.queries.domain.domain import Domain

_EMPTY = "Hardly any rows meet these conditions, so the quantile is not known."


@dataclass(frozen=True, eq=False)
class Quantile:
    """A quantile of an ordered attribute among the rows that meet some conditions on others."""

    attribute: str
    q: float
    where: Mapping[str, Any]

    def key(self, domain: Domain) -> str:
        """A fingerprint of what is asked, or a refusal."""
        if not domain[self.attribute].ordered:
            raise UnsupportedQuery(
                f"{self.attribute!r} has no order, so it has no quantiles; it needs bins or dates"
            )
        if not 0.0 < self.q < 1.0:
            raise UnsupportedQuery("a quantile lies between 0 and 1")
        if self.attribute in self.where:
            raise UnsupportedQuery("the conditions of a quantile are about other attributes")
        among = Query.where(domain, self.where).digest if self.where else ""
        return f"quantile:{self.attribute}:{float(self.q)!r}:{among}"

    def learned(self, belief: Belief, confidence: float) -> Answer:
        """From what is believed."""
        return quantile_of(belief, self.attribute, self.q, self.where, confidence)


def quantile_of(
    belief: Belief, attribute: str, q: float, where: Mapping[str, Any], confidence: float
) -> Answer:
    """The value below which a part q of the rows lies, read off the learned cumulative distribution.

    The error: F(v) is a ratio of two counts; v stays possible as long as F(v) is within its own half-width of
    q, and the farthest such edge is the error.
    """
    levels = belief.domain[attribute]
    counts, order = _counts(belief, attribute, where), 1 + len(where)
    inside = counts[: len(levels.values)]
    mass = float(inside.sum())
    edges = _edges(levels)
    variance = belief.variance(order, mass, mass)
    if mass <= width(confidence) * float(np.sqrt(variance)):
        middle = float(np.interp(q, [0.0, 1.0], [edges[0], edges[-1]]))
        return Answer(middle, float(edges[-1] - edges[0]), confidence, "learned", notes=(_EMPTY,))
    ladder = np.concatenate([[0.0], np.cumsum(inside) / mass])
    value = _invert(ladder, edges, q)
    # sum of (1[at most v] - F) over the rows: its weights are 1 - F below v and -F above
    squares = mass * ladder * (1.0 - ladder)
    half = width(confidence) * np.sqrt(belief.variance(order, np.zeros_like(ladder), squares)) / mass
    possible = np.abs(ladder - q) <= half
    low = _invert(np.maximum.accumulate(np.clip(ladder + half, 0.0, 1.0)), edges, q)
    high = _invert(np.minimum.accumulate(np.clip(ladder - half, 0.0, 1.0)[::-1])[::-1], edges, q)
    ends = [low, high, *edges[possible].tolist()]
    error = max(abs(value - e) for e in ends)
    return Answer(value, error, confidence, "learned")


def _counts(belief: Belief, attribute: str, where: Mapping[str, Any]) -> NDArray[np.float64]:
    """Learned counts of every level, among the rows that meet the conditions."""
    if not where:
        return belief.table((attribute,))
    condition = Query.where(belief.domain, where)
    names = belief.domain.order([attribute, *condition.attributes])
    table = belief.table(names)
    for name, factor in zip(condition.attributes, condition.factors or (), strict=True):
        mask = (factor > 0).astype(np.float64)
        table = table * mask.reshape([-1 if a == name else 1 for a in names])
    keep = names.index(attribute)
    return np.asarray(table.sum(axis=tuple(i for i in range(len(names)) if i != keep)))


def _edges(levels: Any) -> NDArray[np.float64]:
    """The borders between levels as numbers; dates in days since 1970."""
    assert isinstance(levels, Bins)
    return levels.edge_array


def _invert(ladder: NDArray[np.float64], edges: NDArray[np.float64], q: float) -> float:
    """Where a cumulative distribution reaches q, evenly within a level."""
    at = int(np.searchsorted(ladder, q, side="left"))
    if at <= 0:
        return float(edges[0])
    if at >= len(ladder):
        return float(edges[-1])
    low, high = ladder[at - 1], ladder[at]
    part = (q - low) / (high - low) if high > low else 1.0
    return float(edges[at - 1] + part * (edges[at] - edges[at - 1]))
