"""The card of Factorization."""

from __future__ import annotations

from hedgerow.mechanisms import needs
from hedgerow.mechanisms.card import Auditor, Card, Theorem, later


def _audit(auditor: Auditor) -> None:
    for workload in ("pairs", "mixed"):  # a strategy of contrasts, and a numerical one
        auditor.one_act(auditor.workload(workload), delta=auditor.delta)


CARDS = (
    Card(
        name="Factorization",
        home="hedgerow.mechanisms.factorization.factorization",
        kind="offline",
        words="Gaussian noise on what tables or ranges are best rebuilt from",
        when="many tables or ranges, exact errors: the default for ranges and prefixes",
        page="mechanisms/factorization.md",
        command="factorization",
        takes=frozenset({"run"}),
        needs=(needs.delta,),
        limits=(needs.countable,),
        theorem=Theorem("[CKS20] Cor. 17", later("factorization.promise:rule"), hides=lambda task: True),
        error=later("factorization.promise:error"),
        audits=_audit,
    ),
)
