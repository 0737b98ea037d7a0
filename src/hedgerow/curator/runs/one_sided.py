"""One-sided sparse vector: noise that is never negative, for questions that all move the same way.

Setting: integers throughout. T = the public threshold, z and nu_i = independent geometric noise on 0, 1,
2, ..., P(z) ~ e^(-z/b1) and P(nu) ~ e^(-nu/b2); "above" iff v_i + nu_i >= T + z; the run ends with its
first "above". Under `add_remove` a query with weights in [0, 1] moves by m_i in {0, ..., Delta} when a
unit is added, Delta = `Privacy.sensitivity` of one query. v_i = q_i - h_i (side `over`) moves up by m_i,
v_i = h_i - q_i (`under`) down.

**Theorem** (docs/privacy/one-sided-svt.md). Let v'_i = v_i + m_i and P, P' be the laws of a run on v and
v'. For "above" first at k, -m_k/b2 <= ln(P/P') <= Delta/b1 + (Delta - m_k)/b2; for none, 0 <= ln(P/P') <=
Delta/b1. Hence the loss lies in [-Delta/b2, Delta/b1 + Delta/b2] whatever was asked and estimated: it is
(Delta/b1 + Delta/b2)-DP, and of bounded range eta = Delta/b1 + 2 Delta/b2, so eta^2/8-zCDP ([DDR20],
[CR21]).
    P = sum_z P(z) prod_(i<k) P(nu < T + z - v_i) P(nu >= T + z - v_k).
P' <= e^(m_k/b2) P term by term: "below" factors shrink, the "above" factor's bound falls by m_k. P against
P': put w = z + Delta, again in the noise's range; P(z) = e^(Delta/b1) P(w), T + z - v_i <= T + w - v'_i, so
"below" factors grow, and the "above" factor's bound rises by Delta - m_k. On the other side P and P' change
names.

It fails under `replace`, where answers move both ways, and for negative weights: both are refused.

**Accuracy.** "Below" means v_i < T + z because nu_i >= 0: one draw of z certifies every "below" of the
run.

**Beside other acts** a run composes as an act made when it was opened: [VW21] for epsilon, [L22] for Renyi
divergences of every order and so for rho, [HSTV23] for filters. Two runs asked in turn are no different.

The charge is made by `SparseVectorRun`, whole, in the transaction that draws z; what the ledger holds and
why a failure tells nothing is in `curator.runs.sparse_vector`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from hedgerow.curator.forgetting import forgetting
from hedgerow.curator.runs.comparison import State
from hedgerow.curator.runs.exact_answers import exact_steps, questions_of
from hedgerow.curator.runs.one_sided_plan import (
    OneSidedPlan,
    Side,
    best_share,
    plan,
    planned,
    refuse_other_people,
)
from hedgerow.curator.runs.sparse_vector import _REACH, SparseVectorRun
from hedgerow.errors import RunClosed, UnsupportedQuery
from hedgerow.privacy.accountant import cost as cost_of
from hedgerow.privacy.budget import Cost
from hedgerow.privacy.ledger.ledger import Transaction
from hedgerow.privacy.rational import Number
from hedgerow.privacy.sparse_vector_event import OneSidedSparseVector

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.curator import Curator

__all__ = [
    "AskedBoth",
    "AskedOne",
    "OneSidedPlan",
    "OneSidedRun",
    "Side",
    "ask_both",
    "best_share",
    "plan",
    "planned",
]

_FARTHEST = float(1 << 53)


class AskedOne(NamedTuple):
    """What a run said: how many questions it decided, and whether the last one tripped it; true if so."""

    asked: int
    tripped: bool

    def __bool__(self) -> bool:
        return self.tripped


class AskedBoth(NamedTuple):
    """What two runs said together: how many questions were decided, and which sides the last one tripped.

    It is true when any side tripped.
    """

    asked: int
    over: bool
    under: bool

    def __bool__(self) -> bool:
        return self.over or self.under


class _HeldRun(SparseVectorRun):
    """The state and the lines of a one-sided run; it is asked through `OneSidedRun` only."""

    _plans: ClassVar[type] = OneSidedPlan
    _events: ClassVar[tuple[type, ...]] = (OneSidedSparseVector,)

    def ask_all(self, *_: Any, **__: Any) -> Any:
        """Refused: two-sided questions are not what a one-sided run is private for."""
        raise UnsupportedQuery("a one-sided run is asked on its own side")


class OneSidedRun:
    """An open one-sided run: ask it whether answers lie beyond estimates. See `Curator.one_sided`.

    Args:
        curator: whose rows are asked.
        plan: threshold, noise and what was charged.
        label: the run's name in the ledger; a run of this name is continued, at no new charge.
        note: words kept in the ledger.
    """

    def __init__(
        self, curator: Curator, plan: OneSidedPlan, label: str | None = None, note: str = ""
    ) -> None:
        refuse_other_people(curator, plan)
        self.plan = plan
        self._run = _HeldRun(curator, plan, label, note)
        self._seen = -1  # the ledger's newest line when this run was last asked

    @property
    def label(self) -> str:
        """The run's name in the ledger."""
        return self._run.label

    @property
    def side(self) -> Side:
        """`over` or `under`."""
        return self.plan.side

    @property
    def threshold(self) -> Fraction:
        """T, in rows."""
        return self.plan.rows

    @property
    def scales(self) -> tuple[Fraction, Fraction]:
        """(b1, b2), in rows."""
        return self.plan.scales

    @property
    def cost(self) -> Cost:
        """What the run was charged when it was opened."""
        return cost_of(self.plan.event, self._run._curator.ledger.currency)

    @property
    def closed(self) -> bool:
        """Whether it has tripped (or was interrupted: then open it again by its label)."""
        return self._run.remaining == 0

    @property
    def asked(self) -> int:
        """How many questions were decided, as far as the ledger and this process know."""
        return self._run.asked

    def certified(self, beta: Number) -> Fraction:
        """An alpha in rows: with probability 1 - beta every "below" of this run is within it on this side."""
        return self.plan.certified(beta)

    def ask(self, queries: Any, estimates: float | Sequence[float] | NDArray[Any]) -> AskedOne:
        """Compare answers with estimates in order, until the first trip.

        Args:
            queries: a query, a list of queries or a workload.
            estimates: public guesses in rows, one for each query; rounded to the lattice first.
        """
        stop, trips = _ask([self], queries, estimates)
        return AskedOne(stop, trips[0])

    def refresh(self) -> None:
        """See what other processes did to the run; LedgerError when its account was closed."""
        self._run.refresh()

    def close(self) -> None:
        """Wait until the answers given so far are on the disk; the run can be opened again by its label."""
        self._run.close()

    def _catch_up(self, transaction: Transaction) -> None:
        """Before drawing: unless nothing at all was written since, see what others did to run and account."""
        if transaction.newest != self._seen:
            self._run._catch_up(transaction)
            self._run._refuse_closed()

    def _keep(self, transaction: Transaction, asked: int, trip: bool) -> None:
        """One line for every call, as long whatever the outcome."""
        run = self._run
        state = State(run._state.threshold, int(trip), run._state.asked + asked)
        run._write(transaction, state, asked, [asked - 1] if trip else [], [], 1, "")
        run._state = state

    def __enter__(self) -> OneSidedRun:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else "open"
        return f"OneSidedRun({self.label!r}, {self.side}, {state})"

    def __reduce__(self) -> Any:
        raise TypeError("an open run holds private state and cannot be pickled")


def ask_both(
    over: OneSidedRun, under: OneSidedRun, queries: Any, estimates: float | Sequence[float] | NDArray[Any]
) -> AskedBoth:
    """Compare answers with estimates on both sides, in one pass and one transaction, until either run trips.

    Args:
        over: a run of that side.
        under: a run of that side, of the same curator, with the same denominator.
        queries, estimates: as in `OneSidedRun.ask`.
    """
    if over.side != "over" or under.side != "under" or over.plan.denominator != under.plan.denominator:
        raise UnsupportedQuery("two runs are asked together when one is 'over', one 'under', on one lattice")
    one, two = over._run._curator, under._run._curator
    if not one.same_rows(two):
        raise UnsupportedQuery("two runs are asked together when they have one curator")
    stop, (first, second) = _ask([over, under], queries, estimates)
    return AskedBoth(stop, first, second)


def _ask(asked_runs: list[OneSidedRun], queries: Any, estimates: Any) -> tuple[int, list[bool]]:
    """Refuse, read, then draw and write in one transaction: how many were decided, and which runs tripped."""
    runs = [r._run for r in asked_runs]
    curator, denominator = runs[0]._curator, runs[0].plan.denominator
    questions = questions_of(queries, curator.domain, denominator)
    guesses = _guesses(estimates, len(questions), denominator)
    held: list[Any] = []
    with forgetting(held), ExitStack() as locks:
        for run in sorted(runs, key=id):  # one order for everyone: no deadlock
            locks.enter_context(run._lock)
        for run in runs:
            run._refuse_closed()
        held.append(_differences(questions, guesses, curator, denominator))
        try:
            with curator.ledger.transaction(durable=False) as transaction:
                for one in asked_runs:
                    one._catch_up(transaction)
                stop, trips = _decide(asked_runs, held.pop())
                for one, trip in zip(asked_runs, trips, strict=True):
                    one._keep(transaction, stop, trip)
                seen = transaction.newest
            for one in asked_runs:
                one._seen = seen
            if any(trips):
                curator.ledger.sync()
        except RunClosed:
            raise
        except BaseException:
            for run in runs:
                run._lost = True  # something was drawn and perhaps not kept: only the ledger knows
            raise
    return stop, trips


def _decide(asked_runs: list[OneSidedRun], moved: NDArray[np.int64]) -> tuple[int, list[bool]]:
    """Draw: the first question that trips any run ends the call for all of them."""
    said = [_compare(r, moved) for r in asked_runs]
    stop = min(asked for _, asked in said)
    return stop, [above and asked == stop for above, asked in said]


def _compare(run: OneSidedRun, moved: NDArray[np.int64]) -> tuple[bool, int]:
    """Whether one side trips, and how many questions it decides, were it alone.

    Noise of questions that the other side keeps from being decided is never seen: each has its own.
    """
    values = moved if run.side == "over" else -moved
    inner = run._run
    _, places, _, asked = inner._curator._compare(run.plan, inner._state, values, 1)
    return bool(places.size), asked


def _differences(
    questions: Any, guesses: NDArray[np.int64], curator: Curator, denominator: int
) -> NDArray[np.int64]:
    """Exact answer - estimate; clipping is monotone and never enlarges a move."""
    exact = np.clip(exact_steps(questions, curator._rows, denominator), 0, _REACH)
    return np.asarray(np.clip(exact - guesses, -_REACH, _REACH))


def _guesses(estimates: Any, questions: int, denominator: int) -> NDArray[np.int64]:
    """Public estimates on the lattice: a finite one for each question, or a refusal."""
    guesses = np.asarray(estimates, dtype=np.float64).ravel()
    if guesses.size != questions:
        raise UnsupportedQuery(f"there are {questions} questions and {guesses.size} estimates")
    steps = guesses * denominator  # exact: the denominator is a power of two
    if not (np.abs(steps) <= _FARTHEST).all():
        raise UnsupportedQuery("an estimate is a finite number of rows, not too far from any count")
    return np.rint(steps).astype(np.int64)
