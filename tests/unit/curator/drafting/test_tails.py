"""What a column's far end costs its averages is said to the owner, with the end that would do."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.curator.drafting.draft import Draft
from hedgerow.curator.drafting.inspector import Inspector
from hedgerow.curator.drafting.tails import Tail
from hedgerow.privacy.budget import Privacy
from hedgerow.queries.domain.bins import Bins
from hedgerow.service import inspecting
from hedgerow.service.foretold import Foretold
from hedgerow.service.inspecting import owner_notes

EDGES = [0, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000]


def spend(n=8000):
    return np.sort(np.exp(np.random.default_rng(1).normal(6, 1.2, n)))


def beside(rows: pd.DataFrame) -> pd.DataFrame:
    """With twenty more columns, which have their parts of the price."""
    rng = np.random.default_rng(9)
    return rows.assign(**{f"k{i}": rng.integers(0, 5, len(rows)) for i in range(20)})


def proposed(path: object, **options: object) -> Draft:
    return inspecting.propose(path, 20, {}, lambda words, part: None, print, **options)


def test_a_range_that_few_rows_stretch_is_told_with_the_edge_that_averages_are_better_with():
    found = Tail.of(Bins(EDGES, step=0.01), spend(), 8000, 10_000, 500.0)
    assert found is not None
    assert found.upper
    shorter = found.bins.edges[-1]
    assert shorter in (5000, 6000, 8000, 10_000)
    kept = np.minimum(spend(), shorter - 0.01)
    assert np.isclose(found.taken, spend().mean() - kept.mean())
    assert found.clamped == (spend() >= shorter).sum() / 10_000
    assert "AVG(cost) of a release" in found.words("cost", 500, 50, "a release")


def test_a_tail_on_the_lower_side_is_told_alike():
    edges = sorted(-e for e in EDGES)
    found = Tail.of(Bins(edges, step=0.01), np.sort(-spend()), 8000, 8000, 500.0)
    assert found is not None
    assert not found.upper
    assert found.bins.edges[0] in (-5000, -6000, -8000, -10_000)


def test_a_range_that_rows_fill_is_not_mentioned():
    even = np.linspace(0, 99, 5000)
    assert Tail.of(Bins(list(range(0, 101, 5)), step=1), even, 5000, 5000, 3.0) is None
    assert Tail.of(Bins(EDGES, step=0.01), spend(), 500, 500, 500.0) is None  # too few for any average


SHAPES = {  # what few rows stretch
    "bankrupt": lambda r, n: np.where(r.random(n) < 0.002, 4, r.random(n) < 0.12),
    "score": lambda r, n: np.where(r.random(n) < 0.002, 200, np.minimum(r.integers(60, 130, n), 100)),
    "lines": lambda r, n: np.where(r.random(n) < 0.003, 98, r.integers(0, 31, n)),
    "income": lambda r, n: np.where(r.random(n) < 0.001, 2e6, np.round(r.lognormal(10, 0.5, n))),
}
OFF = {"bankrupt": 0.1, "score": 6.0, "lines": 3.0, "income": 20_000.0}
LAST = {"bankrupt": 2, "score": 101, "lines": 31}  # the last edge is the first value that is clamped


@pytest.mark.parametrize("kind", SHAPES)
def test_advice_that_is_followed_to_the_letter_clamps_what_it_said(tmp_path, kind):
    rows = pd.DataFrame({"x": SHAPES[kind](np.random.default_rng(5), 10_000)})
    rows.loc[::4, "x"] = None
    rows["sex"] = ["F", "M"] * 5000
    path = tmp_path / "a.csv"
    rows.to_csv(path, index=False)
    found = Inspector(path).propose()
    bins, values = found.domain["x"], np.sort(rows["x"].dropna().to_numpy())
    assert np.array_equal(found.numbers["x"].sample, values)
    tail = Tail.of(bins, values, len(values), len(rows), OFF[kind])
    said = tail.words("x", OFF[kind], 0.01, "a release")
    last, after = (
        float(part.replace(",", ""))
        for part in said.split("if its last edge were ")[1].split(", about")[0].split(", after ")
    )
    assert last == LAST.get(kind, last)
    edges = [e for e in bins.edges if e <= after]
    fit = Inspector(path).fit(hr.Domain({"x": replace_edges(bins, [*edges, last])}))
    assert fit.fits[0].above
    assert f"({100 * fit.fits[0].above / len(rows):.2g}% of the rows" in said
    moved = values.mean() - np.minimum(values, last - float(bins.lattice.step)).mean()
    assert f"moves the average by {float(f'{moved:.2g}'):,.12g})" in said


def replace_edges(bins: Bins, edges: list[float]) -> Bins:
    body = bins.to_schema()
    return Bins(edges, **{name: value for name, value in body.items() if name != "edges"})


def test_no_advice_clamps_what_a_column_of_zeros_has_to_say(tmp_path):
    rng = np.random.default_rng(2)
    fees = np.where(rng.random(10_000) < 0.005, np.round(rng.gamma(2, 15, 10_000), 2), 0.0)
    beside(pd.DataFrame({"fees": fees})).to_csv(tmp_path / "a.csv", index=False)
    found = proposed(tmp_path / "a.csv")
    if "last edge were" in found.notes.get("fees", ""):
        end = float(found.notes["fees"].split("last edge were ")[1].split(", after")[0].replace(",", ""))
        assert (fees >= end).sum() <= 0.2 * (fees > 0).sum()


def test_averages_are_foretold_about_as_a_release_tells_them():
    rng = np.random.default_rng(3)
    n, people = 4000, 5
    rows = {
        "pay": np.round(rng.lognormal(7, 1, n), 2),
        "age": rng.integers(18, 95, n),
        "kids": rng.poisson(1, n),
    }
    domain = hr.Domain(
        {
            "pay": {"edges": [0, 200, 500, 1000, 2000, 5000, 100_000], "step": 0.01},
            "age": {"bins": [15, 95, 5], "step": 1},
            "kids": {"bins": [0, 8, 1], "step": 1},
        }
    )
    table = hr.Table.open({**rows, "who": np.arange(n) // people}, domain, unit="who", max_rows=people)
    with hr.testing.seeded(1):
        curator = hr.Curator(table, hr.Budget(epsilon=1, delta=1e-9), ":memory:")
        made = hr.AdaptiveRelease().release(curator, hr.marginals(domain, 2))
    found = Foretold.of(domain, Privacy(max_rows=people))
    for name, values in rows.items():
        told = found.noise(name).average(float(np.mean(values)), n)
        bar = float(made.answer(hr.sql(domain, f"SELECT AVG({name}) FROM t")).error)
        assert bar / 2.5 < told < 2.5 * bar, (name, told, bar)
    alone = Foretold.of(domain, Privacy())
    assert alone.noise("pay").average(1500, n) < found.noise("pay").average(1500, n) / 3


def test_what_is_said_of_a_tail_is_of_all_attributes_and_of_the_unit_that_was_found(tmp_path):
    n = 6000
    rows = pd.DataFrame({"spend": np.round(spend(n), 2), "sex": ["F", "M"] * (n // 2)})
    rows["person_id"] = np.arange(n) // 3
    beside(rows).to_csv(tmp_path / "a.csv", index=False)
    told = proposed(tmp_path / "a.csv").notes["spend"]
    assert "a release of all 22 attributes at epsilon 1 for people with up to 3 rows" in told
    named = proposed(tmp_path / "a.csv", unit="person_id")
    assert named.unit == ("person_id", 3)
    assert named.notes["spend"] == told


def test_what_is_said_of_a_tail_stays_in_the_owners_notes(tmp_path):
    rows = pd.DataFrame({"spend": np.round(spend(4000), 2), "sex": ["F", "M"] * 2000})
    beside(rows).to_csv(tmp_path / "a.csv", index=False)
    found = proposed(tmp_path / "a.csv")
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


def test_the_values_behind_a_draft_are_in_no_repr(tmp_path):
    pd.DataFrame({"x": np.linspace(100, 50_000, 4000).round(), "sex": ["F", "M"] * 2000}).to_csv(
        tmp_path / "a.csv"
    )
    found = proposed(tmp_path / "a.csv")
    assert found.numbers
    assert "sample" not in repr(found) + repr(dict(found.numbers))
