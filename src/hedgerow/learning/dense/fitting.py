"""Fitting a hypothesis to noisy tables: cyclic proximal steps, each as long as the noise warrants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import expm1, prod
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np

from hedgerow.errors import DomainMismatch
from hedgerow.learning.dense import kernels
from hedgerow.learning.hypothesis import Fit
from hedgerow.queries.covering import cover

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.measurement import Measurement
    from hedgerow.queries.query import Query

    Places = tuple[int, ...]

_EXACT = 1e-4  # variance in rows^2 at which a measurement without noise is taken
_LONGEST = 8.0  # no step multiplies a cell by more than exp(8)
_EXPLAINED = 1.05  # a misfit that the noise explains
_STUCK = 0.03  # a pass that improves the misfit by less does not help at this length
_REST = 0.05  # nor one that adds less than this to what all passes have improved
_COOLING = 0.6
_SHORTEST = 0.03  # shorter steps no longer change an answer
_SMALL = 1 << 12  # cells: so few are touched sooner than sorted out
_PART = 16  # tables are fitted within larger ones of at most this part of all cells


class Fittable(Protocol):
    """What a fit needs of a hypothesis."""

    total: float

    @property
    def domain(self) -> Domain: ...

    def answer(self, query: Query) -> float: ...

    def marginal(self, attributes: Sequence[str]) -> NDArray[np.float64]: ...

    def scale(self, attributes: tuple[str, ...], steps: NDArray[np.float64]) -> None: ...

    def tilt(self, query: Query, step: float) -> None: ...

    def within(self, attributes: tuple[str, ...]) -> Self: ...

    def log_cells(self) -> NDArray[np.float64]: ...


@dataclass(frozen=True, eq=False)
class _Table:
    attributes: tuple[str, ...]
    counts: NDArray[np.float64]
    variance: float

    def step(self, hypothesis: Fittable, kappa: float) -> float:
        """One proximal step; returns the squared distance before it, in units of the variance."""
        m = hypothesis.total * hypothesis.marginal(self.attributes).ravel()
        steps = proximal_step(m, self.counts.ravel(), kappa / self.variance)
        hypothesis.scale(self.attributes, steps.reshape(self.counts.shape))
        return float(((self.counts.ravel() - m) ** 2).sum() / self.variance)


@dataclass(frozen=True, eq=False)
class _Answer:
    query: Query
    count: float
    variance: float

    def step(self, hypothesis: Fittable, kappa: float) -> float:
        """One MW step of proximal length; returns the squared distance before it."""
        n, p = hypothesis.total, hypothesis.answer(self.query)
        hypothesis.tilt(self.query, _tilt(n, p, self.count, kappa / self.variance))
        return float((self.count - n * p) ** 2 / self.variance)


def fit(
    hypothesis: Fittable,
    measurements: Sequence[Measurement],
    *,
    total: float | None = None,
    passes: int = 30,
    kappa: float = 2.0,
) -> Fit:
    """Fit noisy tables and answers, starting from what the hypothesis already believes.

    A table is fitted cell by cell: x solves log(x/m) = kappa (y - x) / sigma^2 + c, where m is believed, y
    measured with variance sigma^2, and c keeps the sum; the hypothesis is multiplied by x/m. A cell that is
    small against its noise hardly moves. Steps get shorter once the misfit is what noise explains, or no
    longer falls: then no table's noise outweighs the others' because it was visited last.

    Args:
        hypothesis: what is fitted, in place.
        measurements: in the order in which they are to be visited, tables before answers; see `arranged`.
        total: the number of rows, when it is public; else the mean of the tables' sums by inverse variance.
        passes: at most this many visits to every measurement.
        kappa: the length of the first steps.
    """
    targets = [t for m in measurements for t in _targets(hypothesis.domain, m)]
    tables = [t for t in targets if isinstance(t, _Table)]
    answers = [t for t in targets if isinstance(t, _Answer)]
    measured = _measured_total(measurements) if total is None else total
    if measured is not None:
        hypothesis.total = max(measured, 1.0)
    numbers = sum(t.counts.size if isinstance(t, _Table) else 1 for t in targets)
    course: list[float] = []
    length = kappa
    while len(course) < passes and targets and length > _SHORTEST:
        missed = _visit(hypothesis, tables, length) + sum(t.step(hypothesis, length) for t in answers)
        course.append(missed / numbers)
        if _levelled(course):
            length *= _COOLING
    return Fit(len(course), course[-1] if course else np.nan, hypothesis.total)


def _visit(hypothesis: Fittable, tables: Sequence[_Table], kappa: float) -> float:
    """One step for every table, in this order; the sum of squared distances before each.

    Multiplying cells by what depends on some attributes alone, and summing out the others, may change places.
    So tables of few attributes in all are fitted within the table of these, step by step, and all cells are
    then multiplied once by what became of it: the same steps, at a part of the cost.
    """
    domain = hypothesis.domain
    if domain.size <= _SMALL:
        return sum(t.step(hypothesis, kappa) for t in tables)
    missed = 0.0
    for places, many in _together(
        domain.shape, tuple(tuple(map(domain.index, t.attributes)) for t in tables)
    ):
        inside, tables = tables[:many], tables[many:]
        if many > 1:
            within = hypothesis.within(tuple(domain.names[i] for i in places))
            before = within.log_cells()
            missed += _visit(within, inside, kappa)
            hypothesis.scale(within.domain.names, within.log_cells() - before)
        else:
            missed += inside[0].step(hypothesis, kappa)
    return missed


@lru_cache(maxsize=256)
def _together(shape: tuple[int, ...], sets: tuple[Places, ...]) -> list[tuple[Places, int]]:
    """Axes that hold so many sets in a row, and those after them, while their table is small."""
    held: list[tuple[Places, int]] = []
    for axes in sets:
        both = tuple(sorted({*held[-1][0], *axes})) if held else axes
        if held and prod(shape[i] for i in both) <= prod(shape) // _PART:
            held[-1] = (both, held[-1][1] + 1)
        else:
            held.append((axes, 1))
    return held


def arranged(domain: Domain, sets: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Attribute sets in an order in which their tables are well fitted: those that lie within a larger table
    together, and those of fewer attributes, which are known best, after the larger ones.

    >>> from hedgerow.queries.domain.domain import Domain
    >>> arranged(Domain({"a": 2, "b": 3}), [("a",), ("b",), ("a", "b")])
    [('a', 'b'), ('a',), ('b',)]
    """
    left, out = sorted(sets, key=lambda s: -len(s)), list[tuple[str, ...]]()
    if domain.size <= _SMALL:
        return left
    places = [tuple(map(domain.index, s)) for s in left]
    for cells in reversed(cover(places, domain.shape, domain.size // _PART)):
        names = domain.order([domain.names[i] for i in cells])
        inside = [s for s in left if set(s) <= set(names)]
        left = [s for s in left if not set(s) <= set(names)]
        smaller = len(names) < len(domain)
        out = [*(arranged(domain.project(names), inside) if smaller else inside), *out]
    return out


def _levelled(course: list[float]) -> bool:
    """Whether steps this long now fit noise: the misfit is explained or stuck, and most of its way done."""
    if len(course) < 2:
        return False
    first, before, now = course[0], course[-2], course[-1]
    low = now < _EXPLAINED or before - now < _STUCK * before
    return low and before - now < _REST * (first - now)


def proximal_step(m: NDArray[np.float64], y: NDArray[np.float64], precision: float) -> NDArray[np.float64]:
    """log(x/m) for the x with log(x/m) = precision (y - x) + c and sum x = sum m."""
    x = np.empty_like(m)
    whole, c = float(m.sum()), 0.0
    most = float((precision * (m - y)).max(initial=0.0))  # there every x is at least m
    for _ in range(100):  # Newton: the sum is convex in c, so it comes down to the root from above
        now, slope = kernels.proximal(m, y, precision, c, x)
        if abs(now - whole) <= 1e-10 * whole:
            break
        c = min(c + (whole - now) / slope, most) if slope > 0 else most
    steps = precision * (y - x) + c
    return np.asarray(np.clip(np.where(m > 0, steps, 0.0), -_LONGEST, _LONGEST))


def _tilt(n: float, p: float, y: float, precision: float) -> float:
    """The t with t = precision (y - n p(t)), where p(t) = p e^t / (p e^t + 1 - p).

    Exact for 0/1 queries; for fractional ones p(t) moves at most that fast, so the step is never too long.
    """
    low, high = -_LONGEST, _LONGEST
    for _ in range(60):
        t = (low + high) / 2.0
        shifted = p * np.exp(t) / (1.0 + p * expm1(t)) if p > 0 else 0.0
        low, high = (t, high) if t < precision * (y - n * shifted) else (low, t)
    return (low + high) / 2.0


def _targets(domain: Domain, measurement: Measurement) -> list[_Table | _Answer]:
    """What one measurement asks the hypothesis to agree with; totals are handled apart."""
    variance = max(measurement.noise.variance, _EXACT)
    counts = measurement.counts
    if measurement.workload is not None:
        pairs = zip(measurement.workload, counts.ravel(), strict=True)
        return [_Answer(q, float(c), variance) for q, c in pairs if q.attributes]
    names = domain.order(measurement.attributes)
    if counts.shape != domain.shape_of(measurement.attributes) or len(names) < len(measurement.attributes):
        raise DomainMismatch("the measurement was made for another domain")
    if not names:
        return []
    return [_Table(names, counts.transpose([measurement.attributes.index(a) for a in names]), variance)]


def _measured_total(measurements: Sequence[Measurement]) -> float | None:
    """The mean of all measured totals, weighted by inverse variance; None if there are none."""
    sums = []
    for m in measurements:
        variance = max(m.noise.variance, _EXACT)
        if m.workload is None:
            sums.append((float(m.counts.sum()), variance * m.counts.size))
        else:
            flat = zip(m.workload, m.counts.ravel(), strict=True)
            sums += [(float(c), variance) for q, c in flat if not q.attributes]
    precision = sum(1.0 / v for _, v in sums)
    return sum(s / v for s, v in sums) / precision if sums else None
