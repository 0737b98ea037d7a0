"""Replaying a ledger with independent arithmetic agrees with honest ledgers and catches dishonest ones."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.audit import replay
from hedgerow.audit.command import ledger_finding, run_ledger
from hedgerow.audit.controls import ChargeSkipped, charge_skipped
from hedgerow.audit.ledger_replay import price
from hedgerow.audit.neighbours import neighbouring_tables
from hedgerow.privacy.accountant import cost
from hedgerow.privacy.event import (
    ZCDP,
    Approximate,
    Exponential,
    Gaussian,
    Laplace,
    PermuteAndFlip,
    Pure,
    Repeat,
    ReportNoisyMax,
    Together,
)
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.privacy.sparse_vector_event import GaussianSparseVector, SparseVector

numbers = st.fractions(min_value="1/60", max_value=100, max_denominator=60)
counts = st.integers(1, 5)
pure = st.one_of(
    st.builds(Laplace, numbers, numbers),
    *(st.builds(kind, numbers) for kind in (Exponential, PermuteAndFlip, ReportNoisyMax, Pure)),
    st.builds(
        SparseVector, numbers, numbers, numbers, st.one_of(st.just(0), numbers), counts, st.integers(0, 1)
    ),
)
deltas = st.fractions(min_value="1/1000000", max_value="1/3", max_denominator=10**6)
any_event = st.recursive(
    st.one_of(
        pure,
        st.builds(Gaussian, numbers, numbers),
        st.builds(ZCDP, numbers, deltas),
        st.builds(Approximate, numbers, deltas),
        st.builds(GaussianSparseVector, numbers, numbers, numbers, st.integers(1, 1000), counts, deltas),
    ),
    lambda inner: st.one_of(
        st.builds(Repeat, inner, st.integers(1, 3)),
        st.builds(Together, st.lists(inner, max_size=3).map(tuple)),
    ),
    max_leaves=4,
)


@settings(max_examples=150, deadline=None)
@given(any_event)
def test_two_arithmetics_agree_on_every_event_in_rho(event):
    amount, delta, approximate = price(event.to_json(), "rho")
    ours = cost(event, "rho")
    assert float(ours.amount) == pytest.approx(float(amount), rel=1e-6 if approximate else 1e-12)
    assert float(ours.delta) == pytest.approx(float(delta), rel=1e-12)


@settings(max_examples=100, deadline=None)
@given(pure)
def test_two_arithmetics_agree_on_every_pure_event(event):
    assert float(cost(event, "epsilon").amount) == pytest.approx(float(price(event.to_json(), "epsilon")[0]))


def test_an_honest_ledger_of_every_act_replays_without_a_problem():
    finding = ledger_finding()
    assert not finding.refuted, finding.evidence
    assert finding.found == pytest.approx(finding.claimed)


def test_a_skipped_charge_does_not_match():
    finding = charge_skipped(0, 0.0, None)
    assert finding.refuted
    assert (finding.claimed, finding.found) == (1.0, pytest.approx(1.001))


def _ledger() -> dict:
    curator = neighbouring_tables("add_remove")[0][1].curator(hr.Budget(epsilon=9))
    curator.measure(("a",), 1)
    run = hr.primitives.sparse(curator, -(10**6), 2, 1, run="r")
    run.ask_all(("a",))
    return curator.ledger.export(answers=True)


def test_a_line_with_a_smaller_cost_or_total_is_seen():
    export = _ledger()
    assert replay(export).ok
    for name in ("cost", "spent"):
        changed = copy.deepcopy(export)
        line = changed["entries"][1]["line"]
        line[name]["epsilon"] = str(int(line[name]["epsilon"]) // 2)
        assert not replay(changed).ok


def test_a_run_that_says_more_than_it_paid_for_is_seen():
    import base64

    export = _ledger()
    greedy = copy.deepcopy(export)
    answer = json.loads(base64.b64decode(greedy["entries"][-1]["answer"]))
    answer["above"] = [0, 1, 2]
    greedy["entries"][-1]["answer"] = base64.b64encode(json.dumps(answer).encode()).decode()
    assert "more than its run" in " ".join(replay(greedy).problems)
    orphan = copy.deepcopy(export)
    orphan["entries"][-1]["line"]["run"] = "other"
    assert "nobody paid for" in " ".join(replay(orphan).problems)


def test_a_ledger_file_can_be_replayed_from_the_command_line(tmp_path):
    world = neighbouring_tables("add_remove")[0][1]
    curator = hr.Curator(world.table(), hr.Budget(epsilon=2), tmp_path / "l.db")
    kept = curator.measure(("a",), 1)
    assert not run_ledger(str(tmp_path / "l.db")).refuted
    assert replay(curator.ledger, [kept]).ok
    thief = ChargeSkipped(curator.table, ledger=curator.ledger)
    stolen = thief.measure(("a",), 0.001)  # three counts of scale 1000: as the line's by chance below 1e-9
    assert not replay(curator.ledger, [kept, stolen]).ok


# -- caps ---------------------------------------------------------------------------------------------------


def _raised(*epsilons: float) -> Ledger:
    """A ledger that was raised again and again after answers."""
    ledger = Ledger.open(":memory:", budget=hr.Budget(1, 1e-9))
    for epsilon in epsilons:
        ledger.charge(Gaussian(1, 20), lambda: (b"42", None))
        ledger.raise_budget(hr.Budget(epsilon, ledger.next_delta), "more")
    return ledger


def test_two_arithmetics_agree_on_what_raised_caps_promise():
    for epsilons in ((), (1.1,), (2, 3), (1.5, 7, 40)):
        found = replay(_raised(*epsilons))
        assert found.ok, found.problems
        delta = 2e-9 if epsilons else 1e-9
        assert found.promise == pytest.approx((max(1, *epsilons, 1), delta), rel=1e-9)
    for budget in (hr.Budget(rho=1, delta=1e-6), hr.Budget(2), hr.Budget(rho=1)):
        ledger = Ledger.open(":memory:", budget=budget)
        assert replay(ledger).ok
        assert replay(ledger).promise == pytest.approx((budget.epsilon, budget.delta))


@pytest.mark.parametrize(
    "details",
    [
        {"epsilon": "9/5"},
        {"index": 1},
        {"index": 40},
        {"raise_delta": "0/1"},
        {"event_delta": "0/1"},
    ],
    ids=str,
)
def test_a_raise_that_promises_more_than_its_cap_keeps_is_seen(details):
    export = _raised(2).export()
    assert replay(export).ok
    export["entries"][-1]["line"]["details"] |= details
    assert "promises more than its cap keeps" in " ".join(replay(export).problems)


def test_a_cap_that_moves_by_itself_or_is_passed_is_seen():
    export = _raised(2).export()
    opened = export["entries"][0]["line"]["limit"]
    for name, at, said in (("limit", 1, "nobody raised"), ("spent", 1, "spends more"), ("limit", 0, "keeps")):
        changed = copy.deepcopy(export)
        changed["entries"][at]["line"][name]["rho"] = str(2 * int(opened["rho"]))
        assert said in " ".join(replay(changed).problems)


def test_a_raise_stated_as_if_it_had_been_fixed_in_advance_is_seen(monkeypatch):
    ledger = _raised(2)
    assert replay(ledger).ok
    plain = hr.Budget(2, 1e-9)
    monkeypatch.setattr(Ledger, "budget", property(lambda self: plain))
    assert "better promise" in " ".join(replay(ledger).problems)


def test_a_raise_by_an_earlier_version_is_stated_by_what_it_keeps():
    ledger = Ledger.open(":memory:", budget=hr.Budget(1, 1e-9))
    ledger.charge(Gaussian(1, 20), lambda: (b"42", None))
    with ledger.transaction() as transaction:
        budget = hr.Budget(2, 1e-9)
        after = replace(transaction._book.account("owner"), limit=budget.cost)
        transaction._write("raise", after, details=budget.to_json(), words="Raised.", note="more")
    found = replay(ledger)
    assert found.ok, found.problems
    assert found.promise == pytest.approx((ledger.budget.epsilon, 2e-9), rel=1e-9)
    assert found.promise[0] > 2.1
