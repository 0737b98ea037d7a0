"""RunAccount: a release of several acts, paid from an account of its own, taken up again after a crash."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass

from hedgerow.curator.curator import Curator, Spend
from hedgerow.errors import HedgerowError, LedgerError, UnsupportedQuery
from hedgerow.privacy.budget import Cost


@dataclass(frozen=True)
class RunAccount:
    """The account that pays for one release.

    A release with a name (`run`) is made once: asked for again it is given the same answers, free. Without a
    name, an unfinished release of the same plan is taken up, and a finished one is made anew.

    Args:
        kind: the mechanism, in the account's name.
        run: the name of the release, if it has one.
        digest: a fingerprint of everything public that the release depends on.
    """

    kind: str
    run: str | None
    digest: str

    def name(self, curator: Curator) -> str:
        """The account: the first that was neither given up nor, when it has no name, finished."""
        first, number = f"{self.kind} {self.run or self.digest[:12]}", 0
        while True:
            name = f"{first} {number}" if number or not self.run else first
            over = curator.ledger.recall(f"{name}: given up", name, analyst=name)
            if over is None and not self.run:
                over = curator.ledger.recall(f"{name}: done", self.digest, analyst=name)
            if over is None:
                return name
            number += 1

    def begun(self, curator: Curator) -> bool:
        """Whether the ledger knows this release by its name: going on with it needs no more budget."""
        return self.run is not None and _known(curator, self.name(curator))

    def open(self, curator: Curator, spend: Spend) -> tuple[Curator, Cost]:
        """The curator that pays from the account, and the release's price, fixed when it was first opened."""
        ledger, name = curator.ledger, self.name(curator)
        if _known(curator, name):
            account = curator.child(name)
        else:
            price = curator.price(spend)
            account = curator.allot(price, name, note=f"{self.kind}, plan {self.digest[:12]}")
        kept = ledger.recall(f"{name}: price", self.digest, analyst=name)
        if kept is None:  # what remains of the budget is another amount after a crash
            price = ledger.spent(name) + ledger.remaining(name)
            kept = ledger.record(
                json.dumps(price.to_json()).encode(),
                account=name,
                analyst=name,
                request=f"{name}: price",
                question=self.digest,
                note=f"{self.kind}: what it may spend was fixed",
                run=name,
            )
        assert kept.answer is not None
        return account, Cost.from_json(json.loads(kept.answer))

    def give_up(self, account: Curator) -> None:
        """A run that stopped before its first act gives its price back; any other waits to be taken up."""
        with suppress(HedgerowError, OSError):
            if account.ledger.spent(account.account).is_zero:
                self._end(account, "given up", account.account, "given up before anything was read")

    def close(self, account: Curator) -> None:
        """Mark the run as done and give back what it did not spend; once."""
        if account.ledger.recall(f"{account.account}: done", self.digest, analyst=account.account) is None:
            self._end(account, "done", self.digest, "done")

    def _end(self, account: Curator, how: str, question: str, words: str) -> None:
        name = account.account
        with account.ledger.transaction() as both:
            both.record(
                b"",
                account=name,
                analyst=name,
                request=f"{name}: {how}",
                question=question,
                note=f"{self.kind}: {words}",
                run=name,
            )
            both.settle(name)


def check_delta(curator: Curator, rows: int | None) -> None:
    """Refuse a delta that lets a whole row of so many be published: one in `rows` or more."""
    if rows is None:
        return
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise UnsupportedQuery("a declared number of rows is a whole number, 1 or more")
    if curator.ledger.budget.delta_exact * rows >= 1:
        raise UnsupportedQuery(
            f"a delta of {curator.ledger.budget.delta:g} is too large for {rows:,} rows: "
            "it must be well below one in the number of rows"
        )


def _known(curator: Curator, account: str) -> bool:
    try:
        curator.ledger.spent(account)
    except LedgerError:
        return False
    return True
