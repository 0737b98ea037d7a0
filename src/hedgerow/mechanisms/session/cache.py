"""Cache: answers a session has given, so that the same question is answered the same, free."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hedgerow.queries.pieces import Statement
from hedgerow.queries.question import Result
from hedgerow.queries.reply import Asked
from hedgerow.synopsis.answer import Answer, Source


@dataclass(frozen=True)
class Promise:
    """What is asked of an answer besides its value.

    Args:
        confidence: how often its error bound holds.
        simultaneous: for all its numbers at once.
        alpha: how far off, in rows, each count behind it may be; None when that is left open.
    """

    confidence: float
    simultaneous: bool
    alpha: float | None = None

    @property
    def text(self) -> str:
        """What tells promises apart in keys of the cache."""
        return f"{self.confidence!r}:{self.simultaneous}:{self.alpha!r}"


@dataclass(frozen=True, eq=False)
class Kept:
    """One answer: as it was given, or as the ledger has it; `alpha` where it is more than indicative."""

    alpha: float | None
    answer: Answer | None = None
    line: dict[str, Any] | None = None


class Cache:
    """Answers given before, by question and by what was promised with them.

    Args:
        earlier: the answers to a question that the ledger has, beside those that are loaded.
    """

    def __init__(self, earlier: Callable[[str], Iterable[dict[str, Any]]] = lambda key: ()) -> None:
        self._earlier = earlier
        self._looked: set[str] = set()
        self._exact: dict[tuple[str, str], Kept] = {}
        self._sure: dict[str, list[Kept]] = {}
        self._unwritten: list[tuple[str, str]] = []
        self._waiting: set[Source] = set()
        self._fresh: set[tuple[str, str]] = set()

    def __len__(self) -> int:
        return len(self._exact)

    @property
    def waiting(self) -> bool:
        """Whether something was said that is not written down."""
        return bool(self._unwritten)

    def waits(self, *sources: Source) -> bool:
        """Whether an answer from one of these sources is not written down."""
        return not self._waiting.isdisjoint(sources)

    def find(
        self, key: str, promise: Promise, asked: Asked | None = None, *, settled: bool = False
    ) -> Answer | None:
        """The same answer again, if it was given before with this promise or a stronger one.

        Args:
            key: the question's.
            promise: what is asked of the answer.
            asked: the question, for the columns of a table.
            settled: only what was told to somebody (see `settle`).
        """
        self._look(key)
        kept = self._exact.get((key, promise.text)) or self._stronger(key, promise)
        if kept is None or (settled and any(kept is self._exact.get(fresh) for fresh in list(self._fresh))):
            return None
        answer = _copied(kept.answer) if kept.answer else _restored(asked, kept.line or {})
        return replace(answer, cached=True, cost=None)

    def _stronger(self, key: str, promise: Promise) -> Kept | None:
        for kept in self._sure.get(key, []):
            given = kept.answer.confidence if kept.answer else (kept.line or {})["confidence"]
            together = kept.answer.simultaneous if kept.answer else (kept.line or {})["simultaneous"]
            sure = given >= promise.confidence and (together or not promise.simultaneous)
            near = promise.alpha is None or (kept.alpha is not None and kept.alpha <= promise.alpha)
            if sure and near:
                return kept
        return None

    def keep(self, key: str, promise: Promise, answer: Answer, alpha: float | None) -> None:
        """Remember an answer, to be written down with the next others."""
        self._fresh.add((key, promise.text))
        self._put((key, promise.text), Kept(alpha, _copied(answer)))
        self._unwritten.append((key, promise.text))
        self._waiting.add(answer.source)

    def settle(self) -> None:
        """All that was answered is in the ledger for good: whoever reads beside the session may know it."""
        self._fresh.clear()

    def load(self, lines: list[dict[str, Any]]) -> None:
        """Remember answers that the ledger has."""
        for line in lines:
            self._look(line["key"])
            self._put((line["key"], line["promise"]), Kept(line["alpha"], None, line))

    def _look(self, key: str) -> None:
        """Load what was said to a question earlier, once."""
        if key not in self._looked:
            self._looked.add(key)
            self.load(list(self._earlier(key)))

    def unwritten(self) -> list[dict[str, Any]]:
        """What is not in the ledger yet, as plain data."""
        out = []
        for key in dict.fromkeys(self._unwritten):
            kept = self._exact[key]
            if kept.answer is not None:
                out.append({"key": key[0], "promise": key[1], "alpha": kept.alpha, **_plain(kept.answer)})
        return out

    def written(self) -> None:
        """All of it is in the ledger now."""
        self._unwritten.clear()
        self._waiting.clear()

    def _put(self, key: tuple[str, str], kept: Kept) -> None:
        if self._exact.setdefault(key, kept) is kept and kept.alpha is not None:
            self._sure.setdefault(key[0], []).append(kept)


def _copied(answer: Answer) -> Answer:
    """The same answer with arrays of its own: whoever was given the other one may write into it."""
    sources = None if answer.sources is None else answer.sources.copy()
    if answer.table is not None:
        table = replace(answer.table, values=answer.table.values.copy(), errors=answer.table.errors.copy())
        return replace(answer, value=table.value, error=table.error, table=table, sources=sources)
    if not np.ndim(answer.value):
        return answer
    return replace(answer, value=np.array(answer.value), error=np.array(answer.error), sources=sources)


def _plain(answer: Answer) -> dict[str, Any]:
    """An answer as JSON, to the last bit."""
    table = answer.table
    return {
        "value": np.asarray(answer.value).tolist() if table is None else table.values.tolist(),
        "error": np.asarray(answer.error).tolist() if table is None else table.errors.tolist(),
        "groups": None if table is None else [list(g) for g in table.groups],
        "confidence": answer.confidence,
        "source": answer.source,
        "simultaneous": answer.simultaneous,
        "notes": list(answer.notes),
        "sources": None if answer.sources is None else np.asarray(answer.sources).tolist(),
    }


def _restored(asked: Asked | None, line: dict[str, Any]) -> Answer:
    """The inverse of `_plain`, for the question that it answered."""
    value, error, table = line["value"], line["error"], None
    if isinstance(asked, Statement):
        q = asked.question
        groups = tuple(tuple(g) for g in line["groups"])
        columns = tuple(c.name for c in q.columns)
        values = np.array(value, dtype=np.float64).reshape(len(groups), len(q.aggregates))
        errors = np.array(error, dtype=np.float64).reshape(len(groups), len(q.aggregates))
        table = Result(columns, groups, values, errors, line["confidence"], q.columns, bool(q.groups))
        value, error = table.value, table.error
    elif isinstance(value, list):
        value, error = np.array(value, dtype=np.float64), np.array(error, dtype=np.float64)
    return Answer(
        value,
        error,
        line["confidence"],
        line["source"],
        simultaneous=line["simultaneous"],
        notes=tuple(line["notes"]),
        table=table,
        sources=None if line.get("sources") is None else np.array(line["sources"]),
    )
