"""The card of Session."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from hedgerow.mechanisms.card import Auditor, Card

if TYPE_CHECKING:
    from hedgerow.curator.curator import Curator


def _audit(auditor: Auditor) -> None:
    """Priming, then an answer measured for itself; the comparisons are audited as `one_sided`."""
    from hedgerow.mechanisms.session.session import Session

    runs, question = count(), auditor.workload("one")[0]

    def asked(curator: Curator, epsilon: float) -> None:
        session = Session(epsilon=epsilon / 2, name=str(next(runs))).open(curator)
        coarse = 2 + 4 * curator.privacy.max_rows / epsilon
        session.ask(question, within_count=coarse, confidence=0.5)

    for delta in (0.0, auditor.delta):
        auditor.one_act(act=lambda c, e: Session(epsilon=e).open(c), delta=delta)
    auditor.several_acts(act=asked, worlds=auditor.pairs("few"), share=0.1)


CARDS = (
    Card(
        name="Session",
        home="hedgerow.mechanisms.session.session",
        kind="online",
        words="questions in SQL or as queries, answered as cheaply as can be",
        when="what analysts should use: certified, measured or learned answers, one cache for all",
        page="session.md",
        cost=lambda task: (5.0, 400.0),
        audits=_audit,
    ),
)
