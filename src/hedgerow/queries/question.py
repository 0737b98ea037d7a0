"""Question: what one SQL statement asks - linear forms per group, ratios of them, and how rows are shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import inf, prod
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import CutsBin, RangeTooLarge, UnsupportedQuery
from hedgerow.queries.doubts import Doubt, widened
from hedgerow.queries.form import GroupAxis, LinearForm, check_cells, spread
from hedgerow.queries.quantile import QuantileOf, counted
from hedgerow.queries.quotient import Quotient, between, of_fewer
from hedgerow.queries.quotient import ratio as ratio
from hedgerow.queries.readings import value_of
from hedgerow.queries.result import Result as Result
from hedgerow.queries.result import Show as Show
from hedgerow.queries.within import Opened, opened

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.readings import Linear
    from hedgerow.queries.within import FoundAt, Summed, Within

GROUPS = 1 << 20
_WORK = 1 << 30
_NONE = 1e-9  # a count below it is what a model leaves of none


@dataclass(frozen=True, eq=False)
class GroupColumn:
    """A column of GROUP BY: an attribute or one of its hierarchies, a label for each part of its axis."""

    name: str
    attribute: str
    hierarchy: str | None
    axis: int
    labels: tuple[str, ...]
    ranks: NDArray[np.int64]  # SQL's order of the labels, -1 for NULL


@dataclass(frozen=True)
class Aggregate:
    """One number per group: scale * form, or scale * form / denominator + plus; by indices into `forms`.

    `ends` are two numbers between which form / denominator lies, if there are such.
    """

    name: str
    form: int
    denominator: int | None = None
    scale: float = 1.0
    plus: float = 0.0
    quantile: QuantileOf | None = None
    ends: tuple[float, float] | None = None

    @property
    def range(self) -> tuple[float, float]:
        """Between which two numbers it lies, whatever the rows are."""
        if self.quantile is not None:
            return self.quantile.low[0], self.quantile.high[-1]
        if self.ends is None:
            return -inf, inf
        low, high = sorted(self.scale * end + self.plus for end in self.ends)
        return low, high


@dataclass(frozen=True)
class Sort:
    """One key of ORDER BY: a group column or an aggregate, by its index."""

    index: int
    aggregate: bool
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, eq=False)
class Question:
    """What a SQL statement asks of a domain; made by `hedgerow.sql`.

    Every declared group appears in the answer, empty ones too, because which groups are empty is private.
    ORDER BY and LIMIT act on the released values. A SUM over no rows is 0, a ratio over none is NULL (NaN).

    Args:
        forms: the linear forms that must be known to answer, without repeats.
        aggregates: the output numbers, each a form or a ratio of two.
        columns: the output columns in order.
        notes: sentences to show with the answer.
        cut: what a refusal of the bins that it cuts would say, if it cuts any.
        left: the groups that conditions leave by the schema alone, if not all; SQL has no others either.
        doubts: how much of forms is open, as it is not known whether rows with an `other` value count.
    """

    domain: Domain
    text: str
    forms: tuple[LinearForm, ...]
    aggregates: tuple[Aggregate, ...]
    groups: tuple[GroupColumn, ...]
    axes: tuple[GroupAxis, ...]
    columns: tuple[Show, ...]
    order: tuple[Sort, ...] = ()
    limit: int | None = None
    notes: tuple[str, ...] = ()
    cut: str = ""
    doubts: tuple[Doubt, ...] = ()
    left: NDArray[np.bool_] | None = None

    def notes_of(self, source: str) -> tuple[str, ...]:
        """The notes of an answer; where rows were asked, no bin is cut."""
        cut = self.cut if source != "learned" else ""
        return tuple(n for n in self.notes if not (cut and n.startswith(cut)))

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """All attributes that the answer depends on, in the domain's order."""
        return self.domain.order([a for f in self.forms for a in f.attributes])

    @property
    def size(self) -> int:
        """How many groups there are before LIMIT; 1 without GROUP BY."""
        return prod(axis.size for axis in self.axes)

    @property
    def units(self) -> bool:
        """Whether people are counted, so that the answer must be measured."""
        return any(f.units for f in self.forms)

    @cached_property
    def labels(self) -> tuple[tuple[str, ...], ...]:
        """The labels of every group, in the order of the forms' groups."""
        if not self.groups:
            return ((),) * self.size
        cells = self._cells
        names = [[c.labels[i] for i in cells[c.axis].tolist()] for c in self.groups]
        return tuple(zip(*names, strict=True))

    @property
    def _cells(self) -> tuple[NDArray[np.intp], ...]:
        shape = [axis.size for axis in self.axes]
        return np.unravel_index(np.arange(self.size), shape) if shape else ()

    def evaluate(self, table_of: Callable[[tuple[str, ...]], NDArray[Any]]) -> Result:
        """The exact answer on tables: `table_of(attributes)` gives counts, axes in the given order."""
        self._refuse_units()
        if self.cut:
            raise CutsBin(self.cut)
        values = np.stack([form.evaluate(table_of(form.attributes)) for form in self.forms])
        return self.combine(values, np.zeros_like(values), confidence=1.0)

    def answer(
        self,
        linear: Linear,
        confidence: float = 0.95,
        *,
        simultaneous: bool = False,
        within: Within | None = None,
    ) -> Result:
        """The answer from whoever holds tables.

        Args:
            linear: gives a weighted sum of a table's cells and its half-width.
            confidence: how often each number's bound must hold.
            simultaneous: make all the bounds hold at once with that confidence.
            within: whoever measured what is within bins; else errors allow for all that may be.
        """
        self._refuse_units()
        work = self.size * sum(prod(f.shape) for f in self.forms)
        if work > _WORK:
            raise RangeTooLarge(
                f"{self.size:,} groups over these tables need {work:,} weights, more than {_WORK:,}: "
                "group by fewer columns"
            )
        every = len(self.forms) * self.size if simultaneous else None

        def found(
            form: LinearForm, sure: float, numbers: int
        ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            pairs = [linear(form.attributes, form.weights(g), sure, numbers) for g in range(form.groups)]
            values, errors = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
            return values, errors

        parts = [found(form, confidence, every or self.bounds(i)) for i, form in enumerate(self.forms)]
        values, errors = (np.stack([p[i] for p in parts]) for i in (0, 1))
        open_ = self.open(found, within, confidence, every)
        ratios = self.ratios(linear, confidence, every or 1)
        return self.combine(values, errors, confidence=confidence, ratios=ratios, open_=open_)

    def ratios(
        self, linear: Linear, confidence: float, numbers: int, *, bars: bool = True
    ) -> dict[Aggregate, NDArray[np.float64]]:
        """Ratios of sums by the levels of bins and their errors, of all groups, where one table holds both.

        Args:
            linear: gives a weighted sum of a table's cells and its half-width.
            confidence, numbers: how often errors must hold, for how many numbers at once.
            bars: whether errors are worked out.
        """
        found = {}
        for a in self.aggregates:
            if a.denominator is not None and not self.doubts:
                with suppress(UnsupportedQuery, RangeTooLarge):  # no one table holds both: bounds apart
                    pairs = [self._ratio(a, g, linear, confidence, numbers, bars) for g in range(self.size)]
                    found[a] = np.array(pairs)
        return found

    def open(
        self, found: FoundAt, within: Within | None, confidence: float, every: int | None
    ) -> dict[int, Opened]:
        """What bins leave open of each form.

        Args:
            found: values and half-widths of all groups of a form, for a confidence and a number of them.
            within: whoever measured what is within bins.
            confidence: how often half-widths must hold.
            every: for how many numbers at once; None: for each alone.
        """
        out = {}
        for i, form in enumerate(self.forms):
            numbers = every or self.bounds(i)
            left = opened(form, found, within, confidence, numbers)
            if left is not None:
                out[i] = left
        return out

    def _ratio(
        self, a: Aggregate, group: int, linear: Linear, confidence: float, numbers: int, bars: bool
    ) -> tuple[float, float]:
        """A ratio and its error from one table."""
        assert a.denominator is not None
        top, bottom = self.forms[a.form], self.forms[a.denominator]
        names = self.domain.order([*top.attributes, *bottom.attributes])
        check_cells(self.domain, names)
        over, under = (
            np.broadcast_to(spread(f.attributes, f.weights(group), names), self.domain.shape_of(names))
            for f in (top, bottom)
        )

        def found(weights: NDArray[np.float64]) -> tuple[float, float]:
            return linear(names, weights, confidence, numbers)

        def value(weights: NDArray[np.float64]) -> float:
            return value_of(linear, names, weights, confidence, numbers)

        made = Quotient.of(found, value, over, under, only_positive=bottom.nonnegative)
        return made.value, made.error if bars else 0.0

    def bounds(self, form: int) -> int:
        """How many bounds share the confidence of a number that uses this form: 2 in a ratio, else 1.

        A quantile needs those of all bins at once.
        """
        ratios = [a for a in self.aggregates if a.denominator is not None]
        bands = [len(a.quantile.forms) for a in self.aggregates if a.quantile and form in a.quantile.forms]
        if self.doubts:  # then each has another one beside it, which any of them may be
            most = (len(a.quantile.forms) if a.quantile else 1 for a in self.aggregates)
            return 2 * max([*most, 2 if ratios else 1])
        return max([*bands, 2 if any(form in (a.form, a.denominator) for a in ratios) else 1])

    def combine(
        self,
        values: NDArray[np.float64],
        errors: NDArray[np.float64],
        *,
        confidence: float = 0.95,
        ratios: Mapping[Aggregate, NDArray[np.float64]] | None = None,
        open_: Mapping[int, Opened] | None = None,
    ) -> Result:
        """The rows from known forms.

        Args:
            values: one row per form, one column per group.
            errors: half-widths, of the same shape.
            confidence: how often the half-widths hold.
            ratios: values and errors of ratios, where more is known than about their two forms apart.
            open_: what bins leave open of forms, where the values are those of bins.
        """
        known, left = ratios or {}, open_ or {}
        counts = np.array([[form.counts] for form in self.forms])
        values = np.where(counts & (np.abs(values) < _NONE), 0.0, values)
        values, errors = widened(values, errors, self.doubts, left) if self.doubts else (values, errors)
        pairs = [self._aggregate(a, values, errors, known.get(a), left) for a in self.aggregates]
        out, wide = (np.stack([p[i] for p in pairs], axis=1) for i in (0, 1))
        rows = self._arrange(out)
        return Result(
            columns=tuple(c.name for c in self.columns),
            groups=tuple(self.labels[i] for i in rows.tolist()),
            values=out[rows],
            errors=wide[rows],
            confidence=confidence,
            show=self.columns,
            grouped=bool(self.groups),
            ranges=self.ranges,
        )

    def ratios_of_fewer(
        self, values: NDArray[np.float64], errors: NDArray[np.float64], parts: Mapping[int, Any]
    ) -> dict[Aggregate, NDArray[np.float64]]:
        """Ratios with the errors that they would have of such parts of the rows that are divided by."""
        found = {a: d for a in self.aggregates if (d := a.denominator) is not None and d in parts}
        each = {a: (values[a.form], errors[a.form], values[d], errors[d]) for a, d in found.items()}
        return {a: of_fewer(*each[a], parts[d], self.forms[d].nonnegative) for a, d in found.items()}

    @cached_property
    def ranges(self) -> NDArray[np.float64]:
        """Between which two numbers each aggregate lies by the schema alone."""
        ends = np.array([a.range for a in self.aggregates], dtype=np.float64).reshape(-1, 2)
        return ends.T[:, np.newaxis]

    def _aggregate(
        self,
        a: Aggregate,
        values: NDArray[np.float64],
        errors: NDArray[np.float64],
        known: NDArray[np.float64] | None,
        open_: Mapping[int, Opened],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if a.quantile is not None:
            return a.quantile.read(*counted(a.quantile.forms, values, errors, open_))
        value, error, left = values[a.form], errors[a.form], open_.get(a.form)
        if a.denominator is not None:
            bottom, off = values[a.denominator], errors[a.denominator]
            only_positive = self.forms[a.denominator].nonnegative
            under = open_.get(a.denominator)
            if under is not None:  # then neither is known of the middles of bins alone
                value, error = (value, error) if left is None else (value + left.value, left.on(error))
                bottom, off, known, left = bottom + under.value, under.on(off), None, None
            if left is not None and left.summed is not None:
                value, error = self._over(a, left.summed, value + left.value, left.on(error), bottom, off)
                left = None
            else:
                value, error = ratio(value, error, bottom, off, only_positive)
                if known is not None:
                    value, error = np.where(np.isnan(value), value, known[:, 0]), known[:, 1]
                left = None if left is None else left.over(bottom, off)
        if left is not None:
            value, error = value + left.value, left.on(error)
        if a.ends is not None:
            value, error = between(value, error, *a.ends)
        return a.scale * value + a.plus, abs(a.scale) * error

    def _over(
        self,
        a: Aggregate,
        summed: Summed,
        top: NDArray[np.float64],
        top_error: NDArray[np.float64],
        bottom: NDArray[np.float64],
        off: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A ratio of a sum over all rows that was measured by itself: with what both have in common, if one
        table holds them; else by bounds apart."""
        assert a.denominator is not None
        under = self.forms[a.denominator]
        apart = ratio(top, top_error, bottom, off, under.nonnegative)
        if np.isnan(apart[0]).any() or not set(under.attributes) <= {summed.name}:
            return apart
        weights = spread(under.attributes, under.weights(), (summed.name,))
        weights = np.broadcast_to(weights, summed.weights.shape)
        value, error = summed.over(weights, float(bottom[0]), float(off[0]))
        return np.array([value]), np.array([error])

    def _arrange(self, values: NDArray[np.float64]) -> NDArray[np.intp]:
        """Which groups are shown, in order: stable, so ties keep the declared order."""
        keys: list[NDArray[Any]] = []
        cells = self._cells if self.order else ()
        for sort in reversed(self.order):
            if sort.aggregate:
                null, key = np.isnan(values[:, sort.index]), np.nan_to_num(values[:, sort.index])
            else:
                column = self.groups[sort.index]
                key = column.ranks[cells[column.axis]].astype(np.float64)
                null = key < 0
            keys += [-key if sort.descending else key, ~null if sort.nulls_first else null]
        rows = np.lexsort(keys) if keys else np.arange(self.size)
        rows = rows if self.left is None else rows[self.left[rows]]
        return rows if self.limit is None else rows[: self.limit]

    def _refuse_units(self) -> None:
        for form in self.forms:
            if form.units:
                raise UnsupportedQuery(
                    f"{form.name} counts people, which must be measured (released tables count rows): "
                    "`hedgerow ask DATA SQL --within-count N` does, as do a Session within_count= and "
                    "Curator.measure"
                )

    def __repr__(self) -> str:
        return f"Question({self.text!r})"
