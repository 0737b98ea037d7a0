"""Tries to break the privacy of what is above it: exactly, by sampling, by replaying histories on
neighbours, and by replaying ledgers.

The broken mechanisms that it is tested against live here too, and are not exported.
"""

from hedgerow.audit.betting import bet
from hedgerow.audit.coupled.replay import Replayed, replay_neighbours
from hedgerow.audit.finding import Finding, plot, table
from hedgerow.audit.ledger_replay import Replay, replay
from hedgerow.audit.neighbours import neighbouring_answers, neighbouring_tables
from hedgerow.audit.rehearsal import runs_of
from hedgerow.audit.statistical import audit

__all__ = [
    "Finding",
    "Replay",
    "Replayed",
    "audit",
    "bet",
    "neighbouring_answers",
    "neighbouring_tables",
    "plot",
    "replay",
    "replay_neighbours",
    "runs_of",
    "table",
]
