"""Homes: the folder of each mechanism; the one line that a new one adds outside of its own folder."""

HOMES = {
    "GaussianBaseline": "baselines",
    "LaplaceBaseline": "baselines",
    "Factorization": "factorization",
    "HistogramRelease": "baselines",
    "RandomizedResponse": "baselines",
    "AdaptiveRelease": "adaptive",
    "Projection": "projection",
    "OfflineMW": "offline_mw",
    "SmallDB": "small_db",
    "BoostQueries": "boost_queries",
    "SparseProject": "sparse_project",
    "Session": "session",
    "OnlineMW": "online",
    "SparseMW": "online",
    "BoostedClassifier": "boost_people",
    "RunningTotals": "running_totals",
}
"""The folder whose `card.py` has a mechanism's card; among equals the first is recommended."""
