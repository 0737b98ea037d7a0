"""What every mechanism must beat: independent noise, the noisy histogram, randomised response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

from hedgerow.curator.curator import Curator, NoiseChoice, Spend
from hedgerow.curator.local import randomize
from hedgerow.errors import RangeTooLarge, UnsupportedQuery
from hedgerow.privacy.budget import Budget
from hedgerow.queries.domain import Domain
from hedgerow.queries.query import Query
from hedgerow.queries.workload import Workload
from hedgerow.synopsis.measured import AnswersSynopsis, LocalSynopsis, TablesSynopsis
from hedgerow.synopsis.synopsis import Provenance, Synopsis

_HISTOGRAM_CELLS = 1 << 27


@dataclass(frozen=True)
class Baseline:
    """What the baselines share: how much they spend, and how their synopsis is signed.

    Args:
        epsilon: what the release spends; all that remains of the curator's budget if None.
        budget: the same as a `Budget`, where an epsilon does not say it.
    """

    epsilon: float | None = None
    budget: Budget | None = None

    citations: ClassVar[tuple[str, ...]] = ()

    def _spend(self) -> Spend:
        if self.epsilon is not None and self.budget is not None:
            raise UnsupportedQuery("give a mechanism an epsilon or a budget, not both")
        return self.budget if self.budget is not None else self.epsilon

    def _signed(self, curator: Curator, spend: Spend) -> Provenance:
        """Mechanism, parameters, cost and receipt, read after the charge was made."""
        price = curator.ledger.budget.part(curator.price(spend))
        parameters = {k: v for k, v in asdict(self).items() if v is not None and k != "budget"}
        return Provenance(
            type(self).__name__, parameters, price, curator.receipt, curator.private, self.citations
        )


def _independent(self: Baseline, curator: Curator, workload: Any, noise: NoiseChoice) -> Synopsis:
    """Noise on whole tables when the workload is tables, else on the vector of answers."""
    domain, queries = finite(curator), Workload.of(workload)
    spend = curator.price(self._spend())
    note = f"{type(self).__name__}: {queries.name}"
    if queries.is_tables:
        tables = curator.measure_all(queries.cliques, spend, noise=noise, note=note)
        return TablesSynopsis(domain, self._signed(curator, spend), tuple(tables))
    answers = curator.measure(queries, spend, noise=noise, note=note)
    return AnswersSynopsis(domain, self._signed(curator, spend), answers)


@dataclass(frozen=True)
class LaplaceBaseline(Baseline):
    """Independent discrete Laplace noise on every answer, or on whole tables.

    Privacy: Laplace mechanism [DMNS06] (discrete: [GRS09]) at the workload's L1 sensitivity. Accuracy: W3 Thm
    3.8, P[max error >= ln(k/beta) scale] <= beta; every answer states the discrete tail. Charged in
    `Curator.measure_all`.
    """

    citations: ClassVar[tuple[str, ...]] = ("DMNS06", "GRS09", "W3")

    def release(self, curator: Curator, workload: Workload | Query | Sequence[Query]) -> Synopsis:
        """Release noisy answers to a workload."""
        return _independent(self, curator, workload, "laplace")


@dataclass(frozen=True)
class GaussianBaseline(Baseline):
    """Independent discrete Gaussian noise on every answer, or on whole tables.

    Privacy: discrete Gaussian mechanism, rho = L2^2 / 2 sigma^2 ([CKS20] Thm 4), at the workload's L2
    sensitivity; needs a budget with delta. Accuracy: the noise is subgaussian ([CKS20] Cor. 17). Charged in
    `Curator.measure_all`.
    """

    citations: ClassVar[tuple[str, ...]] = ("CKS20", "BS16")

    def release(self, curator: Curator, workload: Workload | Query | Sequence[Query]) -> Synopsis:
        """Release noisy answers to a workload."""
        return _independent(self, curator, workload, "gaussian")


@dataclass(frozen=True)
class HistogramRelease(Baseline):
    """The full contingency table of all attributes with noise: answers any linear query.

    Privacy: one table, one Laplace or Gaussian mechanism ([DMNS06], [CKS20] Thm 4). Accuracy (W3): a query
    sums the noise of its cells, about sqrt(|X|) log / (n eps). Charged in `Curator.measure`.
    """

    noise: NoiseChoice = "auto"
    citations: ClassVar[tuple[str, ...]] = ("DMNS06", "CKS20", "W3")

    def release(self, curator: Curator, workload: Any = None) -> Synopsis:
        """Release the noisy histogram; the workload does not matter."""
        domain = finite(curator)
        if domain.size > _HISTOGRAM_CELLS:
            raise RangeTooLarge(
                f"the full table has {domain.size:,} cells, more than {_HISTOGRAM_CELLS:,}; "
                "release tables of a few attributes instead"
            )
        spend = curator.price(self._spend())
        table = curator.measure(
            domain.names, spend, noise=self.noise, note="HistogramRelease: all attributes"
        )
        return TablesSynopsis(domain, self._signed(curator, spend), (table,))


@dataclass(frozen=True)
class RandomizedResponse(Baseline):
    """Every unit's records randomised on their own; linear queries by the unbiased estimator.

    Privacy: k-ary randomised response ([W65], [KOV16]), epsilon split over `max_rows` records and, `by`
    "attribute", over the attributes. Accuracy: Hoeffding (W3). Only under `replace`. Charged in
    `curator.local.randomize`.

    Args:
        by: `row` (one report of the whole row), `attribute` (one report per attribute), or `auto`.
    """

    by: Literal["auto", "row", "attribute"] = "auto"
    citations: ClassVar[tuple[str, ...]] = ("W65", "KOV16", "W3")

    def release(self, curator: Curator, workload: Any = None) -> Synopsis:
        """Release randomised records; the workload does not matter."""
        domain = finite(curator)
        spend = curator.price(self._spend())
        by = ("row" if domain.size <= 256 else "attribute") if self.by == "auto" else self.by
        reports = randomize(curator, spend, by=by, note=f"RandomizedResponse: by {by}")
        signed = self._signed(curator, spend)
        split = {"by": by, "epsilon_each": float(reports.epsilon_each), "records_per_unit": reports.max_rows}
        signed.parameters.update(split)
        return LocalSynopsis(domain, signed, reports)


def finite(curator: Curator) -> Domain:
    """The declared finite domain, or a refusal."""
    if not isinstance(curator.domain, Domain):
        raise UnsupportedQuery("this needs a declared finite domain; names without end go to SparseMW")
    return curator.domain
