"""What an interactive run leaves to take home: what it said, within the bounds it said it with, for free."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.queries.query import ONE

DOMAIN = hr.Domain({"sex": ["F", "M"], "age": hr.bins(0, 100, 10), "k": 3})
N = 4000
RNG = np.random.default_rng(5)
PEOPLE = hr.Table.open(
    {
        "sex": RNG.choice(["F", "M"], N, p=[0.7, 0.3]),
        "age": RNG.integers(0, 60, N),
        "k": RNG.integers(0, 2, N),
    },
    DOMAIN,
)
WOOD = hr.Table.open(
    RNG.choice(["oak", "ash", "elm", "yew"], N, p=[0.5, 0.3, 0.1, 0.1]).tolist(), hr.OpenDomain()
)
NAMED = [hr.SparseQuery.of({n: 1, "ash": 0.5}) for n in ("oak", "elm", "yew", "box")]
OTHERS = [hr.SparseQuery.of({n: 1}, scale=2.0) for n in ("oak", "fir")]
LISTED = [hr.Query.where(DOMAIN, {"sex": "F"}), hr.Query.of(DOMAIN, ["age"], np.arange(10) / 9, scale=9)]
UNASKED = [hr.Query.where(DOMAIN, {"sex": "M", "k": 1}), hr.Query.where(DOMAIN, {"age": "[90, 100]", "k": 0})]
KINDS: dict[str, Any] = {
    "OnlineMW": (hr.OnlineMW(updates=5), PEOPLE, LISTED * 2, UNASKED),
    "SparseMW": (hr.SparseMW(updates=5, sparsity=2), WOOD, NAMED * 2, OTHERS),
}


def opened(name: str, neighbours: str = "add_remove", ledger: Any = ":memory:", **o: Any) -> Any:
    mechanism, table, asked, others = KINDS[name]
    curator = hr.Curator(table, hr.Budget(epsilon=2), ledger, neighbours)
    return type(mechanism)(**{**vars(mechanism), **o}).open(curator), curator, asked, others


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("name", KINDS)
def test_what_was_asked_is_answered_as_it_was_and_at_no_cost(name: str, neighbours: str) -> None:
    session, curator, asked, others = opened(name, neighbours)
    said = [session.ask(q) for q in asked]
    spent, lines = curator.spent, curator.ledger.newest
    home = session.synopsis()
    assert (curator.spent, curator.ledger.newest) == (spent, lines)
    assert home.cost == session.cost
    assert home.provenance.mechanism == name
    for i, query in enumerate(asked[: len(asked) // 2]):
        found = home.answer(query)
        twice = [said[i], said[i + len(asked) // 2]]  # asked twice: the better of the two
        best = min(reversed(twice), key=lambda a: a.error)
        assert (found.value, found.source, found.confidence) == (best.value, best.source, 0.95)
        assert found.error <= best.error
        assert not found.notes
    for query in others:
        found, now = home.answer(query), session.terms
        assert found.source == "learned"
        assert found.notes[-1].startswith("No test has compared")
        guess = session.hypothesis.answer(query) * now.total
        assert found.value == pytest.approx(query.to_unit(guess), rel=1e-9)
        trivial = float(now.untested(np.array([guess]), np.array([query.largest / ONE]))[0])
        assert found.error == pytest.approx(query.scale * trivial, rel=1e-6)


@pytest.mark.parametrize("name", KINDS)
def test_a_list_has_the_source_of_each_number_and_the_least_of_them(name: str) -> None:
    session, _, asked, others = opened(name)
    whole = session.ask(asked)
    home = session.synopsis()
    found = home.answer([*asked, *others])
    assert set(found.sources[: len(asked)]) <= {"certified", "measured"}
    assert set(found.sources[len(asked) :]) == {"learned"}
    assert found.source == "learned"
    assert home.answer(asked).source != "learned"
    assert set(np.round(home.answer(asked).value, 9)) <= set(np.round(whole.value, 9))


@pytest.mark.parametrize("name", KINDS)
def test_it_is_saved_and_loaded_and_made_again_in_another_process_by_its_label(
    name: str, tmp_path: Path
) -> None:
    session, curator, asked, others = opened(name, ledger=tmp_path / "l.db", run="home")
    session.ask(asked)
    home = session.synopsis()
    home.save(tmp_path / "home.hedgerow")
    loaded = hr.Synopsis.load(tmp_path / "home.hedgerow")
    questions = [*asked, *others]
    mechanism = KINDS[name][0]
    again = type(mechanism)(**{**vars(mechanism), "run": "home"}).open(curator).synopsis()
    for other in (loaded, again):
        np.testing.assert_array_equal(other.answer(questions).value, home.answer(questions).value)
        np.testing.assert_array_equal(other.answer(questions).error, home.answer(questions).error)
        assert list(other.answer(questions).sources) == list(home.answer(questions).sources)
    assert curator.ledger.verify(home.receipt).ok


@pytest.mark.parametrize("name", KINDS)
def test_more_confidence_than_the_run_has_leaves_the_trivial_bound(name: str) -> None:
    session, _, asked, _ = opened(name, beta=0.2)
    session.ask(asked)
    home = session.synopsis()
    for query in asked:
        near, far = home.answer(query, confidence=0.8), home.answer(query, confidence=0.95)
        assert near.value == far.value
        assert near.error < N / 2 < far.error


def test_before_anything_was_asked_everything_is_learned(quiet: None) -> None:
    for name in KINDS:
        session, _, asked, _ = opened(name)
        home = session.synopsis()
        assert home.answer(asked[0]).source == "learned"
        assert len(home.transcript) == 0


def test_sql_about_what_was_asked_has_the_bound_it_was_answered_with() -> None:
    session, *_ = opened("OnlineMW")
    said = session.ask(LISTED[0])
    home = session.synopsis()
    found = home.answer(hr.sql(DOMAIN, "SELECT COUNT(*) FROM t WHERE sex = 'F'"))
    assert (float(found.value), found.source) == (said.value, said.source)
    assert float(found.error) <= said.error
    assert home.answer(hr.sql(DOMAIN, "SELECT COUNT(*) FROM t WHERE k = 1")).source == "learned"
    assert home.table(("sex",)).sum() == pytest.approx(home.total)
    assert len(home.sample(10, seed=1)["sex"]) == 10


def test_the_corollary_all_long_conjunctions_are_within_three_alpha_at_once(size: Any) -> None:
    """[BR11] Cor. 3.11 in theorem mode: every conjunction of d - 1 of d literals, false alarm beta = 1e-6."""
    d = size(4, 6)
    codes = np.random.default_rng(1).integers(0, 1 << d, 500)
    rows = [format(c, f"0{d}b") for c in codes]
    asked = list(hr.literal_conjunctions(d, 1))
    table = hr.Table.open(rows, hr.OpenDomain())
    curator = hr.Curator(table, hr.Budget(epsilon=10**7), ":memory:", "add_remove")
    mechanism = hr.SparseMW(
        alpha=0.25, beta=1e-6, sparsity=2, queries=len(asked), epsilon=10**6, rows=500, delta=0
    )
    session = mechanism.open(curator)
    session.ask(asked)
    home = session.synopsis()
    found = home.answer(asked, confidence=1 - 1e-6)
    truth = np.array([sum(rows.count(name) * w / ONE for name, w in q.weights.items()) for q in asked])
    assert (found.error <= 3 * 0.25 * 500 + 1e-9).all()
    assert (np.abs(found.value - truth) <= found.error).all()
