"""DenseHypothesis: one weight for every possible row, for domains of up to a few hundred million cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.random import PCG64, Generator

from hedgerow.errors import DomainMismatch, RangeTooLarge, UnsupportedQuery
from hedgerow.learning.dense import kernels
from hedgerow.learning.dense.fitting import fit
from hedgerow.learning.dense.layout import Layout, layout
from hedgerow.learning.dense.weights import Weights
from hedgerow.learning.experts import update_bound
from hedgerow.learning.hypothesis import Fit, multiplicative_weights
from hedgerow.queries.argument import once
from hedgerow.queries.query import ONE, Query

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.measurement import Measurement

DOUBLE_CELLS = 1 << 27
"""Up to here weights are float64 (1 GiB); larger domains use float32."""

CELL_LIMIT = 1 << 29
"""Larger domains are refused."""


class DenseHypothesis:
    """A distribution over all cells of a domain, held as one array and normalised lazily.

    An answer reads, and an update writes, only the cells that the query counts; tables over attribute sets
    are kept until the next update. Answers depend on the updates made and on nothing else: not on what was
    asked in between, nor on what is cached.

    Args:
        domain: the declared attributes.
        total: how many rows the distribution stands for.
        dtype: float64 or float32; by size unless said.

    >>> from hedgerow.queries.domain.domain import Domain
    >>> domain = Domain({"sex": ["F", "M"], "age": 5})
    >>> hypothesis = DenseHypothesis(domain)
    >>> young = Query.where(domain, {"age": [0, 1]})
    >>> round(hypothesis.answer(young), 3)
    0.4
    >>> hypothesis.update(young, value=0.6, eta=0.5)
    1
    >>> round(hypothesis.answer(young), 3)
    0.524
    """

    whole: ClassVar[bool] = True  # all cells are held as one table, as a factored hypothesis may

    def __init__(self, domain: Domain, *, total: float = 1.0, dtype: Any = None) -> None:
        if domain.size > CELL_LIMIT:
            raise RangeTooLarge(
                f"the domain has {domain.size:,} cells; a dense hypothesis holds at most {CELL_LIMIT:,}: "
                "use AdaptiveRelease, or fewer attributes"
            )
        self.domain = domain
        self.total = total
        self._shape = domain.shape
        self._position = {name: i for i, name in enumerate(domain)}
        kind = dtype or (np.float64 if domain.size <= DOUBLE_CELLS else np.float32)
        self._weights = Weights.uniform(domain.size, np.dtype(kind))
        self._tables: dict[tuple[str, ...], NDArray[np.float64]] = {}
        self._spent: dict[tuple[str, ...], int] = {}
        self._last: tuple[Query, float] | None = None

    @classmethod
    def of_cells(cls, domain: Domain, cells: NDArray[np.float64], *, total: float = 1.0) -> DenseHypothesis:
        """The hypothesis with probabilities in proportion to these cells, in the domain's shape."""
        made = cls(domain, total=total, dtype=np.float64)
        made._weights = Weights(np.maximum(np.asarray(cells, dtype=np.float64).reshape(-1), 1e-300))
        return made

    def __repr__(self) -> str:
        return f"DenseHypothesis({self.domain!r}, total={self.total:.6g})"

    def update_bound(self, alpha: float) -> float:
        """[DR14] Thm 4.10: how many true distinguishing updates there can be, with eta = alpha/2."""
        return update_bound(self.domain.size, alpha)

    def cells(self) -> NDArray[np.float64]:
        """Every cell's weight, in the domain's shape: `of_cells` makes the same hypothesis of them."""
        return self._weights.plain().reshape(self.domain.shape)

    def log_cells(self) -> NDArray[np.float64]:
        """The logarithm of every cell's probability, in the domain's shape."""
        return self._weights.logs().reshape(self.domain.shape)

    # -- answering ----------------------------------------------------------------------------------------

    def answer(self, query: Query) -> float:
        """The fraction of rows, each weighted by the query."""
        return self._mass(query) / self._weights.sum

    def _mass(self, query: Query) -> float:
        """The unnormalised answer; the last one is kept, since an update often follows a question."""
        if self._last is None or self._last[0] is not query:
            self._last = (query, self._summed_up(query))
        return self._last[1]

    def _summed_up(self, query: Query) -> float:
        axes = self._axes(query)
        if not axes:
            return self._weights.sum * (1.0 if query.factors is not None else int(query.weights) / ONE)
        if query.factors is None:
            if len(axes) == len(self._shape):
                return float(kernels.dot_cells(self._weights.values, query.weights.reshape(-1)))
            return float(np.vdot(query.weights, self._table(query.attributes))) / ONE
        product = _product(self._shape, axes, query)
        return float(kernels.dot(self._part(query, product).reshape(-1), product.weights))

    def _part(self, query: Query, product: Product) -> NDArray[np.float64]:
        """The sums of those table cells that a product query counts: read off the table, or made alone.

        Cells are summed alone until that has cost as much as the whole table would have; both ways give
        the same bits.
        """
        whole = self._tables.get(query.attributes)
        if whole is None:
            spent = self._spent.get(query.attributes, 0) + product.layout.touched
            self._spent[query.attributes] = spent
            if spent <= len(self._weights.values):
                return self._summed(product.layout)
            whole = self._table(query.attributes)
        return np.ascontiguousarray(whole[product.index])

    def marginal(self, attributes: Sequence[str]) -> NDArray[np.float64]:
        """The table over some attributes, axes in the given order; sums to 1."""
        names = self.domain.order(attributes)
        once(attributes)
        table = self._table(names) / self._weights.sum
        return np.asarray(table.transpose([names.index(a) for a in attributes]))

    def _table(self, names: tuple[str, ...]) -> NDArray[np.float64]:
        """Unnormalised sums over some attributes, kept until the next update."""
        if names not in self._tables:
            axes = tuple(self.domain.index(a) for a in names)
            self._tables[names] = self._summed(_whole(self._shape, axes))
        return self._tables[names]

    def _summed(self, plan: Layout) -> NDArray[np.float64]:
        out = np.zeros(prod(plan.shape), dtype=np.float64)
        places = (plan.bases, plan.offsets, plan.starts, plan.places)
        if plan.rows and plan.single:
            kernels.sum_singles(self._weights.values, *places, out)
        elif plan.rows:
            kernels.sum_rows(self._weights.values, *places, plan.lengths, out)
        elif plan.touched:
            add = kernels.sum_blocks if plan.lengths[0] >= 16 else kernels.sum_short_blocks
            add(self._weights.values, *places, plan.lengths[0], out)
        return out.reshape(plan.shape)

    # -- learning -----------------------------------------------------------------------------------------

    def update(self, query: Query, value: float, eta: float) -> int:
        """One step of the MW rule towards `value`: [DR14] Alg. 5.

        Args:
            query: the question whose answer was wrong.
            value: a better answer, as a fraction.
            eta: the learning rate.
        """
        return multiplicative_weights(self, query, value, eta)

    def tilt(self, query: Query, step: float) -> None:
        """Multiply every cell by exp(step * its weight in the query), up to normalisation."""
        axes = self._axes(query)
        parts = self._weights.strides(step)
        for _ in range(parts if axes and step else 0):
            if not self._weights.fits(step / parts):
                self._forget()
                self._weights.settle()
            moved = self._multiply(query, axes, step / parts)
            self._forget()
            self._weights.moved(*moved, step / parts)

    def _multiply(self, query: Query, axes: tuple[int, ...], step: float) -> tuple[float, float]:
        w = self._weights.values
        if query.factors is None:
            if len(axes) == len(self.domain):
                moved: tuple[float, float] = kernels.tilt_cells(w, query.weights.reshape(-1), step)
                return moved
            return self._scale(_whole(self._shape, axes), np.exp(query.weights * (step / ONE)))
        product = _product(self._shape, axes, query)
        plan = product.layout
        if not product.counts:
            return self._scale(plan, np.exp(step * product.weights))
        factor = w.dtype.type(np.exp(step))
        runs = (plan.bases, plan.starts, plan.lengths)
        if w.dtype == np.float64:  # what the query counts is known from asking; rounding is below 2^-53 of it
            before = self._mass(query)
            if plan.single:
                kernels.multiply_singles(w, plan.bases, plan.starts, factor)
            else:
                kernels.multiply_runs(w, *runs, factor)
            return before, before * float(factor)
        moved = kernels.scale_runs(w, *runs, factor)
        return moved

    def scale(self, attributes: tuple[str, ...], steps: NDArray[np.float64]) -> None:
        """Multiply every cell by exp(the entry of its table cell), up to normalisation.

        Args:
            attributes: the table's attributes, in the domain's order.
            steps: logarithms, in the table's shape.
        """
        axes = tuple(self.domain.index(a) for a in attributes)
        largest = float(np.abs(steps).max(initial=0.0))
        parts = self._weights.strides(largest)
        self._forget()
        for _ in range(parts if axes else 0):
            if not self._weights.fits(largest / parts):
                self._weights.settle()
            moved = self._scale(_whole(self._shape, axes), np.exp(steps / parts))
            self._weights.moved(*moved, largest / parts)

    def _scale(self, plan: Layout, factors: NDArray[np.float64]) -> tuple[float, float]:
        w = self._weights.values
        flat = np.ascontiguousarray(factors, dtype=w.dtype).reshape(-1)
        places = (plan.bases, plan.offsets, plan.starts, plan.places)
        if not plan.touched:
            return 0.0, 0.0
        moved: tuple[float, float] = (
            kernels.scale_rows(w, *places, plan.lengths, flat)
            if plan.rows
            else kernels.scale_blocks(w, *places, plan.lengths[0], flat)
        )
        return moved

    def within(self, attributes: tuple[str, ...]) -> DenseHypothesis:
        """What is believed of some attributes, by itself."""
        table = self.marginal(attributes)
        return DenseHypothesis.of_cells(self.domain.project(attributes), table, total=self.total)

    def fit(self, measurements: Sequence[Measurement], **options: Any) -> Fit:
        """Move towards measurements, each as far as its noise warrants; see `fitting.fit` for the options.

        Args:
            measurements: noisy tables and noisy answers, in the order in which they are to be visited.
        """
        return fit(self, measurements, **options)

    # -- making up rows -----------------------------------------------------------------------------------

    def sample(self, rows: int, *, seed: int | None = None) -> dict[str, NDArray[np.int64]]:
        """Level codes of made-up rows: every cell's share of them, rounded up or down, in random order.

        Args:
            rows: how many.
            seed: for the same rows again; what is public may be drawn from any seed.
        """
        if rows < 0:
            raise UnsupportedQuery("a number of rows is not negative")
        random = Generator(PCG64(seed))
        cells = np.zeros(rows, dtype=np.int64)
        kernels.systematic(self._weights.values, rows / self._weights.sum, random.random(), cells)
        random.shuffle(cells)
        return dict(zip(self.domain, np.unravel_index(cells, self.domain.shape), strict=True))

    # -- bookkeeping --------------------------------------------------------------------------------------

    def _forget(self) -> None:
        self._tables.clear()
        self._spent.clear()
        self._last = None

    def _axes(self, query: Query) -> tuple[int, ...]:
        """The query's attributes as positions, after a check that it is about this domain."""
        axes = tuple(self._position.get(a, -1) for a in query.attributes)
        fits = all(i >= 0 and self._shape[i] == n for i, n in zip(axes, query.shape, strict=True))
        if not fits or any(i >= j for i, j in pairwise(axes)):
            raise DomainMismatch("the query was made for another domain")
        return axes


@dataclass(frozen=True, eq=False)
class Product:
    """The part of a table that a product query counts: its cells, their weights, and its levels."""

    layout: Layout
    weights: NDArray[np.float64]
    levels: tuple[NDArray[np.int64], ...]

    @cached_property
    def counts(self) -> bool:
        """Whether every weight is 1."""
        return bool((self.weights == 1.0).all())

    @cached_property
    def index(self) -> tuple[Any, ...]:
        """Where the part lies in the whole table."""
        return np.ix_(*self.levels)


@lru_cache(maxsize=64)
def _product(shape: tuple[int, ...], axes: tuple[int, ...], query: Query) -> Product:
    factors = query.factors or ()
    levels = tuple(np.flatnonzero(f) for f in factors)
    some = [None if len(v) == len(f) else v for f, v in zip(factors, levels, strict=True)]
    weights: Any = np.full(1, 1.0 / ONE)
    for factor, level in zip(factors, levels, strict=True):
        weights = np.multiply.outer(weights, factor[level]).reshape(-1)
    return Product(layout(shape, axes, some), weights, levels)


@lru_cache(maxsize=512)
def _whole(shape: tuple[int, ...], axes: tuple[int, ...]) -> Layout:
    return layout(shape, axes)
