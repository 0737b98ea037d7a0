"""Synthetic rows hold numbers all over their bins, on the column's step, with the released means."""

from __future__ import annotations

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.synopsis.spread import spread

DOMAIN = hr.Domain(
    {
        "cost": hr.Bins([0, 1, 2.5, 40], step=0.25, missing=True),
        "age": hr.Bins([0, 10, 30], step=1),
        "plain": hr.bins(0, 10, 5),
        "sex": ["F", "M"],
    }
)


def drawn(many=4000, seed=1, means=lambda name: None):
    random = np.random.default_rng(2)
    codes = {name: random.integers(0, a.size, many) for name, a in DOMAIN.items()}
    return codes, spread(DOMAIN, codes, seed, means)


def test_every_number_stays_in_its_bin_and_on_its_step():
    codes, made = drawn()
    again = DOMAIN.encode({n: list(c) for n, c in made.items()})
    for name in DOMAIN:
        assert np.array_equal(again[name], codes[name])
    known = np.array([v for v in made["cost"] if v is not None], dtype=float)
    assert np.array_equal(known * 4, np.round(known * 4))
    assert {type(v) for v in made["age"]} <= {int, type(None)}
    assert made["cost"][codes["cost"] == 3].tolist() == [None] * int((codes["cost"] == 3).sum())
    assert len(set(made["plain"])) == 2  # without a step a bin has a middle and nothing else


def test_all_values_of_a_bin_are_drawn_alike():
    """4,000 draws of 30 values: each is there (1e-50 that one is not), and the middle is no favourite."""
    codes, made = drawn()
    young = made["age"][codes["age"] == 0].astype(int)
    assert set(young) == set(range(10))
    assert np.bincount(young).max() < 2 * len(young) / 10


@pytest.mark.parametrize("mean", [0.0, 1.5, 4.5, 8.0, 9.0])
def test_a_released_mean_of_a_bin_is_that_of_its_rows(mean):
    """About 2,000 draws with deviations of at most 5: off by 0.6 with a chance below 1e-7."""
    codes, made = drawn(means=lambda name: np.array([mean, np.nan]) if name == "age" else None)
    young = made["age"][codes["age"] == 0].astype(float)
    assert abs(young.mean() - mean) < 0.6
    assert abs(made["age"][codes["age"] == 1].astype(float).mean() - 19.5) < 0.9


def test_a_seed_gives_the_same_rows_again():
    first, again = drawn(seed=5)[1], drawn(seed=5)[1]
    assert all(np.array_equal(first[n], again[n]) for n in DOMAIN)
    assert not np.array_equal(first["age"], drawn(seed=6)[1]["age"])


def test_rows_of_a_release_have_the_averages_that_it_states():
    n = 20_000
    random = np.random.default_rng(3)
    domain = hr.Domain({"spend": hr.Bins([0, 100, 1000, 10_000], step=1), "sex": ["F", "M"]})
    spend = np.minimum(np.exp(random.normal(4, 1.2, n)), 9999).astype(int)
    rows = {"spend": spend.tolist(), "sex": random.choice(["F", "M"], n).tolist()}
    curator = hr.Curator(
        hr.Table.open(rows, domain), hr.Budget(50, 1e-9), ":memory:", entropy=hr.testing.seeded(4)
    )
    synopsis = hr.AdaptiveRelease().release(curator, hr.marginals(domain, 2))
    sample = synopsis.sample(n, seed=1)["spend"].astype(float)
    assert len(set(sample)) > 300
    middles = np.array([49.5, 549.5, 5499.5])[np.digitize(spend, [100, 1000])].mean()
    assert abs(np.nanmean(sample) - spend.mean()) < abs(middles - spend.mean()) / 4
