"""Freezing: an owner stops a dataset, and lets it go on, for reasons that its ledger keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hedgerow.errors import BadValue, Frozen

if TYPE_CHECKING:
    from hedgerow.privacy.ledger.ledger import Ledger

_RUN = "hedgerow: freeze"  # ledgers hold it


def note(ledger: Ledger, reason: Any, *, frozen: bool) -> None:
    """Freeze or thaw a dataset.

    Args:
        ledger: the dataset's.
        reason: why.
        frozen: whether it is frozen from now on.
    """
    told = words(reason, frozen=frozen)
    ledger.record(b"frozen" if frozen else b"thawed", note=told, run=_RUN)


def words(reason: Any, *, frozen: bool) -> str:
    """What the ledger keeps; refused without a reason."""
    if not isinstance(reason, str) or not reason.strip():
        raise BadValue("a dataset is frozen and thawed for a reason: say which")
    return f"The owner {'froze' if frozen else 'thawed'} the dataset: {reason.strip()}"


def is_frozen(ledger: Ledger) -> bool:
    """Whether a dataset is frozen, whichever server its owner said it to."""
    frozen = False
    for entry in ledger.replay(_RUN):
        frozen = entry.answer == b"frozen"
    return frozen


def frozen() -> Frozen:
    """The refusal of whatever is asked of a dataset that its owner has frozen."""
    return Frozen("the owner has frozen this dataset", hint="wait until the owner has thawed it")
