"""Factorization: measure what a workload can be rebuilt from best, instead of the workload itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from hedgerow.curator.statistics.strategy import StrategyAnswers
from hedgerow.errors import UnsupportedQuery
from hedgerow.mechanisms.factorization import matrix as factorization_matrix
from hedgerow.mechanisms.factorization import plan as factorization_plan
from hedgerow.mechanisms.factorization.worst import worst_weights
from hedgerow.mechanisms.mechanism import OneAct, finite
from hedgerow.queries.asked import AnyQuestion
from hedgerow.queries.block import ProductBlock
from hedgerow.queries.workload import Workload
from hedgerow.synopsis.measured import TablesSynopsis
from hedgerow.synopsis.strategy import MatrixSynopsis, ResidualSynopsis
from hedgerow.synopsis.synopsis import Synopsis

if TYPE_CHECKING:
    from hedgerow.curator.curator import Curator
    from hedgerow.queries.domain.domain import Domain


@dataclass(frozen=True)
class Factorization(OneAct):
    """The matrix mechanism W = R A: exact Gaussian noise on the strategy A x, then R as post-processing.

    Privacy: A has whole-number entries, so A x is a vector of whole numbers, and the noise is independent
    discrete Gaussian on each: rho = L2^2 / 2 sigma^2 ([CKS20] Thm 4) with L2 a proven bound on the norm of a
    column of A (add_remove) or of a difference of two columns (`replace`), times the rows of a unit. R sees
    released numbers only. What is public: the domain, the workload and its weights; under `replace` with one
    row per unit also the number of rows, which then is not measured.

    Accuracy: answers are unbiased, their variance is known exactly. For tables, ranges, prefixes and their
    products A is made of residuals: contrasts of a tree over each attribute's levels, which are orthogonal,
    of equal length up to rounding, and whole. For tables under add_remove this is the strategy of least total
    variance ([XHZK23]; sum over residuals S of sqrt(need_S prod(1 - 1/d))^2 / 2 rho), within the one part in
    a thousand per attribute that whole numbers cost. Where noise on every table is as good, as it is for one
    table, the tables themselves are measured. Other
    workloads get the numerically optimal strategy ([LMHMR15], [DMRST22]) if they are small. Charged in
    `Curator.measure`.

    Args:
        epsilon: what the release spends; all that remains of the curator's budget if None.
        budget: the same as a `Budget`.
        run: a name for this release; asking for it again gives the same synopsis, free.

    >>> Factorization(epsilon=1.0).epsilon
    1.0
    """

    citations: ClassVar[tuple[str, ...]] = ("LMHMR15", "XHZK23", "CKS20", "BS16")

    def release(
        self,
        curator: Curator,
        workload: AnyQuestion,
        *,
        weights: Sequence[float] | None = None,
        objective: Literal["mean", "max"] = "mean",
    ) -> Synopsis:
        """Release a measured strategy that answers a workload with the least total variance.

        Args:
            curator: the guardian of the rows.
            workload: what must be answered well.
            weights: how much the variance of each block of the workload counts; all the same if None.
            objective: `mean`, or `max`: the largest variance of any cell of any table is least, to one in a
                thousand (`factorization.worst` has the proof; under add_remove).
        """
        domain = finite(curator)
        queries = Workload.of(workload, domain)
        each = _weights(queries, weights)
        if objective != "mean":
            each = _evened(domain, queries, each, objective)
        for clique in queries.cliques:
            domain.order(clique)
        blocks = [b for b in queries.blocks if isinstance(b, ProductBlock)]
        rows = curator.rows
        told = queries.name, f"{queries.digest} {each}"
        if len(blocks) < len(queries.blocks):
            small = factorization_matrix.plan(domain, queries, each, curator.privacy)
            asked = [StrategyAnswers(small.strategy)]
            signed, noisy = self._measured(curator, asked, *told, noise="gaussian")
            return MatrixSynopsis(domain, signed, noisy[0])
        made = factorization_plan.plan(
            domain, blocks, each, curator.privacy, total_is_public=rows is not None
        )
        if made.variance >= factorization_plan.plain_variance(blocks, each, curator.privacy):
            signed, noisy = self._measured(curator, queries.cliques, *told, noise="gaussian")
            return TablesSynopsis(domain, signed, tuple(noisy))
        signed, noisy = self._measured(curator, [StrategyAnswers(made.strategy)], *told, noise="gaussian")
        return ResidualSynopsis(domain, signed, noisy[0], None if () in made.strategy.of else rows)


def _weights(queries: Workload, weights: Sequence[float] | None) -> list[float]:
    if weights is None:
        return [1.0] * len(queries.blocks)
    each = np.asarray(weights, dtype=np.float64).reshape(-1).tolist()
    if len(each) != len(queries.blocks) or not all(isfinite(w) and w > 0 for w in each):
        raise UnsupportedQuery(f"there are {len(queries.blocks)} blocks to weigh, each by a number above 0")
    return each


def _evened(domain: Domain, queries: Workload, each: list[float], objective: str) -> list[float]:
    """The weights that make the largest variance of a cell least."""
    if objective != "max":
        raise UnsupportedQuery(f"the objective is mean or max, not {objective!r}")
    sets = queries.cliques
    if not queries.is_tables or len(sets) != len(queries.blocks):
        raise UnsupportedQuery("the largest variance is made least for whole tables, each asked for once")
    real = [tuple(a for a in s if domain[a].size > 1) for s in sets]
    if len(set(real)) < len(real):
        raise UnsupportedQuery("two tables differ only in attributes of one level: ask for one of them")
    sizes = {a: domain[a].size for s in real for a in s}
    return worst_weights(sizes, real, each)[0]
