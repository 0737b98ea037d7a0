"""Receipts outside a ledger: what is set aside when an older copy of it is gone on with."""

from __future__ import annotations

from fractions import Fraction

import pytest

from hedgerow.errors import BudgetExceeded
from hedgerow.privacy.budget import Budget, Cost
from hedgerow.privacy.event import Pure
from hedgerow.privacy.ledger.entry import OWNER, Growth
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.privacy.ledger.limit import set_limit
from hedgerow.privacy.ledger.noted import excuse_older, note


def eps(amount) -> Cost:
    return Cost("epsilon", Fraction(amount))


def lost(folder, act) -> None:
    """Do something, note a receipt of it, and put the ledger back that does not know of it."""
    path = folder / "ledger.db"
    old = path.read_bytes()
    with Ledger.open(path) as ledger:
        act(ledger)
        note(ledger, folder / "receipt.json")
    for file in folder.glob("ledger.db*"):
        file.unlink()
    path.write_bytes(old)


@pytest.mark.parametrize("above", [(), ("ann",), ("ann", "eve"), ("limited",)])
def test_what_lost_lines_spent_from_nested_accounts_is_not_spent_again(tmp_path, above):
    with Ledger.open(tmp_path / "ledger.db", budget=Budget(epsilon=10)) as ledger:
        parent = OWNER
        for name in above:
            if name == "limited":
                set_limit(ledger, name, eps(6))
            else:
                ledger.allot(name, eps(5), parent=parent)
            parent = name
        ledger.allot("bob", eps(4), parent=parent)
    lost(tmp_path, lambda ledger: ledger.charge(Pure(4), lambda: (b"", None), account="bob"))
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        excuse_older(ledger, [tmp_path / "receipt.json"], "the disk was lost")
        held = [ledger.held(name) for name in ("bob", *above)]
        assert 4 + ledger.remaining().amount + sum(cost.amount for cost in held) <= 10
        assert ledger.verify().ok


def test_a_year_that_is_spent_does_not_hide_what_lost_lines_spent_in_another(tmp_path):
    receipt = [tmp_path / "receipt.json"]
    with Ledger.open(tmp_path / "ledger.db", budget=Budget(epsilon=1), growth=Growth("yearly")) as ledger:
        ledger.announce("2026-12-31", "day", b"", 1)
    lost(tmp_path, lambda ledger: ledger.allot("a", eps("1/4"), scope=(2026, 2026)))
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        excuse_older(ledger, receipt, "the disk was lost")
        ledger.allot("b", eps("3/4"), scope=(2026, 2026))
        ledger.announce("2027-01-01", "day", b"", 2)
    lost(tmp_path, lambda ledger: ledger.allot("c", eps("1/2"), scope=(2027, 2027)))
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        with pytest.raises(BudgetExceeded, match="set aside first") as refused:
            excuse_older(ledger, receipt, "it was lost again")
        assert "raise the budget" in refused.value.hint
        ledger.raise_budget(Budget(epsilon=2), "for what was lost")
        excuse_older(ledger, receipt, "it was lost again")
        assert ledger.remaining(scope=(2027, 2027)).amount <= Fraction(5, 4)
        assert ledger.verify().ok
