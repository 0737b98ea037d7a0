"""Ledgers of growing data that are put back: every loss is noticed, and what was lost is not spent again."""

from __future__ import annotations

import json

import pytest

import hedgerow as hr
from hedgerow.audit.ledger_replay import replay
from hedgerow.errors import BudgetExceeded, LedgerError

DOMAIN = hr.Domain({"sex": ["F", "M"]})
MODES = ["confined", "shared", "yearly"]


def rows(*ids: int) -> dict:
    return {"id": list(ids), "sex": ["F" for _ in ids]}


@pytest.fixture
def made(tmp_path):
    """Data of one block with a budget of 1; their ledger is closed."""

    def make(mode: str):
        growing = hr.Growing.make(
            tmp_path / "people", DOMAIN, hr.Budget(epsilon=1), growing=mode, unit="id", max_rows=2
        )
        growing.append(rows(1), day="2026-01-01")
        growing.ledger.close()
        return tmp_path

    return make


def opened(folder, why: str | None = None) -> hr.Growing:
    return hr.Growing.open(folder / "people", DOMAIN, older_than_receipt=why)


def raised(folder, epsilon: int) -> None:
    with hr.Ledger.open(folder / "people.hedgerow.db") as ledger:
        ledger.raise_budget(hr.Budget(epsilon=epsilon), "more answers are worth it")


def lost(folder, act, *, receipts: bool) -> None:
    """Do something, then put the ledger back that does not know of it."""
    ledger = folder / "people.hedgerow.db"
    old = ledger.read_bytes()
    growing = opened(folder)
    act(growing)
    growing.ledger.close()
    for file in folder.glob("people.hedgerow.db*"):
        file.unlink()
    ledger.write_bytes(old)
    for file in () if receipts else (folder / "people.hedgerow.cache").iterdir():
        file.unlink()


def append_and_raise(growing: hr.Growing) -> None:
    """What a budget of 1 cannot have paid for: another block, a raise to 5, and all of it spent."""
    growing.append(rows(2), day="2026-01-02")
    growing.ledger.raise_budget(hr.Budget(epsilon=5), "more answers are worth it")
    with growing.range(1, 2, spend=5) as curator:
        curator.measure(("sex",))


@pytest.mark.parametrize("mode", MODES)
def test_a_receipt_that_tells_of_more_than_the_old_budget_binds_where_files_told_of_the_loss(made, mode):
    folder = made(mode)
    lost(folder, append_and_raise, receipts=True)
    for _ in range(2):
        with pytest.raises(BudgetExceeded, match="what lost lines spent is set aside first"):
            opened(folder, "the disk was lost")
    raised(folder, 5)
    again = opened(folder, "the disk was lost")
    assert again.left().cost.amount == 0
    again.ledger.close()
    raised(folder, 6)
    again = opened(folder)
    assert again.left().cost.amount == 1
    assert again.ledger.verify().ok
    assert not replay(again.ledger).problems


@pytest.mark.parametrize("mode", MODES)
def test_a_receipt_that_turns_up_later_binds_what_was_spent_since(made, mode):
    """Files told of the loss, the budget was raised and spent; then a copy of the receipt is found."""
    folder = made(mode)
    lost(folder, append_and_raise, receipts=True)
    note = folder / "people.hedgerow.cache" / "receipt.json"
    receipt = note.read_bytes()
    note.unlink()
    opened(folder).ledger.close()
    raised(folder, 5)
    growing = opened(folder)
    for _ in range(4):
        growing.curator().measure(("sex",), 1)
    growing.ledger.close()
    assert hr.Ledger.open(folder / "people.hedgerow.db").newest >= json.loads(receipt)["seq"]
    note.write_bytes(receipt)
    with pytest.raises(BudgetExceeded):
        opened(folder, "the disk was lost")
    raised(folder, 9)  # 5 were spent by lines that are lost, 4 since
    assert opened(folder, "the disk was lost").left().cost.amount == 0


@pytest.mark.parametrize("people", [(2,), (3, 4)])  # the same rows once more, and others
@pytest.mark.parametrize("receipts", [True, False])
def test_files_of_blocks_tell_of_a_second_loss(made, receipts, people):
    folder = made("shared")
    lost(folder, lambda growing: growing.append(rows(2), day="2026-01-02"), receipts=receipts)
    opened(folder, "the disk was lost" if receipts else None).ledger.close()
    raised(folder, 2)
    (folder / "people" / "block-000002.parquet").rename(folder / "lost.parquet")
    with_block = opened(folder)
    assert with_block.left().cost.amount == 1  # the first loss is counted once
    with_block.ledger.close()
    lost(folder, lambda growing: growing.append(rows(*people), day="2026-01-02"), receipts=False)
    again = opened(folder)
    assert again.left().cost.amount == 0
    assert again.ledger.verify().ok


def test_whatever_is_charged_through_growing_data_is_noted_beside_them(made):
    folder = made("shared")
    note = folder / "people.hedgerow.cache" / "receipt.json"

    def measured(growing: hr.Growing) -> None:
        growing.curator().measure(("sex",), "0.5")
        assert json.loads(note.read_text())["seq"] == growing.ledger.newest
        growing.curator().allot("0.25", "ann").measure(("sex",), "0.125")
        assert json.loads(note.read_text())["seq"] == growing.ledger.newest

    lost(folder, measured, receipts=True)
    with pytest.raises(LedgerError, match="older than what was charged"):
        opened(folder)
    assert opened(folder, "the disk was lost").left().cost.amount <= 1 - 0.625
