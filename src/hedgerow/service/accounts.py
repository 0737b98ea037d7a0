"""Accounts: parts of a dataset's budget that an owner sets aside for people, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hedgerow.errors import BadValue, HedgerowError, LedgerError
from hedgerow.privacy.ledger.entry import OWNER
from hedgerow.release.numerals import amount, rest
from hedgerow.service import wire
from hedgerow.service.people import LATER, account_for, accounts_of, spent_by
from hedgerow.service.spendings import is_plan, spendings

if TYPE_CHECKING:
    from hedgerow.curator.curator import Curator
    from hedgerow.privacy.budget import Budget, Cost
    from hedgerow.privacy.ledger.ledger import Ledger

_LONGEST = 64


@dataclass(frozen=True)
class Part:
    """Somebody's part of a budget.

    Args:
        name: whose.
        given: what was set aside.
        spent: what they spent of it.
        closed: whether it was settled, and the rest came back.
        reserved: whether it was set aside; a limit is not, and what others leave may be less.
    """

    name: str
    given: Cost
    spent: Cost
    closed: bool
    reserved: bool = True

    @property
    def left(self) -> Cost:
        """What they may still spend."""
        return self.given - self.spent

    def words(self, budget: Budget) -> str:
        """As a sentence.

        Args:
            budget: the dataset's.
        """
        spent = "nothing" if self.spent.is_zero else amount(budget.part(self.spent), budget)
        if self.closed:
            return f"{self.name} spent {spent}; the account is settled, and the rest came back."
        given = amount(budget.part(self.given), budget)
        if not self.reserved:
            left = rest(self.left, budget)
            most = f"{self.name} may spend up to {given}, of which nothing is set aside"
            return f"{most}, spent {spent}, and has {left} left."
        return f"{self.name} was given {given}, spent {spent}, and has {rest(self.left, budget)} left."

    def to_json(self, budget: Budget) -> dict[str, Any]:
        """Plain data."""
        part = budget.part
        return {
            "name": self.name,
            "limit": wire.price(part(self.given)),
            "spent": wire.price(part(self.spent)),
            "remaining": None if self.closed else wire.price(part(self.left)),
            "closed": self.closed,
        }


def parts(ledger: Ledger) -> list[Part]:
    """Everybody's part, in the order in which they were set aside.

    Args:
        ledger: the dataset's.
    """
    return [part_of(ledger, s.name) for s in spendings(ledger) if s.kind == "account"]


def part_of(ledger: Ledger, name: str) -> Part:
    """One person's part; a name that nobody has is refused.

    Args:
        ledger: the dataset's.
        name: whose.
    """
    if not _is_known(ledger, name):
        known = [s.name for s in spendings(ledger) if s.kind == "account"]
        some = f"there is {', '.join(known)}" if known else "none was set aside yet"
        raise LedgerError(
            f"nobody called {name!r} has a part of this budget: {some}",
            hint="set one aside with `hedgerow budget allot`",
        )
    newest = (accounts_of(ledger, name) or [name])[-1]
    closed = ledger.is_closed(newest)
    spent, left = spent_by(ledger, name), ledger.remaining(newest)
    return Part(name, spent if closed else spent + left, spent, closed, ledger.limit(newest) is None)


def payer(curator: Curator, name: str) -> Curator:
    """The curator of somebody's account, whose budget pays.

    Args:
        curator: the owner's.
        name: whose account.
    """
    if curator.account != OWNER:
        raise LedgerError(
            "a part of the budget pays for all blocks, not for a range: leave out --as, or --from and --to"
        )
    if part_of(curator.ledger, name).closed:
        raise LedgerError(f"the account of {name} is settled: it pays for nothing any more")
    return curator.child(account_for(curator.ledger, name, curator.scope))


def allot(ledger: Ledger, name: str, epsilon: str, note: str = "") -> Part:
    """Set a part aside for a new account, which can then spend that much and no more; nobody else can.

    Args:
        ledger: the dataset's.
        name: whose; a word that is no account's yet.
        epsilon: how much.
        note: words to keep with it.
    """
    from hedgerow.curator.spender import Spender

    _refuse_name(ledger, name)
    if is_plan(note):
        raise HedgerowError("a note that reads like a release's plan would pass for one: word it otherwise")
    try:
        price = Spender(ledger, OWNER).price(epsilon)
    except (BadValue, ValueError):
        raise HedgerowError(f"epsilon is a number above 0, such as 0.2, not {epsilon!r}") from None
    ledger.allot(name, price, note=note)
    return part_of(ledger, name)


def limit(ledger: Ledger, name: str, epsilon: Any, note: str = "Set by the owner") -> Part:
    """Let somebody spend up to so much in all, with nothing set aside; a limit that they have is changed.

    Args:
        ledger: the dataset's.
        name: whose.
        epsilon: how much; None for as much as there is.
        note: words to keep with it.
    """
    from hedgerow.curator.spender import Spender
    from hedgerow.privacy.budget import Cost
    from hedgerow.privacy.ledger.limit import set_limit

    most = None
    if not _is_known(ledger, name):
        _refuse_name(ledger, name)
    if epsilon is not None:
        if isinstance(epsilon, bool) or not isinstance(epsilon, (int, float, str)):
            raise BadValue("an epsilon is a number above 0")
        try:
            price = Spender(ledger, OWNER).price(epsilon)
        except (BadValue, ValueError):
            raise HedgerowError(f"epsilon is a number above 0, such as 0.2, not {epsilon!r}") from None
        most = Cost(price.currency, price.amount, ledger.budget.cost.delta)
    with ledger.transaction() as together:  # nobody goes on from another account between
        if most is not None:
            most = most.beyond(spent_by(ledger, name, before=True))
        set_limit(together, (accounts_of(ledger, name) or [name])[-1], most, note)
    return part_of(ledger, name)


def settle(ledger: Ledger, name: str) -> Part:
    """Close a person's account; what they did not spend comes back.

    Args:
        ledger: the dataset's.
        name: whose.
    """
    if part_of(ledger, name).closed:
        raise LedgerError(f"the account of {name} is settled already")
    with ledger.alone():  # no question of theirs is being answered
        for account in accounts_of(ledger, name):
            if not ledger.is_closed(account):
                ledger.settle(account, "settled by the owner")
    return part_of(ledger, name)


def _is_known(ledger: Ledger, name: str) -> bool:
    """Whether somebody of this name has an account; those of releases, sessions and ranges have spaces.

    A further account of somebody's is no name: what is said of them is said of all their accounts.
    """
    later = LATER.fullmatch(name)
    if name == OWNER or any(sign.isspace() for sign in name) or (later and ledger.knows_account(later[1])):
        return False
    return ledger.knows_account(name)


def _refuse_name(ledger: Ledger, name: str) -> None:
    """A name is one word, so that it is no release's or session's account; and stays whose it was."""
    plain = name.isprintable() and not any(sign.isspace() or sign == "#" for sign in name)
    if not name or not plain or len(name) > _LONGEST or name == OWNER:
        raise HedgerowError(f"a name for an account is one word of up to {_LONGEST} signs, not {name!r}")
    if _is_known(ledger, name):
        raise LedgerError(
            f"there has been an account {name!r} already, and none is given twice: choose another name"
        )
