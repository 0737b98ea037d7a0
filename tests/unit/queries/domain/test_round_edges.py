"""Round edges: bins that hold every number, fine where there are many, on a grid that people know."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.queries.domain.round_edges import round_down, round_edges, round_up, share_of

NUMBERS = st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=60)


def mass_of(values):
    ordered = np.sort(values)
    return lambda a, b: float(np.searchsorted(ordered, b) - np.searchsorted(ordered, a)) / len(ordered)


@given(NUMBERS, st.sampled_from([Fraction(1), Fraction(1, 100), Fraction(5)]))
def test_edges_rise_hold_all_numbers_and_lie_on_the_grid(numbers, step):
    edges = round_edges(min(numbers), max(numbers), step, mass_of(numbers))
    assert edges[0] <= min(numbers) <= max(numbers) < edges[-1]
    assert all(a < b for a, b in pairwise(edges))
    assert len(edges) <= 25
    widths = [Fraction(str(b)) - Fraction(str(a)) for a, b in pairwise(edges)]
    least = min(widths)
    assert all((Fraction(str(e)) / round_down(float(least))).denominator == 1 for e in edges)


def test_a_value_that_many_share_has_a_bin_of_its_own():
    numbers = np.concatenate([np.zeros(600), np.random.default_rng(1).lognormal(5, 1, 400)])
    edges = round_edges(0, numbers.max(), Fraction(1, 100), mass_of(numbers))
    assert edges[:2] == [0, 0.01]


def test_a_largest_number_on_an_edge_lies_below_the_last_one():
    numbers = np.array([0.65] * 50 + [0.7] * 50)
    edges = round_edges(0.65, 0.7, Fraction(1, 100), mass_of(numbers))
    assert edges[0] <= 0.65
    assert edges[-1] > 0.7


def test_rounding_goes_to_one_two_and_five():
    assert [round_up(x) for x in (0.011, 3, 5, 51)] == [Fraction(1, 50), 5, 5, 100]
    assert [round_down(x) for x in (0.011, 3, 5, 51)] == [Fraction(1, 100), 2, 5, 50]


def test_shares_follow_from_quantiles_and_equal_ones_are_an_atom():
    mass = share_of([(0.0, 0), (0.5, 10), (0.9, 10), (1.0, 20)])
    assert mass(0, 10) == 0.5
    assert abs(mass(10, 11) - 0.41) < 1e-12
    assert mass(0, 99) == 1.0
