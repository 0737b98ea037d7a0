"""Asking: the same decisions at every door - spend or not, at most so much, once for each request."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

import hedgerow as hr
from hedgerow.errors import BadValue, BudgetExceeded, NotLearned, RequestReused, UnsupportedQuery
from hedgerow.privacy.ledger.ledger import Ledger
from hedgerow.release.schema import Schema
from hedgerow.service.asking import Ask, Desk, FirstQuestion, Visit
from hedgerow.service.dataset import Dataset
from hedgerow.service.learning import Learning

COUNT = "SELECT COUNT(*) FROM t WHERE k = 1"
ROWS = "SELECT sex, COUNT(*) AS n FROM t GROUP BY sex"


@pytest.fixture
def visit(people_cli):
    """A visit to people.csv, which has a budget of 4."""
    assert people_cli("budget", "init", "people.csv", "--epsilon", "4").exit_code == 0
    return lambda ask, learning=None: Visit(Dataset(Path("people.csv")), ask, learning or Learning())


def spent():
    with Ledger.open("people.csv.hedgerow.db", create=False, readonly=True) as ledger:
        return ledger.spent()


@pytest.fixture
def desk(visit):
    """What a server keeps open: a desk of a dataset that its owner has learned."""
    visit(Ask(ROWS, spend=True), Learning("1")).answer()
    domain = Schema.load(Path("schema.yaml")).confirmed_domain()
    curator = hr.Curator(hr.Table.open("people.csv", domain), None, "people.csv.hedgerow.db")
    with curator.ledger:
        opened = Desk.open(curator)
        with opened.session:
            yield opened


def test_who_may_not_spend_never_pays_for_learning(visit):
    for ask in (Ask(ROWS), Ask(COUNT, within_count=30)):
        with pytest.raises(NotLearned) as refused:
            visit(ask).answer()
        assert (refused.value.code, bool(refused.value.hint)) == ("not_learned", True)
    assert spent().is_zero


def test_a_desk_is_opened_only_where_something_was_learned(visit):
    domain = Schema.load(Path("schema.yaml")).confirmed_domain()
    curator = hr.Curator(hr.Table.open("people.csv", domain), None, "people.csv.hedgerow.db")
    with curator.ledger, pytest.raises(NotLearned):
        Desk.open(curator)
    assert spent().is_zero


def test_without_spend_nothing_is_ever_charged(desk):
    before = desk.payer.ledger.spent()
    assert desk.ask(Ask(ROWS)).answer.source == "learned"
    with pytest.raises(BudgetExceeded) as refused:
        desk.ask(Ask(COUNT, within_count=30))
    known = refused.value
    assert known.needed.epsilon > 0
    assert known.remaining.epsilon == desk.payer.remaining.epsilon
    assert known.affordable
    assert known.hint
    assert desk.payer.ledger.spent() == before


def test_what_was_paid_for_is_given_again_to_who_may_not_spend(desk):
    paid = desk.ask(Ask(COUNT, within_count=30, spend=True))
    before = desk.payer.ledger.spent()
    again = desk.ask(Ask(COUNT, within_count=30))
    assert again.answer.cached
    assert again.answer.cost is None
    assert float(again.answer) == float(paid.answer)
    assert desk.payer.ledger.spent() == before


def test_a_question_costs_at_most_what_it_may(desk):
    before = desk.payer.ledger.spent()
    price = desk.explain(Ask(COUNT, within_count=30)).cost.epsilon
    with pytest.raises(BudgetExceeded) as refused:
        desk.ask(Ask(COUNT, within_count=30, spend=True, max_epsilon=price / 2))
    assert refused.value.affordable
    assert desk.payer.ledger.spent() == before
    given = desk.ask(Ask(COUNT, within_count=30, spend=True, max_epsilon=price))
    assert 0 < given.answer.cost.epsilon <= price


def test_nobody_asks_between_the_price_and_the_answer(desk, monkeypatch):
    """Another process could make a question dearer than it was said to be."""
    other = hr.Curator(hr.Table.open("people.csv", desk.payer.domain), None, "people.csv.hedgerow.db")
    elsewhere = Desk.open(other)
    asked, thread = threading.Event(), []

    def ask():
        elsewhere.ask(Ask("SELECT COUNT(*) FROM t WHERE k = 2", within_count=30, spend=True))
        asked.set()

    def meanwhile(question):
        thread.append(threading.Thread(target=ask))
        thread[0].start()
        assert not asked.wait(1.0)

    monkeypatch.setattr(desk, "_bind", meanwhile)  # which comes between the two
    question = Ask(COUNT, within_count=30, spend=True, max_epsilon=1, request="bound")
    assert desk.ask(question).answer.cost.epsilon <= 1
    thread[0].join()
    other.ledger.close()
    assert asked.is_set()


def test_many_threads_share_a_desk_and_a_question_is_paid_once(desk):
    before, given = desk.payer.ledger.spent(), []
    question = Ask(COUNT, within_count=30, spend=True, max_epsilon=2)
    threads = [threading.Thread(target=lambda: given.append(desk.ask(question))) for _ in range(4)]
    threads += [threading.Thread(target=desk.explain, args=(question,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len({float(one.answer) for one in given}) == 1
    paid = [one for one in given if one.answer.cost is not None]
    assert (len(given), len(paid)) == (4, 1)
    assert desk.payer.ledger.spent() != before


def test_learning_counts_towards_what_a_first_question_may_cost(visit):
    with pytest.raises(BudgetExceeded) as refused:
        visit(Ask(ROWS, spend=True, max_epsilon=0.5), Learning("1")).answer()
    assert refused.value.needed.epsilon == pytest.approx(1, rel=1e-6)
    assert spent().is_zero
    assert not visit(Ask(ROWS, spend=True, max_epsilon=1.1), Learning("1")).answer().learning.is_zero


def test_learning_counts_also_where_only_learning_tells_what_the_question_costs(visit):
    """A part of all rows is a price that nobody knows before their number was learned."""
    with pytest.raises(BudgetExceeded, match=r"Learning cost .* more than the epsilon 1\.2"):
        visit(Ask(COUNT, within=0.015, spend=True, max_epsilon=1.2), Learning("1")).answer()
    with Ledger.open("people.csv.hedgerow.db") as ledger:
        assert ledger.budget.part(ledger.spent()).epsilon <= 1.0001
    alone = visit(Ask(COUNT, within=0.015, spend=True, max_epsilon=1.2)).answer()
    assert 0.5 < alone.answer.cost.epsilon < 1.2


def test_a_request_id_belongs_to_one_question(desk):
    first = desk.ask(Ask(COUNT, within_count=30, spend=True, request="r"))
    before = desk.payer.ledger.spent()
    again = desk.ask(Ask(COUNT, within_count=30, spend=True, request="r"))
    assert again.answer.cached
    assert float(first.answer) == float(again.answer)
    for other in (Ask(ROWS, request="r"), Ask(COUNT, within_count=300, spend=True, request="r")):
        with pytest.raises(RequestReused, match="'r'"):
            desk.ask(other)
    assert desk.payer.ledger.spent() == before


def test_a_refused_question_does_not_use_up_its_request_id(desk):
    with pytest.raises(BudgetExceeded):
        desk.ask(Ask(COUNT, within_count=30, request="r"))
    assert desk.ask(Ask(ROWS, request="r")).answer.source == "learned"


def test_a_refusal_by_the_budget_says_what_it_needs_and_what_is_left(desk):
    with pytest.raises(BudgetExceeded) as refused:
        desk.ask(Ask(COUNT, within_count=1, spend=True))
    assert refused.value.needed.epsilon > refused.value.remaining.epsilon > 0
    assert not refused.value.affordable


def test_explaining_a_first_question_charges_nothing_and_makes_no_ledger(people_cli):
    visit = Visit(Dataset(Path("people.csv")), Ask(ROWS), Learning("1"))
    found = visit.explain()
    assert isinstance(found, FirstQuestion)
    assert found.foresight.affordable
    with pytest.raises(NotLearned):
        visit.answer()
    assert not list(Path().glob("*.hedgerow.db"))


def test_a_visit_and_a_desk_give_the_same_answer(visit, desk):
    shared = desk.ask(Ask(ROWS)).answer
    alone = visit(Ask(ROWS)).answer().answer
    assert alone.table.values.tolist() == shared.table.values.tolist()


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"sql": 3},
        {"sql": COUNT, "spent": True},
        {"sql": COUNT, "spend": 1},
        {"sql": COUNT, "within": "0.1"},
        {"sql": COUNT, "within": True},
        {"sql": COUNT, "max_epsilon": -1},
        {"sql": COUNT, "max_epsilon": float("nan")},
        {"sql": COUNT, "params": "x"},
        {"sql": COUNT, "request": "a\nb"},
        {"sql": COUNT, "request": ""},
    ],
)
def test_a_request_that_says_something_else_is_refused(data):
    with pytest.raises(BadValue) as refused:
        Ask.of(data)
    assert refused.value.code == "bad_input"


def test_a_request_has_the_shape_that_is_promised():
    shape = {"sql", "params", "within", "within_count", "confidence", "spend", "max_epsilon", "request"}
    assert set(Ask.__dataclass_fields__) == shape
    assert Ask.of({"sql": COUNT, "params": []}) == Ask(COUNT)
    assert Ask.of({"sql": COUNT}).spend is False
    assert Ask.of({"sql": COUNT, "params": [1]}).params == (1,)
    with pytest.raises(UnsupportedQuery):
        Ask.of({"sql": COUNT, "within": 0.1, "within_count": 3})


def test_the_command_line_says_the_same_as_the_desk(people_cli, visit):
    assert people_cli("ask", "people.csv", ROWS, "--no-spend", "--json").exit_code == 2
    told = people_cli("ask", "people.csv", ROWS, "--epsilon", "1", "--json", "--request", "q")
    assert json.loads(told.stdout)["request"] == "q"
    told = people_cli("ask", "people.csv", COUNT, "--within-count", "30", "--no-spend", "--json")
    assert told.exit_code == 3
    assert json.loads(told.stdout)["code"] == "budget_refused"
    assert people_cli("ask", "people.csv", COUNT, "--request", "q").exit_code == 2
