"""ModelSynopsis: answers from a factored hypothesis that was fitted to noisy tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hedgerow.errors import RangeTooLarge
from hedgerow.learning.factored.factored import FactoredHypothesis
from hedgerow.learning.residuals.basis import Basis
from hedgerow.queries.measurement import Measurement
from hedgerow.queries.moments import WithinBins
from hedgerow.queries.query import ONE, Query
from hedgerow.queries.question import Question
from hedgerow.queries.workload import Workload
from hedgerow.synopsis.answer import Answer
from hedgerow.synopsis.bars import TAILS, Bars, heavy, measured_bar, normal
from hedgerow.synopsis.cells import CellsSynopsis
from hedgerow.synopsis.learned import Learned
from hedgerow.synopsis.limits import KnownTable, MeasuredTable, measured_whole
from hedgerow.synopsis.synopsis import Provenance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.form import LinearForm
    from hedgerow.synopsis.answer import Source
    from hedgerow.synopsis.cells import Weighed

    Floats = NDArray[np.float64]

_WRITTEN = 1 << 22  # product queries over more cells are answered without their table
_PRODUCTS = 20_000  # so many of them in one statement
CHOSEN = 1.2  # of the last surprises: the variance that is left where tables were chosen
NEXT = 0.3  # ... in larger tables, where those of the workload were all measured
WHOLE = 0.03  # ... and all were compared with what single attributes make of them, before any was learned
_BEYOND = (
    "No measured table looks at so many attributes together: the error is indicative, and `limits` says "
    "what is certain."
)
_LEAST = 0.05  # of its noise's half width: no stated error is less
_SOFT = 1.5  # a corrected cell differs from its measurement by at most this many standard deviations


@dataclass(frozen=True, eq=False, repr=False)
class ModelSynopsis(CellsSynopsis):
    """A learned distribution over the whole domain; its errors are indicative only.

    Of a table that was itself measured at full detail the error is a bound: the noise, and how far the model
    went from what was measured. Anything else is known about as well as the tables that were predicted before
    they were measured (which were the worst ones). What only many attributes together show is in none of
    them: `limits` says what the measured tables leave possible.
    """

    learned: Learned | None = None
    kind: ClassVar[str] = "model"
    source: ClassVar[Source] = "learned"
    left_over: ClassVar[float] = CHOSEN

    @property
    def _learned(self) -> Learned:
        assert self.learned is not None
        return self.learned

    @property
    def hypothesis(self) -> FactoredHypothesis:
        """The fitted model."""
        return self._learned.hypothesis

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """Everything noisy that was released."""
        return self._learned.measurements

    @property
    def total(self) -> float:
        """The released number of rows."""
        return self.hypothesis.total

    @property
    def within(self) -> WithinBins | None:
        """What was measured of numbers within their bins."""
        moments = self._learned.moments
        return None if moments is None else WithinBins(moments, self._table)

    def _notes(self, question: Query | Workload | Question) -> tuple[str, ...]:
        """Whether a question looks at more attributes together than any measured table."""
        if self.source != "learned":
            return ()
        parts: Sequence[Any] = [question]
        if not isinstance(question, Query):
            parts = question.forms if isinstance(question, Question) else question.blocks
        return (_BEYOND,) if max((len(p.attributes) for p in parts), default=0) > self._order else ()

    @cached_property
    def _order(self) -> int:
        """How many attributes the measured tables look at together at most."""
        return max((len(t.attributes) for t in self._measured_tables), default=0)

    @cached_property
    def _measured_tables(self) -> list[MeasuredTable]:
        """Measured tables, and those whose residuals were measured."""
        held = self._learned.reconciled
        return [*super()._measured_tables, *(() if held is None else held.measured_tables())]

    def _error(self, asked: Weighed, confidence: float, numbers: int) -> float:
        """By its own noise where the table was measured, else by that of smaller ones and what is unknown."""
        attributes, table, weights = asked
        known = self._known(attributes)
        if known is not None:
            value, noisy = float((table * weights).sum()), float((known.counts * weights).sum())
            wide = known.half_width(confidence, weights, numbers)
            counts = bool((weights >= 0.0).all())
            own = measured_bar(
                value, noisy, known.deviation(weights), normal(confidence, numbers), counts=counts
            )
            return float(min(own, _reach(value, noisy, wide, counts=counts)))
        return self._half_width(*self._bars.variances(attributes, table, weights), confidence, numbers)

    @staticmethod
    def _half_width(noise: Any, left: Any, confidence: float, numbers: int) -> Any:
        z, t = normal(confidence, numbers), TAILS * heavy(confidence, numbers)
        return np.sqrt(z**2 * noise + t**2 * left)

    def _query(self, query: Query, confidence: float, numbers: int) -> tuple[float, float]:
        """A query; a product over a table too large to write out is answered without it."""
        if query.factors is None or self.domain.cells(query.attributes) <= _WRITTEN:
            return super()._query(query, confidence, numbers)
        share = self.hypothesis.expectation(query)
        squares = self.hypothesis.expectation(query, 2) * self.total
        left = max(squares, (query.largest / ONE) ** 2) * self._spread
        error = float(self._half_width(self._total_variance * share**2, left, confidence, numbers))
        return float(query.to_unit(share * self.total)), abs(query.scale) * error

    def _ask(self, question: Question, confidence: float, simultaneous: bool) -> Answer:
        """A statement; what cannot be written out as tables is answered as products."""
        try:
            return super()._ask(question, confidence, simultaneous)
        except RangeTooLarge:
            if question.size * len(question.forms) > _PRODUCTS:
                raise
        every = len(question.forms) * question.size if simultaneous else None

        def found(form: LinearForm, numbers: int) -> tuple[Floats, Floats]:
            pairs = np.zeros((question.size, 2))
            for g in range(question.size):
                for piece in form.rounded(g, fine=False):
                    value, error = self._query(piece.query, confidence, numbers)
                    pairs[g] += (piece.worth * value, abs(piece.worth) * error)
            return pairs[:, 0], pairs[:, 1]

        parts = [found(form, every or question.bounds(i)) for i, form in enumerate(question.forms)]
        values, errors = (np.stack([p[i] for p in parts]) for i in (0, 1))
        left = question.open(found, self.within, confidence, every)
        result = question.combine(values, errors, confidence=confidence, open_=left)
        notes = question.notes
        return Answer(
            result.value,
            result.error,
            confidence,
            self.source,
            simultaneous=simultaneous,
            notes=notes,
            table=result,
        )

    def _workload(self, workload: Workload, confidence: float, numbers: int) -> tuple[Any, Any]:
        """Whole tables at once, with an error for every cell."""
        if not workload.is_tables:
            return super()._workload(workload, confidence, numbers)
        values, errors = [], []
        for block in workload.blocks:
            table = self._table(block.attributes)
            known = self._known(block.attributes)
            if known is None:
                off = self._half_width(*self._bars.of_cells(block.attributes, table), confidence, numbers)
            else:
                deviation, z = known.variance**0.5, normal(confidence, numbers)
                off = measured_bar(table, known.counts, deviation, z, counts=True)
                wide = known.cell_width(confidence, numbers)
                off = np.minimum(off, _reach(table, known.counts, wide, counts=True))
            values.append(table.reshape(-1))
            errors.append(off.reshape(-1))
        return np.concatenate(values), np.concatenate(errors)

    @cached_property
    def _bars(self) -> Bars:
        """What is known of errors of tables that were not measured."""
        held = self._learned.reconciled
        if held is not None:
            deviations, basis = held.evidence.deviations, held.evidence.basis
        else:
            basis = Basis({a: self.domain[a].size for a in self.domain.names if self.domain[a].size > 1})
            ones = {(a,): known.variance**0.5 for a in basis.sizes if (known := self._known((a,)))}
            deviations = {(): self._total_variance**0.5} | ones
        return Bars(basis, deviations, self._one, self._spread)

    def _one(self, attribute: str) -> Floats:
        """The released distribution of an attribute."""
        table = np.maximum(self._table((attribute,)), 0.0)
        return np.asarray(table / max(float(table.sum()), 1e-300))

    @property
    def _spread(self) -> float:
        """The variance of the error of a cell that was not measured, in units of its count.

        Rows drawn from the true distribution differ from it by 1. Where tables were chosen, what is left is
        about what the last ones showed; where all were measured, the next ones show far less than those.
        """
        if self._learned.reconciled is None:
            return max(1.0, self.left_over * self._learned.spread)
        return 1.0 + (WHOLE if self.hypothesis.whole else NEXT) * self._learned.spread

    def _known(self, attributes: tuple[str, ...]) -> KnownTable | None:
        """The table as it was measured at full detail, if it was, and the noise of its cells.

        The model departs from it; by how much is known, and together with the noise a bound that holds.
        """
        kept: dict[tuple[str, ...], KnownTable | None] = self.__dict__.setdefault("_wholes", {})
        if attributes not in kept:
            held = self._learned.reconciled
            found = None if held is None else held.whole(self.domain, attributes)
            kept[attributes] = found or measured_whole(self.measurements, attributes)
        return kept[attributes]

    @property
    def _total_variance(self) -> float:
        if self._learned.reconciled is not None:
            return self._learned.reconciled.evidence.deviations[()] ** 2
        sums = [m.noise.variance * m.values.size for m in self.measurements]
        return 1.0 / sum(1.0 / max(v, 1e-9) for v in sums) if sums else 0.0

    def _table(self, names: tuple[str, ...]) -> Floats:
        held = self._learned.reconciled
        if held is not None:
            return held.read(self.domain, names, lambda: self.hypothesis.marginal(names) * self.total)
        table = self.hypothesis.marginal(names) * self.total
        return self._corrected(names, table) if self._learned.corrected else table

    def _corrected(self, names: tuple[str, ...], table: Floats) -> Floats:
        """The model moved towards a measured table, as far as their distance is more than noise."""
        for m in self.measurements:
            if m.workload is None and len(names) > 1 and set(m.attributes) == set(names):
                y = m.counts.transpose([m.attributes.index(a) for a in names])
                gap = y - table
                reach = _SOFT * float(np.sqrt(m.noise.variance))
                move = np.sign(gap) * np.maximum(np.abs(gap) - reach, 0.0)
                return np.asarray(table + move - move.mean())  # the total stays
        return table

    def sample(self, rows: int | None = None, *, seed: int | None = None) -> dict[str, NDArray[Any]]:
        """Synthetic rows from the model; as many as the released total unless said.

        More rows than the released total carry more of what the model knows: their rounding adds less error.
        """
        number = self._how_many(rows, seed)
        return self.domain.decode(self.hypothesis.sample(number, seed=seed))

    # -- files --------------------------------------------------------------------------------------------

    def _pack(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        return self._learned.pack(arrays)

    @classmethod
    def _unpack(
        cls, domain: Domain, provenance: Provenance, body: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> ModelSynopsis:
        return cls(domain, provenance, Learned.unpack(domain, body, arrays))


def _reach(value: Any, noisy: Any, wide: float, *, counts: bool) -> Any:
    """How far from an answer the truth may be that lies within `wide` of what was measured.

    Args:
        value: the answer.
        noisy: what was measured of it.
        wide: the half width of its noise.
        counts: whether the truth cannot be negative: then a cell put to 0 is off by what was measured above
            0, and its noise.
    """
    if not counts:
        return np.abs(value - noisy) + wide
    most = np.maximum(noisy, 0.0) + wide - value
    least = value - np.maximum(noisy - wide, 0.0)
    return np.maximum(np.maximum(most, least), _LEAST * wide)
