"""SketchSynopsis: a random matrix's seed and a noisy vector, which answer sparse questions about names."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log, sqrt
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hedgerow.errors import UnsupportedQuery
from hedgerow.queries.argument import between
from hedgerow.queries.asked import asked_names
from hedgerow.queries.packing import pack_measurement, unpack_measurement
from hedgerow.queries.query import ONE, SparseQuery
from hedgerow.queries.strategies.sketch_matrix import SketchMatrix
from hedgerow.synopsis.answer import Answer
from hedgerow.synopsis.synopsis import Provenance, Synopsis

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.measurement import Measurement


@dataclass(frozen=True, eq=False, repr=False)
class SketchSynopsis(Synopsis):
    """u = A D + noise with the seed of A; a sparse question q is answered by <A q, u> / |column|^2.

    The error adds two bounds, each at half the allowed probability: the noise's own tail, and Chebyshev's
    bound on the matrix's distortion, whose variance is at most (|q|^2 |D|^2 + <q, D>^2)/T <= 2 |q|^2 |D|^2/T
    for 4-wise independent entries. It holds for questions that were fixed before the seed was published.
    """

    matrix: SketchMatrix | None = None
    vector: Measurement | None = None
    length: float = 0.0  # a bound on |D|_2
    miss: float = 0.0  # how often that bound may fail
    rows: float = 0.0
    kind: ClassVar[str] = "sketch"

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """The noisy vector."""
        return (self._vector,)

    @property
    def total(self) -> float:
        """The released number of rows."""
        return self.rows

    @property
    def _vector(self) -> Measurement:
        assert self.vector is not None
        return self.vector

    @property
    def _matrix(self) -> SketchMatrix:
        assert self.matrix is not None
        return self.matrix

    @cached_property
    def _scratch(self) -> tuple[Lock, NDArray[np.int64]]:
        size = self._matrix.size if self._matrix.columns == "blocks" else 0
        return Lock(), np.zeros(size, dtype=np.int64)  # one reader at a time

    def answer(self, question: Any, *, confidence: float = 0.95, simultaneous: bool = False) -> Answer:
        """Answer a sparse query, or a list of them.

        Args:
            question: a `SparseQuery`, or several.
            confidence: how often the error bound must hold.
            simultaneous: make the bound hold for all numbers of the answer at once.
        """
        between("a confidence", confidence)
        asked = asked_names(question)
        beta = self._left(confidence) / (len(asked) if simultaneous else 1)
        pairs = [self._sparse(q, beta) for q in asked]
        if isinstance(question, SparseQuery):
            return Answer(*pairs[0], confidence, self.source)
        values, errors = np.array(pairs, dtype=np.float64).T
        return Answer(values, errors, confidence, self.source, simultaneous=simultaneous)

    def _left(self, confidence: float) -> float:
        """The probability that is left for the noise and the matrix, once |D|_2 has had its part."""
        left = 1.0 - confidence - self.miss
        if left <= 0.0:
            raise UnsupportedQuery("the bound on the data's length is not sure enough for this confidence")
        return left

    def _sparse(self, query: SparseQuery, beta: float) -> tuple[float, float]:
        """A sparse query's value and its error bound."""
        weights = np.fromiter(query.texts.values(), np.int64, len(query.texts))
        lock, scratch = self._scratch
        with lock:
            found = self._matrix.read(query.texts, weights, self._vector.counts, scratch)
        unit = float(ONE) * self._matrix.column
        inner, spread, largest = found[0] / unit, sqrt(found[1]) / unit, found[2] / unit
        norm = sqrt(float((weights / ONE) @ (weights / ONE)))
        noise = self._noise(beta / 2.0, spread, largest)
        distortion = norm * self.length * sqrt(2.0 / self._matrix.size / (beta / 2.0))
        return float(query.to_unit(inner)), abs(query.scale) * (noise + distortion)

    def _noise(self, beta: float, spread: float, largest: float) -> float:
        """The tail of the noise's weighted sum; for Laplace noise Bernstein's, as it is sub-gamma."""
        law = self._vector.noise
        if law.family == "gaussian":
            return law.half_width(1.0 - beta, (spread,)) if spread else 0.0
        b, t = float(law.scale), log(2.0 / beta)
        return 2.0 * b * spread * sqrt(t) + b * largest * t

    def linear(
        self, attributes: tuple[str, ...], weights: NDArray[np.float64], confidence: float, numbers: int = 1
    ) -> tuple[float, float]:
        """Refused: an open domain has no attributes."""
        raise UnsupportedQuery("a sketch answers sparse queries about names, it has no tables")

    def _pack(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        m = self._matrix
        shape = {"size": m.size, "seed": m.seed.hex(), "columns": m.columns, "blocks": m.blocks}
        return {
            "matrix": shape | {"independence": m.independence},
            "vector": pack_measurement(self._vector, arrays),
            "length": self.length,
            "miss": self.miss,
            "rows": self.rows,
        }

    @classmethod
    def _unpack(
        cls, domain: Any, provenance: Provenance, body: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> SketchSynopsis:
        shape = body["matrix"]
        matrix = SketchMatrix(**{**shape, "seed": bytes.fromhex(shape["seed"])})
        vector = unpack_measurement(body["vector"], arrays)
        return cls(domain, provenance, matrix, vector, body["length"], body["miss"], body["rows"])
