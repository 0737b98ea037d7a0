"""Audits of one act at a time: the same history in both worlds, then one act drawn over and over.

A whole run of a mechanism that learns is slow, so few can be drawn, and an act that gives away too much hides
among the others. But the loss of a run is the sum of its acts' losses given what was said before. So a run is
recorded once; in both worlds it is played again with everything said as recorded, and the act in question is
drawn many times, against the epsilon that its own event is charged. What follows from released values alone
makes the same acts in both worlds: anything else is an error, without any statistics.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.ledger_replay import price
from hedgerow.audit.rehearsal import Rehearsal, World
from hedgerow.curator.curator import Curator
from hedgerow.errors import HedgerowError
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.event import Event

Act = Callable[[Curator, float], Any]
_TRIES = 30  # runs may differ in how many acts they make


class Recorded(Rehearsal):
    """A rehearsal in which what was said before is said again; one act is drawn `repeat` times."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.script: list[list[NDArray[Any]]] = []
        self.focus: int | None = None

    @property
    def _times(self) -> int:
        number = len(self.draws)
        if self.script and number >= len(self.script):
            raise HedgerowError(
                "the same history leads to more acts on a neighbour: rows decide what is done"
            )
        return self.repeat if number == self.focus else 1

    @property
    def _said(self) -> list[NDArray[Any]]:
        return self.script[len(self.draws) - 1] if self.script else super()._said


class ActByAct:
    """A mechanism of several acts, and neighbours to play its recorded runs on.

    Args:
        act: runs the mechanism at an epsilon.
        pairs: neighbouring worlds, none in two pairs; a run is recorded in the first of each.
        scale: how many times the epsilon in question a run is given.
    """

    def __init__(self, act: Act, pairs: tuple[tuple[World, World], ...], scale: float = 1.0) -> None:
        if len({world for pair in pairs for world in pair}) < 2 * len(pairs):
            raise HedgerowError("a world in two pairs would have two histories")
        self.act, self.pairs, self.scale = act, pairs, scale
        self._known: dict[tuple[float, World], tuple[list[list[NDArray[Any]]], list[Event]]] = {}

    def claim(self, number: int, epsilon: float) -> float:
        """What one act is charged at most, in runs at an epsilon that are recorded anew."""
        self._known.clear()
        runs = [self._recorded(epsilon, first, number)[1] for first, _ in self.pairs]
        return float(max(price(events[number].to_json(), "epsilon")[0] for events in runs))

    def draw(self, number: int, epsilon: float, world: World, size: int) -> NDArray[Any]:
        """Many draws of one act after the recorded history, in a world of one of the pairs."""
        first = next(one for one, two in self.pairs if world in (one, two))
        script, events = self._recorded(epsilon, first, number)
        curator = self._curator(world, epsilon)
        curator.script, curator.focus, curator.repeat = script, number, size
        self.act(curator, self.scale * epsilon)
        if [e.to_json() for e in curator.events] != [e.to_json() for e in events]:
            raise HedgerowError(
                "the same history leads to other acts on a neighbour: rows decide what is done"
            )
        return np.array([np.concatenate([part.ravel() for part in d]) for d in curator.draws[number]])

    def _recorded(
        self, epsilon: float, world: World, number: int
    ) -> tuple[list[list[NDArray[Any]]], list[Event]]:
        """What was said in one run that made the act in question, and the events it was charged as."""
        for _ in range(_TRIES):
            if (epsilon, world) in self._known and len(self._known[epsilon, world][1]) > number:
                return self._known[epsilon, world]
            curator = self._curator(world, epsilon)
            self.act(curator, self.scale * epsilon)
            self._known[epsilon, world] = [draws[0] for draws in curator.draws], curator.events
        raise HedgerowError(f"no run of {_TRIES} makes {number + 1} acts")

    def _curator(self, world: World, epsilon: float) -> Recorded:
        curator = world.curator(Budget(epsilon=self.scale * epsilon), Recorded)
        assert isinstance(curator, Recorded)
        return curator
