"""What a column's far end costs its averages is said to the owner, with the end that would do."""

from __future__ import annotations

import numpy as np
import pandas as pd

from hedgerow.curator.drafting.inspector import Inspector
from hedgerow.curator.drafting.tails import Tail
from hedgerow.service.inspecting import owner_notes

EDGES = [0, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000]


def spend(n=8000):
    return np.sort(np.exp(np.random.default_rng(1).normal(6, 1.2, n)))


def test_a_range_that_few_rows_stretch_is_told_with_the_edge_that_averages_are_better_with():
    found = Tail.of(EDGES, spend(), 8000)
    assert found is not None
    assert found.upper
    assert found.shorter in (5000, 10_000)
    assert found.left + found.taken < found.off / 2.5
    assert found.off == (100_000 - np.median(spend())) * 40 / 8000
    clamped = np.minimum(spend(), found.shorter)
    assert np.isclose(found.taken, spend().mean() - clamped.mean())
    assert "AVG(cost)" in found.words("cost")


def test_a_tail_on_the_lower_side_is_told_alike():
    edges = sorted(-e for e in EDGES)
    found = Tail.of(edges, np.sort(-spend()), 8000)
    assert found is not None
    assert not found.upper
    assert found.shorter in (-5000, -10_000)


def test_a_range_that_rows_fill_is_not_mentioned():
    even = np.linspace(0, 99, 5000)
    assert Tail.of(list(range(0, 101, 5)), even, 5000) is None
    assert Tail.of(EDGES, spend(), 500) is None  # too few rows for any average


def test_what_is_said_of_a_tail_stays_in_the_owners_notes(tmp_path):
    rows = pd.DataFrame({"spend": np.round(spend(), 2), "sex": ["F", "M"] * 4000})
    rows.to_csv(tmp_path / "a.csv", index=False)
    found = Inspector(tmp_path / "a.csv").propose()
    assert "every sum pays" in found.notes["spend"]
    assert "every sum pays" in owner_notes(found, tmp_path / "schema.yaml")
    assert found.domain is not None
    assert "every sum pays" not in str(found.domain)


def test_no_line_of_the_notes_holds_a_value_that_few_rows_carry(tmp_path):
    n = 400
    rows = pd.DataFrame(
        {
            "person": [f"P{i:06d}" for i in range(n)],
            "email": [f"someone{i}@example.org" for i in range(n)],
            "remark": [f"word{i} and more" for i in range(n)],
            "sex": ["F", "M"] * (n // 2),
        }
    )
    rows.to_csv(tmp_path / "a.csv", index=False)
    said = owner_notes(Inspector(tmp_path / "a.csv").propose(), tmp_path / "schema.yaml")
    assert "left out 'person'" in said
    assert "P0000" not in said
    assert "example.org" not in said
    assert "word1" not in said
