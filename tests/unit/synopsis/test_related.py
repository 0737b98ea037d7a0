"""Correlations of two numbers that no table was measured of: what they move, and where they count."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.learning.residuals.basis import Basis
from hedgerow.synopsis.bars import Bars
from hedgerow.synopsis.related import CHOSEN, NOTHING, PART, USUAL, Related, alike

LEVELS, ROWS = 20, 4000.0
EVEN = np.full(LEVELS, 1.0 / LEVELS)
PLACE = (np.arange(LEVELS) - 9.5) / np.std(np.arange(LEVELS))
BINS = {"a": LEVELS, "b": LEVELS}


def bars(related: Related, sizes: dict[str, int] | None = None, *, chosen: bool = True) -> Bars:
    own = sizes or {"a": LEVELS, "b": LEVELS, "c": 3}
    ones = {a: np.full(k, 1.0 / k) for a, k in own.items()}
    seen = {(a,): 1.0 for a in own} | {(): 1.0}
    return Bars(Basis(own), seen, ones.__getitem__, 1.0, chosen=chosen, related=related)


def both(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.multiply.outer(x, y)


def wide(found: tuple[float, float]) -> float:
    return float(sum(found)) ** 0.5


def test_a_correlation_moves_a_count_that_follows_it_by_as_much_as_its_part_of_the_spread_says():
    """Of a spread s the part r^2 n / cells is a correlation r, which moves the sum of z z' by r n."""
    r = 0.1
    spread = r**2 * ROWS / LEVELS**2
    law = both(EVEN, EVEN)
    weights = both(PLACE, PLACE)
    chance = ROWS * float((law * weights**2).sum())
    moved = ROWS * float((law * (1.0 + r * weights) * weights).sum())
    near = float(np.abs(PLACE).mean()) ** 4  # weights that are not alike in all cells
    more = Related(BINS, 1e9).more(spread, alike(law * weights**2))
    assert more * chance == pytest.approx(PART * near * moved**2)


def test_it_is_no_larger_than_what_would_have_been_chosen():
    few, many = (Related.of(BINS, n, 40.0) for n in (4e3, 4e5))
    assert few.most == pytest.approx((CHOSEN * 40.0 / 4e3) ** 2 * 4e3)
    assert many.most == pytest.approx(few.most / 100.0)
    assert Related.of(BINS, 100.0, 40.0).most == Related.of(BINS, 100.0, None).most
    assert Related.of(BINS, 100.0, None).most == pytest.approx(USUAL**2 * 100.0)
    assert few.more(1e9, 400.0) == few.most


@pytest.mark.parametrize("chosen", [True, False])
def test_averages_and_counts_of_ranges_have_it_in_their_bars(chosen):
    table = ROWS * both(EVEN, EVEN)
    upper = (np.arange(LEVELS) >= 12).astype(float)
    known = Related.of(BINS, ROWS, 40.0)
    held, none = (bars(x, chosen=chosen) for x in (known, NOTHING))
    for weights in (both(PLACE, upper), both(upper, upper)):
        found = wide(held.variances(("a", "b"), table, weights))
        assert found > 3.0 * wide(none.variances(("a", "b"), table, weights))
        assert wide(held.variances(("b", "a"), table.T, weights.T)) == pytest.approx(found)
        part = ROWS * np.multiply.outer(both(EVEN, EVEN), np.full(3, 1.0 / 3.0))
        third = np.multiply.outer(weights, np.array([1.0, 0.0, 0.0]))
        three = [wide(x.variances(("a", "b", "c"), part, third)) for x in (held, none)]
        assert three[0] > 1.5 * three[1]
    product = [wide(x.of_product(("a", "b"), [upper, upper], ROWS * 0.16)) for x in (held, none)]
    assert product[0] > 3.0 * product[1]
    seen = bars(Related.of(BINS, ROWS, 40.0, [("b", "a")]), chosen=chosen)  # in groups of levels
    weights = both(PLACE, upper)
    assert seen.variances(("a", "b"), table, weights) == none.variances(("a", "b"), table, weights)


def test_what_does_not_cut_both_numbers_has_no_more():
    sizes = {"a": LEVELS + 1, "b": LEVELS, "c": 3}  # the last level of `a` is that of rows without it
    known, none = bars(Related.of(BINS, ROWS, 40.0), sizes), bars(NOTHING, sizes)
    table = np.full((LEVELS + 1, LEVELS), ROWS / (LEVELS + 1) / LEVELS)
    upper, there = (np.arange(LEVELS) >= 12).astype(float), np.append(np.ones(LEVELS), 0.0)
    for weights in (both(there, upper), both(there, np.ones(LEVELS))):
        assert wide(known.variances(("a", "b"), table, weights)) == pytest.approx(
            wide(none.variances(("a", "b"), table, weights))
        )


def test_a_number_and_a_group_may_hang_together_and_two_groups_are_taken_as_they_are():
    known, none = bars(Related.of(BINS, ROWS, 40.0)), bars(NOTHING)
    upper, group = (np.arange(LEVELS) >= 12).astype(float), np.array([1.0, 0.0, 0.0])
    table = ROWS * both(EVEN, np.full(3, 1.0 / 3.0))
    for weights in (both(PLACE, group), both(upper, group)):
        found, without = (wide(x.variances(("b", "c"), table, weights)) for x in (known, none))
        assert found > 1.3 * without
    assert wide(known.variances(("b", "c"), table, both(upper, np.ones(3)))) == pytest.approx(
        wide(none.variances(("b", "c"), table, both(upper, np.ones(3))))
    )
    related = Related.of({"a": LEVELS}, ROWS, 40.0)
    assert related.holds(("a", "c"))
    assert not related.holds(("c", "d"))
    assert not related.holds(("a", "c", "d"))
