"""BoostReceipt: what training a classifier cost, whom it protects, and who remembers it."""

from __future__ import annotations

from dataclasses import dataclass

from hedgerow.curator.curator import Curator
from hedgerow.privacy.budget import Budget, Cost
from hedgerow.privacy.ledger.receipt import Receipt


@dataclass(frozen=True)
class BoostReceipt:
    """The privacy statement of one fit.

    Args:
        spent: what the fit cost at most.
        neighbours: the relation, `add_remove` or `replace`.
        unit: the column that names the protected unit; single rows if None.
        max_rows: how many rows a unit has at most.
        private: whether the noise came from the operating system's entropy.
        split: how the price was divided, in words.
        ledger: the dataset's ledger after the fit; None when no ledger remembers it.
    """

    spent: Budget
    neighbours: str
    unit: str | None
    max_rows: int
    private: bool
    split: str
    ledger: Receipt | None

    @classmethod
    def of(cls, curator: Curator, price: Cost, split: str, *, remembered: bool) -> BoostReceipt:
        """The receipt of a fit that was charged `price` by a curator."""
        settings = curator.ledger.settings
        private = curator.real_noise if not remembered else curator.private
        return cls(
            curator.ledger.budget.part(price),
            settings.neighbours,
            settings.unit,
            settings.max_rows,
            private,
            split,
            curator.receipt if remembered else None,
        )

    def describe(self) -> str:
        """The receipt in words."""
        whom = "row" if self.unit is None else f"{self.unit} with at most {self.max_rows} rows"
        kept = (
            self.ledger.describe()
            if self.ledger is not None
            else "No ledger remembers it: another fit to the same rows costs the same again."
        )
        real = "" if self.private else " Test randomness or a simulated ledger: the model is NOT private."
        cost = f"epsilon {self.spent.epsilon:.6g} at delta {self.spent.delta:g}"
        said = f"This fit spent {cost}, protecting each {whom} ({self.neighbours}); {self.split}."
        return f"{said} {kept}{real}"
