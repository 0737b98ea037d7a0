"""The card of OfflineMW."""

from __future__ import annotations

from hedgerow.mechanisms import cost, needs
from hedgerow.mechanisms.card import Auditor, Card, Theorem, later

CELLS = 1 << 27
"""Larger domains are not held."""


def _audit(auditor: Auditor) -> None:
    """As the theorem has it, and tuned: whole runs, then total, choice and measurement one by one."""
    few, trios, pairs = auditor.pairs("few"), auditor.pairs("trios"), auditor.workload("trio pairs")
    for delta in (0.0, auditor.delta):
        auditor.several_acts(auditor.workload("two"), worlds=few, delta=delta, alpha=0.9, named=True)
        auditor.several_acts(pairs, worlds=trios[:2], delta=delta, rounds=1, named=True)
    auditor.each_act(auditor.workload("one"), 3, worlds=few[:1], scale=18.0, alpha=0.9, named=True)
    auditor.each_act(auditor.workload("apart"), 2, worlds=few[1:], scale=18.0, alpha=0.9, named=True)
    auditor.each_act(pairs, 3, worlds=trios, scale=3.0, rounds=1, named=True)


CARDS = (
    Card(
        name="OfflineMW",
        home="hedgerow.mechanisms.offline_mw.offline_mw",
        kind="offline",
        words="a distribution over all cells, taught by the tables or answers it gets most wrong",
        when="queries over a domain of up to some million cells",
        page="mechanisms/offline-mw.md",
        command="offline-mw",
        whole=True,
        takes=frozenset({"run", "watch"}),
        needs=(needs.attributes,),
        limits=(needs.cells(CELLS),),
        theorem=Theorem("[W12] Thm 12.6", later("offline_mw.promise:rule")),
        skips=(needs.quick_to_try,),
        cost=cost.of_learning_cells,
        audits=_audit,
    ),
)
