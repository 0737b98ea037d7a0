"""Auditing: the audit's own checks for whoever wants to see them, of mechanisms or of a dataset's ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hedgerow.audit import command
from hedgerow.errors import HedgerowError
from hedgerow.release.writing import writable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def audit(
    asked: dict[str, bool],
    *,
    samples: int | None,
    time_limit: float,
    picture: Path | None,
    ledger: Path | None,
    emit: Callable[[dict[str, Any]], None] | None,
) -> int:
    """Run one audit; 1 if anything is refuted, as the controls must be.

    Args:
        asked: the audits there are, by name, and whether each was asked for: exactly one must be.
        samples, time_limit: how much is drawn, and for how long.
        picture: where a plot goes.
        ledger: the ledger, or the data whose ledger it is, that is replayed.
        emit: takes the findings as plain data; text goes to standard output if None.
    """
    chosen = [name for name, said in asked.items() if said]
    if len(chosen) != 1:
        *others, last = (f"--{name}{' FILE' * (name == 'ledger')}" for name in asked)
        raise HedgerowError(f"say one of {', '.join(others)} and {last}")
    if picture is not None:
        writable(picture.absolute().parent)
    told: Any = {} if emit is None else {"emit": emit}
    if chosen[0] == "reconstruct":
        return command.run_reconstruction(json=emit is not None, **told)
    return command.run(
        chosen[0],
        json=emit is not None,
        samples=samples,
        time_limit=time_limit,
        picture=None if picture is None else str(picture),
        ledger=None if ledger is None else str(ledger),
        **told,
    )
