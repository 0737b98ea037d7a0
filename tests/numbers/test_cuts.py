"""A predicate that cuts a bin: exact of rows, honest of tables, told by the nearest edges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.curator.rows.table import Rows
from hedgerow.curator.statistics.statistics import Answers
from hedgerow.curator.statistics.target import MeasureTarget
from hedgerow.queries.domain.refined import Cut
from hedgerow.queries.pieces import read
from hedgerow.queries.query import ONE
from hedgerow.queries.valued import Fine

DOMAIN = hr.Domain(
    {
        "sex": ["F", "M"],
        "age": hr.bins(0, 100, 20, step=1),
        "pay": hr.Bins([-20, 0, 50, 2000], step=0.5),
        "old": hr.bins(0, 10, 2.5, step=0.01),
        "day": hr.dates("2020-01-01", "2021-01-01", "month"),
    }
)
CUTTING = [
    "SELECT COUNT(*) FROM t WHERE age >= 33",
    "SELECT COUNT(*) FROM t WHERE age = 39",
    "SELECT COUNT(*) FROM t WHERE age <> 39 AND age IS NOT NULL",
    "SELECT COUNT(*) FROM t WHERE age IN (3, 21, 22, 40) AND sex = 'F'",
    "SELECT COUNT(*) FROM t WHERE age NOT BETWEEN 33 AND 57",
    "SELECT COUNT(*) FROM t WHERE age < 33 OR pay > 20.5",
    "SELECT COUNT(*) FROM t WHERE NOT (age > 12 AND old <= 5)",
    "SELECT COUNT(*) FROM t WHERE old < 3.3 AND old > 1",
    "SELECT COUNT(*) FROM t WHERE old <> 2.5 AND old IN (1.25, 5, 7.1, 3)",
    "SELECT COUNT(*) FROM t WHERE day >= DATE '2020-05-15' AND day <> '2020-06-01'",
    "SELECT COUNT(*) FROM t WHERE age % 30 < 4",
    "SELECT SUM(pay), COUNT(pay) FROM t WHERE age > 33",
    "SELECT AVG(age) FROM t WHERE age < 33 AND pay >= 3",
    "SELECT SUM(CASE WHEN age < 33 THEN pay WHEN pay > 7 THEN 1 ELSE 0 END) FROM t",
    "SELECT AVG(age - pay) FROM t WHERE pay < 60.5",
    "SELECT sex, COUNT(*), AVG(pay) FROM t WHERE age >= 41 GROUP BY sex",
]


def rows(n: int = 400, seed: int = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    pay = np.round(2 * (rng.gamma(1.5, 60, n) - 30)) / 2
    pay[::17] = np.nan
    return {
        "sex": rng.choice(["F", "M"], n),
        "age": rng.integers(-5, 120, n).astype(float),
        "pay": pay,
        "old": np.round(rng.uniform(-1, 11, n), 2),
        "day": np.datetime64("2020-01-01") + rng.integers(0, 366, n).astype("timedelta64[D]"),
        "person": rng.integers(0, n // 4, n),
    }


def exact(text: str, table: hr.Table) -> np.ndarray:
    """The statement's values of rows, without noise."""
    question = hr.sql(DOMAIN, text)
    if not hasattr(question, "forms"):
        (question,) = question.questions
    target = MeasureTarget.of(question, DOMAIN)
    law = hr.Noise("none", 0, target.statistic.denominator)
    return np.ravel(
        target.measurement(law, target.statistic.exact(Rows(table, bytes(32))), False).reply(0.95).value
    )


def truth(text: str, frame: dict[str, np.ndarray]) -> np.ndarray:
    """DuckDB's answer on the clamped rows."""
    import duckdb
    import pandas as pd

    data = pd.DataFrame(frame)
    data["age"], data["old"] = data["age"].clip(0, 99).astype(int), data["old"].clip(0, 10)
    data["pay"] = data["pay"].clip(-20, 1999.5)
    duck = duckdb.connect()
    duck.register("raw", data)
    duck.execute(
        "CREATE TABLE t AS SELECT * REPLACE (CASE WHEN isnan(pay) THEN NULL ELSE pay END AS pay) FROM raw"
    )
    text += " ORDER BY sex" if "GROUP BY" in text else ""
    drop = 1 if "GROUP BY" in text else 0
    return np.ravel([[float(v) for v in row[drop:]] for row in duck.execute(text).fetchall()])


@pytest.mark.parametrize("text", CUTTING)
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_without_noise_what_cuts_bins_is_counted_by_the_rows_own_numbers(text, engine):
    frame = rows()
    got = exact(text, hr.Table.open(frame, DOMAIN, engine=engine))
    want = truth(text, frame)
    np.testing.assert_allclose(got[: len(want)], want, rtol=1e-9, atol=1e-9)


def test_bounded_rows_are_cut_alike_in_any_order_of_the_file():
    import pandas as pd

    data = pd.DataFrame(rows())
    tables = [
        hr.Table.open(frame, DOMAIN, unit="person", max_rows=2)
        for frame in (data, data.sample(frac=1, random_state=3))
    ]
    for text in CUTTING[:3]:
        one, other = (exact(text, table) for table in tables)
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("where", "meets"),
    [
        ("age >= 33", lambda age: age >= 33),
        ("age = 20", lambda age: age == 20),
        ("age IN (21, 39, 40)", lambda age: age in (21, 39, 40)),
        ("age < 1 OR age > 98", lambda age: age < 1 or age > 98),
    ],
)
def test_a_row_moves_a_cut_count_by_one_or_nothing_at_bin_ends_and_cut_points(where, meets):
    target = MeasureTarget.of(f"SELECT COUNT(*) FROM t WHERE {where}", DOMAIN).statistic
    (query,) = target.workload
    assert target.norms.l1 == target.norms.replace_l1 == query.largest == ONE
    frame = {k: v[:1] for k, v in rows().items()}
    for age in range(100):
        frame["age"] = np.array([float(age)])
        moved = target.exact(Rows(hr.Table.open(frame, DOMAIN), bytes(32)))
        assert moved.tolist() == [ONE if meets(age) else 0]


def test_parts_of_one_bin_with_equal_shares_are_other_questions():
    one, other = (
        read(DOMAIN, f"SELECT COUNT(*) FROM t WHERE age IN ({ages})") for ages in ("20, 21", "22, 23")
    )
    assert one.key != other.key
    assert one.pieces[0].digest != other.pieces[0].digest
    np.testing.assert_array_equal(one.pieces[0].weights, other.pieces[0].weights)


def test_a_made_up_cut_can_neither_outweigh_the_norms_nor_fail_on_rows():
    (query,) = MeasureTarget.of("SELECT COUNT(*) FROM t WHERE age >= 33", DOMAIN).statistic.workload
    value = query.fine.value
    (cut,) = value.cuts
    table = hr.Table.open(rows(), DOMAIN)
    heavy = replace(value, base=value.base * 100)
    made = replace(query, fine=Fine(heavy, query.fine.masks))
    assert Answers(hr.Workload.of([made])).exact(Rows(table, bytes(32)))[0] <= 400 * ONE
    with pytest.raises(hr.errors.DomainMismatch):
        Cut(cut.attribute, cut.whole, cut.fine, cut.starts + 1)
    shifted = replace(cut.whole, low=cut.whole.low + 1)
    other = replace(query, fine=Fine(replace(value, cuts=(replace(cut, whole=shifted),)), query.fine.masks))
    with pytest.raises(hr.errors.DomainMismatch):
        Answers(hr.Workload.of([other])).exact(Rows(table, bytes(32)))
    cut.starts.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        cut.starts[0] = 7


@pytest.fixture(scope="module")
def released():
    """Rows that lie at the ends of their bins, released with next to no noise."""
    n = 4000
    frame = rows(n, 5)
    frame["age"] = np.where(np.arange(n) % 3 == 0, 39.0, 20.0)
    frame["old"] = np.full(n, 2.49)
    table = hr.Table.open(frame, DOMAIN)
    curator = hr.Curator(table, budget=hr.Budget(epsilon=400, delta=1e-6), ledger=":memory:")
    return frame, hr.AdaptiveRelease(epsilon=300.0).release(curator, hr.marginals(DOMAIN, 2))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM t WHERE age >= 39",
        "SELECT COUNT(*) FROM t WHERE age = 20",
        "SELECT COUNT(*) FROM t WHERE age < 21 AND sex = 'F'",
        "SELECT COUNT(*) FROM t WHERE old <= 2.4",
        "SELECT SUM(pay) FROM t WHERE age > 38",
        "SELECT AVG(age) FROM t WHERE age <> 20",
    ],
)
def test_from_tables_the_error_covers_all_of_a_bin_that_is_cut(released, text):
    frame, synopsis = released
    answer = synopsis.answer(text)
    assert answer.source == "learned"
    assert any("cuts a bin" in note and "all of its rows" in note for note in answer.notes)
    assert abs(answer.value - truth(text, frame)[0]) <= answer.error


@pytest.mark.parametrize(
    "text",
    [
        "SELECT SUM(age * age) FROM t",
        "SELECT SUM(age * old) FROM t WHERE sex = 'F'",
        "SELECT VAR_POP(age) FROM t",
        "SELECT COVAR_POP(age, pay) FROM t",
    ],
)
def test_from_tables_the_error_of_squares_covers_rows_at_the_ends_of_their_bins(released, text):
    frame, synopsis = released
    answer = synopsis.answer(text)
    assert abs(answer.value - truth(text, frame)[0]) <= answer.error < np.inf


def test_the_error_of_a_cut_count_is_the_larger_part_of_the_bin_and_noise(released):
    _, synopsis = released
    bin_ = synopsis.answer("SELECT COUNT(*) FROM t WHERE age >= 20 AND age < 40")
    cut = synopsis.answer("SELECT COUNT(*) FROM t WHERE age >= 35 AND age < 40")
    assert cut.value == pytest.approx(bin_.value / 4, rel=1e-3)
    assert 0.75 * bin_.value <= cut.error <= 0.75 * bin_.value + 3 * bin_.error + 1


def test_a_session_asked_with_an_accuracy_answers_of_rows_and_an_inner_average_cuts_what_it_likes():
    frame = rows(4000, 6)
    table = hr.Table.open(frame, DOMAIN)
    curator = hr.Curator(table, budget=hr.Budget(epsilon=500, delta=1e-6), ledger=":memory:")
    session = hr.Session(epsilon=20).open(curator)
    answer = session.ask("SELECT COUNT(*) FROM t WHERE age >= 33", within_count=40)
    want = truth("SELECT COUNT(*) FROM t WHERE age >= 33", frame)[0]
    assert answer.source == "measured"
    assert not answer.notes
    assert abs(answer.value - want) <= 2 * answer.error <= 80  # noise beyond twice its error: below 1e-15
    above = session.ask("SELECT COUNT(*) FROM t WHERE age >= (SELECT AVG(age) FROM t)", within_count=80)
    want = truth("SELECT COUNT(*) FROM t WHERE age >= (SELECT AVG(age) FROM t)", frame)[0]
    assert abs(above.value - want) < 400


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM t WHERE age > 40",
        "SELECT COUNT(*) FROM t WHERE age > 40 AND age < 61",
        "SELECT sex, COUNT(*) FROM t WHERE age > 40 GROUP BY sex",
        "SELECT MAX(n) FROM (SELECT sex, COUNT(*) AS n FROM t WHERE age > 40 GROUP BY sex) q",
    ],
)
def test_what_rows_were_asked_has_no_note_of_a_cut_and_what_was_learned_has_it(text):
    table = hr.Table.open(rows(4000, 6), DOMAIN)
    curator = hr.Curator(table, budget=hr.Budget(epsilon=500, delta=1e-6), ledger=":memory:")
    session = hr.Session(epsilon=20).open(curator)
    free, paid = session.ask(text), session.ask(text, within_count=40)
    assert (free.source, paid.source) == ("learned", "measured")
    assert any("cuts a bin" in note for note in free.notes)
    assert not any("cuts a bin" in note for note in paid.notes)
    assert not any("cuts a bin" in note for note in session.ask(text, within_count=40).notes)


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("age > 40", "40 and 60: ask >= 40 or >= 60"),
        ("age <= 40", "40 and 60: ask < 40 or < 60"),
        ("age < 33", "20 and 40: ask < 20 or < 40"),
        ("pay > 50", "50 and 2000: ask >= 50 or >= 2000"),
        ("old <= 2.5", "2.5 and 5: ask < 2.5 or < 5"),
        ("day > '2020-02-01'", "2020-02-01 and 2020-03-01: ask >= '2020-02-01' or >= '2020-03-01'"),
        ("age = 40", "40 and 60: ask BETWEEN 40 AND 59"),
    ],
)
def test_the_comparisons_that_are_advised_are_those_of_the_edges_and_cut_nothing(where, said):
    question = hr.sql(DOMAIN, f"SELECT COUNT(*) FROM t WHERE {where}")
    assert question.cut.endswith(said)
    for advised in said.split(": ask ")[1].split(" or "):
        assert not hr.sql(DOMAIN, f"SELECT COUNT(*) FROM t WHERE {where.split()[0]} {advised}").cut


def test_rows_at_the_ends_of_a_range_are_measured_and_charged_when_asked_for():
    frame = rows(4000, 6)
    table = hr.Table.open(frame, DOMAIN)
    curator = hr.Curator(table, budget=hr.Budget(epsilon=500, delta=1e-6), ledger=":memory:")
    session = hr.Session(epsilon=20).open(curator)
    for where, many in (("age <= 0", frame["age"] <= 0), ("age >= 99", frame["age"] >= 99)):
        before = curator.spent
        answer = session.ask(f"SELECT COUNT(*) FROM t WHERE {where}", within_count=40)
        assert abs(answer.value - many.sum()) <= 2 * answer.error <= 80  # beyond twice its error: below 1e-15
        assert answer.source == "measured"
        assert curator.spent.rho > before.rho


def test_groups_of_a_cut_column_are_its_declared_bins():
    question = hr.sql(DOMAIN, "SELECT age, COUNT(*) FROM t WHERE age >= 33 GROUP BY age")
    assert [labels[0] for labels in question.labels] == [
        "0-19",
        "20-39",
        "40-59",
        "60-79",
        "80-99",
        "NULL",
    ]
    month = hr.sql(DOMAIN, "SELECT day.month, COUNT(*) FROM t WHERE day > '2020-02-10' GROUP BY day.month")
    assert len(month.labels) == 12


def test_who_cannot_look_inside_a_bin_refuses_with_the_nearest_edges():
    question = hr.sql(DOMAIN, "SELECT COUNT(*) FROM t WHERE age > 33")
    assert question.cut.endswith("the nearest edges are 20 and 40: ask >= 20 or >= 40")
    with pytest.raises(hr.errors.CutsBin, match="ask >= 20 or >= 40"):
        question.evaluate(lambda names: np.zeros(DOMAIN.shape_of(names)))
    with pytest.raises(hr.errors.CutsBin, match="people are counted by whole bins"):
        hr.sql(DOMAIN, "SELECT COUNT(DISTINCT person) FROM t WHERE age > 33", unit="person")
    small = hr.Domain({"age": hr.bins(0, 40, 20, step=1)})
    budget = hr.Budget(epsilon=9, delta=1e-6)
    curator = hr.Curator(hr.Table.open(rows(), small), budget=budget, ledger=":memory:")
    with (
        hr.OnlineMW(updates=2, queries=20).open(curator) as talk,
        pytest.raises(hr.errors.CutsBin, match="ask >= 20"),
    ):
        talk.ask("SELECT COUNT(*) FROM t WHERE age > 33")


@pytest.mark.parametrize("door", ["release", "session"])
def test_quantiles_of_rows_beyond_a_cut_cover_all_of_the_bin(door):
    """Most rows are at the end of a bin that is left out; the even share of it is most of what is counted."""
    rng, n = np.random.default_rng(8), 4000
    paid = np.where(np.arange(n) % 5 < 4, 0.0, np.round(rng.uniform(20, 99, n), 2))
    domain = hr.Domain({"paid": hr.bins(0, 100, 10, step=0.01, missing=False), "sex": ["f", "m"]})
    table = hr.Table.open({"paid": paid, "sex": ["f", "m"] * (n // 2)}, domain)
    curator = hr.Curator(table, hr.Budget(20, 1e-6), ":memory:")
    ask = (
        hr.AdaptiveRelease().release(curator, hr.marginals(domain, 2)).answer
        if door == "release"
        else hr.Session().open(curator).ask
    )
    for text, q in (("MEDIAN(paid)", 0.5), ("QUANTILE_CONT(paid, 0.9)", 0.9)):
        said = ask(f"SELECT {text} FROM t WHERE paid > 0")
        assert abs(said.value - np.quantile(paid[paid > 0], q)) <= said.error
    assert ask("SELECT MEDIAN(paid) FROM t WHERE paid >= 10").error < 20.0  # which cuts nothing
