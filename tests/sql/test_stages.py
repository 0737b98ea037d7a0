"""What a statement asks of rows, what it works out, and which bounds it states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.errors import BadSQL, CutsBin, UnsupportedSQL
from hedgerow.queries.public_rows import exact_tables
from hedgerow.queries.question import Question, Result
from hedgerow.queries.sql.stages.text import sql
from hedgerow.queries.sql.stages.two_stages import TwoStages

DOMAIN = hr.Domain(
    {
        "g": ["a", "b", "c"],
        "n": hr.bins(0, 6, 1, step=1, missing=False),
        "cost": hr.bins(0, 100, 10, step=1, missing=False),
        "day": hr.dates("2024-01-01", "2025-01-01", by="month"),
    }
)
ROWS = {
    "g": ["a"] * 50 + ["b"] * 30 + ["c"] * 20,
    "n": [i % 6 for i in range(100)],
    "cost": list(range(100)),
    "day": [f"2024-{1 + i % 12:02d}-15" for i in range(100)],
}
TABLES = exact_tables(ROWS, {a: DOMAIN[a].size for a in DOMAIN}, DOMAIN)


class Held:
    """An answer with errors of a given size."""

    def __init__(self, question: Question, error: float) -> None:
        found = question.evaluate(TABLES)
        self.table = Result(
            found.columns,
            found.groups,
            found.values,
            np.full_like(found.values, error),
            0.95,
            found.show,
            found.grouped,
        )


def staged(text: str, **options: Any) -> TwoStages:
    asked = sql(DOMAIN, text, **options)
    assert isinstance(asked, TwoStages), text
    return asked


def shown(text: str, error: float = 0.0) -> tuple[Result, tuple[str, ...]]:
    made, _ = staged(text).answered(lambda questions: [Held(q, error) for q in questions])
    return made.result, made.notes


def test_what_one_question_says_stays_one_question() -> None:
    for text in ("SELECT COUNT(*) FROM t", "SELECT g, AVG(n) FROM t GROUP BY g ORDER BY g LIMIT 2"):
        assert isinstance(sql(DOMAIN, text), Question)


@pytest.mark.parametrize(
    ("text", "questions"),
    [
        ("SELECT g, COUNT(*) - SUM(n) FROM t GROUP BY g", 1),
        ("WITH a AS (SELECT g, COUNT(*) AS x FROM t GROUP BY g) SELECT MAX(x), MIN(x) FROM a", 1),
        (
            "WITH a AS (SELECT g, COUNT(*) AS x FROM t GROUP BY g) SELECT p.x FROM a p JOIN a q USING (g)",
            1,
        ),
        ("WITH never AS (SELECT COUNT(*) FROM t) SELECT g, COUNT(*) + 0 FROM t GROUP BY g", 1),
        ("SELECT COUNT(*) - SUM(n) FROM t UNION ALL SELECT AVG(n) FROM t", 1),
        ("SELECT COUNT(*) FROM t WHERE n > 2 UNION ALL SELECT COUNT(*) FROM t WHERE n > 3", 2),
        ("SELECT COUNT(*) FROM t WHERE n > (SELECT AVG(n) FROM t)", 2),
        ("SELECT DISTINCT g FROM t", 0),
        ("SELECT g, COUNT(DISTINCT n), COUNT(*) FROM t GROUP BY g", 2),
    ],
)
def test_rows_are_asked_no_more_than_is_needed(text: str, questions: int) -> None:
    assert len(staged(text).questions) == questions


def test_a_ratio_of_two_counts_is_one_number_with_its_own_error() -> None:
    part = "SUM(CASE WHEN n > 2 THEN 1 ELSE 0 END) / NULLIF(COUNT(*), 0)"
    asked = staged(f"SELECT g, ROUND(100.0 * {part}, 1) FROM t GROUP BY g")
    (question,) = asked.questions
    (aggregate,) = question.aggregates
    assert aggregate.denominator is not None
    assert asked.row_by_row


def test_bounds_are_the_image_of_the_box() -> None:
    result, _ = shown(
        "SELECT g, (COUNT(*) - 3) * 2 AS v, ABS(COUNT(*) - 25) AS w FROM t GROUP BY g ORDER BY g", error=4.0
    )
    assert result.errors[:, 0].tolist() == [8.0, 8.0, 8.0]
    assert result.errors[:, 1].tolist() == [4.0, 4.0, 4.0]
    total, _ = shown(
        "SELECT SUM(x) AS s, MAX(x) AS m FROM (SELECT g, COUNT(*) AS x FROM t GROUP BY g) q", error=4.0
    )
    assert total.errors.tolist() == [[12.0, 4.0]]
    share, _ = shown(
        "SELECT g, COUNT(*) / SUM(COUNT(*)) OVER () AS p FROM t GROUP BY g ORDER BY g", error=4.0
    )
    assert share.errors[0, 0] == pytest.approx(54 / 88 - 0.5)


def test_ranks_have_the_places_that_are_possible() -> None:
    text = "SELECT g, RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM t GROUP BY g ORDER BY g"
    assert shown(text, error=3.0)[0].errors[:, 0].tolist() == [0.0, 0.0, 0.0]
    assert shown(text, error=6.0)[0].errors[:, 0].tolist() == [0.0, 1.0, 1.0]


def test_counted_levels_lie_between_those_surely_there_and_those_that_may_be() -> None:
    text = "SELECT COUNT(DISTINCT n) AS k FROM t WHERE n < 4"
    assert shown(text, error=2.0)[0].rows == [(4.0,)]
    assert shown(text, error=2.0)[0].error == 0.0
    assert shown(text, error=20.0)[0].error == 4.0


@pytest.mark.parametrize(
    "text",
    [
        "SELECT SUM(x) AS v FROM (SELECT g, COUNT(*) AS x FROM t GROUP BY g HAVING COUNT(*) > 25) q",
        "SELECT STDDEV(x) AS v FROM (SELECT g, COUNT(*) AS x FROM t GROUP BY g) q",
        "SELECT COUNT(*) AS v FROM (SELECT g FROM t GROUP BY g ORDER BY COUNT(*) LIMIT 2) q WHERE g <> 'a'",
        "SELECT CASE WHEN COUNT(*) > 10 THEN 'many' ELSE 'few' END AS v FROM t",
    ],
)
def test_what_has_no_bound_says_so(text: str) -> None:
    result, notes = shown(text, error=1.0)
    assert not np.isfinite(result.errors).any()
    assert any("no error statement" in note and "'v'" in note for note in notes)


def test_a_missing_ratio_takes_the_bounds_of_what_is_made_of_it() -> None:
    """The truth may have a number where the released count is zero: nothing that sums over it has a bound."""
    result, _ = shown(
        "SELECT SUM(a) AS v FROM (SELECT g, AVG(n) AS a FROM t WHERE cost < 50 GROUP BY g) q", error=0.5
    )
    assert result.value == pytest.approx(np.mean([i % 6 for i in range(50)]))
    assert np.isinf(result.error)


def test_expressions_are_worked_out_on_all_that_a_level_holds() -> None:
    quarter, _ = shown("SELECT QUARTER(day) AS q, COUNT(*) - 0 AS n FROM t GROUP BY q ORDER BY q")
    assert [row[1] for row in quarter.rows] == [27.0, 25.0, 24.0, 24.0]
    with pytest.raises(CutsBin, match="differs within a bin of 'day'"):
        sql(DOMAIN, "SELECT DAYOFWEEK(day) AS d, COUNT(*) FROM t GROUP BY d")
    decades, _ = shown("SELECT cost // 20 AS c, COUNT(*) - 0 AS n FROM t GROUP BY c ORDER BY c")
    assert [row[1] for row in decades.rows] == [20.0] * 5
    with pytest.raises(CutsBin, match="differs within a bin of 'cost'"):
        sql(DOMAIN, "SELECT cost // 7 AS c, COUNT(*) FROM t GROUP BY c")


def test_groups_of_several_attributes_are_asked_value_by_value() -> None:
    key = "CASE WHEN g = 'a' AND n > 3 THEN 'x' WHEN n > 3 THEN 'y' END"
    text = f"SELECT {key} AS k, COUNT(*) AS c FROM t GROUP BY k"
    assert len(staged(text).questions) == 3
    assert dict(shown(text)[0].rows) == {"x": 16.0, "y": 16.0, "NULL": 68.0}


def test_people_and_rows_of_one_statement_are_asked_apart() -> None:
    asked = staged(
        "SELECT g, COUNT(DISTINCT who) AS p, COUNT(*) AS n, COUNT(*) / COUNT(DISTINCT who) FROM t GROUP BY g",
        unit="who",
    )
    assert [q.units for q in asked.questions] == [False, True]


def test_a_statement_inside_a_condition_waits_for_its_value() -> None:
    asked = staged("SELECT COUNT(*) FROM t WHERE n > (SELECT AVG(n) FROM t WHERE g = 'a')")
    assert asked.waits
    seen: list[list[str]] = []

    def ask(questions: Any) -> list[Held]:
        seen.append([q.text for q in questions])
        return [Held(q, 0.0) for q in questions]

    made, answers = asked.answered(ask)
    assert [len(part) for part in seen] == [1, 1]
    assert len(answers) == 2
    assert made.values == ((pytest.approx(np.mean([i % 6 for i in range(50)])),),)
    assert made.result.value == sum(1 for i in range(100) if i % 6 > 2.5)


def test_a_constant_in_an_aggregate_does_not_share_the_question_that_it_waits_for() -> None:
    """Once they did, and rows were compared with a stand-in."""
    made, _ = staged("SELECT COUNT(*) FILTER (WHERE n > (SELECT AVG(n) FROM t)) AS v FROM t").answered(
        lambda questions: [Held(q, 0.0) for q in questions]
    )
    assert made.result.value == sum(1 for i in range(100) if i % 6 > np.mean([j % 6 for j in range(100)]))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("SELECT n FROM t", "rows are never shown"),
        ("SELECT COUNT(*) FROM t WHERE n > (SELECT n FROM t)", "rows are never shown"),
        ("SELECT COUNT(*) FROM t WHERE n > (SELECT COUNT(*) FROM t GROUP BY g)", "one column and one row"),
        ("SELECT g, (SELECT COUNT(*) FROM t GROUP BY g) FROM t GROUP BY g", "one row"),
        ("SELECT COUNT(*) FROM t a, t b", "a join with rows"),
        (
            "WITH a AS (SELECT COUNT(*) AS x FROM t) SELECT COUNT(*) FROM t JOIN a ON n > x",
            "a join with rows",
        ),
        ("SELECT g FROM t GROUP BY g UNION SELECT g, COUNT(*) FROM t GROUP BY g", "same number of columns"),
        (
            "SELECT x FROM (SELECT g AS x FROM t GROUP BY g) a, (SELECT g AS x FROM t GROUP BY g) b",
            "ambiguous",
        ),
        ("SELECT COUNT(*) FROM t GROUP BY 3", "no position"),
        ("SELECT g, COUNT(*) FROM t GROUP BY g LIMIT -1", "LIMIT needs a whole number"),
        ("SELECT CAST(COUNT(*) AS BLOB) FROM t", "a cast to BLOB"),
        ("SELECT " + "(" * 30 + "1" + ")" * 30 + " FROM t", "nest"),
        ("SELECT --1 FROM t", "the SELECT list is empty"),
        (
            "SELECT COUNT(*) FROM t WHERE "
            + " AND ".join(f"n > (SELECT AVG(n) - {i} FROM t)" for i in range(9)),
            "more than 8",
        ),
    ],
)
def test_a_refusal_names_what_is_wrong(text: str, why: str) -> None:
    with pytest.raises((UnsupportedSQL, BadSQL, hr.DomainMismatch), match=why):
        sql(DOMAIN, text)


def test_counts_that_are_added_up_are_one_sum_where_no_larger_table_is_needed() -> None:
    one = staged(
        "SELECT g, COUNT(*) FILTER (WHERE n > 3) - COUNT(*) FILTER (WHERE n < 2) AS v FROM t GROUP BY g"
    )
    assert [len(q.forms) for q in one.questions] == [1]
    apart = staged("SELECT SUM(n) - SUM(cost) AS v FROM t")
    assert [len(q.forms) for q in apart.questions] == [2]
    ratio = staged(
        "SELECT (COUNT(*) FILTER (WHERE n > 3) - COUNT(*) FILTER (WHERE n < 2)) / COUNT(*) AS v FROM t"
    )
    (aggregate,) = ratio.questions[0].aggregates
    assert aggregate.denominator is not None


def test_threads_that_are_the_first_to_ask_at_once_have_one_engine(monkeypatch):
    """What one of them holds there, its next call must find."""
    from concurrent.futures import ThreadPoolExecutor
    from time import sleep

    from hedgerow.queries.sql.stages import engine as place

    class Slow(place.ReleasedEngine):
        def __init__(self) -> None:
            sleep(0.05)
            super().__init__()

    monkeypatch.setattr(place, "ReleasedEngine", Slow)
    place._engine.cache_clear()
    try:
        with ThreadPoolExecutor(8) as pool:
            made = list(pool.map(lambda _: place.engine(), range(8)))
    finally:
        place._engine.cache_clear()
    assert len({id(one) for one in made}) == 1


OPEN = hr.Domain(
    {"g": hr.Categorical(["a", "b", "c"], other=True, missing=True), "n": hr.bins(0, 6, 1, step=1)}
)


def of_open(text: str, error: float = 3.0) -> tuple[Result, tuple[str, ...]]:
    tables = exact_tables({"g": ROWS["g"], "n": ROWS["n"]}, {a: OPEN[a].size for a in OPEN}, OPEN)

    class Given:
        def __init__(self, question: Question) -> None:
            found = question.evaluate(tables)
            self.table = replace(found, errors=np.full_like(found.values, error))

    asked = sql(OPEN, text)
    assert isinstance(asked, TwoStages)
    made, _ = asked.answered(lambda questions: [Given(q) for q in questions])
    return made.result, made.notes


@pytest.mark.parametrize("kind", ["AVG", "MIN", "MEDIAN", "STDDEV"])
def test_an_average_over_groups_says_which_may_have_no_rows_and_how_to_leave_out_those_that_have_none(
    kind: str,
) -> None:
    text = "SELECT {}(k) FROM (SELECT g, COUNT(*) AS k FROM t {} GROUP BY g) q"
    assert not any(
        ", as WHERE" in note for note in of_open(text.format(kind, ""))[1]
    )  # up to three rows each
    result, notes = of_open(text.format(kind, ""), error=0.9)
    (said,) = [note for note in notes if note.startswith("Groups that may have no rows")]
    assert ": other; NULL." in said
    condition = said.split(", as WHERE ")[1].removesuffix(" does.")
    assert condition == "g <> 'other' AND g IS NOT NULL"
    better, notes = of_open(text.format(kind, f"WHERE {condition}"))
    assert not any("no rows" in note for note in notes)
    true = {"AVG": 100 / 3, "MIN": 20, "MEDIAN": 30, "STDDEV": np.std([50, 30, 20], ddof=1)}[kind]
    assert better.value == pytest.approx(true)
    assert result.value != pytest.approx(true)
    assert result.low <= true <= result.high


@pytest.mark.parametrize(
    "text",
    [
        "SELECT SUM(k), MAX(k) FROM (SELECT g, COUNT(*) AS k FROM t GROUP BY g) q",
        "SELECT g, AVG(n) + 0 FROM t GROUP BY g",
        "SELECT AVG(k) FROM (SELECT n, COUNT(*) AS k FROM t WHERE n IS NOT NULL GROUP BY n) q",
    ],
)
def test_what_empty_groups_do_not_change_says_nothing_of_them(text: str) -> None:
    assert not any("may have no rows" in note for note in of_open(text)[1])


def subsets(sure: Sequence[float], maybe: Sequence[float]) -> list[list[float]]:
    picks = product([False, True], repeat=len(maybe))
    return [[*sure, *(m for m, p in zip(maybe, pick, strict=True) if p)] for pick in picks]


@pytest.mark.parametrize("name", ["AVG", "MIN", "MAX", "MEDIAN", "SUM", "COUNT"])
@pytest.mark.parametrize("error", [0.5, 8.0, 25.0])
def test_the_error_of_groups_covers_those_that_may_be_none(name: str, error: float) -> None:
    """Of every choice of the groups that may have no rows, and of numbers at either end of their errors."""
    text = f"SELECT {name}(k) FROM (SELECT n, COUNT(*) AS k FROM t WHERE n IS NOT NULL GROUP BY n) q"
    text = text.replace("COUNT(k)", "COUNT(*)")
    counts = np.bincount(ROWS["n"], minlength=6).astype(float)
    counts = counts + np.array([0, 0, 0, 3, -1, 0])
    tables = {"n": np.append(counts, 0.0)}

    class Given:
        def __init__(self, question: Question) -> None:
            found = question.evaluate(lambda names: tables["n"])
            self.table = replace(found, errors=np.full_like(found.values, error))

    asked = sql(OPEN, text)
    assert isinstance(asked, TwoStages)
    made, _ = asked.answered(lambda questions: [Given(q) for q in questions])
    work = {"AVG": np.mean, "MIN": np.min, "MAX": np.max, "MEDIAN": np.median, "SUM": np.sum, "COUNT": len}[
        name
    ]
    for end in (-error, error):
        moved = np.maximum(counts + end, 0.0)
        sure, maybe = moved[counts > error], moved[counts <= error]
        for chosen in subsets(sure.tolist(), maybe.tolist()):
            if chosen:
                assert made.result.low - 1e-9 <= work(chosen) <= made.result.high + 1e-9
    assert np.isfinite(made.result.error) or not (counts > error).any()


def test_which_groups_are_there_is_known_through_subqueries_joins_and_unions() -> None:
    inner = "(SELECT g, COUNT(*) AS k FROM t GROUP BY g)"
    for text, true in (
        (f"SELECT AVG(k) FROM (SELECT k FROM {inner} a WHERE g <> 'c') b", (50 + 30) / 2),
        (f"WITH w AS {inner} SELECT AVG(a.k + b.k) FROM w a JOIN w b USING (g)", 200 / 3),
        (f"SELECT AVG(k) FROM (SELECT g, k FROM {inner} a UNION ALL SELECT 'z', 4) b", 104 / 4),
        (f"SELECT COUNT(*) FROM {inner} a", 3),
        ("SELECT COUNT(*) FROM (SELECT DISTINCT g FROM t) a", 3),
        (f"SELECT MAX(m) FROM (SELECT g, AVG(k) OVER () AS m FROM {inner} a) b", 100 / 3),
    ):
        result, _ = of_open(text, error=2.0)
        assert np.isfinite(result.error), text
        assert result.low <= true <= result.high, text


def test_what_lost_which_groups_are_there_has_no_error() -> None:
    inner = "(SELECT g, COUNT(*) AS k FROM t GROUP BY g)"
    text = f"SELECT AVG(k) FROM (SELECT g, k FROM {inner} a UNION SELECT g, k FROM {inner} b) c"
    assert not np.isfinite(of_open(text)[0].error)
