"""Mistakes in looking at distances of tables to what is answered, planted in a release that chooses."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from hedgerow.audit.coupled.renormed import Renormed
from hedgerow.audit.coupled.tape import Replaying
from hedgerow.curator.curator import Curator
from hedgerow.curator.statistics.distances import TableDistances
from hedgerow.privacy.budget import Budget
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.query import Norms

THREE = Domain({"a": 3, "b": 2, "c": 2})
SEEN = Budget(rho=5000, delta=0.01)
"""So much that made-up tables of a few rows are looked at."""


class OneOfThem(Renormed):
    """Distances of several tables, at the norm of one."""

    @cached_property
    def norms(self) -> Norms:
        return Norms(1, 1, 2, 4)


class NormOfOne(Replaying):
    """A row moves the distance of every table, and is taken to move that of one."""

    def _law(self, stat: Any, price: Any, choice: Any) -> Any:
        return super()._law(OneOfThem(stat) if isinstance(stat, TableDistances) else stat, price, choice)


def _chosen(curator: Curator) -> Any:
    """Tables are chosen, and at last pairs and triples are looked at."""
    from hedgerow.mechanisms.adaptive.adaptive import AdaptiveRelease
    from hedgerow.queries.workload import marginals

    return AdaptiveRelease(measurements=1).release(curator, marginals(THREE, 2), choose=True)


def unreleased(curator: Curator) -> Any:
    """How far tables are is asked of an estimate that was never released."""
    tables = (("a", "b"), ("b", "c"))
    counts = curator._rows.tables(tables)
    return curator.measure(TableDistances(tables, tuple(counts[t].astype("f8") for t in tables)), 1)
