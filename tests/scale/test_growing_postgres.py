"""Data that grow with their ledger in PostgreSQL: the same lines, charges and refusals as in a file."""

from __future__ import annotations

import os

import pytest

import hedgerow as hr
from hedgerow.errors import BudgetExceeded, DataChanged, LedgerError
from hedgerow.privacy.ledger.url import LedgerUrl
from hedgerow.testing import seeded

pytestmark = pytest.mark.xdist_group("postgres")

DOMAIN = hr.Domain({"sex": ["F", "M"]})


def lived(folder, ledger) -> tuple[list[float], list[float], list[str]]:
    """Three blocks and some questions; what was released, what each block was charged, and the lines."""
    growing = hr.Growing.make(
        folder, DOMAIN, hr.Budget(epsilon=2), unit="id", max_rows=1, ledger=ledger, reserve="1/4"
    )
    released = []
    for day in range(1, 4):
        ids = list(range(10 * day, 10 * day + 20))
        growing.append({"id": ids, "sex": ["F", "M"] * 10}, day=f"2026-01-0{day}")
        growing.ledger.close()
        growing = hr.Growing.open(folder, DOMAIN, ledger=ledger)  # what was seen is in the ledger
        with seeded(day), growing.range(day, spend=1) as curator:
            released += curator.measure(("sex",)).counts.tolist()
    with seeded(9), growing.range(1, 3, spend="1/2") as curator:
        released += curator.measure(("sex",)).counts.tolist()
    with pytest.raises(LedgerError, match="late"):
        growing.append({"id": [1], "sex": ["F"]}, day="2025-12-31")
    with pytest.raises(BudgetExceeded), growing.range(1, 2, spend=1):
        pass
    kinds = [entry.kind for entry in growing.ledger.replay(None)]
    spent = [float(growing.ledger.charged(block).amount) for block in (1, 2, 3)]
    assert growing.ledger.verify().ok
    growing.ledger.close()
    return released, spent, kinds


def test_blocks_are_charged_in_postgresql_as_in_a_file(postgres, tmp_path):
    url = LedgerUrl.of(postgres.url(f"grown{os.getpid()}"))
    here = lived(tmp_path / "file", None)
    there = lived(tmp_path / "database", url)
    assert here == there
    assert here[1] == [1.5, 1.5, 1.5]


def test_a_run_over_all_blocks_does_not_go_on_with_more_of_them(tmp_path):
    growing = hr.Growing.make(tmp_path / "people", DOMAIN, hr.Budget(epsilon=2))
    growing.append({"sex": ["F"] * 9}, day="2026-01-01")
    hr.Session(epsilon=1, name="all").open(growing.curator()).close()
    growing.append({"sex": ["F"] * 9}, day="2026-01-02")
    with pytest.raises(DataChanged, match="blocks were appended"):
        hr.Session(epsilon=1, name="all").open(growing.curator())
