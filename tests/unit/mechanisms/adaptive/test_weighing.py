"""A model weighed against what was measured: triples by their pairs, and dense fits of few rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.mechanisms.adaptive import everything
from hedgerow.mechanisms.adaptive.adaptive import AdaptiveRelease
from hedgerow.mechanisms.adaptive.dense import DenseFit
from hedgerow.synopsis.reconciled import Reconciled


def curator(columns, sizes, epsilon, ledger=":memory:") -> hr.Curator:
    table, budget = hr.Table.open(columns, hr.Domain(sizes)), hr.Budget(epsilon=epsilon, delta=1e-9)
    return hr.Curator(table, budget=budget, ledger=ledger, entropy=hr.testing.seeded(1))


def error(columns, sizes, table) -> float:
    """The mean L1 distance of triples."""
    rows = len(next(iter(columns.values())))
    gaps = []
    for names in combinations(sizes, 3):
        shape = [sizes[a] for a in names]
        flat = np.ravel_multi_index([columns[a] for a in names], shape)
        true = np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape)
        gaps.append(np.abs(table(names) - true).sum() / rows)
    return float(np.mean(gaps))


def chain(rows: int, number: int = 10, levels: int = 5) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """Each attribute follows the one before it."""
    rng = np.random.default_rng(3)
    out = [rng.integers(0, levels, rows)]
    for _ in range(number - 1):
        out.append(np.where(rng.random(rows) < 0.7, out[-1], rng.integers(0, levels, rows)))
    return {f"h{i}": c for i, c in enumerate(out)}, {f"h{i}": levels for i in range(number)}


def test_of_triples_that_would_be_noisy_their_pairs_are_measured(tmp_path, monkeypatch):
    """They are nearer to the rows than chosen ones; who chose before is given that again, free."""
    columns, sizes = chain(12_000)
    guard = curator(columns, sizes, 30.0, tmp_path / "ledger.db")
    asked, made = hr.marginals(guard.domain, 3), AdaptiveRelease(epsilon=3.0, run="old")
    with monkeypatch.context() as before:
        before.setattr(everything.Everything, "suits", lambda *_, **__: False)
        chosen = made.release(guard, asked)
    spent = guard.ledger.spent()
    again = made.release(guard, asked)
    assert guard.ledger.spent() == spent
    np.testing.assert_array_equal(again.table(("h1", "h2")), chosen.table(("h1", "h2")))
    fresh = replace(made, run="new").release(guard, asked)
    (found,) = [m.strategy for m in fresh.measurements if m.strategy is not None]
    assert max(map(len, found.cliques)) == 2
    assert error(columns, sizes, fresh.table) < error(columns, sizes, chosen.table)


def test_a_triple_of_a_tree_is_brought_to_its_pairs_before_it_is_weighed(monkeypatch):
    """All triples are measured, and a model that was not brought to pairs is further off."""
    monkeypatch.setitem(everything.LIMITS, 3, 1.0)
    columns, sizes = chain(12_000)
    off = []
    for bring in (True, False):
        with monkeypatch.context() as changed:
            if not bring:
                changed.setattr(Reconciled, "raked", lambda self, names, table: table)
            guard = curator(columns, sizes, 10.0)
            made = AdaptiveRelease().release(guard, hr.marginals(guard.domain, 3))
        assert any(
            m.strategy is not None and max(map(len, m.strategy.cliques)) == 3 for m in made.measurements
        )
        off.append(error(columns, sizes, made.table))
    assert off[0] < off[1], off


def test_a_dense_fit_is_no_stiffer_than_chance_makes_cells():
    """1,000 rows in 480 cells differ from any smooth table by chance alone."""
    rng = np.random.default_rng(2)
    sizes = {"a": 6, "b": 8, "c": 10}
    columns = {a: rng.choice(n, 1000, p=rng.dirichlet(np.ones(n))) for a, n in sizes.items()}
    columns["c"] = (columns["a"] + columns["b"] + rng.integers(0, 2, 1000)) % 10
    found = []

    def seen(self, evidence, targets, looked, real=DenseFit._found):
        out = real(self, evidence, targets, looked)
        found.extend((out[s], self.hypothesis.total / t.counts.size) for s, t in targets.items())
        return out

    with pytest.MonkeyPatch.context() as spied:
        spied.setattr(DenseFit, "_found", seen)
        guard = curator(columns, sizes, 10.0)
        AdaptiveRelease().release(guard, hr.marginals(guard.domain, 2))
    assert found
    assert all(slack <= max(1.0, 1.0001 * most) for slack, most in found)
