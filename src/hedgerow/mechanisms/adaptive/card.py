"""The card of AdaptiveRelease."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hedgerow.mechanisms import needs
from hedgerow.mechanisms.card import Auditor, Card

if TYPE_CHECKING:
    from hedgerow.mechanisms.task import Task


def _cost(task: Task) -> tuple[float, float]:
    return 3.0 + 3e-8 * task.rows * len(task.finite), 320.0


def _audit(auditor: Auditor) -> None:
    """One-way tables, and again if they are mostly noise; a choice by what they said, the chosen table.

    Then one-way tables and all residuals of the workload, which needs Gaussian noise.
    """
    pairs, trios = auditor.workload("trio pairs"), auditor.pairs("trios")
    for delta in (0.0, auditor.delta):  # Laplace noise and permute-and-flip; Gaussian and exponential
        auditor.several_acts(pairs, worlds=trios[::3], delta=delta, measurements=1)
    auditor.several_acts(pairs, worlds=trios[1::3], delta=auditor.delta)
    for one_way, acts in ((0.8, 3), (0.05, 2)):  # the second: ones, ones again
        auditor.each_act(pairs, acts, worlds=trios, scale=3.0, measurements=1, one_way=one_way)


CARDS = (
    Card(
        name="AdaptiveRelease",
        home="hedgerow.mechanisms.adaptive.adaptive",
        kind="offline",
        words="a model of the rows, learned from the tables it gets most wrong",
        when="several tables of many attributes: the default of `hedgerow release`",
        page="mechanisms/adaptive.md",
        command="adaptive",
        whole=True,
        takes=frozenset({"run", "objective", "seconds", "memory", "prior", "watch"}),
        needs=(needs.attributes,),
        cost=_cost,
        audits=_audit,
    ),
)
