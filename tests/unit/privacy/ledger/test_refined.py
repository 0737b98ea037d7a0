"""A ledger takes a refined answer once, for a line that is there, and finds one that was put in otherwise."""

from __future__ import annotations

import copy

import pytest

from hedgerow.audit.ledger_replay import replay
from hedgerow.errors import BadValue, LedgerError, RequestReused, UnknownEvent
from hedgerow.privacy.accountant import BasicAccountant, RenyiAccountant, cost
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.event import Laplace, Pure, RefinedLaplace, Repeat, Together
from hedgerow.privacy.events import from_json
from hedgerow.privacy.ledger.ledger import Ledger


def act():
    return b"said", None


@pytest.fixture
def ledger():
    made = Ledger.open(":memory:", budget=Budget(epsilon=2))
    made.charge(Laplace(1, 10), act, request="first")
    return made


def refine(ledger, event, request=None):
    return ledger.charge(event, act, request=request or event.request)


def test_charges_telescope_to_the_closest_answer(ledger):
    line = refine(ledger, RefinedLaplace(1, 5, 10, 1))
    refine(ledger, RefinedLaplace(1, 2, 5, line.seq))
    assert ledger.spent().amount == cost(Laplace(1, 2), "epsilon").amount
    assert ledger.verify().ok
    assert replay(ledger).ok
    assert ledger.requested("refined line 1").seq == line.seq
    assert ledger.entry(99) is None


def test_no_answer_is_refined_twice(ledger):
    refine(ledger, RefinedLaplace(1, 5, 10, 1))
    with pytest.raises(RequestReused):
        refine(ledger, RefinedLaplace(1, 2, 10, 1))
    with pytest.raises(LedgerError, match="once"):
        refine(ledger, RefinedLaplace(1, 2, 10, 1), "another id")
    assert refine(ledger, RefinedLaplace(1, 5, 10, 1)).replayed


@pytest.mark.parametrize(
    "event",
    [RefinedLaplace(1, 5, 9, 1), RefinedLaplace(2, 5, 10, 1), RefinedLaplace(1, 5, 10, 0),
     RefinedLaplace(1, 5, 10, 7), RefinedLaplace(1, 5, 10, 2)],
)  # fmt: skip
def test_only_the_answer_of_a_line_with_that_noise_is_refined(ledger, event):
    ledger.charge(Pure("1/10"), act)
    with pytest.raises(LedgerError):
        refine(ledger, event)
    assert ledger.newest == 2


def test_request_ids_of_refined_answers_are_nobody_elses(ledger):
    for taken in (lambda: ledger.charge(Pure("1/10"), act, request="refined line 1"),
                  lambda: ledger.record(b"", request="refined line 1")):  # fmt: skip
        with pytest.raises(LedgerError, match="belong to refined answers"):
            taken()


def test_refining_is_an_act_of_its_own_and_costs_epsilon_only(ledger):
    event = RefinedLaplace(1, 5, 10, 1)
    for nested in (Repeat(event, 2), Together((event,))):
        with pytest.raises(LedgerError, match="act of its own"):
            ledger.charge(nested, act)
    with pytest.raises(UnknownEvent):
        cost(event, "rho")
    assert not any(kind().supports(event) for kind in (BasicAccountant, RenyiAccountant))
    assert from_json(event.to_json()) == event
    assert "line 1" in event.describe()
    for wrong in ((1, 10, 10, 1), (1, 5, 10, "1/2")):
        with pytest.raises(BadValue):
            RefinedLaplace(*wrong)


def test_a_line_that_refines_what_was_refined_before_is_found(ledger, monkeypatch):
    from hedgerow.privacy.ledger import transaction

    monkeypatch.setattr(transaction, "refuse_refining", lambda *args: None)
    refine(ledger, RefinedLaplace(1, 5, 10, 1))
    refine(ledger, RefinedLaplace(1, 2, 10, 1), "a fork")
    assert any("refined before" in problem for problem in ledger.verify().problems)
    assert any("cannot refine" in problem for problem in replay(ledger).problems)
    cheap = copy.deepcopy(ledger.export(answers=True))
    cheap["entries"][2]["line"]["event"]["weaker_scale"] = "6/1"
    assert len(replay(cheap).problems) > 1
