"""FactoredBelief: a session's belief about a domain of any size, a product of potentials on small tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import RangeTooLarge
from hedgerow.learning.factored.evidence import TreeEvidence
from hedgerow.mechanisms.session.belief import Belief, Numbers, public_total
from hedgerow.mechanisms.session.calibration import Spread
from hedgerow.synopsis.learned import Learned

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.learning.factored.factored import FactoredHypothesis
    from hedgerow.mechanisms.session.belief import Arrays, Floats
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.measurement import Measurement
    from hedgerow.queries.query import Query


class FactoredBelief(Belief):
    """A product of potentials on small tables, for domains of any size; primed by the adaptive release."""

    kind = "factored"
    _evidence: TreeEvidence | None = None

    @classmethod
    def of(cls, learned: Learned, rows: int | None) -> FactoredBelief:
        """What a release learned; its spread is how far tables were from their prediction."""
        learned = learned.settled()
        numbers = Numbers.first(rows, learned.hypothesis.total, learned.measurements)
        spread = Spread.even(learned.spread)
        return cls(learned.hypothesis.domain, numbers, lambda: learned, spread, moments=learned.moments)

    @staticmethod
    def _unpack(domain: Domain, data: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Learned:
        """What was learned, from plain data."""
        return Learned.unpack(domain, data, arrays)

    def _pack(self, arrays: Arrays) -> dict[str, Any]:
        packed: dict[str, Any] = self._behind.pack(arrays)
        return packed

    @property
    def hypothesis(self) -> FactoredHypothesis:
        """What tables are read off."""
        hypothesis: FactoredHypothesis = self._behind.hypothesis
        return hypothesis

    def _found_spread(self) -> Spread:
        return Spread.even(self._behind.spread)

    def _marginal(self, attributes: tuple[str, ...]) -> Floats:
        return np.asarray(self.hypothesis.marginal(attributes))

    def _answer(self, query: Query) -> float:
        """By evidence: without the table behind a product."""
        if self._evidence is None:
            self._evidence = TreeEvidence(self.hypothesis)
        return self._evidence.answer(query)

    def _learn(self, measurement: Measurement) -> tuple[float, Sequence[Measurement]] | None:
        """Fit one more table, if the junction tree has room for it."""
        hypothesis = self.hypothesis
        nodes = hypothesis._full(self.domain.order(measurement.attributes))
        try:
            if hypothesis.graph.cost(nodes, hypothesis.cells) > hypothesis.cells:
                return None
        except RangeTooLarge:
            return None
        measurements = (*self._behind.measurements, measurement)
        hypothesis.fit(measurements, total=public_total(self.numbers.rows), iterations=60)
        self._behind = replace(self._behind, measurements=measurements).settled()
        self._evidence = None
        return hypothesis.total, measurements
