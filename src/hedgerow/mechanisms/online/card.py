"""Cards of OnlineMW and SparseMW."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hedgerow.mechanisms import cost, needs
from hedgerow.mechanisms.card import Auditor, Card, Theorem, later

if TYPE_CHECKING:
    from hedgerow.mechanisms.task import Task

_UPDATES = 30  # of a run that a plan tries
_COUNTED: dict[str, Any] = {"updates": 2, "queries": 4, "threshold": 1.0}
_DECLARED = _COUNTED | {"updates": 1, "rows": 5}  # nearly all of the claim is in one comparison


def _held(task: Task) -> str | None:
    from hedgerow.learning.dense.dense import CELL_LIMIT

    return needs.cells(CELL_LIMIT)(task)


def _audit_online(auditor: Auditor) -> None:
    """The total, then trips, values and updates that follow from them."""
    for options in (_COUNTED, _DECLARED):
        auditor.conversation(auditor.workload("distant"), **options)


def _audit_sparse(auditor: Auditor) -> None:
    """The same for names."""
    for options in (_COUNTED, _DECLARED):
        names = auditor.workload("names")
        auditor.conversation(names, worlds=auditor.pairs("names"), sparsity=2, **options)


CARDS = (
    Card(
        name="OnlineMW",
        home="hedgerow.mechanisms.online.online_mw",
        kind="online",
        words="private multiplicative weights over all cells",
        when="the papers' mechanism over a declared domain, in theorem and in tuned mode",
        page="mechanisms/online-mw.md",
        limits=(_held,),
        theorem=Theorem("[DR14] Thm 4.14", later("online.promise:online_mw")),
        trial=lambda task: {"updates": _UPDATES, "queries": task.queries},
        skips=(needs.quick_to_try,),
        cost=cost.of_learning_cells,
        audits=_audit_online,
    ),
    Card(
        name="SparseMW",
        home="hedgerow.mechanisms.online.sparse_mw",
        kind="online",
        words="private multiplicative weights over names without end",
        when="the same for sparse questions about an open domain",
        page="mechanisms/online-mw.md",
        open_ended=True,
        theorem=Theorem("[BR11] Thm 3.5, [DR14] Thm 3.28", later("online.promise:sparse_mw")),
        trial=lambda task: {"sparsity": task.sparsity, "updates": _UPDATES, "queries": task.queries},
        cost=cost.of_names,
        audits=_audit_sparse,
    ),
)
