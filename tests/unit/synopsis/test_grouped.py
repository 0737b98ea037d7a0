"""A pair that was measured in groups of levels: what it says of weighted counts of its cells."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from hedgerow.queries.measurement import Noise
from hedgerow.synopsis.grouped import RELATED, GroupedTable
from hedgerow.synopsis.limits import MeasuredTable

NOISE = Noise("gaussian", Fraction(10))
RUNS = np.repeat(np.arange(4), 3)


def grouped(counts: np.ndarray) -> GroupedTable:
    return GroupedTable(MeasuredTable(("g", "x"), (np.arange(2), RUNS), counts, NOISE))


def test_weights_are_those_of_groups_and_what_is_left_adds_up_to_nothing_in_each():
    rng = np.random.default_rng(0)
    table, weights = rng.uniform(1, 9, (2, 12)), rng.normal(size=(2, 12))
    means, left = grouped(np.zeros((2, 4))).parts(table, weights)
    assert np.allclose(np.add.reduceat(table * left, np.arange(0, 12, 3), axis=1), 0.0, atol=1e-6)
    assert np.allclose(weights - left, means.reshape(2, 4)[:, RUNS])


def test_it_is_found_with_its_attributes_in_any_order_and_only_where_levels_are_put_together():
    counts = np.arange(8.0).reshape(2, 4)
    own = MeasuredTable(("g", "x"), (np.arange(2), RUNS), counts, NOISE)
    whole = MeasuredTable(("g", "x"), (np.arange(2), np.arange(12)), np.zeros((2, 12)), NOISE)
    (found,) = GroupedTable.of([own, whole], ("x", "g"))
    assert np.array_equal(found.measured.counts, counts.T)
    assert not GroupedTable.of([own], ("g", "y"))
    assert not GroupedTable.of([own], ("g",))


def test_a_bar_covers_how_far_the_answer_is_from_what_was_measured():
    """The rows of one group are all in the last run, and the answer is flat."""
    truth = np.zeros((2, 12))
    truth[0], truth[1, 9:] = 25.0, 100.0
    flat = truth.sum(axis=1, keepdims=True) * truth.sum(axis=0) / truth.sum()
    weights = np.outer([0.0, 1.0], np.arange(12.0))
    seen = grouped(np.add.reduceat(truth, np.arange(0, 12, 3), axis=1))
    bar = seen.bar(flat, weights, 0.95, 1, lambda axis, levels: 0.0)
    assert bar >= abs(float(((truth - flat) * weights).sum())) - 1e-6
    near = seen.bar(truth, weights, 0.95, 1, lambda axis, levels: 0.0)
    assert near < bar


def test_what_one_attribute_tells_is_taken_from_there_where_it_is_known():
    table, weights = np.full((2, 12), 10.0), np.outer([0.0, 1.0], np.ones(12))
    seen = grouped(np.full((2, 4), 30.0))
    assert seen.bar(table, weights, 0.95, 1, lambda axis, levels: 3.0) == pytest.approx(18.0**0.5)
    alone = seen.bar(table, weights, 0.95, 1, lambda axis, levels: None)
    assert alone > 10.0


def test_within_a_group_a_usual_correlation_moves_the_mean():
    table, weights = np.full((1, 3), 10.0), np.array([[0.0, 1.0, 2.0]])
    one = GroupedTable(
        MeasuredTable(("g", "x"), (np.zeros(1, int), np.zeros(3, int)), np.ones((1, 1)), NOISE)
    )
    assert one.within(table, weights) == pytest.approx(RELATED * 30.0 * np.sqrt(2.0 / 3.0))
