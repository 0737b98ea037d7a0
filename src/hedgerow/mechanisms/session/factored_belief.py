"""FactoredBelief: a session's belief about a domain of any size, a product of potentials on small tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import RangeTooLarge
from hedgerow.learning.factored.evidence import TreeEvidence
from hedgerow.learning.residuals.noisy import NoisyResiduals
from hedgerow.mechanisms.session.belief import Belief
from hedgerow.mechanisms.session.calibration import Spread
from hedgerow.mechanisms.session.row_numbers import Numbers, public_total
from hedgerow.mechanisms.session.smallest import SMALL
from hedgerow.mechanisms.session.weighed import Weighed
from hedgerow.queries.query import ONE
from hedgerow.queries.readings import Readings
from hedgerow.synopsis.halves import halved
from hedgerow.synopsis.learned import Learned
from hedgerow.synopsis.left_out import left_out, pairs_of
from hedgerow.synopsis.limits import MeasuredTable
from hedgerow.synopsis.stated import StatedErrors
from hedgerow.synopsis.table_sums import BoxedWeights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.learning.factored.factored import FactoredHypothesis
    from hedgerow.mechanisms.session.belief import Arrays, Floats
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.form import LinearForm
    from hedgerow.queries.measurement import Measurement
    from hedgerow.queries.query import Query
    from hedgerow.queries.readings import Linear


class FactoredBelief(Belief):
    """A product of potentials on small tables, for domains of any size, and residuals of all pairs beside it.

    Tables are the model's, brought to the pairs that were measured. A table that was measured later is
    weighed against what was believed of it (`Weighed`).
    """

    kind = "factored"
    _evidence: TreeEvidence | None = None

    @classmethod
    def of(cls, learned: Learned, rows: int | None) -> FactoredBelief:
        """What a release learned; its spread is how far tables were from their prediction."""
        learned = learned.settled()
        numbers = Numbers.first(rows, learned.hypothesis.total, learned.measurements)
        held = learned.reconciled
        if held is not None and rows is None:
            variance = held.evidence.deviations[()] ** 2
            numbers = replace(numbers, total_variance=variance, size_variance=variance)
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

    @property
    def learned(self) -> Learned:
        """The hypothesis and what it was fitted to, as a synopsis takes them."""
        learned: Learned = self._behind
        return learned

    def _found_spread(self) -> Spread:
        return Spread.even(self._behind.spread)

    def _marginal(self, attributes: tuple[str, ...]) -> Floats:
        return self._rows(attributes) / max(self.total, 1e-300)

    def _rows(self, attributes: tuple[str, ...]) -> Floats:
        """A table in rows: the model's, brought to what was measured, and weighed with what was since."""
        held = self.learned.reconciled
        if held is None:
            return np.asarray(self.hypothesis.marginal(attributes) * self.total)
        table = held.read(self.domain, attributes, lambda: self.hypothesis.marginal(attributes) * self.total)
        later = self._later(attributes)
        return table if later is None else later.combined(table)

    def _later(self, attributes: tuple[str, ...]) -> Weighed | None:
        """The best that was measured since of a table, if it was."""
        if self.learned.reconciled is None:
            return None
        return Weighed.best(self.domain, self.learned.measurements, attributes)

    def _answer(self, query: Query) -> float:
        """Without the table behind a product: in halves that pairs are known of, or by evidence."""
        if self._evidence is None:
            self._evidence = TreeEvidence(self.hypothesis)
        held = self.learned.reconciled
        found = None
        if held is not None and held.parts:
            found = halved(query, self.table, self._evidence.answer)
        return self._evidence.answer(query) if found is None else found / max(self.total, 1e-300)

    def _learn(self, measurement: Measurement) -> tuple[float, Sequence[Measurement]] | None:
        """One more table: kept beside what was measured, or fitted if the junction tree has room for it."""
        measurements = (*self._behind.measurements, measurement)
        held = self.learned.reconciled
        if held is not None:
            evidence = NoisyResiduals.of(self.domain, measurements, held.evidence.rows)
            held = replace(held, evidence=evidence)
            self._behind = replace(self._behind, measurements=measurements, reconciled=held)
            self._forget()
            return self.total, measurements
        hypothesis = self.hypothesis
        nodes = hypothesis._full(self.domain.order(measurement.attributes))
        try:
            if hypothesis.graph.cost(nodes, hypothesis.cells) > hypothesis.cells:
                return None
        except RangeTooLarge:
            return None
        hypothesis.fit(measurements, total=public_total(self.numbers.rows), iterations=60)
        self._behind = replace(self._behind, measurements=measurements).settled()
        self._evidence = None
        self._forget()
        return hypothesis.total, measurements

    def _forget(self) -> None:
        """What follows from all that was measured."""
        for name in ("_stated", "_pairs"):
            self.__dict__.pop(name, None)

    # -- how far off --------------------------------------------------------------------------------------

    @cached_property
    def _stated(self) -> StatedErrors:
        return StatedErrors(self.domain, self.learned, self.table)

    def linear(
        self, attributes: tuple[str, ...], weights: Floats, confidence: float, numbers: int = 1
    ) -> tuple[float, float]:
        """A weighted count and its indicative half-width."""
        table = self.table(attributes)
        count = BoxedWeights(weights).counted(table)
        later = self._later(attributes)
        if later is not None:
            return count, later.half_width(table, weights, confidence, numbers)
        return count, self._stated.linear(attributes, table, weights, confidence, numbers)

    def notes(self, sets: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
        """Which pairs were not measured."""
        return left_out(self._pairs, (tuple(a for a in s if self.domain[a].size > 1) for s in sets))

    @cached_property
    def _pairs(self) -> frozenset[frozenset[str]]:
        held, tables = self.learned.reconciled, MeasuredTable.all_of(self.learned.measurements)
        residuals = [] if held is None else filter(held.evidence.holds, held.evidence.values)
        return pairs_of([*(t.attributes for t in tables), *residuals])

    @property
    def readings(self) -> Linear:
        """What weighted counts are read by, one by one."""
        return Readings(self.linear, lambda names, weights: BoxedWeights(weights).counted(self.table(names)))

    def form(self, form: LinearForm, confidence: float, numbers: int) -> tuple[Floats, Floats]:
        """All groups of a form, with their indicative half-widths."""
        return self._each(form, confidence, numbers)

    def error(self, query: Query, count: float, confidence: float, numbers: int = 1) -> float:
        """The indicative half-width of one query's learned count, in rows."""
        if query.factors is None or prod(query.shape) <= SMALL:
            return self.linear(query.attributes, query.weights / ONE, confidence, numbers)[1]
        return self._stated.product(query, count, confidence, numbers)
