"""Hedgerow: differentially private answers to many statistical questions, from one budget.

The front door. Names load when they are first used, so importing the package is quick; `__init__.pyi` shows
them to editors and type checkers. Mechanisms come from their cards, also those of other packages.
"""

from importlib import import_module

from hedgerow.homes import HOMES

__version__ = "0.2.0"

_HOME = {
    # say what rows look like
    "Domain": "queries.domain.domain",
    "OpenDomain": "queries.domain.domain",
    "Attribute": "queries.domain.attribute",
    "Categorical": "queries.domain.attribute",
    "Bins": "queries.domain.bins",
    "Dates": "queries.domain.bins",
    "Hours": "queries.domain.hours",
    "bins": "queries.domain.bins",
    "dates": "queries.domain.bins",
    # say what to ask
    "Query": "queries.query",
    "SparseQuery": "queries.query",
    "LargestCount": "queries.low_sensitivity",
    "LargestGap": "queries.low_sensitivity",
    "LevelsAbove": "queries.low_sensitivity",
    "Workload": "queries.workload",
    "marginals": "queries.workload",
    "conjunctions": "queries.workload",
    "ranges": "queries.workload",
    "prefixes": "queries.workload",
    "parities": "queries.workload",
    "literal_conjunction": "queries.literals",
    "literal_conjunctions": "queries.literals",
    "monotone_conjunctions": "queries.workload",
    "halfspaces": "queries.halfspaces",
    "literal_parity": "queries.literals",
    "literal_parities": "queries.literals",
    "literal_disjunction": "queries.literals",
    "literal_disjunctions": "queries.literals",
    "sql": "queries.sql.stages.text",
    "Question": "queries.question",
    # choose before anything is spent
    "plan": "release.plan.plan",
    "Plan": "release.plan.table",
    # guard rows
    "Table": "curator.rows.table",
    "Curator": "curator.curator",
    "Growing": "curator.growing.growing",
    "StarEngine": "curator.rows.star",
    "JoinedTable": "queries.domain.joined",
    "Budget": "privacy.budget",
    "Ledger": "privacy.ledger.ledger",
    "Receipt": "privacy.ledger.receipt",
    # take home
    "Synopsis": "synopsis",
    "Answer": "synopsis.answer",
    "Measurement": "queries.measurement",
    "Noise": "queries.measurement",
    # ask a server
    "connect": "client.client",
    "connect_async": "client.async_client",
    # errors
    "HedgerowError": "errors",
    "BudgetExceeded": "errors",
    "UnsupportedQuery": "errors",
    "DomainMismatch": "errors",
    "RangeTooLarge": "errors",
    "LedgerError": "errors",
    "SourceError": "errors",
    "RunClosed": "errors",
    "NotPermitted": "errors",
    "NotLearned": "errors",
    "Unreachable": "errors",
}
_MODULES = ("primitives", "testing", "extending", "errors", "audit", "theory", "dbapi")

__all__ = [*_HOME, *HOMES, *_MODULES, "__version__"]


def __getattr__(name: str) -> object:
    try:
        if name in _MODULES:
            return import_module(f"hedgerow.{name}")
        value = getattr(import_module(f"hedgerow.{_HOME[name]}"), name) if name in _HOME else _mechanism(name)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("hedgerow."):
            raise
        raise AttributeError(f"{name!r} is not in the client alone: pip install hedgerow") from None
    globals()[name] = value
    return value


def _mechanism(name: str) -> object:
    from hedgerow.mechanisms import cards

    known = HOMES if name in HOMES or name.startswith("_") else cards.guests()
    if name not in known:
        raise AttributeError(f"module 'hedgerow' has no attribute {name!r}")
    return cards.card(name).load()


def __dir__() -> list[str]:
    from hedgerow.mechanisms import cards

    return sorted([*__all__, *cards.guests()])
