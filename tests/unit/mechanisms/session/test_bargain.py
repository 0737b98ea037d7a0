"""Paying for an accuracy gets a narrower bound than what is free, or nothing is paid."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.curator.rows.table import Rows
from hedgerow.figures import bound
from hedgerow.service import wire
from hedgerow.service.asking import Ask, Desk

BY_SEX = "SELECT sex, AVG(spend) FROM t GROUP BY sex"
BOTH = "SELECT sex, AVG(spend), COUNT(*) FROM t GROUP BY sex"
EDGES = [0, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000]
DOMAIN = hr.Domain({"sex": ["F", "M"], "spend": hr.Bins(EDGES, step=1), "k": hr.Categorical(range(3))})


@pytest.fixture(scope="module")
def desk():
    rng = np.random.default_rng(4)
    n = 4000
    spend = np.minimum(np.exp(rng.normal(6, 1.2, n)), 90_000).astype(int)
    rows = pd.DataFrame({"sex": rng.choice(["F", "M"], n), "spend": spend, "k": rng.integers(0, 3, n)})
    table = hr.Table.open(rows, DOMAIN)
    budget = hr.Budget(40, 1e-9)  # enough for all questions of this file, in any order
    curator = hr.Curator(table, budget, ":memory:", entropy=hr.testing.seeded(5))
    return Desk(hr.Session(epsilon=1.0).open(curator), curator)


def ask(desk, sql, **wish):
    return desk.session.ask(sql, **wish)


@pytest.mark.parametrize("sql", ["SELECT AVG(spend) FROM t", BY_SEX, "SELECT SUM(spend) FROM t", BOTH])
def test_an_accuracy_that_buys_no_narrower_bound_is_not_paid_for_and_says_so(desk, sql, monkeypatch):
    free, spent = ask(desk, sql), desk.payer.ledger.spent(desk.payer.account)
    for name in ("tables", "read"):  # no row is looked at
        monkeypatch.setattr(Rows, name, lambda *_, **__: pytest.fail("rows were touched"), raising=False)
    told = desk.explain(Ask(sql, within_count=3000))
    assert told.cost.cost.is_zero
    assert told.source == "learned"
    assert "nothing is charged" in told.words
    assert np.array_equal(told.error, free.error)
    answer = desk.ask(Ask(sql, within_count=3000, spend=True)).answer
    assert answer.cost is None
    assert answer.source == "learned"
    assert np.array_equal(answer.value, free.value)
    assert np.array_equal(answer.error, free.error)
    assert sum("nothing is charged" in note for note in answer.notes) == 1
    assert desk.payer.ledger.spent(desk.payer.account) == spent


def test_the_accuracy_that_is_proposed_is_worth_its_price(desk):
    sql = "SELECT AVG(spend) FROM t WHERE k = 2"
    free, told = ask(desk, sql), desk.explain(Ask(sql, within_count=3000))
    rows = float(told.words.split("; within ")[1].split(" row")[0].replace(",", ""))
    price = float(told.words.rsplit("epsilon ", 1)[1].rstrip("."))
    closer = desk.explain(Ask(sql, within_count=rows))
    assert closer.source == "measured"
    assert closer.cost.epsilon == pytest.approx(price, rel=0.01)
    assert 0 < closer.error < free.error
    paid = ask(desk, sql, within_count=rows)
    assert paid.cost is not None
    assert paid.error < free.error


QUANTILES = [
    f"SELECT PERCENTILE_CONT({q}) WITHIN GROUP (ORDER BY spend) AS p FROM t WHERE {where}"
    for q in (0.1, 0.25, 0.5, 0.75, 0.9, 0.95)
    for where in ("k < 3", "k = 1", "k = 0 AND sex = 'F'")
]


@pytest.mark.parametrize("wish", [{}, {"simultaneous": True}])
def test_what_is_proposed_for_quantiles_holds_when_it_is_asked_for(desk, wish):
    """Their bounds have steps from bin to bin: half the accuracy need not give half the width."""
    proposed = 0
    for sql in QUANTILES:
        free = ask(desk, sql, **wish)
        for rows in (40, 120, 400, 3000):
            told = desk.session.explain(sql, within_count=rows, **wish)
            if "; within " not in told.words:
                continue
            closer = float(told.words.split("; within ")[1].split(" row")[0].replace(",", ""))
            part = told.words.split("about ")[1].split(" as wide")[0]
            price = float(told.words.rsplit("epsilon ", 1)[1].rstrip("."))
            asked = desk.session.explain(sql, within_count=closer, **wish)
            assert asked.source == "measured"
            assert asked.cost.epsilon == pytest.approx(price, rel=0.01)
            wide = 0.5 if part == "half" else float(part.rstrip("%")) / 100
            assert asked.error / free.error == pytest.approx(wide, abs=0.11 if part == "half" else 0.01)
            proposed += 1
    assert proposed


def test_a_bound_that_is_narrower_by_rounding_alone_is_not_paid_for(desk):
    for sql in QUANTILES:
        free = ask(desk, sql)
        for rows in (10, 40, 120, 400):
            told = desk.explain(Ask(sql, within_count=rows))
            assert told.cost.cost.is_zero or told.error < 0.96 * free.error


def test_a_paid_answer_holds_the_learned_number_where_that_was_to_be_no_worse(desk):
    free = ask(desk, BOTH)
    told = desk.explain(Ask(BOTH, within_count=40))
    paid = ask(desk, BOTH, within_count=40)
    assert paid.cost is not None
    learned = np.asarray(paid.sources) == "learned"
    assert learned[:, 0].all()  # averages: 40 rows at up to 100,000 each
    assert not learned[:, 1].any()
    assert np.array_equal(paid.value[learned], free.value[learned])
    assert np.array_equal(paid.error[learned], free.error[learned])
    assert (paid.error[~learned] < free.error[~learned]).all()
    assert (np.asarray(told.error) <= free.error).all()
    assert (paid.confidence, paid.indicative) == (0.999, 0.95)
    assert any("learned numbers are meant to hold with 0.95" in note for note in paid.notes)
    assert paid.source == "learned"  # the least of them
    assert "each number that is measured" in paid.words
    assert "2 of 4" in paid.words
    assert "2 of 4 numbers" in told.words
    again = ask(desk, BOTH, within_count=40)
    assert again.cached
    assert np.array_equal(again.sources, paid.sources)
    assert again.indicative == paid.indicative


@pytest.mark.parametrize("numbers", ["SUM(spend) AS a", "AVG(spend) AS a, COUNT(*) AS n"])
def test_programs_are_told_the_source_of_every_number_of_a_paid_answer(desk, numbers):
    sql = f"SELECT k, {numbers} FROM t WHERE sex = 'F' GROUP BY k"
    paid = next(a for w in range(40, 4, -1) if (a := ask(desk, sql, within_count=w)).sources is not None)
    sources = np.asarray(paid.sources)
    told = [[row[c]["source"] for c in ("a", "n") if c in row] for row in wire.rows(paid)["rows"]]
    assert told == sources.tolist()
    frame = paid.to_pandas()
    assert {"learned", "measured"} == set(sources.ravel())
    assert [list(frame[f"{c}_source"]) for c in ("a", "n") if c in frame] == sources.T.tolist()


@pytest.mark.parametrize("rows", [5, 20, 100, 400])
@pytest.mark.parametrize("wish", [{}, {"confidence": 0.95}, {"confidence": 0.99}])
def test_no_number_of_a_paid_answer_is_wider_than_the_free_one_as_shown(desk, rows, wish):
    sql = f"SELECT sex, AVG(spend), SUM(spend), COUNT(*) FROM t WHERE k < 2 OR k = {rows % 3} GROUP BY sex"
    free = ask(desk, sql, **wish)
    told, paid = desk.explain(Ask(sql, within_count=rows, **wish)), ask(desk, sql, within_count=rows, **wish)
    assert (np.asarray(told.error) <= free.error).all()
    named = paid.sources is not None and np.asarray(paid.sources) == "learned"
    assert np.array_equal(np.where(named, paid.error, 0.0), np.where(named, free.error, 0.0))
    if not paid.cached:  # what was bought before says what it was bought for
        assert paid.indicative == (0.95 if not wish and np.any(named) and paid.cost is not None else None)


def test_an_answer_with_learned_numbers_promises_no_more_than_they_do(desk):
    sql = "SELECT sex, AVG(spend), COUNT(*) FROM t WHERE k = 0 GROUP BY sex"
    paid = ask(desk, sql, within_count=15)
    assert paid.indicative == 0.95
    surer = ask(desk, sql, confidence=0.99)
    assert not surer.cached
    assert (surer.error[:, 0] > paid.error[:, 0]).all()


def test_counts_are_as_close_as_was_named_whatever_was_learned(desk):
    answer = ask(desk, "SELECT sex, COUNT(*) FROM t GROUP BY sex", within_count=900)
    assert answer.cost is not None
    assert answer.source == "measured"


def test_groups_that_are_chosen_by_their_numbers_are_not_mixed(desk):
    sql = "SELECT sex, AVG(spend) AS a FROM t GROUP BY sex ORDER BY a DESC LIMIT 1"
    assert ask(desk, sql, within_count=3000).cost is None
    paid = ask(desk, sql, within_count=4)
    assert paid.sources is None
    assert paid.source == "measured"


def test_a_price_says_which_part_of_the_budget_it_takes(desk):
    """Epsilons of small prices add up to far more than what they take of a budget in rho."""
    sql = "SELECT COUNT(*) FROM t WHERE k = 1"
    before = desk.payer.ledger.spent(desk.payer.account)
    told = desk.explain(Ask(sql, within_count=60))
    paid = ask(desk, sql, within_count=60).cost
    taken = desk.payer.ledger.spent(desk.payer.account) - before
    part = 100 * float(taken.amount / desk.payer.ledger.budget.cost.amount)
    assert paid is not None
    assert float(paid.cost.amount) == pytest.approx(float(taken.amount), rel=1e-3)
    assert f"It takes up to {part:.2g}% of the whole budget." in told.words
    assert part < 100 * paid.epsilon / desk.payer.ledger.budget.epsilon


def few(rows):
    """A desk of many rows, of which `rows` are of the one kind that is asked for."""
    rng = np.random.default_rng(7)
    kind = np.where(np.arange(4000) < rows, "rare", "usual")
    domain = hr.Domain({"kind": ["rare", "usual"], "rate": hr.bins(0, 40, 1, step=1, missing=False)})
    table = hr.Table.open({"kind": kind, "rate": rng.integers(0, 40, 4000)}, domain)
    curator = hr.Curator(table, hr.Budget(40, 1e-9), ":memory:", entropy=hr.testing.seeded(8))
    return Desk(hr.Session(epsilon=0.2).open(curator), curator)


def test_an_average_of_perhaps_no_more_rows_than_the_error_is_not_charged_and_says_so():
    """What was learned may be off: of so few rows the paid average could be without a bound."""
    sql, desk = "SELECT AVG(rate) FROM t WHERE kind = 'rare'", few(3)
    spent = desk.payer.ledger.spent(desk.payer.account)
    told = desk.explain(Ask(sql, within_count=20))
    assert told.cost.cost.is_zero
    assert "nothing is charged; by what was released there may be too few rows for that" in told.words
    answer = desk.ask(Ask(sql, within_count=20, spend=True)).answer
    assert answer.cost is None
    assert any("too few rows" in note for note in answer.notes)
    assert desk.payer.ledger.spent(desk.payer.account) == spent
    closer = float(told.words.split(": within ")[1].split(" row")[0])
    expected = desk.explain(Ask(sql, within_count=closer))
    assert expected.source == "measured"
    assert f"bounds of up to {bound(expected.error)} are to be expected" in told.words


def test_groups_of_too_few_rows_are_told_before_they_are_paid_for():
    rng = np.random.default_rng(9)
    kinds = ["none", "few", "many", "most"]
    rows = {"kind": rng.choice(kinds, 4000, p=[0, 0.005, 0.2, 0.795]), "rate": rng.integers(0, 40, 4000)}
    domain = hr.Domain({"kind": kinds, "rate": hr.bins(0, 40, 1, step=1, missing=False)})
    table = hr.Table.open(rows, domain)
    curator = hr.Curator(table, hr.Budget(40, 1e-9), ":memory:", entropy=hr.testing.seeded(8))
    desk = Desk(hr.Session(epsilon=0.2).open(curator), curator)
    told = desk.explain(Ask("SELECT kind, AVG(rate) FROM t GROUP BY kind", within_count=30))
    assert told.cost.epsilon > 0
    assert np.isfinite(told.error[2:]).all()
    assert not np.isfinite(told.error[1])
    few = int((~np.isfinite(told.error)).sum())
    assert f"{few} of 4 numbers are likely to have no bound" in told.words


@pytest.mark.parametrize(
    "sql", ["SELECT COUNT(*) FROM t WHERE kind = 'rare'", "SELECT kind, COUNT(*) FROM t GROUP BY kind"]
)
def test_a_refusal_of_an_accuracy_in_rows_names_one_that_is_there(sql):
    table = hr.Table.open({"kind": ["rare", "usual"] * 500}, hr.Domain({"kind": ["rare", "usual"]}))
    curator = hr.Curator(table, hr.Budget(1, 1e-9), ":memory:", entropy=hr.testing.seeded(8))
    desk = Desk(hr.Session(epsilon=0.3).open(curator), curator)
    with pytest.raises(hr.errors.BudgetExceeded) as refused:
        desk.ask(Ask(sql, within_count=2, spend=True))
    rows = int(refused.value.hint.split("--within-count ")[1].split("`")[0])
    assert 2 < rows < 100
    assert not desk.explain(Ask(sql, within_count=rows / 2)).affordable
    assert np.all(desk.ask(Ask(sql, within_count=rows, spend=True)).answer.error <= rows)
