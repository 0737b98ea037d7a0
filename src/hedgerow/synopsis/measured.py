"""Synopses that are measurements and nothing else: tables, answers, local reports."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hedgerow.curator.local import LocalReports
from hedgerow.errors import UnsupportedQuery
from hedgerow.queries.measurement import Measurement, Noise
from hedgerow.queries.packing import pack_measurement, unpack_measurement
from hedgerow.synopsis.sampling import TreeModel
from hedgerow.synopsis.synopsis import Provenance, Synopsis

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain import Domain
    from hedgerow.queries.query import Query


@dataclass(frozen=True, eq=False, repr=False)
class TablesSynopsis(Synopsis):
    """Noisy contingency tables; a question is answered from the measured tables that contain its attributes.

    Gaussian tables that hold the question are averaged with inverse-variance weights; with Laplace noise
    the one table of least variance answers.
    """

    tables: tuple[Measurement, ...] = ()
    kind: ClassVar[str] = "tables"

    @property
    def can(self) -> frozenset[str]:
        """Answers, tables and rows."""
        return frozenset({"answer", "table", "sample"})

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """The noisy tables."""
        return self.tables

    def linear(
        self, attributes: tuple[str, ...], weights: NDArray[np.float64], confidence: float, numbers: int = 1
    ) -> tuple[float, float]:
        """A weighted count and its error bound."""
        estimates = self._estimates(attributes)
        value = sum(c * float((t * weights).sum()) for t, _, c, _ in estimates)
        if len(estimates) == 1:
            _, noise, _, copies = estimates[0]
            return float(value), noise.half_width(confidence, np.repeat(weights.ravel(), copies), numbers)
        norm = float(np.sqrt((weights**2).sum()))
        spread = np.sqrt(sum(c * c * noise.variance * copies for _, noise, c, copies in estimates)) * norm
        law = Noise("gaussian", Fraction(max(float(spread), 4.0)))  # the sum of Gaussians, on a finer lattice
        return float(value), law.half_width(confidence, (1.0,), numbers) if spread else 0.0

    def _estimates(self, attributes: tuple[str, ...]) -> list[tuple[NDArray[np.float64], Noise, float, int]]:
        """Estimated tables of `attributes` with their noise, weight and summed cells, from all that fit."""
        found = []
        for m in self.tables:
            if set(attributes) <= set(m.attributes):
                kept = [m.attributes.index(a) for a in attributes]
                out = tuple(i for i in range(len(m.attributes)) if i not in kept)
                copies = prod(m.counts.shape[i] for i in out)
                left = [m.attributes[i] for i in range(len(m.attributes)) if i not in out]
                table = np.asarray(m.counts.sum(axis=out)).transpose([left.index(a) for a in attributes])
                found.append((table, m.noise, copies))
        if not found:
            held = "; ".join(" x ".join(m.attributes) for m in self.tables[:6])
            raise UnsupportedQuery(f"no released table holds {' x '.join(attributes)}; there is {held} ...")
        if any(noise.family != "gaussian" for _, noise, _ in found):
            table, noise, copies = min(found, key=lambda f: f[1].variance * f[2])
            return [(table, noise, 1.0, copies)]
        precision = np.array([1.0 / (noise.variance * copies) for _, noise, copies in found])
        shares = precision / precision.sum()
        return [(t, noise, float(c), copies) for (t, noise, copies), c in zip(found, shares, strict=True)]

    def _table(self, names: tuple[str, ...]) -> NDArray[np.float64]:
        return np.asarray(sum(c * t for t, _, c, _ in self._estimates(names)))

    def sample(self, rows: int | None = None, *, seed: int | None = None) -> dict[str, NDArray[Any]]:
        """Synthetic rows, drawn along the tree of the strongest measured pairs [CL68]."""
        number = max(0, round(self.total)) if rows is None else rows
        if number < 0:
            raise UnsupportedQuery("a number of rows is not negative")
        codes = TreeModel.of(self.domain, {m.attributes for m in self.tables}, self._table).sample(
            number, seed
        )
        return self.domain.decode(codes)

    def _pack(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        return {"tables": [pack_measurement(m, arrays) for m in self.tables]}

    @classmethod
    def _unpack(
        cls, domain: Domain, provenance: Provenance, body: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> TablesSynopsis:
        return cls(domain, provenance, tuple(unpack_measurement(m, arrays) for m in body["tables"]))


@dataclass(frozen=True, eq=False, repr=False)
class AnswersSynopsis(Synopsis):
    """Noisy answers to a fixed list of queries; it answers these and no others."""

    answers: Measurement | None = None
    kind: ClassVar[str] = "answers"

    @property
    def can(self) -> frozenset[str]:
        """Only answers."""
        return frozenset({"answer"})

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """The noisy answers."""
        return (self._measured,)

    @property
    def _measured(self) -> Measurement:
        assert self.answers is not None
        return self.answers

    def _query(self, query: Query, confidence: float, numbers: int) -> tuple[float, float]:
        workload = self._measured.workload
        assert workload is not None
        places = self.__dict__.setdefault("_places", {})
        if not places:
            places.update({q.digest: i for i, q in enumerate(workload)})
        if query.digest not in places:
            raise UnsupportedQuery(
                "this synopsis holds the answers to its own workload only, not to this query"
            )
        value = self._measured.counts[places[query.digest]]
        error = self._measured.noise.half_width(confidence, (1.0,), numbers)
        return float(query.to_unit(value)), abs(query.scale) * error

    def linear(
        self, attributes: tuple[str, ...], weights: NDArray[np.float64], confidence: float, numbers: int = 1
    ) -> tuple[float, float]:
        """Refused: only whole queries of the workload are answered."""
        raise UnsupportedQuery("this synopsis holds the answers to its own workload only")

    @property
    def total(self) -> float:
        """The released number of rows, if the workload asked for it."""
        from hedgerow.queries.query import Query

        return self._query(Query.total(), 0.95, 1)[0]

    def _pack(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        return {"answers": pack_measurement(self._measured, arrays)}

    @classmethod
    def _unpack(
        cls, domain: Domain, provenance: Provenance, body: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> AnswersSynopsis:
        return cls(domain, provenance, unpack_measurement(body["answers"], arrays))


@dataclass(frozen=True, eq=False, repr=False)
class LocalSynopsis(Synopsis):
    """Randomised records; linear questions are answered by the unbiased estimator."""

    reports: LocalReports | None = None
    kind: ClassVar[str] = "local"

    def linear(
        self, attributes: tuple[str, ...], weights: NDArray[np.float64], confidence: float, numbers: int = 1
    ) -> tuple[float, float]:
        """An unbiased weighted count and Hoeffding's bound."""
        assert self.reports is not None
        return self.reports.estimate(attributes, weights, 1.0 - (1.0 - confidence) / numbers)

    def _table(self, names: tuple[str, ...]) -> NDArray[np.float64]:
        assert self.reports is not None
        return self.reports.table(names)

    def _pack(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        assert self.reports is not None
        arrays["reports"] = self.reports.codes
        r = self.reports
        return {"epsilon": str(r.epsilon), "max_rows": r.max_rows, "by": r.by}

    @classmethod
    def _unpack(
        cls, domain: Domain, provenance: Provenance, body: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> LocalSynopsis:
        plan = LocalReports.plan(domain, Fraction(body["epsilon"]), int(body["max_rows"]), body["by"])
        return cls(domain, provenance, plan.filled(arrays["reports"]))
