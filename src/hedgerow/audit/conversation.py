"""Whole conversations with interactive mechanisms, over and over: all that one said is one output.

The mechanism is opened once by its own code: its plan and its charge are the real ones, and if it counts the
rows, a rehearsal keeps as many draws of that number as are needed. Every conversation then starts from a new
noisy threshold and a new hypothesis, and runs through the mechanism's own loop, the real differences and the
real draws; only the ledger lines are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.rehearsal import Rehearsal, World
from hedgerow.curator.runs.comparison import begin
from hedgerow.curator.runs.sparse_vector import SparseVectorRun
from hedgerow.mechanisms.online.conversation import SOURCES, Conversation
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.event import Event
from hedgerow.synopsis.answer import Answer

Ask = Callable[[Conversation], Answer]


class Unwritten(SparseVectorRun):
    """A run like another one, with a noisy threshold of its own, that keeps no lines."""

    def __init__(self, run: SparseVectorRun) -> None:
        self.__dict__ = dict(run.__dict__)
        rows = run._curator
        self._curator: Any = SimpleNamespace(
            ledger=SimpleNamespace(transaction=lambda durable: nullcontext(), sync=lambda: None),
            domain=rows.domain,
            account=rows.account,
            _rows=rows._rows,
            _compare=rows._compare,
        )
        self._state = begin(run.plan, rows._entropy)

    def _catch_up(self, transaction: Any) -> None:
        """Nobody else goes on with it."""

    def _write(self, *_: Any, **__: Any) -> None:
        self._number += 1


def conversations(
    mechanism: Any, ask: Ask, budget: Budget, world: World, size: int
) -> tuple[NDArray[Any], list[Event]]:
    """The outputs of `size` conversations, and what one was charged as.

    An output is the number of rows that the mechanism goes by, then source and value of every answer.
    """
    curator = world.curator(budget, Rehearsal)
    assert isinstance(curator, Rehearsal)
    curator.repeat = size
    opened = mechanism.open(curator)
    draws = curator.draws[0] if curator.draws else [[np.array(opened.terms.total)]] * size
    said = []
    for draw in draws:
        total = max(1.0, float(draw[0].ravel()[0]))
        answer = ask(_anew(opened, mechanism, curator, total))
        said.append([total, *(SOURCES.index(s) for s in answer.sources), *answer.value])
    return np.array(said), [*curator.events, opened._run.plan.event]


def _anew(opened: Conversation, mechanism: Any, curator: Rehearsal, total: float) -> Conversation:
    """A conversation of the same mechanism that nobody has begun."""
    made = opened._unbegun(mechanism._hypothesis(curator, total))
    made.terms = replace(opened.terms, total=total)
    made._run = Unwritten(opened._run)
    return made


def insistent(queries: Sequence[Any]) -> Ask:
    """Ask the first question again and again, then the others, then the last again: belows, then an above."""
    return lambda session: session.ask([*[queries[0]] * 6, *queries, *[queries[-1]] * 2])
