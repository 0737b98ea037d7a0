"""Residuals: tables as coordinates, their noise, the remainder beside a model, and no negative cells."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.learning.residuals.basis import Basis, subsets
from hedgerow.learning.residuals.noisy import NoisyResiduals
from hedgerow.learning.residuals.nonnegative import cut, nonnegative, outermost
from hedgerow.learning.residuals.shrinkage import combined, remainder_weights
from hedgerow.queries.measurement import Measurement, Noise
from hedgerow.queries.strategies.contrast import Contrasts
from hedgerow.queries.strategies.strategy import Residual, ResidualStrategy

SIZES = {"a": 3, "b": 4, "c": 2}
NAMES = ("a", "b", "c")


def test_a_table_is_the_sum_of_its_residuals_and_margins_are_those_of_fewer():
    table = np.random.default_rng(0).normal(size=(3, 4, 2))
    basis = Basis(SIZES)
    parts = basis.parts(NAMES, table)
    np.testing.assert_allclose(basis.table(NAMES, parts), table, atol=1e-12)
    np.testing.assert_allclose(basis.table(("a", "c"), parts), table.sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(parts["a", "c"], basis.residual(("a", "c"), table.sum(axis=1)), atol=1e-12)


def test_squared_lengths_add_up_over_residuals():
    table = np.random.default_rng(1).normal(size=(3, 4, 2))
    basis = Basis(SIZES)
    parts = basis.parts(NAMES, table)
    lengths = sum(basis.spread(s, NAMES) * float((v**2).sum()) for s, v in parts.items())
    assert lengths == pytest.approx(float((table**2).sum()))


def strategy(weights: dict[tuple[str, ...], int]) -> ResidualStrategy:
    axes = {a: Contrasts.close(n, "even") for a, n in SIZES.items()}
    parts = [Residual(s, np.full((1,) * len(s), w, dtype=np.int64)) for s, w in weights.items()]
    return ResidualStrategy(axes, tuple(parts))


def measured(table: np.ndarray, sigma: float = 0.0, seed: int = 0) -> list[Measurement]:
    """One-way tables and all residuals of the triple, with noise of one deviation on every number."""
    rng = np.random.default_rng(seed)
    every = strategy(dict.fromkeys(subsets(NAMES), 40))
    margins = {s: table.sum(axis=tuple(i for i, a in enumerate(NAMES) if a not in s)) for s in subsets(NAMES)}
    noise = Noise("gaussian", Fraction(max(sigma, 1)))
    numbers = every.apply(lambda s: margins[s]) + np.rint(rng.normal(0, sigma, 24)).astype(np.int64)
    ones = [Measurement((a,), margins[a,] + rng.integers(-2, 3, SIZES[a]), noise) for a in NAMES]
    return [*ones, Measurement((), numbers, noise, None, True, every)]


def test_what_was_measured_without_noise_is_what_is_known():
    table = np.random.default_rng(2).integers(0, 50, (3, 4, 2))
    known = NoisyResiduals.of(hr.Domain(SIZES), measured(table)[-1:], None)
    np.testing.assert_allclose(known.basis.table(NAMES, known.values), table, atol=1e-9)
    assert known.holds(("a", "b"))
    assert known.total == table.sum()


def test_the_deviation_of_a_weighted_sum_is_that_of_the_noise_behind_it():
    """By linear algebra: a sum's coefficient on every measured number, squared and added up."""
    domain, zero = hr.Domain(SIZES), np.zeros((3, 4, 2), dtype=np.int64)
    whole = measured(zero, 1000.0)[-1:]
    known = NoisyResiduals.of(domain, whole, None)
    weights = np.random.default_rng(3).normal(size=(3, 4, 2))
    total = 0.0
    for i in range(24):
        one = np.zeros(24, dtype=np.int64)
        one[i] = 1_000_000
        told = NoisyResiduals.of(
            domain, [Measurement((), one, whole[0].noise, None, True, whole[0].strategy)], None
        )
        total += (float((told.basis.table(NAMES, told.values) * weights).sum()) / 1e3) ** 2
    assert known.norm(NAMES, weights) >= total**0.5 * 0.999  # contrasts are as long as each other to 1e-3
    assert known.norm(NAMES, weights) == pytest.approx(total**0.5, rel=0.02)
    cell = np.zeros((3, 4, 2))
    cell[1, 2, 0] = 1.0
    assert known.variance(NAMES) ** 0.5 == pytest.approx(known.norm(NAMES, cell), rel=1e-9)


def test_one_way_tables_and_residuals_are_weighed_by_their_precision():
    table = np.random.default_rng(4).integers(100, 500, (3, 4, 2))
    parts = measured(table, 30.0)
    alone = NoisyResiduals.of(hr.Domain(SIZES), parts[-1:], None)
    both = NoisyResiduals.of(hr.Domain(SIZES), parts, None)
    for s in alone.deviations:
        assert both.deviations[s] < alone.deviations[s] if len(s) < 2 else True
    public = NoisyResiduals.of(hr.Domain(SIZES), parts, float(table.sum()))
    assert float(public.values[()]) == pytest.approx(table.sum())


def test_cutting_is_the_nearest_table_without_negative_cells_and_keeps_the_sum():
    rng = np.random.default_rng(5)
    for _ in range(20):
        table = rng.normal(1.0, 2.0, (4, 5))
        made = cut(table)
        assert (made >= 0.0).all()
        assert made.sum() == pytest.approx(max(table.sum(), 0.0))
        other = rng.dirichlet(np.ones(20)).reshape(4, 5) * made.sum()
        assert ((made - table) ** 2).sum() <= ((other - table) ** 2).sum() + 1e-9


def test_tables_made_nonnegative_agree_and_are_no_further_from_the_truth():
    rng, basis = np.random.default_rng(6), Basis({"a": 5, "b": 6, "c": 4})
    truth = rng.multinomial(400, rng.dirichlet(np.full(120, 0.1))).reshape(5, 6, 4).astype(float)
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    true = {s: v for s, v in basis.parts(NAMES, truth).items() if len(s) < 3}
    noisy = {s: v + 6.0 * rng.normal(size=v.shape) * (len(s) > 0) for s, v in true.items()}
    made = nonnegative(basis, noisy, pairs)

    def off(parts):
        return sum(float(((basis.table(t, parts) - basis.table(t, true)) ** 2).sum()) for t in pairs)

    assert min(float(basis.table(t, noisy).min()) for t in pairs) < -1.0
    assert min(float(basis.table(t, made).min()) for t in pairs) >= 0.0
    assert off(made) < off(noisy)
    np.testing.assert_allclose(
        basis.table(("a", "b"), made).sum(axis=1), basis.table(("a", "c"), made).sum(axis=1), atol=1e-9
    )


def test_tables_of_very_many_rows_are_moved_by_less_than_their_noise():
    """Cells of no rows beside counts of millions: making them nonnegative is next to nothing beside noise."""
    rng, basis = np.random.default_rng(8), Basis({"a": 5, "b": 6, "c": 4})
    truth = rng.multinomial(10**7, rng.dirichlet(np.full(120, 0.01))).reshape(5, 6, 4).astype(float)
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    true = {s: v for s, v in basis.parts(NAMES, truth).items() if len(s) < 3}
    noisy = {s: v + 0.2 * rng.normal(size=v.shape) * (len(s) > 0) for s, v in true.items()}

    def off(parts):
        return sum(float(np.abs(cut(basis.table(t, parts)) - basis.table(t, true)).sum()) for t in pairs)

    noise = off(noisy) / len(pairs) / 1e7
    assert off(nonnegative(basis, noisy, pairs, noise)) < 1.1 * off(noisy)
    assert off(nonnegative(basis, noisy, pairs)) > 1.5 * off(noisy)


def test_only_tables_in_no_other_are_outermost():
    assert outermost([("a",), ("a", "b"), ("b",), ("c",), ("a", "b")]) == [("a", "b"), ("c",)]


@pytest.mark.parametrize("bias", [0.0, 1.0, 30.0])
def test_a_model_plus_its_remainder_is_hardly_worse_than_the_better_of_the_two(bias):
    """Stein: over 300 coordinates the risk is within a tenth of the ideal, whatever the model's bias."""
    rng, basis = np.random.default_rng(7), Basis({"a": 16, "b": 21})
    names, sigma = ("a", "b"), 5.0
    truth = basis.parts(names, rng.normal(50.0, 10.0, (16, 21)))
    risk = {"model": 0.0, "measured": 0.0, "both": 0.0}
    for _ in range(20):
        model = {s: v + bias * rng.normal(size=v.shape) for s, v in truth.items()}
        values = {s: v + sigma * rng.normal(size=v.shape) for s, v in truth.items()}
        known = NoisyResiduals(basis, values, dict.fromkeys(values, sigma))
        both = combined(known, model, remainder_weights(known, model, {}))
        for key, parts in (("model", model), ("measured", values), ("both", both)):
            risk[key] += float(((parts[names] - truth[names]) ** 2).sum())
    ideal = risk["model"] * risk["measured"] / (risk["model"] + risk["measured"])
    assert risk["both"] <= 1.1 * ideal + 0.05 * risk["measured"]


def test_a_model_that_followed_the_noise_leaves_its_own_bias_to_what_was_measured():
    """What was fitted to the measurements and is still far from them is wrong, not right."""
    rng, basis = np.random.default_rng(8), Basis({"a": 16, "b": 21})
    values = {s: rng.normal(size=v.shape) for s, v in basis.parts(("a", "b"), np.zeros((16, 21))).items()}
    known = NoisyResiduals(basis, values, dict.fromkeys(values, 1.0))
    model = {s: v + 0.9 for s, v in values.items()}
    alone = remainder_weights(known, model, {})["a", "b"]
    told = remainder_weights(known, model, dict.fromkeys(values, 0.9))["a", "b"]
    assert alone == 0.0
    assert told > 0.8
