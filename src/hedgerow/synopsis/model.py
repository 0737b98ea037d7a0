"""ModelSynopsis: answers from a factored hypothesis that was fitted to noisy tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hedgerow.errors import RangeTooLarge
from hedgerow.learning.factored.factored import FactoredHypothesis
from hedgerow.queries.measurement import Measurement
from hedgerow.queries.moments import WithinBins
from hedgerow.queries.query import Query
from hedgerow.queries.question import Question
from hedgerow.queries.readings import Readings
from hedgerow.queries.workload import Workload
from hedgerow.synopsis.agreeing import AgreeingRows
from hedgerow.synopsis.answer import Answer
from hedgerow.synopsis.cells import CellsSynopsis
from hedgerow.synopsis.learned import Learned
from hedgerow.synopsis.left_out import left_out, pairs_of
from hedgerow.synopsis.limits import MeasuredTable
from hedgerow.synopsis.stated import CHOSEN, StatedErrors
from hedgerow.synopsis.synopsis import Provenance
from hedgerow.synopsis.table_sums import BoxedWeights, KeptTables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.form import LinearForm
    from hedgerow.queries.readings import Linear
    from hedgerow.synopsis.answer import Source
    from hedgerow.synopsis.cells import Weighed

    Floats = NDArray[np.float64]

_WRITTEN = 1 << 22  # product queries over more cells are answered without their table
_PRODUCTS = 20_000  # so many of them in one statement
_BEYOND = (
    "No measured table looks at so many attributes together: the error is indicative, and `limits` says "
    "what is certain."
)
_SOFT = 1.5  # a corrected cell differs from its measurement by at most this many standard deviations


@dataclass(frozen=True, eq=False, repr=False)
class ModelSynopsis(CellsSynopsis):
    """A learned distribution over the whole domain; its errors are indicative only.

    Of a table that was itself measured at full detail it follows from the law of the noise (`StatedErrors`).
    Anything else is known by what was measured of smaller tables, and about as well as tables were predicted
    before they were measured. What only many attributes together show is in none of them: `limits` says what
    the measured tables leave possible.
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
        """Whether a question looks at more attributes together than any measured table, or at other pairs."""
        if self.source != "learned":
            return ()
        parts: Sequence[Any] = [question]
        if not isinstance(question, Query):
            parts = question.forms if isinstance(question, Question) else question.blocks
        asked = [tuple(a for a in p.attributes if self.domain[a].size > 1) for p in parts]
        many = max(map(len, asked), default=0) > max(self._order, 2)
        return (*((_BEYOND,) if many else ()), *left_out(self._pairs, asked))

    @cached_property
    def _pairs(self) -> frozenset[frozenset[str]]:
        """The pairs of attributes that some measured table holds."""
        return pairs_of(t.attributes for t in self._measured_tables)

    @cached_property
    def _order(self) -> int:
        """How many attributes the measured tables look at together at most."""
        return max((len(t.attributes) for t in self._measured_tables), default=0)

    @cached_property
    def _measured_tables(self) -> list[MeasuredTable]:
        """Measured tables, and those whose residuals were measured."""
        held = self._learned.reconciled
        return [*super()._measured_tables, *(() if held is None else held.measured_tables())]

    @cached_property
    def _stated(self) -> StatedErrors:
        return StatedErrors(self.domain, self._learned, self._table, self.left_over)

    def _error(self, asked: Weighed, confidence: float, numbers: int) -> float:
        """By its own noise where the table was measured, else by that of smaller ones and what is unknown."""
        return self._stated.linear(*asked, confidence, numbers)

    def _readings(self) -> Linear:
        return Readings(self.linear, lambda names, weights: BoxedWeights(weights).counted(self._table(names)))

    def _query(self, query: Query, confidence: float, numbers: int) -> tuple[float, float]:
        """A query; a product over a table too large to write out is answered without it."""
        if query.factors is None or self.domain.cells(query.attributes) <= _WRITTEN:
            return super()._query(query, confidence, numbers)
        share = self.hypothesis.expectation(query)
        error = self._stated.product(query, share * self.total, confidence, numbers)
        return float(query.to_unit(share * self.total)), abs(query.scale) * error

    def _ask(self, question: Question, confidence: float, simultaneous: bool) -> Answer:
        """A statement; what cannot be written out as tables is answered as products."""
        try:
            return super()._ask(question, confidence, simultaneous)
        except RangeTooLarge:
            if question.size * len(question.forms) > _PRODUCTS:
                raise
        every = len(question.forms) * question.size if simultaneous else None

        def found(form: LinearForm, sure: float, numbers: int) -> tuple[Floats, Floats]:
            pairs = np.zeros((form.groups, 2))
            for g in range(form.groups):
                for piece in form.rounded(g, fine=False):
                    value, error = self._query(piece.query, sure, numbers)
                    pairs[g] += (piece.worth * value, abs(piece.worth) * error)
            return pairs[:, 0], pairs[:, 1]

        parts = [
            found(form, confidence, every or question.bounds(i)) for i, form in enumerate(question.forms)
        ]
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
            off = self._stated.cells(block.attributes, table, confidence, numbers)
            values.append(table.reshape(-1))
            errors.append(off.reshape(-1))
        return np.concatenate(values), np.concatenate(errors)

    def _table(self, names: tuple[str, ...]) -> Floats:
        return self._tables.table(names)

    @cached_property
    def _tables(self) -> KeptTables:
        """Those that were read: one statement reads a table for every group."""
        return KeptTables(self._read)

    def _read(self, names: tuple[str, ...]) -> Floats:
        table = self._learned.table(names)
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

    @cached_property
    def _agreeing(self) -> AgreeingRows:
        return AgreeingRows(self.domain, self._learned, self._table)

    def sample(self, rows: int | None = None, *, seed: int | None = None) -> dict[str, NDArray[Any]]:
        """Synthetic rows from the model, brought to the tables that answers are read from.

        As many as the released total unless said. More rows carry more of what is known: rounding them adds
        less error.
        """
        number = self._how_many(rows, seed)
        return self._spread(self._agreeing.draw(number, seed), seed)

    def sampled(self, rows: int, *, size: int, seed: int | None = None) -> Iterator[dict[str, NDArray[Any]]]:
        """Synthetic rows, a part at a time; all parts together are as near to the tables as one would be."""
        number, made = self._how_many(rows, seed), 0
        for part in self._agreeing.parts(number, seed, size):
            yield self._spread(part, None if seed is None else seed + made)
            made += size

    # -- files --------------------------------------------------------------------------------------------

    def _pack(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        return self._learned.pack(arrays)

    @classmethod
    def _unpack(
        cls, domain: Domain, provenance: Provenance, body: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> ModelSynopsis:
        return cls(domain, provenance, Learned.unpack(domain, body, arrays))
