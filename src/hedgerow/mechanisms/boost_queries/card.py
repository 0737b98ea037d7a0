"""The card of BoostQueries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hedgerow.mechanisms import needs
from hedgerow.mechanisms.card import Auditor, Card, Theorem, later

if TYPE_CHECKING:
    from hedgerow.mechanisms.task import Task

_TRIED = 1 << 20  # entries of a linear program that a plan tries


def _program(task: Task) -> str | None:
    from hedgerow.learning.fitting_database import PROGRAM

    return _entries(task, PROGRAM)


def _quick_program(task: Task) -> str | None:
    return _entries(task, _TRIED)


def _entries(task: Task, most: int) -> str | None:
    entries = task.finite.size * len(task.asked)
    if entries <= most:
        return None
    return f"its linear program would have {needs.large(entries)} entries, more than {most:,}"


def _audit(auditor: Auditor) -> None:
    """Fewer samples than there are questions, so that it samples; sums and questions that are none."""
    tables = (auditor.pairs("tables", people=[3])[0], auditor.pairs("tables", people=[1], replace=True)[0])
    levels = (auditor.pairs("levels")[1], auditor.pairs("levels", replace=True)[0])
    for workload, worlds in (("ones", tables), ("low", levels)):
        auditor.several_acts(
            auditor.workload(workload), worlds=worlds, delta=auditor.delta, share=0.1, samples=2, rounds=2
        )


CARDS = (
    Card(
        name="BoostQueries",
        home="hedgerow.mechanisms.boost_queries.boost_queries",
        kind="offline",
        words="small databases whose median answers every question of the workload",
        when="every question of a workload at once; questions that are no sums",
        page="mechanisms/boost-queries.md",
        command="boost-queries",
        stated=False,
        needs=(needs.delta,),
        limits=(_program,),
        theorem=Theorem("[DRV10] Thm 4.1", later("boost_queries.promise:rule"), slow=True),
        skips=(_quick_program,),
        audits=_audit,
    ),
)
