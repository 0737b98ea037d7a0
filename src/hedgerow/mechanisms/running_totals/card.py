"""The card of RunningTotals."""

from __future__ import annotations

from hedgerow.mechanisms.card import Auditor, Card


def _audit(auditor: Auditor) -> None:
    """All days in one act; days that come one by one are replayed (`audit.coupled.growing`)."""
    from hedgerow.mechanisms.running_totals.running_totals import RunningTotals

    auditor.one_act(act=lambda c, e: RunningTotals(epsilon=e).along(c, "a").value, delta=auditor.delta)


CARDS = (
    Card(
        name="RunningTotals",
        home="hedgerow.mechanisms.running_totals.running_totals",
        kind="continual",
        words="every day's total so far, over data that grow, for one price",
        when="rows arrive day by day, and the totals so far are published as they come",
        page="growing.md",
        audits=_audit,
    ),
)
