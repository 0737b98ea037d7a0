"""A ledger of growing data: cells that are each held to the budget, blocks in order, faults found."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import pytest

from hedgerow.audit.ledger_replay import replay
from hedgerow.errors import BudgetExceeded, LedgerError
from hedgerow.figures import small
from hedgerow.privacy.budget import Budget, Cost, epsilon_of
from hedgerow.privacy.event import Pure
from hedgerow.privacy.ledger import announcing, growth_walk, transaction
from hedgerow.privacy.ledger.entry import YEARS, Growth
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.privacy.ledger.profile import Profile
from hedgerow.privacy.ledger.receipt import verify_export
from hedgerow.privacy.raising import least


def made(growing: str = "confined", blocks: int = 3, **more) -> Ledger:
    ledger = Ledger.open(":memory:", budget=Budget(epsilon=1), growth=Growth(growing, **more))
    for number in range(1, blocks + 1):
        ledger.announce(f"2026-01-{number:02d}", "day", b"state", number)
    return ledger


def eps(amount: str) -> Cost:
    return Cost("epsilon", Fraction(amount))


def says() -> tuple[bytes, None]:
    return b"said", None


def test_a_profile_is_the_sum_over_ranges_cell_by_cell():
    """Against a plain dictionary, for random charges and returns."""
    random = Random(1)
    profile, plain = Profile("epsilon", 1, 9), dict.fromkeys(range(1, 15), Fraction(0))
    paid: list[tuple[tuple[int, int | None], Cost]] = []
    for _ in range(120):
        if paid and random.random() < 0.4:
            scope, cost = paid.pop(random.randrange(len(paid)))
            profile, sign = profile.charged(scope, cost, back=True), -1
        else:
            low = random.randint(1, 12)
            scope = (low, random.choice([None, random.randint(low, 13)]))
            cost, sign = eps(f"{random.randint(1, 5)}/7"), 1
            paid.append((scope, cost))
            profile = profile.charged(scope, cost)
        for cell in plain:
            if scope[0] <= cell and (scope[1] is None or cell <= scope[1]):
                plain[cell] += sign * cost.amount
        assert {cell: profile.at(cell).amount for cell in plain} == plain
        assert profile.most().amount == max(plain.values())
        assert profile.most((3, 7)).amount == max(plain[cell] for cell in range(3, 8))
        assert Profile.from_json(profile.to_json(), "epsilon") == profile


def test_confined_blocks_have_the_whole_budget_each_and_the_total_is_the_largest():
    ledger = made()
    for number in (1, 2, 3):
        ledger.allot(f"block {number}", eps("1"), scope=(number, number))
    assert ledger.spent() == eps("1")
    with pytest.raises(BudgetExceeded):
        ledger.allot("more", eps("1/8"), scope=(2, 3))
    assert ledger.verify().ok


def test_a_question_over_a_range_is_charged_to_each_block_once():
    ledger = made()
    ledger.allot("range", eps("1/4"), scope=(2, 3))
    assert [ledger.charged(b).amount for b in (1, 2, 3)] == [0, Fraction(1, 4), Fraction(1, 4)]
    ledger.charge(Pure("1/8"), says, account="range")
    ledger.settle("range")
    assert [ledger.charged(b).amount for b in (1, 2, 3)] == [0, Fraction(1, 8), Fraction(1, 8)]
    assert ledger.verify().ok


def test_shared_blocks_add_up():
    ledger = made("shared")
    ledger.charge(Pure("1/2"), says)
    ledger.charge(Pure("1/2"), says)
    with pytest.raises(BudgetExceeded):
        ledger.charge(Pure("1/8"), says)
    assert ledger.verify().ok


def test_a_charge_without_a_range_is_made_to_every_block_that_there_is():
    ledger = made()
    ledger.charge(Pure("1/2"), says)
    ledger.announce("2026-02-01", "day", b"", 4)
    assert ledger.charged(1) == ledger.charged(3) == eps("1/2")
    assert ledger.charged(4).is_zero
    assert ledger.remaining(scope=(4, 4)) == eps("1")


def test_blocks_to_come_begin_with_what_was_already_charged_to_them():
    ledger = made(blocks=1)
    ledger.allot("totals", eps("1/2"), scope=(1, 30))
    ledger.announce("2026-02-01", "day", b"", 2)
    assert ledger.remaining(scope=(2, 2)) == eps("1/2")


def test_growing_data_under_replace_are_refused():
    with pytest.raises(ValueError, match="a swap would change two blocks"):
        Ledger.open(":memory:", budget=Budget(epsilon=1), neighbours="replace", growth=Growth())


@pytest.mark.parametrize(
    ("name", "by", "number", "words"),
    [
        ("2026-01-02", "day", 4, "already"),
        ("2025-12-31", "day", 4, "rows that come late"),
        ("2026-02-30", "day", 4, "a day such as"),
        ("later.csv", "file", 3, "one after the other"),
        ("later.csv", "file", 5, "one after the other"),
    ],
)
def test_a_block_is_appended_at_the_end_or_not_at_all(name, by, number, words):
    ledger = made()
    with pytest.raises(LedgerError, match=words):
        ledger.announce(name, by, b"", number)
    assert len(ledger.blocks()) == 3
    assert ledger.verify().ok


def test_what_was_seen_and_lost_ends_charging_side_by_side_for_good():
    ledger = made()
    ledger.allot("one", eps("1/2"), scope=(1, 1))
    ledger.end_parallel("the ledger was restored")
    ledger.allot("two", eps("1/4"), scope=(2, 2))
    assert [ledger.charged(b) for b in (1, 2, 9)] == [eps("3/4"), eps("1/4"), eps("1/4")]
    ledger.announce("2026-02-01", "day", b"", 4)
    with pytest.raises(BudgetExceeded):
        ledger.allot("three", eps("1/2"), scope=(4, 4))
    assert "lost" in ledger.lifetime()
    assert ledger.verify().ok


def test_an_account_is_for_its_own_blocks():
    ledger = made()
    ledger.allot("one", eps("1/2"), scope=(1, 2))
    ledger.refuse_outside("one", (2, 2))
    with pytest.raises(LedgerError, match="for blocks 1 to 2, not for 2 to 3"):
        ledger.refuse_outside("one", (2, 3))
    with pytest.raises(LedgerError, match="not for those blocks"):
        ledger.allot("child", eps("1/8"), parent="one", scope=(2, 3))
    ledger.allot("child", eps("1/8"), parent="one", scope=(2, 2))
    assert ledger.verify().ok


def test_years_have_allowances_of_their_own_and_a_declared_number_of_them():
    ledger = Ledger.open(":memory:", budget=Budget(epsilon=1), growth=Growth("yearly", 2))
    ledger.announce("2025-12-31", "day", b"", 1)
    ledger.announce("2026-01-01", "day", b"", 2)
    ledger.allot("old", eps("1"), scope=(2025, 2025))
    ledger.allot("new", eps("1"), scope=(2026, 2026))
    assert "over the 2 declared years it is epsilon 2" in ledger.lifetime()
    with pytest.raises(LedgerError, match="declared for rows of 2 years"):
        ledger.announce("2027-01-01", "day", b"", 3)
    assert ledger.verify().ok


def test_without_a_number_of_years_there_is_no_lifetime_promise():
    assert "no lifetime promise" in made("yearly").lifetime()


def altered(ledger: Ledger, **fields) -> str:
    """What verifying says of the export with its last line's fields changed (chain faults are beside it)."""
    export = ledger.export()
    export["entries"][-1]["line"] |= fields
    return verify_export(export).describe()


def test_verifying_finds_charges_that_leave_blocks_out():
    ledger = made()
    ledger.charge(Pure("1/2"), says)
    line = ledger.export()["entries"][-1]["line"]
    assert "not charged to every block" in altered(ledger, scope=[1, 2])
    none = {"cells": [1, 3], "ended": False, "steps": []}
    assert "does not follow from the lines before" in altered(ledger, profile=none)
    assert "which blocks it is for" in altered(ledger, scope=None)
    shared = made("shared")
    shared.charge(Pure("1/2"), says)
    assert "not made so" in altered(shared, profile=line["profile"])


def test_verifying_finds_a_block_that_was_slipped_in():
    ledger = made()
    details = {"number": 3, "name": "2025-12-01", "by": "day", "year": 2025}
    assert "come late" in altered(ledger, details=details)
    assert "one after the other" in altered(ledger, details=details | {"number": 2})


def test_the_walk_is_what_finds_them(monkeypatch):
    monkeypatch.setattr(growth_walk.GrowthWalk, "fault", lambda *_: None)
    ledger = made()
    ledger.charge(Pure("1/2"), says)
    assert "every block" not in altered(ledger, scope=[1, 2])


def test_earlier_versions_refuse_a_ledger_of_growing_data_by_its_format():
    assert made().settings.to_json()["format"] == 2
    assert Ledger.open(":memory:", budget=Budget(epsilon=1)).settings.to_json()["format"] == 1


def test_a_ledger_that_does_not_grow_says_nothing_of_blocks():
    ledger = Ledger.open(":memory:", budget=Budget(epsilon=1))
    ledger.charge(Pure("1/2"), says)
    for entry in ledger.export()["entries"]:
        assert not {"profile", "scope"} & entry["line"].keys()
        assert "growing" not in entry["line"]["details"]
    with pytest.raises(LedgerError, match="not made for growing data"):
        ledger.announce("2026-01-01", "day", b"", 1)


def test_an_account_of_some_blocks_is_given_nothing_more_after_what_was_seen_was_lost():
    ledger = made()
    with ledger.transaction() as together:
        together.limit("ann", eps("1"))
    ledger.charge(Pure("1/8"), says, account="ann")
    assert ledger.charged(1) == eps("1/8")
    ledger.end_parallel("the ledger was restored")
    with pytest.raises(LedgerError, match="nothing is charged to some of them alone"):
        ledger.charge(Pure("1/8"), says, account="ann")
    assert ledger.verify().ok


def test_a_raised_budget_is_every_blocks():
    ledger = Ledger.open(":memory:", budget=Budget(epsilon=1, delta=1e-9), growth=Growth())
    for number in (1, 2):
        ledger.announce(f"2026-01-{number:02d}", "day", b"", number)
        ledger.allot(f"block {number}", ledger.remaining(scope=(number, number)), scope=(number, number))
    ledger.raise_budget(Budget(epsilon=3, delta=1e-8), "more questions")
    left = [ledger.remaining(scope=(n, n)).amount for n in (1, 2)]
    assert left[0] == left[1] > 0
    assert ledger.verify().ok


def test_the_lifetime_of_a_raised_budget_is_read_at_orders_that_were_fixed_before():
    """The formula of a fixed cap says 57.16 for 5 years; the theorem on raises gives 58.44."""
    ledger = Ledger.open(":memory:", budget=Budget(rho=1, delta=1e-6), growth=Growth("yearly", 5))
    ledger.announce("2026-01-01", "day", b"", 1)
    ledger.charge(Pure("1/8"), says)
    ledger.raise_budget(Budget(epsilon=20, delta=2e-6), "a second wave")
    true = least(Budget(rho=1, delta=1e-6), ledger.budget, 5 * ledger.budget.cost.amount)
    assert epsilon_of(5 * ledger.budget.cost.amount, ledger.budget.conversion_delta) < float(true)
    assert f"over the 5 declared years it is epsilon {float(true):.4g}" in ledger.lifetime()


def test_years_are_raised_for_a_reason_in_a_line_of_their_own():
    ledger = Ledger.open(":memory:", budget=Budget(epsilon=1), growth=Growth("yearly", 1))
    ledger.announce("2026-01-01", "day", b"", 1)
    ledger.charge(Pure("1/8"), says)
    early = ledger.receipt()
    with pytest.raises(LedgerError, match="declared for rows of 1 years"):
        ledger.announce("2027-01-01", "day", b"", 2)
    for years, reason, why in ((3, " ", "reason"), (1, "less", "only raised"), (True, "why", "whole number")):
        with pytest.raises(LedgerError, match=why):
            ledger.raise_years(years, reason)
    ledger.raise_years(3, "the registry goes on")
    ledger.announce("2027-01-01", "day", b"", 2)
    assert "over the 3 declared years it is epsilon 3" in ledger.lifetime()
    assert ledger.settings.years == 3
    assert [e.note for e in ledger.replay(YEARS)] == ["the registry goes on"]
    for receipt in (None, early, ledger.receipt()):
        assert ledger.verify(receipt).ok
    assert not replay(ledger).problems


def test_years_are_raised_where_years_have_allowances_only():
    for growing in ("confined", "shared"):
        ledger = Ledger.open(":memory:", budget=Budget(epsilon=1), growth=Growth(growing))
        with pytest.raises(LedgerError, match="yearly"):
            ledger.raise_years(3, "why")


def test_years_that_are_raised_after_answers_are_read_at_orders_that_were_fixed_before():
    """A number of years is a cap on their sum, and chosen in view of answers as a raised budget is."""
    base = Budget(rho=1, delta=1e-6)
    ledger = Ledger.open(":memory:", budget=base, growth=Growth("yearly", 2))
    ledger.raise_years(3, "before anything was paid for it is a first promise")
    assert f"3 declared years it is epsilon {epsilon_of(3, base.conversion_delta):.4g}" in ledger.lifetime()
    ledger.announce("2026-01-01", "day", b"", 1)
    ledger.charge(Pure("1/8"), says)
    ledger.raise_years(5, "the registry goes on")
    true = least(base, Budget(rho=1, delta=2e-6), Fraction(5))
    assert epsilon_of(5, base.conversion_delta) < float(true)
    delta = float(2 * base.delta_exact + 4 * base.event_delta)
    said = f"over the 5 declared years it is epsilon {float(true):.4g}, delta {small(delta)}"
    assert said in ledger.lifetime()
    assert ledger.budget.promises(base)  # what a year's rows are promised stays


def test_a_number_of_years_that_was_lowered_or_raised_without_a_reason_is_found(monkeypatch):
    ledger = Ledger.open(":memory:", budget=Budget(epsilon=1), growth=Growth("yearly", 5))
    monkeypatch.setattr(announcing, "refused_years", lambda *_: None)
    ledger.raise_years(2, "")
    assert not ledger.verify().ok
    assert any("raises no number of years" in problem for problem in replay(ledger).problems)


def test_a_day_is_never_before_one_that_was_appended(monkeypatch):
    monkeypatch.setattr(transaction, "_now", lambda: "2026-06-01T00:00:00Z")
    ledger = made(blocks=0)
    ledger.announce("2026-01-03", "day", b"", 1)
    ledger.announce("a.csv", "file", b"", 2)
    with pytest.raises(LedgerError, match="rows that come late"):
        ledger.announce("2026-01-02", "day", b"", 3)
