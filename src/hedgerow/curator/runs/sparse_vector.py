"""Sparse vector: many private comparisons with a threshold, paid by the number of "above", not of "below".

What is drawn, and the proof that it is private, is in `comparison`; here a run is paid, kept and asked.

**Open runs beside other acts.** A run is charged when it is opened and answered later, while other acts go
on. A pure or (epsilon, delta) interactive mechanism is an interactive post-processing of randomised response
run once ([L22], [VZ23]; pure: [VW21]), so the charge at opening composes like any other.

**What the ledger holds.** The opening line has the noisy threshold as its secret state. Every call writes one
line, of a length that does not depend on the outcome, and commits it before it returns: a disk that is full
refuses "below" and "above" alike, so a failure tells nothing. Only a call with an "above" then waits for the
disk. "Below" answers change no state: the same noisy threshold and count serve the next question, whose noise
is fresh, so when lines of them are lost with the power, the run goes on exactly as it would have. A run that
fails between draw and commit refuses to go on. (A lost line of a Gaussian run, which counts its questions,
would give them back: such a run waits for the disk every time.)
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from hedgerow.curator.forgetting import forgetting
from hedgerow.curator.runs.comparison import State, begin
from hedgerow.curator.runs.sparse_vector_plan import RESERVED, SparseVectorPlan
from hedgerow.curator.statistics.people import PeopleCounts
from hedgerow.curator.statistics.statistics import (
    Answers,
    SparseAnswers,
    TableOf,
    _steps,
)
from hedgerow.curator.statistics.target import MeasureTarget
from hedgerow.errors import LedgerError, RunClosed, UnsupportedQuery
from hedgerow.privacy.budget import Cost
from hedgerow.privacy.ledger.ledger import Entry, Transaction
from hedgerow.privacy.sparse_vector_event import GaussianSparseVector, SparseVector
from hedgerow.queries.argument import text
from hedgerow.queries.query import Norms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.curator import Curator

Side = Literal["over", "under", "both", "absolute"]

_REACH = 1 << 61  # differences are clipped here, a 1-Lipschitz map, so that adding noise cannot overflow


_ONE_ROW = (TableOf, Answers, SparseAnswers, PeopleCounts)
"""Statistics of which no number moves by more than one whole row: what the runs' sensitivity is."""


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What a run said: one entry per question it answered, in order.

    Args:
        above: whether the noisy difference reached the noisy threshold.
        values: the released differences in rows, NaN where none was released.

    A run that closes on the way answers fewer questions than it was asked. The outcome of one question is
    true when it is "above"; those of several are neither true nor false: say `.above.any()`.
    """

    above: NDArray[np.bool_]
    values: NDArray[np.float64]

    def __len__(self) -> int:
        return int(self.above.size)

    def __bool__(self) -> bool:
        if self.above.size == 1:
            return bool(self.above[0])
        raise TypeError(
            f"the outcomes of {self.above.size} questions are neither true nor false: ask for .above.any() "
            "or .above.all(), or for len() to see how many were answered"
        )


class SparseVectorRun:
    """An open sparse-vector run: ask it whether answers lie above its threshold. See `Curator.sparse_vector`.

    Args:
        curator: whose rows are asked.
        plan: threshold, noise and what was charged.
        label: the run's name in the ledger; a run of this name is continued, at no new charge.
        note: words kept in the ledger.
    """

    def __init__(
        self, curator: Curator, plan: SparseVectorPlan, label: str | None = None, note: str = ""
    ) -> None:
        self._refuse_other_plans(curator, plan)
        text("a run's label", label)
        text("a note", note)
        self.plan = plan
        self.label = label or f"sparse-vector-{secrets.token_hex(8)}"
        self._curator = curator
        self._lock = threading.RLock()
        self._lost = False
        self._number = 0
        question, note = curator.bound(plan.public, note)
        entry = curator.ledger.charge(
            plan.event,
            lambda: (plan.public.encode(), begin(plan, curator._entropy).to_bytes()),
            account=curator.account,
            analyst=curator.account,
            request=self._request(0),
            question=question,
            note=note,
            run=self._name,
            content_type="application/json",
        )
        self._state = State.from_bytes(entry.state)
        if entry.replayed:
            self._replay()

    _plans: ClassVar[type] = SparseVectorPlan
    _events: ClassVar[tuple[type, ...]] = (SparseVector, GaussianSparseVector)

    def _refuse_other_plans(self, curator: Curator, plan: SparseVectorPlan) -> None:
        """A run's proof is its plan's: of this kind, and for people with this many rows."""
        moves = curator.privacy.sensitivity(Norms.query(plan.denominator)).l1
        own = type(plan) is self._plans and type(plan.event) in self._events
        if not own or plan.event.sensitivity != moves:
            raise UnsupportedQuery("this plan was made for another kind of run or for other people")

    @property
    def above(self) -> int:
        """How many "above" were reported."""
        return self._state.above

    @property
    def asked(self) -> int:
        """How many questions were answered, as far as the ledger and this process know."""
        return self._state.asked

    @property
    def calls(self) -> int:
        """How many calls have been answered, by whichever process."""
        return self._number

    @property
    def remaining(self) -> int:
        """How many "above" may still be reported; 0 when the run is closed."""
        used_up = self.plan.length is not None and self._state.asked >= self.plan.length
        return 0 if self._lost or used_up else self.plan.count - self._state.above

    def ask(self, query: Any, estimate: float = 0.0, *, side: Side = "over") -> Outcomes:
        """Whether the answer to a query exceeds an estimate by the threshold; `ask_all` with one question."""
        return self.ask_all([query], np.array([estimate]), side=side)

    def ask_all(
        self,
        queries: Any,
        estimates: Sequence[float] | NDArray[Any] | None = None,
        *,
        side: Side = "over",
        start: int = 0,
        stop: int | None = None,
        most: int | None = None,
        calls: int | None = None,
        about: str = "",
    ) -> Outcomes:
        """Compare many answers with the threshold, in order; stops when the run has no "above" left.

        Args:
            queries: any question of counts; its numbers are compared in the order in which it asks for them.
            estimates: public guesses in rows (a hypothesis's answers), subtracted before comparing; rounded
                to the lattice first.
            side: `over` compares answer - estimate, `under` the negative, `absolute` its size, `both` asks
                over and under in turn, two outcomes per query.
            start, stop: ask only these of the queries, by their positions.
            most: stop after this many "above"; what follows it is not answered.
            calls: answer nothing if the run has had other than this many calls: estimates may be out of date.
            about: public words kept with the outcomes, see `history`.
        """
        if start < 0 or (stop or 0) < 0 or (most is not None and most < 1):
            raise UnsupportedQuery("positions are not negative, and a call stops after 1 above or more")
        held: list[Any] = []
        with self._lock, forgetting(held):
            self._refuse_closed()
            each = 2 if side == "both" else 1
            part = slice(start * each, None if stop is None else stop * each)
            held.append(self._differences(queries, estimates, side)[part])
            try:
                with self._curator.ledger.transaction(durable=False) as transaction:
                    self._catch_up(transaction)
                    self._refuse_closed()
                    if calls not in (None, self._number):
                        return Outcomes(np.zeros(0, dtype=np.bool_), np.zeros(0))
                    outcomes = self._answer(transaction, held.pop(), most, about)
                if outcomes.above.any() or self.plan.length is not None:
                    self._curator.ledger.sync()
                return outcomes
            except RunClosed:
                raise
            except BaseException:
                self._lost = True  # something was drawn and perhaps not kept: only the ledger knows
                raise

    def history(self) -> Iterator[tuple[str, Outcomes]]:
        """What was said so far, call by call, with the words `about` it: read from the ledger."""
        with self._lock:
            for line in self._lines()[1:]:
                said = json.loads(line.answer or b"{}")
                released = np.array(said["values"], dtype=np.int64)
                places = np.array(said["above"], dtype=np.int64)
                yield said.get("about", ""), self._outcomes(said["answered"], places, released)

    def refresh(self) -> None:
        """See what other processes did to the run; LedgerError when its account was closed."""
        with self._lock:
            ledger = self._curator.ledger
            ledger.check(Cost.zero(ledger.currency), self._curator.account)
            self._follow()

    def close(self) -> None:
        """Wait until the answers given so far are on the disk; the run can be opened again by its label."""
        with self._lock:
            if not self._lost:
                self._curator.ledger.sync()

    def __enter__(self) -> SparseVectorRun:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"SparseVectorRun({self.label!r}, {self.plan.method}, {self.remaining} above left)"

    def __reduce__(self) -> Any:
        raise TypeError("an open run holds private state and cannot be pickled")

    # -- inside -------------------------------------------------------------------------------------------

    def _differences(self, queries: Any, estimates: Any, side: Side) -> NDArray[np.int64]:
        """Exact integers on the run's lattice; what is refused depends on public things only."""
        target = MeasureTarget.of(queries, self._curator.domain)
        stat = target.compared
        if type(stat) not in _ONE_ROW:
            raise UnsupportedQuery(
                "a sparse vector compares counts and queries, each moved by one row at most"
            )
        if type(stat.denominator) is not int or self.plan.denominator % stat.denominator:
            raise UnsupportedQuery(
                "this run counts whole rows; open it with denominator=ONE for fractional weights"
            )
        if side not in ("over", "under", "both", "absolute"):
            raise UnsupportedQuery("a side is 'over', 'under', 'both' or 'absolute'")
        exact = target.placed(stat.exact(self._curator._rows).ravel())
        reach = _REACH // (self.plan.denominator // stat.denominator)
        exact = np.clip(exact, -reach, reach) * (self.plan.denominator // stat.denominator)
        guesses = np.zeros(1) if estimates is None else np.asarray(estimates, dtype=np.float64).ravel()
        if guesses.size not in (1, exact.size):
            questions = exact.size
            del exact  # no frame of a refusal holds it
            raise UnsupportedQuery(f"there are {questions} questions and {guesses.size} estimates")
        moved = np.clip(exact - _steps(guesses, self.plan.denominator), -_REACH, _REACH)
        if side == "absolute":
            return np.asarray(np.abs(moved))
        if side == "both":
            return np.stack([moved, -moved], axis=1).ravel()
        return np.asarray(moved if side == "over" else -moved)

    def _answer(
        self, transaction: Transaction, values: NDArray[np.int64], most: int | None, about: str
    ) -> Outcomes:
        """Draw, keep what must be kept in the open transaction, and say what happened."""
        state, places, released, asked = self._curator._compare(self.plan, self._state, values, most)
        room = min(values.size, self.plan.count - self._state.above, values.size if most is None else most)
        self._write(transaction, state, asked, places.tolist(), released.tolist(), room, about)
        self._state = state
        return self._outcomes(asked, places, released)

    def _outcomes(self, asked: int, places: NDArray[np.int64], released: NDArray[np.int64]) -> Outcomes:
        above = np.zeros(asked, dtype=np.bool_)
        above[places] = True
        out = np.full(asked, np.nan)
        if self.plan.value_scale:
            out[places] = released / self.plan.denominator
        return Outcomes(above, out)

    def _write(
        self,
        transaction: Transaction,
        state: State,
        asked: int,
        places: list[int],
        released: list[int],
        room: int,
        about: str,
    ) -> None:
        """One line for every call, as long whatever the outcome: a disk that is full refuses both alike."""
        answer = {"answered": asked, "above": places, "values": released, "about": about}
        transaction.record(
            json.dumps(answer).encode().ljust(112 + 48 * room + len(json.dumps(about))),
            state.to_bytes(),
            account=self._curator.account,
            analyst=self._curator.account,
            request=self._request(self._number + 1),
            question=self._request(0),
            run=self._name,
            content_type="application/json",
        )
        self._number += 1

    def _catch_up(self, transaction: Transaction) -> None:
        """Before drawing: the account can still be written to, and nobody else has moved the run on."""
        transaction.check(Cost.zero(self._curator.ledger.currency), self._curator.account)
        self._follow()

    def _follow(self) -> None:
        """Take up what other processes did to the run, line by line."""
        ledger, account = self._curator.ledger, self._curator.account
        while True:
            line = ledger.recall(self._request(self._number + 1), self._request(0), account)
            if line is None:
                return
            self._number, self._state = self._number + 1, State.from_bytes(line.state)

    def _replay(self) -> None:
        """Take up the state of the last line."""
        lines = self._lines()
        self._number = len(lines) - 1
        self._state = State.from_bytes(lines[-1].state)

    def _lines(self) -> list[Entry]:
        """The run's lines, each numbered."""
        account = self._curator.account
        lines = [e for e in self._curator.ledger.replay(self._name) if e.account == account]
        if [e.request for e in lines] != [self._request(i) for i in range(len(lines))]:
            raise LedgerError(f"the lines of the run {self.label!r} are not those that it wrote")
        return lines

    @property
    def _name(self) -> str:
        """The run's own name in the ledger: no other act may use one like it."""
        return f"{RESERVED}{self.label}"

    def _request(self, number: int) -> str:
        return f"{self._name}#{number}"

    def _refuse_closed(self) -> None:
        if self._lost:
            raise RunClosed(f"the run {self.label!r} was interrupted; open it again by its label")
        if self.remaining == 0:
            most = f"{self.plan.count} above"
            if self.plan.length is not None:
                most += f" or {self.plan.length} questions"
            raise RunClosed(f"the run {self.label!r} has reported its {most} and is closed")
