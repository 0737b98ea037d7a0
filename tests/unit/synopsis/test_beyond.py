"""What a look at larger tables says of their bars: spreads from noisy distances."""

from __future__ import annotations

from itertools import combinations
from math import hypot, pi

import numpy as np
import pytest
from scipy.stats import truncnorm

from hedgerow.learning.residuals.basis import Basis, subsets
from hedgerow.synopsis.bars import Bars
from hedgerow.synopsis.beyond import BESIDE, DEEPER, USUAL, Beyond

SIZES = {"a": 6, "b": 5, "c": 4, "d": 6, "e": 3}
ONES = {a: np.full(n, 1.0 / n) for a, n in SIZES.items()}
SETS = list(combinations(SIZES, 3))
ROWS = 200_000.0


def bars(beyond: Beyond | None = None) -> Bars:
    measured = [s for t in combinations(SIZES, 2) for s in subsets(t)]
    return Bars(Basis(SIZES), dict.fromkeys(measured, 10.0), ONES.__getitem__, 2.0, beyond)


def tables() -> dict[tuple[str, ...], np.ndarray]:
    return {t: np.full([SIZES[a] for a in t], ROWS / np.prod([SIZES[a] for a in t])) for t in SETS}


def distances(spreads: dict[tuple[str, ...], float]) -> list[float]:
    """How far rows would be from such tables."""
    known = bars(Beyond(spreads, 1.0))
    return [float(np.sqrt(2 / pi * sum(known.of_cells(t, table))).sum()) for t, table in tables().items()]


def found(spreads: dict[tuple[str, ...], float], sigma: float) -> Beyond:
    return Beyond.found(bars(), tables(), distances(spreads), sigma)


def test_distances_without_noise_give_back_every_spread_and_what_they_do_not_show_beside_it():
    spreads = {t: 4.0 * (1 + i) for i, t in enumerate(SETS)}
    beside = {t: hypot(s, BESIDE) for t, s in spreads.items()}
    assert found(spreads, 1e-3).spreads == pytest.approx(beside, rel=1e-2)


def test_sets_that_noise_alone_tells_apart_are_taken_alike():
    rng, far = np.random.default_rng(5), np.array(distances(dict.fromkeys(SETS, 30.0)))
    apart = 0
    for _ in range(40):
        seen = Beyond.found(bars(), tables(), (far + rng.normal(0.0, 2000.0, len(far))).tolist(), 2000.0)
        apart += max(seen.others) > 1.001 * min(seen.others)
    assert apart <= 20  # a quarter of them are expected: noise is 1.4 deviations from its mean


@pytest.mark.parametrize("hidden", [-30.0, -2.0, 0.0, 1.0, 8.0])
def test_what_noise_hides_of_chosen_tables_is_a_truncated_normal_mean(hidden):
    pairs = list(combinations(SIZES, 2))
    counts = {t: np.full([SIZES[a] for a in t], ROWS / SIZES[t[0]] / SIZES[t[1]]) for t in pairs}
    ones = {s: 10.0 for t in pairs for s in subsets(t) if len(s) < 2}

    def known(beyond: Beyond) -> Bars:
        return Bars(Basis(SIZES), ones, ONES.__getitem__, 2.0, beyond, chosen=True)

    def far(s: float) -> float:
        cells = [sum(known(Beyond(dict.fromkeys(pairs, s), s)).of_cells(t, x)) for t, x in counts.items()]
        return sum(float(np.sqrt(2 / pi * (c - 1.0)).sum()) for c in cells)

    sigma = 3000.0
    noise = sigma * len(pairs) ** 0.5
    each = [(far(0.05) + hidden * noise) / len(pairs)] * len(pairs)
    seen = Beyond.chosen(known, counts, each, sigma, (1.0,))
    mean = hidden * noise - noise**2 / (USUAL[2] * ROWS * len(pairs))
    more = truncnorm.mean(-mean / noise, np.inf, loc=mean, scale=noise)
    assert far(seen.other) - far(0.05) == pytest.approx(more, rel=0.05, abs=noise / 25.0)


def test_under_much_noise_all_sets_are_taken_alike_and_no_less_than_they_are():
    spreads = dict.fromkeys(SETS, 30.0)
    seen = found(spreads, 2000.0)
    assert max(seen.spreads.values()) == pytest.approx(min(seen.spreads.values()), rel=1e-6)
    assert 30.0 <= seen.other <= 60.0


def test_a_set_that_stands_out_makes_the_others_that_were_not_looked_at_wider():
    even = found(dict.fromkeys(SETS, 30.0), 1.0)
    one = found(dict.fromkeys(SETS, 30.0) | {SETS[0]: 2000.0}, 1.0)
    assert one.other > 2.0 * even.other
    assert one.spreads[SETS[1]] == pytest.approx(30.0, rel=0.05)


def test_other_sets_have_the_mean_of_those_next_to_them():
    seen = Beyond({("a", "b", "c"): 4.0, ("a", "b", "d"): 10.0}, 7.0)
    assert seen.of(("a", "b", "c")) == 4.0
    assert seen.of(("a", "c", "d")) == 7.0
    assert seen.of(("a", "b", "c", "d")) == pytest.approx(DEEPER * (4.0 + 10.0 + 7.0 + 7.0) / 4)
    assert seen.of(("a", "b")) == 7.0
    assert seen.of(("c", "d")) == seen.of(tuple(f"x{i}" for i in range(40))) == 7.0


def test_sets_that_were_not_looked_at_may_be_like_any_that_was():
    seen = Beyond({("a", "b", "c"): 4.0, ("a", "b", "d"): 10.0}, 7.0, (4.0, 10.0))
    assert seen.draws(("a", "b", "c")) == (4.0,)
    assert seen.draws(("a", "c", "d")) == (4.0, 10.0)
    four = seen.draws(("a", "b", "c", "d"))
    assert 5.5 <= min(four) < np.mean(four) < max(four) <= 8.5
    again = Beyond.unpack(seen.pack())
    assert again is not None
    assert again.others == (4.0, 10.0)
    assert Beyond({("a", "b", "c"): 4.0}, 7.0).draws(("a", "c", "d")) == (7.0,)  # files of before


def test_bars_grow_with_the_spread_of_the_sets_inside_and_no_others():
    quiet = dict.fromkeys(SETS, 1.0)
    weights = np.zeros((6, 5, 4))
    weights[:2, :2, :2] = 1.0
    table = tables()["a", "b", "c"]
    one = bars(Beyond(quiet, 1.0)).variances(("a", "b", "c"), table, weights)
    loud = bars(Beyond(quiet | {("a", "b", "c"): 50.0}, 1.0)).variances(("a", "b", "c"), table, weights)
    elsewhere = bars(Beyond(quiet | {("a", "b", "e"): 50.0}, 1.0)).variances(("a", "b", "c"), table, weights)
    assert one[1] == 0.0 < loud[1]
    assert loud[0] == pytest.approx(one[0])
    assert elsewhere == pytest.approx(one)


def test_cells_all_at_once_are_as_one_by_one():
    known = bars(Beyond({t: float(3 + i) for i, t in enumerate(SETS)}, 9.0))
    names = ("a", "b", "c", "e")
    table = np.random.default_rng(3).random((6, 5, 4, 3)) * 500
    noise, left = known.of_cells(names, table)
    weights = np.zeros(table.shape)
    weights[2, 1, 3, 0] = 1.0
    assert known.variances(names, table, weights) == pytest.approx((noise[2, 1, 3, 0], left[2, 1, 3, 0]))


def test_packed_and_unpacked_it_is_the_same():
    seen = Beyond({("a", "b", "c"): 4.0}, 7.5)
    again = Beyond.unpack(seen.pack())
    assert again is not None
    assert (again.spreads, again.other) == (seen.spreads, seen.other)
    assert Beyond.unpack(None) is None
