"""What every mechanism must beat: independent noise, the noisy histogram, randomised response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any, ClassVar, Literal

from hedgerow.curator.curator import Curator, NoiseChoice, Spend
from hedgerow.curator.noise.local import randomize
from hedgerow.errors import RangeTooLarge, UnsupportedQuery
from hedgerow.mechanisms.account import Resumable, RunAccount
from hedgerow.privacy.budget import Budget
from hedgerow.queries.argument import one_of
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.measurement import Measurement
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


@dataclass(frozen=True)
class OneAct(Baseline, Resumable):
    """What baselines share that are one private act: with a name they are made once, and then free.

    Args:
        run: a name for this release; asking for it again gives the same synopsis, free.
    """

    run: str | None = field(default=None, kw_only=True)

    def _account(self, digest: str) -> RunAccount:
        return RunAccount(type(self).__name__, self.run, digest)

    def _measured(
        self,
        curator: Curator,
        targets: Sequence[Any],
        name: str,
        digest: str,
        *,
        noise: NoiseChoice,
        shares: Sequence[Any] | None = None,
    ) -> tuple[Provenance, list[Measurement]]:
        """What was measured in one act, signed; a release with a name has an account of its own.

        Args:
            curator: the guardian of the rows.
            targets, noise, shares: as in `Curator.measure_all`.
            name: what to call it in the ledger.
            digest: a fingerprint of what was asked.
        """
        ask: dict[str, Any] = {"shares": shares, "noise": noise, "note": f"{type(self).__name__}: {name}"}
        if self.run is None:
            price = curator.price(self._spend())
            noisy = curator.measure_all(targets, price, **ask)
            return self._signed(curator, price), noisy
        plan = repr((self, finite(curator).fingerprint, curator.account, digest))
        account = self._account(sha256(plan.encode()).hexdigest())
        paying, price = account.open(curator, self._spend())
        try:
            noisy = paying.measure_all(targets, price, request=f"{paying.account}: 1", **ask)
        except BaseException:
            account.give_up(paying)
            raise
        account.close(paying)
        return self._signed(curator, price), noisy


def _independent(self: OneAct, curator: Curator, workload: Any, noise: NoiseChoice) -> Synopsis:
    """Noise on whole tables when the workload is tables, else on the vector of answers."""
    domain, queries = finite(curator), Workload.of(workload)
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

    def release(self, curator: Curator, workload: Workload | Query | Sequence[Query]) -> Synopsis:
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

    def release(self, curator: Curator, workload: Workload | Query | Sequence[Query]) -> Synopsis:
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

    def release(self, curator: Curator, workload: Any = None) -> Synopsis:
        """Release the noisy histogram; the workload does not matter."""
        domain = finite(curator)
        one_of("noise", self.noise, "auto", "laplace", "gaussian")
        if domain.size > _HISTOGRAM_CELLS:
            raise RangeTooLarge(
                f"the full table has {domain.size:,} cells, more than {_HISTOGRAM_CELLS:,}; "
                "release tables of a few attributes instead"
            )
        signed, noisy = self._measured(curator, [domain.names], "all attributes", "", noise=self.noise)
        return TablesSynopsis(domain, signed, tuple(noisy))


@dataclass(frozen=True)
class RandomizedResponse(Baseline):
    """Every unit's records randomised on their own; linear queries by the unbiased estimator.

    Privacy: k-ary randomised response ([W65], [KOV16]), epsilon split over `max_rows` records and, `by`
    "attribute", over the attributes. Accuracy: Hoeffding (W3). Only under `replace`. Charged in
    `curator.noise.local.randomize`.

    Args:
        by: `row` (one report of the whole row), `attribute` (one report per attribute), or `auto`.
    """

    by: Literal["auto", "row", "attribute"] = "auto"
    citations: ClassVar[tuple[str, ...]] = ("W65", "KOV16", "W3")

    def release(self, curator: Curator, workload: Any = None) -> Synopsis:
        """Release randomised records; the workload does not matter."""
        domain = finite(curator)
        one_of("by", self.by, "auto", "row", "attribute")
        spend = curator.price(self._spend())
        by = ("row" if domain.size <= 256 else "attribute") if self.by == "auto" else self.by
        reports = randomize(curator, spend, by=by, note=f"RandomizedResponse: by {by}")
        signed = self._signed(curator, spend)
        split = {"by": by, "epsilon_each": float(reports.epsilon_each), "records_per_unit": reports.max_rows}
        signed.parameters.update(split)
        return LocalSynopsis(domain, signed, reports)


def guarded(curator: object) -> None:
    """Refuse what is no curator: rows are met through one and in no other way."""
    if not isinstance(curator, Curator):
        raise UnsupportedQuery("a mechanism is given the Curator of a table; see hedgerow.Curator")


def finite(curator: Curator) -> Domain:
    """The declared finite domain, or a refusal."""
    guarded(curator)
    if not isinstance(curator.domain, Domain):
        raise UnsupportedQuery("this needs a declared finite domain; names without end go to SparseMW")
    return curator.domain
