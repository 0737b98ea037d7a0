"""Limits: how much an account may spend, with nothing set aside; they may add up to more than there is.

An account under a limit is an ordinary account that is filled as it spends. What a charge lacks is allotted
to it from its parent in the charge's own transaction (lines `allot` and `grow`), as long as all that it was
ever given stays within its limit; what comes back to it goes back to its parent at once (`shrink` and
`return`). So its charges are charges like all others, the parent has paid for every one of them before it is
made, and the dataset's cap holds whatever limits say. An earlier version, which knows no limits, finds
nothing to spend there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from hedgerow.errors import LedgerError
from hedgerow.privacy.budget import Budget, Cost
from hedgerow.privacy.ledger.entry import Account, grains_from
from hedgerow.privacy.ledger.line import Line

if TYPE_CHECKING:
    from hedgerow.privacy.ledger.ledger import Ledger
    from hedgerow.privacy.ledger.transaction import Transaction


@dataclass(frozen=True)
class Limit:
    """What the newest line about a limit says.

    Args:
        name: the account's.
        parent: the account that fills it.
        most: what it may be given in all; None for as much as the parent has.
    """

    name: str
    parent: str
    most: Cost | None

    @classmethod
    def run(cls, name: str) -> str:
        """The label under which the lines about an account's limit are found."""
        return f"hedgerow: limit of {name}"

    @classmethod
    def read(cls, line: Line) -> Limit:
        """Decode a stored line."""
        try:
            data = json.loads(line.text)
            most = data["details"]["most"]
            return cls(data["account"], data["parent"], None if most is None else grains_from(most))
        except (KeyError, TypeError, ValueError) as error:
            raise LedgerError(f"Line {line.seq} of the ledger cannot be read.") from error

    def allows(self, account: Account, more: Cost) -> bool:
        """Whether the account may be given so much more."""
        return self.most is None or account.limit + more <= self.most

    def room(self, account: Account) -> Cost:
        """What the account may still be given, as far as its limit goes; all there is without one."""
        if self.most is None:
            return Cost(account.limit.currency, _ALL, Fraction(account.limit.currency == "rho"))
        return self.most.beyond(account.limit)

    def refusal(self, cost: Cost, account: Account, budget: Budget) -> str:
        """One sentence: what was asked for, and what is left of the limit."""
        assert self.most is not None
        asked, most, left = (
            f"{budget.part(c).epsilon:.4g}" for c in (cost, self.most, account.remaining + self.room(account))
        )
        limit = f"the limit of {self.name!r}, epsilon {most}"
        return f"This asks for epsilon {asked}, but of {limit}, {left} remains."


_ALL = Fraction(10**9)  # more than any budget


def set_limit(ledger: Ledger | Transaction, name: str, most: Cost | None, note: str = "") -> None:
    """Give an account a limit, or another one; a new account is opened for it, with nothing set aside.

    Args:
        ledger: the dataset's ledger, or a transaction of it.
        name: the account's.
        most: what it may spend in all, with what it has spent; None for as much as the dataset has.
        note: words to keep with it.
    """
    from hedgerow.privacy.ledger.transaction import Transaction

    if isinstance(ledger, Transaction):
        ledger.limit(name, most, note)
        return
    with ledger.transaction() as together:
        together.limit(name, most, note)
