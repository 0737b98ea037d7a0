"""OfflineMW: choose the query that the hypothesis gets most wrong, measure it, update; and again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from hedgerow.curator.curator import Curator
from hedgerow.errors import RangeTooLarge, UnsupportedQuery
from hedgerow.mechanisms.account import Purse, check_delta
from hedgerow.mechanisms.fingerprint import fingerprint
from hedgerow.mechanisms.mechanism import Resumable, finite
from hedgerow.mechanisms.offline_mw.card import CELLS
from hedgerow.mechanisms.offline_mw.theorem import TOTAL, play
from hedgerow.mechanisms.offline_mw.tuned import TunedRounds
from hedgerow.mechanisms.progress import Progress, unwatched
from hedgerow.privacy.bounds import cor_12_5
from hedgerow.queries.argument import number
from hedgerow.queries.asked import AnyQuestion
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.workload import Workload
from hedgerow.synopsis.dense import DenseSynopsis, GuaranteedSynopsis
from hedgerow.synopsis.synopsis import Provenance, Synopsis

__all__ = ["CELLS", "ROUNDS", "TOTAL", "OfflineMW"]

ROUNDS = 100_000
"""Longer runs are refused: every round is two lines of the ledger."""


@dataclass(frozen=True)
class OfflineMW(Resumable):
    """Multiplicative weights over all cells of a domain, driven by the worst query of a workload.

    Privacy: every act is charged on its own and the ledger's filter composes them. A choice is the
    exponential mechanism ([MT07]; bounded range [DDR20]; permute-and-flip [MS20] under a pure tuned
    budget) on |true - estimate|, of sensitivity 1 per row for a query; a table's score is its L1
    distance, which one row moves by 1 (2 when swapped). A measurement is the discrete Laplace ([GRS09])
    or Gaussian mechanism ([CKS20] Thm 4) on a query or a whole table. The hypothesis, the number of
    rounds and when to stop follow from released values and public ones; the number of rows is the
    measured one, or public under `replace` with one row per unit.

    Accuracy. With `alpha`: [W12] Alg. 6 as printed - T = 4 ln|X|/alpha^2 rounds, two acts of epsilon_0 each,
    linear updates, stop when |y| <= 2 alpha - and its Thm 12.6 with constants, for all queries at once, see
    `privacy.bounds.thm_12_6`. Without: the rules of [HLM12] tuned for real rows; whole tables are
    measured and replayed until the fit stops improving; nothing is proved, errors are indicative. Charged
    in `Curator.select` and `Curator.measure_all`, from an account set aside for the run.

    Args:
        alpha: the accuracy of the theorem, as a fraction of the rows; tuned mode if None.
        rounds: how many tables tuned mode measures; from the signal if None.
        rows: the number of rows where that is public knowledge; a delta too large for it is refused.
        run: a name for this release; asking for it again gives the same synopsis, free.

    >>> OfflineMW(alpha=0.1, epsilon=1.0).mode
    'theorem'
    """

    alpha: float | None = None
    rounds: int | None = None
    rows: int | None = None
    run: str | None = None

    citations: ClassVar[tuple[str, ...]] = ("HLM12", "HR10", "W12", "CKS20")
    account_kind: ClassVar[str] = "offline-mw"

    @property
    def mode(self) -> Literal["theorem", "tuned"]:
        """`theorem` when alpha is given."""
        return "tuned" if self.alpha is None else "theorem"

    def release(
        self,
        curator: Curator,
        workload: AnyQuestion,
        *,
        watch: Callable[[Progress], None] | None = None,
    ) -> Synopsis:
        """Release a distribution over all cells that answers a workload well.

        Args:
            curator: the guardian of the rows.
            workload: what must be answered well.
            watch: told how far the release is.
        """
        domain = finite(curator)
        queries = Workload.of(workload, domain)
        self._check(curator, domain, queries)
        plan = fingerprint(self) + domain.fingerprint + queries.digest + curator.account
        with self._paying(curator, plan.encode()) as purse:
            made, facts = self._learn(purse, domain, queries, watch or unwatched)
        facts = {"mode": self.mode, "workload": queries.name} | facts
        return made(domain, self._signed(curator, purse.spent, facts))

    # -- inside -------------------------------------------------------------------------------------------

    def _check(self, curator: Curator, domain: Domain, queries: Workload) -> None:
        """Refuse, before anything is charged, what cannot be released whatever the rows are."""
        if self.alpha is not None and not 0.0 < number("alpha", self.alpha) < 1.0:
            raise UnsupportedQuery(f"alpha is a fraction of the rows between 0 and 1, not {self.alpha!r}")
        whole = type(self.rounds) is int and self.rounds >= 1
        if self.rounds is not None and (not whole or self.alpha is not None):
            raise UnsupportedQuery(
                "`rounds` is a whole number, 1 or more, and only for tuned mode (no alpha)"
            )
        most = self.rounds or (1 if self.alpha is None else cor_12_5(domain.size, self.alpha))
        if most > ROUNDS:
            raise RangeTooLarge(
                f"that would take {most:,} rounds, more than {ROUNDS:,}; use a larger alpha or fewer rounds"
            )
        if not len(queries):
            raise UnsupportedQuery("a workload is a non-empty list of queries")
        queries.check(domain)
        if not any(queries.cliques):
            raise UnsupportedQuery("multiplicative weights need questions about at least one attribute")
        if domain.size > CELLS:
            raise RangeTooLarge(
                f"the domain has {domain.size:,} cells, more than the {CELLS:,} that can all be held; "
                "use AdaptiveRelease"
            )
        check_delta(curator, self.rows)
        self._spend()

    def _learn(
        self, purse: Purse, domain: Domain, queries: Workload, watch: Callable[[Progress], None]
    ) -> tuple[Callable[[Domain, Provenance], Synopsis], dict[str, Any]]:
        """What was learned, ready to be signed, and what is public about how."""
        if self.alpha is not None:
            learned, guarantee, facts = play(purse, domain, queries, self.alpha, watch)
            return lambda d, signed: GuaranteedSynopsis(d, signed, learned, guarantee), facts
        found, said = TunedRounds(purse, domain, queries, watch).learn(self.rounds)
        return lambda d, signed: DenseSynopsis(d, signed, found), said
