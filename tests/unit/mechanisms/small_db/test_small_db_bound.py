"""SmallDB says when its bound says nothing, and by default takes no alpha whose bound never could."""

from __future__ import annotations

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.mechanisms.small_db.small_db import LARGEST, chosen

DOMAIN = hr.Domain({"sex": ["F", "M"], "age": 3})
W = hr.marginals(DOMAIN, 1)


def released(mechanism: hr.SmallDB, rows: int, epsilon: float = 1.0) -> dict[str, object]:
    rng = np.random.default_rng(0)
    table = hr.Table.open({"sex": rng.choice(["F", "M"], rows), "age": rng.integers(0, 3, rows)}, DOMAIN)
    curator = hr.Curator(
        table, hr.Budget(epsilon=epsilon), ":memory:", "replace", entropy=hr.testing.seeded(1)
    )
    return mechanism.release(curator, W).provenance.parameters


def test_a_bound_that_answering_one_half_keeps_too_is_vacuous():
    said = released(hr.SmallDB(alpha=0.99), 10_000)
    assert 0.99 < said["bound_as_fraction"] < 1.0
    assert said["bound_is_vacuous"] is True


def test_the_default_alpha_gives_a_bound_that_says_something():
    said = released(hr.SmallDB(), 10_000)
    assert said["alpha"] <= LARGEST < 0.5
    assert said["bound_as_fraction"] < 0.5
    assert said["bound_is_vacuous"] is False


def test_few_rows_make_any_bound_vacuous_and_it_says_so():
    assert released(hr.SmallDB(), 5)["bound_is_vacuous"] is True


def test_a_default_whose_range_is_too_large_is_refused_before_anything_is_charged():
    domain = hr.Domain({"a": 8, "b": 9})
    curator = hr.Curator(hr.Table.open({"a": [1], "b": [1]}, domain), hr.Budget(epsilon=1), ":memory:")
    with pytest.raises(hr.RangeTooLarge, match="larger alpha"):
        hr.SmallDB().release(curator, hr.marginals(domain, 2))
    assert curator.receipt.seq == 0


def test_the_best_alpha_is_the_best_among_those_it_may_take():
    from fractions import Fraction

    rows, alpha, _, _ = chosen(DOMAIN, W, 10**4, Fraction(1), 1.0)
    assert rows > hr.theory.dr14.lemma_4_3(5, LARGEST)
    assert alpha < LARGEST
