"""Pairs too large by what is usual: a look before all is measured, and those that clearly go together are."""

from __future__ import annotations

from fractions import Fraction
from math import prod

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.mechanisms.adaptive import everything, look
from hedgerow.mechanisms.adaptive.adaptive import AdaptiveRelease
from hedgerow.mechanisms.adaptive.everything import Everything
from hedgerow.mechanisms.adaptive.farther import NOTE as FARTHER
from hedgerow.mechanisms.adaptive.farther import Farther
from hedgerow.mechanisms.adaptive.look import DEAREST, LEFT_OUT
from hedgerow.privacy.events import from_json
from hedgerow.privacy.ledger.entry import grains_from

ROWS = 20_000
SIZES = {"day": 80, "month": 40, "c": 4, "d": 40, "e": 5, "f": 30}
DOMAIN = hr.Domain(SIZES)
PAIR = ("day", "month")
RESIDUALS = "residuals of all tables"
PLAN = hr.Session(epsilon=1, name="s")


@pytest.fixture(autouse=True)
def measured_all(monkeypatch):
    """Sessions of so few rows choose their tables: here all pairs are measured, as where rows are many."""
    monkeypatch.setattr(everything, "SUMS_LIMIT", 1e9)


def independent(rows: int = ROWS) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    return {a: rng.integers(0, k, rows) for a, k in SIZES.items()}


def dates(rows: int = ROWS) -> dict[str, np.ndarray]:
    """Each month follows from the day; the others have nothing to do with each other."""
    columns = independent(rows)
    return columns | {"month": columns["day"] // 2}


def curator(columns, ledger=":memory:", budget=None, **options) -> hr.Curator:
    budget = budget or hr.Budget(epsilon=2, delta=1e-9)
    entropy = hr.testing.seeded(2)
    return hr.Curator(hr.Table.open(columns, DOMAIN), budget, ledger, entropy=entropy, **options)


def charges(guard: hr.Curator) -> list:
    lines = [e["line"] for e in guard.ledger.export()["entries"]]
    return [line for line in lines if line["kind"] == "charge"]


def notes(guard: hr.Curator) -> list[str]:
    return [line["note"].rpartition(": ")[2] for line in charges(guard)]


def measured(session) -> set[tuple[str, ...]]:
    return set(session._core.belief.learned.reconciled.evidence.values)


def off(session, columns) -> float:
    """The L1 distance of the pair's table to the truth, as a part of all rows."""
    truth = np.zeros((SIZES["day"], SIZES["month"]))
    np.add.at(truth, (columns["day"], columns["month"]), 1.0)
    return float(np.abs(session._core.belief.table(PAIR) - truth).sum()) / len(columns["day"])


def as_before(patch: pytest.MonkeyPatch) -> None:
    """What is left out is not looked at before the others are measured."""
    patch.setattr(Everything, "_with_clear_ones", lambda _, shares: shares)


def killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_large_pair_of_which_one_follows_from_the_other_is_measured(monkeypatch):
    """Noise is seeded."""
    columns = dates()
    session = PLAN.open(curator(columns))
    assert PAIR in measured(session)
    assert off(session, columns) < 0.5
    as_before(monkeypatch)
    before = PLAN.open(curator(columns))
    assert PAIR not in measured(before)  # else this test says nothing
    assert off(before, columns) > 1.8


def test_where_attributes_have_nothing_to_do_with_each_other_the_plan_stays(monkeypatch):
    given, kept = [], Everything._with_clear_ones

    def planned(self, shares):
        given.append((shares, kept(self, shares)))
        return given[-1][1]

    monkeypatch.setattr(Everything, "_with_clear_ones", planned)
    guard = curator(independent())
    PLAN.open(guard)
    assert LEFT_OUT in notes(guard)
    ((before, after),) = given
    assert after is before
    assert PAIR not in after.precisions


@pytest.mark.parametrize(("neighbours", "each"), [("add_remove", 1), ("replace", 4)])
def test_the_look_is_cheap_and_charged_at_the_norm_of_all_pairs_that_it_looks_at(
    monkeypatch, neighbours, each
):
    """A swap moves every distance by two. All acts together cost the price, to what a lattice rounds."""
    asked, standing_out = [], look.standing_out

    def listening(run, ones, pairs):
        asked.extend(pairs)
        return standing_out(run, ones, pairs)

    monkeypatch.setattr(everything, "standing_out", listening)
    guard = curator(dates(), neighbours=neighbours)
    hr.Session(name="s").open(guard)
    assert notes(guard) == ["one-way tables", LEFT_OUT, RESIDUALS, FARTHER]
    assert len(asked) > 1
    assert from_json(charges(guard)[1]["event"]).sensitivity_squared == each * len(asked)
    costs = [grains_from(line["cost"]).amount for line in charges(guard)]
    assert 0 < costs[1] <= Fraction(DEAREST) * guard.budget.cost.amount
    assert sum(costs) == guard.ledger.spent().amount <= guard.budget.cost.amount
    assert float(sum(costs)) == pytest.approx(float(guard.budget.cost.amount), rel=1e-5)


@pytest.mark.parametrize("where", ["before", "between"])
def test_a_session_that_was_stopped_goes_on_with_what_it_has_and_costs_no_more(tmp_path, monkeypatch, where):
    columns, ledger = dates(), tmp_path / "l.db"
    with monkeypatch.context() as patch:
        if where == "before":
            patch.setattr(Everything, "_with_clear_ones", killed)
        patch.setattr(Everything, "_measure", killed)
        with pytest.raises(KeyboardInterrupt):
            PLAN.open(curator(columns, ledger))
    stopped = charges(curator(columns, ledger))
    assert notes(curator(columns, ledger)) == ["one-way tables", LEFT_OUT][: 1 + (where == "between")]
    session = PLAN.open(curator(columns, ledger))
    guard = curator(columns, ledger)
    assert charges(guard)[: len(stopped)] == stopped
    assert notes(guard) == ["one-way tables", LEFT_OUT, RESIDUALS, FARTHER]
    assert guard.spent.rho == pytest.approx(float(guard.price(1.0).amount), rel=1e-5)
    again = PLAN.open(curator(columns, ledger))
    assert curator(columns, ledger).spent == guard.spent
    assert measured(again) == measured(session)
    assert np.array_equal(again._core.belief.table(PAIR), session._core.belief.table(PAIR))


@pytest.mark.parametrize("stopped", [False, True])
def test_a_session_that_was_begun_before_there_was_such_a_look_goes_on_without_one(
    tmp_path, monkeypatch, stopped
):
    columns, ledger = dates(), tmp_path / "l.db"
    with monkeypatch.context() as patch:
        as_before(patch)
        whole = PLAN.open(curator(columns))  # what it would have said
        if stopped:
            patch.setattr(Farther, "looked", killed)
            with pytest.raises(KeyboardInterrupt):
                PLAN.open(curator(columns, ledger))
        else:
            PLAN.open(curator(columns, ledger))
    begun = charges(curator(columns, ledger))
    session = PLAN.open(curator(columns, ledger))
    guard = curator(columns, ledger)
    assert notes(guard) == ["one-way tables", RESIDUALS, FARTHER]
    assert charges(guard)[: len(begun)] == begun
    assert len(begun) == (2 if stopped else 3)
    assert np.array_equal(session._core.belief.table(PAIR), whole._core.belief.table(PAIR))


def test_a_session_of_before_that_was_stopped_after_one_way_tables_goes_on_with_the_look(
    tmp_path, monkeypatch
):
    """What it has said until then is the same, so nothing of it is lost."""
    columns, ledger = dates(), tmp_path / "l.db"
    with monkeypatch.context() as patch:
        as_before(patch)
        patch.setattr(Everything, "_measure", killed)
        with pytest.raises(KeyboardInterrupt):
            PLAN.open(curator(columns, ledger))
    assert notes(curator(columns, ledger)) == ["one-way tables"]
    session = PLAN.open(curator(columns, ledger))
    assert notes(curator(columns, ledger)) == ["one-way tables", LEFT_OUT, RESIDUALS, FARTHER]
    assert PAIR in measured(session)


def test_pure_budgets_choose_and_do_not_look():
    guard = curator(dates(2000), budget=hr.Budget(epsilon=2))
    AdaptiveRelease(epsilon=1, measurements=1).release(guard, hr.marginals(DOMAIN, 2), sums=True)
    assert LEFT_OUT not in notes(guard)
    assert "one-way tables" in notes(guard)


def test_few_rows_are_not_looked_at():
    guard = curator(dates(400))
    PLAN.open(guard)
    assert notes(guard)[:2] == ["one-way tables", RESIDUALS]


@pytest.mark.parametrize(
    "rules",
    [{"CELLS": prod(SIZES[a] for a in PAIR)}, {"LEAST": 0.5, "DEAREST": 1.0}],
    ids=["of many cells", "that take what they would be measured with"],
)
def test_pairs_are_not_looked_at(monkeypatch, rules):
    for name, value in rules.items():
        monkeypatch.setattr(look, name, value)
    guard = curator(dates())
    session = PLAN.open(guard)
    assert LEFT_OUT not in notes(guard)
    assert PAIR not in measured(session)


def test_where_clear_pairs_have_more_numbers_than_can_be_measured_all_is_as_planned(monkeypatch):
    columns = dates()
    with monkeypatch.context() as patch:
        as_before(patch)
        usual = measured(PLAN.open(curator(columns)))
    numbers = sum(prod(SIZES[a] - 1 for a in s) for s in usual)
    monkeypatch.setattr(everything, "NUMBERS", numbers)
    guard = curator(columns)
    assert measured(PLAN.open(guard)) == usual
    assert LEFT_OUT in notes(guard)
