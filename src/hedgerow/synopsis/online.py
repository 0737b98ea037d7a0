"""What an interactive run leaves to take home: its hypothesis, and everything that it said with a bound.

Post-processing of what was released ([BR11] Cor. 3.11: ask a class of questions, publish what was said). What
was asked is answered as it was then, within the bound that it had then; all of these hold at once with the
run's own confidence. Of any other question only what is trivially true can be said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hedgerow.errors import UnsupportedQuery
from hedgerow.learning.dense.dense import DenseHypothesis
from hedgerow.learning.sparse.sparse import SparseHypothesis
from hedgerow.queries.argument import between
from hedgerow.queries.packing import pack_measurement, unpack_measurement
from hedgerow.queries.query import ONE, Query, SparseQuery
from hedgerow.queries.question import Question
from hedgerow.queries.workload import Workload
from hedgerow.synopsis.answer import Answer
from hedgerow.synopsis.dense import DenseSynopsis, settled
from hedgerow.synopsis.learned import Learned
from hedgerow.synopsis.synopsis import Provenance, Synopsis
from hedgerow.synopsis.transcript import SOURCES, UNTESTED, Transcript, key_of, key_of_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.measurement import Measurement

    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class OnlineSynopsis(DenseSynopsis):
    """What a run over a declared domain said, and the distribution that it had learned in the end.

    Tables and rows are the distribution's; an answer to a question that was asked is what was said.
    """

    transcript: Transcript | None = None
    kind: ClassVar[str] = "online"

    @classmethod
    def of(
        cls,
        domain: Domain,
        provenance: Provenance,
        hypothesis: DenseHypothesis,
        transcript: Transcript,
        measured: tuple[Measurement, ...] = (),
    ) -> OnlineSynopsis:
        """From a run's hypothesis and transcript, and the measured number of rows if it was."""
        held: Any = settled(hypothesis)
        return cls(domain, provenance, Learned(held, measured, 0.0), transcript)

    @property
    def _said(self) -> Transcript:
        assert self.transcript is not None
        return self.transcript

    def answer(self, question: Any, *, confidence: float = 0.95, simultaneous: bool = False) -> Answer:
        """As every synopsis; the bounds of what the run said hold at once with the run's confidence.

        Args:
            question: a query, a list of queries, a workload, or a compiled SQL statement.
            confidence: how often the error bound must hold; above the run's own it is the trivial one.
            simultaneous: makes no difference: the bounds hold at once.
        """
        found = super().answer(question, confidence=confidence, simultaneous=True)
        return _with_sources(found, self._sources(question), isinstance(question, Query | Question))

    def linear(
        self, attributes: tuple[str, ...], weights: Floats, confidence: float, numbers: int = 1
    ) -> tuple[float, float]:
        """A weighted count and its bound."""
        whole = np.asarray(weights, dtype=np.float64)
        guess = float((self._table(attributes) * whole).sum())
        least, most = (float(f(whole, initial=0.0)) for f in (np.min, np.max))
        key = key_of_weights(attributes, whole)
        return self._said.bounded(key, guess, least, most, self.total, confidence)[:2]

    def _query(self, query: Query, confidence: float, numbers: int) -> tuple[float, float]:
        """A query, in its unit; the hypothesis is asked as the run asked it."""
        for name in query.attributes:
            self.domain[name]
        guess = self.hypothesis.answer(query) * self.total
        largest = query.largest / ONE
        value, error, _ = self._said.bounded(key_of(query), guess, 0.0, largest, self.total, confidence)
        return float(query.to_unit(value)), abs(query.scale) * error

    def _workload(self, workload: Workload, confidence: float, numbers: int) -> tuple[Any, Any]:
        pairs = [self._query(q, confidence, numbers) for q in workload]
        values, errors = (np.array(x, dtype=np.float64) for x in zip(*pairs, strict=True))
        return values, errors

    def _sources(self, question: Any) -> list[int]:
        """Where the numbers of an answer come from; those of a statement from all that it is made of."""
        if isinstance(question, Question):
            forms = [(f, g) for f in question.forms for g in range(question.size)]
            keys: list[str | None] = [key_of_weights(f.attributes, f.weights(g)) for f, g in forms]
        else:
            keys = [key_of(q) for q in ([question] if isinstance(question, Query) else Workload.of(question))]
        return [self._said.known.get(key or "", (0.0, 0.0, 0))[2] for key in keys]

    def _notes(self, question: Any) -> tuple[str, ...]:
        return ()  # added with the sources

    def _pack(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        return super()._pack(arrays) | {"transcript": self._said.pack(arrays)}

    @classmethod
    def _unpack(
        cls, domain: Domain, provenance: Provenance, body: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> OnlineSynopsis:
        learned = DenseSynopsis._unpack(domain, provenance, body, arrays).learned
        return cls(domain, provenance, learned, Transcript.unpack(body["transcript"], arrays))


@dataclass(frozen=True, eq=False, repr=False)
class OnlineNamesSynopsis(Synopsis):
    """What a run over names without end said, and the weights of the names that it had learned."""

    hypothesis: SparseHypothesis | None = None
    transcript: Transcript | None = None
    measured: tuple[Measurement, ...] = ()
    kind: ClassVar[str] = "online-names"

    @classmethod
    def of(
        cls,
        domain: Any,
        provenance: Provenance,
        hypothesis: SparseHypothesis,
        transcript: Transcript,
        measured: tuple[Measurement, ...] = (),
    ) -> OnlineNamesSynopsis:
        """From a run's hypothesis and transcript, and the measured number of rows if it was."""
        held = SparseHypothesis.of_names(*hypothesis.names(), hypothesis.sparsity, total=hypothesis.total)
        return cls(domain, provenance, held, transcript, measured)

    @property
    def can(self) -> frozenset[str]:
        """Only answers, to sparse queries."""
        return frozenset({"answer"})

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """The number of rows, where that was measured."""
        return self.measured

    @property
    def total(self) -> float:
        """The released number of rows."""
        assert self.hypothesis is not None
        return self.hypothesis.total

    def answer(self, question: Any, *, confidence: float = 0.95, simultaneous: bool = False) -> Answer:
        """Answer a sparse query, or a list of them; see `OnlineSynopsis.answer`."""
        between("a confidence", confidence)
        single = isinstance(question, SparseQuery)
        asked = [question] if single else question
        if not isinstance(asked, Sequence) or not asked or not all(isinstance(q, SparseQuery) for q in asked):
            raise UnsupportedQuery(
                "this synopsis answers sparse queries: {name: weight}, one or a list of them"
            )
        rows = [self._sparse(q.by_text, confidence) for q in asked]
        values, errors, sources = (np.array(x) for x in zip(*rows, strict=True))
        value, error = (rows[0][0], rows[0][1]) if single else (values, errors)
        found = Answer(value, error, confidence, "learned", simultaneous=True)
        return _with_sources(found, sources.tolist(), single)

    def _sparse(self, query: SparseQuery, confidence: float) -> tuple[float, float, int]:
        """Value, error and source of one question, in its unit."""
        assert self.hypothesis is not None
        assert self.transcript is not None
        guess, largest = self.hypothesis.answer(query) * self.total, query.largest / ONE
        value, error, source = self.transcript.bounded(
            key_of(query), guess, 0.0, largest, self.total, confidence
        )
        return float(query.to_unit(value)), abs(query.scale) * error, source

    def linear(
        self, attributes: tuple[str, ...], weights: Floats, confidence: float, numbers: int = 1
    ) -> tuple[float, float]:
        """Refused: an open domain has no attributes."""
        raise UnsupportedQuery("this synopsis answers sparse queries about names, it has no tables")

    def _pack(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        assert self.hypothesis is not None
        assert self.transcript is not None
        names, arrays["weights"], size = self.hypothesis.names()
        held = {"names": names, "size": size, "sparsity": self.hypothesis.sparsity, "total": self.total}
        measured = [pack_measurement(m, arrays) for m in self.measured]
        return held | {"measured": measured, "transcript": self.transcript.pack(arrays)}

    @classmethod
    def _unpack(
        cls, domain: Any, provenance: Provenance, body: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> OnlineNamesSynopsis:
        held = SparseHypothesis.of_names(
            body["names"], arrays["weights"], int(body["size"]), int(body["sparsity"]), total=body["total"]
        )
        measured = tuple(unpack_measurement(m, arrays) for m in body["measured"])
        return cls(domain, provenance, held, Transcript.unpack(body["transcript"], arrays), measured)


def _with_sources(found: Answer, sources: list[int], single: bool) -> Answer:
    """The answer with the source of each number, and of all the least; what was not tested says so."""
    least = min(sources, default=0)
    notes = found.notes if least else (*found.notes, UNTESTED)
    each = None if single else np.array(SOURCES)[sources]
    return replace(found, source=SOURCES[least], sources=each, notes=notes)
