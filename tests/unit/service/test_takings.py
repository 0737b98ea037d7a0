"""Who took which part of a budget, and when, by the ledger's lines alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import hedgerow as hr
from hedgerow.service import accounts
from hedgerow.service.takings import Takings


@pytest.fixture
def ledger():
    domain = hr.Domain({"sex": ["F", "M"]})
    table = hr.Table.open({"sex": ["F", "M"] * 50}, domain)
    curator = hr.Curator(table, hr.Budget(epsilon=2, delta=1e-9), ":memory:", entropy=hr.testing.seeded(1))
    for epsilon in (0.5, 0.3):
        hr.GaussianBaseline(epsilon=epsilon).release(curator, hr.marginals(domain, 1))
    accounts.limit(curator.ledger, "ann", 0.5)
    return curator.ledger


HOUR = timedelta(hours=1)


@pytest.mark.parametrize("later", [0 * HOUR, 5 * HOUR, 28 * HOUR, 960 * HOUR, 9_000 * HOUR, 200_000 * HOUR])
def test_shares_add_up_to_what_is_spent_whenever_one_looks(ledger, later):
    now = datetime.now(UTC) + later
    found = Takings.of(ledger, now)
    spent = float(ledger.spent().amount) / float(ledger.budget.cost.amount)
    assert sum(share.total for share in found.shares) == pytest.approx(spent, rel=1e-9)
    assert all(len(share.parts) == len(found.starts) for share in found.shares)
    assert 1 <= len(found.starts) <= 11
    assert found.starts[-1] <= now < found.starts[-1] + found.length
    assert len({found.words(start) for start in found.starts}) == len(found.starts)


def test_a_clock_that_was_set_back_and_forth_moves_no_share(ledger, monkeypatch):
    whole = ledger.export()
    entries = [entry | {"line": dict(entry["line"])} for entry in whole["entries"]]
    for i, entry in enumerate(entries):
        entry["line"]["time"] = f"20{26 + (i % 3) - 1}-01-01T00:00:00Z"
    monkeypatch.setattr(ledger, "export", lambda: whole | {"entries": entries})
    found = Takings.of(ledger, datetime(2026, 1, 1, tzinfo=UTC))
    spent = float(ledger.spent().amount) / float(ledger.budget.cost.amount)
    assert sum(share.total for share in found.shares) == pytest.approx(spent, rel=1e-9)
    assert found.starts[0] <= datetime(2025, 1, 1, tzinfo=UTC)


def test_a_ledger_that_grows_meanwhile_is_read_once(ledger, monkeypatch):
    whole, looks = ledger.export(), []

    def export():
        looks.append(1)
        shown = len(whole["entries"]) - 2 + len(looks)  # somebody writes a line between two looks
        return whole | {"entries": whole["entries"][:shown]}

    monkeypatch.setattr(ledger, "export", export)
    assert Takings.of(ledger).shares
    assert len(looks) == 1


def test_the_largest_comes_first_and_who_took_nothing_is_not_there(ledger):
    totals = [share.total for share in Takings.of(ledger).shares]
    assert totals == sorted(totals, reverse=True)
    assert all(totals)
    assert "ann" not in [share.name for share in Takings.of(ledger).shares]
