"""How a budget was used up, and how long it lasts, by its ledger's lines alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import hedgerow as hr
from hedgerow.privacy.event import Pure
from hedgerow.privacy.ledger.entry import Entry
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.service.burn import Burn, pace

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_parts_add_up_to_what_is_spent_and_rise():
    domain = hr.Domain({"sex": ["F", "M"]})
    table = hr.Table.open({"sex": ["F", "M"] * 50}, domain)
    curator = hr.Curator(table, hr.Budget(epsilon=2, delta=1e-9), ":memory:", entropy=hr.testing.seeded(1))
    for epsilon in (0.5, 0.3):
        hr.GaussianBaseline(epsilon=epsilon).release(curator, hr.marginals(domain, 1))
    burn = Burn.of(curator.ledger)
    parts = [part for _, _, part in burn.points]
    assert parts == sorted(parts)
    assert parts[0] == 0
    whole, spent = curator.ledger.budget, curator.ledger.spent()
    assert parts[-1] == pytest.approx(float(spent.amount) / float(whole.cost.amount))
    assert burn.points[-1][1] == pytest.approx(whole.part(spent).epsilon)
    assert burn.lasts is None  # a second is no pace
    assert [set(item) for item in burn.to_json()] == [{"time", "epsilon", "part"}] * len(parts)


def test_the_pace_so_far_says_when_it_ends():
    hour = timedelta(hours=1)
    points = ((NOON, 0.0), (NOON + hour, 0.1), (NOON + 2 * hour, 0.2))
    assert pace(points, 0.4, NOON + 4 * hour) == NOON + 12 * hour
    assert pace(points, 0.0, NOON + 4 * hour) is None
    assert pace(points[:1], 0.4, NOON + 4 * hour) is None
    assert pace(points, 0.4, NOON + timedelta(minutes=5)) is None
    assert pace(points, 1e9, NOON + 4 * hour) is None


def test_a_long_ledger_is_read_at_a_few_lines(monkeypatch):
    ledger = Ledger.open(":memory:", budget=hr.Budget(epsilon=1))
    for _ in range(500):
        ledger.charge(Pure("1/5000"), lambda: (b"", None))
    read = []
    monkeypatch.setattr(Entry, "read", lambda line, read_one=Entry.read: read.append(line) or read_one(line))
    monkeypatch.setattr(Ledger, "export", None)
    parts = [part for _, _, part in Burn.of(ledger).points]
    assert len(read) < 130
    assert len(parts) == 121
    assert parts[0] == 0
    assert parts[-1] == pytest.approx(0.1)
    assert parts == sorted(parts)
