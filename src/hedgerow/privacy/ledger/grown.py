"""Grown: what a ledger says about blocks of growing data, and which promise they amount to."""

from __future__ import annotations

from contextlib import AbstractContextManager
from fractions import Fraction
from typing import TYPE_CHECKING

from hedgerow.errors import LedgerError
from hedgerow.figures import small
from hedgerow.privacy.budget import Budget, Cost, epsilon_of
from hedgerow.privacy.calibration import float_up
from hedgerow.privacy.ledger.announcing import BLOCKS, RowBlock
from hedgerow.privacy.ledger.book import Book
from hedgerow.privacy.ledger.entry import LOST, OWNER, Entry
from hedgerow.privacy.ledger.profile import Scope, within
from hedgerow.privacy.raising import doubled, least

if TYPE_CHECKING:
    from hedgerow.privacy.ledger.transaction import Transaction


class Grown(Book):
    """A ledger's lines about blocks."""

    def transaction(self, *, durable: bool = True) -> AbstractContextManager[Transaction]:
        """As in `Ledger.transaction`."""
        raise NotImplementedError

    def blocks(self, after: int = -1) -> list[RowBlock]:
        """The blocks that were appended after a line, in order, each with its secret state."""
        return [RowBlock.read(entry) for entry in self.replay(BLOCKS, after) if entry.kind == "block"]

    def announce(self, name: str, by: str, state: bytes, expected: int) -> Entry:
        """Announce a block, as in `Transaction.announce`."""
        with self.transaction() as transaction:
            return transaction.announce(name, by, state, expected)

    def end_parallel(self, reason: str) -> Entry:
        """End charging blocks side by side, for good, as in `Transaction.end_parallel`."""
        with self.transaction() as transaction:
            return transaction.end_parallel(reason)

    def raise_years(self, years: int, reason: str) -> Entry:
        """Declare the promise of a lifetime for more years of arrival, as in `Transaction.raise_years`."""
        with self.transaction() as transaction:
            return transaction.raise_years(years, reason)

    def lose(self, reason: str, told: bytes = b"") -> None:
        """Write that lines were lost and nobody knows what they spent: all of it counts as spent, everywhere.

        Unless they raised the budget, which only a receipt tells (`noted.excuse_older`), no block can have
        been charged more than it: whatever the lines said, this is no less. What was set aside before is
        part of it: lost lines may have spent that too, so accounts with money of their own are closed first.
        Then charging side by side ends, for good.

        Args:
            reason: how that is known.
            told: secret: which files told of the loss, so that they tell of it once.
        """
        with self.transaction() as transaction:
            before = sum(name.startswith(f"{LOST}of blocks") for name in self._store.children(OWNER))
            transaction.void("Lines were lost that may have spent it")
            owner = self.account(OWNER)
            parts: list[tuple[Scope | None, Cost]] = [(None, owner.spent)]
            if owner.profile is not None and not owner.profile.ended:  # else one sum binds all
                parts = [*owner.profile.regions]
            for scope, spent in parts:
                rest = owner.limit - spent
                if not rest.is_zero:
                    name = f"{LOST}of blocks, from {'the first' if scope is None else scope[0]}"
                    name += f" ({before + 1})" if before else ""
                    transaction.allot(name, rest, note=reason, scope=scope)
            transaction.end_parallel(reason, told)

    def losses(self) -> list[bytes | None]:
        """Which files told of each loss, none if receipts did; None in a line of an earlier version."""
        return [entry.state for entry in self.replay(BLOCKS) if entry.kind == "ended"]

    @property
    def counted(self) -> Cost:
        """What the newest loss that files told of made of all spending: the budget of then, or nothing."""
        told = [entry.limit for entry in self.replay(BLOCKS) if entry.kind == "ended" and entry.state]
        return told[-1] if told else Cost.zero(self.currency)

    @property
    def ended(self) -> bool:
        """Whether units may be in several blocks, because what was seen was lost."""
        return any(entry.kind == "ended" for entry in self.replay(BLOCKS))

    def knows_account(self, account: str) -> bool:
        """Whether there has ever been an account of a name."""
        return self._store.last(account) is not None

    def charged(self, cell: int) -> Cost:
        """What one block (or year, where years have allowances) was charged so far."""
        owner = self.account(OWNER)
        return owner.spent if owner.profile is None else owner.profile.at(cell)

    def covers(self, account: str, scope: Scope | None) -> bool:
        """Whether an account's money may pay for what reads some blocks or years."""
        if not self.made.cells or scope is None or account == OWNER:
            return True
        return within(scope, self.account(account).scope)

    def refuse_outside(self, account: str, scope: Scope | None) -> None:
        """Refuse an account whose money was set aside for other blocks or years than those to be read."""
        if not self.covers(account, scope):
            assert scope is not None
            held = self.account(account).scope
            told = "none" if held is None else f"{held[0]} to {held[1] or 'any'}"
            raise LedgerError(
                f"The account {account!r} is for blocks {told}, not for {scope[0]} to {scope[1]}: "
                "set money aside for those."
            )

    def lifetime(self) -> str:
        """One sentence: what all blocks together amount to for one person."""
        made, budget = self.made, self.budget
        told = _words(budget.epsilon, budget.delta)
        if made.growing == "shared":
            return f"All blocks share one budget: {told} is the promise for good."
        if made.growing == "confined" and not self.ended:
            return f"A unit's rows count in its first block only: {told} is the promise for good."
        if made.growing == "confined":
            if any(name.startswith(LOST) for name in self._store.children(OWNER)):
                told = f"what they may have spent counts as spent, and {told}"
                return f"Lines were lost, so blocks add up from then on: {told} is still the promise."
            return f"What was seen was lost, so blocks add up from then on: {told} is still the promise."
        if made.growing is None:
            return f"{told} is the promise."
        yearly = f"Rows that arrived in one year have {told};"
        years, delta = self.years(), self._lifetime_delta(budget)
        if years is None:
            return f"{yearly} no number of years was declared: there is no lifetime promise."
        if budget.currency == "epsilon":
            assert budget.epsilon_exact is not None
            whole = _words(float(budget.epsilon_exact * years), 0.0)
        else:
            whole = _words(self._over(budget, years, delta), float(delta + (years - 1) * budget.event_delta))
        return f"{yearly} over the {years} declared years it is {whole}."

    def _lifetime_delta(self, budget: Budget) -> Fraction:
        """The delta of a lifetime: years that were raised after answers pay for that choice as budgets do."""
        line = self.raised_years() if self.made.growing == "yearly" else None
        if line is None or line.spent.is_zero or not budget.conversion_delta:
            return budget.delta_exact
        return max(budget.delta_exact, doubled(self.first_budget))

    def _over(self, budget: Budget, years: int, delta: Fraction) -> float:
        """The epsilon of so many years' sums; caps that were raised after answers are read at fixed orders.

        docs/privacy/raising.md holds for the sum of all years as it does for one: its cap is that many times
        as large, and the orders were fixed before any row was read. A number of years that is raised is such
        a cap, at a delta that pays for raises.
        """
        rho, base = Fraction(budget.cost.amount * years), self.first_budget
        raised = budget.conversion_delta and (budget.raise_delta or delta > budget.delta_exact)
        asked = Budget(rho=1, delta=delta) if raised and not budget.raise_delta else budget
        return float_up(least(base, asked, rho)) if raised else epsilon_of(rho, budget.conversion_delta)


def _words(epsilon: float, delta: float) -> str:
    """A promise in words."""
    return f"epsilon {epsilon:.4g}" + (f", delta {small(delta)}" if delta else "")
