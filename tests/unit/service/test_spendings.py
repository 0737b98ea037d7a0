"""What a budget was spent on adds up to what was spent, and is told in five lines of epsilon."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow.privacy.budget import Cost
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.service import accounts, budgeting
from hedgerow.service.forecast import Forecast
from hedgerow.service.spendings import spendings, summary

DOMAIN = hr.Domain({"sex": ["F", "M"], "k": 3})
ROWS = {"sex": ["F", "M"] * 100, "k": [0, 1, 2, 1] * 50}


def used(budget: hr.Budget) -> hr.Curator:
    """A ledger with a named release, one in Python, a session, an account, and measurements."""
    curator = hr.Curator(hr.Table.open(ROWS, DOMAIN), budget, ":memory:")
    hr.LaplaceBaseline(epsilon=0.1).release(curator, hr.marginals(DOMAIN, 1))
    hr.AdaptiveRelease(epsilon=0.2, run="mine").release(curator, hr.marginals(DOMAIN, 2))
    with hr.Session(epsilon=0.3).open(curator) as session:
        session.ask("SELECT COUNT(*) FROM t WHERE sex = 'F'", within_count=60)
    curator.allot(0.1, "ann").measure("sex", 0.05)
    curator.measure("k", 0.05, note="by hand: k")
    return curator


@pytest.mark.parametrize("budget", [hr.Budget(epsilon=4), hr.Budget(epsilon=4, delta=1e-6)])
def test_spendings_add_up_to_what_was_spent_and_every_line_is_in_one(budget):
    ledger = used(budget).ledger
    found = spendings(ledger)
    assert sum((s.cost for s in found), Cost.zero(ledger.currency)) == ledger.spent()
    assert sorted(seq for s in found for seq in s.lines) == list(range(ledger.newest + 1))
    kinds = [s.kind for s in found]
    assert set(kinds) == {"budget", "release", "session", "account", "act"}
    assert [s.name for s in found if s.kind == "account"] == ["ann"]
    ann = next(s for s in found if s.kind == "account")
    assert ann.held == ledger.remaining("ann")
    told = summary(found, ledger.budget)
    for words in ("the account ann (0.1)", "questions and learning for them", "release"):
        assert words in told


def test_a_budget_is_told_in_five_lines_of_epsilon():
    ledger = used(hr.Budget(epsilon=4, delta=1e-6)).ledger
    lines = budgeting.sentences(ledger, 3)
    assert [line.split()[0] for line in lines] == ["Budget:", "Spent:", "On:", "Left:", "What"]
    assert "do not add up" in lines[3]
    assert "all 3 two-way tables" in lines[4]
    assert not any("rho " in line for line in (lines[0], lines[1], lines[2], lines[4]))
    fresh = Ledger.open(":memory:", budget=hr.Budget(epsilon=1))
    assert len(budgeting.sentences(fresh)) == 4


def test_a_pure_budget_needs_no_word_on_why_parts_do_not_add_up():
    ledger = Ledger.open(":memory:", budget=hr.Budget(epsilon=2))
    ledger.allot("ann", Cost("epsilon", 1))
    assert not any("add up" in line for line in budgeting.sentences(ledger))
    rho = Ledger.open(":memory:", budget=hr.Budget(epsilon=2, delta=1e-9))
    accounts.allot(rho, "ann", "1")
    assert "of 2 the first 1 leaves 1.699" in " ".join(budgeting.sentences(rho))


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_tables_that_were_forecast_can_be_had(neighbours):
    domain = hr.Domain({"a": 2, "b": 2, "c": 2})
    rows = {name: [0, 1] * 50 for name in "abc"}
    curator = hr.Curator(hr.Table.open(rows, domain), hr.Budget(1, 1e-9), ":memory:", neighbours)
    bought = Forecast(curator.privacy, curator.left, tables=3).bought[-1]
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    for made in curator.measure_all(pairs, None):
        assert made.noise.half_width(0.95) <= bought.within_count * 1.05


def test_accounts_are_set_aside_spent_and_settled_by_name(people_cli):
    def told(*args):
        done = people_cli("budget", *args, "--json")
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    told("init", "people.csv", "--epsilon", "1")
    (ann,) = told("allot", "people.csv", "ann", "--epsilon", "0.2")["accounts"]
    assert (round(ann["limit"]["epsilon"], 6), ann["spent"]["epsilon"]) == (0.2, 0)
    for wrong in (["ann"], ["owner"], ["two words"], [""], ["a#b"], ["x" * 65]):
        refused = people_cli("budget", "allot", "people.csv", *wrong, "--epsilon", "0.1")
        assert refused.exit_code == 2, wrong
    for epsilon, code in (("0", 2), ("-1", 2), ("x", 2), ("nan", 2), ("5", 3)):
        assert people_cli("budget", "allot", "people.csv", "eve", "--epsilon", epsilon).exit_code == code
    left = told("list", "people.csv")["remaining"]["epsilon"]
    (settled,) = told("settle", "people.csv", "ann")["accounts"]
    assert settled["closed"]
    assert told("list", "people.csv")["remaining"]["epsilon"] > left
    for name in ("ann", "bob"):
        assert people_cli("budget", "settle", "people.csv", name).exit_code == 2
    assert people_cli("budget", "verify", "people.csv").exit_code == 0


def test_only_the_owner_pays_for_learning(people_cli):
    count = "SELECT COUNT(*) AS n FROM t"
    people_cli("budget", "init", "people.csv", "--epsilon", "2")
    people_cli("budget", "allot", "people.csv", "ann", "--epsilon", "0.5")
    with Ledger.open("people.csv.hedgerow.db", create=False) as ledger:
        before = ledger.newest
        assert people_cli("ask", "people.csv", count, "--as", "ann").exit_code == 2
        assert ledger.newest == before
    assert people_cli("ask", "people.csv", count).exit_code == 0
    assert people_cli("ask", "people.csv", count, "--as", "ann").exit_code == 0
    paid = people_cli("ask", "people.csv", count, "--as", "ann", "--within-count", "60")
    assert "Left of ann's part" in paid.stdout
    with Ledger.open("people.csv.hedgerow.db", create=False) as ledger:
        assert not ledger.spent("ann").is_zero
    assert people_cli("ask", "people.csv", count, "--as", "ann", "--within-count", "1").exit_code == 3


def test_a_refusal_says_what_is_needed_left_and_affordable_in_epsilon(people_cli):
    people_cli("budget", "init", "people.csv", "--epsilon", "1")
    said = people_cli(
        "release", "people.csv", "--schema", "schema.yaml", "--epsilon", "3", "--out", "out"
    ).stderr
    assert "epsilon 3" in said
    assert "epsilon 1 only 1 remains" in said
    assert "spend at most epsilon" in said
    assert "rho" not in said
    assert not Path("out").exists()


def test_a_part_is_not_lost_behind_a_note_that_reads_like_a_release(tmp_path):
    with Ledger.open(tmp_path / "l.db", budget=hr.Budget(epsilon=1)) as ledger:
        with pytest.raises(hr.HedgerowError, match="note"):
            accounts.allot(ledger, "ann", "0.2", note="mine, plan 0123456789ab")
        assert ledger.spent().is_zero
        assert accounts.allot(ledger, "ann", "0.2", note="for her plan").name == "ann"
