"""Sessions in domains too large for a weight on every cell: pairs are measured, and tables read from them."""

from __future__ import annotations

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.mechanisms.adaptive.adaptive import AdaptiveRelease
from hedgerow.mechanisms.session.weighed import Weighed
from hedgerow.privacy.budget import Budget
from hedgerow.queries.measurement import Measurement, Noise
from hedgerow.synopsis.halves import halved

ROWS = 6000
SIZES = {"a": 4, "b": 6, "c": 3, "d": 5}
DOMAIN = hr.Domain(SIZES)


def columns() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(4)
    a = rng.choice(4, ROWS, p=[0.5, 0.3, 0.15, 0.05])
    b = (a + rng.integers(0, 3, ROWS)) % 6
    return {"a": a, "b": b, "c": rng.integers(0, 3, ROWS), "d": np.where(b > 2, 4, rng.integers(0, 5, ROWS))}


def curator(seed: int = 1, ledger: str = ":memory:", **budget: float) -> hr.Curator:
    given = hr.Budget(**(budget or {"epsilon": 2, "delta": 1e-6}))
    table = hr.Table.open(columns(), DOMAIN)
    return hr.Curator(table, given, ledger, entropy=hr.testing.seeded(seed))


def session(seed: int = 1, **options: object) -> hr.mechanisms.session.open_session.OpenSession:
    return hr.Session(cells=1, **options).open(curator(seed))


def test_priming_measures_residuals_of_all_pairs_and_charges_all_of_it():
    guard = curator()
    opened = hr.Session(cells=1).open(guard)
    learned = opened._core.belief.learned
    assert learned.reconciled is not None
    assert {s for s in learned.reconciled.evidence.values if len(s) == 2} == {
        ("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("b", "d"), ("c", "d"),
    }  # fmt: skip
    assert guard.spent.rho == pytest.approx(float(guard.budget.cost.amount), rel=1e-6)


def test_another_kind_of_budget_chooses_tables_as_before():
    opened = hr.Session(cells=1).open(curator(epsilon=2, delta=0))
    assert opened._core.belief.learned.reconciled is None


def test_a_session_that_was_begun_by_choosing_tables_goes_on_with_them():
    guard = curator()
    plan = hr.Session(cells=1, epsilon=1)._checked()
    price = guard.price(plan.spend())
    before = AdaptiveRelease(budget=Budget(rho=price.amount), run=f"{plan._name(guard)}: prime")
    before.release(guard, hr.marginals(DOMAIN, 3), choose=True)
    spent = guard.spent.rho
    assert plan.begun(guard)
    opened = plan.open(guard)
    assert opened._core.belief.learned.reconciled is None
    assert guard.spent.rho == spent


def test_answers_are_far_nearer_than_fresh_noise_and_bars_are_of_their_size():
    off, wide, data = [], [], columns()
    rng = np.random.default_rng(5)
    for seed in range(3):  # seeded noise: the same numbers every time
        opened = session(seed)
        rho = float(opened._core.curator.budget.cost.amount)
        for _ in range(150):
            names = DOMAIN.order(rng.choice(list(SIZES), rng.integers(1, 5), replace=False).tolist())
            masks = {n: rng.random(SIZES[n]) < 0.5 for n in names}
            masks = {n: m if m.any() else ~m for n, m in masks.items()}
            answer = opened.ask(hr.Query.where(DOMAIN, masks))
            true = np.logical_and.reduce([masks[n][data[n]] for n in names]).sum()
            off.append(abs(answer.value - true))
            wide.append(answer.error)
    fresh = (2 / np.pi) ** 0.5 * (2000 / (2 * rho)) ** 0.5
    assert fresh / np.mean(off) >= 6.0
    assert np.mean(np.array(off) <= wide) >= 0.92
    assert 0.15 <= np.median(np.array(off) / wide) <= 0.6


def test_groups_of_a_statement_are_the_numbers_of_the_same_questions_alone():
    opened = session()
    groups = opened.ask("SELECT b, COUNT(*) FROM t WHERE a <= 1 GROUP BY b")
    for i, value in enumerate(np.asarray(groups.value).reshape(-1)):
        alone = opened.ask(f"SELECT COUNT(*) FROM t WHERE a <= 1 AND b = {i}")
        assert (value, np.asarray(groups.error).reshape(-1)[i]) == pytest.approx((alone.value, alone.error))


def test_a_conjunction_in_halves_is_that_of_the_pairs():
    rng = np.random.default_rng(6)
    counts = rng.gamma(1.0, 50.0, (4, 6, 3))  # of a, b and c
    start = np.full((4, 6, 3), 1.0 / 72)

    def table(names):
        return counts.sum(axis=tuple(i for i, n in enumerate("abc") if n not in names))

    def modelled(query):
        return float((start * (query.weights / (1 << 20))).sum())

    masks = {"a": [0, 2], "b": [1, 2, 3], "c": [0]}
    found = halved(hr.Query.where(DOMAIN, masks), table, modelled)
    pair = counts[np.ix_([0, 2], [1, 2, 3])].sum()
    assert 0.0 < found < pair
    everywhere = halved(hr.Query.where(DOMAIN, masks | {"c": [0, 1, 2]}), table, modelled)
    assert everywhere is not None
    two = halved(hr.Query.where(DOMAIN, {"a": [0, 2], "b": [1, 2, 3]}), table, lambda q: 0.25)
    assert two == pytest.approx(pair)


def test_a_table_that_was_measured_later_is_weighed_by_what_it_adds():
    truth = np.random.default_rng(7).gamma(1.0, 300.0, (4, 6))
    m = Measurement(("a", "b"), np.rint(truth).astype(np.int64), Noise("gaussian", 5))
    later = Weighed.best(DOMAIN, [m], ("a", "b"))
    assert Weighed.best(DOMAIN, [m], ("a",)) is None
    assert Weighed.best(DOMAIN, [m], ("a", "c")) is None
    believed = np.full((4, 6), truth.mean())
    assert later.weight(believed) > 0.99
    assert later.weight(np.rint(truth) + 1.0) == 0.0  # nearer than noise would be
    assert np.abs(later.combined(believed) - truth).max() < 20.0


def test_bars_of_weighed_tables_cover_on_average_whatever_was_believed():
    rng, hits, number = np.random.default_rng(8), 0, 0
    truth = rng.gamma(1.0, 500.0, (8, 9)) + 200.0
    domain = hr.Domain({"a": 8, "b": 9})
    for bias in (0.0, 5.0, 20.0, 200.0):  # rows, beside noise of 20
        for _ in range(20):
            noisy = np.rint(truth + rng.normal(0.0, 20.0, truth.shape)).astype(np.int64)
            m = Measurement(("a", "b"), noisy, Noise("gaussian", 20))
            later = Weighed.best(domain, [m], ("a", "b"))
            wrong = rng.normal(0.0, 1.0, truth.shape) * bias
            table = later.combined(np.maximum(truth + wrong - wrong.mean(), 0.0))  # the total is known
            for _ in range(10):
                weights = (rng.random(truth.shape) < 0.3).astype(float)
                off = abs(float(((table - truth) * weights).sum()))
                hits += off <= later.half_width(table, weights, 0.95, 1)
                number += 1
    assert hits / number >= 0.94


def test_what_tripped_is_measured_and_answers_move_to_it():
    guard = curator(epsilon=8, delta=1e-6)
    opened = hr.Session(epsilon=0.01, cells=1).open(guard)
    core = opened._core
    before = core.belief.table(("a", "b"))
    core.learn_table(guard, ("a", "b"), guard.price(4.0))
    data = columns()
    truth = np.zeros((4, 6))
    np.add.at(truth, (data["a"], data["b"]), 1.0)
    assert np.abs(core.belief.table(("a", "b")) - truth).sum() < 0.5 * np.abs(before - truth).sum()
    copied = core.belief.copied()
    assert copied.table(("a", "b")) == pytest.approx(core.belief.table(("a", "b")))
