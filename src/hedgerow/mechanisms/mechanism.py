"""Mechanism: what all releases share - what they spend, how their synopsis is signed, whom they refuse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any, ClassVar, Protocol, runtime_checkable

from hedgerow.curator.curator import Curator, NoiseChoice
from hedgerow.curator.spender import Spend
from hedgerow.errors import UnsupportedQuery
from hedgerow.mechanisms.account import Purse, RunAccount
from hedgerow.mechanisms.fingerprint import fingerprint
from hedgerow.privacy.budget import Budget, Cost
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.measurement import Measurement
from hedgerow.synopsis.synopsis import Provenance, Synopsis


@runtime_checkable
class Release(Protocol):
    """What every mechanism is that releases at once: public parameters, and one verb that meets a curator."""

    def release(self, curator: Curator, workload: Any) -> Synopsis:
        """Spend what its parameters say, or all that remains, and return what people take home."""
        ...


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

    def _priced(self, curator: Curator) -> Cost:
        """What the release spends, refused before the first of its acts if it cannot be paid."""
        price = curator.price(self._spend())
        curator.ledger.check(price, curator.account)
        return price

    def _own(self) -> dict[str, Any]:
        """The parameters that were given or have a default."""
        return {k: v for k, v in asdict(self).items() if v is not None and k != "budget"}

    def _signed(
        self, curator: Curator, cost: Cost, parameters: Mapping[str, Any] | None = None
    ) -> Provenance:
        """Mechanism, parameters, cost and receipt, read after the charge was made."""
        return Provenance(
            type(self).__name__,
            self._own() if parameters is None else dict(parameters),
            curator.ledger.budget.part(cost),
            curator.receipt,
            curator.private,
            self.citations,
        )


class Resumable(Mechanism):
    """What releases share that go on where they stopped: they have a name, and an account of their own.

    One's own is a frozen dataclass with a field `run`, whose `release` pays from `paying` and signs with
    `signed`. Its other fields are public, and all of them are what the release is known by.
    """

    run: str | None
    account_kind: ClassVar[str] = ""
    """What its accounts are called in the ledger; the class's name if empty."""

    def begun(self, curator: Curator) -> bool:
        """Whether the ledger knows this run by its name: going on with it needs no more budget."""
        return self._account("").begun(curator)

    def abandon(self, curator: Curator) -> None:
        """Leave an unfinished run of this name for good, or all without a name; what is unspent goes back."""
        self._account("").abandon(curator)

    def paying(self, curator: Curator, *public: object) -> AbstractContextManager[Purse]:
        """What pays for the acts of a release, taken up again if it was left unfinished.

        A release is known by its `fingerprint`: all fields of its class, always, but for those that came
        `later`; with the domain, the account, and what else is public that it depends on.

        Args:
            curator: the guardian of the rows.
            public: such as the digest of a workload.
        """
        plan = fingerprint(self, finite(curator).fingerprint, curator.account, *public)
        return self._paying(curator, plan.encode())

    def signed(self, curator: Curator, purse: Purse, **facts: Any) -> Provenance:
        """How a synopsis came to be, when its acts are paid for: parameters, public facts, receipt."""
        return self._signed(curator, purse.spent, self._own() | facts)

    def _account(self, digest: str) -> RunAccount:
        return RunAccount(self.account_kind or type(self).__name__, self.run, digest)

    def _paying(self, curator: Curator, plan: bytes) -> AbstractContextManager[Purse]:
        """The purse of a release that depends on what the plan says, and on nothing else that is public."""
        return self._account(sha256(plan).hexdigest()).paying(curator, self._spend())


@dataclass(frozen=True)
class OneAct(Resumable):
    """What releases share that are one private act: with a name they are made once, and then free.

    Args:
        run: a name for this release; asking for it again gives the same synopsis, free.
    """

    run: str | None = field(default=None, kw_only=True)

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
        plan = fingerprint(self, finite(curator).fingerprint, curator.account, digest)
        note = f"{type(self).__name__}: {name}"
        with self._paying(curator, plan.encode()) as purse:
            noisy = purse.curator.measure_all(
                targets, purse.price, request=purse.request(1), shares=shares, noise=noise, note=note
            )
        return self._signed(curator, purse.price), noisy

    def _paying(self, curator: Curator, plan: bytes) -> AbstractContextManager[Purse]:
        """One act is done or not: without a name it needs no account."""
        if self.run is None:
            return nullcontext(Purse(curator, self._priced(curator)))
        return super()._paying(curator, plan)


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
