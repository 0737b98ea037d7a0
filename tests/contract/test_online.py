"""What every online mechanism owes its users: one suite for all of them."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.audit.ledger_replay import price
from hedgerow.queries.measurement import unpack
from hedgerow.synopsis.answer import Answer

DOMAIN = hr.Domain({"sex": ["F", "M"], "age": hr.bins(0, 100, 10)})
N = 3000
RNG = np.random.default_rng(3)
FINITE = {"sex": RNG.choice(["F", "M"], N), "age": RNG.integers(0, 60, N), "who": np.arange(N) // 2}
NAMES = {"name": RNG.choice(["oak", "ash", "elm"], N, p=[0.6, 0.3, 0.1]), "who": np.arange(N) // 2}
PURE, MIXED = hr.Budget(epsilon=2), hr.Budget(epsilon=2, delta=1e-6)


def finite_stream() -> list[Any]:
    return [
        *hr.marginals(DOMAIN, 1),
        hr.Query.total(),
        hr.Query.of(DOMAIN, ["age"], np.arange(10) / 9, scale=9),
    ]


def named_stream() -> list[Any]:
    return [
        hr.SparseQuery.of({"oak": 1, "ash": 0.5}),
        *(hr.SparseQuery.of({n: 1}) for n in ("oak", "elm", "yew")),
    ]


MECHANISMS: dict[str, Any] = {
    "OnlineMW": (lambda **o: hr.OnlineMW(updates=6, **o), FINITE, DOMAIN, finite_stream),
    "SparseMW": (lambda **o: hr.SparseMW(updates=6, sparsity=2, **o), NAMES, hr.OpenDomain(), named_stream),
}
CASES = [
    (name, budget, neighbours, unit)
    for name in MECHANISMS
    for budget in ("pure", "mixed")
    for neighbours in ("add_remove", "replace")
    for unit in ("rows", "people")
]


def make(case: Any, ledger: Any = ":memory:") -> tuple[Any, hr.Curator, list[Any]]:
    name, budget, neighbours, unit = case
    mechanism, rows, domain, stream = MECHANISMS[name]
    table = hr.Table.open(rows, domain, **({"unit": "who", "max_rows": 2} if unit == "people" else {}))
    guard = hr.Curator(table, {"pure": PURE, "mixed": MIXED}[budget], ledger, neighbours)
    return mechanism, guard, stream()


@pytest.fixture(params=CASES, ids="-".join)
def case(request: Any) -> Any:
    return request.param


def test_opening_spends_the_whole_budget_or_what_it_is_given_and_asking_nothing(case: Any) -> None:
    for epsilon in (None, 0.5):
        mechanism, guard, stream = make(case)
        session = mechanism(epsilon=epsilon).open(guard)
        spent = guard.spent.epsilon
        assert spent <= (epsilon or 2.0)
        assert spent == pytest.approx(epsilon or 2.0, rel=1e-3)
        assert session.cost.epsilon == pytest.approx(spent, rel=1e-9)
        for query in stream:
            assert session.ask(query).cost is None
        assert guard.spent.epsilon == spent


def test_every_answer_is_whole(case: Any) -> None:
    mechanism, guard, stream = make(case)
    session = mechanism(beta=0.01).open(guard)
    for query in stream:
        answer = session.ask(query)
        assert isinstance(answer, Answer)
        assert isinstance(answer.value, float)
        assert np.isfinite(answer.value)
        assert answer.error > 0
        assert answer.confidence == 0.99
        assert answer.source in ("certified", "measured", "learned")
        assert answer.to_json()["source"] == answer.source
    together = session.ask(stream)
    assert together.value.shape == together.error.shape == together.sources.shape == (len(stream),)
    assert together.to_json()["sources"] == together.sources.tolist()


def test_no_more_updates_than_were_paid_for(case: Any) -> None:
    mechanism, guard, stream = make(case)
    session = mechanism(threshold=-(10.0**9)).open(guard)  # everything is above
    sources = [session.ask(q).source for q in stream * 3]
    assert session.updates == 6
    assert sources[:6] == ["measured"] * 6
    assert set(sources[6:]) == {"learned"}


def test_the_ledger_holds_the_run_and_verifies_by_other_arithmetic(case: Any) -> None:
    mechanism, guard, stream = make(case)
    session = mechanism().open(guard)
    session.ask(stream)
    assert guard.ledger.verify(guard.receipt).ok
    charges = [e for e in guard.ledger.export()["entries"] if e["line"]["kind"] == "charge"]
    currency = guard.ledger.currency
    total = sum(price(e["line"]["event"], currency)[0] for e in charges)
    counted = case[2] == "add_remove" or case[3] == "people"
    assert len(charges) == 1 + counted  # the sparse vector, and the number of rows where that is private
    assert float(total) == pytest.approx(float(guard.ledger.spent().amount), rel=1e-9)


def test_the_number_of_rows_it_goes_by_is_public_or_the_answer_of_a_charged_line(case: Any) -> None:
    mechanism, guard, _ = make(case)
    session = mechanism().open(guard)
    if case[2] == "replace" and case[3] == "rows":
        assert session.terms.total == N
        return
    lines = [e for e in guard.ledger.export(answers=True)["entries"] if e["line"]["kind"] == "charge"]
    assert lines[0]["line"]["event"]["kind"] in ("laplace", "gaussian")
    assert session.terms.total == float(unpack(base64.b64decode(lines[0]["answer"]))[0].ravel()[0])


def test_it_can_be_taken_up_again_after_a_restart(case: Any, tmp_path: Path) -> None:
    mechanism, guard, stream = make(case, tmp_path / "ledger.db")
    first = mechanism(run="again").open(guard)
    first.ask(stream)
    past = [a.value.tolist() for a in first.transcript()]
    spent = guard.spent
    guard.ledger.close()
    _, guard, _ = make(case, tmp_path / "ledger.db")
    second = mechanism(run="again").open(guard)
    assert [a.value.tolist() for a in second.transcript()] == past
    assert (second.updates, second.asked, second.terms) == (first.updates, first.asked, first.terms)
    assert guard.spent == spent


def test_results_of_test_randomness_are_repeatable_and_marked(case: Any) -> None:
    said = []
    for _ in range(2):
        with hr.testing.seeded(7):
            mechanism, guard, stream = make(case)
            said.append(mechanism().open(guard).ask(stream).value.tolist())
            assert not guard.private
    assert said[0] == said[1]


def test_a_closed_session_can_be_asked_no_secret(case: Any) -> None:
    mechanism, guard, _ = make(case)
    with mechanism().open(guard) as session:
        pass
    with pytest.raises(TypeError):
        session.__reduce__()
    assert str(N) not in repr(session).replace(session.label, "")  # the label is random


def test_an_answer_as_plain_data_keeps_the_source_of_each_number() -> None:
    answer = Answer([1.0, 2.0], [0.5, 0.5], 0.95, "measured", sources=np.array(["certified", "measured"]))
    told = json.loads(json.dumps(answer.to_json()))
    assert told["sources"] == ["certified", "measured"]
    assert Answer(1.0, 0.5, 0.95, "measured").to_json()["sources"] is None
