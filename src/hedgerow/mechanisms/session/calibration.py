"""Calibration: a dense hypothesis fitted to noisy tables, and how far off such fits seem to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import PCG64, Generator

from hedgerow.learning.dense.dense import DenseHypothesis
from hedgerow.mechanisms.session.price import width

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.measurement import Measurement

    Floats = NDArray[np.float64]

_ORDERS = 4  # errors are calibrated for questions about one, two, three, four or more attributes
_DRAWN = 600  # questions of each order that a calibration asks, of few levels and of any number
_GROUPS = 6  # by size: small counts are off by more than their share
_COVERED = (0.8, 0.9, 0.95, 0.99)  # confidences at which bounds are to cover
_WIDER = 1.15  # one draw of rows and noise stands for all
_FIRST = 1.0  # the length of the first steps of a fit: longer ones fit noise on large domains
_SURE = 8.0  # and of tables of one or two attributes, which are fitted before the others
_SOON = 12  # visits to those


@dataclass(frozen=True, eq=False)
class Spread:
    """The factors a of learned errors, by how many attributes a question is about and by its size n Var(w).

    Args:
        sizes: logarithms of sizes, in a row for each number of attributes; none where one factor is for all.
        factors: the logarithms of the factors at those sizes, or the one factor.
    """

    sizes: Floats
    factors: Floats

    @classmethod
    def even(cls, factor: float) -> Spread:
        """One factor for all questions."""
        return cls(np.zeros((0, 0)), np.array([factor]))

    def at(self, order: int, drawn: Any) -> Any:
        """Between the sizes that were tried on a logarithmic scale, beyond them as at the last."""
        if not self.sizes.size:
            return float(self.factors[0])
        row = min(order, len(self.sizes)) - 1
        return np.exp(np.interp(np.log(drawn), self.sizes[row], self.factors[row]))


def calibrated(hypothesis: DenseHypothesis, measurements: Sequence[Measurement]) -> Spread:
    """By a parametric bootstrap: rows are drawn from the fit, measured with the same noise, fitted."""
    rng = Generator(PCG64(0))  # public randomness about public things: the same errors for everyone
    domain = hypothesis.domain
    cells = hypothesis.marginal(domain.names)
    drawn = rng.poisson(cells * hypothesis.total).astype(np.float64)
    drawn = drawn if drawn.any() else cells  # of very few rows, none may be drawn
    truth = DenseHypothesis.of_cells(domain, drawn, total=max(float(drawn.sum()), 1.0))
    again = fitted(domain, [_measured(truth, m, rng) for m in measurements], truth.total)
    rows = [_calibrate(truth, again, min(k, len(domain)), rng) for k in range(1, _ORDERS + 1)]
    sizes, factors = zip(*rows, strict=True)
    return Spread(np.array(sizes), np.array(factors))


def fitted(domain: Domain, measurements: Sequence[Measurement], total: float | None) -> DenseHypothesis:
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
