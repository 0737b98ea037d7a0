"""Sparse-vector runs have the law of their proof, fresh noise in values, and the accuracy of their theorem.

Every test states its false-alarm probability (ALARM, 1e-6) and is never retried.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from hedgerow.audit import exact
from hedgerow.curator.noise.noise import os_entropy
from hedgerow.curator.runs.comparison import advance, begin
from hedgerow.curator.runs.sparse_vector_plan import numeric_sparse_alpha, plan
from hedgerow.privacy.budget import Cost
from sizes import size

ALARM = 1e-6
STREAMS = [(1_000, 300), (30_000, 60), *size([], [(10**5, 60), (10**6, 30)])]


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(4)])
def test_the_place_of_the_first_above_has_the_law_of_the_proof(epsilon):
    values = [0, -2, 3, 0, 1]
    made = plan("above_threshold", Cost("epsilon", epsilon), Fraction(2), 1, 1)
    law = exact.above_threshold(values, made)
    size, array, seen = 20_000, np.array(values), np.zeros(6)
    for _ in range(size):
        places = advance(made, begin(made, os_entropy), array, os_entropy)[1]
        seen[int(places[0]) if places.size else 5] += 1
    expected = np.array([float(law[i]) for i in range(6)]) * size
    assert expected.sum() == pytest.approx(size)
    big = expected >= 5
    assert (
        stats.chisquare(
            np.append(seen[big], seen[~big].sum() + 1e-9),
            np.append(expected[big], expected[~big].sum() + 1e-9),
        ).pvalue
        > ALARM
    )


def test_released_values_have_fresh_noise_of_their_own_scale():
    """Where every question is above, a value's noise is Laplace of the value scale; b2 and b3 differ by 2."""
    made = plan("numeric_sparse", Cost("epsilon", 4000), Fraction(2), -(10**6), 1, count=4000)
    values = np.zeros(4000, dtype=np.int64)
    drawn = np.concatenate([advance(made, begin(made, os_entropy), values, os_entropy)[2] for _ in range(5)])
    b = float(made.value_scale)
    grid = np.arange(-200, 201)
    law = np.exp(-np.abs(grid) / b) * np.tanh(0.5 / b)
    edges = [-60, -30, -15, -8, -4, -1, 0, 1, 4, 8, 15, 30, 60]
    seen = np.histogram(drawn, [-(10**9), *edges, 10**9])[0]
    expected = np.histogram(grid, [-(10**9), *edges, 10**9], weights=law)[0] * drawn.size
    assert stats.chisquare(seen, expected * seen.sum() / expected.sum()).pvalue > ALARM


def test_released_values_do_not_depend_on_the_comparison():
    """On the threshold itself "above" means lucky noise; a fresh value is centred all the same (z < 5)."""
    made = plan("numeric_sparse", Cost("epsilon", 1), Fraction(1), 0, 1)
    drawn = []
    while len(drawn) < 20_000:
        released = advance(made, begin(made, os_entropy), np.zeros(1, dtype=np.int64), os_entropy)[2]
        drawn += released.tolist()
    spread = np.sqrt(2.0) * float(made.value_scale) / np.sqrt(len(drawn))
    assert abs(np.mean(drawn)) < 5 * spread


@pytest.mark.slow
@pytest.mark.parametrize(("queries", "runs"), STREAMS)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_numeric_sparse_is_as_accurate_as_its_theorem_says(queries, runs, delta):
    """Failures are binomial with at most beta each: more than the ALARM quantile would refute the theorem."""
    count, beta, epsilon = 3, 0.1, 1.0
    alpha = numeric_sparse_alpha(queries, count, beta, epsilon, delta)
    made = plan(
        "numeric_sparse", Cost("epsilon", 1), Fraction(1), 0, 1, count=count, epsilon=1, delta=delta or 0
    )
    values = np.full(queries, -int(np.ceil(alpha)) - 1, dtype=np.int64)  # as near as the theorem allows
    values[np.linspace(0, queries - 1, count).astype(int)] = int(np.floor(alpha)) + 1
    failures = sum(_fails(made, values, alpha) for _ in range(runs))
    assert stats.binom.sf(failures - 1, runs, beta) > ALARM


def _fails(made, values, alpha) -> bool:
    _, places, released, asked = advance(made, begin(made, os_entropy), values, os_entropy)
    below = np.ones(asked, dtype=bool)
    below[places] = False
    wrong = (values[:asked][below] > made.threshold + alpha).any() or (
        values[places] < made.threshold - alpha
    ).any()
    return bool(wrong or (np.abs(released - values[places]) > alpha).any() or asked < values.size)
