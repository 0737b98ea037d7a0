"""A first look at pairs: what it costs, what it finds, and what is done then."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.mechanisms.adaptive.adaptive import AdaptiveRelease
from hedgerow.mechanisms.adaptive.farther import NOTE as FARTHER
from hedgerow.mechanisms.adaptive.look import DEAREST, Look
from hedgerow.mechanisms.adaptive.look import NOTE as LOOK
from hedgerow.privacy.events import from_json
from hedgerow.privacy.ledger.entry import grains_from

SIZES = {f"i{i}": 8 for i in range(8)}  # 8^8 cells: nothing holds them all


def independent(rows: int = 10_000) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(1)
    return {a: rng.choice(k, rows, p=rng.dirichlet(np.ones(k))) for a, k in SIZES.items()}


def rankings(rows: int = 10_000) -> dict[str, np.ndarray]:
    """No two attributes are ever equal: every pair is as dependent."""
    liked = np.log(np.arange(8, 0, -1)) + np.random.default_rng(9).gumbel(size=(rows, 8))
    places = np.argsort(np.argsort(-liked, axis=1), axis=1)
    return {a: places[:, i] for i, a in enumerate(SIZES)}


def chain(rows: int = 10_000) -> dict[str, np.ndarray]:
    """Every attribute follows the one before it: seven pairs say everything."""
    rng = np.random.default_rng(2)
    out = [rng.integers(0, 8, rows)]
    for _ in range(7):
        out.append(np.where(rng.random(rows) < 0.5, out[-1], rng.integers(0, 8, rows)))
    return dict(zip(SIZES, out, strict=True))


def released(columns, epsilon: float = 1.0, **options) -> tuple[hr.Curator, list[str]]:
    table, budget = hr.Table.open(columns, hr.Domain(SIZES)), hr.Budget(epsilon=epsilon, delta=1e-9)
    seeded = hr.testing.seeded(5)
    guard = hr.Curator(table, budget=budget, ledger=":memory:", entropy=seeded, **options)
    AdaptiveRelease().release(guard, hr.marginals(guard.domain, 2))
    return guard, [line["note"].rpartition(": ")[2] for line in charges(guard)]


def charges(guard: hr.Curator) -> list:
    lines = [e["line"] for e in guard.ledger.export()["entries"]]
    return [line for line in lines if line["kind"] == "charge"]


@pytest.fixture(scope="module")
def runs():
    return {made.__name__: released(made()) for made in (independent, rankings, chain)}


def test_attributes_that_have_nothing_to_do_with_each_other_get_one_way_tables_alone(runs):
    _, notes = runs["independent"]
    assert LOOK in notes
    assert set(notes) == {"one-way tables", "one-way tables again", LOOK}


def test_dependence_that_is_in_every_pair_is_measured_in_every_pair(runs):
    _, notes = runs["rankings"]
    assert notes[-3:] == [LOOK, "residuals of all tables", FARTHER]


def test_dependence_that_is_in_a_few_pairs_is_chosen(runs):
    _, notes = runs["chain"]
    assert LOOK in notes
    assert "choose" in notes


def test_a_look_is_cheap_and_charged_once_with_everything_else_to_the_last_rational(runs):
    for guard, notes in runs.values():
        costs = [grains_from(line["cost"]).amount for line in charges(guard)]
        (look,) = (c for c, note in zip(costs, notes, strict=True) if note == LOOK)
        assert 0 < look <= Fraction(DEAREST) * guard.budget.cost.amount
        assert sum(costs) == guard.ledger.spent().amount <= guard.budget.cost.amount
        assert float(sum(costs)) == pytest.approx(float(guard.budget.cost.amount), rel=1e-5)


def test_under_replace_a_look_pays_for_rows_that_are_swapped(runs):
    """A swap moves a distance by two, and a table by the root of two."""
    guard, notes = released(independent(), neighbours="replace")
    assert notes.count(LOOK) == 1
    (line,) = (x for x, note in zip(charges(guard), notes, strict=True) if note == LOOK)
    assert from_json(line["event"]).sensitivity_squared == 4 * 28


def test_few_rows_are_not_looked_at_and_get_one_way_tables_alone():
    few = {a: c[:40] for a, c in chain().items()}
    _, notes = released(few, epsilon=0.1)
    assert set(notes) == {"one-way tables", "one-way tables again"}


def test_nothing_is_left_out_where_noise_is_small_beside_what_can_be_learned():
    small = Look(beyond=0.0, chance=0.04, blur=0.001, evenness=0.0)
    assert not small.alone(0.1, 0.35)
    assert Look(0.0, 0.04, 0.2, 0.0).alone(0.1, 0.35)
    assert not Look(0.5, 0.04, 0.2, 0.0).alone(0.1, 0.35)


def test_the_limit_grows_with_evenness_and_is_never_below_the_usual_one():
    limits = [Look(0.25, 0.01, 0.01, even).limit(0.02, 2) for even in (0.0, 0.5, 0.6, 0.7, 0.85, 1.0)]
    assert limits == sorted(limits)
    assert limits[0] == limits[1] == pytest.approx(0.02)
    assert limits[-2] == limits[-1] > 0.1
    assert Look(1e-4, 1e-4, 0.01, 1.0).limit(0.02, 2) == pytest.approx(0.02)
