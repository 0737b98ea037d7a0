"""All kinds of events under one name, and the way back from what a file says of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hedgerow.errors import UnknownEvent
from hedgerow.privacy.event import (
    ZCDP,
    Approximate,
    BoundedRange,
    Event,
    Exponential,
    Gaussian,
    Laplace,
    Nothing,
    PermuteAndFlip,
    Pure,
    RandomizedRecord,
    RefinedLaplace,
    Repeat,
    ReportNoisyMax,
    Together,
)
from hedgerow.privacy.sparse_vector_event import (
    GaussianSparseVector,
    OneSidedSparseVector,
    PairedSparseVector,
    SparseVector,
)

__all__ = [
    "ZCDP",
    "Approximate",
    "BoundedRange",
    "Event",
    "Exponential",
    "Gaussian",
    "GaussianSparseVector",
    "Laplace",
    "Nothing",
    "OneSidedSparseVector",
    "PairedSparseVector",
    "PermuteAndFlip",
    "Pure",
    "RandomizedRecord",
    "RefinedLaplace",
    "Repeat",
    "ReportNoisyMax",
    "SparseVector",
    "Together",
    "from_json",
]

_SIMPLE: tuple[type[Event], ...] = (
    Laplace,
    RefinedLaplace,
    Gaussian,
    Exponential,
    PermuteAndFlip,
    ReportNoisyMax,
    RandomizedRecord,
    Pure,
    BoundedRange,
    Approximate,
    ZCDP,
    SparseVector,
    GaussianSparseVector,
    OneSidedSparseVector,
    PairedSparseVector,
    Nothing,
)
_KINDS = {cls.kind: cls for cls in _SIMPLE}


def from_json(data: Mapping[str, Any]) -> Event:
    """The event that `to_json` wrote.

    Args:
        data: the JSON object; an unknown kind or a wrong field is refused with UnknownEvent.

    >>> from_json({"kind": "pure", "epsilon": "1/2"})
    Pure(epsilon=Fraction(1, 2))
    """
    kind = data.get("kind") if isinstance(data, Mapping) else None
    try:
        if kind == Repeat.kind:
            return Repeat(from_json(data["event"]), data["times"])
        if kind == Together.kind:
            return Together(tuple(from_json(event) for event in data["events"]))
        if kind in _KINDS:
            return _KINDS[kind](**{name: value for name, value in data.items() if name != "kind"})
    except (KeyError, TypeError, ValueError) as wrong:
        raise UnknownEvent(f"The event of kind {kind!r} cannot be read: {wrong}") from None
    raise UnknownEvent(f"There is no event of kind {kind!r}.")
