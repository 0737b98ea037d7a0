"""The seam through which audits run the real code many times: a curator that draws often and writes nothing.

`Curator._act` keeps the law in one place: refuse, read, charge and draw in one transaction, return. A
rehearsal replaces that one method: it refuses and reads as the original does, but draws `repeat` times and
keeps every draw instead of a ledger line. Everything else - statistics, sensitivity, calibration, samplers -
is the curator's own. What the ledger does with a charge is audited by `ledger_replay`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.coupled.spelling import numbers
from hedgerow.curator.curator import Curator
from hedgerow.curator.rows.table import Table
from hedgerow.errors import HedgerowError
from hedgerow.privacy.accountant import cost as cost_of
from hedgerow.privacy.budget import Budget, Cost
from hedgerow.privacy.event import Event
from hedgerow.privacy.ledger.ledger import Ledger


@dataclass(frozen=True)
class World:
    """One small private table, and whom its curator protects."""

    domain: Any
    rows: tuple[tuple[Any, ...], ...]
    people: tuple[int, ...]
    relation: Literal["add_remove", "replace"]
    max_rows: int

    @classmethod
    def of(
        cls,
        domain: Any,
        crowd: Sequence[tuple[Any, ...]],
        changed: Sequence[tuple[Any, ...]],
        relation: Literal["add_remove", "replace"],
        max_rows: int,
    ) -> Self:
        """A crowd of people with one row each, and one person with the rows `changed`."""
        people = [*range(1, len(crowd) + 1), *[0] * len(changed)]
        return cls(domain, (*crowd, *changed), tuple(people), relation, max_rows)

    def table(self) -> Table:
        """The table that a curator guards."""
        import pyarrow as pa

        columns = {
            name: pa.array([row[i] for row in self.rows], pa.int64()) for i, name in enumerate(self.domain)
        }
        if self.max_rows == 1:
            return Table.open(pa.table(columns), self.domain)
        columns["person"] = pa.array(self.people, pa.int64())
        return Table.open(pa.table(columns), self.domain, unit="person", max_rows=self.max_rows)

    def curator(self, budget: Budget, kind: type[Curator] = Curator) -> Curator:
        """A real curator with a ledger in memory."""
        return kind(self.table(), budget, ":memory:", self.relation)


class NamesWorld(World):
    """One small private table of names, an open domain."""

    def table(self) -> Table:
        """The table that a curator guards."""
        import pyarrow as pa

        columns = {"name": pa.array([row[0] for row in self.rows], pa.string())}
        if self.max_rows == 1:
            return Table.open(pa.table(columns), self.domain)
        columns["person"] = pa.array(self.people, pa.int64())
        return Table.open(pa.table(columns), self.domain, unit="person", max_rows=self.max_rows)


class Rehearsal(Curator):
    """A curator for audits: `repeat` independent draws of every act, none of them charged."""

    repeat: int = 1
    allotted: bool = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.events: list[Event] = []
        self.draws: list[list[list[NDArray[Any]]]] = []

    @property
    def left(self) -> Cost:
        left = self.ledger.remaining(self.account)
        for event in self.events:
            left = left - cost_of(event, left.currency)
        return left

    def _act(
        self,
        event: Event,
        evaluate: Callable[[], Any],
        draw: Callable[[Any], list[NDArray[Any]]],
        question: str,
        **_: Any,
    ) -> list[NDArray[Any]]:
        self.ledger.check(cost_of(event, self.ledger.currency), self.account)
        exact_values = evaluate()
        times = self._times
        self.events.append(event)
        self.draws.append([draw(exact_values) for _ in range(times)])
        return self._said

    @property
    def _times(self) -> int:
        """How often the next act is drawn."""
        return self.repeat

    @property
    def _said(self) -> list[NDArray[Any]]:
        """What the mechanism is told that its last act released."""
        return self.draws[-1][0]

    def transcript(self) -> NDArray[Any]:
        """All that a mechanism of one act released, one row per draw."""
        if len(self.draws) != 1:
            raise HedgerowError(
                f"the mechanism made {len(self.draws)} acts: audit it with whole runs, not repeated draws"
            )
        return np.array([np.concatenate([part.ravel() for part in draw]) for draw in self.draws[0]])

    def child(self, name: str) -> Self:
        """The curator of an allotted account rehearses too, into the same transcript."""
        self.allotted = True
        return super().child(name)

    def again(self) -> Rehearsal:
        """The same rows with nothing drawn yet, and a new ledger if something was written in the old one."""
        if not self.allotted and self.ledger.newest == 0:
            self.events, self.draws = [], []
            return self
        s = self.ledger.settings
        fresh = Ledger.open(
            ":memory:", budget=s.budget, neighbours=s.neighbours, unit=s.unit, max_rows=s.max_rows
        )
        made = object.__new__(type(self))
        made.__dict__ = self.__dict__ | {"ledger": fresh, "events": [], "draws": [], "allotted": False}
        return made

    def run(self) -> NDArray[Any]:
        """All that one run released, as one row."""
        parts = [part.ravel() for draws in self.draws for part in draws[0]]
        return np.concatenate([np.zeros(0, dtype=np.int64), *parts])


def repeated(
    world: World, budget: Budget, act: Callable[[Curator], Any], size: int, kind: type[Rehearsal] = Rehearsal
) -> tuple[NDArray[Any], list[Event]]:
    """`size` independent outputs of a mechanism that makes one act, and the event it was charged as."""
    curator = world.curator(budget, kind)
    assert isinstance(curator, Rehearsal)
    curator.repeat = size
    act(curator)
    return curator.transcript(), curator.events


def whole_runs(
    world: World, budget: Budget, act: Callable[[Curator], Any], size: int, kind: type[Rehearsal] = Rehearsal
) -> tuple[list[NDArray[Any]], list[Event]]:
    """The transcripts of `size` whole runs of a mechanism that makes several acts, each seeing the last."""
    curator = world.curator(budget, kind)
    assert isinstance(curator, Rehearsal)
    rows: list[NDArray[Any]] = []
    events: list[Event] = []
    for _ in range(size):
        curator = curator.again()
        act(curator)
        events = curator.events
        rows.append(curator.run())
    return rows, events


def runs_of(
    act: Callable[[Curator], Any], budget: Budget, *, result_only: bool = False
) -> Callable[[World, int], list[list[Any]]]:
    """A mechanism as something to audit with `batch=True`: whole runs on worlds, without ledger lines.

    An output is all that left the curator and all that the mechanism then returned: numbers, texts, forms.

    Args:
        act: takes a curator and returns a result.
        budget: what each run may spend.
        result_only: leave out what left the curator, which is also audited by itself.

    >>> from hedgerow.audit.neighbours import neighbouring_tables
    >>> runs = runs_of(lambda curator: curator.measure(("a",), 1).counts, Budget(epsilon=1))
    >>> [len(row) for row in runs(neighbouring_tables("replace")[0][0], 2)]
    [6, 6]
    """

    def draw(world: World, size: int) -> list[list[Any]]:
        curator = world.curator(budget, Rehearsal)
        assert isinstance(curator, Rehearsal)
        rows = []
        for _ in range(size):
            curator = curator.again()
            result = numbers(act(curator))
            rows.append(result if result_only else [*curator.run().tolist(), *result])
        return rows

    return draw
