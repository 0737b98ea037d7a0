"""The building blocks for researchers: each takes a curator, charges it, and returns what was released."""

from __future__ import annotations

from typing import Any, Literal

from hedgerow.curator.curator import Curator, Spend
from hedgerow.curator.local import LocalReports
from hedgerow.curator.statistics import LevelCounts, QueryErrors, Score, TableErrors
from hedgerow.queries.measurement import Measurement

__all__ = [
    "LevelCounts",
    "QueryErrors",
    "TableErrors",
    "exponential",
    "gaussian",
    "laplace",
    "permute_and_flip",
    "randomized_response",
]


def laplace(
    curator: Curator, target: Any, epsilon: Spend = None, *, request: str | None = None
) -> Measurement:
    """Measure a table, a query or a list of queries with discrete Laplace noise; see `Curator.measure`."""
    return curator.measure(target, epsilon, noise="laplace", request=request)


def gaussian(
    curator: Curator, target: Any, spend: Spend = None, *, request: str | None = None
) -> Measurement:
    """Measure a table, a query or a list of queries with discrete Gaussian noise; see `Curator.measure`."""
    return curator.measure(target, spend, noise="gaussian", request=request)


def exponential(curator: Curator, score: Score, epsilon: Spend = None, *, request: str | None = None) -> int:
    """Choose a candidate by the exponential mechanism; see `Curator.select`."""
    return curator.select(score, epsilon, method="exponential", request=request)


def permute_and_flip(
    curator: Curator, score: Score, epsilon: Spend = None, *, request: str | None = None
) -> int:
    """Choose a candidate by permute-and-flip; see `Curator.select`."""
    return curator.select(score, epsilon, method="permute_and_flip", request=request)


def randomized_response(
    curator: Curator, epsilon: Spend = None, *, by: Literal["row", "attribute"] = "row"
) -> LocalReports:
    """Randomise every unit's records on their own; see `Curator.randomize`."""
    return curator.randomize(epsilon, by=by)
