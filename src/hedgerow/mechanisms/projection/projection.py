"""Projection: noise on every answer, then the distribution whose answers are nearest."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING, ClassVar

from hedgerow.errors import UnsupportedQuery
from hedgerow.learning.projection.projection import converged, project, refuse_large
from hedgerow.mechanisms.mechanism import OneAct, finite
from hedgerow.queries.argument import number
from hedgerow.queries.asked import AnyQuestion
from hedgerow.queries.query import Query
from hedgerow.queries.workload import Workload
from hedgerow.synopsis.distribution import PUBLIC, DistributionSynopsis, Reach
from hedgerow.synopsis.synopsis import Synopsis

if TYPE_CHECKING:
    from hedgerow.curator.curator import Curator

NEAR = 1e-3  # how near to the best distribution, as a part of the noise's variance


@dataclass(frozen=True)
class Projection(OneAct):
    """Exact Gaussian noise on all k answers, then the projection onto what some distribution would answer.

    Privacy: one discrete Gaussian mechanism on the vector of answers, and one on the number of rows unless it
    is public, at the L2 sensitivity of each (rho = L2^2 / 2 sigma^2, [CKS20] Thm 4); the projection sees
    released numbers only. The number of rows is the measured one, or the public one under `replace` with one
    row per unit.

    Accuracy ([NTZ13], here with constants): let w be the noise, sigma its scale, c the largest norm of a
    row's weights over the queries, and n' the released total. The projection y' of noisy answers has
    |y' - y|^2 <= <w, y' - y> <= 2 n' max |<w, weights>| over kinds of rows, so with probability 1 - beta the
    root mean square error over the k queries is at most sqrt(2 n' sigma c sqrt(2 ln(4|X|/beta)) / k) +
    2 |n' - n|, plus the root of the optimiser's certified gap. As sigma grows like c, and c at most like
    sqrt(k), this does not grow with k. Nothing is proved about single answers: they are `learned`.
    Charged in `Curator.measure_all`.

    Args:
        epsilon: what the release spends; all that remains of the curator's budget if None.
        budget: the same as a `Budget`.
        total_share: the part of it that the number of rows gets.
        steps: the most steps of the optimiser.
        run: a name for this release; asking for it again gives the same synopsis, free.

    >>> Projection(epsilon=1.0).total_share
    0.05
    """

    total_share: float = 0.05
    steps: int = 1000

    citations: ClassVar[tuple[str, ...]] = ("NTZ13", "CKS20", "BS16")

    def release(self, curator: Curator, workload: AnyQuestion) -> Synopsis:
        """Release a distribution that answers a workload well, and anything else from the same model.

        Args:
            curator: the guardian of the rows.
            workload: what must be answered well.
        """
        domain = finite(curator)
        queries = Workload.of(workload, domain)
        if not 0.0 < number("total_share", self.total_share) < 1.0:
            raise UnsupportedQuery("`total_share` is a part between 0 and 1")
        if type(self.steps) is not int or self.steps < 1:
            raise UnsupportedQuery("`steps` is a whole number, 1 or more")
        for clique in queries.cliques:
            domain.order(clique)
        if not queries.norms.l2_squared:  # nothing is counted, so noise has no scale: ask for the total too
            queries = Workload.of([*queries, Query.total()])
        refuse_large(domain, queries)
        known, part = curator.rows, Fraction(repr(float(self.total_share)))
        targets, shares = ([queries], [1]) if known is not None else ([queries, ()], [1 - part, part])
        signed, noisy = self._measured(
            curator, targets, queries.name, queries.digest, shares=shares, noise="gaussian"
        )

        # PROJECT: from here on only released numbers are read.
        total = float(known) if known is not None else max(float(noisy[1].counts), 1.0)
        answers = noisy[0]
        found = project(
            domain,
            queries,
            answers.counts / total,
            tolerance=NEAR * answers.noise.variance / total**2,
            steps=self.steps,
        )
        column = sqrt(queries.norms.l2_squared) / queries.denominator
        law = PUBLIC if known is not None else noisy[1].noise
        size = len(queries), domain.size, column
        gap = min(found.gap, converged(domain.size, found.steps)) * total**2
        reach = Reach(*size, answers.noise, law, gap)
        signed.parameters.update({"steps_made": found.steps, "gap": found.gap})
        return DistributionSynopsis(domain, signed, found.cells, total, reach, tuple(noisy))
