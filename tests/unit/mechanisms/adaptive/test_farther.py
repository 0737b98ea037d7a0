"""A look at larger tables than are measured: what it costs, what it changes, when there is none."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.mechanisms.adaptive.adaptive import AdaptiveRelease
from hedgerow.mechanisms.adaptive.farther import NOTE, PART, Farther
from hedgerow.synopsis.model import ModelSynopsis

SIZES = {"a": 5, "b": 5, "c": 5, "d": 4}
ALL = ("a", "b", "c")


def rows(number: int = 20_000) -> dict[str, np.ndarray]:
    """No two attributes have to do with each other, and one is a function of two: no pair shows that."""
    rng = np.random.default_rng(4)
    a, b, d = (rng.integers(0, k, number) for k in (5, 5, 4))
    return {"a": a, "b": b, "c": (a + b) % 5, "d": d}


def curator(columns, epsilon=1.0, ledger=":memory:") -> hr.Curator:
    table, budget = hr.Table.open(columns, hr.Domain(SIZES)), hr.Budget(epsilon=epsilon, delta=1e-9)
    return hr.Curator(table, budget=budget, ledger=ledger, entropy=hr.testing.seeded(5))


def charges(guard: hr.Curator) -> list[str]:
    lines = [e["line"] for e in guard.ledger.export()["entries"]]
    return [line["note"].rpartition(": ")[2] for line in lines if line["kind"] == "charge"]


def inside(synopsis: ModelSynopsis, columns) -> float:
    """The part of cells of three attributes within their 95% bars."""
    domain = synopsis.domain
    flat = np.ravel_multi_index([columns[n] for n in ALL], domain.shape_of(ALL))
    truth = np.bincount(flat, minlength=domain.cells(ALL))
    answer = synopsis.answer(hr.marginals(domain, [ALL]))
    return float((np.abs(answer.value - truth) <= answer.error).mean())


@pytest.fixture(scope="module")
def released():
    columns = rows()
    guard = curator(columns)
    return AdaptiveRelease().release(guard, hr.marginals(guard.domain, 2)), guard, columns


def test_bars_cover_what_no_measured_table_shows_and_without_the_look_they_do_not(released):
    """Noise is seeded. A fifth of the cells hold five times what is answered, the others nothing."""
    synopsis, _, columns = released
    assert inside(synopsis, columns) >= 0.8
    blind = replace(synopsis, learned=replace(synopsis.learned, beyond=None))
    assert inside(blind, columns) < 0.2


def test_it_is_kept_in_files(released, tmp_path):
    synopsis, _, _ = released
    synopsis.save(tmp_path / "one.hedgerow")
    again = hr.Synopsis.load(tmp_path / "one.hedgerow")
    names = hr.marginals(synopsis.domain, [tuple(SIZES)])
    assert np.array_equal(again.answer(names).error, synopsis.answer(names).error)


def test_it_costs_a_two_hundredth_of_the_price_and_is_charged(released):
    _, guard, _ = released
    assert charges(guard) == ["one-way tables", "residuals of all tables", NOTE]
    price = guard.budget.cost
    look = price.share(PART)
    others = curator(rows())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Farther, "price", property(lambda self: price.share(Fraction(0))))
        AdaptiveRelease().release(others, hr.marginals(others.domain, 2))
    assert NOTE not in charges(others)
    assert guard.ledger.spent() <= price
    assert float(guard.ledger.spent().amount) > float((price - look).amount)


def test_a_run_that_began_before_there_was_a_look_is_taken_up_without_one(tmp_path):
    columns, asked, ledger = rows(5000), hr.marginals(hr.Domain(SIZES), 2), tmp_path / "one.db"
    guard = curator(columns, ledger=ledger)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Farther, "price", property(lambda self: guard.budget.cost.share(Fraction(0))))
        before = AdaptiveRelease(run="year").release(guard, asked)
    spent = guard.ledger.spent()
    again = AdaptiveRelease(run="year").release(guard, asked)
    assert guard.ledger.spent() == spent
    assert again.learned.beyond is None
    assert np.array_equal(again.table(ALL), before.table(ALL))


def test_a_finished_release_is_given_again_with_its_look(tmp_path):
    guard = curator(rows(5000), ledger=tmp_path / "one.db")
    asked = hr.marginals(guard.domain, 2)
    first = AdaptiveRelease(run="year").release(guard, asked)
    spent = guard.ledger.spent()
    again = AdaptiveRelease(run="year").release(guard, asked)
    assert guard.ledger.spent() == spent
    assert first.learned.beyond is not None
    assert again.learned.beyond.spreads == first.learned.beyond.spreads


def test_with_too_few_rows_to_see_anything_nothing_is_looked_at():
    guard = curator(rows(300), epsilon=0.3)
    made = AdaptiveRelease().release(guard, hr.marginals(guard.domain, 2))
    assert made.learned.beyond is None
    assert NOTE not in charges(guard)


# -- where tables are chosen -------------------------------------------------------------------------------


def chosen(guard: hr.Curator, run: str | None = None) -> ModelSynopsis:
    return AdaptiveRelease(run=run, measurements=2).release(guard, hr.marginals(guard.domain, 2), choose=True)


def unlooked(guard: hr.Curator, run: str | None = None) -> ModelSynopsis:
    """As earlier versions chose: the rounds have all of the price."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Farther, "price", property(lambda self: guard.budget.cost.share(Fraction(0))))
        return chosen(guard, run)


def test_where_tables_are_chosen_bars_cover_what_was_not():
    """Noise is seeded. No pair shows that c is a function of a and b, and no pair that is measured helps."""
    columns = rows()
    made = chosen(curator(columns))
    assert inside(made, columns) >= 0.8
    blind = replace(made, learned=replace(made.learned, beyond=None))
    assert inside(blind, columns) < 0.3


def test_the_look_of_a_choice_is_charged_last_and_all_acts_cost_no_more_than_the_price():
    guard = curator(rows(5000))
    made = chosen(guard)
    assert charges(guard)[-1] == NOTE
    assert charges(guard).count(NOTE) == 1
    assert guard.ledger.spent() <= guard.budget.cost
    assert made.learned.beyond is not None
    assert made.learned.beyond.larger is not None


def test_a_choice_that_began_before_there_was_a_look_is_taken_up_without_one(tmp_path):
    guard = curator(rows(5000), ledger=tmp_path / "one.db")
    before = unlooked(guard, "year")
    spent = guard.ledger.spent()
    again = chosen(guard, "year")
    assert guard.ledger.spent() == spent
    assert again.learned.beyond is None
    assert np.array_equal(again.table(ALL), before.table(ALL))


def test_a_choice_is_given_again_with_its_look_and_kept_in_files(tmp_path):
    guard = curator(rows(5000), ledger=tmp_path / "one.db")
    first = chosen(guard, "year")
    spent = guard.ledger.spent()
    again = chosen(guard, "year")
    assert guard.ledger.spent() == spent
    assert again.learned.beyond.pack() == first.learned.beyond.pack()
    first.save(tmp_path / "one.hedgerow")
    names = hr.marginals(first.domain, [ALL])
    kept = hr.Synopsis.load(tmp_path / "one.hedgerow")
    assert np.array_equal(kept.answer(names).error, first.answer(names).error)


def test_pure_budgets_and_few_rows_choose_without_a_look():
    pure = hr.Curator(hr.Table.open(rows(5000), hr.Domain(SIZES)), hr.Budget(epsilon=1.0), ":memory:")
    assert chosen(pure).learned.beyond is None
    few = curator(rows(300), epsilon=0.3)
    assert chosen(few).learned.beyond is None
    assert NOTE not in charges(few)


@pytest.mark.parametrize("choose", [False, True])
def test_a_finished_release_of_before_rows_were_drawn_back_is_given_again_with_its_look(choose, monkeypatch):
    """Else its look was at other answers, and is lost."""
    rng = np.random.default_rng(2)
    names = {f"c{i}": 4 for i in range(9)}
    columns = {a: rng.integers(0, k, 5000) for a, k in names.items()} | {"n": rng.integers(0, 40, 5000)}
    domain = hr.Domain({"n": hr.bins(0, 40, 10, step=1), **names})
    budget, entropy = hr.Budget(epsilon=2, delta=1e-9), hr.testing.seeded(3)
    guard = hr.Curator(hr.Table.open(columns, domain), budget, ":memory:", entropy=entropy)
    asked = hr.marginals(domain, 2)
    ordered = "hedgerow.learning.ordered.spilled"
    with monkeypatch.context() as before:
        before.setattr(ordered, lambda known, bins: False)
        first = AdaptiveRelease(run="year").release(guard, asked, choose=choose)
    spent = guard.ledger.spent()
    monkeypatch.setattr(ordered, lambda known, bins: known.fitted.size > bins)
    again = AdaptiveRelease(run="year").release(guard, asked, choose=choose)
    assert guard.ledger.spent() == spent
    assert first.learned.beyond is not None
    assert again.learned.beyond is not None
    assert again.learned.beyond.spreads == first.learned.beyond.spreads
    np.testing.assert_array_equal(again.table(("n",)), first.table(("n",)))
