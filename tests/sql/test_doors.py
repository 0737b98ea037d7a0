"""Statements in two stages at every door: a synopsis, a session, a run, the service, the command line."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import hedgerow as hr
from hedgerow.errors import BadValue, BudgetExceeded, UnsupportedQuery
from hedgerow.queries.staged import Staged
from hedgerow.serve.cli.commands import app
from hedgerow.service import wire
from hedgerow.service.asking import Ask, Desk

ROWS = 2_000
SHARE = (
    "SELECT g, COUNT(*) AS n, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS percent "
    "FROM t GROUP BY g ORDER BY g"
)
INNER = "SELECT g, COUNT(*) AS n FROM t WHERE n > (SELECT AVG(n) FROM t) GROUP BY g"
TWO = "SELECT g, COUNT(*) AS n FROM t GROUP BY g UNION ALL SELECT h, COUNT(*) FROM t GROUP BY h"


@pytest.fixture(scope="module")
def domain() -> hr.Domain:
    return hr.Domain({"g": ["a", "b", "c"], "h": ["x", "y"], "n": hr.bins(0, 10, 1, step=1, missing=False)})


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "g": rng.choice(["a", "b", "c"], ROWS),
            "h": rng.choice(["x", "y"], ROWS),
            "n": rng.integers(0, 10, ROWS),
        }
    )


@pytest.fixture
def curator(domain: hr.Domain, frame: pd.DataFrame) -> Iterator[hr.Curator]:
    with hr.testing.seeded(1):
        yield hr.Curator(hr.Table.open(frame, domain), hr.Budget(epsilon=3.0, delta=1e-6), ":memory:")


@pytest.fixture
def session(curator: hr.Curator) -> Iterator[object]:
    with hr.Session(epsilon=1.0).open(curator) as opened:
        yield opened


def exact(frame: pd.DataFrame, text: str) -> list[tuple[object, ...]]:
    import duckdb

    connection = duckdb.connect()
    connection.register("t", frame)
    return list(connection.execute(text).fetchall())


def test_a_synopsis_answers_with_bounds_for_all_numbers_at_once(curator, domain, frame) -> None:
    synopsis = hr.AdaptiveRelease(epsilon=2.0).release(curator, hr.marginals(domain, 2))
    answer = synopsis.answer(SHARE, simultaneous=True)
    assert answer.simultaneous
    assert not synopsis.answer(SHARE).simultaneous
    assert (synopsis.answer(SHARE).error < answer.error).all()
    assert answer.table.columns == ("g", "n", "percent")
    truth = np.array([row[1:] for row in exact(frame, SHARE)])
    assert (np.abs(answer.table.values - truth) <= answer.table.errors).all()
    assert np.isfinite(answer.table.errors).all()
    again = synopsis.answer(hr.sql(domain, SHARE))
    assert np.array_equal(again.value, answer.value)


def test_a_statement_that_works_row_by_row_has_errors_of_each_number(curator, domain) -> None:
    synopsis = hr.AdaptiveRelease(epsilon=2.0).release(curator, hr.marginals(domain, 2))
    each = synopsis.answer("SELECT g, ROUND(COUNT(*), 3) AS n FROM t GROUP BY g")
    direct = synopsis.answer("SELECT g, COUNT(*) AS n FROM t GROUP BY g")
    assert not each.simultaneous
    assert np.allclose(each.error, direct.error, atol=2e-3)


def test_a_session_answers_and_says_the_same_again_free(session) -> None:
    first = session.ask(SHARE)
    again = session.ask(SHARE)
    assert not first.cached
    assert again.cached
    assert np.array_equal(first.value, again.value)
    assert first.cost is None
    several = session.ask(["SELECT COUNT(*) FROM t", SHARE])
    assert np.array_equal(several[1].value, first.value)


def test_an_inner_aggregate_is_charged_first_and_its_released_value_is_used(session, curator) -> None:
    before = curator.spent.cost
    answer = session.ask(INNER, within_count=100)
    assert answer.cost is not None
    assert float((curator.spent.cost - before).amount) == pytest.approx(float(answer.cost.cost.amount))
    (note,) = [n for n in answer.notes if "released first" in n]
    released = float(note.split(" as ")[1].split(":")[0])
    assert 0 < released < 10
    direct = session.ask(
        f"SELECT g, COUNT(*) AS n FROM t WHERE n > {int(released)} GROUP BY g", within_count=100
    )
    assert np.abs(direct.value - answer.value).max() <= 200


def test_questions_of_one_statement_are_refused_together_before_any_is_paid(session, curator) -> None:
    alone = session.explain("SELECT g, COUNT(*) AS n FROM t GROUP BY g", within_count=8, confidence=0.9995)
    assert alone.affordable
    before = curator.spent
    with pytest.raises(BudgetExceeded, match="together") as refused:
        session.ask(TWO, within_count=8)
    assert curator.spent == before
    assert refused.value.needed is not None
    assert not session.explain(TWO, within_count=8).affordable


def test_explaining_costs_nothing_and_bounds_what_asking_costs(session, curator) -> None:
    before = curator.spent
    said = session.explain(TWO, within_count=100)
    assert curator.spent == before
    assert "2 questions" in said.words
    answer = session.ask(TWO, within_count=100)
    assert answer.cost is not None
    assert answer.cost.cost <= said.cost.cost
    assert session.explain("SELECT DISTINCT g FROM t").cost.cost.is_zero


def test_declared_levels_are_free_and_say_that_they_are_declared(session, curator) -> None:
    before = curator.spent
    answer = session.ask("SELECT DISTINCT g FROM t", within_count=1)
    assert list(answer.table.rows) == [("a",), ("b",), ("c",)]
    assert curator.spent == before
    assert "declared levels" in answer.notes[0]


def test_a_run_of_online_weights_answers_too(curator) -> None:
    with hr.OnlineMW(epsilon=1.0, updates=5).open(curator) as run:
        answer = run.ask(SHARE)
    assert answer.simultaneous
    assert len(answer.table) == 3


def test_parameters_are_values_and_never_text(domain, session) -> None:
    text = "SELECT COUNT(*) AS n FROM t WHERE g = ? AND n >= ?"
    bound = session.ask(hr.sql(domain, text, params=["a", 3]))
    typed = session.ask("SELECT COUNT(*) AS n FROM t WHERE g = 'a' AND n >= 3")
    assert bound.value == pytest.approx(typed.value)
    numbered = session.ask(
        hr.sql(domain, "SELECT COUNT(*) AS n FROM t WHERE n >= $2 AND g = $1", params=["a", 3])
    )
    assert numbered.value == pytest.approx(typed.value)
    with pytest.raises(hr.DomainMismatch, match="not a declared level"):
        hr.sql(domain, text, params=["a' OR 'x' = 'x", 3])
    for wrong in ([], ["a"], ["a", 1, 2]):
        with pytest.raises(BadValue, match="parameters"):
            hr.sql(domain, text, params=wrong)
    for value in ([1], object(), float("nan"), 1e300, b"a"):
        with pytest.raises(BadValue, match="parameter 2"):
            hr.sql(domain, text, params=["a", value])
    with pytest.raises(BadValue):
        hr.sql(domain, text, params="ab")
    with pytest.raises(UnsupportedQuery):
        hr.sql(domain, "SELECT COUNT(*) FROM t WHERE g = :name", params=["a"])
    assert isinstance(hr.sql(domain, text, params=[np.str_("a"), np.int64(3)]), Staged)
    with pytest.raises(UnsupportedQuery, match="compared"):
        hr.sql(domain, text, params=["a", dt.date(2024, 1, 1)])


def test_the_service_binds_parameters_and_knows_a_request_by_them(session, curator) -> None:
    desk = Desk(session, curator)
    given = Ask.of({"sql": "SELECT COUNT(*) AS n FROM t WHERE g = ?", "params": ["a"], "request": "r1"})
    first = wire.answered(desk.ask(given))
    assert first["rows"][0]["n"]["low"] <= first["rows"][0]["n"]["value"]
    assert wire.answered(desk.ask(given))["rows"] == first["rows"]
    with pytest.raises(hr.errors.RequestReused):
        desk.ask(Ask.of({"sql": "SELECT COUNT(*) AS n FROM t WHERE g = ?", "params": ["b"], "request": "r1"}))
    with pytest.raises(BudgetExceeded, match="asked not to spend"):
        desk.ask(Ask(TWO, within_count=20))


def test_numbers_without_a_bound_say_so_on_the_wire(session, curator) -> None:
    given = Desk(session, curator).ask(
        Ask("SELECT SUM(n) AS s FROM (SELECT g, COUNT(*) AS n FROM t GROUP BY g HAVING COUNT(*) > 5) q")
    )
    row = wire.answered(given)["rows"][0]["s"]
    assert row["error"] is None
    assert "low" not in row
    assert any("no error statement" in note for note in given.answer.notes)


def test_the_command_line_queries_in_two_stages(curator, domain, tmp_path: Path) -> None:
    synopsis = hr.AdaptiveRelease(epsilon=2.0).release(curator, hr.marginals(domain, 2))
    synopsis.save(tmp_path / "out.hedgerow")
    run = CliRunner()
    told = run.invoke(app, ["query", str(tmp_path / "out.hedgerow"), SHARE, "--json"])
    assert told.exit_code == 0, told.output
    assert [row["g"] for row in json.loads(told.stdout)["rows"]] == ["a", "b", "c"]
    shown = run.invoke(app, ["query", str(tmp_path / "out.hedgerow"), "SELECT DISTINCT g FROM t"])
    assert "Error bounds" not in shown.output
    refused = run.invoke(app, ["query", str(tmp_path / "out.hedgerow"), "SELECT * FROM t"])
    assert refused.exit_code != 0


def test_a_workload_of_a_statement_is_the_queries_behind_it(domain) -> None:
    assert len(hr.Workload.of([TWO], domain)) == 5
    with pytest.raises(UnsupportedQuery, match="two stages"):
        hr.Workload.of([INNER], domain)


@pytest.mark.parametrize(
    ("text", "advice", "position"),
    [
        ("SELECT COUNT(*) FRM t", "did you mean FROM where it says FRM?", (1, 21)),
        ("SELECT COUNT(*) FROM t\nWHER g = 'x'", "did you mean WHERE where it says WHER?", (2, 6)),
        ("SELECT g, COUNT(*) FROM t GROUP BY g HAVIN COUNT(*) > 3", "did you mean HAVING", (1, 38)),
        ("SELECT COUNT(*) FROM t WHERE n BETWEN 5 AND 10", "did you mean BETWEEN", (1, 32)),
        ("SELECT COUNT(* FROM t", "a ( is not closed", (1, 16)),
        ("SELECT COUNT(*)) FROM t", "there is a ) too many", (1, 16)),
        ("SELECT COUNT(*) FROM t WHERE g == = 'x'", "SELECT COUNT(*) FROM t WHERE column = 'level'", (1, 35)),
    ],
)
def test_what_no_parser_reads_is_refused_with_what_to_do(
    domain, text: str, advice: str, position: tuple[int, int]
) -> None:
    with pytest.raises(hr.errors.BadSQL, match="cannot be read near line") as refused:
        hr.sql(domain, text)
    assert advice in str(refused.value)
    assert refused.value.position == position


@pytest.mark.parametrize(
    ("text", "said", "position"),
    [
        ("SELECT g FROM t\nWHERE h = 'X'\nGROUP BY g HAVING COUNT(*) > 1", "did you mean 'x'?", (2, 12)),
        ("SELECT gg, COUNT(*) FROM t GROUP BY gg HAVING COUNT(*) > 1", "did you mean 'g'?", (1, 8)),
        ("SELECT g, FROBNICATE(n) FROM t GROUP BY g", "FROBNICATE is not supported", (1, 11)),
        ("SELECT q.m FROM (SELECT g, COUNT(*) AS nn FROM t GROUP BY g) q", "no column 'm'", (1, 10)),
        ("SELECT g FROM t WHERE COUNT(*) > 3 GROUP BY g", "HAVING", (1, 17)),
        (
            "SELECT g, COUNT(*) FROM t GROUP BY h HAVING COUNT(*) > 1",
            "'g' is in SELECT but not in GROUP BY",
            (1, 8),
        ),
    ],
)
def test_refusals_use_the_words_that_were_typed_and_say_where(
    domain, text: str, said: str, position: tuple[int, int]
) -> None:
    with pytest.raises(hr.HedgerowError) as refused:
        hr.sql(domain, text)
    assert said in str(refused.value)
    assert refused.value.position == position


def test_groups_of_numbers_with_an_other_level_are_shown_by_name():
    domain = hr.Domain({"k": hr.Categorical([0, 1], other=True), "b": hr.Categorical([True], other="rest")})
    rows = {"k": [0, 1, 5, 5, 7] * 200, "b": [True, False] * 500}
    curator = hr.Curator(hr.Table.open(rows, domain), hr.Budget(epsilon=100, delta=1e-9), ":memory:")
    synopsis = hr.GaussianBaseline().release(curator, hr.marginals(domain, 1))
    having = "SELECT k, COUNT(*) AS n FROM t GROUP BY k HAVING COUNT(*) > 250 ORDER BY n DESC"
    assert [row[0] for row in synopsis.answer(having).table.rows] == ["other"]
    ranked = "SELECT b, RANK() OVER (ORDER BY COUNT(*)) AS place FROM t GROUP BY b"
    assert {row[0] for row in synopsis.answer(ranked).table.rows} == {"true", "rest"}


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("coded = 'yes'", "'yes' is not a declared level of 'coded'; there are 0, 1$"),
        ("coded IN ('yes', 'no')", "'yes' is not a declared level of 'coded'; there are 0, 1$"),
        ("month = 2", "^2 is not a declared level of 'month'; there are 1, 4, 12$"),
        ("years = 1980", "they go from 1995 to 2044, and next to it is 1995$"),
        ("years = 2010.5", "they go from 1995 to 2044, and next to it are 2010 and 2011$"),
        ("sample.yr = 1997", 'names with dots are written in double quotes, "sample.yr"'),
    ],
)
def test_refusals_of_numbers_and_of_names_with_dots_say_what_there_is(where: str, said: str) -> None:
    domain = hr.Domain(
        {
            "coded": hr.Categorical([0, 1], other=True),
            "month": hr.Categorical([1, 4, 12], other=True),
            "years": hr.Categorical(range(1995, 2045), other=True),
            "sample.yr": hr.Categorical([1997, 1998]),
        }
    )
    with pytest.raises(hr.DomainMismatch, match=said):
        hr.sql(domain, f"SELECT COUNT(*) FROM t WHERE {where}")
    assert hr.sql(domain, "SELECT COUNT(*) FROM t WHERE \"sample.yr\" = 1997 AND coded = '1'").forms


@pytest.mark.parametrize(
    ("where", "write"),
    [
        ("age BETWEEN 80 AND 60", "age BETWEEN 60 AND 80"),
        ("NOT (g = 'a' OR kids BETWEEN 3 AND 1)", "kids BETWEEN 1 AND 3"),
        ("day BETWEEN '2024-03-01' AND DATE '2024-02-01'", "day BETWEEN '2024-02-01' AND '2024-03-01'"),
        ("g BETWEEN 'b' AND 'a'", "g BETWEEN 'a' AND 'b'"),
        ("age BETWEEN 60 AND 80", None),
        ("age BETWEEN 60 AND 60", None),
        ("age BETWEEN NULL AND 60", None),
    ],
)
def test_a_range_from_its_end_to_its_begin_says_so(where: str, write: str | None) -> None:
    domain = hr.Domain(
        {
            "g": ["a", "b"],
            "age": hr.bins(0, 100, 10, step=1, missing=False),
            "kids": hr.Categorical([0, 1, 2, 3], other=True),
            "day": hr.Dates("2024-01-01", "2024-12-31", by="month"),
        }
    )
    notes = hr.sql(domain, f"SELECT COUNT(*) FROM t WHERE {where}").notes
    said = [n for n in notes if "the wrong way round" in n]
    assert len(said) == (write is not None)
    assert not said or said[0].endswith(f"write {write}")


def test_columns_may_be_called_like_statements_that_are_never_accepted() -> None:
    domain = hr.Domain({"alter": hr.bins(0, 100, 10, step=1, missing=False), "force": ["x", "y"]})
    asked = hr.sql(domain, "SELECT force, AVG(alter) FROM t WHERE alter >= 30 GROUP BY force")
    assert "force" in str(asked.columns)
    with pytest.raises(hr.errors.UnsupportedSQL, match="starts with DROP"):
        hr.sql(domain, "DROP TABLE t")


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("SELECT MODE(g) FROM t", "count by group and take the largest"),
        ("SELECT COUNT(*) FROM t WHERE code || 'x'", "is no condition: compare it, like"),
        ("SELECT AVG(SQRT(real)) FROM t", "combine averages instead, or declare a step"),
        ("SELECT AVG(big / n) FROM t", "combine averages, or declare a coarser step"),
        ("SELECT AVG(SQRT(held)) FROM t", "compare the column by itself, like held <="),
    ],
)
def test_expressions_that_are_not_known_of_all_rows_say_what_to_ask_instead(text: str, advice: str) -> None:
    domain = hr.Domain(
        {
            "g": ["a", "b"],
            "code": ["1", "n.a."],
            "real": hr.bins(0, 10, 1),
            "big": hr.bins(0, 1e6, 1e5, step=0.01),
            "n": hr.bins(1, 10, 1, step=1, missing=False),
            "held": hr.Categorical([1, 2], other="rest"),
        }
    )
    with pytest.raises(hr.errors.UnsupportedQuery) as refused:
        hr.sql(domain, text)
    assert advice in str(refused.value)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("SELECT AVG(a / b) FROM t", "more than 262,144: combine averages, like AVG(a) / AVG(b), or declare"),
        ("SELECT COUNT(*) FROM t WHERE a > b", "more than 262,144: declare coarser steps"),
    ],
)
def test_numbers_of_too_many_steps_to_be_compared_are_not_to_be_averaged(text: str, advice: str) -> None:
    domain = hr.Domain({"a": hr.bins(0, 1000, 100, step=1), "b": hr.bins(0, 1000, 100, step=1)})
    with pytest.raises(hr.errors.RangeTooLarge) as refused:
        hr.sql(domain, text)
    assert advice in str(refused.value)


@pytest.mark.parametrize("text", ["SELECT COUNT(*) FROM t GROUP BY", f"SELECT * FROM ({INNER} BY) AS x"])
def test_group_by_nothing_is_not_read_as_no_group_by(text: str) -> None:
    text = text.replace("GROUP BY g BY", "GROUP BY")
    with pytest.raises(hr.errors.BadSQL, match="GROUP BY needs columns after it"):
        hr.sql(hr.Domain({"g": ["a", "b"], "n": hr.bins(0, 10, 1)}), text)


def test_a_cast_says_of_which_levels_it_makes_nothing() -> None:
    domain = hr.Domain({"code": ["1", "2", "n.a.", "k.A.", "-", "?"]})
    asked = hr.sql(domain, "SELECT AVG(CAST(code AS INTEGER)) FROM t")
    notes = [n for q in asked.questions for n in q.notes]
    assert notes == [
        "CAST(code AS INT) makes nothing of 'n.a.', 'k.A.', '-' and 1 more: rows of such levels count as NULL"
    ]
    fine = hr.sql(hr.Domain({"code": ["1", "2"]}), "SELECT AVG(CAST(code AS INTEGER)) FROM t")
    assert [n for q in fine.questions for n in q.notes] == []


ODD = hr.Domain(
    {
        "age": hr.bins(0, 100, 10, step=1, missing=False),
        "kids": hr.bins(0, 3, 1, step=1, missing=False),
        "paid": hr.Categorical([0, 1], other="other"),
        "rated": hr.Categorical([1, 2, 3], other="other"),
        "sure": hr.Categorical([False, True], other="other", format="boolean"),
        "day": hr.Dates("2024-01-01", "2025-01-01", by="day", format="%d.%m.%Y"),
    }
)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("paid", "paid = 1"),
        ("NOT paid", "paid = 0 OR paid = 'other'"),
        ("paid = TRUE", "paid = 1"),
        ("paid = FALSE", "paid = 0"),
        ("sure = 'no'", "sure = FALSE"),
        ("sure IN ('Yes', 'y')", "sure"),
        ("sure = 1", "sure = TRUE"),
        ("rated = 'other'", "NOT rated IN (1, 2, 3)"),
        ("day >= '01.02.2024'", "day >= '2024-02-01'"),
        ("STRFTIME('%Y-%m', day) = '2024-03'", "STRFTIME(day, '%Y-%m') = '2024-03'"),
    ],
)
def test_conditions_may_be_written_as_in_the_file_or_as_programs_write_them(text: str, same: str) -> None:
    asked, meant = (hr.sql(ODD, f"SELECT COUNT(*) FROM t WHERE {w}") for w in (text, same))
    forms = [[f for q in getattr(a, "questions", [a]) for f in q.forms] for a in (asked, meant)]
    for a, b in zip(*forms, strict=True):
        assert a.attributes == b.attributes
        np.testing.assert_array_equal(a.weights(), b.weights())


def test_values_of_bins_are_not_counted_as_if_they_were_bins() -> None:
    with pytest.raises(hr.errors.UnsupportedSQL, match="how many values of a bin") as refused:
        hr.sql(ODD, "SELECT COUNT(DISTINCT age) FROM t")
    hr.sql(ODD, str(refused.value).rpartition("count its bins, ")[2])
    hr.sql(ODD, "SELECT COUNT(DISTINCT kids) FROM t")
    hr.sql(ODD, "SELECT COUNT(DISTINCT day) FROM t")


@pytest.mark.parametrize(
    "text", ["SELECT COUNT(*) FROM t LIMIT 0", "SELECT paid, COUNT(*) FROM t GROUP BY 1 LIMIT 0"]
)
def test_nothing_may_be_asked_for(text: str) -> None:
    rows = {"age": [5], "kids": [1], "paid": [1], "rated": [2], "sure": ["yes"], "day": ["01.02.2024"]}
    curator = hr.Curator(hr.Table.open(rows, ODD), hr.Budget(1, 1e-9), ":memory:")
    made = hr.AdaptiveRelease().release(curator, hr.marginals(ODD, 1))
    assert made.answer(text).table.rows == []


def test_a_note_about_other_levels_says_what_leaves_them_out() -> None:
    (note,) = hr.sql(ODD, "SELECT COUNT(*) FROM t WHERE rated >= 2").notes
    assert "name the levels (IN) to leave them out" in note
    assert hr.sql(ODD, "SELECT COUNT(*) FROM t WHERE rated IN (2, 3)").notes == ()
