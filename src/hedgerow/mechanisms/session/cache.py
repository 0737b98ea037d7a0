"""Cache: answers a session has given, so that the same question is answered the same, free."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hedgerow.queries.pieces import Statement
from hedgerow.queries.question import Result
from hedgerow.queries.reply import Asked
from hedgerow.synopsis.answer import Answer, Source

_MOST = 2_000  # answers that are held, and questions without one; the ledger has all others


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

    @property
    def confidence(self) -> float:
        """How often each of its bounds holds, or is meant to: the least of them."""
        if self.answer is not None:
            both = self.answer.confidence, self.answer.indicative
        else:
            line = self.line or {}
            both = float(line["confidence"]), line.get("indicative")
        return min(c for c in both if c is not None)


class Cache:
    """Answers given before, by question and by what was promised with them.

    Of many questions the answers to those that were met first are let go, once they are in the ledger.

    Args:
        earlier: the answers to a question that the ledger has, all or only those that were not read yet.
        most: answers that are held, and questions without one.
    """

    def __init__(
        self,
        earlier: Callable[[str, bool], Iterable[dict[str, Any]]] = lambda key, whole: (),
        most: int = _MOST,
    ) -> None:
        self._earlier, self._most = earlier, most
        self._held: dict[str, dict[str, Kept]] = {}  # by question, in the order in which they were met
        self._size = 0  # of that: answers, and questions
        self._forgot = False  # whether anything was let go
        self._changing = threading.Lock()  # of that: readers share it with the session
        self._unwritten: list[tuple[str, str]] = []
        self.waiting: set[Source] = set()  # the sources of answers that are not written down
        self._fresh: set[tuple[str, str]] = set()

    def __len__(self) -> int:
        return sum(map(len, self._held.values()))

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
        given = self._look(key)
        kept = given.get(promise.text) or _stronger(list(given.values()), promise)
        fresh = [given.get(text) for of, text in list(self._fresh) if of == key] if settled else []
        if kept is None or any(kept is one for one in fresh):
            return None
        answer = _copied(kept.answer) if kept.answer else _restored(asked, kept.line or {})
        return replace(answer, cached=True, cost=None)

    def keep(self, key: str, promise: Promise, answer: Answer, alpha: float | None) -> None:
        """Remember an answer, to be written down with the next others."""
        self._fresh.add((key, promise.text))
        self._unwritten.append((key, promise.text))  # first: a reader lets go of what is not there
        self._put(key, promise.text, Kept(alpha, _copied(answer)))
        self.waiting.add(answer.source)

    def settle(self) -> None:
        """All that was answered is in the ledger for good: whoever reads beside the session may know it."""
        self._fresh.clear()

    def load(self, lines: list[dict[str, Any]]) -> None:
        """Remember answers that the ledger has."""
        for line in lines:
            self._put(line["key"], line["promise"], Kept(line["alpha"], None, line))

    def _look(self, key: str) -> dict[str, Kept]:
        """What was said to a question; what the ledger has of it is loaded first."""
        given = self._held.get(key)
        if given is None:
            loaded = dict[str, Kept]()
            for line in self._earlier(key, self._forgot):
                loaded.setdefault(line["promise"], Kept(line["alpha"], None, line))
            with self._changing:
                given = self._held.setdefault(key, loaded)
                self._size += 1 + len(loaded) if given is loaded else 0
                self._let_go(key)
        return given

    def _put(self, key: str, promise: str, kept: Kept) -> None:
        given = self._look(key)
        with self._changing:
            if key not in self._held:  # another thread let it go meanwhile
                self._size += 1 + len(given)
            given = self._held.setdefault(key, given)
            self._size += promise not in given
            given.setdefault(promise, kept)
            self._let_go(key)

    def _let_go(self, but: str) -> None:
        """Forget the questions that were met first, unless what was said to them is not in the ledger yet."""
        if self._size <= self._most:
            return
        needed = {but, *(key for key, _ in self._unwritten)}
        for first in [key for key in self._held if key not in needed]:
            self._forgot = True
            self._size -= 1 + len(self._held.pop(first))
            if self._size <= self._most:
                return

    def unwritten(self) -> list[dict[str, Any]]:
        """What is not in the ledger yet, as plain data."""
        out = []
        for key in dict.fromkeys(self._unwritten):
            kept = self._held.get(key[0], {}).get(key[1])
            if kept is not None and kept.answer is not None:
                out.append({"key": key[0], "promise": key[1], "alpha": kept.alpha, **_plain(kept.answer)})
        return out

    def written(self) -> None:
        """All of it is in the ledger now."""
        self._unwritten.clear()
        self.waiting.clear()


def _stronger(given: Iterable[Kept], promise: Promise) -> Kept | None:
    """An answer that is more than indicative and promises no less."""
    for kept in (kept for kept in given if kept.alpha is not None):
        sure = kept.confidence
        together = kept.answer.simultaneous if kept.answer else (kept.line or {})["simultaneous"]
        near = promise.alpha is None or (kept.alpha is not None and kept.alpha <= promise.alpha)
        if near and sure >= promise.confidence and (together or not promise.simultaneous):
            return kept
    return None


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
        **({} if answer.indicative is None else {"indicative": answer.indicative}),
        **({} if answer.ends is None else {"ends": list(answer.ends)}),
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
        table = Result(
            columns, groups, values, errors, line["confidence"], q.columns, bool(q.groups), q.ranges
        )
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
        indicative=line.get("indicative"),
        ends=None if line.get("ends") is None else (line["ends"][0], line["ends"][1]),
    )
