"""What nobody measured: a number of many levels and few rows, together with anything else."""

from __future__ import annotations

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.synopsis.unseen import thin, unseen


def test_a_correlation_moves_the_sum_of_a_group_by_as_much_as_is_stated():
    """Rows of two groups: with a correlation of 0.2 the sum of one is off by the stated deviation."""
    p, q = np.full(50, 0.02), np.array([0.3, 0.7])
    values = np.arange(50.0)
    table = 1_000.0 * np.multiply.outer(q, p)
    weights = np.multiply.outer(np.array([1.0, 0.0]), values)
    spread = np.sqrt(p @ values**2 - (p @ values) ** 2)
    assert unseen(table, weights, 1) == pytest.approx(0.2 * 1_000 * spread * np.sqrt(0.3 * 0.7))
    assert unseen(table.T, weights.T, 0) == pytest.approx(unseen(table, weights, 1))


@pytest.mark.parametrize(
    "weights", [np.outer([1.0, 1.0], np.arange(50.0)), np.outer([1.0, 0.0], np.ones(50))]
)
def test_what_depends_on_one_side_alone_is_seen(weights):
    table = np.full((2, 50), 10.0)
    assert unseen(table, weights, 1) == pytest.approx(0.0, abs=1e-6)


def test_a_number_is_thin_where_noise_hides_its_rows():
    body = hr.Domain({"v": hr.bins(0, 400, 1, step=1)})["v"]
    truth = np.zeros(body.size)
    truth[40:80] = 100.0
    noise = np.random.default_rng(0).normal(0.0, 1.0, body.size)
    assert thin(body, truth + 12.0 * noise, 12.0)
    assert not thin(body, truth + 0.01 * noise, 0.01)
    assert not thin(body, 1_000.0 * truth + 12.0 * noise, 12.0)
