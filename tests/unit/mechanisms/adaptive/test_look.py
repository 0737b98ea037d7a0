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
from hedgerow.mechanisms.adaptive.run import AGAIN, Run
from hedgerow.mechanisms.run import SelectMeasure
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


def test_where_attributes_have_nothing_to_do_with_each_other_choosing_ends_and_one_way_tables_get_the_rest(
    runs,
):
    guard, notes = runs["independent"]
    assert LOOK in notes
    assert notes.count("choose") <= 3
    costs = [grains_from(line["cost"]).amount for line in charges(guard)]
    chosen = sum(c for c, note in zip(costs, notes, strict=True) if note == "choose" or " x " in note)
    assert chosen < 0.1 * guard.budget.cost.amount


def one_pair(rows: int = 20_000) -> dict[str, np.ndarray]:
    """In three rows of five one attribute decides about another; all others are independent."""
    made, rng = independent(rows), np.random.default_rng(3)
    followed = np.where(np.arange(rows) % 5 < 3, made["i0"], made["i1"])
    return made | {"i1": followed} | {f"j{i}": rng.integers(0, 20, rows) for i in range(4)}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_pair_that_decides_is_measured_however_little_all_others_are_worth(seed):
    """Seeded: the mean distance of all 66 pairs is less than what one-way tables are off."""
    domain = hr.Domain(SIZES | {f"j{i}": 20 for i in range(4)})
    guard = hr.Curator(
        hr.Table.open(one_pair(), domain),
        budget=hr.Budget(epsilon=0.5, delta=1e-9),
        ledger=":memory:",
        entropy=hr.testing.seeded(seed),
    )
    made = AdaptiveRelease().release(guard, hr.marginals(domain, 2))
    notes = [line["note"].rpartition(": ")[2] for line in charges(guard)]
    assert "i0 x i1" in notes
    assert np.trace(made.table(("i0", "i1"))) / made.total > 0.5  # of independent ones .28


def test_a_run_of_before_that_left_pairs_out_and_was_killed_ends_as_it_began(monkeypatch):
    guard = hr.Curator(
        hr.Table.open(independent(), hr.Domain(SIZES)),
        budget=hr.Budget(epsilon=1, delta=1e-9),
        ledger=":memory:",
        entropy=hr.testing.seeded(5),
    )
    mechanism, asked = AdaptiveRelease(epsilon=0.5), hr.marginals(guard.domain, 2)
    coming = property(lambda run: AGAIN if run.acts == 3 else None)
    with monkeypatch.context() as before:
        before.setattr(SelectMeasure, "coming", coming)
        before.setattr(Run, "regained", killed)
        with pytest.raises(KeyboardInterrupt):
            mechanism.release(guard, asked)
    notes = [line["note"].rpartition(": ")[2] for line in charges(guard)]
    assert notes == ["one-way tables", AGAIN, LOOK, AGAIN]
    made = mechanism.release(guard, asked)
    assert len(charges(guard)) == 4
    one = made.table(("i0", "i1")) / made.total
    np.testing.assert_allclose(one, np.outer(one.sum(axis=1), one.sum(axis=0)), atol=1e-9)


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


def killed(*_: object) -> None:
    raise KeyboardInterrupt


def test_few_rows_are_not_looked_at():
    few = {a: c[:40] for a, c in chain().items()}
    _, notes = released(few, epsilon=0.1)
    assert LOOK not in notes
    assert FARTHER not in notes


def test_the_limit_grows_with_evenness_and_is_never_below_the_usual_one():
    limits = [Look(0.25, 0.01, 0.01, even).limit(0.02, 2) for even in (0.0, 0.5, 0.6, 0.7, 0.85, 1.0)]
    assert limits == sorted(limits)
    assert limits[0] == limits[1] == pytest.approx(0.02)
    assert limits[-2] == limits[-1] > 0.1
    assert Look(1e-4, 1e-4, 0.01, 1.0).limit(0.02, 2) == pytest.approx(0.02)
