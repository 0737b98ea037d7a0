"""Cards: those of the list of homes, and of the mechanisms that other packages bring.

A package of somebody else's joins front door, command line, planner and audit by an entry point in the group
`hedgerow.mechanisms` whose name is the mechanism's and whose object is its `Card`.
"""

from __future__ import annotations

import re
import warnings
from functools import cache
from importlib import import_module
from typing import Any

import hedgerow
from hedgerow.errors import UnsupportedQuery
from hedgerow.homes import HOMES
from hedgerow.mechanisms.card import Card

GROUP = "hedgerow.mechanisms"


def own(name: str) -> Card:
    """The card of a mechanism of this package."""
    cards: tuple[Card, ...] = import_module(f"{GROUP}.{HOMES[name]}.card").CARDS
    return next(card for card in cards if card.name == name)


def every() -> list[Card]:
    """All cards: this package's in the order of the list, then guests' by name."""
    return [*map(own, HOMES), *guests().values()]


def card(name: str) -> Card:
    """The card of a name at the front door."""
    if name in HOMES:
        return own(name)
    if name in guests():
        return guests()[name]
    raise UnsupportedQuery(f"there is no mechanism {name!r}; there is {', '.join(c.name for c in every())}")


@cache
def guests() -> dict[str, Card]:
    """Mechanisms of other packages; one that cannot be used is left out, with a warning that says why."""
    from importlib.metadata import entry_points

    found: dict[str, Card] = {}
    taken = {c.command for c in map(own, HOMES)}
    for point in sorted(entry_points(group=GROUP)):
        try:
            made: Any = point.load()
        except Exception as error:  # whatever a stranger's module does, ours go on
            why = f"it does not load ({type(error).__name__}: {error})"
        else:
            why = _unfit(point.name, made, taken, found)
        if why:
            warnings.warn(f"the mechanism {point.name!r} of {point.value!r} is left out: {why}", stacklevel=2)
            continue
        found[point.name] = made
        taken.add(made.command)
    return found


def _unfit(name: str, made: Any, taken: set[str], found: dict[str, Card]) -> str:
    """Why a guest cannot join, or nothing."""
    if not isinstance(made, Card):
        return "its entry point is no Card"
    if made.name != name:
        return f"its card is called {made.name!r}"
    if name in hedgerow.__all__ or name in found or (made.command and made.command in taken):
        return "its name is taken"
    if made.command and not re.fullmatch(r"[a-z][a-z0-9-]*", made.command):
        return f"{made.command!r} is no name for the command line: small letters, digits and dashes"
    if made.command and made.kind != "offline":
        return "only a release that is made at once has a name on the command line"
    return ""
