"""People's accounts: one each; of data that grow one for each set of blocks, under one limit in all.

An account's money is for the blocks that it was set aside for. When blocks are appended and learned, whoever
asks goes on from an account for those, NAME#2, with what their limit has left: a limit is for all of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hedgerow.privacy.budget import Cost

if TYPE_CHECKING:
    from hedgerow.privacy.ledger.ledger import Ledger
    from hedgerow.privacy.ledger.profile import Scope

LATER = re.compile(r"([^\s#]+)#\d+")
"""A person's further account; a name has no # of its own."""


def accounts_of(ledger: Ledger, name: str) -> list[str]:
    """A person's accounts, the oldest first; none if nobody opened one."""
    found: list[str] = []
    while ledger.knows_account(later := f"{name}#{len(found) + 1}" if found else name):
        found.append(later)
        if not ledger.settings.growing:  # there are no further ones, and none is looked for in the database
            break
    return found


def begin_account(ledger: Ledger, name: str) -> None:
    """Open an account without a limit for somebody who has none; a limit that was set meanwhile stays."""
    with ledger.transaction() as together:
        if not ledger.knows_account(name):
            together.limit(name, None, "An analyst without a limit of their own")


def account_for(ledger: Ledger, name: str, scope: Scope | None) -> str:
    """The account that pays for a person's questions about some blocks; it is opened if it must be.

    One that has money of its own keeps it for its blocks, and is refused where it pays for others. An account
    from which somebody went on may be given nothing more, so that all of them together keep to one limit.

    Args:
        ledger: the dataset's.
        name: whose; they have an account.
        scope: the blocks, or None where data do not grow.
    """
    if (pays := _paying(ledger, name, scope)) is not None:
        return pays
    with ledger.transaction() as together:
        if (pays := _paying(ledger, name, scope)) is not None:  # another process opened it meanwhile
            return pays
        *before, newest = accounts_of(ledger, name)
        limit, spent, later = ledger.limit(newest), ledger.spent(newest), f"{name}#{len(before) + 2}"
        assert limit is not None  # else it pays
        together.limit(newest, spent, f"{name} goes on from {later}")  # whoever still holds it spends no more
        rest = None if limit.most is None else limit.most.beyond(spent)
        together.limit(later, rest, f"{name} goes on, with blocks that came later")
    return later


def _paying(ledger: Ledger, name: str, scope: Scope | None) -> str | None:
    """The newest account of a person, unless they go on from a further one; who was settled does not.

    When blocks are no longer charged side by side, an account of some of them pays for nothing more: whoever
    has a limit goes on from one for all of them.
    """
    newest = accounts_of(ledger, name)[-1]
    if ledger.limit(newest) is None or ledger.is_closed(newest):
        return newest
    return newest if ledger.covers(newest, scope) and not ledger.is_narrow(newest) else None


def spent_by(ledger: Ledger, name: str, *, before: bool = False) -> Cost:
    """What a person spent, from all accounts; or from those before the newest."""
    mine = accounts_of(ledger, name)
    return sum((ledger.spent(a) for a in mine[: -1 if before else None]), Cost.zero(ledger.currency))
