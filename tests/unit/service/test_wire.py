"""The shapes that programs rely on: exactly what is promised, and JSON whatever is in them."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.service import wire
from hedgerow.service.asking import Ask, Visit
from hedgerow.service.dataset import Dataset
from hedgerow.service.learning import Learning

ANSWER = {
    "sql", "columns", "rows", "confidence", "source", "cached", "simultaneous", "cost", "remaining", "notes",
    "private", "request", "receipt",
}  # fmt: skip
EXPLAIN = {"source", "cached", "confidence", "error", "cost", "affordable", "needs_rows", "words"}
ERROR = {"code", "message", "hint", "needed", "remaining", "affordable", "position"}


@pytest.fixture
def visit(people_cli):
    assert people_cli("budget", "init", "people.csv", "--epsilon", "4").exit_code == 0
    return lambda ask: Visit(Dataset(Path("people.csv")), ask, Learning())


def test_answers_and_explanations_have_the_promised_shapes(visit):
    ask = Ask("SELECT sex, COUNT(*) AS n FROM t GROUP BY sex", spend=True, request="r")
    assert wire.first_question(visit(ask).explain()).keys() >= EXPLAIN
    told = wire.answered(visit(ask).answer())
    assert told.keys() == ANSWER | {"learning"}
    assert [row["sex"] for row in told["rows"]] == ["F", "M"]
    assert told["rows"][0]["n"].keys() == {"value", "error", "low", "high", "source"}
    assert (told["request"], told["cost"], told["receipt"].keys()) == ("r", None, {"seq", "head"})
    assert wire.explained(visit(ask).explain()).keys() == EXPLAIN
    dear = Ask("SELECT COUNT(*) FROM t", within_count=50, spend=True)
    assert wire.answered(visit(dear).answer())["cost"].keys() == {"epsilon", "delta"}
    json.loads(wire.text(told))


def test_the_command_line_prints_the_wire(people_cli):
    ask = ("ask", "people.csv", "SELECT COUNT(*) AS n FROM t", "--epsilon", "1", "--json")
    always = {"time", "duration", "version"}
    assert json.loads(people_cli(*ask).stdout).keys() == ANSWER | {"learning"} | always
    told = json.loads(people_cli("budget", "show", "people.csv", "--json").stdout)
    assert told.keys() >= {"budget", "spent", "remaining", "yours", "forecast", "lines", "unfinished"}
    assert {item.keys() >= {"what", "within_count", "questions"} for item in told["forecast"]} == {True}


def test_who_has_a_part_of_the_budget_is_told_what_is_theirs(people_cli):
    people_cli("budget", "init", "people.csv", "--epsilon", "1")
    with Ledger.open("people.csv.hedgerow.db") as ledger:
        assert wire.budget(ledger)["yours"] is None
        ledger.allot("ann", hr.Budget(epsilon=0.25, delta=1e-9).cost)
        yours = wire.budget(ledger, "ann")["yours"]
    assert yours.keys() == {"limit", "spent", "remaining"}
    assert yours["limit"]["epsilon"] == yours["remaining"]["epsilon"] == pytest.approx(0.25, rel=1e-3)
    assert yours["spent"]["epsilon"] == 0


def test_a_schema_says_what_may_be_asked_about():
    domain = hr.Domain(
        {
            "sex": hr.Categorical(["F", "M"], missing=True),
            "age": hr.bins(0, 100, 50),
            "day": hr.dates("2024-01-01", "2026-01-01", "year"),
        }
    )
    told = wire.schema(domain, hr.Curator(hr.Table.open({"sex": [], "age": [], "day": []}, domain),
                                          hr.Budget(epsilon=1), ":memory:").ledger.settings)  # fmt: skip
    assert told.keys() == {"attributes", "unit", "max_rows", "neighbours"}
    assert [a.keys() for a in told["attributes"]] == [{"name", "kind", "levels", "step", "missing"}] * 3
    assert [a["kind"] for a in told["attributes"]] == ["levels", "bins", "date"]
    assert told["attributes"][0]["levels"] == ["F", "M"]
    assert [a["missing"] for a in told["attributes"]] == [True, False, False]


def test_an_error_says_what_it_knows_and_null_for_the_rest(people_cli):
    with pytest.raises(hr.HedgerowError) as bad:
        hr.sql(hr.Domain({"a": 2}), "SELECT COUNT(* FROM t")
    told = wire.error(bad.value)["error"]
    assert told.keys() == ERROR
    assert (told["code"], told["position"]["line"], told["needed"]) == ("bad_sql", 1, None)
    people_cli("budget", "init", "people.csv", "--epsilon", "1")
    dear = hr.Budget(epsilon=2, delta=1e-9).cost
    with Ledger.open("people.csv.hedgerow.db") as ledger, pytest.raises(hr.BudgetExceeded) as poor:
        ledger.check(dear)
    told = wire.error(poor.value)["error"]
    assert told["needed"]["epsilon"] > told["remaining"]["epsilon"] > 0.9
    assert told["affordable"] is False
    assert told["hint"]


def test_an_error_of_our_own_does_not_quote_what_went_wrong():
    try:
        raise KeyError("Mrs Dalloway, 52")
    except KeyError as error:
        told = wire.error(error)["error"]
    assert told["code"] == "internal"
    assert "Dalloway" not in json.dumps(told)


def test_a_job_is_in_one_of_five_states():
    assert wire.job("1", "learn", "running", 0.4, "Learning").keys() == {
        "id", "kind", "state", "part", "words", "result",
    }  # fmt: skip
    with pytest.raises(ValueError, match="queued"):
        wire.job("1", "learn", "lost", 0.4, "Learning")


def test_history_comes_in_pages_that_end():
    items = [{"seq": i} for i in range(5)]
    seen, after = [], -1
    while after is not None:
        page = wire.history(items, after, 2)
        seen += page["items"]
        after = page["next"]
    assert seen == items


def test_json_has_no_infinity():
    assert json.loads(wire.text({"a": [math.inf, (math.nan, 1.5)], "b": {"c": -math.inf}})) == {
        "a": [None, [None, 1.5]],
        "b": {"c": None},
    }


def test_a_step_is_told_as_it_was_declared():
    ledger = Ledger.open(":memory:", budget=hr.Budget(epsilon=1))
    bins = {"a": hr.bins(0, 10, 5, step=1), "b": hr.Bins([0, 1, 9], step=0.01), "c": hr.bins(0, 10, 5)}
    told = wire.schema(hr.Domain(bins), ledger.settings)["attributes"]
    assert [one["step"] for one in told] == [1, 0.01, None]
