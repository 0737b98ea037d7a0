"""Calibration: a dense hypothesis fitted to noisy tables, and how far off such fits seem to be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import log, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import PCG64, Generator

from hedgerow.learning.dense.dense import DenseHypothesis
from hedgerow.learning.ordered import FittedCounts, many, regained
from hedgerow.mechanisms.session.in_runs import brought, deviations
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
_WIDER = 1.25  # one draw of rows and noise stands for all
_FEW_TABLES = 1.5  # ... of one attribute, whose tables are few and whose errors go together
_FIRST = 1.0  # the length of the first steps of a fit: longer ones fit noise on large domains
_SURE = 8.0  # and of tables of one or two attributes, which are fitted before the others
_SOON = 12  # visits to those
_SWEEPS = 4  # over the tables of single attributes, where numbers are brought back
_NONE = 1e-15  # of all rows: no cell has less


@dataclass(frozen=True, eq=False)
class Spread:
    """The factors a of learned errors, by how many attributes a question is about and by its size n Var(w).

    Args:
        sizes: logarithms of sizes, in a row for each number of attributes; none where one factor is for all.
        factors: the logarithms of the factors at those sizes, or the one factor.
        runs: by attributes, what a cell is off by where many levels of a number are added up.
    """

    sizes: Floats
    factors: Floats
    runs: Mapping[tuple[str, ...], float] = field(default_factory=dict)

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
    anew = [_measured(truth, m, rng) for m in measurements]
    again = fitted(domain, anew, truth.total)
    real, made = _Fit(hypothesis, measurements), _Fit(again, anew)
    rows = [_calibrate(truth, real, made, min(k, len(domain)), rng) for k in range(1, _ORDERS + 1)]
    sizes, factors = zip(*rows, strict=True)
    widths = {c: width(c) for c in _COVERED}
    runs = deviations(truth, (hypothesis, measurements), (again, anew), widths, rng)
    return Spread(np.array(sizes), np.array(factors), runs)


class _Fit:
    """A fit, and the tables that it was fitted to."""

    def __init__(self, hypothesis: DenseHypothesis, measurements: Sequence[Measurement]) -> None:
        self.hypothesis = hypothesis
        self.raw = {m.attributes: m.counts for m in measurements if m.workload is None}

    def count(self, names: tuple[str, ...], weights: Sequence[Floats]) -> float:
        """A weighted count by the fit."""
        return _contract(self.hypothesis.marginal(names), weights) * self.hypothesis.total

    def gap(self, names: tuple[str, ...], weights: Sequence[Floats]) -> float:
        """How far that is from the table as it was measured."""
        return self.count(names, weights) - _contract(self.raw[names], weights)


def _contract(table: Floats, weights: Sequence[Floats]) -> float:
    """The sum of a table's cells, weighted by a product."""
    for w in reversed(weights):
        table = table @ w
    return float(table)


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
    regain(hypothesis, measurements)
    return hypothesis


def regain(hypothesis: DenseHypothesis, measurements: Sequence[Measurement]) -> None:
    """Bring numbers back that a fit without negative cells has displaced from where they were measured."""
    ones = {m.attributes[0]: m for m in measurements if m.workload is None and len(m.attributes) == 1}
    fitted = {a: hypothesis.marginal((a,)) * hypothesis.total for a in ones}
    known = {a: FittedCounts(fitted[a], m.counts, sqrt(m.noise.variance)) for a, m in ones.items()}
    margins = regained(hypothesis.domain, known, hypothesis.total)
    goals: dict[tuple[str, ...], Floats] = {
        (a,): table / table.sum() for a, table in (fitted | margins).items()
    }
    _brought(hypothesis, goals if margins else {})
    pairs = brought(hypothesis, measurements)
    numbers = {a: goal for a, goal in goals.items() if many(hypothesis.domain[a[0]])}
    groups = {a: goal for a, goal in goals.items() if a not in numbers}  # last: known best
    _brought(hypothesis, numbers | pairs | groups if pairs else {})


def _brought(hypothesis: DenseHypothesis, goals: Mapping[tuple[str, ...], Floats]) -> None:
    """Bring tables to these, in turns: iterative proportional fitting."""
    for _ in range(_SWEEPS):
        for names, goal in goals.items():
            now = hypothesis.marginal(names)
            hypothesis.scale(names, np.log(np.maximum(goal, _NONE) / np.maximum(now, _NONE)))


def _measured(truth: DenseHypothesis, m: Measurement, rng: Generator) -> Measurement:
    """What a measurement would have been, had the rows been these."""
    if m.workload is not None:
        exact = np.array([truth.answer(q) for q in m.workload]) * truth.total
    else:
        exact = truth.marginal(m.attributes) * truth.total if m.attributes else np.array(truth.total)
    noisy = exact + sqrt(m.noise.variance) * rng.standard_normal(exact.shape)
    return replace(m, values=np.rint(noisy * m.noise.denominator).astype(np.int64))


def _calibrate(
    truth: DenseHypothesis, real: _Fit, made: _Fit, order: int, rng: Generator
) -> tuple[Floats, Floats]:
    """Sizes n Var(w) of questions and the factors a for them, as logarithms.

    Questions of like size are taken together; a is so large that normal bounds cover as many of them as they
    should, at several confidences. What a fit does not reach of its tables is no noise, and a fit to rows
    drawn from a fit does not show it: fit and measured table differ by more than they do in the bootstrap. By
    so much, squared, is a larger, where that is more than chance.
    """
    found = [_weighed(truth, real, made, order, i, rng) for i in range(_DRAWN)]
    moved, drawn, more = (np.array(side) for side in zip(*found, strict=True))
    sizes, factors = [], []
    for group in np.array_split(np.argsort(drawn, kind="stable"), _GROUPS):
        off = np.abs(moved[group]) / np.sqrt(drawn[group])
        reach = max(float(np.quantile(off, c)) / width(c) for c in _COVERED)
        bias = more[group] / drawn[group]
        bias = bias[np.isfinite(bias)]
        sure = float(bias.mean() - 2.0 * bias.std() / sqrt(len(bias))) if len(bias) > 1 else 0.0
        missed = float(bias.mean()) if sure > 0.0 else 0.0
        sizes.append(float(np.log(drawn[group]).mean()))
        factors.append(log(max(((_FEW_TABLES if order == 1 else _WIDER) * reach) ** 2 + missed, 1e-12)))
    return np.array(sizes), np.array(factors)


def _weighed(
    truth: DenseHypothesis, real: _Fit, made: _Fit, order: int, kind: int, rng: Generator
) -> tuple[float, float, float]:
    """Of a random question: how far the fit is off in the bootstrap, its size, and what the real fit misses.

    It is about few levels, any number of them, a run of them, or a run with weights that grow along it.
    """
    domain = truth.domain
    names = domain.order(rng.choice(domain.names, order, replace=False).tolist())
    weights = [_levels(domain[a].size, kind % 4, rng) for a in names]
    if kind % 4 == 3:  # one of them is summed
        i = int(rng.integers(len(names)))
        weights[i] = weights[i] * np.linspace(0.0, 1.0, len(weights[i]))
    made_count = made.count(names, weights)
    moved = made_count - _contract(truth.marginal(names), weights) * truth.total
    total = made.hypothesis.total
    mean, squares = made_count / total, made.count(names, [w**2 for w in weights]) / total
    drawn = max(total * (squares - mean**2), 1.0)
    if names not in real.raw:
        return moved, drawn, float("nan")
    return moved, drawn, real.gap(names, weights) ** 2 - made.gap(names, weights) ** 2


def _levels(size: int, kind: int, rng: Generator) -> Floats:
    """Zeros and ones: one to three levels, any number of them, or a run."""
    out = np.zeros(size)
    if kind < 2:
        most = max(min(3, size - 1) if kind == 0 else size - 1, 1)
        out[rng.choice(size, rng.integers(1, most + 1), replace=False)] = 1.0
        return out
    first = int(rng.integers(size))
    out[first : int(rng.integers(first, size)) + 1] = 1.0
    return out
