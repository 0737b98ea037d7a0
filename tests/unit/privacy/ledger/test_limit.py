"""Limits: accounts that are filled as they spend, under a cap that holds whatever limits say."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

from hedgerow.audit.ledger_replay import replay
from hedgerow.errors import BudgetExceeded, LedgerError, LimitExceeded
from hedgerow.privacy.budget import Budget, Cost
from hedgerow.privacy.event import Pure
from hedgerow.privacy.ledger.ledger import Ledger, verify_export
from hedgerow.privacy.ledger.limit import set_limit
from hedgerow.privacy.ledger.line import GENESIS, canonical, chain


@pytest.fixture
def ledger():
    return Ledger.open(":memory:", budget=Budget(epsilon=1))


def spend(ledger, who, epsilon="1/10"):
    return ledger.charge(Pure(epsilon), lambda: (b"said", None), account=who, analyst=who)


def epsilon(amount):
    return Cost("epsilon", Fraction(amount))


def test_limits_may_add_up_to_more_than_there_is_and_the_cap_still_holds(ledger):
    for who in ("ann", "bob"):
        set_limit(ledger, who, epsilon("3/4"))
    for _ in range(7):
        spend(ledger, "ann")
    with pytest.raises(LimitExceeded, match="of the limit of 'ann'") as refused:
        spend(ledger, "ann")
    assert refused.value.code == "limit_refused"
    assert refused.value.remaining.epsilon == 0.05
    for _ in range(3):
        spend(ledger, "bob")
    with pytest.raises(BudgetExceeded) as refused:
        spend(ledger, "bob")
    assert refused.value.code == "budget_refused"
    assert ledger.remaining() == ledger.remaining("bob") == epsilon(0)
    assert (ledger.spent("ann"), ledger.spent("bob")) == (epsilon("7/10"), epsilon("3/10"))
    assert ledger.verify().ok
    assert replay(ledger).ok


def test_a_limit_sets_nothing_aside_and_says_what_is_left(ledger):
    set_limit(ledger, "ann", epsilon("3/4"))
    set_limit(ledger, "bob", None)
    assert ledger.remaining() == epsilon(1)
    assert ledger.remaining("ann") == epsilon("3/4")
    assert ledger.remaining("bob") == epsilon(1)
    spend(ledger, "bob", "1/2")
    assert ledger.remaining("ann") == epsilon("1/2")


def test_what_comes_back_to_an_account_under_a_limit_goes_back_to_everybody(ledger):
    set_limit(ledger, "ann", epsilon("3/4"))
    spend(ledger, "ann")
    ledger.allot("ann: reserve", epsilon("1/2"), parent="ann")
    assert ledger.remaining() == epsilon("2/5")
    ledger.settle("ann: reserve")
    assert ledger.remaining() == epsilon("9/10")
    assert ledger.remaining("ann") == epsilon("13/20")
    assert ledger.verify().ok
    assert replay(ledger).ok


def test_a_limit_is_changed_and_one_below_what_is_spent_ends_spending(ledger):
    set_limit(ledger, "ann", epsilon("1/10"))
    spend(ledger, "ann")
    set_limit(ledger, "ann", epsilon("2/10"))
    spend(ledger, "ann")
    set_limit(ledger, "ann", epsilon("1/10"))
    assert ledger.remaining("ann") == epsilon(0)
    with pytest.raises(LimitExceeded):
        spend(ledger, "ann")
    assert ledger.verify().ok


def test_money_that_was_set_aside_has_no_limit_and_the_owner_has_none(ledger):
    ledger.allot("cy", epsilon("1/10"))
    for who in ("cy", "owner"):
        with pytest.raises(LedgerError, match="money of its own"):
            set_limit(ledger, who, epsilon("1/10"))


def test_a_failed_act_takes_back_what_was_given_for_it(ledger):
    set_limit(ledger, "ann", epsilon("1/2"))

    def fail():
        raise RuntimeError

    with pytest.raises(RuntimeError):
        ledger.charge(Pure("1/10"), fail, account="ann", analyst="ann")
    assert ledger.remaining() == epsilon(1)
    assert ledger.verify().ok


def _forged(export, change):
    """An export with changed lines, chained anew: only what the lines say can show the change."""
    head = GENESIS
    for entry in export["entries"]:
        change(entry["line"])
        commitment = bytes.fromhex(entry["commitment"])
        head = chain(head, canonical(entry["line"]), commitment)
        entry["hash"] = head.hex()
    return export


def test_a_limit_is_read_from_its_own_lines_only(ledger):
    set_limit(ledger, "ann", epsilon("1/10"))
    ledger.record(b"", account="ann", analyst="ann", run="hedgerow: limit of ann")
    spend(ledger, "ann")
    with pytest.raises(LimitExceeded):
        spend(ledger, "ann")
    set_limit(ledger, "bob", epsilon("1/10"))

    def swap(line):
        if line["kind"] == "limit" and line["account"] == "bob":
            line["run"] = "hedgerow: limit of ann"  # where it would lift ann's

    assert not verify_export(_forged(json.loads(json.dumps(ledger.export())), swap)).ok


@pytest.mark.parametrize("kind", ["grow", "shrink", "limit"])
def test_a_ledger_that_was_forged_around_a_limit_does_not_verify(ledger, kind):
    set_limit(ledger, "ann", epsilon("3/4"))
    spend(ledger, "ann")
    ledger.allot("ann: reserve", epsilon("1/2"), parent="ann")
    ledger.settle("ann: reserve")
    export = json.loads(json.dumps(ledger.export()))
    assert verify_export(_forged(json.loads(json.dumps(export)), lambda line: None)).ok

    def change(line):
        if line["kind"] == kind == "limit":
            line["details"]["most"] = {"epsilon": "1"}  # less than was given
        elif line["kind"] == kind:
            line["limit"]["epsilon"] = str(int(line["limit"]["epsilon"]) + 10)

    assert not verify_export(_forged(export, change)).ok


def test_the_command_sets_a_limit_and_lists_it(people_cli):
    assert people_cli("budget", "init", "people.csv", "--epsilon", "1").exit_code == 0
    for epsilon in ("0.3", "0.4"):  # set, and changed
        done = people_cli("budget", "limit", "people.csv", "ann", "--epsilon", epsilon, "--json")
        assert done.exit_code == 0, done.output
    (part,) = json.loads(people_cli("budget", "list", "people.csv", "--json").stdout)["accounts"]
    assert part["limit"]["epsilon"] == pytest.approx(0.4, rel=1e-6)
    assert people_cli("budget", "limit", "people.csv", "owner", "--epsilon", "1").exit_code == 2
    assert people_cli("budget", "limit", "people.csv", "ann", "--epsilon", "x").exit_code == 2
    assert people_cli("budget", "verify", "people.csv").exit_code == 0
