"""Hedgerow: differentially private answers to many statistical questions, from one budget.

The front door. Names load when they are first used, so importing the package is quick; `__init__.pyi` shows
them to editors and type checkers.
"""

from importlib import import_module

__version__ = "0.1.0"

_HOME = {
    # say what rows look like
    "Domain": "queries.domain.domain",
    "OpenDomain": "queries.domain.domain",
    "Attribute": "queries.domain.attribute",
    "Categorical": "queries.domain.attribute",
    "Bins": "queries.domain.bins",
    "Dates": "queries.domain.bins",
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
    "sql": "queries.sql.statement",
    "Question": "queries.question",
    # choose before anything is spent
    "plan": "release.plan.plan",
    "Plan": "release.plan.table",
    # guard rows
    "Table": "curator.rows.table",
    "Curator": "curator.curator",
    "Budget": "privacy.budget",
    "Ledger": "privacy.ledger.ledger",
    "Receipt": "privacy.ledger.receipt",
    # release once
    "AdaptiveRelease": "mechanisms.adaptive.adaptive",
    "SparseProject": "mechanisms.sparse_project",
    "BoostQueries": "mechanisms.boost_queries.boost_queries",
    "LaplaceBaseline": "mechanisms.baselines",
    "GaussianBaseline": "mechanisms.baselines",
    "SmallDB": "mechanisms.small_db",
    "OfflineMW": "mechanisms.offline_mw.offline_mw",
    "HistogramRelease": "mechanisms.baselines",
    "RandomizedResponse": "mechanisms.baselines",
    # answer question by question
    "Session": "mechanisms.session.session",
    "OnlineMW": "mechanisms.online.online_mw",
    "SparseMW": "mechanisms.online.sparse_mw",
    "Factorization": "mechanisms.factorization.factorization",
    "Projection": "mechanisms.projection",
    # learn to predict
    "BoostedClassifier": "mechanisms.boost_people.classifier",
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
_MODULES = ("primitives", "testing", "errors", "audit", "theory")

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
