"""Spender: an account of a ledger, and whoever pays from it - what may be spent, what was, what is left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from hedgerow.errors import LedgerError, UnsupportedQuery
from hedgerow.privacy.budget import Budget, Cost
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.privacy.ledger.profile import Scope
from hedgerow.privacy.rational import exact
from hedgerow.queries.argument import text

if TYPE_CHECKING:
    from hedgerow.privacy.ledger.receipt import Receipt

Spend = Cost | Budget | float | int | str | Fraction | None


class Spender:
    """Who pays from an account of a ledger; it reads no row, and charges nothing itself.

    Args:
        ledger: where charges are made.
        account: the account's name in it.
    """

    ledger: Ledger
    account: str
    scope: Scope | None = None  # the blocks of growing data that it reads

    def __init__(self, ledger: Ledger, account: str) -> None:
        self.ledger, self.account = ledger, account

    @property
    def budget(self) -> Budget:
        """What this account may spend in all; the owner's is what the dataset promises."""
        whole = self.ledger.budget
        return whole if self.account == "owner" else whole.part(self.ledger.spent(self.account) + self.left)

    @property
    def spent(self) -> Budget:
        """What has been spent, as the epsilon it is worth alone: bookkeeping, the promise is the budget."""
        return self.ledger.budget.part(self.ledger.spent(self.account))

    @property
    def remaining(self) -> Budget:
        """What can still be spent, stated like `spent`."""
        return self.ledger.budget.part(self.left)

    @property
    def left(self) -> Cost:
        """What can still be spent, exactly, in the ledger's currency."""
        return self.ledger.remaining(self.account)

    @property
    def receipt(self) -> Receipt:
        """What the ledger says now, with the head of its chain."""
        return self.ledger.receipt()

    def price(self, spend: Spend = None, request: str | None = None) -> Cost:
        """An amount in the ledger's currency: all that remains (None), an epsilon, a Budget or a Cost.

        An epsilon on a (rho, delta) ledger means the rho that gives this epsilon at the ledger's delta - or
        gave it when a request id was first used, if one is named.
        """
        if spend is None:
            return self.left
        if isinstance(spend, Cost):
            return spend
        if not isinstance(spend, Budget):
            spend = Budget(epsilon=spend)
        if self.ledger.currency == "epsilon":
            if spend.currency != "epsilon":
                raise UnsupportedQuery(
                    "this dataset's budget is pure epsilon: spend an epsilon without a delta"
                )
            return spend.cost
        if spend.currency == "epsilon":
            assert spend.epsilon_exact is not None
            return self.ledger.meant(spend.epsilon_exact, request)
        return Cost("rho", spend.cost.amount)

    def allot(self, spend: Spend, name: str, note: str = "") -> Self:
        """Set part of the budget aside for someone: a curator that can spend that much and no more."""
        text("an account's name", name)
        scope = None if self.account == "owner" else self.scope  # the owner pays for all blocks
        self.ledger.allot(name, self.price(spend), parent=self.account, note=note, scope=scope)
        return self.child(name)

    def child(self, name: str) -> Self:
        """The curator of an account that was allotted before from this one, or from one below it."""
        text("an account's name", name)
        if not self.ledger.descends(name, self.account):
            raise LedgerError(
                f"the account {name!r} was not allotted from {self.account!r}",
                hint="set something aside for it with `allot`, or name one that was",
            )
        self.ledger.refuse_outside(name, self.scope)
        child = object.__new__(type(self))
        child.__dict__ = self.__dict__ | {"account": name}
        return child

    def settle(self) -> None:
        """Close this allotment; what it did not spend goes back to whoever allotted it."""
        self.ledger.settle(self.account)


def divided(price: Cost, shares: Sequence[Any] | None, parts: int) -> list[Cost]:
    """A price in equal parts, or in proportion to some shares: one above 0 for each part."""
    if shares is None:
        return price.split(*[1] * parts)
    given = list(shares) if isinstance(shares, Iterable) and not isinstance(shares, str | bytes) else []
    if len(given) != parts or not all(exact(share) > 0 for share in given):
        raise UnsupportedQuery(f"shares divide a price: {parts} numbers above 0, one for each part")
    return price.split(*given)
