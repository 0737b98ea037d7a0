"""Belief: what a session has learned so far - a public hypothesis, and how far off its answers seem."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from math import log, prod, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import PCG64, Generator

from hedgerow.errors import RangeTooLarge
from hedgerow.learning.dense.dense import DenseHypothesis
from hedgerow.learning.factored.evidence import Evidence
from hedgerow.learning.factored.factored import FactoredHypothesis
from hedgerow.queries.measurement import Measurement

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.form import LinearForm
    from hedgerow.queries.query import Query

    Floats = NDArray[np.float64]

ORDERS = 4  # errors are calibrated for questions about one, two, three, four or more attributes
_DRAWN = 600  # questions of each order that a calibration asks, of few levels and of any number
_GROUPS = 6  # by size: small counts are off by more than their share
_COVERED = (0.8, 0.9, 0.95, 0.99)  # confidences at which bounds are to cover
_WIDER = 1.15  # one draw of rows and noise stands for all
_SMALL = 1 << 16  # tables up to here are made and kept; questions about larger ones are answered alone
_KEPT = 1 << 24  # cells of all tables kept
_FIRST = 1.0  # the length of the first steps of a fit: longer ones fit noise on large domains
_SURE = 8.0  # and of tables of one or two attributes, which are fitted before the others
_SOON = 12  # visits to those
_REFIT = 8  # visits to every measurement after one more was made


class Belief(ABC):
    """A hypothesis that answers in counts; everything in it follows from released values.

    The error of a learned number is taken to have the variance a n Var(w): n Var(w) is the variance of the
    sum of the weights of n rows drawn from the hypothesis, a a factor for questions about so many attributes
    with so large a variance. The factors are found by drawing rows from the hypothesis, measuring those with
    noise of the same law, and fitting that.
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

    @abstractmethod
    def spread(self, order: int, drawn: Any) -> Any:
        """The factor a for questions about so many attributes, by the variance n Var(w) of each."""

    def counts(self, queries: Sequence[Query]) -> Floats:
        """The learned counts of many queries."""
        return np.array([self.count(q) for q in queries], dtype=np.float64)

    @property
    def total_spread(self) -> float:
        """The standard deviation of the number of rows."""
        return sqrt(self._total_variance)

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
        drawn = np.maximum(squares - count * count / self.total, 1.0 if order else 0.0)
        return (self.spread(order, drawn) * drawn if order else 0.0) + self._total_variance * (
            count / self.total
        ) ** 2

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
        self.hypothesis = _fitted(domain, self.measurements, _public(rows))

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
        self.__dict__.pop("_calibrated", None)
        self.__dict__.pop("_total_variance", None)
        return True

    def spread(self, order: int, drawn: Any) -> Any:
        """Between the sizes that were tried on a logarithmic scale, beyond them as at the last."""
        sizes, factors = self._calibrated[min(order, ORDERS) - 1]
        return np.exp(np.interp(np.log(drawn), sizes, factors))

    @cached_property
    def _calibrated(self) -> list[tuple[Floats, Floats]]:
        """By a parametric bootstrap: rows are drawn from the fit, measured with the same noise, fitted."""
        rng = Generator(PCG64(0))  # public randomness about public things: the same errors for everyone
        cells = self.hypothesis.marginal(self.domain.names)
        drawn = rng.poisson(cells * self.total).astype(np.float64)
        drawn = drawn if drawn.any() else cells  # of very few rows, none may be drawn
        truth = DenseHypothesis.of_cells(self.domain, drawn, total=max(float(drawn.sum()), 1.0))
        again = _fitted(self.domain, [_measured(truth, m, rng) for m in self.measurements], truth.total)
        return [_calibrate(truth, again, min(k, len(self.domain)), rng) for k in range(1, ORDERS + 1)]


def _fitted(domain: Domain, measurements: Sequence[Measurement], total: float | None) -> DenseHypothesis:
    """The hypothesis that fits: tables of one and two attributes first, with long steps, then all.

    Their cells stand far above their noise; fitted among thousands of small cells, with steps that are short
    enough for those, strong dependence of two attributes would not be reached.
    """
    hypothesis = DenseHypothesis(domain)
    for order in (1, 2):
        small = [m for m in measurements if m.workload is None and len(m.attributes) <= order]
        if len(small) < len(measurements):
            hypothesis.fit(small, total=total, kappa=_SURE, passes=_SOON)
    hypothesis.fit(measurements, total=total, kappa=_FIRST)
    return hypothesis


def _measured(truth: DenseHypothesis, m: Measurement, rng: Generator) -> Measurement:
    """What a measurement would have been, had the rows been these."""
    if m.workload is not None:
        exact = np.array([truth.answer(q) for q in m.workload]) * truth.total
    else:
        exact = truth.marginal(m.attributes) * truth.total if m.attributes else np.array(truth.total)
    noisy = exact + sqrt(m.noise.variance) * rng.standard_normal(exact.shape)
    return replace(m, values=np.rint(noisy * m.noise.denominator).astype(np.int64))


def _calibrate(
    truth: DenseHypothesis, fit: DenseHypothesis, order: int, rng: Generator
) -> tuple[Floats, Floats]:
    """Sizes n Var(w) of questions and the factors a for them, as logarithms.

    Questions of like size are taken together; a is so large that normal bounds cover as many of them as they
    should, at several confidences.
    """
    pairs = [_drawn(truth, fit, order, i % 2 == 0, rng) for i in range(_DRAWN)]
    count, p = (np.array(side) for side in zip(*pairs, strict=True))
    drawn = np.maximum(fit.total * p * (1.0 - p), 1.0)
    moved = fit.total * p - truth.total * count
    sizes, factors = [], []
    for group in np.array_split(np.argsort(drawn, kind="stable"), _GROUPS):
        off = np.abs(moved[group]) / np.sqrt(drawn[group])
        reach = max(float(np.quantile(off, c)) / width(c) for c in _COVERED)
        sizes.append(float(np.log(drawn[group]).mean()))
        factors.append(2.0 * log(max(_WIDER * reach, 1e-6)))
    return np.array(sizes), np.array(factors)


def _drawn(
    truth: DenseHypothesis, fit: DenseHypothesis, order: int, few: bool, rng: Generator
) -> tuple[float, float]:
    """Two answers to a question about random levels of random attributes; one to three of each if few."""
    names = truth.domain.order(rng.choice(truth.domain.names, order, replace=False).tolist())
    levels = []
    for a in names:
        size = truth.domain[a].size
        most = max(min(3, size - 1) if few else size - 1, 1)
        levels.append(rng.choice(size, rng.integers(1, most + 1), replace=False))
    part = np.ix_(*levels)
    return float(truth.marginal(names)[part].sum()), float(fit.marginal(names)[part].sum())


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

    def spread(self, order: int, drawn: Any) -> Any:
        """One factor for all: how far tables were from their prediction before they were measured."""
        return self._spread

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


def width(confidence: float, numbers: int = 1) -> float:
    """The normal quantile for so many numbers at once."""
    return NormalDist().inv_cdf(1.0 - (1.0 - confidence) / numbers / 2.0)
