"""Ledgers that went elsewhere and came back, and ledgers under two names: no charge is taken back."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hedgerow.errors import LedgerError
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.event import Pure
from hedgerow.privacy.ledger.failure import failure
from hedgerow.privacy.ledger.ledger import Ledger

BUDGET = Budget(epsilon=1)
STEP = Pure("1/1000000")


def says() -> tuple[bytes, None]:
    return os.urandom(200), None


def spent(path: Path) -> int:
    """How many charges a ledger holds."""
    with Ledger.open(path, create=False) as ledger:
        return int(ledger.spent().amount * 10**6)


def killed(path: Path) -> None:
    """A ledger with one charge whose process was killed: its log and the log's index are left."""
    with Ledger.open(path, budget=BUDGET) as ledger:
        ledger.charge(STEP, says)
        left = {side: Path(f"{path}{side}").read_bytes() for side in ("-wal", "-shm")}
    for side, content in left.items():
        Path(f"{path}{side}").write_bytes(content)


@pytest.mark.parametrize("charges", [1, 2, 8, 60])
@pytest.mark.parametrize("back", [os.rename, shutil.copyfile])
def test_a_log_that_was_left_at_a_place_does_not_take_back_what_was_charged_at_another(
    tmp_path: Path, charges: int, back: Callable[[Path, Path], Any]
) -> None:
    here, there = tmp_path / "a.db", tmp_path / "b.db"
    killed(here)
    (os.rename if back is os.rename else shutil.copyfile)(here, there)
    with Ledger.open(there, create=False) as ledger:
        for _ in range(charges):
            ledger.charge(STEP, says)
    back(there, here)
    for readonly in (False, True):
        with pytest.raises(LedgerError, match=r"older than the ledger.*move it away"):
            Ledger.open(here, create=False, readonly=readonly)
    os.rename(f"{here}-wal", tmp_path / "away")
    assert spent(here) == charges + 1


def test_a_ledger_under_two_names_is_read_and_not_written(tmp_path: Path) -> None:
    """Each name has a log of its own: used at once, each would spend the budget."""
    names = tmp_path / "a.db", tmp_path / "b.db"
    with Ledger.open(names[0], budget=BUDGET) as ledger:
        ledger.charge(STEP, says)
        os.link(*names)
        for name in names:
            with pytest.raises(LedgerError, match=r"second name .* remove all names but one\.$"):
                Ledger.open(name, create=False)
    for name in names:
        with Ledger.open(name, create=False, readonly=True) as ledger:
            assert ledger.spent().amount == Fraction(1, 10**6)
    names[0].unlink()
    assert spent(names[1]) == 1


def test_a_ledger_whose_maker_was_killed_before_it_removed_the_draft_goes_on(tmp_path: Path) -> None:
    path, draft, other = tmp_path / "l.db", tmp_path / ".l.db.0123.new", tmp_path / ".l.db.4567.new"
    Ledger.open(path, budget=BUDGET).close()
    os.link(path, draft)
    other.write_bytes(b"")  # somebody is making one
    assert spent(path) == 0
    assert not draft.exists()
    assert other.exists()


def test_looking_at_a_log_drops_no_lock_of_a_ledger_that_is_open_in_this_process(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    with Ledger.open(path, budget=BUDGET) as ledger:
        ledger.charge(STEP, says)
        Ledger.open(path, create=False).close()
        Ledger.open(path, create=False, readonly=True).close()
        ends = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('SELECT 1 FROM entry').fetchall()"
        subprocess.run([sys.executable, "-c", ends, str(path)], check=True)
        assert Path(f"{path}-wal").exists()  # the last one out removes it, and that one was not
        ledger.charge(STEP, says)
    assert spent(path) == 2


@pytest.mark.parametrize("folder", [True, False])
def test_no_ledger_is_made_where_a_link_leads_nowhere(tmp_path: Path, folder: bool) -> None:
    """Its disk may be away: a ledger made in its place would hide it, or be hidden."""
    disk, link = tmp_path / "disk", tmp_path / "l.db"
    if folder:
        disk.mkdir()
    link.symlink_to(disk / "kept.db")
    with pytest.raises(LedgerError, match=r"no ledger at .*kept\.db"):
        Ledger.open(link, budget=BUDGET)
    disk.mkdir(exist_ok=True)
    assert not list(disk.iterdir())
    Ledger.open(disk / "kept.db", budget=BUDGET).close()
    assert spent(link) == 0


def test_a_receipt_of_a_line_that_no_ledger_has_is_not_known(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "l.db", budget=BUDGET) as ledger:
        receipt = ledger.receipt()
        assert ledger.knows(receipt)
        for seq in (1, 10**30, -1, -(10**30)):
            assert not ledger.knows(replace(receipt, seq=seq))


def test_a_log_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    Ledger.open(path, budget=BUDGET).close()
    Path(f"{path}-wal").mkdir()
    with pytest.raises(LedgerError, match=r"The file .*l\.db-wal cannot be read"):
        Ledger.open(path, create=False, readonly=True)


@pytest.mark.parametrize("free", [0, 1 << 30])
def test_a_full_disk_is_called_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR | 19 << 8  # the log's index could not grow
    usage = shutil.disk_usage(tmp_path)._replace(free=free)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    said = str(failure(error, tmp_path / "l.db", "It cannot be used"))
    assert ("no space is left on its disk" in said) == (not free)
