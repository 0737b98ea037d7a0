"""SmallDB draws from the exponential mechanism's law exactly, and its bound holds."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement
from math import comb, exp, prod

import numpy as np
import pytest
from scipy.stats import chi2

import hedgerow as hr
from hedgerow.audit import exact
from hedgerow.curator.noise.noise import os_entropy
from hedgerow.curator.noise.selection import exponential_levels
from hedgerow.curator.rows.table import Rows
from hedgerow.curator.statistics.small_range import Levels, SmallRange, rows_of, uniform, uniform_multiset
from sizes import size

DOMAIN = hr.Domain({"a": 2, "b": 3, "c": 2})
QUERIES = hr.Workload.of(
    [
        hr.Query.where(DOMAIN, {"a": 0}),
        hr.Query.where(DOMAIN, {"b": [0, 1]}),
        hr.Query.where(DOMAIN, {"a": 1, "b": 2}),
        hr.Query.where(DOMAIN, {"a": 0}),  # the same again
    ]
)
ROWS = {"a": [0, 0, 0, 1, 1, 0, 1], "b": [0, 1, 2, 2, 2, 0, 1], "c": [0, 1, 0, 1, 0, 1, 0]}


def rows_of_world(columns=ROWS) -> Rows:
    return Rows(hr.Table.open(columns, DOMAIN), bytes(32))


def brute(candidates: SmallRange, rows: Rows) -> dict[tuple[int, ...], int]:
    """Every small database of the whole domain, and its score by the definition."""
    truth = [int(q.apply(rows.tables([q.attributes])[q.attributes])) for q in QUERIES]
    cells = np.indices(DOMAIN.shape).reshape(3, -1)
    masks = [q.weights[tuple(cells[DOMAIN.index(a)] for a in q.attributes)] > 0 for q in QUERIES]
    found = {}
    for y in combinations_with_replacement(range(DOMAIN.size), candidates.size):
        counts = [int(m[list(y)].sum()) for m in masks]
        found[y] = -max(
            abs(candidates.size * f - candidates.total * s) for f, s in zip(truth, counts, strict=True)
        )
    return found


def chi_square(observed: Counter, expected: dict, draws: int) -> float:
    """The p-value, outcomes of less than five put together."""
    rare = [k for k, p in expected.items() if p * draws < 5]
    groups = [(observed[k], expected[k] * draws) for k in expected if expected[k] * draws >= 5]
    if rare:
        groups.append((sum(observed[k] for k in rare), sum(expected[k] for k in rare) * draws))
    statistic = sum((o - e) ** 2 / e for o, e in groups if e > 0)
    return float(chi2.sf(statistic, len(groups) - 1))


def law(scores: dict, rate: float) -> dict:
    best = max(scores.values())
    odds = {y: exp(rate * (u - best)) for y, u in scores.items()}
    return {y: w / sum(odds.values()) for y, w in odds.items()}


@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_levels_count_every_database_of_the_domain(size):
    rows, candidates = rows_of_world(), SmallRange(QUERIES, size, 8)
    levels, scores = candidates.exact(rows), brute(candidates, rows)
    counted = Counter(-u for u in scores.values())
    assert {v: w for v, w in zip(levels.values, levels.weights, strict=True) if w} == counted
    assert sum(levels.weights) == comb(DOMAIN.size + size - 1, size)


def test_draws_follow_the_exponential_mechanism():
    """Chi-square over all 78 databases of two rows; false alarm 1e-6."""
    rows, candidates, draws = rows_of_world(), SmallRange(QUERIES, 2, 7), size(12_000, 60_000)
    levels, epsilon = candidates.exact(rows), Fraction(3, 2)
    seen: Counter = Counter()
    for _ in range(draws):
        codes = rows_of(DOMAIN, levels.known, levels.draw(Fraction(2), epsilon, os_entropy))
        seen[tuple(sorted(np.ravel_multi_index(list(codes.values()), DOMAIN.shape).tolist()))] += 1
    expected = law(brute(candidates, rows), 1.5 / 4)
    assert set(seen) <= set(expected)
    assert chi_square(seen, expected, draws) > 1e-6
    wrong = law(brute(candidates, rows), 1.5 / 2)  # half the sensitivity would be seen
    assert chi_square(seen, wrong, draws) < 1e-6


def test_a_level_is_drawn_by_weights_that_no_float_holds():
    """Level weights of 400 bits against gaps that undo them; false alarm 1e-6."""
    gaps, weights = [0, 500, 1000], [3, 3 * round(exp(250)), 0]
    draws = size(4000, 20_000)
    seen = Counter(exponential_levels(gaps, weights, 1, Fraction(1), os_entropy) for _ in range(draws))
    share = float(Fraction(weights[1], weights[0])) * exp(-250)
    expected = {0: 1 / (1 + share), 1: share / (1 + share)}
    assert set(seen) == {0, 1}
    assert chi_square(seen, expected, draws) > 1e-6


def test_multisets_of_places_are_uniform():
    """All 35 multisets of 3 of 5 places; false alarm 1e-6."""
    draws = 8000
    seen = Counter(tuple(uniform_multiset(5, 3, os_entropy)) for _ in range(draws))
    expected = dict.fromkeys(combinations_with_replacement(range(5), 3), 1 / 35)
    assert set(seen) <= set(expected)
    assert chi_square(seen, expected, draws) > 1e-6
    assert {uniform(1, os_entropy)} == {0}


def test_weights_of_any_length_are_counted_exactly():
    domain = hr.Domain({"a": 2, "b": 3, "n": 10**6, "m": 10**6, "k": 10**5})
    queries = hr.marginals(domain, [("a",), ("b",)])
    levels = SmallRange(queries, 5, 10)
    found = levels.incidence(domain)
    assert sorted(found.cells) == [10**17] * 6
    counted = Levels.counted(found, [3, 7, 1, 2, 7], 5, 10)
    assert sum(counted.weights) == comb(domain.size + 4, 5)
    want: Counter = Counter()
    answers = [3, 7, 1, 2, 7]
    for y in combinations_with_replacement(range(6), 5):
        held = found.member[list(y)].sum(axis=0)
        value = max(abs(5 * a - 10 * int(s)) for a, s in zip(answers, held, strict=True))
        want[value] += prod(comb(10**17 + c - 1, c) for c in Counter(y).values())
    assert {v: w for v, w in zip(counted.values, counted.weights, strict=True) if w} == want


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_the_exact_loss_on_neighbours_is_at_most_epsilon(relation, max_rows):
    """Every database's probability by enumeration, on tables that differ in one unit; nothing is sampled."""
    from hedgerow.audit.neighbours import DOMAIN as small
    from hedgerow.audit.neighbours import neighbouring_tables
    from hedgerow.privacy.budget import Privacy

    queries, worst = hr.marginals(small, 1), 0.0
    for epsilon in (Fraction(1, 2), Fraction(4)):
        for one, two in neighbouring_tables(relation, max_rows):
            candidates = SmallRange(queries, 3, 5)
            delta = Privacy(relation, max_rows).sensitivity(candidates.norms).l1
            laws = [
                exact.small_range(candidates, w.curator(hr.Budget(epsilon=1))._rows, delta, epsilon)
                for w in (one, two)
            ]
            loss = exact.epsilon_between(*laws)
            assert loss <= float(epsilon) + exact.SLACK
            worst = max(worst, loss / float(epsilon))
    assert worst > 0.2  # the neighbours are worth looking at


@pytest.mark.slow
def test_proposition_4_4_holds_in_two_hundred_runs():
    """At confidence 1 - 1e-8 in each of 200 runs: any miss is a failure, false alarm 2e-6 / 2."""
    rng = np.random.default_rng(5)
    a = rng.integers(0, 2, 5000)
    columns = {"a": a, "b": np.minimum(2, a + rng.integers(0, 2, 5000)), "c": rng.integers(0, 2, 5000)}
    queries, table = hr.marginals(DOMAIN, 2), hr.Table.open(columns, DOMAIN)
    truth = queries.evaluate(lambda s: Rows(table, bytes(32)).tables([s])[s])
    far = []
    for run in range(size(40, 200)):
        relation = ("replace", "add_remove")[run % 2]
        curator = hr.Curator(table, budget=hr.Budget(epsilon=1), ledger=":memory:", neighbours=relation)
        synopsis = hr.SmallDB(alpha=0.6).release(curator, queries)
        off = np.abs(synopsis.answer(queries).value - truth).max()
        assert off <= synopsis.small.bound(1 - 1e-8)
        far.append(off / synopsis.small.bound(0.95))
    assert max(far) > 0.01


HUGE = hr.Domain({f"x{i}": 1 << 15 for i in range(4)})  # 2^60 cells


def few_of(types: int) -> list[hr.Query]:
    """Queries that tell so many kinds of cells apart."""
    return [hr.Query.where(HUGE, {"x0": i}) for i in range(types - 1)]


@pytest.mark.parametrize(("types", "alpha"), [(2, 0.01), (2, 0.015), (3, 0.02), (4, 0.05), (5, 0.08)])
def test_a_range_that_would_take_too_long_to_count_is_refused_with_its_size(types, alpha):
    """Few kinds of cells, but long whole numbers or long databases: the visits alone do not say how long."""
    from time import process_time

    table = hr.Table.open({a: [1, 2, 3] for a in HUGE}, HUGE)
    curator = hr.Curator(table, budget=hr.Budget(epsilon=1), ledger=":memory:")
    begun = process_time()
    with pytest.raises(hr.RangeTooLarge, match=r"rows over 1,152,921,504,606,846,976 cells .* use") as caught:
        hr.SmallDB(alpha=alpha).release(curator, few_of(types))
    assert "\n" not in str(caught.value)
    assert process_time() - begun < 5.0
    assert curator.receipt.seq == 0


def test_an_alpha_that_nobody_chose_is_quick_over_any_domain():
    from time import process_time

    table = hr.Table.open({a: [1] * 20_000 for a in HUGE}, HUGE)
    for types in (2, 9):
        curator = hr.Curator(table, budget=hr.Budget(epsilon=1000), ledger=":memory:", neighbours="replace")
        begun = process_time()
        synopsis = hr.SmallDB().release(curator, few_of(types))
        assert synopsis.total == 20_000
        assert process_time() - begun < 20.0
