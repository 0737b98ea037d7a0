"""Broken boosting is caught: what makes a weight depend on other rows, or forgets a factor, is refuted.

Each audit refutes an honest mechanism with probability at most 1e-6; nothing is retried. Sizes are counted in
samples, not in seconds, and every mistake is found with a wide margin.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from hedgerow.audit.case import claim
from hedgerow.audit.neighbours import neighbouring_tables
from hedgerow.audit.rehearsal import repeated
from hedgerow.audit.statistical import audit
from hedgerow.curator.statistics import smooth
from hedgerow.curator.statistics.weighted import WeightedSums
from hedgerow.mechanisms.boost_people import card
from hedgerow.privacy.budget import Privacy
from hedgerow.queries.query import ONE, Norms
from sizes import size

DELTA, EPSILON = 0.01, 2.0
SAMPLES, ROUNDS = size((20_000, 6_000), (80_000, 20_000))
PATIENCE = 600.0  # seconds: never what ends the sampling
HONEST = WeightedSums.exact
ROUND = card._smooth_round


def tuned(epsilon, world, size):
    """One round of weighted counts, at the whole of an (epsilon, DELTA) claim."""
    return repeated(world, claim(epsilon, DELTA), lambda c: c.measure(card.full_weight(), epsilon), size)[0]


def smoothed_round(epsilon, world, size):
    return repeated(world, claim(epsilon, 0), lambda c: ROUND(c, epsilon), size)[0]


def refuted(draw, pairs, delta, epsilon=EPSILON, samples=SAMPLES) -> bool:
    found = audit(
        partial(draw, epsilon), list(pairs), epsilon, delta, samples=samples, batch=True, time_limit=PATIENCE
    )
    return found.refuted


ROWS, PEOPLE = neighbouring_tables("add_remove", 1), neighbouring_tables("add_remove", 3)


@pytest.mark.parametrize("pairs", [ROWS, PEOPLE], ids=["rows", "people"])
def test_honest_weighted_counts_are_not_refuted(pairs):
    assert not refuted(tuned, pairs, DELTA)


def test_weights_normalised_before_the_noise_are_refuted(monkeypatch):
    """Sums divided by the total weight and scaled to 40 rows: one row moves all of them."""

    def normalised(self, rows):
        values = HONEST(self, rows)
        return values * 40 * ONE // max(1, int(np.abs(values).sum()))

    monkeypatch.setattr(WeightedSums, "exact", normalised)
    assert refuted(tuned, ROWS, DELTA)


def test_a_weight_that_depends_on_other_rows_is_refuted(monkeypatch):
    """Every row's weight is doubled once five rows are there."""

    def crowded(self, rows):
        many = len(rows.records()[0]) >= 5
        return HONEST(self, rows) * (6 if many else 1)

    monkeypatch.setattr(WeightedSums, "exact", crowded)
    assert refuted(tuned, ROWS, DELTA)


def test_a_dropped_max_rows_is_refuted(monkeypatch):
    honest = Privacy.sensitivity
    forgetful = lambda self, norms: honest(Privacy(self.neighbours, 1), norms)  # noqa: E731
    monkeypatch.setattr(Privacy, "sensitivity", forgetful)
    assert refuted(tuned, PEOPLE, DELTA)


def test_a_forgotten_column_in_the_norms_is_refuted(monkeypatch):
    monkeypatch.setattr(WeightedSums, "norms", property(lambda self: Norms.signed(ONE, ONE * ONE)))
    assert refuted(tuned, ROWS, DELTA, samples=4 * SAMPLES)


def test_an_honest_smooth_round_is_not_refuted():
    assert not refuted(smoothed_round, neighbouring_tables("replace", 1), 0.0, samples=ROUNDS)


def test_a_choice_from_the_samples_without_noise_is_refuted(monkeypatch):
    monkeypatch.setattr(smooth.selection, "exponential", lambda scores, *_: int(scores.argmax()))
    assert refuted(smoothed_round, neighbouring_tables("replace", 1), 0.0, 0.5, ROUNDS // 2)
