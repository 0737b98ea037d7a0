"""A question that is refused offers others, and all of them are good."""

from __future__ import annotations

import pytest

import hedgerow as hr
from hedgerow.errors import BudgetExceeded, HedgerowError
from hedgerow.service.asking import Ask
from hedgerow.service.offers import nearest, word_at

DOMAIN = hr.Domain(
    {"sex": ["female", "male"], "age": hr.bins(0, 100, 10), "home town": ["Old Town", "Fenland"]}
)


def offered(sql, domain=DOMAIN):
    ask = Ask(sql)
    with pytest.raises(HedgerowError) as refused:
        ask.meant(domain, None)
    found = nearest(ask, refused.value, domain, None)
    for offer in found:
        offer.ask.meant(domain, None)
    return [offer.ask.sql for offer in found]


@pytest.mark.parametrize(
    ("sql", "first"),
    [
        ("SELECT COUNT(*) FROM t WHERE agee >= 30", "SELECT COUNT(*) FROM t WHERE age >= 30"),
        ("SELECT COUNT(*) FROM t WHERE age >= 33", "SELECT COUNT(*) FROM t WHERE age >= 30"),
        ("SELECT COUNT(*)\nFROM t\nWHERE sex = 'femal'", "SELECT COUNT(*)\nFROM t\nWHERE sex = 'female'"),
        ("SELECT COUNT(*) AS n FORM t", "SELECT COUNT(*) AS n FROM t"),
        ("SELECT age FROM t WHERE sex = 'male'",
         "SELECT age, COUNT(*) AS n FROM t WHERE sex = 'male' GROUP BY age"),
        ('SELECT COUNT(*) FROM t WHERE "hometown" = \'Fenland\'',
         'SELECT COUNT(*) FROM t WHERE "home town" = \'Fenland\''),
    ],
)  # fmt: skip
def test_the_nearest_question_comes_first(sql, first):
    assert offered(sql)[0] == first


@pytest.mark.parametrize(
    "sql", ["", "SELECT", "DROP TABLE t", "SELECT * FROM t", "SELECT ''' FROM", "SELECT a.b.c FROM t"]
)
def test_what_nothing_is_near_to_offers_nothing_that_is_wrong(sql):
    offered(sql)


def test_too_close_an_accuracy_offers_one_that_is_paid_for_and_what_is_free():
    error = BudgetExceeded("too much", needed=hr.Budget(epsilon=8), remaining=hr.Budget(epsilon=1))
    found = nearest(Ask("SELECT COUNT(*) FROM t", within_count=10), error, DOMAIN, None)
    assert [offer.ask.within_count for offer in found] == [100.0, None]
    assert not any(offer.ask.spend for offer in found)


def test_a_position_anywhere_in_a_word_finds_the_word():
    sql = "SELECT x\nFROM 'a b' t"
    assert sql[slice(*word_at(sql, (2, 8)))] == "'a b'"
    assert word_at(sql, None) is None
    assert word_at(sql, (9, 9)) is None


def test_long_statements_are_read_in_one_pass():
    """Every blank more doubled what some ways of looking for FROM took: this one would not end."""
    for sql in (f"SELECT{' ' * 9000}sex, age FROM t ORDER BY (age)", f"SELECT sex,{' FROM' * 5000} (age)"):
        offered(sql)
    assert offered(f"SELECT{' ' * 9000}age{' ' * 9000}FROM t ;\n")


def test_a_name_with_a_backslash_is_offered_as_it_is():
    domain = hr.Domain({"a\\1": hr.bins(0, 100, 10), "b": 2})
    ask = Ask('SELECT COUNT(*) FROM t WHERE "a\\1" > 33')
    with pytest.raises(HedgerowError) as refused:
        ask.meant(domain, None)
    nearest(ask, refused.value, domain, None)


def test_no_accuracy_is_offered_that_is_further_off_than_any_answer():
    error = BudgetExceeded("too much", needed=hr.Budget(epsilon=8), remaining=hr.Budget(epsilon=1))
    found = nearest(Ask("SELECT COUNT(*) FROM t", within_count=float(1 << 52)), error, DOMAIN, None)
    assert [offer.ask.within_count for offer in found] == [None]
