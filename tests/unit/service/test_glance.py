"""Every level that can be chosen is a condition that SQL takes, and counts what its bar shows."""

from __future__ import annotations

import pytest

import hedgerow as hr
from hedgerow.errors import BadValue
from hedgerow.release.population import Population
from hedgerow.service.asking import Ask
from hedgerow.service.glance import Glance, condition, level
from hedgerow.service.tokens import Token
from services.server import hosted

OWNER = Token("x", "owner", "owner")


def test_every_level_is_a_condition_but_what_lies_outside_of_bins():
    domain = Population.domain()
    for name, attribute in domain.items():
        for i, label in enumerate(attribute.labels):
            made = condition(attribute, name, i)
            assert (made is None) == (label == "earlier"), label
            if made is not None:
                hr.sql(domain, f"SELECT COUNT(*) FROM t WHERE {made}")


def test_a_level_that_is_none_is_refused():
    domain = hr.Domain({"sex": ["F", "M"]})
    for index in (-1, 2, 10**9):
        with pytest.raises(BadValue):
            level(domain["sex"], "sex", index)


def test_levels_that_look_like_sql_are_values():
    name = "o'name"
    domain = hr.Domain({name: ["x' OR '1'='1", '"; DROP', "plain"]})
    for i in range(3):
        hr.sql(domain, f"SELECT COUNT(*) FROM t WHERE {condition(domain[name], name, i)}")


def test_a_level_is_chosen_to_the_blank_and_text_stays_text():
    levels = ["F", " F", "5", "5.0", "-1", "'q'"]
    domain = hr.Domain({"a": levels, "n": [5, -7], "big": hr.bins(0, 10**13 + 3, 10**12 + 1)})
    made = {n: [condition(a, n, i) for i in range(a.size)] for n, a in domain.items()}
    assert made["a"] == ["a = 'F'", "a = ' F'", "a = '5'", "a = '5.0'", "a = '-1'", "a = '''q'''"]
    assert made["n"] == ["n = 5", "n = -7"]
    assert made["big"][1] == "big >= 1000000000001 AND big < 2000000000002"
    for one in (one for conditions in made.values() for one in conditions):
        hr.sql(domain, f"SELECT COUNT(*) FROM t WHERE {one}")


def test_a_filter_counts_what_its_bar_showed(tmp_path):
    host, _ = hosted(tmp_path / "one")
    try:
        people = host.datasets["people"]
        seen = Glance.of(people, OWNER, [])
        bars = {single.name: [row["n"]["value"] for row in single.answer["rows"]] for single in seen.singles}
        for name, attribute in people.domain.items():
            for i in range(attribute.size):
                sql = f"SELECT COUNT(*) AS n FROM t WHERE {condition(attribute, name, i)}"
                assert people.free(Ask(sql), OWNER).answer.value == pytest.approx(bars[name][i])
        chosen = Glance.of(people, OWNER, [("sex", 0), ("nothing", 3)])
        assert [s.name for s in chosen.singles] == ["k"]
        assert sum(row["n"]["value"] for row in chosen.singles[0].answer["rows"]) == pytest.approx(
            bars["sex"][0]
        )
        assert 0 <= seen.pairs["sex", "k"] <= 1
    finally:
        host.close(1.0)
