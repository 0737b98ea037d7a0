"""Mechanism: what all releases share - what they spend, how their synopsis is signed, whom they refuse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any, ClassVar

from hedgerow.curator.curator import Curator, NoiseChoice, Spend
from hedgerow.errors import UnsupportedQuery
from hedgerow.mechanisms.account import Resumable, RunAccount
from hedgerow.privacy.budget import Budget
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.measurement import Measurement
from hedgerow.synopsis.synopsis import Provenance


@dataclass(frozen=True)
class Mechanism:
    """What releases share: how much they spend, and how their synopsis is signed.

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
class OneAct(Mechanism, Resumable):
    """What releases share that are one private act: with a name they are made once, and then free.

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


def one_way_shares(sizes: Sequence[int]) -> list[int]:
    """Budget in proportion to size^(2/3), which makes the sum of the tables' L1 errors least."""
    return [max(1, round(1000 * n ** (2.0 / 3.0))) for n in sizes]
