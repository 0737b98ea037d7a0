"""Catalogue: the mechanisms and workloads that can be asked for by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from math import prod
from typing import TYPE_CHECKING, Any

from hedgerow.errors import UnsupportedQuery
from hedgerow.queries.block import ProductBlock

if TYPE_CHECKING:
    from hedgerow.privacy.budget import Budget
    from hedgerow.privacy.ledger.entry import Settings
    from hedgerow.queries.domain.domain import Domain
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
        takes: what else it can be told: `run`, `objective`, `seconds`, `memory`, `prior`, `watch`.
        counts_all: whether it counts every table of a workload whole.
    """

    home: str
    name: str
    words: str
    refuses: Callable[[Settings, Domain], str | None] = lambda settings, domain: None
    takes: frozenset[str] = frozenset()
    counts_all: bool = True

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


def _needs_delta_and_few_cells(settings: Settings, domain: Domain) -> str | None:
    cells = 1 << 24
    if domain.size > cells:
        return f"the table of all attributes has {domain.size:,} cells, more than {cells:,}"
    return _needs_delta(settings, domain)


_CELLS = 1 << 27
_SEVERAL = 3  # so many tables of two or more attributes are worth a model
_FACTORED = 1 << 22  # cells: a strategy for so many is planned in seconds
_BASELINES = "hedgerow.mechanisms.baselines"
_NAMED = frozenset({"run"})

MECHANISMS: dict[str, Offer] = {
    "adaptive": Offer(
        "hedgerow.mechanisms.adaptive.adaptive",
        "AdaptiveRelease",
        "a model of the rows, learned from the tables it gets most wrong",
        takes=frozenset({"run", "objective", "seconds", "memory", "prior", "watch"}),
        counts_all=False,
    ),
    "gaussian": Offer(
        _BASELINES, "GaussianBaseline", "Gaussian noise on every table or answer", _needs_delta, _NAMED
    ),
    "laplace": Offer(_BASELINES, "LaplaceBaseline", "Laplace noise on every table or answer", takes=_NAMED),
    "factorization": Offer(
        "hedgerow.mechanisms.factorization.factorization",
        "Factorization",
        "Gaussian noise on what tables or ranges are best rebuilt from",
        _needs_delta,
        _NAMED,
    ),
    "projection": Offer(
        "hedgerow.mechanisms.projection",
        "Projection",
        "the distribution nearest to answers with Gaussian noise",
        _needs_delta_and_few_cells,
        _NAMED,
    ),
    "offline-mw": Offer(
        "hedgerow.mechanisms.offline_mw.offline_mw",
        "OfflineMW",
        "a distribution over all cells, taught by the tables or answers it gets most wrong",
        _needs_few_cells,
        takes=frozenset({"run", "watch"}),
        counts_all=False,
    ),
    "small-db": Offer(
        "hedgerow.mechanisms.small_db",
        "SmallDB",
        "a few rows chosen from all small databases",
        takes=_NAMED,
        counts_all=False,
    ),
    "histogram": Offer(
        _BASELINES, "HistogramRelease", "one noisy table of all attributes", _needs_few_cells, _NAMED
    ),
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
    "monotone_conjunctions": "all of so many two-level attributes have their second level",
}
"""Workloads by name; each is a function of `hedgerow.queries.workload`."""


def mechanism(name: str, budget: Budget, asked: Workload | None = None) -> Offer:
    """The mechanism of a name; `auto` is the one that suits the workload and the budget's currency."""
    chosen = _suited(budget, asked) if name == AUTO else name
    if chosen not in MECHANISMS:
        known = ", ".join([AUTO, *MECHANISMS])
        raise UnsupportedQuery(f"there is no mechanism {name!r}; there is {known}")
    return MECHANISMS[chosen]


def _suited(budget: Budget, asked: Workload | None) -> str:
    """The adaptive release for several tables of two or more attributes, or questions as many as their cells.

    Else what says exactly how far off it may be: a factorization for ranges, prefixes and literals, which
    overlap, and independent noise for a few tables, where it is as good.
    """
    baseline = "laplace" if budget.currency == "epsilon" else "gaussian"
    if asked is None:
        return baseline
    joint = [b for b in asked.blocks if len(b.attributes) > 1]
    whole = all(isinstance(b, ProductBlock) for b in joint)
    if whole and len({b.attributes for b in joint}) >= _SEVERAL:
        return "adaptive"
    product = [b for b in asked.blocks if isinstance(b, ProductBlock)]
    cells = sum(prod(axis.levels for axis in b.axes) for b in product)
    overlap = len(product) == len(asked.blocks) and not asked.is_tables
    return "factorization" if baseline == "gaussian" and overlap and cells <= _FACTORED else baseline


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
