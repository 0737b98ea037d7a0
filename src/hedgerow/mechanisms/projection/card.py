"""The card of Projection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hedgerow.mechanisms import cost, needs
from hedgerow.mechanisms.card import Auditor, Card, Theorem, later

if TYPE_CHECKING:
    from hedgerow.mechanisms.task import Task


def _held(task: Task) -> str | None:
    from hedgerow.learning.projection.projection import CELLS

    return needs.cells(CELLS)(task)


def _audit(auditor: Auditor) -> None:
    auditor.one_act(auditor.workload("ones"), delta=auditor.delta)


CARDS = (
    Card(
        name="Projection",
        home="hedgerow.mechanisms.projection.projection",
        kind="offline",
        words="the distribution nearest to answers with Gaussian noise",
        when="far more queries than noise allows, over a small domain",
        page="mechanisms/projection.md",
        command="projection",
        stated=False,
        whole=True,
        takes=frozenset({"run"}),
        needs=(needs.delta,),
        limits=(_held, needs.countable),
        theorem=Theorem("[NTZ13], mean over queries", later("projection.promise:rule")),
        skips=(needs.quick_to_try,),
        cost=cost.of_learning_cells,
        audits=_audit,
    ),
)
