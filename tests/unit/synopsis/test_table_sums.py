"""What many questions about one table have in common is worked out once, and is what each would find."""

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.learning.factored.factored import FactoredHypothesis
from hedgerow.queries.quotient import Quotient
from hedgerow.queries.readings import Readings, value_of
from hedgerow.synopsis import table_sums
from hedgerow.synopsis.bars import Bars
from hedgerow.synopsis.table_sums import BoxedWeights, KeptTables, TableSums

RANDOM = np.random.default_rng(3)
TABLE = RANDOM.uniform(0.0, 9.0, (4, 5, 6))
GROUP = np.where(np.arange(4)[:, None, None] == 2, RANDOM.uniform(0.1, 1.0, (4, 5, 6)), 0.0)
WEIGHTS = {
    "a group": GROUP,
    "no cell": np.zeros((4, 5, 6)),
    "one cell": np.eye(120)[57].reshape(4, 5, 6),
    "all cells": RANDOM.normal(size=(4, 5, 6)),
    "apart": np.where(np.isin(np.arange(5), (0, 3))[None, :, None], 1.0, np.zeros((4, 5, 6))),
    "total": np.array(1.0),
}


@pytest.mark.parametrize("weights", WEIGHTS.values(), ids=WEIGHTS.keys())
def test_sums_of_weighted_cells_are_those_of_the_whole_table(weights):
    table = TABLE if weights.ndim else np.array(7.0)
    asked = BoxedWeights(weights)
    assert asked.counted(table) == pytest.approx(float((table * weights).sum()))
    assert asked.some == np.count_nonzero(weights)
    for out in [(), (0,), (1, 2)] if weights.ndim else [()]:
        np.testing.assert_allclose(asked.sums(table, out), (table * weights).sum(axis=out))
    if weights.ndim:
        usual = table.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(asked.sums(usual, (0, 2)), (weights * usual).sum(axis=(0, 2)))


def test_only_the_same_weights_have_the_same_key():
    keys = [BoxedWeights(w).key for w in WEIGHTS.values()]
    moved = np.roll(WEIGHTS["one cell"], 1, axis=0)
    assert len({*keys, BoxedWeights(moved).key}) == len(WEIGHTS) + 1
    assert [BoxedWeights(w.copy()).key for w in WEIGHTS.values()] == keys


def test_factors_are_those_of_a_product_and_of_nothing_else():
    each = [np.array([0, 0, 1, 1.0]), np.array([0, 0.5, 1, 0, 0]), np.ones(6)]
    made = 3.0 * np.einsum("a,b,c->abc", *each)
    largest, found = BoxedWeights(made).factors
    assert largest == 3.0
    for f, own in zip(found, each, strict=True):
        np.testing.assert_allclose(f, own)
    assert BoxedWeights(GROUP).factors is None
    assert BoxedWeights(-made).factors is None


def test_a_table_is_read_once_and_nobody_writes_to_it(monkeypatch):
    read = []

    def make(names):
        read.append(names)
        return np.ones(4) if names else np.float64(4.0)  # the total is a number

    kept = KeptTables(make)
    assert kept.table(("a",)) is kept.table(("a",))
    assert read == [("a",)]
    with pytest.raises(ValueError, match="read-only"):
        kept.table(("a",))[0] = 2.0
    monkeypatch.setattr(table_sums, "_LARGEST", 8)
    for name in "bca":  # there is room for two: the first is read again
        kept.table((name,))
    assert read == [("a",), ("b",), ("c",), ("a",)]
    assert kept.table(()).shape == ()


def test_sums_of_a_table_are_worked_out_once():
    sums = TableSums(TABLE)
    assert sums.over((1,)) is sums.over((1,))
    np.testing.assert_allclose(sums.over((0, 2)), TABLE.sum(axis=(0, 2)))
    assert sums.total == pytest.approx(TABLE.sum())


def test_a_value_that_may_be_read_alone_asks_for_no_error():
    def never(*_):
        raise AssertionError("an error was asked for")

    only = Readings(never, lambda names, weights: float(weights.sum()))
    assert value_of(only, ("a",), np.ones(3), 0.95, 1) == 3.0
    made = Quotient.of(
        never, lambda w: float(w.sum()), np.array([1.0, 3.0]), np.array([1.0, 1.0]), only_positive=True
    )
    assert made.value == 2.0
    assert value_of(lambda *_: (5.0, 1.0), ("a",), np.ones(3), 0.95, 1) == 5.0


@pytest.fixture(scope="module")
def released():
    random = np.random.default_rng(0)
    shared = random.integers(0, 5, 4000)
    rows = {
        "group": shared.tolist(),
        "year": ((shared + random.integers(0, 4, 4000)) % 12).tolist(),
        "value": (shared + random.integers(0, 8, 4000)).tolist(),
    }
    domain = hr.Domain({"group": list(range(5)), "year": hr.bins(0, 12, 1), "value": hr.bins(0, 12, 1)})
    table = hr.Table.open(rows, domain)
    curator = hr.Curator(table, hr.Budget(1, 1e-9), ":memory:", entropy=hr.testing.seeded(1))
    return hr.AdaptiveRelease().release(curator, hr.marginals(domain, 2))


def test_a_statement_reads_each_table_once_for_all_its_groups(released, monkeypatch):
    read, whole = [], FactoredHypothesis.marginal

    def counting(self, attributes):
        read.append(tuple(attributes))
        return whole(self, attributes)

    monkeypatch.setattr(FactoredHypothesis, "marginal", counting)
    released.__dict__.pop("_tables", None)
    released.answer('SELECT "group", AVG(value) FROM t WHERE year >= 3 GROUP BY "group"')
    assert read.count(("group", "year", "value")) == 1


def test_what_is_known_of_a_sum_is_worked_out_once_for_all_confidences(released, monkeypatch):
    asked, whole = [], Bars.variances

    def counting(self, names, table, weights):
        asked.append((names, weights.tobytes()))
        return whole(self, names, table, weights)

    monkeypatch.setattr(Bars, "variances", counting)
    released.__dict__.pop("_stated", None)
    own = np.ones((5, 12, 12))
    names = ("group", "year", "value")
    wide = [released.linear(names, own, sure, 1)[1] for sure in (0.5, 0.95, 0.99)]
    assert wide == sorted(wide)
    assert wide[0] < wide[-1]
    assert len(asked) <= 1


def test_tables_that_are_taken_home_may_be_changed(released):
    table = released.table(["group", "year"])
    table[:] = 0.0
    assert released.table(["group", "year"]).sum() > 0.0
