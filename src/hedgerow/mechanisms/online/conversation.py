"""Conversation: an open interactive mechanism. Ask it; it answers from its hypothesis, or learns."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import log
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.curator.runs.sparse_vector import Outcomes, SparseVectorRun
from hedgerow.errors import CutsBin, LedgerError, RunClosed
from hedgerow.learning.dense.kernels import dot
from hedgerow.learning.sparse.sparse import StructureFull
from hedgerow.mechanisms.online.terms import OnlineTerms
from hedgerow.queries.asked import asked_names
from hedgerow.queries.block import Block, ListBlock
from hedgerow.queries.packing import pack_questions, unpack_questions
from hedgerow.queries.pieces import ManyQueries, Statement, by_queries, read_all
from hedgerow.queries.query import ONE, Query, SparseQuery
from hedgerow.queries.staged import Staged
from hedgerow.queries.workload import Workload
from hedgerow.synopsis.answer import Answer
from hedgerow.synopsis.in_stages import in_stages
from hedgerow.synopsis.transcript import SOURCES as SOURCES
from hedgerow.synopsis.transcript import UNTESTED, Call

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.privacy.budget import Budget
    from hedgerow.queries.reply import Asked
    from hedgerow.synopsis.online import OnlineNamesSynopsis, OnlineSynopsis

    Floats = NDArray[np.float64]

Questions = Workload | list[SparseQuery]

_LEARNED, _CERTIFIED, _MEASURED = range(3)
_TABLE_CELLS, _SHORT_TABLE = 1 << 22, 1 << 12
_STEEPEST = 30.0  # the longest step of a tuned update


@dataclass(frozen=True, eq=False)
class Said:
    """Values and errors in rows, and sources by number, for the questions of one call."""

    values: Floats
    errors: Floats
    sources: NDArray[np.int8]

    @classmethod
    def unsaid(cls, count: int) -> Said:
        """Room for some answers."""
        return cls(np.zeros(count), np.zeros(count), np.zeros(count, dtype=np.int8))


class Conversation:
    """An open run of an iterative database construction; see `IDC.open`.

    The hypothesis and everything said are public. The rows are met only by the sparse vector.

    Args:
        start: makes the hypothesis as it was in the beginning.
        run: the open sparse vector.
        terms: threshold, updates and error bounds.
        cost: what opening it was charged.
        home: makes a synopsis of a hypothesis and of what was said, call by call.
    """

    hypothesis: Any  # dense, or a sparse structure over names
    asked: int  # questions compared so far
    full: bool  # whether the structure over names has no more room
    _behind: bool  # whether the ledger may hold an update that the hypothesis has not made

    def __init__(
        self,
        start: Callable[[], Any],
        run: SparseVectorRun,
        terms: OnlineTerms,
        cost: Budget,
        home: Callable[[Any, list[Call]], OnlineSynopsis | OnlineNamesSynopsis],
    ) -> None:
        self.terms = terms
        self.cost = cost
        self._home = home
        self._start = start
        self._run = run
        self._lock = threading.RLock()
        self._rebuild()

    @property
    def label(self) -> str:
        """The run's name in the ledger: the same mechanism with this as its `run` goes on with it."""
        return self._run.label

    @property
    def updates(self) -> int:
        """How many updates were made."""
        return self._run.above

    def ask(self, question: Any) -> Any:
        """Answer any question: from the hypothesis where that is close enough.

        The queries behind it are taken in order, and each one sees what those before it taught. Sums and
        ratios put their error together from the errors of those queries, which hold all at once.

        Args:
            question: SQL text, a compiled statement, a query, attribute names, a workload, or a list of
                queries; a list of other things gets a list of answers. An open domain of names is asked
                sparse queries.
        """
        domain = getattr(self.hypothesis, "domain", None)
        if domain is None:
            names: Questions = [q.by_text for q in asked_names(question)]
            with self._lock:
                said = self._stream(names)
            return _answer(names, said, 1.0 - self.terms.beta, isinstance(question, SparseQuery))
        asked = read_all(domain, question)
        return [self._said(a) for a in asked] if isinstance(asked, list) else self._said(asked)

    def transcript(self) -> Iterator[Answer]:
        """Everything that was compared and said so far, call by call, made again from the ledger's log."""
        with self._lock:
            for questions, part, values, errors, sources in self._unbegun(self._start())._again():
                some, said = _grouped(questions[part]), Said(values, errors, sources)
                yield _answer(some, said, 1.0 - self.terms.beta, single=False)

    def synopsis(self) -> OnlineSynopsis | OnlineNamesSynopsis:
        """What there is to take home now, free: the hypothesis, and everything said with a bound.

        Privacy: post-processing of what the ledger's log holds as released. Accuracy: whatever was asked is
        answered as it was, within its bound, all at once with the run's confidence; if a whole class of
        questions was asked, that is [BR11] Cor. 3.11.
        """
        with self._lock:
            self._run.close()
            past = self._unbegun(self._start())
            calls = list(past._again())
            return self._home(past.hypothesis, calls)

    def close(self) -> None:
        """Wait until everything said is on the disk."""
        self._run.close()

    def __enter__(self) -> Conversation:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Conversation({self.label!r}, {self.updates} of {self.terms.updates} updates made)"

    def __reduce__(self) -> Any:
        raise TypeError("an open run holds private state and cannot be pickled")

    # -- inside -------------------------------------------------------------------------------------------

    def _said(self, asked: Asked | Staged) -> Answer:
        """The answer; bounds of a run hold all at once, so a statement in two stages needs no more."""
        if not isinstance(asked, Staged):
            return self._asked(asked)
        return in_stages(
            asked,
            lambda questions: [self._asked(by_queries(q)) for q in questions],
            1.0 - self.terms.beta,
            True,
        )

    def _asked(self, asked: Asked) -> Answer:
        """The answer to a question, put together from the answers to its queries.

        Sums are of the middles of bins, which a hypothesis over cells can learn, and the error allows for
        what bins leave open.
        """
        if isinstance(asked, Statement):
            if asked.question.cut:
                raise CutsBin(asked.question.cut)
            asked = replace(asked, fine=False)
        said = Said.unsaid(0)
        if not isinstance(asked, Statement) or asked.pieces:  # else the schema alone says that it is zero
            with self._lock:
                said = self._stream(asked.workload)
        confidence, rows = 1.0 - self.terms.beta, self.terms.total + self.terms.counted[0]
        reply = asked.told(said.values, said.errors, confidence, rows)
        least = int(said.sources.min(initial=_MEASURED if len(said.sources) else _CERTIFIED))
        each = np.array(SOURCES)[said.sources]
        return Answer(
            reply.value,
            reply.error,
            confidence,
            SOURCES[least],
            simultaneous=True,
            notes=(*reply.notes, *((UNTESTED,) if least == _LEARNED else ())),
            table=reply.table,
            sources=each.reshape(np.shape(reply.value)) if isinstance(asked, ManyQueries) else None,
        )

    def _stream(self, questions: Questions) -> Said:
        """[DR14] Alg. 6's loop: compare in order, stop at an "above", learn from it, go on with the rest."""
        if self._behind:  # the last call was interrupted: the ledger may hold an update that was not made
            self._rebuild()
        said, at, first = Said.unsaid(len(questions)), 0, 0
        guesses = self._guesses(questions)
        packed = pack_questions(questions) if self._compares else ""
        while at < len(questions) and self._compares:
            stop = None if self.terms.alpha is None else at + self.terms.queries - self.asked
            about = f"{at}={first}" if first else f"{at}:{packed}"
            self._behind = True  # from before anything is drawn until it is learned
            outcomes = self._compare(questions, guesses, at, stop, about)
            if outcomes is None:  # another process went on with this run: learn what it learned
                self._rebuild()
                guesses = self._guesses(questions)
                continue
            first = first or self._run.calls
            at, tripped = self._take(questions, at, guesses, outcomes, said)
            self._behind = False
            guesses = self._guesses(questions) if tripped and at < len(questions) else guesses
        if at < len(questions):
            said.values[at:] = guesses[at:]
            said.errors[at:] = self.terms.untested(guesses, _largest(questions))[at:]
        return said

    def _compare(
        self, questions: Questions, guesses: Floats, start: int, stop: int | None, about: str
    ) -> Outcomes | None:
        """Two threshold questions per query, up to the first "above"; None if the run has moved on."""
        calls = self._run.calls
        try:
            outcomes = self._run.ask_all(
                questions, guesses, side="both", start=start, stop=stop, most=1, calls=calls, about=about
            )
        except RunClosed:
            if self._run.calls == calls:
                raise
            return None
        return outcomes if len(outcomes) else None

    @property
    def _compares(self) -> bool:
        """Whether answers are still tested: updates are left, and the theorem still covers the question."""
        covered = self.terms.alpha is None or self.asked < self.terms.queries
        return covered and self._run.above < self.terms.updates

    def _take(
        self, questions: Questions, at: int, guesses: Floats, outcomes: Outcomes, said: Said
    ) -> tuple[int, bool]:
        """Put down what one call said, and learn from its "above"; how far it got, and whether it learned.

        Of the two comparisons per question the second is not made when the first is above: the value is
        known then, and asking would only risk an update that nobody needs.
        """
        tripped, end = bool(outcomes.above[-1:].any()), at + (len(outcomes) + 1) // 2
        said.values[at:end] = guesses[at:end]
        said.errors[at:end] = self.terms.certified(self.asked + 1, end - at)
        said.sources[at:end] = _CERTIFIED
        self.asked += end - at
        if tripped:
            error = float(outcomes.values[-1]) * (1 if len(outcomes) % 2 else -1)
            said.values[end - 1] += error
            said.errors[end - 1] = self.terms.measured
            said.sources[end - 1] = _MEASURED
            self._learn(questions[end - 1], error)
        return end, tripped

    def _learn(self, query: Any, error: float) -> None:
        """One update towards the released value; depends on the updates before it and nothing else."""
        guess = self.hypothesis.answer(query)
        value = guess + error / self.terms.total
        try:
            self.hypothesis.update(query, value, self._rate(guess, value))
        except StructureFull:  # [BR11]'s FAILURE, which its theorem excludes: go on with what was learned
            self.full = True

    def _rate(self, guess: float, value: float) -> float:
        """eta = alpha/2 in theorem mode; tuned: the step that moves a counting query's answer to the value.

        A value nearer to 0 or 1 than its own noise is taken for that far away from it.
        """
        if self.terms.alpha is not None:
            return self.terms.alpha / 2
        edge = min(0.25, self.terms.value_noise)
        p, v = min(max(guess, 1e-12), 1 - 1e-12), min(max(value, edge), 1 - edge)
        step = (log(v / (1 - v)) - log(p / (1 - p))) * (1 if value > guess else -1)
        return min(max(step, abs(value - guess) / 2, 1e-9), _STEEPEST)

    def _guesses(self, questions: Questions) -> Floats:
        """What the hypothesis says, in rows."""
        h = self.hypothesis
        if not isinstance(questions, Workload):
            return np.asarray(np.array([h.answer(q) for q in questions]) * h.total)
        joined = np.asarray(questions.joined([_fractions(h, block) for block in questions.blocks]))
        return np.asarray(joined * h.total)

    def _rebuild(self) -> None:
        """Make the hypothesis from the log: the updates alone decide it, bit for bit."""
        self._behind = True
        self.hypothesis = self._start()
        self.asked, self.full = 0, False
        for questions, start, outcomes in self._log(only_above=True):
            answered = (len(outcomes) + 1) // 2
            self.asked += answered
            if outcomes.above.any():
                error = float(outcomes.values[-1]) * (1 if len(outcomes) % 2 else -1)
                self._learn(questions[start + answered - 1], error)
        self._behind = False

    def _again(self) -> Iterator[Call]:
        """What was compared and said, made again from the log; the hypothesis learns it on the way."""
        for questions, start, outcomes in self._log():
            part = slice(start, start + (len(outcomes) + 1) // 2)
            said = Said.unsaid(len(questions))
            self._take(questions, start, self._guesses(questions), outcomes, said)
            yield questions, part, said.values[part], said.errors[part], said.sources[part]

    def _unbegun(self, hypothesis: Any) -> Conversation:
        """The same run with nothing said yet, to go through its log again."""
        made = object.__new__(Conversation)
        made.__dict__ = self.__dict__ | {"hypothesis": hypothesis, "asked": 0, "full": False}
        return made

    def _log(self, only_above: bool = False) -> Iterator[tuple[Any, int, Outcomes]]:
        """Questions, first position and outcomes of every call so far."""
        texts: dict[int, str] = {}
        for number, (about, outcomes) in enumerate(self._run.history(), 1):
            place, mark, rest = about.partition(":") if ":" in about[:12] else about.partition("=")
            if not mark:
                raise LedgerError(f"the run {self.label!r} was not made by this mechanism")
            texts[number] = rest if mark == ":" else texts[int(rest)]
            wanted = not only_above or bool(outcomes.above.any())
            yield unpack_questions(texts[number]) if wanted else None, int(place), outcomes


def _fractions(hypothesis: Any, block: Block) -> Floats:
    """A dense hypothesis's answers to the queries of a block: the same bits however they are asked for."""
    cells = hypothesis.domain.cells(block.attributes)
    if isinstance(block, ListBlock) and cells <= _SHORT_TABLE:
        table = hypothesis.marginal(block.attributes).reshape(-1)
        return np.array([dot(table, q.weights.reshape(-1)) for q in block.queries]) / ONE
    if isinstance(block, ListBlock) or cells > _TABLE_CELLS:
        return np.array([hypothesis.answer(block.query(i)) for i in range(len(block))])
    return block.apply(hypothesis.marginal(block.attributes))


def _largest(questions: Questions) -> Floats:
    """The largest weight of each question."""
    if isinstance(questions, Workload) and not any(isinstance(b, ListBlock) for b in questions.blocks):
        return np.ones(len(questions))
    return np.array([q.largest for q in questions]) / ONE


def _grouped(questions: Any) -> Questions:
    return Workload.of(questions) if isinstance(questions[0], Query) else list(questions)


def _answer(questions: Questions, said: Said, confidence: float, single: bool) -> Answer:
    """In the unit of each question; the source of several is the least of theirs."""
    values, errors = said.values, said.errors
    if not isinstance(questions, Workload) or any(isinstance(b, ListBlock) for b in questions.blocks):
        scale = np.array([q.scale for q in questions])
        values = scale * values + np.array([q.offset for q in questions])
        errors = np.abs(scale) * errors
    least = int(said.sources.min())
    return Answer(
        float(values[0]) if single else values,
        float(errors[0]) if single else errors,
        confidence,
        SOURCES[least],
        simultaneous=True,
        notes=(UNTESTED,) if least == _LEARNED else (),
        sources=None if single else np.array(SOURCES)[said.sources],
    )
