"""A decision: what `explain` says is what `ask` then does, over all branches."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.mechanisms.session.foresee import foresee

DOMAIN = hr.Domain({"sex": ["F", "M"], "k": hr.Categorical(range(3)), "c": 4})
SQL = "SELECT k, COUNT(*) FROM t WHERE sex = 'F' GROUP BY k"
PEOPLE = "SELECT COUNT(DISTINCT who) FROM t WHERE sex = 'F'"
ONE = hr.Query.where(DOMAIN, {"sex": "F", "k": [0, 1]})
OTHER = hr.Query.where(DOMAIN, {"c": [1, 2], "k": [0]})
NOTHING = "SELECT COUNT(*) FROM t WHERE sex = 'F' AND sex = 'M'"


def curator(rho: str = "2", unit: bool = False) -> hr.Curator:
    rng = np.random.default_rng(1)
    k = rng.integers(0, 3, 4000)
    rows = pd.DataFrame(
        {"sex": rng.choice(["F", "M"], 4000), "k": k, "c": (k + rng.integers(0, 2, 4000)) % 4}
    ).assign(who=np.arange(4000) // 2)
    whom = {"unit": "who", "max_rows": 2} if unit else {}
    table = hr.Table.open(rows, DOMAIN, **whom)
    budget = hr.Budget(rho=rho, delta=1e-6)
    return hr.Curator(table, budget, ":memory:", entropy=hr.testing.seeded(7))


def same_as_said(session: hr.OpenSession, query: object, **wish: object) -> str:
    """Ask what was explained, compare, and say which branch it was."""
    c = session._core.curator
    before = c.spent.rho
    said = session.explain(query, **wish)
    assert c.spent.rho == before  # explaining is free
    if not said.affordable:
        with pytest.raises(hr.errors.BudgetExceeded):
            session.ask(query, **wish)
        return "refused"
    answer = session.ask(query, **wish)
    assert answer.cached == said.cached
    assert answer.confidence == said.confidence
    paid = 0.0 if answer.cost is None else answer.cost.rho
    assert paid <= said.cost.rho * (1 + 1e-9)
    if said.cached:
        assert answer.source == said.source
        assert np.array_equal(answer.error, said.error)
        return "repeat"
    if said.source == "certified":  # most likely: what trips is measured, within the same accuracy
        assert answer.source in ("certified", "measured")
    else:
        assert answer.source == said.source
    assert np.all(np.asarray(answer.error) <= np.asarray(said.error) * (1 + 1e-6) + 1e-6)
    if said.source == "learned":
        assert np.array_equal(answer.error, said.error)
        assert paid == 0
    return said.source


def test_what_is_explained_is_what_then_happens_in_every_branch():
    session = hr.Session(budget=hr.Budget(rho="1/2", delta=1e-6), within=0.05, questions=200).open(curator())
    plain = hr.Session(budget=hr.Budget(rho="1/10", delta=1e-6), name="plain").open(curator("1"))
    people = hr.Session(budget=hr.Budget(rho="1/10", delta=1e-6)).open(curator("4", unit=True))
    poor = hr.Session(budget=hr.Budget(rho="1/100", delta=1e-6)).open(curator("1/99"))
    seen = {
        "learned": same_as_said(plain, SQL),
        "repeat": same_as_said(plain, SQL),
        "measured": same_as_said(plain, ONE, within_count=60),
        "measured again": same_as_said(plain, ONE, within_count=60),
        "a weaker promise": same_as_said(plain, ONE, within_count=90),
        "people": same_as_said(people, PEOPLE, within_count=200),
        "people again": same_as_said(people, PEOPLE, within_count=200),
        "certified": same_as_said(session, SQL),
        "a list": same_as_said(session, [ONE, OTHER, ONE]),
        "a list together": same_as_said(session, [ONE, OTHER], simultaneous=True),
        "nothing": same_as_said(session, NOTHING),
        "refused": same_as_said(poor, ONE, within_count=2),
    }
    assert seen == {
        "learned": "learned",
        "repeat": "repeat",
        "measured": "measured",
        "measured again": "repeat",
        "a weaker promise": "repeat",
        "people": "measured",
        "people again": "repeat",
        "certified": "certified",
        "a list": "certified",
        "a list together": "certified",
        "nothing": "certified",
        "refused": "refused",
    }


@pytest.mark.parametrize("query", [SQL, ONE, PEOPLE, NOTHING])
@pytest.mark.parametrize("close", [None, 60.0])
def test_what_is_foreseen_is_what_the_first_question_then_costs(query, close):
    c = curator("4", unit=True)
    learning = c.price(hr.Budget(rho="1/10", delta=0))
    if query is PEOPLE and close is None:
        with pytest.raises(hr.errors.UnsupportedQuery, match="within_count"):
            foresee(c, learning, query, None, close, 0.999)
        with pytest.raises(hr.errors.UnsupportedQuery, match="within_count"):
            hr.Session(budget=hr.Budget(rho="1/10", delta=1e-6)).open(c).ask(query)
        return
    found = foresee(c, learning, query, None, close, 0.999)
    session = hr.Session(budget=hr.Budget(rho="1/10", delta=1e-6)).open(c)
    before = c.ledger.spent()
    assert float(before.amount) == pytest.approx(float(found.learning.amount))
    assert before.amount <= found.learning.amount
    session.ask(query, within_count=close)
    paid = (c.ledger.spent() - before).amount
    assert float(paid) == pytest.approx(float(found.question.amount))
    assert paid <= found.question.amount


@pytest.mark.parametrize("simultaneous", [False, True])
def test_a_list_that_can_only_be_refused_is_refused_before_any_of_it_is_paid(simultaneous):
    """Where nothing is compared, every query of a list is measured, and all of their prices are known."""
    c = curator("1/10")
    session = hr.Session(budget=hr.Budget(rho="1/100", delta=1e-6)).open(c)
    some = [hr.Query.where(DOMAIN, {"k": k, "c": j}) for k in range(3) for j in range(4)]
    wish = {"within_count": 25, "simultaneous": simultaneous}
    assert session.explain(some[:1], **wish).affordable
    assert not session.explain(some, **wish).affordable
    before = c.ledger.spent()
    with pytest.raises(hr.errors.BudgetExceeded):
        session.ask(some, **wish)
    assert c.ledger.spent() == before
    assert session.ask(some[:1], **wish).source == "measured"  # what can be paid is
