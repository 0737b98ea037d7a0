"""Factorization: exact norms, least squares, optimal shares; all of it against dense matrices."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from math import prod, sqrt
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.curator.statistics.strategy import StrategyAnswers
from hedgerow.mechanisms.factorization import matrix as factorization_matrix
from hedgerow.mechanisms.factorization import plan as factorization_plan
from hedgerow.privacy import events
from hedgerow.privacy.budget import Privacy
from hedgerow.queries.strategies.contrast import Contrasts
from hedgerow.queries.strategies.strategy import MatrixStrategy, Residual, ResidualStrategy
from sizes import size

BUDGET = hr.Budget(epsilon=1, delta=1e-6)
DOMAIN = hr.Domain({"a": 3, "one": 1, "b": 5, "c": 2})
WORKLOADS = {
    "pairs": hr.marginals(DOMAIN, 2),
    "triples": hr.marginals(DOMAIN, 3),
    "some tables": hr.marginals(DOMAIN, [("a", "b"), ("b", "c"), ("c",)]),
    "ranges": hr.ranges(DOMAIN, [("a", "b"), ("b",)]),
    "prefixes": hr.prefixes(DOMAIN, [("b",)]),
    "literals": hr.conjunctions(DOMAIN, 2),
    "list": hr.Workload.of(
        [
            hr.Query.where(DOMAIN, {"a": 0}),
            hr.Query.total(),
            hr.Query.where(DOMAIN, {"a": 1, "b": 2}),
            hr.Query.of(DOMAIN, ["b"], np.arange(5) / 4),
        ]
    ),
}


def rows(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return pd.DataFrame({a: rng.integers(0, DOMAIN[a].size, n) for a in DOMAIN})


def curator(neighbours: str = "add_remove", budget: hr.Budget = BUDGET, **unit) -> hr.Curator:
    frame = rows().assign(who=np.arange(400) // 2)
    return hr.Curator(hr.Table.open(frame, DOMAIN, **unit), budget, ":memory:", neighbours)


def table_of(cells: np.ndarray):
    return lambda names: cells.sum(axis=tuple(i for i, a in enumerate(DOMAIN) if a not in names))


def dense(apply) -> np.ndarray:
    """The matrix of a linear map of tables, column by column."""
    columns = []
    for cell in np.ndindex(DOMAIN.shape):
        one = np.zeros(DOMAIN.shape, dtype=np.int64)
        one[cell] = 1
        columns.append(apply(table_of(one)))
    return np.array(columns).T


# -- contrasts ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("grading", ["even", "depth"])
@pytest.mark.parametrize("levels", [1, 2, 3, 4, 5, 7, 10, 16, 31, 42])
def test_contrasts_are_orthogonal_and_their_norms_exact(levels, grading):
    axis = Contrasts.close(levels, grading)
    matrix = axis.apply(np.eye(levels, dtype=np.int64), 0)
    gram = matrix @ matrix.T
    assert (gram == np.diag(np.diag(gram))).all()
    assert (matrix.sum(axis=1) == 0).all()
    assert (np.diag(gram) == axis.tree.squares * axis.scales**2).all()
    for c in range(axis.classes):
        mine = matrix[axis.class_of == c]
        np.testing.assert_array_equal(axis.columns[c], (mine**2).sum(axis=0))
        np.testing.assert_array_equal(axis.column_sums[c], np.abs(mine).sum(axis=0))
    inner = matrix.T @ matrix
    apart = inner[~np.eye(levels, dtype=bool)]
    if levels > 1:
        assert axis.products == (apart.min(), apart.max())
    weights = np.arange(3, 3 + axis.classes)
    scaled = matrix * weights[axis.class_of][:, None]
    far = max(int(((scaled[:, i] - scaled[:, j]) ** 2).sum()) for i in range(levels) for j in range(levels))
    assert axis.farthest(weights) == far
    assert axis.largest == np.abs(matrix).max(initial=0)


@pytest.mark.parametrize("grading", ["even", "depth"])
@pytest.mark.parametrize("levels", [1, 2, 3, 6, 11])
def test_a_table_is_rebuilt_from_its_total_and_contrasts(levels, grading):
    axis = Contrasts.close(levels, grading)
    table = np.random.default_rng(1).integers(0, 50, (4, levels))
    raw = axis.apply(table, 1) / axis.scales
    parts = np.concatenate([table.sum(axis=1, keepdims=True), raw], axis=1)
    np.testing.assert_allclose(axis.rebuild(parts, 1), table)
    # coefficients and spread are the same inverse, as rows and squared
    inverse = axis.rebuild(np.eye(levels), 0)
    np.testing.assert_allclose(axis.coefficients(np.eye(levels), 1), inverse, atol=1e-12)
    np.testing.assert_allclose(axis.spread(np.eye(levels), 0), inverse**2, atol=1e-12)


@pytest.mark.parametrize("levels", [2, 9, 16, 42, 85, 97, 100])
def test_whole_scales_cost_at_most_a_thousandth(levels):
    axis = Contrasts.close(levels, "even")
    squares = axis.scales**2 * axis.tree.squares
    price = axis.columns.max() * (1.0 / squares).sum()
    assert price <= (1 - 1 / levels) * (levels - 1) * 1.001


# -- strategies --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("name", WORKLOADS)
def test_norms_bound_every_column_and_every_difference_of_two(name, relation):
    synopsis = hr.Factorization().release(curator(relation), WORKLOADS[name])
    a = dense(synopsis.strategy.apply)
    norms = synopsis.strategy.norms
    squares = [int(((a[:, i] - a[:, j]) ** 2).sum()) for i in range(a.shape[1]) for j in range(i)]
    assert norms.l1 == np.abs(a).sum(axis=0).max()
    assert norms.l2_squared == (a**2).sum(axis=0).max()
    assert max(squares) <= norms.replace_l2_squared
    assert norms.replace_l2_squared <= max(squares) * (1.002 if name != "ranges" else 1.4)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("name", WORKLOADS)
def test_answers_and_errors_are_those_of_least_squares(name, relation):
    workload = WORKLOADS[name]
    synopsis = hr.Factorization().release(curator(relation), workload)
    a, w = (
        dense(synopsis.strategy.apply).astype(float),
        dense(lambda t: workload.evaluate(t)) / workload.denominator,
    )
    y = synopsis.measurements[0].values.astype(float)
    if getattr(synopsis, "rows", None) is not None:  # a public total is a measurement without noise
        a, y = np.vstack([a, np.full(a.shape[1], 1e8)]), np.append(y, 400 * 1e8)
    r = w @ np.linalg.pinv(a)
    np.testing.assert_allclose(r @ a, w, atol=1e-7)
    answer = synopsis.answer(workload, confidence=0.9)
    np.testing.assert_allclose(answer.value, r @ y, atol=1e-5)
    noisy = r[:, : len(synopsis.measurements[0].values)]
    unit = synopsis.measurements[0].noise.half_width(0.9)
    np.testing.assert_allclose(
        answer.error, unit * np.sqrt((noisy**2).sum(axis=1)), rtol=1e-6, atol=1e-6 * unit
    )


@pytest.mark.parametrize("name", WORKLOADS)
def test_without_noise_every_answer_is_the_truth(name):
    workload, guard = WORKLOADS[name], curator()
    synopsis = hr.Factorization().release(guard, workload)
    exact = StrategyAnswers(synopsis.strategy).exact(guard._rows)
    silent = replace(synopsis, measured=replace(synopsis.measured, values=exact))
    truth = workload.evaluate(lambda s: guard._rows.tables([s])[s]) / workload.denominator
    np.testing.assert_allclose(silent.answer(workload).value, truth, atol=1e-6)


@pytest.mark.parametrize("unit", [{}, {"unit": "who", "max_rows": 2}], ids=["rows", "people"])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("name", ["pairs", "ranges", "list"])
def test_what_is_charged_covers_every_neighbour(name, relation, unit):
    """Neighbours made from rows, not from norms: the worst of all single units against the event charged."""
    guard = curator(relation, **unit)
    synopsis = hr.Factorization().release(guard, WORKLOADS[name])
    event = events.from_json(guard.ledger.export()["entries"][-1]["line"]["event"])
    a = dense(synopsis.strategy.apply)
    k = 2 if unit else 1
    sums = [k * a[:, i] for i in range(a.shape[1])]
    gaps = [s - t for s in sums for t in sums] if relation == "replace" else sums
    gaps += sums if k > 1 else []
    worst = max(int((g**2).sum()) for g in gaps)
    assert worst <= event.sensitivity_squared
    assert event.sensitivity_squared <= worst * (1.4 if name == "ranges" else 1.002)
    assert synopsis.measurements[0].noise.scale == event.sigma


def test_tables_agree_with_each_other():
    synopsis = hr.Factorization().release(curator(), WORKLOADS["pairs"])
    for pair in combinations(DOMAIN, 2):
        for i, kept in enumerate(pair):
            np.testing.assert_allclose(synopsis.table(pair).sum(axis=1 - i), synopsis.table((kept,)))
    assert synopsis.table(("a",)).sum() == pytest.approx(synopsis.total)


def test_the_measured_error_is_the_predicted_one():
    """Chi-square of about 3,000 independent coordinates: 15% off has probability below 1e-6."""
    domain = hr.Domain({"x": 40, "y": 30, "z": 50})
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({a: rng.integers(0, domain[a].size, 1000) for a in domain})
    guard = hr.Curator(hr.Table.open(frame, domain), BUDGET, ":memory:")
    pairs = hr.marginals(domain, 2)
    synopsis = hr.Factorization().release(guard, pairs)
    truth = pairs.evaluate(lambda s: guard._rows.tables([s])[s])
    predicted = np.concatenate([synopsis.norms(s).ravel() for s in pairs.cliques])
    predicted = predicted * float(synopsis.measurements[0].noise.scale)
    ratio = (((synopsis.answer(pairs).value - truth) / predicted) ** 2).mean()
    assert 0.85 < ratio < 1.15
    rho = float(guard.ledger.spent().amount)
    assert (predicted**2).sum() == pytest.approx(
        optimum(dict(zip(domain, domain.shape, strict=True)), 2) / (2 * rho), rel=0.01
    )


def optimum(sizes: dict[str, int], k: int) -> float:
    """The least total variance of all k-way tables for 2 rho = 1, [XHZK23]: (sum_S sqrt(need_S p_S))^2."""
    need: dict[tuple[str, ...], float] = {}
    for t in combinations(sizes, k):
        for s in (s for j in range(k + 1) for s in combinations(t, j)):
            own = prod(sizes[a] - 1 for a in s) / prod(sizes[a] for a in t if a not in s)
            need[s] = need.get(s, 0.0) + own
    return sum((v * prod(1 - 1 / sizes[a] for a in s)) ** 0.5 for s, v in need.items()) ** 2


@pytest.mark.parametrize("weights", [(1.0, 1.0, 1.0), (1.0, 10.0, 0.1)])
@pytest.mark.parametrize("sizes", [(2, 2, 2), (2, 7, 30), (3, 100, 5)])
def test_the_mean_variance_of_weighted_tables_is_the_closed_form(sizes, weights):
    """(sum over S of sqrt(need_S numbers_S column_S))^2, the optimum for weighted tables under add_remove."""
    domain = hr.Domain({f"d{i}": n for i, n in enumerate(sizes)})
    asked = hr.marginals(domain, 2)
    made = factorization_plan.plan(domain, list(asked.blocks), weights, Privacy())
    needs: dict[tuple[str, ...], float] = {}
    for block, weight in zip(asked.blocks, weights, strict=True):
        for k in range(3):
            for s in combinations(block.attributes, k):
                rest = [domain[a].size for a in block.attributes if a not in s]
                needs[s] = needs.get(s, 0.0) + weight * prod(1.0 / n for n in rest)
    ideal = 0.0
    for s, need in needs.items():
        numbers = prod(domain[a].size - 1 for a in s)
        ideal += sqrt(need * numbers * prod(1.0 - 1.0 / domain[a].size for a in s))
    assert 0.999 * ideal**2 <= made.variance <= 1.01 * ideal**2


@pytest.mark.parametrize("weights", [(1, 1, 1), (1, 5, 0.2)])
@pytest.mark.parametrize("name", ["pairs", "some tables"])
def test_shares_reach_the_optimum_of_the_convex_program(name, weights):
    """No strategy whatsoever has a smaller variance than the dual bound; ours is within 0.5% of it."""
    workload = WORKLOADS[name]
    each = [weights[i % 3] for i in range(len(workload.blocks))]
    plan = factorization_plan.plan(DOMAIN, workload.blocks, each, Privacy())
    w = (
        dense(lambda t: workload.evaluate(t))
        * np.sqrt(np.repeat(each, [len(b) for b in workload.blocks]))[:, None]
    )
    _, bound = factorization_matrix.optimal_gram(w.T @ w + 1e-9 * np.eye(w.shape[1]))
    assert bound <= plan.variance <= 1.005 * bound


@pytest.mark.parametrize("levels", [16, 64])
def test_ranges_come_near_the_optimum_of_the_convex_program(levels):
    domain = hr.Domain({"x": hr.bins(0, levels, 1)})
    for workload in (hr.ranges(domain, 1), hr.prefixes(domain, 1)):
        plan = factorization_plan.plan(domain, workload.blocks, [1.0], Privacy())
        w = (
            workload.blocks[0].apply(np.eye(levels)[0]),
            *(workload.blocks[0].apply(r) for r in np.eye(levels)[1:]),
        )
        w = np.array(w).T
        _, bound = factorization_matrix.optimal_gram(w.T @ w)
        assert bound <= plan.variance <= 1.35 * bound


@pytest.mark.parametrize("max_rows", [1, 3])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_it_is_never_above_plain_noise_on_tables(relation, max_rows):
    privacy = Privacy(relation, max_rows)
    rng = np.random.default_rng(0)
    for sizes in ([2, 2], [2, 3, 4], [7], [2] * 6, [30, 2, 5, 9]):
        domain = hr.Domain({f"c{i}": n for i, n in enumerate(sizes)})
        names = list(domain)
        sets = [
            tuple(rng.choice(names, rng.integers(1, min(3, len(names)) + 1), replace=False)) for _ in range(4)
        ]
        for workload in (
            hr.marginals(domain, 1),
            hr.marginals(domain, min(2, len(names))),
            hr.marginals(domain, sets),
        ):
            each = [1.0] * len(workload.blocks)
            made = factorization_plan.plan(
                domain,
                workload.blocks,
                each,
                privacy,
                total_is_public=relation == "replace" and max_rows == 1,
            )
            # what whole numbers cost; where even that is above, the release measures the tables themselves
            assert made.variance <= 1.004 * factorization_plan.plain_variance(workload.blocks, each, privacy)


def test_a_single_table_is_measured_as_it_is():
    synopsis = hr.Factorization().release(curator(), hr.marginals(DOMAIN, [("a", "b")]))
    assert synopsis.kind == "tables"


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_general_workloads_are_never_above_plain_noise(relation):
    rng = np.random.default_rng(4)
    for k in (1, 2, 8, 60):
        queries = [
            hr.Query.of(DOMAIN, ["a", "b"], rng.integers(0, 2, (3, 5)).astype(float)) for _ in range(k)
        ]
        workload = hr.Workload.of(queries)
        made = factorization_matrix.plan(DOMAIN, workload, [1.0], Privacy(relation))
        plain = k * float(Privacy(relation).sensitivity(workload.norms).l2_squared)
        assert made.variance <= plain * (1 + 1e-9)
        w = np.array([q.weights.ravel() for q in queries]) / (1 << 20)
        _, bound = factorization_matrix.optimal_gram(w.T @ w + 1e-7 * np.eye(15))
        if relation == "add_remove":
            assert made.variance <= 1.01 * bound


def test_a_query_that_does_not_follow_is_refused():
    synopsis = hr.Factorization().release(curator(), WORKLOADS["list"])
    assert synopsis.answer(hr.Query.where(DOMAIN, {"a": [0]})).error > 0
    for query in (hr.Query.where(DOMAIN, {"c": 1}), hr.Query.where(DOMAIN, {"a": 1, "b": 0})):
        with pytest.raises(hr.UnsupportedQuery, match="measured"):
            synopsis.answer(query)
    tables = hr.Factorization().release(curator(), WORKLOADS["some tables"])
    with pytest.raises(hr.UnsupportedQuery, match="no released table holds"):
        tables.table(("a", "c"))


# -- refusals ----------------------------------------------------------------------------------------------

WIDE = hr.Domain({f"w{i}": 1000 for i in range(4)})


@pytest.mark.parametrize(
    ("workload", "options", "match"),
    [
        ([], {}, "non-empty"),
        (WORKLOADS["pairs"], {"weights": [1.0]}, "blocks to weigh"),
        (WORKLOADS["pairs"], {"weights": [0.0] * 6}, "blocks to weigh"),
        (WORKLOADS["pairs"], {"weights": [float("nan")] * 6}, "blocks to weigh"),
        (hr.marginals(WIDE, [("w0",)]), {}, "w0"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_charged(workload, options, match):
    guard = curator()
    with pytest.raises(hr.HedgerowError, match=match) as caught:
        hr.Factorization().release(guard, workload, **options)
    assert "\n" not in str(caught.value)
    assert guard.spent.rho == 0


def test_what_is_too_large_is_refused_with_its_size():
    guard = hr.Curator(hr.Table.open({a: [1] for a in WIDE}, WIDE), BUDGET, ":memory:")
    with pytest.raises(hr.RangeTooLarge, match="numbers to measure"):
        hr.Factorization().release(guard, hr.marginals(WIDE, 3))
    rng = np.random.default_rng(0)
    many = [hr.Query.of(WIDE, ["w0"], rng.random(1000)) for _ in range(3)]
    with pytest.raises(hr.RangeTooLarge, match="groups of cells"):
        hr.Factorization().release(guard, many)
    with pytest.raises(hr.RangeTooLarge, match="too many to optimise"):
        hr.Factorization().release(guard, [hr.Query.where(WIDE, dict.fromkeys(WIDE, 1))])
    assert guard.spent.rho == 0


def test_a_pure_budget_is_refused():
    guard = curator(budget=hr.Budget(epsilon=1))
    for workload in (WORKLOADS["pairs"], WORKLOADS["list"]):
        with pytest.raises(hr.HedgerowError, match="Gaussian"):
            hr.Factorization().release(guard, workload)
    assert guard.spent.epsilon == 0


ONE = np.array([1])


@pytest.mark.parametrize(
    "build",
    [
        lambda: Contrasts(3, "even", np.array([1, 0])),
        lambda: Contrasts(3, "even", np.array([1.0, 2.0])),
        lambda: Contrasts(3, "even", np.array([1, 1, 1])),
        lambda: Contrasts(3, "even", np.array([1, 1 << 40])),
        lambda: Contrasts(0, "even", np.array([])),
        lambda: ResidualStrategy({}, ()),
        lambda: ResidualStrategy({"a": Contrasts.close(3, "even")}, (Residual(("a",), ONE),) * 2),
        lambda: ResidualStrategy(
            {"a": Contrasts.close(3, "even")}, (Residual(("a", "a"), np.ones((1, 1), int)),)
        ),
        lambda: ResidualStrategy({"a": Contrasts.close(3, "even")}, (Residual(("a",), -ONE),)),
        lambda: ResidualStrategy({"a": Contrasts.close(3, "even")}, (Residual(("a",), ONE << 31),)),
        lambda: ResidualStrategy(
            {"a": Contrasts.close(3, "even")}, (Residual(("a",), np.ones((5, 1), int)),)
        ),
        lambda: ResidualStrategy({"a": Contrasts.close(3, "even")}, (Residual(("b",), ONE),)),
        lambda: MatrixStrategy(("a",), np.array([0, 1, 2]), np.array([[1, 2]])),
        lambda: MatrixStrategy(("a",), np.array([0, 1, -2]), np.array([[1, 2]])),
        lambda: MatrixStrategy(("a",), np.array([0, 1, 1]), np.array([[1.5, 2]])),
        lambda: MatrixStrategy(("a",), np.array([0, 1, 1]), np.array([[1, 1 << 40]])),
        lambda: StrategyAnswers(object()),
    ],
)
def test_strategies_whose_norms_would_not_hold_cannot_be_built(build):
    with pytest.raises(hr.HedgerowError):
        build()


def test_entries_cannot_be_changed_after_the_norms_were_read():
    mine = np.array([[1, 2]])
    strategy = MatrixStrategy(("a",), np.array([0, 1, 1]), mine)
    mine[0, 0] = 10**6
    assert strategy.matrix.tolist() == [[1, 2]]
    axis = Contrasts.close(3, "even")
    for array in (strategy.matrix, strategy.groups, axis.scales, axis.tree.left, axis.tree.low):
        with pytest.raises(ValueError, match="read-only"):
            array[..., 0] = 7


def arrays_behind(thing: Any, seen: set[int] | None = None) -> Iterator[np.ndarray]:
    """Every array that can be reached from an object, those that others are views of too."""
    seen = set() if seen is None else seen
    if thing is None or id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        yield thing
        yield from arrays_behind(thing.base, seen)
    elif isinstance(thing, tuple | list):
        for part in thing:
            yield from arrays_behind(part, seen)
    elif isinstance(thing, Mapping):
        yield from arrays_behind(list(thing.values()), seen)
    elif hasattr(thing, "__dict__"):
        yield from arrays_behind(list(vars(thing).values()), seen)


@pytest.mark.parametrize("grading", ["even", "depth"])
def test_nothing_that_the_norms_rest_on_can_be_written_to(grading):
    axis = Contrasts(6, grading, np.arange(1, 6))
    residual = Residual(("x",), np.ones(axis.classes, dtype=np.int64))
    strategy = ResidualStrategy({"x": axis}, (Residual((), np.array(3)), residual))
    before = strategy.norms
    for array in (*axis.weights, axis.columns, axis.column_sums, axis.class_of, *axis.tree.strata):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 10**9
    for mapping in (strategy.axes, strategy.of, strategy.places):
        with pytest.raises(TypeError):
            mapping[()] = None
    other = MatrixStrategy(["x"], np.array([0, 1, -1, 1, 0, 0]), np.array([[1, -2], [3, 4]]))
    assert other.norms.l2_squared == 20
    assert other.attributes == ("x",)
    for thing in (strategy, other):
        _ = [getattr(thing, name) for name in dir(type(thing)) if not name.startswith("__")]
        found = list(arrays_behind(thing))
        assert len(found) >= 2
        assert not any(a.flags.writeable for a in found)
    assert strategy.norms == before == ResidualStrategy({"x": axis}, strategy.residuals).norms


def test_contrasts_whose_squares_would_pass_64_bits_are_refused():
    """Two entries of almost 2^31 on one path of the tree: their squares add up to more than 2^63."""
    tree = Contrasts(175_039, "even", np.ones(175_038, dtype=np.int64)).tree
    scales = np.minimum(2**31 // np.maximum(tree.left, tree.right), 1 << 16)
    with pytest.raises(hr.RangeTooLarge, match="64-bit"):
        Contrasts(175_039, "even", scales)


@pytest.mark.parametrize("grading", ["even", "depth"])
@pytest.mark.parametrize("levels", [3, 97, 5_003])
def test_norms_of_the_largest_contrasts_are_those_of_unbounded_integers(levels, grading):
    axis = Contrasts(levels, grading, np.full(levels - 1, 1 << 16))
    t = axis.tree
    squares, sums = (np.zeros((axis.classes, levels), dtype=object) for _ in range(2))
    above, parted = {0: 0}, []
    for j, c in enumerate(axis.class_of.tolist()):
        a, b = (int(w[j]) << 16 for w in (t.right, t.left))
        for part, entry, child in (
            (slice(t.low[j], t.middle[j]), a, t.children[j, 0]),
            (slice(t.middle[j], t.high[j]), b, t.children[j, 1]),
        ):
            squares[c, part] += entry**2
            sums[c, part] += entry
            above[int(child)] = above[j] + entry**2
        parted.append(above[j] - a * b)
    assert (axis.columns.astype(object) == squares).all()
    assert (axis.column_sums.astype(object) == sums).all()
    assert axis.products == (min(parted), max(parted))


@pytest.mark.parametrize("cells", [(1 << 31, 5, 9), (1 << 62, 1 << 62, 1 << 61)])
def test_no_table_is_refused_for_what_it_holds(cells):
    """Whole numbers go round at 2^64, and noise is added after: a refusal would speak of the rows."""
    axis = Contrasts(3, "even", np.array([65_536, 65_535]))
    residuals = (Residual((), np.array(1 << 31)), Residual(("a",), np.array([1 << 13])))
    strategies = [
        ResidualStrategy({"a": axis}, residuals),
        MatrixStrategy(("a",), np.array([0, 1, 0]), np.array([[1 << 31, -(1 << 31)], [3, 5]])),
    ]

    whole = (sum(cells) + (1 << 63)) % (1 << 64) - (1 << 63)
    tables = {(): np.array(whole), ("a",): np.array(cells, dtype=np.int64)}
    for strategy in strategies:
        small = np.array(
            [strategy.apply({(): np.array(1), ("a",): e}.__getitem__) for e in np.eye(3, dtype=np.int64)]
        )
        exact = small.T.astype(object) @ np.array(cells, dtype=object)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            said = strategy.apply(tables.__getitem__)
        assert said.dtype == np.int64
        assert [int(v) % (1 << 64) for v in said] == [int(v) % (1 << 64) for v in exact]


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("asked", ["total", "ones", "zeros", "several"])
def test_what_no_swap_moves_is_measured_all_the_same(asked, relation):
    ones, zeros = (hr.Query.of(DOMAIN, ["a"], np.full(3, w)) for w in (1.0, 0.0))
    total = hr.Query.total()
    queries = {"total": [total], "ones": [ones], "zeros": [zeros], "several": [total, ones, zeros]}[asked]
    guard = curator(relation)
    synopsis = hr.Factorization().release(guard, queries)
    assert guard.spent.rho > 0
    answer = synopsis.answer(hr.Workload.of(queries))
    truth = [0 if q is zeros else 400 for q in queries]
    np.testing.assert_allclose(answer.value, truth, atol=60)


def test_norms_are_never_below_one_step():
    empty = np.zeros((2, 1), dtype=np.int64)
    one_level = Contrasts(1, "even", np.zeros(0, dtype=np.int64))
    for strategy in (
        MatrixStrategy(("a",), np.zeros(3, dtype=np.int64), empty),
        MatrixStrategy(("a",), np.full(3, -1), empty),
        ResidualStrategy({"a": one_level}, (Residual(("a",), ONE),)),
    ):
        norms = strategy.norms
        assert (norms.l1, norms.l2_squared, norms.replace_l2_squared) == (1, 1, 1)
        assert norms.replace_l1 >= 1


def test_a_swap_with_a_row_that_is_not_looked_at_moves_a_whole_column():
    norms = MatrixStrategy(("a",), np.array([0, -1, 1]), np.array([[3, 3], [4, 3]])).norms
    assert (norms.l1, norms.l2_squared, norms.replace_l2_squared) == (7, 25, 25)
    assert (
        MatrixStrategy(("a",), np.array([0, 0, 1]), np.array([[3, 3], [4, 3]])).norms.replace_l2_squared == 1
    )


def test_a_strategy_for_another_domain_is_refused_before_anything_is_charged():
    guard = curator()
    wrong = [
        ResidualStrategy({"a": Contrasts.close(4, "even")}, (Residual(("a",), ONE),)),
        ResidualStrategy(
            {"a": Contrasts.close(3, "even"), "b": Contrasts.close(5, "even")},
            (Residual(("b", "a"), np.ones((1, 1), dtype=np.int64)),),
        ),
        MatrixStrategy(("a",), np.array([0, 1]), np.array([[1, 2]])),
        MatrixStrategy(("a", "b"), np.zeros((5, 3), dtype=np.int64), np.array([[1]])),
    ]
    for strategy in wrong:
        with pytest.raises(hr.HedgerowError):
            guard.measure(StrategyAnswers(strategy), 0.5, noise="gaussian")
    assert guard.spent.rho == 0


@pytest.mark.slow
def test_no_matrix_larger_than_the_tables_is_ever_built():
    """All three-way tables of Adult's fourteen attributes (made rows; at small size its long ones are cut).

    One dense matrix over a single table's cells would be its cells squared: thousands of times all tables.
    """
    import tracemalloc

    adult = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)
    longest = size(24, 100)
    sizes = {f"x{i}": min(k, longest) for i, k in enumerate(adult)}
    domain, rng = hr.Domain(sizes), np.random.default_rng(1)
    table = hr.Table.open({a: rng.integers(0, k, 2000) for a, k in sizes.items()}, domain)
    curator = hr.Curator(table, budget=hr.Budget(epsilon=1, delta=1e-9), ledger=":memory:")
    cells = [prod(t) for t in combinations(sizes.values(), 3)]
    hr.Factorization().release(curator, hr.marginals(domain, 1))  # load and compile what is needed
    curator = hr.Curator(table, budget=hr.Budget(epsilon=1, delta=1e-9), ledger=":memory:")
    tracemalloc.start(1)
    try:
        synopsis = hr.Factorization().release(curator, hr.marginals(domain, 3))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        largest = synopsis.table(tuple(sorted(sizes, key=lambda a: -sizes[a])[:3]))
        reading = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    everything = 8 * sum(cells)
    assert peak < 6 * everything + 40e6  # exact tables, values, noise, and what the ledger keeps
    assert peak < 0.1 * 8 * max(cells) ** 2  # one matrix over one table would not fit
    assert reading < 12 * largest.nbytes + 10e6
