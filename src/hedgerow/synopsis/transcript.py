"""Transcript: what an interactive run said, question by question, and how sure all of it is at once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import RangeTooLarge
from hedgerow.queries.measurement import Noise
from hedgerow.queries.packing import pack_questions, unpack_questions
from hedgerow.queries.query import ONE, Query, SparseQuery
from hedgerow.queries.workload import Workload
from hedgerow.synopsis.answer import Source

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SOURCES: tuple[Source, ...] = ("learned", "certified", "measured")
"""From the least that can be said of an answer on."""

UNTESTED = (
    "No test has compared this answer with the rows: its error is the most that a count could be off by."
)

Call = tuple["Workload | list[SparseQuery]", slice, "Floats", "Floats", "NDArray[np.int8]"]


@dataclass(frozen=True, eq=False)
class Transcript:
    """Answers that were given with a bound, in rows: all of the bounds hold at once, except with `beta`.

    Args:
        questions: lists of questions, each packed as one text.
        places: for every call: which list, from which question on, how many of them.
        values, errors, sources: of the answers, in order; sources by number.
        beta: the probability that some bound fails.
        off: how far the number of rows may be off, within that probability.
        law: the noise of that number where it was measured; None where it is public or declared.
    """

    questions: tuple[str, ...]
    places: tuple[tuple[int, int, int], ...]
    values: Floats
    errors: Floats
    sources: NDArray[np.int8]
    beta: float
    off: float = 0.0
    law: Noise | None = None

    @classmethod
    def of(cls, calls: Iterable[Call], beta: float, off: float = 0.0, law: Noise | None = None) -> Transcript:
        """Put down what was said, call by call."""
        texts: dict[str, int] = {}
        places, said = [], []
        for questions, part, *answers in calls:
            which = texts.setdefault(pack_questions(questions), len(texts))
            places.append((which, part.start, part.stop - part.start))
            said.append(answers)
        kinds = (np.float64, np.float64, np.int8)
        held = [np.concatenate([np.zeros(0, k), *(a[i] for a in said)]) for i, k in enumerate(kinds)]
        return cls(tuple(texts), tuple(places), held[0], held[1], held[2].astype(np.int8), beta, off, law)

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def known(self) -> dict[str, tuple[float, float, int]]:
        """Value, error and source of each question; of one asked twice the best, or else the last."""
        found: dict[str, tuple[float, float, int]] = {}
        lists = [unpack_questions(text) for text in self.questions]
        at = 0
        for which, start, count in self.places:
            for i in range(start, start + count):
                key = key_of(lists[which][i])
                value, error = float(self.values[at]), float(self.errors[at])
                if key is not None and error <= found.get(key, (0.0, np.inf, 0))[1]:
                    found[key] = value, error, int(self.sources[at])
                at += 1
        return found

    def bounded(
        self, key: str | None, guess: float, least: float, most: float, rows: float, confidence: float
    ) -> tuple[float, float, int]:
        """What was said, or else the guess; an error that holds at this confidence; and the source.

        Args:
            key: of the question, see `key_of`.
            guess: what the hypothesis says, in rows.
            least, most: the smallest and the largest weight of a row.
            rows: how many rows there are, up to `off`.
            confidence: how often the error must hold.
        """
        sure = confidence <= 1.0 - self.beta + 1e-12
        off = self.off if sure or self.law is None else self.law.half_width(confidence)
        value, error, source = self.known.get(key or "", (guess, np.inf, 0))
        trivial = max(most * (rows + off) - value, value - least * (rows + off))
        return value, max(0.0, min(error if sure else np.inf, trivial)), source

    def pack(self, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        """As plain data, numbers into `arrays`."""
        arrays |= {"said_values": self.values, "said_errors": self.errors, "said_sources": self.sources}
        law = None if self.law is None else self.law.to_json()
        sure = {"beta": self.beta, "off": self.off, "law": law}
        return {"questions": list(self.questions), "places": [list(p) for p in self.places]} | sure

    @classmethod
    def unpack(cls, data: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Transcript:
        """The inverse of `pack`."""
        law = None if data["law"] is None else Noise.from_json(data["law"])
        places = tuple((int(a), int(b), int(c)) for a, b, c in data["places"])
        values, errors, sources = (arrays[f"said_{name}"] for name in ("values", "errors", "sources"))
        sure = float(data["beta"]), float(data["off"]), law
        return cls(tuple(data["questions"]), places, values, errors, sources, *sure)


def key_of(question: Query | SparseQuery) -> str | None:
    """A fingerprint of what a question counts, whatever its unit; None where it cannot be written out."""
    if isinstance(question, SparseQuery):
        named = sorted((name, weight) for name, weight in question.texts.items() if weight)
        return hashlib.sha256(repr(named).encode()).hexdigest()
    try:
        weights = replace(question).weights  # of a copy: weights that were written out once stay in memory
    except RangeTooLarge:
        return None
    return key_of_weights(question.attributes, weights / ONE)


def key_of_weights(attributes: tuple[str, ...], weights: Floats) -> str:
    """The same for weights over the table of some attributes."""
    steps = np.rint(np.asarray(weights) * ONE).astype(np.int64)
    return hashlib.sha256(repr(attributes).encode() + steps.tobytes()).hexdigest()
