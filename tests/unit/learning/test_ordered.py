"""Ordered counts from noisy ones: rows are where runs of levels were measured to be."""

from __future__ import annotations

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.learning.ordered import FittedCounts, displaced, drawn_back, ordered, regained, spilled
from hedgerow.learning.residuals.nonnegative import cut


def _few_rows(seed: int, levels: int = 800, rows: int = 4_000) -> np.ndarray:
    values = np.random.default_rng(seed).gamma(2.0, 0.08 * levels, rows).astype(int)
    return np.bincount(np.minimum(values, levels - 1), minlength=levels).astype(float)


def _mean(table: np.ndarray) -> float:
    return float(table @ np.arange(len(table)) / table.sum())


@pytest.mark.parametrize(
    ("levels", "bins"), [(1, 1), (2, 1), (3, 3), (7, 6), (64, 64), (201, 200), (803, 800)]
)
def test_counts_are_of_all_rows_and_none_is_negative(levels, bins):
    noisy = np.random.default_rng(levels).normal(5.0, 8.0, levels)
    found = ordered(noisy, 8.0, 4_000.0, bins)
    assert found.shape == noisy.shape
    assert (found >= 0.0).all()
    assert found.sum() == pytest.approx(4_000.0)


def test_what_stands_above_its_noise_is_taken_as_it_was_measured():
    truth = np.random.default_rng(0).multinomial(10**6, np.random.default_rng(1).dirichlet(np.full(40, 5.0)))
    noisy = truth + np.random.default_rng(2).normal(0.0, 8.0, 40)
    assert np.abs(ordered(noisy, 8.0, float(noisy.sum()), 40) - noisy).max() < 1.0
    exact = truth.astype(float)
    assert np.allclose(ordered(exact, 0.0, float(exact.sum()), 40), exact, atol=1e-3)


def test_the_mean_of_few_rows_on_many_levels_stays_where_it_was_measured():
    """The nearest table without negative cells has it nearer to the middle, by several times its noise."""
    ours, cuts = [], []
    for seed in range(8):
        truth = _few_rows(seed)
        noisy = truth + np.random.default_rng(100 + seed).normal(0.0, 8.0, truth.size)
        rows = float(noisy.sum())
        ours.append(_mean(ordered(noisy, 8.0, rows, truth.size)) - _mean(truth))
        cuts.append(_mean(cut(noisy)) - _mean(truth))
    assert min(cuts) > 40.0
    assert np.sqrt(np.mean(np.square(ours))) < 20.0


def test_only_numbers_of_few_rows_that_a_fit_displaced_are_counted_anew():
    domain = hr.Domain({"ms": hr.bins(0, 800, 1, step=1), "sex": 2})
    truth = np.append(_few_rows(3), 0.0)
    noisy = truth + np.random.default_rng(4).normal(0.0, 8.0, truth.size)
    assert displaced(cut(noisy), noisy, 8.0, 800)
    assert not displaced(noisy, noisy, 8.0, 800)
    moved = {
        "ms": FittedCounts(cut(noisy), noisy, 8.0),
        "sex": FittedCounts(np.array([9e3, 0.0]), np.array([5e3, 4e3]), 8.0),
    }
    assert list(regained(domain, moved, 4_000.0)) == ["ms"]
    assert not regained(domain, {"ms": FittedCounts(noisy, noisy, 8.0)}, 4_000.0)
    assert not regained(domain, moved, 4e6)


@pytest.mark.parametrize("behind", [1, 2])
def test_rows_that_larger_tables_leave_behind_a_number_are_drawn_back(behind):
    """A fit says that 120 rows have no number, where nobody was measured to have none."""
    noisy = np.append(np.array([30_000.0, 15_000.0, 5_000.0]), [-20.0, 10.0][:behind])
    fitted = np.append(np.array([29_950.0, 14_960.0, 4_970.0]), [100.0, 20.0][:behind])
    fitted[-1] += 50_000.0 - fitted.sum()
    known = FittedCounts(fitted, noisy, 30.0)
    assert spilled(known, 3)
    counts = drawn_back(known, 50_000.0, 3)
    assert counts.sum() == pytest.approx(50_000.0)
    assert counts.min() >= 0.0
    assert counts[3:].sum() < 45.0
    np.testing.assert_allclose(counts[:3] / counts[:3].sum(), fitted[:3] / fitted[:3].sum())


@pytest.mark.parametrize("fitted", [[0.0, 0.0, 30.0, 10.0], [100.0, 50.0, 0.0, 300.0]])
def test_all_rows_are_kept_where_a_fit_has_none(fitted):
    known = FittedCounts(np.array(fitted), np.array([20_000.0, 40.0, 5.0, -30.0]), 30.0)
    counts = drawn_back(known, 20_015.0, 2)
    assert counts.sum() == pytest.approx(20_015.0)
    assert counts.min() >= 0.0
    assert counts[:2].sum() > 19_900.0


@pytest.mark.parametrize("there", [0.0, 5_000.0])
def test_rows_that_were_measured_to_have_no_number_are_kept(there):
    noisy = np.array([30_000.0, 15_000.0, there + 20.0])
    fitted = np.array([30_000.0, 15_000.0, there + 45.0])
    assert not spilled(FittedCounts(fitted, noisy, 30.0), 2)
    far = FittedCounts(fitted + np.array([0.0, 0.0, 100.0]), noisy, 30.0)
    assert drawn_back(far, float(noisy.sum()), 2)[-1] == pytest.approx(there + 20.0, abs=35.0)
