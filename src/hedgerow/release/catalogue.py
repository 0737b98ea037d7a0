"""Catalogue: the mechanisms and workloads that can be asked for by name."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from hedgerow.errors import UnsupportedQuery
from hedgerow.homes import HOMES
from hedgerow.mechanisms import cards

if TYPE_CHECKING:
    from hedgerow.mechanisms.card import Card
    from hedgerow.privacy.ledger.entry import Settings
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.workload import Workload

AUTO = "auto"
"""What a plan of the release recommends."""

WORKLOADS: dict[str, str] = {
    "marginals": "whole tables over so many attributes",
    "conjunctions": "all conjunctions of so many literals",
    "ranges": "all runs of levels of so many ordered attributes",
    "prefixes": "all 'at most' questions on so many ordered attributes",
    "parities": "parities of so many two-level attributes",
    "monotone_conjunctions": "all of so many two-level attributes have their second level",
}
"""Workloads by name; each is a function of `hedgerow.queries.workload`."""


def mechanisms() -> dict[str, Card]:
    """All that can be released by a name on the command line."""
    return own() | guests()


def mechanism(name: str) -> Card:
    """The mechanism of a name; what `auto` is says `release.plan.recommended`."""
    known = own() if name in own() else mechanisms()  # nobody else's code is loaded unless it is asked for
    if name not in known:
        raise UnsupportedQuery(f"there is no mechanism {name!r}; there is {', '.join([AUTO, *known])}")
    return known[name]


def own() -> dict[str, Card]:
    """Those of them that need no other package, for pages that are the same everywhere."""
    return {card.command: card for card in map(cards.own, HOMES) if card.command}


def guests() -> dict[str, Card]:
    """Those that other packages brought."""
    return {card.command: card for card in cards.guests().values() if card.command}


def listed(some: dict[str, Card]) -> str:
    """Mechanisms as help shows them."""
    return "; ".join(
        f"{name}: {card.words}{'' if 'run' in card.takes else ' (paid anew if interrupted)'}"
        for name, card in some.items()
    )


def takers(option: str) -> str:
    """Who can be told an option."""
    return ", ".join(name for name, card in own().items() if option in card.takes)


def refuse(card: Card, domain: Domain, asked: Workload, settings: Settings) -> None:
    """Refuse what a mechanism is not for, in its card's words; asked before a ledger is made."""
    from hedgerow.mechanisms.task import Task
    from hedgerow.privacy.budget import Privacy

    privacy = Privacy(settings.neighbours, settings.max_rows)
    card.check(Task(domain, 1, asked, settings.budget, privacy, 0, len(asked)))  # rows are not public


def workload(domain: Domain, text: str) -> Workload:
    """A workload from its name and size, `marginals:2`, or from named tables, `marginals:age,sex;region`.

    >>> from hedgerow.queries.domain.domain import Domain
    >>> workload(Domain({"a": 2, "b": 3, "c": 4}), "marginals:2")
    Workload(marginals:2: 26 queries over 3 tables)
    """
    family, _, over = text.partition(":")
    if family not in WORKLOADS:
        raise UnsupportedQuery(f"there is no workload {family!r}; there is {', '.join(WORKLOADS)}")
    make: Callable[..., Workload] = getattr(import_module("hedgerow.queries.workload"), family)
    over = over.strip()
    if not over or (over.lstrip("-").isdecimal() and int(over) < 1):
        raise UnsupportedQuery(
            f"the workload {text!r} is about no attributes: say how many, such as {family}:2, or which"
        )
    if over.isdecimal():
        if int(over) > len(domain):
            raise UnsupportedQuery(
                f"the workload {family}:{over} needs {over} attributes and the schema has {len(domain)}: "
                f"choose {family}:{len(domain)} or less"
            )
        return make(domain, int(over))
    sets = [[name.strip() for name in table.split(",")] for table in over.split(";")]
    return make(domain, sets)
