"""Residuals whose tables are brought to counts of single attributes."""

from __future__ import annotations

import numpy as np

from hedgerow.learning.residuals.basis import Basis
from hedgerow.learning.residuals.nonnegative import brought


def test_tables_have_the_given_counts_and_keep_their_others():
    basis, rng = Basis({"a": 4, "b": 3, "c": 5}), np.random.default_rng(0)
    whole = rng.dirichlet(np.ones(60)).reshape(4, 3, 5) * 1_000.0
    tables = (("a", "b"), ("b", "c"))
    parts = basis.parts(("a", "b"), whole.sum(axis=2)) | basis.parts(("b", "c"), whole.sum(axis=0))
    goal = np.array([100.0, 200.0, 300.0, 400.0])
    made = brought(basis, parts, tables, {"a": goal})
    assert np.allclose(basis.table(("a",), made), goal, atol=1.0)
    assert np.allclose(basis.table(("b",), made), whole.sum(axis=(0, 2)), atol=1.0)
    assert np.allclose(basis.table(("b", "c"), made), whole.sum(axis=0), atol=1.0)
    assert basis.table(("a", "b"), made).min() > -1e-9
