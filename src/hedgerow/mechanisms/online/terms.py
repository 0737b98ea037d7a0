"""Terms: the public numbers of one interactive run - threshold, updates, and how far answers may be off."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, inf, log
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.curator.runs.sparse_vector_plan import SparseVectorPlan
from hedgerow.errors import UnsupportedQuery
from hedgerow.privacy.bounds import idc_rows
from hedgerow.queries.query import ONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.measurement import Measurement

EXPECTED = 10_000
"""How many questions a tuned run is laid out for when nobody says."""

_ROUNDING = 2.0 / ONE  # rows: estimates and thresholds are rounded to the lattice before they meet a count


@dataclass(frozen=True)
class Total:
    """The number of rows that fractions are taken of: public, declared, or measured once and then fixed.

    Args:
        rows: N.
        off: how far the true number may be from it, except with probability `beta`.
        beta: that probability; 0 unless it was measured.
        measured: the measurement; None where it is public or declared.
    """

    rows: float
    off: float = 0.0
    beta: float = 0.0
    measured: Measurement | None = None


@dataclass(frozen=True)
class OnlineTerms:
    """What an interactive run promises, in rows.

    Args:
        total: N.
        updates: c, the most updates.
        queries: k, how many questions it is laid out for.
        beta: the probability that some bound fails.
        threshold: T.
        plan: the sparse vector's noise.
        alpha: the theorem's accuracy as a fraction; None in tuned mode.
        counted: how far N may be off, and the part of beta that this takes.
    """

    total: float
    updates: int
    queries: int
    beta: float
    threshold: float
    plan: SparseVectorPlan
    alpha: float | None = None
    counted: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def theorem(
        cls,
        alpha: float,
        beta: float,
        queries: int,
        total: Total,
        plan: SparseVectorPlan,
        epsilon: float | None = None,
        delta: float = 0.0,
    ) -> OnlineTerms:
        """T = 2 alpha N, if alpha N covers NumericSparse's accuracy for 2k questions and c updates.

        Then ([DR14] Thm 4.14, 4.15) every "above" is a true distinguishing query, so there are at most c of
        them, every "below" is within 3 alpha and every value within alpha. A measured N moves a fraction by
        `total.off` / N, which alpha must cover too.

        Args:
            epsilon, delta: what the run was told; None and 0 where its noise says it.
        """
        needed = rows_needed(alpha, beta, queries, total, plan, epsilon, delta)
        if not needed <= total.rows:
            many = f"{ceil(needed):,}" if needed < inf else "more"
            raise UnsupportedQuery(
                f"the theorem is silent here: alpha = {alpha:g} for {queries:,} queries needs {many} rows, "
                f"and there are {total.rows:,.0f}; take a larger alpha or epsilon, or tuned mode (updates=)"
            )
        counted = total.off, total.beta
        return cls(total.rows, plan.count, queries, beta, 2 * alpha * total.rows, plan, alpha, counted)

    @classmethod
    def tuned(
        cls,
        beta: float,
        queries: int | None,
        total: Total,
        plan: SparseVectorPlan,
        threshold: float | None = None,
    ) -> OnlineTerms:
        """T such that answers which are right already are expected to waste a quarter of the updates.

        P(nu - rho >= t) <= b2^2 / (2 (b2^2 - b1^2)) e^(-t/b2) for Laplace noise of scales b1 < b2, which is
        2/3 e^(-t/b2) for NumericSparse's b2 = 2 b1; there are 2k comparisons.
        """
        k, b2 = queries or EXPECTED, float(plan.query_scale) / plan.denominator
        if threshold is None:
            threshold = b2 * max(1.0, log(16 * k / (3 * plan.count)))
        counted = total.off, total.beta
        return cls(total.rows, plan.count, k, beta, threshold, plan, counted=counted)

    def certified(self, first: int, count: int) -> NDArray[np.float64]:
        """How far answers that passed the test may be off, from the `first` question (counted from 1) on.

        Below means value - estimate < T + rho - nu. Tuned: of what N leaves of beta, a third covers the c
        noisy thresholds, a third the questions: half of that evenly for the first k, the rest as k / j(j - 1)
        for later ones.
        """
        if self.alpha is not None:
            return np.full(count, 3 * self.alpha * self.total)
        j = np.arange(first, first + count, dtype=np.float64)
        many = np.where(j <= self.queries, 2.0 * self.queries, 2.0 * j * (j - 1) / self.queries)
        third = self._third
        b1, b2 = float(self.plan.threshold_scale), float(self.plan.query_scale)
        of_threshold = b1 * log(self.updates / (third * (1 + exp(-1 / b1))))
        noise = of_threshold + b2 * np.log(many / (third * (1 + exp(-1 / b2))))
        return np.asarray(self.threshold + noise / self.plan.denominator + _ROUNDING)

    @property
    def measured(self) -> float:
        """How far answers with noise of their own may be off: the discrete tail, for c of them at once."""
        if self.alpha is not None:
            return self.alpha * self.total
        b3 = float(self.plan.value_scale)
        tail = log(2 * self.updates / (self._third * (1 + exp(-1 / b3))))
        return b3 * tail / self.plan.denominator + _ROUNDING

    @property
    def _third(self) -> float:
        return (self.beta - self.counted[1]) / 3

    def untested(self, values: NDArray[np.float64], largest: NDArray[np.float64]) -> NDArray[np.float64]:
        """How far answers may be off that no test has compared with the rows: as far as any number of rows.

        A query sums one weight in [0, `largest`] for each of at most N + off rows. Nothing sharper holds:
        what was not compared may be anywhere in between, whatever the hypothesis has learned elsewhere.
        """
        most = largest * (self.total + self.counted[0])
        return np.asarray(np.maximum(values, most - values) + _ROUNDING)

    @property
    def value_noise(self) -> float:
        """The scale of the noise of measured answers, as a fraction of the rows."""
        return float(self.plan.value_scale) / self.plan.denominator / self.total


def rows_needed(
    alpha: float,
    beta: float,
    queries: int,
    total: Total,
    plan: SparseVectorPlan,
    epsilon: float | None = None,
    delta: float = 0.0,
) -> float:
    """The rows at which the theorem speaks: what a run demands and what a plan promises, see `idc_rows`.

    Args:
        alpha, beta, queries, plan: as in `OnlineTerms.theorem`.
        total: of which only `off` and `beta` matter.
        epsilon, delta: what the run was told; None and 0 where its noise says it.
    """
    sensitivity = float(plan.event.sensitivity) / plan.denominator
    if epsilon is None:  # the plan's own share e = epsilon / c of each "above": b1 = 2 Delta / (8 e / 9)
        epsilon = plan.count * 9 * float(plan.event.sensitivity) / (4 * float(plan.threshold_scale))
    return idc_rows(
        alpha,
        plan.count,
        queries,
        epsilon,
        delta,
        beta - total.beta,
        sensitivity=sensitivity,
        total_off=total.off,
    )
