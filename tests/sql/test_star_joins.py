"""JOIN ... ON the declared keys of a star schema: the plain statement, or a refusal."""

from __future__ import annotations

import json

import pytest

import hedgerow as hr
from hedgerow.errors import DomainMismatch, HedgerowError, UnsupportedSQL
from hedgerow.serve.wire.plans import plan
from hedgerow.testing import seeded

PATIENTS = hr.JoinedTable(
    "patients", {"person": [1, 2, 3], "sex": ["F", "M", "F"]}, key="person", on="person"
)
CODES = hr.JoinedTable(
    "codes", {"code": ["I10", "J45"], "chapter": ["heart", "lung"]}, "code", "icd", public=True
)
VISITS = {
    "person": [1, 1, 2, 3, 3, 9],
    "ward": ["a", "b", "a", "a", "b", "b"],
    "icd": ["I10", "J45", "I10", "?", "J45", "I10"],
}
DOMAIN = hr.Domain(
    {
        "ward": ["a", "b"],
        "sex": {"levels": ["F", "M"], "missing": True},
        "chapter": {"levels": ["heart", "lung"], "other": True},
    },
    lookups={"wards": [{"ward": "a", "title": "Alpha"}, {"ward": "b", "title": "Beta"}]},
    tables=[PATIENTS, CODES],
)


def answers(text: str) -> dict[str, object]:
    """What a session says with the same seed: numbers, errors, columns."""
    with seeded(7):
        star = hr.StarEngine(VISITS, "person", [PATIENTS, CODES])
        table = hr.Table.open(star, DOMAIN, unit="person", max_rows=2)
        curator = hr.Curator(table, hr.Budget(epsilon=50, delta=1e-6), ledger=":memory:")
        answer = hr.Session().open(curator).ask(hr.sql(DOMAIN, text, unit="person"))
    return {"table": repr(answer.table), "cost": repr(answer.cost), "notes": answer.notes}


@pytest.mark.parametrize(
    ("joined", "plain"),
    [
        (
            "SELECT p.sex, COUNT(*) AS n FROM visits v LEFT JOIN patients p ON v.person = p.person "
            "LEFT JOIN codes ON icd = code WHERE codes.chapter = 'heart' GROUP BY p.sex",
            "SELECT sex, COUNT(*) AS n FROM visits WHERE chapter = 'heart' GROUP BY sex",
        ),
        (
            "SELECT COUNT(*) AS n FROM visits LEFT JOIN patients USING (person) WHERE patients.sex = 'F'",
            "SELECT COUNT(*) AS n FROM visits WHERE sex = 'F'",
        ),
        (
            "SELECT COUNT(*) AS n FROM t v LEFT OUTER JOIN codes c ON (c.code) = (v.icd) WHERE v.ward = 'a'",
            "SELECT COUNT(*) AS n FROM t WHERE ward = 'a'",
        ),
        (
            "SELECT ward, COUNT(*) AS n FROM t v LEFT JOIN patients USING (person) GROUP BY ward "
            "HAVING COUNT(*) > 1 ORDER BY ward",
            "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward HAVING COUNT(*) > 1 ORDER BY ward",
        ),
        (
            "SELECT w.title, COUNT(*) AS n FROM t v LEFT JOIN patients p USING (person) "
            "JOIN wards w ON v.ward = w.ward WHERE p.sex = 'M' GROUP BY w.title ORDER BY 1",
            "SELECT w.title, COUNT(*) AS n FROM t v JOIN wards w ON v.ward = w.ward WHERE sex = 'M' "
            "GROUP BY w.title ORDER BY 1",
        ),
    ],
)
def test_a_join_on_declared_keys_is_the_plain_statement(joined, plain):
    assert answers(joined) == answers(plain)


@pytest.mark.parametrize(
    "joined",
    [
        "SELECT COUNT(*) AS n FROM visits v JOIN patients p ON v.person = p.person WHERE p.sex = 'F'",
        "SELECT COUNT(*) AS n FROM patients p INNER JOIN visits v ON p.person = v.person WHERE p.sex = 'F'",
    ],
)
def test_join_counts_what_left_join_counts_and_says_so(joined):
    found, plain = answers(joined), answers("SELECT COUNT(*) AS n FROM visits WHERE sex = 'F'")
    said = [note for note in found.pop("notes") if "no row in patients" in note]
    plain.pop("notes")
    assert found == plain
    assert len(said) == 1


def test_parameters_and_people_are_asked_over_a_join():
    text = (
        "SELECT COUNT(DISTINCT p.person) AS n FROM t v JOIN patients p ON p.person = v.person WHERE p.sex = ?"
    )
    plain = "SELECT COUNT(DISTINCT person) AS n FROM t WHERE sex = ?"
    found, expected = (hr.sql(DOMAIN, t, unit="person", params=["F"]) for t in (text, plain))
    for one, other in zip(found.questions, expected.questions, strict=True):
        assert one.units
        assert other.units
        assert one.attributes == other.attributes
        assert [f.weights().tolist() for f in one.forms] == [f.weights().tolist() for f in other.forms]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("SELECT COUNT(*) FROM visits v JOIN patients p ON v.doctor = p.person", "declared key"),
        ("SELECT COUNT(*) FROM visits v JOIN patients p ON v.person = p.age", "declared key"),
        ("SELECT COUNT(*) FROM visits v JOIN patients p ON v.person < p.person", "declared key"),
        (
            "SELECT COUNT(*) FROM visits v JOIN patients p ON v.person = p.person AND p.sex = 'F'",
            "declared key",
        ),
        ("SELECT COUNT(*) FROM visits v JOIN patients p ON person = person", "declared key"),
        ("SELECT COUNT(*) FROM visits v JOIN codes c USING (code)", "declared key"),
        ("SELECT COUNT(*) FROM visits v, patients p WHERE v.person = p.person", "declared key"),
        ("SELECT p.ward FROM t v JOIN patients p(sex, ward) ON v.person = p.person", "with columns"),
        ("SELECT COUNT(*) FROM t v(sex, ward) JOIN patients p ON v.person = p.person", "with columns"),
        ("SELECT COUNT(*) FROM visits v CROSS JOIN patients p", "no other join"),
        ("SELECT COUNT(*) FROM visits v RIGHT JOIN patients p ON v.person = p.person", "no other join"),
        ("SELECT COUNT(*) FROM visits v FULL JOIN patients p ON v.person = p.person", "no other join"),
        ("SELECT COUNT(*) FROM visits v NATURAL JOIN patients", "no other join"),
        ("SELECT COUNT(*) FROM visits v SEMI JOIN patients p ON v.person = p.person", "no other join"),
        ("SELECT COUNT(*) FROM patients", "FROM the facts"),
        ("SELECT COUNT(*) FROM patients p JOIN codes c ON p.icd = c.code", "FROM the facts"),
        ("SELECT COUNT(*) FROM patients p LEFT JOIN visits v ON v.person = p.person", "FROM the facts"),
        ("SELECT COUNT(*) FROM t JOIN patients USING (person) JOIN patients q USING (person)", "joined once"),
        ("SELECT COUNT(*) FROM t JOIN patients p USING (person) JOIN t u ON t.ward = u.ward", "nothing else"),
        (
            "SELECT COUNT(*) FROM t JOIN patients p USING (person) JOIN doctors d ON d.id = t.doctor",
            "nothing else",
        ),
        ("SELECT COUNT(*) FROM t JOIN (SELECT 1 AS person) p USING (person)", "join with rows"),
        ("SELECT COUNT(p.person) FROM t LEFT JOIN patients p USING (person)", "ask for t.person"),
        ("SELECT p.sex FROM t LEFT JOIN patients p USING (person)", "never shown"),
        (
            "WITH a AS (SELECT sex, COUNT(*) AS n FROM t GROUP BY sex) SELECT a.n FROM a JOIN patients p "
            "ON a.sex = p.sex",
            "to the facts",
        ),
    ],
)
def test_every_other_join_is_refused_with_the_reason(text, why):
    with pytest.raises(HedgerowError, match=why):
        hr.sql(DOMAIN, text, unit="person")


def test_a_released_table_may_be_called_like_a_declared_one():
    text = (
        "WITH patients AS (SELECT sex, COUNT(*) AS n FROM t GROUP BY sex) SELECT n FROM patients ORDER BY n"
    )
    assert hr.sql(DOMAIN, text, unit="person").text == text


def test_without_declared_tables_rows_are_joined_with_lookups_only():
    with pytest.raises(UnsupportedSQL, match="join with rows"):
        hr.sql(hr.Domain({"sex": ["F"]}), "SELECT COUNT(*) FROM t JOIN patients p USING (person)")


def test_a_domain_knows_the_names_and_keys_of_tables_and_nothing_that_they_hold():
    held = DOMAIN.to_schema()
    assert held["tables"]["codes"] == {"key": "code", "column": "icd", "public": True}
    assert "F" not in json.dumps(held["tables"])
    again = hr.Domain.from_schema(held)
    assert again.tables == DOMAIN.tables
    assert all(table.source is None for table in DOMAIN.tables.values())
    assert again.fingerprint == hr.Domain(dict(DOMAIN)).fingerprint
    with pytest.raises(DomainMismatch, match="file and a key"):
        hr.JoinedTable.declared(held["tables"])


def test_the_wire_knows_declared_tables():
    joined = (
        "SELECT p.sex, COUNT(*) AS n FROM visits v LEFT JOIN patients p ON v.person = p.person GROUP BY 1"
    )
    assert [name for name, *_ in plan(joined, "visits", DOMAIN).columns] == ["sex", "n"]
    with pytest.raises(HedgerowError, match="there is no table"):
        plan(joined.replace("patients", "doctors"), "visits", DOMAIN)
