"""Fitting noisy tables: the step solves its equation, noise is respected, the total is the measured one."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import PCG64, Generator

from hedgerow.errors import DomainMismatch
from hedgerow.learning.dense import fitting
from hedgerow.learning.dense.dense import DenseHypothesis
from hedgerow.learning.dense.fitting import proximal_step
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.measurement import Measurement, Noise
from hedgerow.queries.query import Query
from hedgerow.queries.workload import Workload

DOMAIN = Domain({"a": 4, "b": 3, "c": 6, "d": 5})
ROWS = 20_000


def population(seed: int) -> np.ndarray:
    """Counts with strong dependence between attributes."""
    random = Generator(PCG64(seed))
    p = random.dirichlet(np.full(4, 2.0))[:, None] * random.dirichlet(np.full(3, 0.5), 4)
    p = p[:, :, None] * random.dirichlet(np.full(6, 0.5), (4, 3))
    p = p[..., None] * random.dirichlet(np.full(5, 0.7), 6)
    return random.multinomial(ROWS, p.ravel() / p.sum()).reshape(DOMAIN.shape)


def table(counts: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    return counts.sum(axis=tuple(i for i, a in enumerate(DOMAIN) if a not in names))


def measured(counts: np.ndarray, names: tuple[str, ...], family: str, scale: int, seed: int) -> Measurement:
    """A noisy table; the noise is rounded here, because only the fit is under test."""
    random, exact = Generator(PCG64(seed)), table(counts, names)
    draw = {"gaussian": random.normal, "laplace": random.laplace}.get(family)
    noise = 0 if draw is None else np.rint(draw(0, scale, exact.shape))
    return Measurement(names, (exact + noise).astype(np.int64), Noise(family, Fraction(scale)))  # type: ignore[arg-type]


def error(hypothesis: DenseHypothesis, counts: np.ndarray, arity: int = 2) -> float:
    """Mean L1 distance of tables, as a part of the rows."""
    sets = list(combinations(DOMAIN.names, arity))
    off = [np.abs(hypothesis.total * hypothesis.marginal(s) - table(counts, s)).sum() for s in sets]
    return float(np.mean(off)) / ROWS


@settings(max_examples=100, deadline=None)
@given(
    cells=st.lists(st.tuples(st.floats(1e-9, 1e5), st.floats(-1e3, 1e5)), min_size=2, max_size=20),
    precision=st.floats(1e-6, 1.0),
)
def test_a_step_solves_the_proximal_equation_and_keeps_the_sum(
    cells: list[tuple[float, float]], precision: float
) -> None:
    m, y = np.array(cells).T.copy()
    steps = proximal_step(m, y, precision)
    inside = np.abs(steps) < 7.9  # a step is cut at 8
    x = m * np.exp(steps)
    if inside.all():
        assert x.sum() == pytest.approx(m.sum(), rel=1e-6)
    c = (steps - precision * (y - x))[inside]
    if len(c):
        assert np.ptp(c) <= 1e-6 * max(1.0, np.abs(precision * (y - x)).max())


def test_tables_without_noise_are_met() -> None:
    counts = population(1)
    hypothesis = DenseHypothesis(DOMAIN)
    sets = list(combinations(DOMAIN.names, 2))
    fitted = hypothesis.fit([measured(counts, s, "none", 0, 0) for s in sets], passes=100)
    assert fitted.total == hypothesis.total == pytest.approx(ROWS)
    assert error(hypothesis, counts) < 1e-3


@pytest.mark.parametrize("family", ["gaussian", "laplace"])
@pytest.mark.parametrize("scale", [30, 100])
def test_the_fit_is_nearer_the_truth_than_what_was_measured(family: str, scale: int) -> None:
    counts = population(2)
    sets = list(combinations(DOMAIN.names, 2)) + list(combinations(DOMAIN.names, 3))
    noisy = [measured(counts, s, family, scale, i) for i, s in enumerate(sets)]
    hypothesis = DenseHypothesis(DOMAIN)
    fitted = hypothesis.fit(noisy)
    raw = np.mean([np.abs(m.counts - table(counts, m.attributes)).sum() for m in noisy[:6]]) / ROWS
    assert error(hypothesis, counts) < 0.9 * raw
    assert 0.5 < fitted.misfit < 1.5
    assert fitted.passes <= 30


def test_noise_that_drowns_a_table_hardly_moves_the_hypothesis() -> None:
    counts = population(3)
    hypothesis = DenseHypothesis(DOMAIN)
    hypothesis.fit([measured(counts, ("a", "b"), "none", 0, 0)])
    before = hypothesis.marginal(("a", "b"))
    drowned = measured(np.zeros_like(counts), ("a", "b"), "gaussian", 10**6, 4)
    hypothesis.fit([drowned], total=float(ROWS))
    assert np.abs(hypothesis.marginal(("a", "b")) - before).sum() < 0.15


def test_the_total_is_the_mean_of_table_sums_by_inverse_variance() -> None:
    one = Measurement((), np.array(1_000), Noise("gaussian", Fraction(10)))
    two = Measurement(("b",), np.array([300, 300, 340]), Noise("gaussian", Fraction(20)))
    asked = Measurement((), np.array([980]), Noise("gaussian", Fraction(30)), Workload.of(Query.total()))
    hypothesis = DenseHypothesis(DOMAIN)
    fitted = hypothesis.fit([one, two, asked])
    shares = np.array([1 / 100, 1 / 1200, 1 / 900])
    assert fitted.total == pytest.approx((shares @ [1000, 940, 980]) / shares.sum())
    assert DenseHypothesis(DOMAIN).fit([one, two], total=900.0).total == 900.0
    negative = Measurement((), np.array(-50), Noise("gaussian", Fraction(10)))
    assert DenseHypothesis(DOMAIN).fit([negative]).total == 1.0


def test_tables_with_axes_in_another_order_are_the_same_tables() -> None:
    counts = population(4)
    m = measured(counts, ("b", "d"), "gaussian", 10, 1)
    turned = Measurement(("d", "b"), m.values.T.copy(), m.noise)
    left, right = DenseHypothesis(DOMAIN), DenseHypothesis(DOMAIN)
    left.fit([m])
    right.fit([turned])
    np.testing.assert_array_equal(left.log_cells(), right.log_cells())


def test_measured_queries_pull_their_answers() -> None:
    counts = population(5)
    random = Generator(PCG64(9))
    queries = [Query.where(DOMAIN, {"a": [0, 1], "c": [i]}) for i in range(6)]
    queries += [Query.of(DOMAIN, ["b", "d"], random.random((3, 5)))]
    exact = np.array([q.apply(table(counts, q.attributes).astype(float)) for q in queries])
    noise = Noise("laplace", Fraction(5))
    values = Measurement((), np.rint(exact).astype(np.int64), noise, Workload.of(queries))
    hypothesis = DenseHypothesis(DOMAIN)
    hypothesis.fit([values], total=float(ROWS), passes=60)
    answers = np.array([ROWS * hypothesis.answer(q) for q in queries])
    assert np.abs(answers - exact).max() < 10


def test_a_fit_is_the_same_every_time() -> None:
    counts = population(6)
    noisy = [measured(counts, s, "gaussian", 20, i) for i, s in enumerate(combinations(DOMAIN.names, 2))]
    logs = []
    for _ in range(2):
        hypothesis = DenseHypothesis(DOMAIN)
        hypothesis.fit(noisy)
        logs.append(hypothesis.log_cells())
    np.testing.assert_array_equal(*logs)


def test_measurements_of_another_domain_are_refused_without_change() -> None:
    hypothesis = DenseHypothesis(DOMAIN)
    good = Measurement(("b",), np.array([3, 2, 1]), Noise("none", Fraction(0)))
    wrong = Measurement(("a",), np.array([1, 2, 3]), Noise("none", Fraction(0)))
    with pytest.raises(DomainMismatch):
        hypothesis.fit([good, wrong])
    assert hypothesis.total == 1.0
    np.testing.assert_allclose(hypothesis.log_cells(), -np.log(DOMAIN.size))
    assert hypothesis.fit([]).passes == 0


def test_tables_fitted_within_larger_ones_are_fitted_as_on_all_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same steps in the same order, on all cells and within covers: weights agree but for rounding."""
    counts = population(7)
    sets = [s for k in (1, 2, 3) for s in combinations(DOMAIN.names, k)]
    noisy = [measured(counts, s, "gaussian", 20, i) for i, s in enumerate(sets)]
    tables = [t for m in noisy for t in fitting._targets(DOMAIN, m)]
    monkeypatch.setattr(fitting, "_SMALL", 1)
    monkeypatch.setattr(fitting, "_PART", 2)
    sets = fitting.arranged(DOMAIN, sets)
    tables.sort(key=lambda t: sets.index(t.attributes))
    within, plain = DenseHypothesis(DOMAIN, total=ROWS), DenseHypothesis(DOMAIN, total=ROWS)
    parts = fitting._together(DOMAIN.shape, tuple(tuple(map(DOMAIN.index, s)) for s in sets))
    assert any(many > 1 for _, many in parts)
    for _ in range(4):
        missed = fitting._visit(within, tables, 1.0)
        assert missed == pytest.approx(sum(t.step(plain, 1.0) for t in tables), rel=1e-6)
    np.testing.assert_allclose(within.log_cells(), plain.log_cells(), rtol=1e-6)
