"""A first question: its cost is said, and what can only be refused is refused, before learning is paid."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.curator.rows.table import Rows
from hedgerow.mechanisms.session.foresee import foresee
from hedgerow.mechanisms.session.price import Goal, direct_price
from hedgerow.privacy.ledger.ledger import Ledger

DOMAIN = hr.Domain({"sex": ["F", "M"], "age": hr.bins(0, 100, 10), "k": hr.Categorical(range(3))})
COUNT = "SELECT COUNT(*) FROM t WHERE k = 1"
LEDGER = "people.csv.hedgerow.db"
PLAN = hr.Session(budget=hr.Budget(rho="1/1000", delta=0))


def curator(n=3000, budget=None, neighbours="add_remove", **unit):
    rng = np.random.default_rng(1)
    sex, age = rng.choice(["F", "M"], n), rng.integers(0, 100, n)
    rows = pd.DataFrame({"sex": sex, "age": age, "k": (age // 30) % 3, "who": np.arange(n) // 2})
    budget = budget or hr.Budget(rho=50, delta=1e-6)
    table = hr.Table.open(rows, DOMAIN, **unit)
    return hr.Curator(table, budget, ":memory:", neighbours, entropy=hr.testing.seeded(7))


def foreseen(c, query, within=None, within_count=None, confidence=0.999):
    return foresee(c, c.price(PLAN.budget), query, within, within_count, confidence)


KINDS = {
    "count": COUNT,
    "groups": "SELECT k, sex, COUNT(*) FROM t GROUP BY k, sex",
    "averages": "SELECT sex, AVG(age), SUM(k) FROM t GROUP BY sex",
    "largest": "SELECT age, COUNT(*) FROM t GROUP BY age ORDER BY COUNT(*) DESC LIMIT 2",
    "people": "SELECT k, COUNT(DISTINCT who) FROM t GROUP BY k",
    "nothing": "SELECT COUNT(*) FROM t WHERE sex < 'A'",
    "query": hr.Query.of(DOMAIN, ["age"], np.linspace(0, 0.3, 10)),
    "table": ("age", "sex"),
}


@pytest.mark.parametrize(
    "budget", [hr.Budget(rho=50, delta=1e-6), hr.Budget(epsilon=50)], ids=["rho", "pure"]
)
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_first_question_costs_what_was_foreseen_without_a_look_at_rows(
    kind, neighbours, budget, monkeypatch
):
    c = curator(budget=budget, neighbours=neighbours, unit="who", max_rows=2)
    newest, learning = c.ledger.newest, c.price(0.5)
    close = 17 if kind == "averages" else 170  # no better than a learned average: free
    with monkeypatch.context() as patch:
        for name, method in vars(Rows).items():
            if callable(method) and name != "units":  # public under `replace`
                patch.setattr(Rows, name, lambda *_, **__: pytest.fail("rows were touched"))
        found = foresee(c, learning, KINDS[kind], None, close, 0.999)
    assert found.affordable
    assert c.ledger.newest == newest
    answer = hr.Session(epsilon=0.5).open(c).ask(KINDS[kind], within_count=close)
    paid = Fraction(0) if answer.cost is None else answer.cost.cost.amount
    assert paid == found.question.amount
    # what is charged follows from noise that is rounded up
    assert found.cost.amount * Fraction(999, 1000) <= c.ledger.spent().amount <= found.cost.amount


def test_a_part_of_a_public_number_of_rows_is_known_before():
    c = curator(neighbours="replace")
    found = foreseen(c, COUNT, within=0.01)
    assert found.question == foreseen(c, COUNT, within_count=30).question
    assert PLAN.open(c).ask(COUNT, within=0.01).cost.cost.amount == found.question.amount
    with pytest.raises(hr.UnsupportedQuery, match="less than one row"):
        foreseen(c, COUNT, within=0.0003)


@pytest.mark.parametrize("delta", [0, 1e-6], ids=["pure", "rho"])
@pytest.mark.parametrize("epsilon", [1, 0.002])
def test_a_part_of_unknown_rows_says_how_many_there_must_be(epsilon, delta):
    budget = hr.Budget(epsilon=epsilon, delta=delta)
    few, many = curator(30, budget), curator(3000, budget)
    said = [foresee(c, c.price().share(Fraction(1, 2)), COUNT, 0.01, None, 0.999) for c in (few, many)]
    assert said[0] == said[1]  # it depends on no row
    assert said[0].question is None
    assert said[0].affordable
    left = said[0].left - said[0].learning
    for part, enough in ((1.0, True), (0.94, False)):  # an accuracy of 18 rows is one of whole rows
        alpha = Fraction(0.01 * part * said[0].needs_rows)
        query = hr.sql(DOMAIN, COUNT).forms[0].rounded()[0].query
        assert (direct_price(many, [query], Goal(alpha, 0.999)) <= left) == enough


def test_what_no_number_of_rows_makes_affordable_is_refused():
    c = curator(budget=hr.Budget(epsilon=1, delta=1e-6))
    for within, learning in ((1e-11, 0.5), (0.5, 1.0)):
        found = foresee(c, c.price(learning), COUNT, within, None, 0.999)
        assert found.needs_rows is None
        with pytest.raises(hr.BudgetExceeded, match="however many rows"):
            found.refuse(c)
    assert foresee(c, c.price(1.0), KINDS["nothing"], 0.01, None, 0.999).affordable


def test_people_without_an_accuracy_are_refused_before_learning():
    c = curator(unit="who", max_rows=2)
    with pytest.raises(hr.UnsupportedQuery, match="say how close"):
        foreseen(c, KINDS["people"])


# -- the number of rows that an accuracy is a part of -----------------------------------------------------


def test_an_accuracy_that_is_a_part_of_a_roughly_learned_number_says_so():
    session = hr.Session(budget=hr.Budget(rho="1/100000", delta=0)).open(curator())
    assert "may be off by" in session.explain(COUNT, within=0.1).words
    for _ in range(2):  # as answered before, too
        (note,) = session.ask(COUNT, within=0.1).notes
        assert "0.1 of" in note
        assert "may be off by" in note
    assert not session.ask(COUNT, within_count=200).notes
    assert not session.ask("SELECT COUNT(*) FROM t WHERE k = 2").notes


@pytest.mark.parametrize(
    ("plan", "neighbours"),
    [
        (hr.Session(budget=hr.Budget(rho="1/10", delta=0)), "add_remove"),
        (hr.Session(budget=hr.Budget(rho="1/100000", delta=0)), "replace"),  # it is public
        (hr.Session(within=0.1), "add_remove"),
        (hr.Session(within=0.1, questions=1), "add_remove"),
    ],
    ids=["well learned", "public", "own accuracy", "one question"],
)
def test_an_accuracy_that_is_a_part_of_a_known_number_needs_no_note(plan, neighbours):
    assert not plan.open(curator(neighbours=neighbours)).ask(COUNT, within=0.1).notes


# -- the command line -------------------------------------------------------------------------------------


def uncharged() -> bool:
    with Ledger.open(LEDGER, create=False) as ledger:
        return ledger.newest == 0


@pytest.mark.parametrize(
    "options",
    [
        ("--within-count", "2"),
        ("--within-count", "50", "--epsilon", "0.3"),
        ("--within", "0.05", "--epsilon", "0.3"),
        ("--within", "1e-11"),
    ],
    ids=" ".join,
)
def test_an_accuracy_that_cannot_be_afforded_is_refused_before_learning(people_cli, options):
    assert people_cli("budget", "init", "people.csv", "--epsilon", "0.3").exit_code == 0
    refused = people_cli("ask", "people.csv", COUNT, *options)
    assert refused.exit_code == 3
    assert "epsilon" in refused.stderr
    assert "rho" not in refused.stderr
    said = json.loads(people_cli("ask", "people.csv", COUNT, *options, "--explain", "--json").stdout)
    assert not said["affordable"]
    assert uncharged()
    assert people_cli("ask", "people.csv", COUNT).exit_code == 0


def test_an_accuracy_of_less_than_a_public_row_is_refused_before_learning(people_cli):
    init = people_cli("budget", "init", "people.csv", "--epsilon", "0.3", "--neighbours", "replace")
    assert init.exit_code == 0
    assert people_cli("ask", "people.csv", COUNT, "--within", "0.0004").exit_code == 2
    assert uncharged()


@pytest.mark.parametrize("options", [("--within", "0.1"), ("--within-count", "200")])
def test_a_budget_that_learning_would_use_up_is_not_made_for_a_refusal(people_cli, options):
    assert people_cli("ask", "people.csv", COUNT, "--epsilon", "1", *options).exit_code == 3
    assert not Path(LEDGER).exists()


def test_explaining_a_first_question_says_what_it_costs_too(people_cli):
    assert people_cli("budget", "init", "people.csv", "--epsilon", "1").exit_code == 0
    ask = ("ask", "people.csv", COUNT, "--explain")
    assert "would be free" in people_cli(*ask).stdout
    said = json.loads(people_cli(*ask, "--within-count", "100", "--json").stdout)
    assert said["learning"] < said["cost"]["epsilon"] < said["learning"] + said["question"]
    assert said["affordable"]
    told = people_cli(*ask, "--within-count", "100").stdout
    assert f"the question epsilon {said['question']:.4g}" in " ".join(told.split())
    unknown = json.loads(people_cli(*ask, "--within", "0.05", "--json").stdout)
    assert unknown["question"] is None
    assert f"about {unknown['needs_rows']:,}" in unknown["words"]
    assert uncharged()
    asked = json.loads(people_cli(*ask[:3], "--within-count", "100", "--json").stdout)
    assert asked["cost"]["epsilon"] == said["question"]


@pytest.mark.parametrize(("within", "code"), [("0.003", 3), ("0.0001", 2)])
def test_a_refusal_that_only_learning_could_lead_to_says_that_it_was_paid(people_cli, within, code):
    assert people_cli("budget", "init", "people.csv", "--epsilon", "0.3").exit_code == 0
    ask = ("ask", "people.csv", COUNT, "--within", within)
    assert json.loads(people_cli(*ask, "--explain", "--json").stdout)["needs_rows"] > 2000
    refused = people_cli(*ask)
    assert refused.exit_code == code
    assert "Learning cost epsilon 0.2" in refused.stderr
    again = people_cli(*ask)
    assert again.exit_code == code
    assert "Learning" not in again.stderr


def test_learned_bounds_are_meant_to_hold_and_others_do(people_cli):
    assert people_cli("budget", "init", "people.csv", "--epsilon", "3").exit_code == 0
    ask = ("ask", "people.csv", COUNT)
    assert "Error bounds are meant to hold with 0.95" in people_cli(*ask).stdout
    assert "are meant to hold" in people_cli("ask", "people.csv", "SELECT SUM(k) FROM t", "--explain").stdout
    assert "Error bounds hold with 0.999" in people_cli(*ask, "--within-count", "100").stdout


def test_a_ledger_is_audited_by_the_name_of_its_data(people_cli):
    assert people_cli("budget", "init", "people.csv", "--epsilon", "1").exit_code == 0
    assert people_cli("ask", "people.csv", COUNT).exit_code == 0
    said = [people_cli("audit", "--ledger", name, "--json") for name in ("people.csv", LEDGER)]
    assert [s.exit_code for s in said] == [0, 0]
    one, two = (json.loads(s.stdout) for s in said)
    assert one["findings"] == two["findings"]
