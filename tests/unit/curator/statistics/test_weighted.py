"""Weighted counts: exact, weights are each row's own, and no row moves them by more than their norms say."""

from __future__ import annotations

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.curator.rows.table import Rows
from hedgerow.curator.statistics.weighted import REACH, STEPS, WeightedSums
from hedgerow.privacy.budget import Privacy
from hedgerow.queries.query import ONE
from hedgerow.queries.strategies.column import Column

DOMAIN = hr.Domain({"a": 4, "b": 3, "y": hr.Categorical([0, 1], missing=True)})
SIDES = [0, 1, -1]


def rows_of(codes: np.ndarray, **unit) -> Rows:
    columns = dict(zip(DOMAIN, codes, strict=True))
    columns["y"] = [None if v == 2 else int(v) for v in columns["y"]]
    if unit:
        columns["who"] = unit.pop("who")
    return Rows(hr.Table.open(columns, DOMAIN, **({"unit": "who"} | unit if unit else {})), b"k" * 32)


def random_sums(rng, signed: bool) -> WeightedSums:
    """A random history: any margins, any weights in [0, 1], any feature map."""
    margins = {"a": rng.integers(-2 * REACH, 2 * REACH, 4), "b": rng.integers(-STEPS, STEPS, 3)}
    weights = rng.integers(0, ONE + 1, (2, 2 * REACH + 1))
    weights[rng.random(weights.shape) < 0.5] = ONE
    low = -5 if signed else 0
    columns = [
        Column("a", rng.integers(0, 4, 4), rng.integers(low, 6, 4)),
        Column("b", rng.integers(0, 3, 3), rng.integers(low, 6, 3)),
        Column("a", [0, 0, 0, 0], [3, 3, 3, 3]),
    ]
    offset = int(rng.integers(-STEPS, STEPS))
    return WeightedSums("y", SIDES, offset, margins, weights, columns, signed=signed)


def by_hand(sums: WeightedSums, codes: np.ndarray) -> np.ndarray:
    code = dict(zip(DOMAIN, codes, strict=True))
    out = [np.zeros(c.size, dtype=object) for c in sums.columns]
    for i in range(codes.shape[1]):
        side = SIDES[code["y"][i]]
        if side < 0:
            continue
        z = sums.offset + sum(int(m[code[a][i]]) for a, m in sums.margins)
        v = int(sums.weights[side, min(max(z, -REACH), REACH) + REACH])
        v = -v if sums.signed and side == 0 else v
        for column, total in zip(sums.columns, out, strict=True):
            level = code[column.attribute][i]
            total[column.cells[level]] += v * int(column.factors[level])
    return np.concatenate(out).astype(np.int64)


def random_codes(rng, n: int) -> np.ndarray:
    return np.stack([rng.integers(0, k, n) for k in DOMAIN.shape])


@pytest.mark.parametrize("signed", [True, False])
def test_sums_are_what_adding_up_row_by_row_gives(signed):
    rng = np.random.default_rng(1)
    for n in (0, 1, 50, 5000):
        sums, codes = random_sums(rng, signed), random_codes(rng, n)
        assert (sums.exact(rows_of(codes)) == by_hand(sums, codes)).all()


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_no_row_moves_them_further_than_the_sensitivity_on_random_histories(relation, signed):
    rng = np.random.default_rng(2)
    reached = 0.0
    for _ in range(60):
        sums, codes = random_sums(rng, signed), random_codes(rng, 8)
        other = codes.copy()
        other[:, 0] = random_codes(rng, 1)[:, 0]
        other = other[:, 1:] if relation == "add_remove" else other
        moved = (sums.exact(rows_of(codes)) - sums.exact(rows_of(other))).astype(object)
        allowed = Privacy(relation, 1).sensitivity(sums.norms)
        assert abs(moved).sum() <= allowed.l1
        assert (moved**2).sum() <= allowed.l2_squared
        reached = max(reached, float((moved**2).sum() / allowed.l2_squared))
    assert reached > 0.2  # the bound is not idle


def test_a_person_with_several_rows_moves_them_by_that_many_rows_and_no_more():
    rng = np.random.default_rng(3)
    for _ in range(20):
        sums, codes = random_sums(rng, True), random_codes(rng, 12)
        codes[:, :6] = codes[:, :1]  # one person's rows, all alike: the worst case
        who = np.array([0] * 6 + list(range(1, 7)))
        here = sums.exact(rows_of(codes, who=who, max_rows=3))
        gone = sums.exact(rows_of(codes[:, 6:], who=who[6:], max_rows=3))
        moved = (here - gone).astype(object)
        assert abs(moved).sum() <= Privacy("add_remove", 3).sensitivity(sums.norms).l1
        assert (moved**2).sum() <= Privacy("add_remove", 3).sensitivity(sums.norms).l2_squared


def test_a_rows_share_does_not_depend_on_other_rows():
    rng = np.random.default_rng(4)
    sums, codes = random_sums(rng, True), random_codes(rng, 40)
    alone = sum(sums.exact(rows_of(codes[:, i : i + 1])) for i in range(40))
    assert (sums.exact(rows_of(codes)) == alone).all()


def test_a_count_of_rows_moves_by_one_when_a_row_is_swapped():
    weights = np.full((2, 2 * REACH + 1), ONE)
    count = WeightedSums("y", [0, 1, 1], 0, {}, weights, [Column("y", [0, 0, 0], [1, 1, 1])], signed=False)
    assert Privacy("replace", 1).sensitivity(count.norms).l1 == ONE


def good(**changes):
    weights = np.full((2, 2 * REACH + 1), ONE)
    parts = {
        "sides": SIDES,
        "offset": 0,
        "margins": {"a": np.zeros(4, dtype=np.int64)},
        "weights": weights,
        "columns": [Column("a", [0, 1, 2, 3], [1, 1, 1, 1])],
    } | changes
    return WeightedSums("y", **parts)


@pytest.mark.parametrize(
    "changes",
    [
        {"weights": np.full((2, 2 * REACH + 1), ONE + 1)},
        {"weights": np.full((2, 2 * REACH + 1), -1)},
        {"weights": np.full((2, 2 * REACH + 1), 0.5)},
        {"weights": np.full((2, 2 * REACH + 1), np.nan)},
        {"weights": np.full((1, 2 * REACH + 1), 1)},
        {"weights": np.full((2, 2 * REACH), 1)},
        {"sides": [0, 2, 1]},
        {"sides": [[0, 1, 1]]},
        {"margins": {"a": np.full(4, 1 << 40)}},
        {"margins": {"a": np.zeros((4, 4), dtype=np.int64)}},
        {"offset": 1 << 40},
        {"columns": []},
        {"columns": ["a"]},
    ],
    ids=str,
)
def test_what_would_break_the_sensitivity_is_refused_at_the_door(changes):
    with pytest.raises(hr.UnsupportedQuery):
        good(**changes)


@pytest.mark.parametrize(
    ("cells", "factors"),
    [([0, 1], [1, 1025]), ([0, -1], [1, 1]), ([0, 2], [1, 1]), ([0, 1], [1.5, 1]), ([0, 1], [1]), ([], [])],
)
def test_a_column_that_is_none_is_refused(cells, factors):
    with pytest.raises(hr.UnsupportedQuery):
        Column("a", cells, factors)


@pytest.mark.parametrize(
    "changes",
    [
        {"sides": [0, 1]},
        {"margins": {"a": np.zeros(3, dtype=np.int64)}},
        {"columns": [Column("b", [0, 1], [1, 1])]},
        {"columns": [Column("nobody", [0, 1], [1, 1])]},
    ],
    ids=str,
)
def test_what_does_not_fit_the_domain_is_refused_and_not_charged(changes):
    columns = {"a": [0, 1], "b": [0, 1], "y": [0, 1]}
    curator = hr.Curator(hr.Table.open(columns, DOMAIN), hr.Budget(epsilon=1), ":memory:")
    with pytest.raises((hr.UnsupportedQuery, hr.DomainMismatch)):
        curator.measure(good(**changes), 0.5)
    assert curator.spent.epsilon == 0


def test_arrays_changed_afterwards_change_nothing():
    weights, margin = np.full((2, 2 * REACH + 1), ONE), np.zeros(4, dtype=np.int64)
    sums = good(weights=weights, margins={"a": margin})
    before = sums.digest
    weights[:], margin[:] = 7 * ONE, 99
    assert sums.digest == before
    with pytest.raises(ValueError, match="read-only"):
        sums.weights[0, 0] = 9 * ONE


def test_another_model_or_another_map_is_another_question():
    digests = {
        good().digest,
        good(offset=1).digest,
        good(margins={"a": np.arange(4)}).digest,
        good(margins={"b": np.zeros(3, dtype=np.int64)}).digest,
        good(sides=[1, 0, -1]).digest,
        good(signed=False).digest,
        good(columns=[Column("a", [0, 1, 2, 3], [2, 1, 1, 1])]).digest,
        good(columns=[Column("a", [0, 1, 2, 2], [1, 1, 1, 1])]).digest,
    }
    assert len(digests) == 8


def test_a_map_of_zeros_measures_nothing_and_is_refused():
    nothing = Column("a", [0, 0, 0, 0], [0, 0, 0, 0])
    with pytest.raises(hr.UnsupportedQuery, match="factor"):
        good(columns=[nothing, nothing])
    assert good(columns=[nothing, Column("a", [0, 0, 0, 0], [0, 0, 0, 1])]).norms.l1 == ONE


def test_columns_changed_afterwards_change_nothing():
    column = Column("a", [0, 1, 2, 3], [1, 1, 1, 1])
    sums = good(columns=[column])
    before, norms = sums.digest, sums.norms
    object.__setattr__(column, "factors", np.full(4, 1 << 30))
    assert sums.digest == before
    assert sums.norms == norms
    with pytest.raises(hr.UnsupportedQuery):
        good(columns=[column])  # a column forged after its own check
