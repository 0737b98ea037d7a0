"""The recording curator: a real one, whose every meeting of rows with noise is kept, or is told what to say.

Rows meet noise in two methods of `Curator`: `_act` (a measurement, a choice, a report) and `_compare` (the
questions of a sparse vector). A `Replaying` curator keeps what met there and what was drawn, then goes on
as the real one does, with a real ledger in memory. Given a script - the meetings of a run on another table
- it says what was said there, so that the code above it lives through the same history on other rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.coupled.spelling import Atom, Names, spelled
from hedgerow.curator.curator import Curator
from hedgerow.curator.rows.table import Rows, Table
from hedgerow.curator.runs.comparison import State
from hedgerow.curator.runs.sparse_vector_plan import SparseVectorPlan
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.event import Event
from hedgerow.privacy.ledger.claim import Claim
from hedgerow.privacy.ledger.ledger import Entry
from hedgerow.testing import SeededEntropy, seeded

KEY = bytes(
    range(32)
)  # what chooses a person's rows: drawn without looking at them, so the same for neighbours


class Departed(BaseException):
    """The code left the recorded history. Not an Exception, so that nothing hides it."""


@dataclass(frozen=True)
class Draw:
    """What a sampler says it made of its bytes: a law, and its parameters and numbers."""

    law: str
    about: tuple[Any, ...]


@dataclass(eq=False)
class Met:
    """One meeting of rows with noise: what is public about it, what met, what was drawn and what was said.

    What was said is what was drawn, or what a script has.
    """

    public: tuple[str, ...]
    event: Event
    plan: SparseVectorPlan | None = None
    exact: Any = None
    state: State | None = None
    most: int | None = None
    draws: list[Draw] = field(default_factory=list)
    drawn: Any = None
    said: Any = None

    @property
    def told(self) -> str:
        """What it is, in a few words."""
        return self.public[0].split(":")[0]


class Heard(SeededEntropy):
    """A repeatable source that keeps what the samplers tell it."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.aside: list[Draw] = []  # drawn where no rows are met: the thresholds of runs that open
        self.into = self.aside

    def told(self, law: str, *about: Any) -> None:
        """Called by `curator.noise` after each draw."""
        if law != "uniform":
            kept = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in about)
            self.into.append(Draw(law, kept))


class Witness:
    """What is kept of one run, and the script that it follows, if any."""

    def __init__(self, script: list[Met] | None = None, seed: int = 0) -> None:
        self.script, self.met, self.names = script, [], Names()
        self.entropy = Heard(seed)
        self.departure = ""

    met: list[Met]

    def meets(self, event: Event, *public: Any, plan: SparseVectorPlan | None = None) -> Met:
        """Keep a meeting; it must be the one that the script has here."""
        words = tuple(self.names.spell(str(part)) for part in (*public, event.to_json()))
        number = len(self.met)
        self.met.append(Met(words, event, plan))
        if self.script is None:
            return self.met[-1]
        if number >= len(self.script):
            self._depart(f"there is one act more, {words[0]}")
        for here, there in zip(words, self.script[number].public, strict=True):
            if here != there:
                self._depart(f"act {number + 1} is {here[:90]} on one table and {there[:90]} on the other")
        return self.met[-1]

    def said(self, met: Met) -> Any:
        """What is said after a meeting: what was said in the script's, else what was drawn."""
        return met.drawn if self.script is None else self.script[len(self.met) - 1].drawn

    @contextmanager
    def listening(self, met: Met) -> Iterator[None]:
        """Keep what is drawn with this meeting."""
        before, self.entropy.into = self.entropy.into, met.draws
        try:
            yield
        finally:
            self.entropy.into = before

    def _depart(self, words: str) -> None:
        self.departure = f"The same history leads elsewhere: {words}. Rows decide what is done."
        raise Departed(self.departure)


class Replaying(Curator):
    """A curator whose meetings of rows with noise are witnessed."""

    def __init__(
        self, table: Table, budget: Budget, relation: Literal["add_remove", "replace"], witness: Witness
    ) -> None:
        super().__init__(table, budget, ":memory:", relation, entropy=witness.entropy)
        self.witness = witness
        self._rows = Rows(table, self._bounding_key(), self.ledger.settings.spelling)

    def _bounding_key(self) -> bytes:
        return KEY

    def _act(
        self,
        event: Event,
        evaluate: Callable[[], Any],
        draw: Callable[[Any], list[NDArray[Any]]],
        question: str,
        *,
        request: str | None = None,
        note: str = "",
        run: str | None = None,
        claims: Sequence[Claim] = (),
    ) -> list[NDArray[Any]]:
        met = self.witness.meets(event, question, request, note, run, self.account)

        def read() -> Any:
            values = evaluate()
            met.exact = copied(values)
            return values

        def drawn(held: Any) -> list[NDArray[Any]]:
            with self.witness.listening(met):
                met.drawn = draw(held)
            met.said = copied(self.witness.said(met))
            return copied(met.said)  # type: ignore[no-any-return]

        known: dict[str, Any] = {"request": request, "note": note, "run": run, "claims": claims}
        return super()._act(event, read, drawn, question, **known)

    def _compare(
        self, plan: SparseVectorPlan, state: State, values: NDArray[np.int64], most: int | None = None
    ) -> tuple[State, NDArray[np.int64], NDArray[np.int64], int]:
        public = (f"compare: {plan.public}", values.size, most, state.above, state.asked)
        met = self.witness.meets(plan.event, *public, plan=plan)
        met.exact, met.state, met.most = values.copy(), state, most
        with self.witness.listening(met):
            met.drawn = super()._compare(plan, state, values, most)
        return self.witness.said(met)  # type: ignore[no-any-return]


def copied(values: Any) -> Any:
    """Exact values that later changes in place do not reach."""
    if isinstance(values, (list, tuple)):
        return type(values)(copied(v) for v in values)
    return values.copy() if isinstance(values, np.ndarray) else values


@dataclass(eq=False)
class Played:
    """One run of a mechanism on one table: meetings, draws beside them, ledger lines, result or error."""

    met: list[Met]
    aside: list[Draw]
    lines: list[tuple[str, ...]]
    runs: list[Event]
    result: list[Atom]
    error: str
    departure: str


def play(
    mechanism: Callable[[Any], Any],
    table: Table,
    budget: Budget,
    relation: Literal["add_remove", "replace"],
    *,
    script: list[Met] | None = None,
    kind: type[Replaying] = Replaying,
    seed: int = 0,
) -> Played:
    """Run a mechanism on a table, by a script if one is given; public randomness is the same every time."""
    witness = Witness(script, seed)
    error, result = "", []
    with seeded(seed):
        curator = kind(table, budget, relation, witness)
        try:
            result = spelled(mechanism(curator), witness.names)
        except Departed:
            pass
        except Exception as failure:
            error = witness.names.spell(f"{type(failure).__name__}: {failure}")
    entries = list(curator.ledger.replay(None, 0))
    runs = [e.event for e in entries if "sparse_vector" in e.event.kind]
    lines = [_line(entry, witness.names) for entry in entries]
    return Played(witness.met, witness.entropy.aside, lines, runs, result, error, witness.departure)


def _line(entry: Entry, names: Names) -> tuple[str, ...]:
    """All of a ledger line that somebody may see, and how long its secret state is."""
    answer = (entry.answer or b"").decode("latin-1")
    shown = (entry.kind, entry.account, entry.request, entry.run, entry.event.to_json(), entry.note)
    money = (entry.cost, entry.spent, entry.limit, entry.details, len(entry.state or b""))
    return tuple(names.spell(str(part)) for part in (*shown, *money, entry.content_type, answer))
