"""What a release pays from: its purse, filled from an account of its own where it can go on later."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hedgerow.curator.curator import Curator, NoiseChoice
from hedgerow.curator.rows.source import begin_run
from hedgerow.curator.spender import Spend
from hedgerow.errors import HedgerowError, LedgerError, UnsupportedQuery
from hedgerow.privacy.budget import Cost
from hedgerow.queries.argument import text
from hedgerow.queries.measurement import Measurement
from hedgerow.queries.query import Query


@dataclass(frozen=True)
class Purse:
    """What one release may spend, and who pays for it.

    Args:
        curator: pays for every act, from the release's own account or from that of whoever asked.
        price: what all acts together may cost.
        run: the release's own account, under which its acts are known again; None where they are not.
    """

    curator: Curator
    price: Cost
    run: str | None = None

    def request(self, act: object) -> str | None:
        """The id under which an act of this release is given again, free."""
        return None if self.run is None else f"{self.run}: {act}"

    def rows(self, share: Fraction, note: str, noise: NoiseChoice) -> tuple[int, Cost, Measurement | None]:
        """The number of rows, at least one, public or measured for a share of the price; and what is left."""
        if self.curator.rows is not None:
            return max(1, self.curator.rows), self.price, None
        part, request = self.price.share(share), self.request("total")
        noisy = self.curator.measure(Query.total(), part, noise=noise, request=request, note=note)
        return max(1, int(np.rint(noisy.counts[0]))), self.price - part, noisy

    @property
    def spent(self) -> Cost:
        """What was spent of the price: by the account's own lines, or all of it."""
        return self.price if self.run is None else self.curator.ledger.spent(self.run)


@dataclass(frozen=True)
class RunAccount:
    """The account that pays for one release.

    A release with a name (`run`) is made once: asked for again it is given the same answers, free. Without a
    name, an unfinished release of the same plan is taken up, and a finished one is made anew. Neither goes on
    with a data file that has changed, see `curator.rows.source`.

    Args:
        kind: the mechanism, in the account's name.
        run: the name of the release, if it has one.
        digest: a fingerprint of everything public that the release depends on.
    """

    kind: str
    run: str | None
    digest: str

    def name(self, curator: Curator) -> str:
        """The account: the first that was neither given up nor, when it has no name, finished.

        A single # marks what is not the caller's own name, so that no two releases share an account.
        """
        text("the name of a run", self.run)
        first, number = f"{self.kind} {self.run.replace('#', '##') if self.run else ''}".strip(), 0
        while True:
            name = f"{first} #{number}" if self.run else f"{first} #{self.digest[:12]} {number}"
            name = first if self.run and not number else name
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
        with ledger.transaction() as transaction:  # of two that begin at once the second one takes it up
            if not _known(curator, name):
                words = f"{self.kind}, plan {self.digest[:12]}"
                transaction.allot(name, curator.price(spend), curator.account, words)
            account = curator.child(name)
            price = ledger.spent(name) + ledger.remaining(name)
            kept = begin_run(  # what remains of the budget is another amount after a crash
                account,
                json.dumps(price.to_json()).encode(),
                request=f"{name}: price",
                question=self.digest,
                note=f"{self.kind}: what it may spend was fixed",
                run=name,
                writer=transaction,
            )
        assert kept.answer is not None
        return account, Cost.from_json(json.loads(kept.answer))

    @contextmanager
    def paying(self, curator: Curator, spend: Spend) -> Iterator[Purse]:
        """Pay for a release: all that can become of its money, for every mechanism.

        Done: the account is closed and what was not spent goes back. Ended by anything else, a refusal, an
        error or Ctrl-C: before the first act the whole price goes back; after it the account stays, and the
        same release goes on there with the answers that it has paid for. Killed: the account stays too.
        """
        account, price = self.open(curator, spend)
        try:
            yield Purse(account, price, account.account)
        except BaseException:
            self.give_up(account)
            raise
        self.close(account)

    def abandon(self, curator: Curator) -> None:
        """Give back what an unfinished release did not spend; it is not taken up again.

        Without a name, all unfinished ones of this kind without a name: nobody else can take them up either.
        """
        ledger = curator.ledger
        own = re.compile(rf"{re.escape(self.kind)} #[0-9a-f]{{12}} \d+")  # a name's own # is written twice
        unnamed = [n for n in ledger.children(curator.account) if own.fullmatch(n)]
        for name in [self.name(curator)] if self.run else unnamed:
            if _known(curator, name) and not ledger.is_closed(name):
                with suppress(LedgerError):  # it may be closed already
                    self._end(curator.child(name), "given up", name, "not to be taken up again")

    def give_up(self, account: Curator) -> None:
        """A run that stopped before its first act gives its price back; any other waits to be taken up."""
        with suppress(HedgerowError, OSError):
            self._end(account, "given up", account.account, "given up before anything was read", unspent=True)

    def close(self, account: Curator) -> None:
        """Mark the run as done and give back what it did not spend; once."""
        self._end(account, "done", self.digest, "done")

    def _end(self, account: Curator, how: str, question: str, words: str, *, unspent: bool = False) -> None:
        """Close the account with its last line, once; nothing is done if another process went on meanwhile.

        Args:
            account: the curator that pays from it.
            how, question, words: of the last line.
            unspent: only if nothing was spent.
        """
        name, ledger = account.account, account.ledger
        with ledger.transaction() as both:
            if both.recall(f"{name}: {how}", question, analyst=name) is not None:
                return
            if unspent and not ledger.spent(name).is_zero:
                return
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
