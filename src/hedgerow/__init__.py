"""Hedgerow: differentially private answers to many statistical questions, from one budget.

The front door. Names load when they are first used, so importing the package is quick; `__init__.pyi` shows
them to editors and type checkers.
"""

from importlib import import_module

__version__ = "0.1.0"

_HOME = {
    # say what rows look like
    "Domain": "queries.domain",
    "OpenDomain": "queries.domain",
    "Attribute": "queries.attribute",
    "Categorical": "queries.attribute",
    "Bins": "queries.bins",
    "Dates": "queries.bins",
    "bins": "queries.bins",
    "dates": "queries.bins",
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
    "sql": "queries.sql",
    "Question": "queries.question",
    # choose before anything is spent
    "plan": "release.plan",
    "Plan": "release.plan_table",
    # guard rows
    "Table": "curator.table",
    "Curator": "curator.curator",
    "Budget": "privacy.budget",
    "Ledger": "privacy.ledger",
    "Receipt": "privacy.receipt",
    # release once
    "AdaptiveRelease": "mechanisms.adaptive",
    "SparseProject": "mechanisms.sparse_project",
    "BoostQueries": "mechanisms.boost_queries",
    "LaplaceBaseline": "mechanisms.baselines",
    "GaussianBaseline": "mechanisms.baselines",
    "SmallDB": "mechanisms.small_db",
    "OfflineMW": "mechanisms.offline_mw",
    "HistogramRelease": "mechanisms.baselines",
    "RandomizedResponse": "mechanisms.baselines",
    # answer question by question
    "Session": "mechanisms.session",
    "OnlineMW": "mechanisms.online_mw",
    "SparseMW": "mechanisms.sparse_mw",
    "Factorization": "mechanisms.factorization",
    "Projection": "mechanisms.projection",
    # learn to predict
    "BoostedClassifier": "mechanisms.boost_people",
    # take home
    "Synopsis": "synopsis",
    "Answer": "synopsis.answer",
    "Measurement": "queries.measurement",
    "Noise": "queries.measurement",
    # errors
    "HedgerowError": "errors",
    "BudgetExceeded": "errors",
    "UnsupportedQuery": "errors",
    "DomainMismatch": "errors",
    "RangeTooLarge": "errors",
    "LedgerError": "errors",
    "SourceError": "errors",
    "RunClosed": "errors",
}
_MODULES = ("primitives", "testing", "errors", "audit")

__all__ = [*_HOME, *_MODULES, "__version__"]


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f"hedgerow.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'hedgerow' has no attribute {name!r}")
    value = getattr(import_module(f"hedgerow.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
