"""Quantiles of ordered attributes from a learned distribution, as SQL has them, with an indicative error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import UnsupportedQuery
from hedgerow.queries.form import Factor, LinearForm
from hedgerow.queries.quantile import QuantileOf, ladder
from hedgerow.queries.query import Query
from hedgerow.synopsis.answer import Answer

if TYPE_CHECKING:
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
    """The value below which a part q of the rows lies, as SQL's PERCENTILE_CONT; see `queries.quantile`."""
    low, high, masks, _ = ladder(belief.domain[attribute])
    among: list[Factor] = []
    if where:
        query = Query.where(belief.domain, where)
        among = [Factor((a,), f > 0) for a, f in zip(query.attributes, query.factors or (), strict=True)]
    forms = [
        LinearForm.of(belief.domain, [*among, Factor((attribute,), mask)], (), units=False, name="up to")
        for mask in masks
    ]
    counts, errors = (
        np.array(x).reshape(-1, 1)
        for x in zip(*(belief.form(f, confidence, len(forms)) for f in forms), strict=True)
    )
    asked = QuantileOf(q, tuple(range(len(forms))), tuple(low), tuple(high))
    (value,), (error,) = asked.read(counts, errors)
    notes = () if counts[-1, 0] > errors[-1, 0] else (_EMPTY,)
    return Answer(float(value), float(error), confidence, "learned", notes=notes, ends=(low[0], high[-1]))
