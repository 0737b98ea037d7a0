"""AdaptiveRelease: choose the table the hypothesis gets most wrong, measure it, fit, and again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from hedgerow.curator.curator import Curator, Spend
from hedgerow.errors import LedgerError, UnsupportedQuery
from hedgerow.learning.factored import FactoredHypothesis, Zeros
from hedgerow.mechanisms.adaptive_run import Progress, Run
from hedgerow.privacy.budget import Budget, Cost
from hedgerow.queries.domain import Domain
from hedgerow.queries.query import Query
from hedgerow.queries.workload import Workload
from hedgerow.synopsis.model import ModelSynopsis
from hedgerow.synopsis.synopsis import Provenance, Synopsis


@dataclass(frozen=True)
class AdaptiveRelease:
    """Select - measure - fit over tables of a few attributes, with a hypothesis that any domain fits into.

    Privacy: what is public is the domain, the workload, these parameters, and everything already released.
    One-way tables are measured by the discrete Gaussian mechanism ([CKS20] Thm 4; under a pure budget by the
    discrete Laplace mechanism [GRS09]) at the sensitivity of a contingency table. Each round chooses by the
    exponential mechanism ([MT07]; bounded range [DDR20]; under a pure budget permute-and-flip [MS20]) among
    public candidates, scored by the L1 distance of the true table to the hypothesis's: a row is in one cell,
    so a score moves by 1 (2 when a row is swapped) times its weight. The chosen table, coarsened by groups
    that follow from released values, is measured as one more table. Fitting, groups, number of rounds and
    size of the model depend on released values only; the number of rows is the measured one (public under
    `replace`). Every act composes under the ledger's filter. Accuracy: no bound is proved; answers are
    `learned` and their error indicative. Charged in `Curator.measure_all` and `Curator.select`, from an
    account set aside for the run.

    Args:
        epsilon: what the release spends; all that remains of the curator's budget if None.
        budget: the same as a `Budget`.
        one_way: the part of it for one-way tables.
        objective: `mean` lowers the mean error of tables; `max` the largest error of any cell.
        measurements: how many tables to measure; from the signal if None.
        seconds: about how long fitting may take, for models too large otherwise; turned into a limit on
            `cells` by a fixed rate, so that a run is repeatable.
        cells: how many cells the model may have; from the signal if None.
        run: a name for this release; asking for it again gives the same synopsis, free.

    >>> AdaptiveRelease(epsilon=1.0).objective
    'mean'
    """

    epsilon: float | None = None
    budget: Budget | None = None
    one_way: float = 0.35
    objective: Literal["mean", "max"] = "mean"
    measurements: int | None = None
    seconds: float | None = None
    cells: float | None = None
    run: str | None = None

    citations: ClassVar[tuple[str, ...]] = ("MT07", "CKS20", "BS16", "DDR20")

    def release(
        self,
        curator: Curator,
        workload: Workload | Query | Sequence[Query],
        *,
        weights: Sequence[float] | None = None,
        prior: Synopsis | None = None,
        zeros: Sequence[tuple[Sequence[str], Any]] = (),
        watch: Callable[[Progress], None] | None = None,
    ) -> Synopsis:
        """Release a model of the rows that answers a workload well, and anything else as well as it can.

        Args:
            curator: the guardian of the rows.
            workload: what must be answered well; queries count through the tables behind them.
            weights: how much each block of the workload matters; all the same if None.
            prior: a public synopsis to start from.
            zeros: pairs (attributes, array over their table, False where a combination cannot occur).
            watch: told how far the release is, and its current estimated error.
        """
        domain, queries = _finite(curator), Workload.of(workload)
        self._check(queries, weights)
        impossible = [Zeros(tuple(names), np.asarray(possible, dtype=np.bool_)) for names, possible in zeros]
        digest = self._digest(curator, queries, weights, prior, impossible)
        account, price = self._open(curator, digest)
        run = Run(account, domain, queries, self, price)
        hypothesis = FactoredHypothesis(domain, zeros=impossible, cells=4e7)
        if prior is not None:
            run.believe(hypothesis, prior)
        outcome, facts = run.learn(hypothesis, weights, watch or _silent)
        self._close(account, digest)
        cost = curator.ledger.budget.part(price - run.left)
        signed = Provenance(
            type(self).__name__,
            self._parameters(queries) | facts,
            cost,
            curator.receipt,
            curator.private,
            self.citations,
        )
        return ModelSynopsis(domain, signed, outcome)

    # -- inside -------------------------------------------------------------------------------------------

    def _check(self, queries: Workload, weights: Sequence[float] | None) -> None:
        if self.epsilon is not None and self.budget is not None:
            raise UnsupportedQuery("give a mechanism an epsilon or a budget, not both")
        if not 0.0 < self.one_way < 1.0:
            raise UnsupportedQuery("`one_way` is a part between 0 and 1")
        if weights is not None and (len(weights) != len(queries.blocks) or min(weights) < 0):
            raise UnsupportedQuery(f"there are {len(queries.blocks)} blocks to weigh, each by 0 or more")
        if not any(b.attributes for b in queries.blocks):
            raise UnsupportedQuery("an adaptive release needs questions about at least one attribute")

    def _spend(self) -> Spend:
        return self.budget if self.budget is not None else self.epsilon

    def _parameters(self, queries: Workload) -> dict[str, Any]:
        own = {k: v for k, v in asdict(self).items() if v is not None and k != "budget"}
        return own | {"workload": queries.name}

    def _digest(
        self,
        curator: Curator,
        queries: Workload,
        weights: Sequence[float] | None,
        prior: Synopsis | None,
        zeros: Sequence[Zeros],
    ) -> str:
        """A fingerprint of everything public that the run depends on."""
        h = hashlib.sha256(repr((self, queries.digest, weights, curator.account)).encode())
        h.update(_finite(curator).fingerprint.encode())
        for z in zeros:
            h.update(repr(z.attributes).encode() + z.possible.tobytes())
        if prior is not None:
            h.update(json.dumps(prior.provenance.to_json(), sort_keys=True, default=str).encode())
        return h.hexdigest()

    def _open(self, curator: Curator, digest: str) -> tuple[Curator, Cost]:
        """The account of this run and its price: an unfinished run of the same plan is taken up again."""
        ledger, number = curator.ledger, 0
        while True:
            name = f"adaptive {self.run}" if self.run else f"adaptive {digest[:12]} {number}"
            try:
                ledger.spent(name)
            except LedgerError:
                price = curator.price(self._spend())
                account = curator.allot(price, name, note=f"{type(self).__name__}, plan {digest[:12]}")
                break
            account = curator.child(name)
            if self.run or ledger.recall(f"{name}: done", digest, analyst=name) is None:
                break
            number += 1
        # The price is kept with the run: what remains of the budget is another amount after a crash.
        kept = ledger.recall(f"{name}: price", digest, analyst=name)
        if kept is None:
            price = ledger.spent(name) + ledger.remaining(name)
            text = json.dumps(price.to_json()).encode()
            kept = ledger.record(
                text, account=name, analyst=name, request=f"{name}: price", question=digest, run=name
            )
        assert kept.answer is not None
        return account, Cost.from_json(json.loads(kept.answer))

    def _close(self, account: Curator, digest: str) -> None:
        """Mark the run as done and give back what rounding left; once."""
        ledger, name = account.ledger, account.account
        if ledger.recall(f"{name}: done", digest, analyst=name) is None:
            with ledger.transaction() as both:
                both.record(
                    b"", account=name, analyst=name, request=f"{name}: done", question=digest, run=name
                )
                both.settle(name)


def _silent(progress: Progress) -> None:
    """Nobody watches."""


def _finite(curator: Curator) -> Domain:
    if not isinstance(curator.domain, Domain):
        raise UnsupportedQuery("this mechanism needs a declared finite domain, not an open one")
    return curator.domain
