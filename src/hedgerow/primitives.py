"""The building blocks for researchers: each takes a curator, charges it, and returns what was released."""

from __future__ import annotations

from typing import Any, Literal

from hedgerow.curator.curator import Curator
from hedgerow.curator.noise.choice import Choice
from hedgerow.curator.noise.local import LocalReports, randomize
from hedgerow.curator.noise.noisy_max import NoisyMaxLaw
from hedgerow.curator.runs.one_sided import OneSidedRun
from hedgerow.curator.runs.paired import PairedRun, PairLaw, open_paired
from hedgerow.curator.runs.sparse_vector import SparseVectorRun
from hedgerow.curator.spender import Spend
from hedgerow.curator.statistics.statistics import LevelCounts, QueryErrors, Score, TableErrors
from hedgerow.privacy.rational import Number
from hedgerow.queries.argument import one_of
from hedgerow.queries.measurement import Measurement

__all__ = [
    "LevelCounts",
    "QueryErrors",
    "TableErrors",
    "above_threshold",
    "exponential",
    "gaussian",
    "gaussian_sparse",
    "laplace",
    "numeric_sparse",
    "one_sided",
    "paired_sparse",
    "permute_and_flip",
    "randomized_response",
    "report_noisy_max",
    "sparse",
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


def report_noisy_max(
    curator: Curator,
    score: Score,
    epsilon: Spend = None,
    *,
    noise: NoisyMaxLaw = "exponential",
    request: str | None = None,
) -> int:
    """Choose the candidate whose score is largest with noise on every one; see `curator.noise.noisy_max`.

    Pure epsilon, and not of bounded range: a budget with a delta pays epsilon^2 / 2 of rho for it, four times
    what `exponential` costs there.

    Args:
        curator: whose rows are scored.
        score: one of the scores; each carries its own sensitivity.
        epsilon: what it spends.
        noise: `exponential` (never negative, the better one) or `laplace`.
        request: an id under which the same choice is returned again, free.
    """
    one_of("noise", noise, "exponential", "laplace")
    method: Choice = "report_noisy_max" if noise == "exponential" else "report_noisy_max_laplace"
    return curator.select(score, epsilon, method=method, request=request)


def randomized_response(
    curator: Curator, epsilon: Spend = None, *, by: Literal["row", "attribute"] = "row"
) -> LocalReports:
    """Randomise every unit's records on their own; see `curator.noise.local.randomize`."""
    return randomize(curator, epsilon, by=by)


def above_threshold(
    curator: Curator, threshold: Number, epsilon: Spend = None, *, run: str | None = None
) -> SparseVectorRun:
    """Open AboveThreshold: any number of "below", one "above"; see `Curator.sparse_vector`."""
    return curator.sparse_vector(threshold, epsilon, method="above_threshold", run=run)


def sparse(
    curator: Curator,
    threshold: Number,
    count: int,
    epsilon: Spend = None,
    *,
    restart: bool = True,
    allocation: Literal["even", "optimised"] = "optimised",
    run: str | None = None,
) -> SparseVectorRun:
    """Open Sparse: `count` "above", each with a new noisy threshold, or all with one (`restart=False`)."""
    method: Literal["sparse", "sparse_once"] = "sparse" if restart else "sparse_once"
    return curator.sparse_vector(
        threshold, epsilon, method=method, count=count, allocation=allocation, run=run
    )


def numeric_sparse(
    curator: Curator,
    threshold: Number,
    count: int,
    epsilon: Spend = None,
    delta: Number = 0,
    *,
    run: str | None = None,
) -> SparseVectorRun:
    """Open NumericSparse: `count` "above", each with its value; a delta takes the paper's second form."""
    return curator.sparse_vector(
        threshold, epsilon, method="numeric_sparse", count=count, delta=delta, run=run
    )


def gaussian_sparse(
    curator: Curator,
    threshold: Number,
    count: int,
    length: int,
    spend: Spend = None,
    delta: Number | None = None,
    *,
    run: str | None = None,
) -> SparseVectorRun:
    """Open a sparse vector with Gaussian noise over at most `length` questions; needs a budget with delta.

    For study: at the same price `sparse` is more accurate at any delta up to 1e-6 with bounds that may fail
    once in a thousand or oftener, and for 10 "above" or more at any delta up to 1/100; see
    `curator.runs.sparse_vector_plan`.
    """
    return curator.sparse_vector(
        threshold, spend, method="gaussian", count=count, length=length, delta=delta, run=run
    )


def paired_sparse(
    curator: Curator,
    threshold: Number,
    count: int,
    epsilon: Spend = None,
    *,
    threshold_noise: PairLaw = "laplace",
    query_noise: PairLaw = "exponential",
    side: Literal["over", "under"] | None = None,
    restart: bool = True,
    run: str | None = None,
) -> PairedRun:
    """Open a sparse vector with a law for the threshold's noise and one for the questions'.

    Privacy: the theorem of `curator.runs.paired`, charged whole when it is opened. Exponential noise on the
    questions is never negative, so its `certified` bound does not grow with their number. With a `side` (and
    `add_remove`) only that side may be asked; all answers move one way then, and questions need half the
    noise.

    Args:
        curator: whose rows are asked.
        threshold: T, in rows.
        count: c, the most "above".
        epsilon: what the whole run spends.
        threshold_noise, query_noise: `laplace` or `exponential` (geometric, never negative).
        side: the only side that will be asked: `over` or `under`; None for any.
        restart: whether every "above" draws a new noisy threshold.
        run: the run's label.
    """
    laws = (threshold_noise, query_noise)
    return open_paired(
        curator, threshold, epsilon, count=count, laws=laws, side=side, restart=restart, run=run
    )


def one_sided(
    curator: Curator,
    threshold: Number,
    epsilon: Spend = None,
    *,
    side: Literal["over", "under"] = "over",
    run: str | None = None,
) -> OneSidedRun:
    """Open a one-sided sparse vector: any number of "below", one trip; see `Curator.one_sided`."""
    return curator.one_sided(threshold, epsilon, side=side, run=run)
