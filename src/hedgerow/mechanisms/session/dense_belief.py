"""DenseBelief: a session's belief with a weight for every possible row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hedgerow.learning.dense.dense import DenseHypothesis
from hedgerow.mechanisms.session.belief import Belief
from hedgerow.mechanisms.session.calibration import Spread, calibrated, fitted, regain
from hedgerow.mechanisms.session.pooled import Pooled, numbers_of
from hedgerow.mechanisms.session.row_numbers import Numbers, public_total
from hedgerow.mechanisms.session.smallest import SMALL
from hedgerow.queries.packing import pack_measurement, unpack_measurement
from hedgerow.synopsis.learned import Learned
from hedgerow.synopsis.unseen import thin

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.mechanisms.session.belief import Arrays, Floats
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.measurement import Measurement
    from hedgerow.queries.moments import BinMoments
    from hedgerow.queries.query import Query

_COUNTED = 2  # attributes of tables whose measured noise is kept for errors of counts
_PRIMED = 3  # attributes of the largest tables that a session begins with
_REFIT = 8  # visits to every measurement after one more was made


class DenseBelief(Belief):
    """A weight for every possible row."""

    kind = "dense"

    @classmethod
    def fitted(
        cls,
        domain: Domain,
        measurements: Sequence[Measurement],
        rows: int | None,
        total: float | None = None,
        moments: BinMoments | None = None,
    ) -> DenseBelief:
        """Fit measurements; of so many rows, if that is known otherwise."""
        hypothesis = _settled(fitted(domain, measurements, public_total(rows)))
        hypothesis.total = hypothesis.total if total is None else total
        numbers = Numbers.first(rows, hypothesis.total, measurements)
        return cls(domain, numbers, lambda: (hypothesis, list(measurements)), moments=moments)

    @staticmethod
    def _unpack(
        domain: Domain, data: dict[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> tuple[DenseHypothesis, list[Measurement]]:
        """The hypothesis and what it was fitted to, from plain data."""
        measurements = [unpack_measurement(m, arrays) for m in data["measurements"]]
        return DenseHypothesis.of_cells(domain, arrays["cells"], total=data["total"]), measurements

    def _pack(self, arrays: Arrays) -> dict[str, Any]:
        hypothesis, measurements = self._behind
        arrays["cells"] = hypothesis.cells()
        return {
            "total": hypothesis.total,
            "measurements": [pack_measurement(m, arrays) for m in measurements],
        }

    @property
    def hypothesis(self) -> DenseHypothesis:
        """What tables are read off."""
        hypothesis: DenseHypothesis = self._behind[0]
        return hypothesis

    @property
    def learned(self) -> Learned:
        """The hypothesis and what it was fitted to, as a synopsis takes them."""
        hypothesis, measurements = self._behind
        return Learned(hypothesis, tuple(measurements), self.spread.at(1, 1.0), moments=self.moments)

    @cached_property
    def thin(self) -> Mapping[str, float]:
        """Numbers whose rows are hidden by the noise of their own tables, and its standard deviation."""
        ones = {m.attributes[0]: m for m in self._behind[1] if m.workload is None and len(m.attributes) == 1}
        known = {a: (m.counts, m.noise.variance**0.5) for a, m in ones.items()}
        return {a: sigma for a, (noisy, sigma) in known.items() if thin(self.domain[a], noisy, sigma)}

    @cached_property
    def known(self) -> Mapping[str, Pooled]:
        """The tables of numbers, by all that was measured of them; none where that is not normal."""
        tables = [m for m in self._behind[1] if m.workload is None]
        if any(m.noise.family != "gaussian" for m in tables):
            return {}
        numbers = {a: numbers_of(body) for a, body in self.domain.items()}
        found = {a: Pooled.of(tables, (a,), worth) for a, worth in numbers.items() if worth}
        return {a: pooled for a, pooled in found.items() if pooled is not None}

    def pooled(self, attributes: tuple[str, ...]) -> Pooled | None:
        """A table by all that was measured of it, whose noise is normal; None if there is none."""
        if attributes not in self._pooled:
            tables = [m for m in self._behind[1] if m.workload is None]
            normal = all(m.noise.family == "gaussian" for m in tables)
            few = len(attributes) <= _PRIMED and self.domain.cells(attributes) <= SMALL
            self._pooled[attributes] = Pooled.of(tables, attributes) if normal and few else None
        return self._pooled[attributes]

    def counted(self, attributes: tuple[str, ...]) -> Pooled | None:
        """The same of the smallest tables, for errors of counts: a snapshot has them."""
        if attributes not in self._counted:
            few = 0 < len(attributes) <= _COUNTED and attributes in self._written
            self._counted[attributes] = self.pooled(attributes) if few else None
        return self._counted[attributes]

    @cached_property
    def _counted(self) -> dict[tuple[str, ...], Pooled | None]:
        return {}

    @cached_property
    def _pooled(self) -> dict[tuple[str, ...], Pooled | None]:
        return {}

    def _found_spread(self) -> Spread:
        return calibrated(*self._behind)

    def _marginal(self, attributes: tuple[str, ...]) -> Floats:
        return self.hypothesis.marginal(attributes)

    def _answer(self, query: Query) -> float:
        return self.hypothesis.answer(query)

    def _learn(self, measurement: Measurement) -> tuple[float, Sequence[Measurement]]:
        """Fit everything again, starting from what is believed."""
        hypothesis, measurements = self._behind
        measurements = [*measurements, measurement]
        hypothesis.fit(measurements, total=public_total(self.numbers.rows), passes=_REFIT, kappa=1.0)
        regain(hypothesis, measurements)
        self._behind = _settled(hypothesis), measurements
        self._spread = None
        for name in ("thin", "known", "_pooled", "_counted"):
            self.__dict__.pop(name, None)
        return hypothesis.total, measurements


def _settled(hypothesis: DenseHypothesis) -> DenseHypothesis:
    """The same weights summed anew, as when they come from a file: answers must not depend on that."""
    return DenseHypothesis.of_cells(hypothesis.domain, hypothesis.cells(), total=hypothesis.total)
