"""StatedErrors: the errors that answers from a fitted model state, by what was measured beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.learning.ordered import many
from hedgerow.learning.residuals.basis import Basis
from hedgerow.queries.domain.bins import Bins
from hedgerow.queries.query import ONE
from hedgerow.synopsis.bars import Bars
from hedgerow.synopsis.excluded import by_excluded
from hedgerow.synopsis.grouped import GroupedTable
from hedgerow.synopsis.inherited import Inherited
from hedgerow.synopsis.limits import MeasuredTable
from hedgerow.synopsis.margins import KnownTable, measured_whole, ones_of
from hedgerow.synopsis.measured_bars import left_apart, stated_bar
from hedgerow.synopsis.quantiles import normal
from hedgerow.synopsis.reconciled import MeasuredResiduals
from hedgerow.synopsis.related import Related
from hedgerow.synopsis.table_sums import BoxedWeights, TableSums
from hedgerow.synopsis.unseen import thin, unseen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.learning.residuals.noisy import NoisyResiduals
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.query import Query
    from hedgerow.synopsis.beyond import Beyond
    from hedgerow.synopsis.learned import Learned

    Floats = NDArray[np.float64]
    Names = tuple[str, ...]

CHOSEN = 1.2  # of the last surprises: the variance that is left where tables were chosen
NEXT = 0.3  # ... in larger tables, where those of the workload were all measured
WHOLE = {2: 0.1}  # ... and all, of so many attributes, were compared with the smaller ones before
WHOLE_BEYOND = 0.03  # ... the same of three: what three attributes show together, four hardly do
_WRITTEN = 1 << 15  # cells: errors of products over larger tables are found without them
_MOVED = 2.0  # standard deviations: a model this far from a measured table is not so by noise
_ONE_DEVIATION = 0.6827  # so often a normal number is within its standard deviation
_KEPT = 1 << 23  # cells of tables whose sums are kept
_ASKED = 1 << 12  # weighted counts of each of which is kept what is known


@dataclass(frozen=True, eq=False)
class Untold:
    """What is known of a weighted count that was not measured, however sure its bar is to be.

    Args:
        largest: the largest weight.
        variances: by noise and chance, and by what is not known, in units of it.
        count: what is counted, in the same, if that is of several cells and no weight is negative.
        moved: how far single attributes' tables were moved that it follows, beyond noise.
        apart: the variance by what it has to do with what was not measured, and by other tables' noise.
    """

    largest: float
    variances: tuple[float, float]
    count: float | None
    moved: tuple[tuple[float, KnownTable, Floats], ...]
    apart: float


class StatedErrors:
    """How far off counts are that were read off a model.

    Of a table that was itself measured the error follows from its noise, and is never more than what noise
    and the distance to what was measured make certain. Of others it follows from what was measured of smaller
    tables, and from how far the model was from tables before it had seen them: indicative only.

    Args:
        domain: the declared attributes.
        learned: what a release learned.
        table: reads a table of it, in rows.
        left_over: the part of the last surprises that is left in what was not measured.
    """

    def __init__(
        self,
        domain: Domain,
        learned: Learned,
        table: Callable[[Names], Floats],
        left_over: float = CHOSEN,
    ) -> None:
        self.domain, self.learned, self._table, self._left_over = domain, learned, table, left_over
        self._wholes: dict[Names, KnownTable | None] = {}
        self._thin: dict[str, bool] = {}
        self._groups: dict[Names, list[GroupedTable]] = {}
        self._sums: dict[Names, tuple[TableSums, dict[bytes, Untold]]] = {}

    def linear(
        self, attributes: Names, table: Floats, weights: Floats, confidence: float, numbers: int
    ) -> float:
        """Of a weighted count of a table, as one of so many numbers."""
        if (known := self.known(attributes)) is None:
            return self._unmeasured(attributes, table, weights, confidence, numbers)
        value, noisy = float((table * weights).sum()), float((known.counts * weights).sum())
        wide = known.half_width(confidence, weights, numbers)
        counts, deviation = bool((weights >= 0.0).all()), known.deviation(weights)
        apart = None if counts or float(weights.max()) <= 0.0 else left_apart(known, table, weights)
        stated = float(stated_bar(value, noisy, deviation, wide, counts=counts, numbers=numbers, apart=apart))
        if len(attributes) > 1 and any(map(self._is_thin, attributes)):  # all but nothing was measured
            stated = min(stated, self._unmeasured(attributes, table, weights, confidence, numbers))
        for t in self._grouped(attributes) if np.count_nonzero(weights) > 1 else ():
            told, left = self._told(t, table, weights, confidence, numbers), t.parts(table, weights)[1]
            gap, off = float(((table - known.counts) * left).sum()), known.deviation(left)
            wide = known.half_width(confidence, left, numbers)
            rest = float(stated_bar(gap, 0.0, off, wide, counts=False, numbers=numbers))
            stated = min(stated, float(np.hypot(told, rest)))
        return stated

    def _told(
        self, t: GroupedTable, table: Floats, weights: Floats, confidence: float, numbers: int
    ) -> float:
        """Of a weighted count of groups of levels, by what was measured of them."""
        names = t.measured.attributes

        def alone(axis: int, levels: Floats) -> float | None:
            if (known := self.known((names[axis],))) is None:
                return None
            own = table.sum(axis=tuple(i for i in range(table.ndim) if i != axis))
            wide, off = known.half_width(confidence, levels, numbers), known.deviation(levels)
            value, noisy = float(own @ levels), float(known.counts @ levels)
            return float(stated_bar(value, noisy, off, wide, counts=False, numbers=numbers))

        return t.bar(table, weights, confidence, numbers, alone)

    def _grouped(self, attributes: Names) -> list[GroupedTable]:
        """The same table as it was measured with levels of a number of many put together, if it was."""
        if attributes not in self._groups:
            tables = MeasuredTable.all_of(self.learned.measurements)
            numbers = any(many(self.domain[a]) for a in attributes)
            self._groups[attributes] = GroupedTable.of(tables, attributes) if numbers else []
        return self._groups[attributes]

    def _unmeasured(
        self, attributes: Names, table: Floats, weights: Floats, confidence: float, numbers: int
    ) -> float:
        """Of a weighted count by what is known of its table, or of the few rows that it leaves out."""
        itself = partial(self._in_groups, confidence=confidence, numbers=numbers)

        def smaller(names: Names, some: Floats) -> float:
            return self.linear(names, self._table(names), some, confidence, numbers)

        asked = attributes, table, weights
        return min(itself(*asked), by_excluded(*asked, smaller, itself))

    def _in_groups(
        self, attributes: Names, table: Floats, weights: Floats, confidence: float, numbers: int
    ) -> float:
        """By what is known of a table in groups, or of smaller ones.

        Groups tell of sums over levels, where errors add up; a single cell has its bar in any table.
        """
        grouped = self._grouped(attributes)
        if not grouped or np.count_nonzero(weights) == 1:
            return self._untold(attributes, table, weights, confidence, numbers)
        found = []
        for t in grouped:
            left = t.parts(table, weights)[1]
            inside = normal(confidence, numbers) * t.within(table, weights)
            rest = self._usual(attributes, table, left, confidence, numbers)
            told = self._told(t, table, weights, confidence, numbers)
            found.append(float(np.hypot(np.hypot(told, inside), rest)))
        return min(found)

    def _untold(
        self, attributes: Names, table: Floats, weights: Floats, confidence: float, numbers: int
    ) -> float:
        """Of a weighted count of a table by what is known of smaller ones."""
        found = self._found(attributes, table, weights)
        usual = found.largest * self.bars.half_width(
            attributes, found.variances, confidence, numbers, found.count
        )
        moved = max(
            (gap + known.half_width(confidence, each, numbers) for gap, known, each in found.moved), default=0
        )
        return float(np.hypot(np.hypot(usual, moved), normal(confidence, numbers) * found.apart**0.5))

    def _found(self, attributes: Names, table: Floats, weights: Floats) -> Untold:
        """What that follows from, however sure a bar is to be; kept, as the same sums are asked again."""
        sums, kept = self._sums.get(attributes, (None, {}))
        if sums is None or sums.table is not table:
            if sum(known.table.size for known, _ in [*self._sums.values()]) > _KEPT:
                self._sums.clear()
            sums, kept = self._sums[attributes] = TableSums(table), {}
        asked = BoxedWeights(np.asarray(weights, dtype=np.float64))
        found = kept.get(asked.key)
        if found is None:
            apart = self._unseen(attributes, sums, asked) ** 2 + self._inherited(attributes, sums, asked)
            usual = self._varied(attributes, table, asked)
            found = Untold(*usual, self._moved(attributes, sums, asked), apart)
            if len(kept) >= _ASKED:
                kept.clear()
            kept[asked.key] = found
        return found

    def _usual(
        self, attributes: Names, table: Floats, weights: Floats, confidence: float, numbers: int
    ) -> float:
        """The same by noise, chance and what a look at other tables found."""
        largest, found, count = self._varied(attributes, table, BoxedWeights(weights))
        return largest * float(self.bars.half_width(attributes, found, confidence, numbers, count))

    def _varied(
        self, attributes: Names, table: Floats, weights: BoxedWeights
    ) -> tuple[float, tuple[float, float], float | None]:
        """The largest weight, variances in units of it, and what is counted if no weight is negative."""
        factors = weights.factors if table.size > _WRITTEN else None
        largest = 1.0 if factors is None else factors[0]
        count = weights.counted(table) / largest
        if factors is None:
            found = self.bars.variances(attributes, table, weights.array)
        else:
            found = self.bars.of_product(attributes, factors[1], count, table)
        sums = weights.some > 1 and float(weights.inside.min()) >= 0.0
        return largest, found, count if sums else None

    def _inherited(self, attributes: Names, sums: TableSums, weights: BoxedWeights) -> float:
        """The variance of a sum of cells by the noise of chosen tables, through which attributes are joined.

        A single cell's is part of what a look found of its table.
        """
        some = len(attributes) > 1 and weights.some > 1
        if not some or self.learned.reconciled is not None or self.learned.hypothesis.whole:
            return 0.0
        return self._noise.variance(attributes, sums.table, weights.array)

    @cached_property
    def _noise(self) -> Inherited:
        """What chosen tables hand on."""
        tables = MeasuredTable.all_of(self.learned.measurements)
        return Inherited(self.domain, self.learned.hypothesis.marginal, tables)

    def _unseen(self, attributes: Names, sums: TableSums, weights: BoxedWeights) -> float:
        """The standard deviation by how numbers may go together with what they were not measured with.

        What is known of a pair in groups of levels is taken from there, of others a usual correlation.
        """
        worst = 0.0
        numbers = [i for i, a in enumerate(attributes) if len(attributes) > 1 and many(self.domain[a])]
        for i in numbers:
            a, others = attributes[i], [j for j in range(len(attributes)) if j != i]
            pairs = [tuple(attributes[k] for k in sorted((i, j))) for j in others]
            grouped = len(pairs) > 1 and any(self._grouped(p) for p in pairs)
            if self._is_thin(a) and not grouped:
                worst = max(worst, unseen(sums.table, weights.array, i))
            elif grouped or self.learned.hypothesis.whole:
                each = (self._of_pair(i, j, attributes, sums, weights) for j in others)
                worst = max(worst, float(np.sqrt(sum(v**2 for v in each))))
        return worst

    def _of_pair(self, i: int, j: int, attributes: Names, sums: TableSums, weights: BoxedWeights) -> float:
        """The same of a number and one other attribute; nothing where both were measured level by level."""
        pair = tuple(attributes[k] for k in sorted((i, j)))
        if self.known(pair) is not None and not self._is_thin(attributes[i]):
            return 0.0
        out = tuple(k for k in range(len(attributes)) if k not in (i, j))
        rows = sums.over(out)
        means = weights.sums(sums.table, out) / np.maximum(rows, 1e-9)
        found = [
            np.hypot(self._told(t, rows, means, _ONE_DEVIATION, 1), t.within(rows, means))
            for t in self._grouped(pair)
        ]
        return float(min(found)) if found else unseen(rows, means, int(i > j))

    def _is_thin(self, attribute: str) -> bool:
        if attribute not in self._thin:
            body = self.domain[attribute]
            known = self.known((attribute,)) if isinstance(body, Bins) else None
            self._thin[attribute] = known is not None and thin(body, known.counts, known.variance**0.5)
        return self._thin[attribute]

    def _moved(
        self, attributes: Names, sums: TableSums, weights: BoxedWeights
    ) -> tuple[tuple[float, KnownTable, Floats], ...]:
        """How far an answer was moved by what is wrong with tables of one attribute, beyond noise.

        No model has negative cells. Where an attribute has many levels and few rows, that moves its rows
        towards the middle of them, in every group: its noisy table, which was not moved, says how far.
        A single cell's own noise is all that it was moved by. Each gap comes with the levels' weights in it.
        """
        found, total = [], max(sums.total, 1.0)
        for i, a in enumerate(attributes if weights.some > 1 else ()):
            if (known := self.known((a,))) is None:
                continue
            rest = tuple(j for j in range(len(attributes)) if j != i)
            own, usual = sums.over(rest), np.expand_dims(sums.over((i,)), i) / total
            sigma = known.variance**0.5  # rows: a level of fewer has weights as all rows have
            rows = weights.sums(sums.table, rest)
            each = (rows + sigma * weights.sums(usual, rest)) / (own + sigma)
            gap = abs(float(((own - known.counts) * each).sum()))
            if gap > _MOVED * known.deviation(each):
                found.append((gap, known, each))
        return tuple(found)

    def cells(self, attributes: Names, table: Floats, confidence: float, numbers: int) -> Floats:
        """Of every cell of a table."""
        if (known := self.known(attributes)) is None:
            found = self.bars.of_cells(attributes, table)
            return np.asarray(self.bars.half_width(attributes, found, confidence, numbers))
        deviation, wide = known.variance**0.5, known.cell_width(confidence, numbers)
        return np.asarray(
            stated_bar(table, known.counts, deviation, wide, counts=True, numbers=numbers), dtype=np.float64
        )

    def product(self, query: Query, count: float, confidence: float, numbers: int) -> float:
        """Of a product whose table is not written out, in rows."""
        assert query.factors is not None
        factors = [np.asarray(f, dtype=np.float64) for f in query.factors]
        tops = [float(f.max(initial=0.0)) or 1.0 for f in factors]
        weights = [f / top for f, top in zip(factors, tops, strict=True)]
        largest = query.largest / ONE
        count = count / max(largest, 1e-300)
        found = self.bars.of_product(query.attributes, weights, count)
        sums = any(np.count_nonzero(w) > 1 for w in weights)
        width = self.bars.half_width(query.attributes, found, confidence, numbers, count if sums else None)
        return largest * float(width)

    def known(self, attributes: Names) -> KnownTable | None:
        """The table as it was measured at full detail, if it was, and the noise of its cells."""
        if attributes not in self._wholes:
            held = self.learned.reconciled
            found = self._alone(attributes) if held is None else held.whole(self.domain, attributes)
            self._wholes[attributes] = found or measured_whole(self.learned.measurements, attributes)
        return self._wholes[attributes]

    def _alone(self, attributes: Names) -> KnownTable | None:
        """One attribute's table by all that were measured, where they are noisy enough to add up."""
        if len(attributes) != 1 or self._ones is None or attributes not in self._ones.values:
            return None
        return MeasuredResiduals(self._ones, self.domain, attributes, attributes)

    @cached_property
    def _ones(self) -> NoisyResiduals | None:
        """What all measured tables say of single attributes, where tables were chosen."""
        return (
            None if self.learned.reconciled is not None else ones_of(self.domain, self.learned.measurements)
        )

    @property
    def total_variance(self) -> float:
        """Of the number of rows."""
        if self.learned.reconciled is not None:
            return self.learned.reconciled.evidence.deviations[()] ** 2
        sums = [m.noise.variance * m.values.size for m in self.learned.measurements]
        return 1.0 / sum(1.0 / max(v, 1e-9) for v in sums) if sums else 0.0

    @cached_property
    def bars(self) -> Bars:
        """What is known of errors of tables that were not measured."""
        return self.bars_of(self.spread, self.learned.beyond)

    def bars_of(self, spread: float, beyond: Beyond | None = None) -> Bars:
        """The same by a spread of all of them, or what a look at some of them found."""
        held = self.learned.reconciled
        if held is not None:
            known, basis = held.evidence.deviations, held.evidence.basis
            return Bars(basis, known, self._one, spread, beyond, related=self._related)
        basis = Basis({a: self.domain[a].size for a in self.domain.names if self.domain[a].size > 1})
        deviations: dict[Names, float] = {(): self.total_variance**0.5}
        for a in basis.sizes:  # by its own table alone: so `CHOSEN` was found
            own = measured_whole(self.learned.measurements, (a,), margins=False)
            deviations |= {} if own is None else {(a,): own.variance**0.5}
        return Bars(basis, deviations, self._one, spread, beyond, chosen=True, related=self._related)

    @cached_property
    def _related(self) -> Related:
        """How two numbers may go together that were not measured."""
        bins = {a: len(b.values) for a in self.domain.names if isinstance(b := self.domain[a], Bins)}
        chosen = [t for t in MeasuredTable.all_of(self.learned.measurements) if len(t.attributes) > 1]
        usual = float(np.median([t.noise.variance for t in chosen])) ** 0.5 if chosen else None
        return Related.of(bins, self.learned.hypothesis.total, usual, [t.attributes for t in chosen])

    def _one(self, attribute: str) -> Floats:
        """The released distribution of an attribute."""
        table = np.maximum(self._table((attribute,)), 0.0)
        return np.asarray(table / max(float(table.sum()), 1e-300))

    @property
    def spread(self) -> float:
        """The variance of the error of a cell that was not measured, in units of its count.

        Rows drawn from the true distribution differ from it by 1. Where tables were chosen, what is left is
        about what the last ones showed. Where all were measured, larger ones were looked at (`Beyond`); in
        files of before they were not, and are taken to show far less than those.
        """
        if self.learned.reconciled is None:
            return max(1.0, self._left_over * self.learned.spread)
        if not self.learned.hypothesis.whole:
            return 1.0 + NEXT * self.learned.spread
        order = max(map(len, self.learned.reconciled.evidence.values))
        return 1.0 + WHOLE.get(order, WHOLE_BEYOND) * self.learned.spread
