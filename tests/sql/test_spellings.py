"""Functions as other databases spell them are answered as DuckDB answers them in its own words."""

from __future__ import annotations

import pytest
import test_corpus
import worlds

import hedgerow as hr
from hedgerow.errors import HedgerowError, UnsupportedSQL
from hedgerow.queries.sql.stages.text import sql
from hedgerow.queries.sql.stages.two_stages import TwoStages

BY = "SELECT {} AS k, COUNT(*) AS n FROM {} GROUP BY 1 ORDER BY 1"
ONE = "SELECT {} AS x FROM {}"
PAIRS = [  # the table, the shape, what is typed, and what DuckDB calls it
    ("flights", BY, "TO_CHAR(day, 'YYYY-MM')", "STRFTIME(day, '%Y-%m')"),
    ("flights", BY, "TO_CHAR(day, 'FMDay')", "STRFTIME(day, '%A')"),
    ("flights", BY, "TO_CHAR(day, 'YYYY \"week\" IW')", "STRFTIME(day, '%Y week %V')"),
    ("flights", BY, "FORMAT_DATE('%Y-%m', day)", "STRFTIME(day, '%Y-%m')"),
    ("stays", BY, "DATE_FORMAT(admitted, '%M %Y')", "STRFTIME(admitted, '%B %Y')"),
    ("stays", BY, "DATE_FORMAT(admitted, '%Y-%m-%d')", "STRFTIME(admitted, '%Y-%m-%d')"),
    ("stays", BY, "DATE_FORMAT(admitted, '%x week %v')", "STRFTIME(admitted, '%G week %V')"),
    ("stays", BY, "DATE_TRUNC(admitted, MONTH)", "DATE_TRUNC('month', admitted)"),
    ("stays", BY, "DATE_PART(quarter, admitted)", "DATE_PART('quarter', admitted)"),
    (
        "stays",
        BY,
        "DATEDIFF(month, DATE '2021-07-01', admitted)",
        "DATE_DIFF('month', DATE '2021-07-01', admitted)",
    ),
    (
        "stays",
        BY,
        "DATE_DIFF(admitted, DATE '2021-07-01', WEEK)",
        "DATE_DIFF('week', DATE '2021-07-01', admitted)",
    ),
    (
        "stays",
        BY,
        "DATEDIFF(admitted, '2021-07-01') < 100",
        "DATE_DIFF('day', DATE '2021-07-01', admitted) < 100",
    ),
    ("stays", BY, "admitted < DATEADD(month, 3, DATE '2021-07-01')", "admitted < DATE '2021-10-01'"),
    (
        "stays",
        BY,
        "admitted < DATE_SUB(DATE '2021-12-01', INTERVAL 2 MONTH)",
        "admitted < DATE '2021-10-01'",
    ),
    (
        "stays",
        BY,
        "admitted < DATE_ADD(DATE '2021-08-01', INTERVAL 2 MONTH)",
        "admitted < DATE '2021-10-01'",
    ),
    (
        "stays",
        BY,
        "WIDTH_BUCKET(age, 20, 80, 3)",
        "CASE WHEN age < 20 THEN 0 WHEN age >= 80 THEN 4 ELSE age // 20 END",
    ),
    ("flights", BY, "IFF(arr_delay > 0, 'late', 'ok')", "IF(arr_delay > 0, 'late', 'ok')"),
    ("visits", BY, "DECODE(device, 'phone', 'm', 'tablet', 'm', 'd')", "IF(device = 'desktop', 'd', 'm')"),
    (
        "visits",
        BY,
        "DECODE(browser, NULL, 'none', 'chrome', 'c')",
        "CASE WHEN browser IS NULL THEN 'none' WHEN browser = 'chrome' THEN 'c' END",
    ),
    ("visits", BY, "NVL2(browser, 'known', 'none')", "IF(browser IS NULL, 'none', 'known')"),
    ("visits", BY, "ISNULL(browser)", "browser IS NULL"),
    ("visits", BY, "SPLIT_PART(page, 'o', 1)", "SPLIT_PART(page, 'o', 1)"),
    ("visits", BY, "STRPOS(page, 'g') > 0", "STRPOS(page, 'g') > 0"),
    (
        "flights",
        ONE,
        "ZEROIFNULL(SUM(CASE WHEN cancelled = 'yes' THEN 1 END))",
        "SUM(CASE WHEN cancelled = 'yes' THEN 1 END)",
    ),
    (
        "flights",
        ONE,
        "SAFE_DIVIDE(COUNTIF(arr_delay > 15), COUNT(*))",
        "COUNT_IF(arr_delay > 15) / COUNT(*)",
    ),
    ("flights", ONE, "DIV0(SUM(arr_delay), COUNT(*))", "SUM(arr_delay) / COUNT(*)"),
    ("flights", ONE, "TRUNC(AVG(arr_delay), 1)", "TRUNC(AVG(arr_delay) * 10) / 10"),
    ("visits", ONE, "APPROX_PERCENTILE(ms, 0.5)", "QUANTILE_CONT(ms, 0.5)"),
    ("visits", ONE, "APPROX_QUANTILES(ms, 4)[OFFSET(2)]", "QUANTILE_CONT(ms, 0.5)"),
    ("flights", ONE, "APPROX_COUNT_DISTINCT(carrier)", "COUNT(DISTINCT carrier)"),
    ("answers", ONE, "REGR_SLOPE(hours_wanted, hours)", "REGR_SLOPE(hours_wanted, hours)"),
    (
        "flights",
        "SELECT COUNT(*) AS n FROM {1} WHERE {0}",
        "carrier = ANY(ARRAY['AA', 'UA'])",
        "carrier IN ('AA', 'UA')",
    ),
    (
        "flights",
        "SELECT COUNT(*) AS n FROM {1} WHERE {0}",
        "carrier <> ALL(ARRAY['AA', 'UA'])",
        "carrier NOT IN ('AA', 'UA')",
    ),
    (
        "flights",
        "SELECT origin, {} AS p FROM {} GROUP BY origin",
        "RATIO_TO_REPORT(COUNT(*)) OVER ()",
        "COUNT(*) / SUM(COUNT(*)) OVER ()",
    ),
    (
        "flights",
        "SELECT dest, COUNT(*) AS n FROM {1} GROUP BY dest ORDER BY n DESC {0}",
        "FETCH FIRST 3 ROWS ONLY",
        "LIMIT 3",
    ),
    ("flights", BY, "DATE_TRUNC(day, MONTH)", "DATE_TRUNC('month', day)"),  # day and month are columns
    ("stays", BY, "DATEADD(month, DATEDIFF(month, 0, admitted), 0)", "DATE_TRUNC('month', admitted)"),
    ("stays", BY, "admitted < DATEADD(month, 3, '2021-07-01')", "admitted < DATE '2021-10-01'"),
    ("stays", BY, "DATENAME(weekday, admitted)", "DAYNAME(admitted)"),
    ("stays", BY, "DATEPART(weekday, admitted)", "DATE_PART('dow', admitted) + 1"),  # Sunday is 1 there
    ("stays", BY, "DATEPART(dw, admitted)", "DATE_PART('dow', admitted) + 1"),
    ("stays", BY, "DATEPART('weekday', admitted)", "DATE_PART('dow', admitted)"),
    ("stays", BY, "DATEPART(qq, admitted)", "QUARTER(admitted)"),
    ("stays", BY, "DATEPART(isowk, admitted)", "WEEK(admitted)"),
    ("stays", BY, "FORMAT(admitted, 'MMMM yyyy')", "STRFTIME(admitted, '%B %Y')"),
    ("stays", BY, "EOMONTH(admitted)", "LAST_DAY(admitted)"),
    ("flights", BY, "FORMAT_DATE('%m', DATE(day))", "STRFTIME(day, '%m')"),
    ("flights", BY, "DIV(distance, 100)", "distance // 100"),
    ("flights", ONE, "COUNT_BIG(*)", "COUNT(*)"),
    ("flights", ONE, "MIN(carrier)", "MIN(carrier)"),
    ("stays", "SELECT {} AS x FROM {} WHERE age > 60", "MAX(ward)", "MAX(ward)"),
]
WHOLE = [  # the table, a statement, and the same in DuckDB's words
    (
        "flights",
        "SELECT `origin` AS `from where`, COUNT(*) FROM `flights` GROUP BY `origin`",
        'SELECT origin AS "from where", COUNT(*) FROM flights GROUP BY origin',
    ),
    (
        "flights",
        "SELECT TOP 3 [dest], COUNT(*) AS [n] FROM [dbo].[flights] WITH (NOLOCK) GROUP BY [dest] "
        "ORDER BY [n] DESC",
        "SELECT dest, COUNT(*) AS n FROM flights GROUP BY dest ORDER BY n DESC LIMIT 3",
    ),
    (
        "flights",
        "SELECT TOP (2) dest, COUNT(*) AS n FROM dbo.flights GROUP BY dest ORDER BY n DESC",
        "SELECT dest, COUNT(*) AS n FROM flights GROUP BY dest ORDER BY n DESC LIMIT 2",
    ),
    (
        "stays",
        "SELECT ward, sex, COUNT(*) FROM stays GROUP BY ward, sex WITH ROLLUP",
        "SELECT ward, sex, COUNT(*) FROM stays GROUP BY ROLLUP (ward, sex)",
    ),
]
REFUSED = {
    "SELECT GROUP_CONCAT(DISTINCT region) FROM answers": "never shown; group by the column",
    "SELECT MAX(admitted) FROM stays": "group by it, and count",
    "SELECT FORMAT(admitted, 'q') AS q, COUNT(*) FROM stays GROUP BY 1": "the format of FORMAT",
    "SELECT FORMAT(admitted, 'd') AS q, COUNT(*) FROM stays GROUP BY 1": "the format of FORMAT",
    "SELECT DATE_FORMAT(admitted, '%X %V') AS q, COUNT(*) FROM stays GROUP BY 1": "ISO 8601",
    "SELECT DATEDIFF(admitted) AS q, COUNT(*) FROM stays GROUP BY 1": "DATEDIFF takes 2 or 3 arguments",
    "SELECT DATENAME(eon, admitted) AS q, COUNT(*) FROM stays GROUP BY 1": "DATENAME is supported of",
    "SELECT DATEPART(wk, admitted) AS q, COUNT(*) FROM stays GROUP BY 1": "ISO 8601",
    "SELECT ANY_VALUE(region) FROM answers": "rows are never shown",
    "SELECT COUNT(*) FROM stays WHERE admitted < CURRENT_DATE": "write a date",
    "SELECT TO_CHAR(day, 'YYYY-Q') AS q, COUNT(*) FROM flights GROUP BY 1": "in the format of TO_CHAR",
    "SELECT DATE_FORMAT(admitted, '%H:%i') AS h, COUNT(*) FROM stays GROUP BY 1": "whole days",
    "SELECT IFF(arr_delay > 0, 1) AS k, COUNT(*) FROM flights GROUP BY 1": "takes 3 arguments",
    "SELECT DATEDIFF('eon', DATE '2021-07-01', admitted) AS k, COUNT(*) FROM stays GROUP BY 1": "a part of",
    "SELECT dest, COUNT(*) AS n FROM flights GROUP BY 1 ORDER BY n FETCH FIRST 3 ROWS WITH TIES": "WITH TIES",
}


@pytest.mark.parametrize(("world", "shape", "typed", "meant"), PAIRS, ids=[p[2][:40] for p in PAIRS])
def test_what_others_call_a_function_is_understood(world: str, shape: str, typed: str, meant: str) -> None:
    asked = worlds.Statement(world, "spellings", shape.format(typed, world), ())
    exact = test_corpus.duck(world).execute(shape.format(meant, world)).fetchall()
    assert worlds.agree(test_corpus.answer(asked), exact, worlds.ordered(asked.text))


@pytest.mark.parametrize(("world", "typed", "meant"), WHOLE, ids=[w[1][:40] for w in WHOLE])
def test_how_others_quote_and_limit_is_understood(world: str, typed: str, meant: str) -> None:
    exact = test_corpus.duck(world).execute(meant).fetchall()
    given = test_corpus.answer(worlds.Statement(world, "spellings", typed, ()))
    assert worlds.agree(given, exact, worlds.ordered(meant))


def test_the_ends_of_text_are_said_to_be_declared() -> None:
    world = worlds.world("stays")
    asked = sql(world.domain, "SELECT MIN(ward), MAX(ward) AS b FROM stays")
    assert isinstance(asked, TwoStages)
    answer = asked.answered(lambda questions: [])[0]
    assert answer.result.columns == ("MIN(ward)", "b")
    assert answer.result.groups == (("cardiology", "surgery"),)
    assert any("declared levels" in note for note in answer.notes)


def test_the_ends_of_text_with_other_values_are_not_known() -> None:
    domain = hr.Domain({"cut": hr.Categorical(["Fair", "Ideal"], other=True)})
    with pytest.raises(UnsupportedSQL, match="group by it, and count"):
        sql(domain, "SELECT MAX(cut) FROM t")


@pytest.mark.parametrize("text", REFUSED)
def test_what_has_no_answer_is_refused_in_a_sentence(text: str) -> None:
    world = next(w for w in ("answers", "stays", "flights") if f"FROM {w}" in text)
    with pytest.raises(UnsupportedSQL, match=REFUSED[text]):
        test_corpus.answer(worlds.Statement(world, "spellings", text, ()))


def test_the_group_without_a_value_is_named_by_what_was_typed() -> None:
    world = worlds.world("visits")
    asked = sql(world.domain, "SELECT UPPER(browser) AS b, COUNT(*) AS n FROM visits GROUP BY 1")
    assert isinstance(asked, TwoStages)
    notes = [note for question in asked.questions for note in question.notes]
    assert "NULL is the group of rows without a value of UPPER(browser)." in notes


@pytest.mark.parametrize(
    "inner",
    [
        lambda x: f"WIDTH_BUCKET({x}, 0, 10, 5)",
        lambda x: f"DECODE({x}, {', '.join(f'{i}, {i + 1}' for i in range(20))})",
        lambda x: f"RATIO_TO_REPORT({x}) OVER ()",
    ],
)
def test_functions_within_one_another_do_not_grow_without_end(inner):
    text = "COUNT(*)"
    for _ in range(14):
        text = inner(text)
    with pytest.raises(UnsupportedSQL):
        sql(worlds.world("visits").domain, f"SELECT {text} FROM visits")


@pytest.mark.parametrize("call", ["APPROX_QUANTILE(ms)", "WIDTH_BUCKET(COUNT(*))", "REGR_SLOPE(ms)"])
def test_a_missing_argument_is_refused_in_a_sentence(call):
    with pytest.raises(HedgerowError):
        sql(worlds.world("visits").domain, f"SELECT {call} FROM visits")
