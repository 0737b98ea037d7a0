"""What is chosen and what SQL says are the same question."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.service.clicked import OPERATORS, Clicked

NAMES = ("sex", "age", "Marital status", 'odd "name"', "select")
names = st.sampled_from(NAMES)
values = st.one_of(st.integers(-99, 99).map(str), st.text("abc'\"-; ", min_size=1, max_size=8))


@given(
    st.sampled_from(["count", "sum", "avg", "", "DROP"]),
    st.one_of(st.just(""), names),
    st.lists(names, max_size=4),
    st.lists(st.tuples(names, st.sampled_from([*OPERATORS, "OR 1=1"]), values), max_size=4),
)
def test_choices_survive_the_way_to_sql_and_back(measure, of, groups, filters):
    made = Clicked.chosen(measure, of, groups, filters)
    again = Clicked.read(made.sql("people"), NAMES)
    stripped = Clicked.chosen(measure, of, groups, [(c, o, v.strip()) for c, o, v in filters])
    assert again == stripped


def test_what_says_more_than_can_be_chosen_is_not_shown_as_chosen():
    for sql in (
        "SELECT COUNT(*) FROM t WHERE age > 3 OR sex = 'F'",
        "SELECT COUNT(*) FROM t LIMIT 3",
        "SELECT COUNT(*), SUM(age) FROM t",
        "SELECT sex, COUNT(*) FROM t GROUP BY age",
        "SELECT COUNT(DISTINCT age) FROM t",
        "SELECT COUNT(*) FROM t WHERE age = '5'",
        "SELECT COUNT(*) FROM t ORDER BY 1",
        "SELECT COUNT(*) FROM t WHERE NOT age = 5",
        "SELECT nothing, COUNT(*) FROM t GROUP BY nothing",
        "SELECT",
        "",
    ):
        assert Clicked.read(sql, NAMES) is None, sql


def test_what_is_chosen_compiles():
    domain = hr.Domain({"sex": ["F", "M"], "age": hr.bins(0, 100, 10)})
    for measure in ("count", "avg"):
        made = Clicked.chosen(measure, "age", ["sex"], [("age", ">=", "30"), ("sex", "=", "F")])
        hr.sql(domain, made.sql("t"))
