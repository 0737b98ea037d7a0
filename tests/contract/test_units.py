"""People, not rows, are protected: at most max_rows of each, chosen independently of everybody else."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.curator.rows.table import Rows

KEY = b"k" * 32
DOMAIN = hr.Domain({"a": 3, "b": 4})
WHOLE = DOMAIN.names

people = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 2), st.integers(0, 3)), min_size=0, max_size=120
)


def counted(rows: list[tuple[int, int, int]], max_rows: int = 3, key: bytes = KEY) -> np.ndarray:
    frame = pd.DataFrame(rows, columns=["who", "a", "b"]).astype("int64")
    return Rows(hr.Table.open(frame, DOMAIN, unit="who", max_rows=max_rows), key).tables([WHOLE])[WHOLE]


@settings(max_examples=150, deadline=None)
@given(people, st.randoms(use_true_random=False))
def test_the_kept_multiset_does_not_depend_on_row_order(rows, random):
    shuffled = list(rows)
    random.shuffle(shuffled)
    np.testing.assert_array_equal(counted(rows), counted(shuffled))


@settings(max_examples=150, deadline=None)
@given(people, st.integers(0, 6))
def test_removing_a_person_removes_at_most_max_rows_and_touches_nobody_else(rows, who):
    without = [r for r in rows if r[0] != who]
    change = counted(rows) - counted(without)
    assert (change >= 0).all()
    assert change.sum() == min(3, len(rows) - len(without))


def test_everybody_keeps_as_many_rows_as_allowed_up_to_fifty_each():
    rng = np.random.default_rng(5)
    rows = [(p, *rng.integers(0, (3, 4))) for p in range(300) for _ in range(rng.integers(1, 51))]
    sizes = pd.Series([r[0] for r in rows]).value_counts()
    assert counted(rows).sum() == sizes.clip(upper=3).sum()


def test_the_bounded_table_answers_as_duckdb_does_on_the_kept_rows():
    rng = np.random.default_rng(6)
    frame = pd.DataFrame(
        {"who": rng.integers(0, 200, 4000), "a": rng.integers(0, 3, 4000), "b": rng.integers(0, 4, 4000)}
    )
    rows = Rows(hr.Table.open(frame, DOMAIN, unit="who", max_rows=3), KEY)
    owners, (a, b) = rows.records()
    kept = pd.DataFrame({"who": owners, "a": a, "b": b})  # noqa: F841 - read by name below
    most, units = duckdb.sql(
        "SELECT MAX(c), COUNT(*) FROM (SELECT COUNT(*) c FROM kept GROUP BY who)"
    ).fetchall()[0]
    assert (most, units) == (3, frame["who"].nunique())
    got = rows.tables([WHOLE])[WHOLE]
    for i, j, count in duckdb.sql("SELECT a, b, COUNT(*) FROM kept GROUP BY ALL").fetchall():
        assert got[i, j] == count
    real = frame.drop_duplicates().groupby(["a", "b"]).size()
    assert all(real.loc[i, j] > 0 for i, j in zip(a, b, strict=True))  # kept rows are rows


def test_another_key_keeps_other_rows():
    rng = np.random.default_rng(7)
    rows = [(p, *rng.integers(0, (3, 4))) for p in range(50) for _ in range(20)]
    assert (counted(rows, key=b"x" * 32) != counted(rows)).any()


def test_which_rows_stay_is_uniform_over_a_persons_rows():
    """False alarm 1e-6: one person, four different rows, one kept, over 4,000 keys."""
    from scipy.stats import chi2

    kept = np.zeros(4)
    for i in range(1000):
        key = i.to_bytes(32, "little")
        kept += counted([(1, 0, 0), (1, 1, 1), (1, 2, 2), (1, 0, 3)], max_rows=1, key=key)[
            (0, 1, 2, 0), (0, 1, 2, 3)
        ]
    assert kept.sum() == 1000
    assert ((kept - 250) ** 2 / 250).sum() < chi2.isf(1e-6, 3)


@pytest.mark.parametrize(("neighbours", "l1", "l2_squared"), [("add_remove", 3, 9), ("replace", 6, 18)])
def test_noise_scales_with_max_rows(neighbours, l1, l2_squared):
    frame = pd.DataFrame({"who": [1, 1, 2], "a": [0, 1, 2], "b": [0, 1, 2]})
    table = hr.Table.open(frame, DOMAIN, unit="who", max_rows=3)
    pure = hr.Curator(table, budget=hr.Budget(epsilon=1), ledger=":memory:", neighbours=neighbours)
    assert pure.measure(("a", "b"), 0.5).noise.scale == 2 * l1
    rho = hr.Curator(table, budget=hr.Budget(rho=1, delta=1e-6), ledger=":memory:", neighbours=neighbours)
    sigma = rho.measure(("a", "b"), hr.Budget(rho="1/2")).noise.scale
    assert l2_squared <= float(sigma) ** 2 <= l2_squared * 1.0001


def test_the_ledger_refuses_a_table_opened_with_another_unit(tmp_path):
    frame = pd.DataFrame({"who": [1], "a": [0], "b": [0]})
    path = tmp_path / "x.db"
    hr.Curator(hr.Table.open(frame, DOMAIN, unit="who", max_rows=3), budget=hr.Budget(epsilon=1), ledger=path)
    for options in ({}, {"unit": "who", "max_rows": 4}, {"unit": "a", "max_rows": 3}):
        with pytest.raises(hr.LedgerError):
            hr.Curator(hr.Table.open(frame, DOMAIN, **options), ledger=path)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize(
    "text",
    ["SELECT COUNT(DISTINCT who) FROM t WHERE a = 1", "SELECT b, COUNT(DISTINCT who) FROM t GROUP BY b"],
)
def test_counting_people_moves_by_no_more_than_its_sensitivity(neighbours, text):
    """A person counts once per group: right on the kept rows, and bounded when a person changes."""
    from hedgerow.curator.statistics.people import PeopleCounts
    from hedgerow.privacy.budget import Privacy

    rng = np.random.default_rng(8)
    statistic = PeopleCounts(hr.sql(DOMAIN, text, unit="who").forms[0])
    bound = Privacy(neighbours, 2).sensitivity(statistic.norms)

    def counts(rows):
        frame = pd.DataFrame(rows, columns=["who", "a", "b"])
        made = Rows(hr.Table.open(frame, DOMAIN, unit="who", max_rows=2), KEY)
        owners, (a, b) = made.records()
        kept = pd.DataFrame({"who": owners, "a": a, "b": b})
        kept = kept[kept["a"] == 1] if "a = 1" in text else kept
        expected = (
            [kept["who"].nunique()]
            if "a = 1" in text
            else [kept[kept["b"] == i]["who"].nunique() for i in range(4)]
        )
        got = statistic.exact(made)
        assert got.tolist() == expected
        return got

    base = [(p, *rng.integers(0, (3, 4))) for p in range(20) for _ in range(rng.integers(1, 6))]
    for i in range(25):
        other = [(99, *rng.integers(0, (3, 4))) for _ in range(rng.integers(1, 6))]
        away = [r for r in base if r[0] != i % 20] if neighbours == "replace" else base
        change = np.abs(counts([*away, *other]) - counts(base))
        assert change.sum() <= bound.l1
        assert (change**2).sum() <= bound.l2_squared
    assert bound.l1 == {"add_remove": 1, "replace": 1}[neighbours] if "a = 1" in text else bound.l1 <= 4
