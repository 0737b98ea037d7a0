"""Pairs that are too large to be worth measuring are looked at: their bars know how far off they are."""

from __future__ import annotations

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.mechanisms.adaptive import everything
from hedgerow.mechanisms.adaptive.farther import Farther

ROWS = 6000
SIZES = {"a": 60, "b": 60, "c": 4, "d": 40, "e": 5, "f": 30}


@pytest.fixture(autouse=True)
def measured_all(monkeypatch):
    """Sessions of so few rows choose their tables: here all pairs are measured, as where rows are many."""
    monkeypatch.setattr(everything, "SUMS_LIMIT", 1e9)


def columns() -> dict[str, np.ndarray]:
    """What b is mostly follows from a, and neither has much to do with the others."""
    rng = np.random.default_rng(3)
    law = 1.0 / np.arange(1, 61)
    a = rng.choice(60, ROWS, p=law / law.sum())
    b = np.where(rng.random(ROWS) < 0.8, (7 * a) % 60, rng.integers(0, 60, ROWS))
    rest = {x: rng.integers(0, SIZES[x], ROWS) for x in "cdef"}
    return {"a": a, "b": b} | rest


TABLE = hr.Table.open(columns(), hr.Domain(SIZES))
PLAN = hr.Session(epsilon=0.5, name="s")


def curator(ledger: str = ":memory:") -> hr.Curator:
    return hr.Curator(TABLE, hr.Budget(epsilon=1, delta=1e-9), ledger, entropy=hr.testing.seeded(2))


def test_bars_of_a_pair_that_was_left_out_hold_where_its_attributes_go_together():
    session = PLAN.open(curator())
    held = session._core.belief.learned.reconciled
    assert ("a", "b") not in held.evidence.values  # else this test says nothing
    answer = session.ask(hr.marginals(TABLE.domain, [("a", "b")]))
    truth = np.bincount(60 * columns()["a"] + columns()["b"], minlength=3600)
    outside = np.abs(answer.value - truth) > answer.error
    assert outside.mean() < 0.05
    large = answer.value >= 20
    assert large.sum() >= 20
    assert outside[large].mean() < 0.15


@pytest.mark.parametrize("before", [False, True])
def test_a_session_that_looked_at_larger_tables_alone_goes_on_so(tmp_path, monkeypatch, before):
    ledger = str(tmp_path / "l.db")
    with monkeypatch.context() as patch:
        if before:
            begin = Farther.__init__
            patch.setattr(
                Farther, "__init__", lambda self, run, names, numbers, _: begin(self, run, names, numbers)
            )
        PLAN.open(curator(ledger))
    spent = curator(ledger).spent
    again = PLAN.open(curator(ledger))
    assert curator(ledger).spent == spent
    beyond = again._core.belief.learned.beyond
    assert beyond is not None
    assert beyond.size == (3 if before else 2)
