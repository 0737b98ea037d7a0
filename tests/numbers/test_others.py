"""Comparisons with values that no schema declares: of `other` levels, and beyond declared ranges."""

from __future__ import annotations

import duckdb
import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.queries.pieces import by_queries
from hedgerow.queries.question import Question

DOMAIN = hr.Domain(
    {
        "liens": hr.Categorical([0, 1, 2], other=True, missing=True),
        "day": hr.Categorical(pd.to_datetime(["2024-01-01", "2024-01-03"]).date.tolist(), other=True),
        "g": ["a", "b"],
        "income": hr.bins(0, 100, 10, step=1),
        "age": hr.Bins([18, 40, 60, 90], step=1, other=True),
        "born": hr.Dates("2000-01-01", "2004-01-01", by="year"),
    }
)


def rows(n=3000, seed=1):
    """Some values of each column are not declared."""
    rng = np.random.default_rng(seed)
    days = pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03", "2024-02-01"]).date
    return pd.DataFrame(
        {
            "liens": rng.choice([0, 1, 2, 5, 1.5, np.nan], n, p=[0.6, 0.15, 0.1, 0.08, 0.02, 0.05]),
            "day": rng.choice(days, n),
            "g": rng.choice(["a", "b"], n),
            "income": rng.integers(0, 100, n),
            "age": rng.integers(10, 100, n),
            "born": pd.Timestamp("2000-01-01") + pd.to_timedelta(rng.integers(0, 4 * 365, n), unit="D"),
        }
    )


FRAME = rows()
DOUBTFUL = [
    "SELECT COUNT(*) FROM t WHERE liens > 2",
    "SELECT COUNT(*) FROM t WHERE liens >= 3",
    "SELECT COUNT(*) FROM t WHERE 1 < liens",
    "SELECT COUNT(*) FROM t WHERE liens BETWEEN 1 AND 2",
    "SELECT COUNT(*) FROM t WHERE NOT (liens > 1)",
    "SELECT COUNT(*) FROM t WHERE liens < 1 OR liens > 1",
    "SELECT COUNT(*) FROM t WHERE liens > 2 AND g = 'a'",
    "SELECT COUNT(*) FROM t WHERE day < DATE '2024-01-03'",
    "SELECT COUNT(*) FROM t WHERE day BETWEEN DATE '2024-01-02' AND DATE '2024-01-31'",
    "SELECT COUNT(*) FROM t WHERE age > 95",
    "SELECT COUNT(*) FROM t WHERE age < 18",
    "SELECT COUNT(*) FROM t WHERE age <> 30",
    "SELECT COUNT(*) FROM t WHERE age >= 42 AND liens > 1",
    "SELECT SUM(income) FROM t WHERE liens > 2",
    "SELECT SUM(income - 50) FROM t WHERE liens > 2",
    "SELECT AVG(income) FROM t WHERE liens > 0",
    "SELECT MEDIAN(income) FROM t WHERE liens > 0",
    "SELECT SUM(CASE WHEN liens > 2 THEN income ELSE 0 END) FROM t",
    "SELECT SUM(CASE WHEN liens > 2 THEN 0 ELSE income END) FROM t",
    "SELECT SUM(CASE WHEN liens > 2 THEN income ELSE -income END) FROM t",
    "SELECT ROUND(100.0 * COUNT(*) FILTER (WHERE liens > 2) / COUNT(*), 1) FROM t",
]
KNOWN = [
    "SELECT COUNT(*) FROM t WHERE liens = 1",
    "SELECT COUNT(*) FROM t WHERE liens <> 1",
    "SELECT COUNT(*) FROM t WHERE liens NOT IN (1, 2)",
    "SELECT COUNT(*) FROM t WHERE age BETWEEN 20 AND 50",
    "SELECT COUNT(*) FROM t WHERE age = 30",
    "SELECT COUNT(*) FROM t WHERE g <> 'a'",
]
UNKNOWN = "Whether rows with a value that is not declared meet"


@pytest.fixture(scope="module")
def doors():
    table = hr.Table.open(FRAME, DOMAIN)
    curator = hr.Curator(
        table, budget=hr.Budget(epsilon=400, delta=1e-6), ledger=":memory:", entropy=hr.testing.seeded(3)
    )
    synopsis = hr.AdaptiveRelease(epsilon=2).release(curator, hr.marginals(DOMAIN, 2))
    return synopsis, hr.Session(epsilon=2).open(curator)


def truth(text):
    known = duckdb.connect()
    known.register("t", FRAME)
    return known.sql(text).fetchall()[0][-1]


@pytest.mark.parametrize("text", DOUBTFUL)
def test_an_error_covers_rows_of_an_other_level_that_may_meet_a_comparison(text, doors):
    synopsis, session = doors
    for answer in (synopsis.answer(text), session.ask(text), session.ask(text, within_count=20)):
        assert answer.error > 0
        assert np.ravel(answer.low)[0] <= truth(text) <= np.ravel(answer.high)[0]
        assert sum(UNKNOWN in note for note in answer.notes) == 1


@pytest.mark.parametrize("text", KNOWN)
def test_an_other_level_that_surely_meets_a_comparison_or_not_leaves_nothing_open(text, doors):
    question = hr.sql(DOMAIN, text)
    assert isinstance(question, Question)
    assert not question.doubts
    assert not any(UNKNOWN in note for note in question.notes)
    answer = doors[1].ask(text, within_count=20)
    assert abs(answer.value - truth(text)) <= answer.error <= 20


def test_a_count_of_undeclared_values_alone_is_never_vouched_for_as_none(doors):
    session = doors[1]
    for within in (20, 50, 400):
        answer = session.ask("SELECT COUNT(*) FROM t WHERE liens > 2", within_count=within)
        assert answer.value > 0
        assert answer.error > truth("SELECT COUNT(*) FROM t WHERE liens > 2") / 2 - within


def test_groups_of_an_other_level_have_their_doubts_and_the_declared_ones_none(doors):
    answer = doors[1].ask(
        "SELECT liens, COUNT(*) AS n FROM t WHERE liens > 1 GROUP BY liens", within_count=20
    )
    errors = dict(zip([g[0] for g in answer.table.groups], answer.table.errors[:, 0], strict=True))
    values = dict(zip([g[0] for g in answer.table.groups], answer.table.values[:, 0], strict=True))
    others = int(FRAME.liens.isin([5, 1.5]).sum())
    assert errors["2"] <= 40
    assert values["other"] == pytest.approx(others / 2, abs=20)
    assert abs(values["other"] - (FRAME.liens == 5).sum()) <= errors["other"]


GROUPED = [
    "CASE WHEN liens > 2 THEN 'many' WHEN liens >= 1 THEN 'some' ELSE 'none' END",
    "CASE WHEN liens > 1.2 THEN 2 WHEN liens = 0 THEN 0 END",
    "CASE WHEN day < DATE '2024-01-03' THEN 'before' ELSE 'after' END",
    "CASE WHEN liens > 1 AND g = 'a' THEN 'x' ELSE 'y' END",
    "liens > 1",
    "CAST(liens <= 1 AS INT)",
    "CASE WHEN age >= 42 THEN 'old' ELSE 'young' END",
    "CASE WHEN age >= 42 OR liens > 1 THEN 'old' ELSE 'young' END",
    "age < 18",
]
NAMED = [
    "CASE WHEN liens IN (1, 2) THEN 'some' ELSE 'none' END",
    "CASE liens WHEN 2 THEN 2 ELSE 0 END",
    "liens = 1",
]


def covered(text, answer):
    """Whether each group's numbers are those of all rows within their bounds, and which notes there are."""
    known = duckdb.connect()
    known.register("t", FRAME)
    true = {
        str(key).lower() if isinstance(key, bool) else str(key): rest
        for key, *rest in known.sql(text).fetchall()
    }
    true = {"NULL" if key == "None" else key: rest for key, rest in true.items()}
    low, high = answer.table.ends
    shown = {group: (low[i], high[i]) for i, (group,) in enumerate(answer.table.groups)}
    assert set(true) <= set(shown)
    for group, ends in shown.items():
        for number, a, b in zip(true.get(group, (0, 0)), *ends, strict=True):  # NULL: no rows, or no number
            assert a - (b - a) <= number <= b + (b - a)  # bars of 0.95, three times as wide
    return [n for n in answer.notes if UNKNOWN in n]


@pytest.mark.parametrize("key", [*GROUPED, *NAMED])
def test_groups_by_conditions_on_other_levels_cover_rows_that_may_be_in_either(key, doors):
    text = f"SELECT {key} AS k, COUNT(*) AS n, SUM(income) AS s FROM t GROUP BY k"
    for answer in (doors[0].answer(text), doors[1].ask(text), doors[1].ask(text, within_count=20)):
        said = covered(text, answer)
        assert len(said) == (key in GROUPED)


@pytest.mark.parametrize("condition", ["liens > 1", "day < DATE '2024-01-03'", "age >= 42"])
def test_conditions_are_added_up_as_they_are_counted(condition, doors):
    text = "SELECT {} FROM t"
    counted = doors[0].answer(text.format(f"COUNT(*) FILTER (WHERE {condition})"))
    for number in (
        f"SUM({condition})",
        f"SUM(({condition})::INT)",
        f"SUM(CASE WHEN {condition} THEN 1 ELSE 0 END)",
    ):
        summed = doors[0].answer(text.format(number))
        assert (summed.value, summed.error) == pytest.approx((counted.value, counted.error))


def test_the_value_is_the_same_whatever_confidence_is_asked_for(doors):
    found = [doors[0].answer(DOUBTFUL[0], confidence=sure) for sure in (0.5, 0.95, 0.999)]
    assert len({float(np.ravel(a.value)[0]) for a in found}) == 1
    assert len({float(np.ravel(a.error)[0]) for a in found}) == 3


def test_questions_with_other_doubts_are_other_questions():
    keys = [
        by_queries(hr.sql(DOMAIN, f"SELECT COUNT(*) FROM t WHERE {w}")).key
        for w in ("liens > 2", "liens = 2")
    ]
    assert len(set(keys)) == 2


CLAMPED = [
    ("income >= 500", "0 to 99: rows above it count as 99 in income >= 500"),
    ("500 <= income", "rows above it count as 99 in income >= 500"),
    ("income > 99", "rows above it count as 99 in income > 99"),
    ("income = 99", "rows above it count as 99 in income = 99"),
    ("income BETWEEN 50 AND 99", "rows above it count as 99 in income <= 99"),
    ("income < -5", "rows below it count as 0 in income < -5"),
    ("income < 0", "rows below it count as 0 in income < 0"),
    (
        "born > DATE '2030-01-01'",
        "2000-01-01 to 2003-12-31: rows above it count as 2003-12-31 in born > 2030-01-01",
    ),
    ("born < DATE '2000-01-01'", "rows below it count as 2000-01-01 in born < 2000-01-01"),
]


@pytest.mark.parametrize(("where", "words"), CLAMPED)
def test_a_comparison_that_the_clamping_decides_says_so(where, words, doors):
    text = f"SELECT COUNT(*) FROM t WHERE {where}"
    for answer in (doors[0].answer(text), doors[1].ask(text), doors[1].ask(text, within_count=40)):
        assert sum("counts as clamped to its declared range" in n and words in n for n in answer.notes) == 1


@pytest.mark.parametrize(
    "where",
    ["income >= 99", "income < 99", "income >= 0", "income = 0", "income > 0", "income BETWEEN 10 AND 98",
     "born >= DATE '2003-12-31'", "born < DATE '2003-01-01'", "age > 500", "liens > 100"],
)  # fmt: skip
def test_a_comparison_inside_the_range_says_nothing_of_clamping(where):
    assert not any("clamped" in n for n in hr.sql(DOMAIN, f"SELECT COUNT(*) FROM t WHERE {where}").notes)


@pytest.mark.parametrize(
    ("where", "groups"),
    [
        ("g = 'b'", ["b"]),
        ("g <> 'b' AND income < 50", ["a"]),
        ("income < 50", ["a", "b"]),
    ],
)
def test_groups_that_a_condition_on_their_own_column_excludes_are_left_out_at_every_door(
    where, groups, doors
):
    text = f"SELECT g, AVG(income) AS m, COUNT(*) AS n FROM t WHERE {where} GROUP BY g"
    for order in ("", " ORDER BY n DESC", " ORDER BY g LIMIT 1"):
        for answer in (doors[0].answer(text + order), doors[1].ask(text + order),
                       doors[1].ask(text + order, within_count=20, simultaneous=True)):  # fmt: skip
            shown = [g for (g,) in answer.table.groups]
            assert shown == groups[:1] if "LIMIT" in order else sorted(shown) == groups
            for group, (mean, rows), (off, wide) in zip(
                shown, answer.table.values, answer.table.errors, strict=True
            ):
                known = duckdb.connect()
                known.register("t", FRAME)
                sql = f"SELECT AVG(income), COUNT(*) FROM t WHERE {where} AND g = '{group}'"
                (true,) = known.sql(sql).fetchall()
                assert abs(mean - true[0]) <= 2.6 * off  # 95% bars: five deviations are missed by 5e-7
                assert abs(rows - true[1]) <= 2.6 * wide


def test_a_group_of_missing_values_that_is_left_out_has_no_note():
    said = {where: hr.sql(DOMAIN, f"SELECT liens, COUNT(*) FROM t WHERE {where} GROUP BY liens").notes
            for where in ("liens = 1", "g = 'a'")}  # fmt: skip
    assert not any("NULL is the group" in n for n in said["liens = 1"])
    assert any("NULL is the group" in n for n in said["g = 'a'"])


PARTS = {
    "100.0 * COUNT(CASE WHEN income < 30 THEN 1 END) / COUNT(*)": (0.0, 100.0),
    "SUM(CASE WHEN liens > 2 THEN 1 ELSE 0 END) / COUNT(*)": (0.0, 1.0),
    "-COUNT(CASE WHEN g = 'a' THEN 1 END) / COUNT(*)": (-1.0, 0.0),
    "COUNT(CASE WHEN g = 'a' AND income < 30 THEN 1 END) / COUNT(CASE WHEN g = 'a' THEN 1 END)": (0.0, 1.0),
    "COUNT(*) / COUNT(CASE WHEN g = 'a' THEN 1 END)": (-np.inf, np.inf),
    "COUNT(CASE WHEN g = 'b' THEN 1 END) / COUNT(CASE WHEN g = 'a' THEN 1 END)": (-np.inf, np.inf),
    "SUM(income) / COUNT(*)": (-np.inf, np.inf),
}


@pytest.mark.parametrize("number", PARTS)
def test_a_part_of_rows_is_between_none_and_all_of_them(number, doors):
    for where in (
        "",
        "WHERE born < DATE '2001-01-01'",
        "WHERE liens = 2 AND age < 30 AND day = DATE '2024-01-01'",
    ):
        text = f"SELECT {number} FROM t {where}"
        (aggregate,) = hr.sql(DOMAIN, text).aggregates
        assert aggregate.range == PARTS[number]
        for answer in (doors[0].answer(text), doors[1].ask(text)):
            low, high = np.ravel(answer.low)[0], np.ravel(answer.high)[0]
            assert not np.isfinite(answer.error) or PARTS[number][0] <= low <= high <= PARTS[number][1]
    by_group = f"SELECT g, ROUND({number}, 2) AS p FROM t WHERE income < 90 GROUP BY g"
    low, high = doors[0].answer(by_group).table.ends
    assert (low[np.isfinite(low)] >= PARTS[number][0]).all()
    assert (high[np.isfinite(high)] <= PARTS[number][1]).all()


BOTH = hr.Domain(
    {"liens": hr.Categorical([0, 1, 2], other=True), "age": hr.Bins([18, 40, 60, 90], step=1, other=True)}
)
OF_TWO = {
    "SELECT SUM(CASE WHEN age <= 90 THEN 7 WHEN liens > 1 THEN 0 ELSE 1 END) FROM t WHERE liens = 1": (
        lambda f: np.where(f.age <= 90, 7, np.where(f.liens > 1, 0, 1))[f.liens == 1].sum()
    ),
    "SELECT SUM(CASE WHEN liens <= 1 THEN 7 ELSE 1 END) FROM t WHERE age < 18": (
        lambda f: np.where(f.liens <= 1, 7, 1)[f.age < 18].sum()
    ),
    "SELECT SUM(CASE WHEN age < 18 AND liens > 1 THEN 2 WHEN age < 18 THEN 1 ELSE 0 END) FROM t": (
        lambda f: np.where(f.liens > 1, 2, 1)[f.age < 18].sum()
    ),
}


@pytest.mark.parametrize("text", OF_TWO)
def test_a_number_that_two_attributes_decide_is_open_by_both(text):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"liens": rng.choice([0, 1, 2, 5], 4000), "age": rng.choice([10, 20, 50], 4000)})
    budget, entropy = hr.Budget(epsilon=1e5, delta=1e-6), hr.testing.seeded(1)
    guard = hr.Curator(hr.Table.open(frame, BOTH), budget, ":memory:", entropy=entropy)
    released = hr.AdaptiveRelease(epsilon=1e4).release(guard, hr.marginals(BOTH, 2))
    truth = OF_TWO[text](frame)
    for answer in (released.answer(text), hr.Session(epsilon=1e4).open(guard).ask(text)):
        assert float(answer.low) - 30 <= truth <= float(answer.high) + 30
        assert any("Whether rows with a value that is not declared" in note for note in answer.notes)
