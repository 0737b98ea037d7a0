"""How a reply reads: numbers with their errors, by their groups."""

from __future__ import annotations

import numpy as np

import hedgerow as hr
from hedgerow.queries.reply import Reply

DOMAIN = hr.Domain({"sex": ["F", "M"], "age": hr.bins(0, 100, 10)})


def test_a_reply_says_every_number_with_its_error_by_its_group():
    rows = {"sex": ["F", "M"] * 40, "age": list(range(80))}
    table = hr.Table.open(rows, DOMAIN)
    curator = hr.Curator(table, hr.Budget(4), ":memory:", entropy=hr.testing.seeded(1))
    said = repr(curator.measure("SELECT sex, COUNT(*) FROM t GROUP BY sex", 1).reply())
    assert said.startswith("Reply(F: ")
    assert "; M: " in said
    assert "array" not in said
    assert "Show" not in said
    one = repr(curator.measure("SELECT COUNT(*) FROM t WHERE age >= 50", 1).reply())
    assert one.count("±") == 1


def test_many_numbers_are_told_in_part():
    said = repr(Reply(np.arange(40.0), np.ones(40)))
    assert said.count("±") == 12
    assert said.endswith("; and 28 more)")
