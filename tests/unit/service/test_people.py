"""People's accounts on data that grow: one limit for all of them, and none for whoever was settled."""

from __future__ import annotations

import pytest

import hedgerow as hr
from hedgerow.errors import HedgerowError, LedgerError, LimitExceeded
from hedgerow.service import accounts, people
from hedgerow.service.people import account_for, accounts_of, begin_account, spent_by


@pytest.fixture
def growing() -> hr.Growing:
    domain = hr.Domain({"sex": ["F", "M"]})
    made = hr.Growing.make(":memory:", domain, hr.Budget(epsilon=10), unit="id", max_rows=1)
    append(made)
    return made


def append(growing: hr.Growing) -> None:
    number = len(growing.blocks) + 1
    growing.append({"id": [2 * number, 2 * number + 1], "sex": ["F", "M"]}, day=f"2026-01-{number:02}")


def payer(growing: hr.Growing, name: str):
    curator = growing.curator()
    return curator.child(account_for(growing.ledger, name, curator.scope))


@pytest.mark.parametrize("later", ["1", None])
def test_whoever_still_holds_an_earlier_account_spends_no_more_than_the_limit(growing, later):
    ledger = growing.ledger
    accounts.limit(ledger, "ann", "1")
    before = payer(growing, "ann")  # as a second server has it, or a list of questions under way
    before.measure(("sex",), "0.4")
    if later is None:
        accounts.limit(ledger, "ann", None)
    append(growing)
    payer(growing, "ann").measure(("sex",), "0.6")
    accounts.limit(ledger, "ann", "1")
    with pytest.raises(LimitExceeded):
        before.measure(("sex",), "0.1")
    assert accounts_of(ledger, "ann") == ["ann", "ann#2"]
    assert spent_by(ledger, "ann").amount == 1
    assert ledger.verify().problems == ()


def test_blocks_that_come_later_give_nothing_to_whoever_was_settled(growing):
    ledger = growing.ledger
    accounts.limit(ledger, "ann", "1")
    accounts.settle(ledger, "ann")
    append(growing)
    with pytest.raises(LedgerError):
        payer(growing, "ann").measure(("sex",), "0.1")
    assert accounts_of(ledger, "ann") == ["ann"]
    assert accounts.part_of(ledger, "ann").closed


def test_an_account_is_gone_on_from_once_whoever_asks_first(growing):
    ledger = growing.ledger
    accounts.limit(ledger, "ann", None)
    append(growing)
    scope = growing.curator().scope
    assert [account_for(ledger, "ann", scope) for _ in range(3)] == ["ann#2"] * 3
    append(growing)
    assert account_for(ledger, "ann", growing.curator().scope) == "ann#3"


def test_a_further_account_is_nobodys_name(growing):
    ledger = growing.ledger
    accounts.limit(ledger, "ann", "1")
    payer(growing, "ann").measure(("sex",), "0.5")
    append(growing)
    assert payer(growing, "ann").account == "ann#2"
    for act in (accounts.part_of, accounts.settle, lambda held, name: accounts.limit(held, name, "9")):
        with pytest.raises(HedgerowError):
            act(ledger, "ann#2")
    with pytest.raises(LimitExceeded):
        payer(growing, "ann").measure(("sex",), "0.6")


def test_of_two_processes_at_once_one_opens_the_further_account(growing, monkeypatch):
    ledger = growing.ledger
    accounts.limit(ledger, "ann", "1")
    append(growing)
    scope, look, lines = growing.curator().scope, people._paying, []

    def late(held, name, blocks):
        """The other process opens it after this one has looked."""
        if not lines:
            lines.append(None)
            assert account_for(held, name, blocks) == "ann#2"
            lines[:] = [held.newest]
            return None
        return look(held, name, blocks)

    monkeypatch.setattr(people, "_paying", late)
    assert account_for(ledger, "ann", scope) == "ann#2"
    assert ledger.newest == lines[0]
    assert ledger.remaining("ann#2").amount == 1


def test_a_limit_that_was_set_meanwhile_stays_when_an_account_is_opened(growing):
    ledger = growing.ledger
    accounts.limit(ledger, "ann", "1")  # after a server looked whether there is one, and before it opened it
    begin_account(ledger, "ann")
    with pytest.raises(LimitExceeded):
        payer(growing, "ann").measure(("sex",), "1.1")
    begin_account(ledger, "bob")
    payer(growing, "bob").measure(("sex",), "1.1")
