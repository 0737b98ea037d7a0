"""Catalogue: the mechanisms and workloads that can be asked for by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from hedgerow.errors import UnsupportedQuery

if TYPE_CHECKING:
    from hedgerow.privacy.budget import Budget
    from hedgerow.privacy.ledger_entry import Settings
    from hedgerow.queries.domain import Domain
    from hedgerow.queries.workload import Workload

AUTO = "auto"


@dataclass(frozen=True)
class Offer:
    """A mechanism that can be chosen by name.

    Args:
        home: the module it lives in, loaded when it is chosen.
        name: its class.
        words: what it does, in a few words.
        refuses: why it cannot work for a dataset, or None; asked before a ledger is made.
    """

    home: str
    name: str
    words: str
    refuses: Callable[[Settings, Domain], str | None] = lambda settings, domain: None

    def make(self, **parameters: Any) -> Any:
        """The mechanism."""
        return getattr(import_module(self.home), self.name)(**parameters)


def _needs_delta(settings: Settings, domain: Domain) -> str | None:
    pure = settings.budget.currency == "epsilon"
    return "Gaussian noise needs a budget with delta; this one is pure epsilon" if pure else None


def _needs_replace(settings: Settings, domain: Domain) -> str | None:
    if settings.neighbours == "replace":
        return None
    return "randomised response publishes the number of units, so it needs --neighbours replace"


def _needs_few_cells(settings: Settings, domain: Domain) -> str | None:
    if domain.size <= _CELLS:
        return None
    return f"the table of all attributes has {domain.size:,} cells, more than {_CELLS:,}"


_CELLS = 1 << 27
_BASELINES = "hedgerow.mechanisms.baselines"

MECHANISMS: dict[str, Offer] = {
    "gaussian": Offer(
        _BASELINES, "GaussianBaseline", "Gaussian noise on every table or answer", _needs_delta
    ),
    "laplace": Offer(_BASELINES, "LaplaceBaseline", "Laplace noise on every table or answer"),
    "histogram": Offer(_BASELINES, "HistogramRelease", "one noisy table of all attributes", _needs_few_cells),
    "randomized-response": Offer(
        _BASELINES, "RandomizedResponse", "every record randomised on its own", _needs_replace
    ),
}
"""Mechanisms by name; a new one is one more line."""

WORKLOADS: dict[str, str] = {
    "marginals": "whole tables over so many attributes",
    "conjunctions": "all conjunctions of so many literals",
    "ranges": "all runs of levels of so many ordered attributes",
    "prefixes": "all 'at most' questions on so many ordered attributes",
    "parities": "parities of so many two-level attributes",
}
"""Workloads by name; each is a function of `hedgerow.queries.workload`."""


def mechanism(name: str, budget: Budget) -> Offer:
    """The mechanism of a name; `auto` is the best baseline for the budget's currency."""
    chosen = ("laplace" if budget.currency == "epsilon" else "gaussian") if name == AUTO else name
    if chosen not in MECHANISMS:
        known = ", ".join([AUTO, *MECHANISMS])
        raise UnsupportedQuery(f"there is no mechanism {name!r}; there is {known}")
    return MECHANISMS[chosen]


def workload(domain: Domain, text: str) -> Workload:
    """A workload from its name and size, `marginals:2`, or from named tables, `marginals:age,sex;region`.

    >>> from hedgerow.queries.domain import Domain
    >>> workload(Domain({"a": 2, "b": 3, "c": 4}), "marginals:2")
    Workload(marginals:2: 26 queries over 3 tables)
    """
    family, _, over = text.partition(":")
    if family not in WORKLOADS:
        raise UnsupportedQuery(f"there is no workload {family!r}; there is {', '.join(WORKLOADS)}")
    make: Callable[..., Workload] = getattr(import_module("hedgerow.queries.workload"), family)
    over = over.strip() or "2"
    if over.lstrip("-").isdigit():
        return make(domain, int(over))
    sets = [[name.strip() for name in table.split(",")] for table in over.split(";")]
    return make(domain, sets)
