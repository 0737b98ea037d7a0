"""Belief: what a session has learned so far - a public hypothesis, and how far off its answers seem."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from math import prod, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import PCG64, Generator

from hedgerow.errors import RangeTooLarge
from hedgerow.learning.dense import DenseHypothesis
from hedgerow.learning.evidence import Evidence
from hedgerow.learning.factored import FactoredHypothesis
from hedgerow.queries.measurement import Measurement
from hedgerow.queries.query import Query

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain import Domain
    from hedgerow.queries.form import LinearForm

    Floats = NDArray[np.float64]

ORDERS = 4  # errors are calibrated for questions about one, two, three, four or more attributes
_DRAWN = 120  # questions of each order that a calibration asks
_SMALL = 1 << 16  # tables up to here are made and kept; questions about larger ones are answered alone
_KEPT = 1 << 24  # cells of all tables kept
_FIRST = 2.0  # the length of the first steps of a fit: longer ones fit noise on large domains
_REFIT = 8  # visits to every measurement after one more was made


class Belief(ABC):
    """A hypothesis that answers in counts; everything in it follows from released values.

    The error of a learned number is taken to have the variance a_k n Var(w): n Var(w) is the variance of the
    sum of the weights of n rows drawn from the hypothesis, a_k a factor for questions about k attributes. The
    factors are found by measuring the hypothesis itself with noise of the same law and fitting that.
    """

    def __init__(self, domain: Domain, measurements: Sequence[Measurement], rows: int | None) -> None:
        self.domain = domain
        self.measurements = list(measurements)
        self.rows = rows  # only where it is public
        self.version = 0

    @property
    @abstractmethod
    def total(self) -> float:
        """The number of rows: public, or measured."""

    @abstractmethod
    def table(self, attributes: tuple[str, ...]) -> Floats:
        """Learned counts over some attributes, in the domain's order."""

    @abstractmethod
    def count(self, query: Query) -> float:
        """The learned count of one query, in rows."""

    @abstractmethod
    def learn(self, measurement: Measurement) -> bool:
        """Fit one more measured table; says whether it fits into the hypothesis."""

    @property
    @abstractmethod
    def spreads(self) -> Sequence[float]:
        """a_k for questions about 0, 1, 2, 3, and 4 or more attributes."""

    def counts(self, queries: Sequence[Query]) -> Floats:
        """The learned counts of many queries."""
        return np.array([self.count(q) for q in queries], dtype=np.float64)

    @cached_property
    def _total_variance(self) -> float:
        if self.rows is not None:
            return 0.0
        sums = [(m.noise.variance, 1 if m.workload else m.values.size) for m in self.measurements]
        precision = sum(1.0 / max(v * cells, 1e-9) for v, cells in sums)
        return 1.0 / precision if precision else 0.0

    def variance(self, order: int, count: Any, squares: Any) -> Any:
        """The indicative variance of learned counts.

        Args:
            order: how many attributes they are about.
            count: sums of weights.
            squares: sums of squared weights.
        """
        spread = self.spreads[min(order, ORDERS)]
        drawn = np.maximum(squares - count * count / self.total, 1.0 if order else 0.0)
        return spread * drawn + self._total_variance * (count / self.total) ** 2

    def linear(
        self, attributes: tuple[str, ...], weights: Floats, confidence: float, numbers: int = 1
    ) -> tuple[float, float]:
        """A weighted count and its indicative half-width."""
        table = self.table(attributes)
        count, squares = float((table * weights).sum()), float((table * weights**2).sum())
        return count, width(confidence, numbers) * sqrt(self.variance(len(attributes), count, squares))

    def form(self, form: LinearForm, confidence: float, numbers: int) -> tuple[Floats, Floats]:
        """All groups of a form at once, with their indicative half-widths."""
        table = self.table(form.attributes)
        squared = tuple(
            f if f.weights.dtype == np.bool_ else replace(f, weights=f.weights.astype(np.float64) ** 2)
            for f in form.factors
        )
        counts, squares = form.evaluate(table), replace(form, factors=squared).evaluate(table)
        return counts, width(confidence, numbers) * np.sqrt(
            self.variance(len(form.attributes), counts, squares)
        )

    def error(self, query: Query, count: float, confidence: float, numbers: int = 1) -> float:
        """The indicative half-width of one query's learned count, in rows."""
        return width(confidence, numbers) * sqrt(self.variance(len(query.attributes), count, count))


class DenseBelief(Belief):
    """A weight for every possible row."""

    def __init__(self, domain: Domain, measurements: Sequence[Measurement], rows: int | None) -> None:
        super().__init__(domain, measurements, rows)
        self.hypothesis = DenseHypothesis(domain)
        self.hypothesis.fit(self.measurements, total=_public(rows), kappa=_FIRST)

    @property
    def total(self) -> float:
        """The number of rows."""
        return self.hypothesis.total

    def table(self, attributes: tuple[str, ...]) -> Floats:
        """Learned counts over some attributes."""
        return self.hypothesis.marginal(attributes) * self.total

    def count(self, query: Query) -> float:
        """The learned count of one query."""
        return self.hypothesis.answer(query) * self.total

    def learn(self, measurement: Measurement) -> bool:
        """Fit everything again, starting from what is believed."""
        self.measurements.append(measurement)
        self.hypothesis.fit(self.measurements, total=_public(self.rows), passes=_REFIT, kappa=1.0)
        self.version += 1
        self.__dict__.pop("spreads", None)
        self.__dict__.pop("_total_variance", None)
        return True

    @cached_property
    def spreads(self) -> Sequence[float]:
        """By a parametric bootstrap: the fit is measured again with the same noise, and fitted."""
        rng = Generator(PCG64(0))  # public randomness about public things: the same errors for everyone
        again = DenseHypothesis(self.domain)
        again.fit([self._measured_again(m, rng) for m in self.measurements], total=self.total, kappa=_FIRST)
        out = [0.0]
        for order in range(1, ORDERS + 1):
            asked = [_any_query(self.domain, min(order, len(self.domain)), rng) for _ in range(_DRAWN)]
            p = np.array([self.hypothesis.answer(q) for q in asked])
            moved = np.array([again.answer(q) for q in asked]) - p
            out.append(float(self.total * (moved**2).sum() / max((p * (1.0 - p)).sum(), 1e-12)))
        return out

    def _measured_again(self, m: Measurement, rng: Generator) -> Measurement:
        spread = sqrt(m.noise.variance)
        if m.workload is not None:
            truth = self.counts(list(m.workload))
        else:
            truth = self.table(m.attributes) if m.attributes else np.array(self.total)
        noisy = truth + spread * rng.standard_normal(truth.shape)
        return replace(m, values=np.rint(noisy * m.noise.denominator).astype(np.int64))


class FactoredBelief(Belief):
    """A product of potentials on small tables, for domains of any size; primed by the adaptive release."""

    def __init__(
        self,
        hypothesis: FactoredHypothesis,
        measurements: Sequence[Measurement],
        rows: int | None,
        spread: float,
    ) -> None:
        super().__init__(hypothesis.domain, measurements, rows)
        self.hypothesis = hypothesis
        self._spread = spread
        self._tables: dict[tuple[str, ...], Floats] = {}
        self._evidence: Evidence | None = None

    @property
    def total(self) -> float:
        """The number of rows."""
        return self.hypothesis.total

    @property
    def spreads(self) -> Sequence[float]:
        """One factor for all: how far tables were from their prediction before they were measured."""
        return [0.0, *[self._spread] * ORDERS]

    def table(self, attributes: tuple[str, ...]) -> Floats:
        """Learned counts over some attributes; small tables are kept."""
        if attributes in self._tables:
            return self._tables[attributes]
        made = self.hypothesis.marginal(attributes) * self.total if attributes else np.array(self.total)
        if made.size <= _SMALL:
            while self._tables and sum(t.size for t in self._tables.values()) + made.size > _KEPT:
                self._tables.pop(next(iter(self._tables)))
            self._tables[attributes] = made
        return made

    def count(self, query: Query) -> float:
        """The learned count of one query: from its table when that is small, else by evidence."""
        if query.factors is None or prod(query.shape) <= _SMALL:
            return float(query.apply(self.table(query.attributes)))
        if self._evidence is None:
            self._evidence = Evidence(self.hypothesis)
        return self._evidence.answer(query) * self.total

    def learn(self, measurement: Measurement) -> bool:
        """Fit one more table, if the junction tree has room for it."""
        nodes = self.hypothesis._full(self.domain.order(measurement.attributes))
        try:
            fits = self.hypothesis.graph.cost(nodes, self.hypothesis.cells) <= self.hypothesis.cells
        except RangeTooLarge:
            fits = False
        if not fits:
            return False
        self.measurements.append(measurement)
        self.hypothesis.fit(self.measurements, total=_public(self.rows), iterations=60)
        self.version += 1
        self._tables.clear()
        self._evidence = None
        self.__dict__.pop("_total_variance", None)
        return True


def _public(rows: int | None) -> float | None:
    return None if rows is None else float(max(rows, 1))


def _any_query(domain: Domain, order: int, rng: Generator) -> Query:
    """A random subset of the levels of some random attributes."""
    conditions = {}
    for a in rng.choice(list(domain), order, replace=False).tolist():
        levels = domain[a].size
        mask = np.zeros(levels, dtype=np.bool_)
        mask[rng.choice(levels, rng.integers(1, max(levels - 1, 1) + 1), replace=False)] = True
        conditions[a] = mask
    return Query.where(domain, conditions)


def width(confidence: float, numbers: int = 1) -> float:
    """The normal quantile for so many numbers at once."""
    return NormalDist().inv_cdf(1.0 - (1.0 - confidence) / numbers / 2.0)
