"""BoostedSynopsis: several databases that fit sampled questions; the answer is their median."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hedgerow.errors import UnsupportedQuery
from hedgerow.queries import low_sensitivity
from hedgerow.queries.argument import number
from hedgerow.queries.low_sensitivity import is_low_sensitivity
from hedgerow.queries.packing import pack_workload, unpack_workload
from hedgerow.queries.query import ONE, Query
from hedgerow.queries.workload import Workload
from hedgerow.synopsis.answer import Answer
from hedgerow.synopsis.sampling import TreeModel
from hedgerow.synopsis.synopsis import Provenance, Synopsis

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain

_OWN = "this synopsis answers the questions of its own workload only"


@dataclass(frozen=True, eq=False, repr=False)
class BoostedSynopsis(Synopsis):
    """The medians of several databases' answers, right on all questions of one workload at once.

    Args:
        questions: the workload's, in order.
        values: the medians, in rows.
        histograms: the databases, one flat table of all cells each; None where some synopsis is no database.
        bound: lambda + mu in rows; the most that rows allow when a round failed or nothing is proven.
        sure: how often the bound holds for all questions at once.
        rows: the number of rows they were made for.
        failed: in how many rounds no database fitted.
        vacuous: whether the bound says nothing.
    """

    questions: tuple[Any, ...] = ()
    values: NDArray[np.float64] | None = None
    histograms: NDArray[np.float64] | None = None
    bound: float = float("inf")
    sure: float = 0.95
    rows: float = 0.0
    failed: int = 0
    vacuous: bool = False
    kind: ClassVar[str] = "boosted"

    @property
    def can(self) -> frozenset[str]:
        """Answers to its own questions; rows where every synopsis is a database."""
        return frozenset({"answer"} if self.histograms is None else {"answer", "sample"})

    @property
    def total(self) -> float:
        """The number of rows the databases were made for."""
        return self.rows

    @property
    def notes(self) -> tuple[str, ...]:
        """What must be known with every answer."""
        said = []
        if self.failed:
            said.append(f"In {self.failed} rounds no database fitted the noisy answers: nothing is promised.")
        elif self.vacuous:
            said.append("The error bound is vacuous: it is not below the number of rows.")
        return tuple(said)

    @cached_property
    def _places(self) -> dict[Any, int]:
        return {key_of(q): i for i, q in enumerate(self.questions)}

    @cached_property
    def _counted(self) -> dict[tuple[tuple[str, ...], bytes], int]:
        queries = ((i, q) for i, q in enumerate(self.questions) if isinstance(q, Query))
        return {(q.attributes, q.weights.astype(np.float64).tobytes()): i for i, q in queries}

    def answer(self, question: Any, *, confidence: float = 0.95, simultaneous: bool = False) -> Any:
        """Answer a question of the workload, or several; the bound holds for all of them at once.

        Args:
            question: any question whose queries are in the workload; also a question of low sensitivity, or a
                list of those.
            confidence: at most the one the release was made for, 1 - beta.
            simultaneous: the bound always is.
        """
        if not 0.0 < number("a confidence", confidence) <= self.sure:
            raise UnsupportedQuery(f"this release's error bound holds with confidence {self.sure:g} at most")
        if is_low_sensitivity(question):
            return Answer(*self._one(question), self.sure, self.source, notes=self.notes)
        if isinstance(question, Sequence) and question and all(is_low_sensitivity(q) for q in question):
            values, errors = np.array([self._one(q) for q in question], dtype=np.float64).T
            return Answer(values, errors, self.sure, self.source, simultaneous=True, notes=self.notes)
        return super().answer(question, confidence=self.sure, simultaneous=True)

    def _query(self, query: Query, confidence: float, numbers: int) -> tuple[float, float]:
        return self._one(query)

    def _notes(self, question: Any) -> tuple[str, ...]:
        return self.notes

    def _one(self, question: Any) -> tuple[float, float]:
        place = self._places.get(key_of(question))
        if place is None or self.values is None:
            raise UnsupportedQuery(_OWN)
        value, error = float(self.values[place]), self.bound
        if isinstance(question, Query):
            return float(question.to_unit(value)), abs(question.scale) * error
        return value, error

    def linear(
        self, attributes: tuple[str, ...], weights: NDArray[np.float64], confidence: float, numbers: int = 1
    ) -> tuple[float, float]:
        """A query of the workload, whatever its unit; anything else is refused."""
        place = self._counted.get((attributes, (np.asarray(weights) * ONE).tobytes()))
        if place is None or self.values is None:
            raise UnsupportedQuery(_OWN)
        return float(self.values[place]), self.bound

    def sample(self, rows: int | None = None, *, seed: int | None = None) -> dict[str, NDArray[Any]]:
        """Rows drawn from the average of the databases, which promises less than their median."""
        if self.histograms is None:
            return super().sample(rows, seed=seed)
        many = self._how_many(rows, seed)
        table = self.histograms.mean(axis=0).reshape(self.domain.shape)
        model = TreeModel.of(self.domain, [self.domain.names], lambda _: table)
        return self._spread(model.sample(many, seed), seed)

    def _pack(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        assert self.values is not None
        arrays["medians"] = self.values
        if self.histograms is not None:
            arrays["histograms"] = self.histograms
        low = is_low_sensitivity(self.questions[0])
        return {
            "low": [[type(q).__name__, q.__dict__] for q in self.questions] if low else None,
            "workload": None if low else pack_workload(Workload.of(list(self.questions)), arrays),
            "bound": self.bound,
            "sure": self.sure,
            "rows": self.rows,
            "failed": self.failed,
            "vacuous": self.vacuous,
        }

    @classmethod
    def _unpack(
        cls, domain: Domain, provenance: Provenance, body: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> BoostedSynopsis:
        if body["low"] is None:
            questions: tuple[Any, ...] = tuple(unpack_workload(body["workload"], arrays))
        else:
            kinds = {k.__name__: k for k in low_sensitivity.LowSensitivity.__args__}
            questions = tuple(kinds[name](**fields) for name, fields in body["low"])
        values, histograms = arrays["medians"], arrays.get("histograms")
        rest = (body[k] for k in ("bound", "sure", "rows", "failed", "vacuous"))
        return cls(domain, provenance, questions, values, histograms, *rest)


def key_of(question: Any) -> Any:
    """What makes a question the same as another: its weights and unit, or its kind and numbers."""
    return question.digest if isinstance(question, Query) else question
