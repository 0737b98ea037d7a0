"""Refined answers in a ledger: each refines a line that is there, and no line is refined twice.

Two closer answers drawn from one weaker answer would lose more than was paid for. So the act of refining
has one possible request id, made of the weaker answer's line, and a ledger has every request id once.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from hedgerow.errors import LedgerError
from hedgerow.privacy.event import Event, Laplace, RefinedLaplace
from hedgerow.privacy.ledger.entry import Entry

if TYPE_CHECKING:
    from hedgerow.privacy.ledger.store import Store


def refuse_refining(store: Store, event: Event, request: str | None) -> None:
    """Refuse an act that refines anything but one line's own answer, or whose request id is not its own."""
    if (
        request is not None
        and request.startswith(RefinedLaplace.OWN)
        and not isinstance(event, RefinedLaplace)
    ):
        raise LedgerError(f"Request ids that begin with {RefinedLaplace.OWN!r} belong to refined answers.")
    if not any(isinstance(leaf, RefinedLaplace) for leaf, _ in event.leaves()):
        return
    if not isinstance(event, RefinedLaplace):
        raise LedgerError("An answer is refined by an act of its own, not together with others.")
    if request != event.request:
        raise LedgerError(f"Line {event.line} is refined under the request id {event.request!r}, once.")
    line = store.at(int(event.line))
    weaker = None if line is None else Entry.read(line)
    if weaker is None or weaker.kind != "charge" or not isinstance(weaker.event, Laplace | RefinedLaplace):
        raise LedgerError(f"Line {event.line} holds no answer with Laplace noise that could be refined.")
    if (weaker.event.sensitivity, weaker.event.scale) != (event.sensitivity, event.weaker_scale):
        raise LedgerError(f"The answer of line {event.line} has other noise than the one that is refined.")


class Refinings:
    """The same, of lines that are walked again: which answers with Laplace noise nobody has refined yet."""

    def __init__(self) -> None:
        self._noise: dict[int, tuple[Fraction, Fraction]] = {}

    def fault(self, entry: Entry) -> str | None:
        """What is wrong with a line about refining, if anything."""
        event = entry.event
        if not isinstance(event, Laplace | RefinedLaplace):
            nested = any(isinstance(leaf, RefinedLaplace) for leaf, _ in event.leaves())
            return "an answer is refined together with other acts" if nested else None
        self._noise[entry.seq] = event.sensitivity, event.scale
        if isinstance(event, Laplace):
            return None
        weaker = self._noise.pop(int(event.line), None)
        if entry.request == event.request and weaker == (event.sensitivity, event.weaker_scale):
            return None
        return "it refines an answer that is not there, or was refined before"
