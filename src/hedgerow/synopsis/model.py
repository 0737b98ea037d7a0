"""ModelSynopsis: answers from a factored hypothesis that was fitted to noisy tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hedgerow.errors import RangeTooLarge
from hedgerow.learning.factored.factored import FactoredHypothesis, Zeros
from hedgerow.learning.factored.resolution import Node, Resolutions
from hedgerow.queries.measurement import Measurement, Noise
from hedgerow.queries.moments import BinMoments, WithinBins
from hedgerow.queries.query import ONE, Query
from hedgerow.queries.question import Question
from hedgerow.queries.strategies.coarse import GroupBlock
from hedgerow.queries.workload import Workload
from hedgerow.synopsis.answer import Answer
from hedgerow.synopsis.cells import CellsSynopsis
from hedgerow.synopsis.limits import MeasuredTable, measured_whole
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
_WIDER = 2.0  # errors of cells that were not measured have heavier tails than the normal law
_FARTHER = 1.1  # ... and grow by so much with every attribute beyond those that any table has
_BEYOND = (
    "No measured table looks at so many attributes together: the error is indicative, and `limits` says "
    "what is certain."
)
_SOFT = 1.5  # a corrected cell differs from its measurement by at most this many standard deviations


@dataclass(frozen=True, eq=False)
class Learned:
    """What a release learned: the hypothesis, what it was fitted to, and how far off it seems.

    Args:
        hypothesis: the fitted model.
        measurements: everything noisy that it was fitted to.
        spread: the variance of an unmeasured cell's error, in units of its count.
        corrected: whether full tables among the measurements pull the model's answers towards them.
        moments: what was measured of numbers within their bins.
    """

    hypothesis: FactoredHypothesis
    measurements: tuple[Measurement, ...]
    spread: float
    corrected: bool = False
    moments: BinMoments | None = None

    def settled(self) -> Learned:
        """The same with a hypothesis as from a file: answers must not depend on how it was fitted."""
        h = self.hypothesis
        again = FactoredHypothesis.restore(
            h.domain, h.resolutions, h.potentials, h.fixed, total=h.total, cells=h.cells, whole=h.whole,
            zeros=h.zeros,
        )  # fmt: skip
        return replace(self, hypothesis=again)

    def pack(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        """As plain data; numbers go into `arrays`."""
        h = self.hypothesis

        def put(array: Any) -> str:
            name = f"a{len(arrays)}"
            arrays[name] = np.asarray(array)
            return name

        own = {} if self.moments is None else {"moments": self.moments.to_json(arrays)}
        return own | {
            "total": h.total,
            "cells": h.cells,
            "whole": h.whole,
            "spread": self.spread,
            "corrected": self.corrected,
            "resolutions": [[put(m) for m in chain] for chain in h.resolutions.maps],
            "potentials": [[[list(n) for n in nodes], put(t)] for nodes, t in h.potentials.items()],
            "fixed": [[[list(n) for n in nodes], put(t)] for nodes, t in h.fixed.items()],
            "zeros": [[list(z.attributes), put(z.possible)] for z in h.zeros],
            "measurements": [_pack_measurement(m, put) for m in self.measurements],
        }

    @classmethod
    def unpack(cls, domain: Domain, body: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Learned:
        """The inverse of `pack`."""

        def tables(items: list[Any]) -> dict[tuple[Node, ...], Floats]:
            return {tuple((int(a), int(r)) for a, r in nodes): arrays[name] for nodes, name in items}

        hypothesis = FactoredHypothesis.restore(
            domain,
            Resolutions(tuple(tuple(arrays[m] for m in chain) for chain in body["resolutions"])),
            tables(body["potentials"]),
            tables(body["fixed"]),
            total=float(body["total"]),
            cells=float(body["cells"]),
            whole=bool(body.get("whole", False)),
            zeros=[Zeros(tuple(names), arrays[name]) for names, name in body["zeros"]],
        )
        measured = tuple(_unpack_measurement(m, arrays) for m in body["measurements"])
        moments = BinMoments.from_json(domain, body.get("moments"), arrays)
        return cls(hypothesis, measured, float(body["spread"]), bool(body["corrected"]), moments)


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
        return max((len(t.attributes) for t in MeasuredTable.all_of(self.measurements)), default=0)

    def _error(self, asked: Weighed, confidence: float, numbers: int) -> float:
        """A bound where the table was measured, else what is indicative."""
        attributes, table, weights = asked
        known = self._known(attributes)
        if known is not None:
            gap = abs(float(((table - known[0]) * weights).sum()))
            return gap + known[1].half_width(confidence, weights, numbers)
        return _width(confidence, numbers) * float(np.sqrt(self._variance(attributes, table, weights)))

    def _query(self, query: Query, confidence: float, numbers: int) -> tuple[float, float]:
        """A query; a product over a table too large to write out is answered without it."""
        if query.factors is None or self.domain.cells(query.attributes) <= _WRITTEN:
            return super()._query(query, confidence, numbers)
        share = self.hypothesis.expectation(query)
        heavy = self.hypothesis.expectation(query, 2) * self.total
        largest = (query.largest / ONE) ** 2
        spread = self._spread(query.attributes)
        variance = max(heavy, largest) * spread + self._total_variance * share**2
        error = _width(confidence, numbers) * float(np.sqrt(variance))
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
            each = (
                np.maximum(table, 1.0) * self._spread(block.attributes)
                + self._total_variance * (table / self.total) ** 2
                + sum(v * share**2 * (1 - 1 / n) for share, v, n in self._inherited(block.attributes, table))
            )
            off = _width(confidence, numbers) * np.sqrt(each)
            known = self._known(block.attributes)
            if known is not None:
                off = np.abs(table - known[0]) + known[1].half_width(confidence, numbers=numbers)
            values.append(table.reshape(-1))
            errors.append(off.reshape(-1))
        return np.concatenate(values), np.concatenate(errors)

    def _variance(self, attributes: tuple[str, ...], table: Floats, weights: Floats) -> float:
        if not attributes:
            return self._total_variance * float((weights**2).sum())
        variance = self._total_variance * (float((table * weights).sum()) / self.total) ** 2
        for axis, (share, v, n) in enumerate(self._inherited(attributes, table)):
            others = tuple(i for i in range(table.ndim) if i != axis)
            variance += v * n * float(np.var((weights * share).sum(axis=others)))  # their sum is the total's
        return variance + float((weights**2 * np.maximum(table, 1.0)).sum()) * self._spread(attributes)

    def _inherited(self, attributes: tuple[str, ...], table: Floats) -> Iterator[tuple[Floats, float, int]]:
        """For each attribute: the part of its one-way cell in every cell, that one's variance, its levels.

        A level that is all noise hands its noise down to whichever cells the model has put it into.
        """
        for axis, name in enumerate(attributes):
            known = self._known((name,))
            others = tuple(i for i in range(table.ndim) if i != axis)
            ones = np.maximum(table.sum(axis=others, keepdims=True), 1.0)
            yield table / ones, 0.0 if known is None else known[1].variance, table.shape[axis]

    def _spread(self, attributes: tuple[str, ...]) -> float:
        """The variance of the error of a cell that was not measured, in units of its count."""
        beyond = max(0, len(attributes) - self._order)
        return self._learned.spread * (_WIDER * _FARTHER**beyond) ** 2

    def _known(self, attributes: tuple[str, ...]) -> tuple[Floats, Noise] | None:
        """The table as it was measured at full detail, if it was, and the noise of its cells.

        The model departs from it; by how much is known, and together with the noise a bound that holds.
        """
        kept: dict[tuple[str, ...], tuple[Floats, Noise] | None] = self.__dict__.setdefault("_wholes", {})
        if attributes not in kept:
            kept[attributes] = measured_whole(self.measurements, attributes)
        return kept[attributes]

    @property
    def _total_variance(self) -> float:
        sums = [m.noise.variance * m.values.size for m in self.measurements]
        return 1.0 / sum(1.0 / max(v, 1e-9) for v in sums) if sums else 0.0

    def _table(self, names: tuple[str, ...]) -> Floats:
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


def _width(confidence: float, numbers: int) -> float:
    """The normal quantile for so many numbers at once."""
    return NormalDist().inv_cdf(1.0 - (1.0 - confidence) / numbers / 2.0)


def _pack_measurement(measurement: Measurement, put: Any) -> dict[str, Any]:
    groups = None
    attributes = measurement.attributes
    if measurement.workload is not None:
        block = measurement.workload.blocks[0]
        assert isinstance(block, GroupBlock)
        attributes, groups = block.attributes, [put(g) for g in block.groups]
    return {
        "attributes": list(attributes),
        "groups": groups,
        "values": put(measurement.values),
        "noise": measurement.noise.to_json(),
        "private": measurement.private,
    } | ({"claims": list(measurement.claims)} if measurement.claims else {})


def _unpack_measurement(data: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Measurement:
    names, noise = tuple(data["attributes"]), Noise.from_json(data["noise"])
    values, private = arrays[data["values"]], bool(data["private"])
    if data["groups"] is None:
        return Measurement(names, values, noise, None, private, claims=tuple(data.get("claims", ())))
    block = GroupBlock(names, tuple(arrays[g].astype(np.int64) for g in data["groups"]))
    return Measurement((), values, noise, Workload([block], name=" x ".join(names)), private)
