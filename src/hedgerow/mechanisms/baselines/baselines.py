"""What every mechanism must beat: independent noise, the noisy histogram, randomised response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from hedgerow.curator.curator import Curator, NoiseChoice
from hedgerow.curator.noise.local import randomize
from hedgerow.errors import RangeTooLarge
from hedgerow.mechanisms.baselines.card import CELLS
from hedgerow.mechanisms.mechanism import Mechanism, OneAct, finite
from hedgerow.queries.argument import one_of
from hedgerow.queries.asked import AnyQuestion
from hedgerow.queries.workload import Workload
from hedgerow.synopsis.measured import AnswersSynopsis, LocalSynopsis, TablesSynopsis
from hedgerow.synopsis.synopsis import Synopsis


def _independent(self: OneAct, curator: Curator, workload: Any, noise: NoiseChoice) -> Synopsis:
    """Noise on whole tables when the workload is tables, else on the vector of answers."""
    domain = finite(curator)
    queries = Workload.of(workload, domain)
    targets = queries.cliques if queries.is_tables else [queries]
    signed, noisy = self._measured(curator, targets, queries.name, queries.digest, noise=noise)
    if queries.is_tables:
        return TablesSynopsis(domain, signed, tuple(noisy))
    return AnswersSynopsis(domain, signed, noisy[0])


@dataclass(frozen=True)
class LaplaceBaseline(OneAct):
    """Independent discrete Laplace noise on every answer, or on whole tables.

    Privacy: Laplace mechanism [DMNS06] (discrete: [GRS09]) at the workload's L1 sensitivity. Accuracy: W3 Thm
    3.8, P[max error >= ln(k/beta) scale] <= beta; every answer states the discrete tail. Charged in
    `Curator.measure_all`.
    """

    citations: ClassVar[tuple[str, ...]] = ("DMNS06", "GRS09", "W3")

    def release(self, curator: Curator, workload: AnyQuestion) -> Synopsis:
        """Release noisy answers to a workload."""
        return _independent(self, curator, workload, "laplace")


@dataclass(frozen=True)
class GaussianBaseline(OneAct):
    """Independent discrete Gaussian noise on every answer, or on whole tables.

    Privacy: discrete Gaussian mechanism, rho = L2^2 / 2 sigma^2 ([CKS20] Thm 4), at the workload's L2
    sensitivity; needs a budget with delta. Accuracy: the noise is subgaussian ([CKS20] Cor. 17). Charged in
    `Curator.measure_all`.
    """

    citations: ClassVar[tuple[str, ...]] = ("CKS20", "BS16")

    def release(self, curator: Curator, workload: AnyQuestion) -> Synopsis:
        """Release noisy answers to a workload."""
        return _independent(self, curator, workload, "gaussian")


@dataclass(frozen=True)
class HistogramRelease(OneAct):
    """The full contingency table of all attributes with noise: answers any linear query.

    Privacy: one table, one Laplace or Gaussian mechanism ([DMNS06], [CKS20] Thm 4). Accuracy (W3): a query
    sums the noise of its cells, about sqrt(|X|) log / (n eps). Charged in `Curator.measure`.
    """

    noise: NoiseChoice = "auto"
    citations: ClassVar[tuple[str, ...]] = ("DMNS06", "CKS20", "W3")

    def release(self, curator: Curator, workload: AnyQuestion | None = None) -> Synopsis:
        """Release the noisy histogram; the workload does not matter, as long as it is one."""
        domain = finite(curator)
        if workload is not None:
            Workload.of(workload, domain)
        one_of("noise", self.noise, "auto", "laplace", "gaussian")
        if domain.size > CELLS:
            raise RangeTooLarge(
                f"the full table has {domain.size:,} cells, more than {CELLS:,}; "
                "release tables of a few attributes instead"
            )
        signed, noisy = self._measured(curator, [domain.names], "all attributes", "", noise=self.noise)
        return TablesSynopsis(domain, signed, tuple(noisy))


@dataclass(frozen=True)
class RandomizedResponse(Mechanism):
    """Every unit's records randomised on their own; linear queries by the unbiased estimator.

    Privacy: k-ary randomised response ([W65], [KOV16]), epsilon split over `max_rows` records and, `by`
    "attribute", over the attributes. Accuracy: Hoeffding (W3). Only under `replace`. Charged in
    `curator.noise.local.randomize`.

    Args:
        by: `row` (one report of the whole row), `attribute` (one report per attribute), or `auto`.
    """

    by: Literal["auto", "row", "attribute"] = "auto"
    citations: ClassVar[tuple[str, ...]] = ("W65", "KOV16", "W3")

    def release(self, curator: Curator, workload: AnyQuestion | None = None) -> Synopsis:
        """Release randomised records; the workload does not matter, as long as it is one."""
        domain = finite(curator)
        if workload is not None:
            Workload.of(workload, domain)
        one_of("by", self.by, "auto", "row", "attribute")
        spend = self._priced(curator)
        by = ("row" if domain.size <= 256 else "attribute") if self.by == "auto" else self.by
        reports = randomize(curator, spend, by=by, note=f"RandomizedResponse: by {by}")
        signed = self._signed(curator, spend)
        split = {"by": by, "epsilon_each": float(reports.epsilon_each), "records_per_unit": reports.max_rows}
        signed.parameters.update(split)
        return LocalSynopsis(domain, signed, reports)
