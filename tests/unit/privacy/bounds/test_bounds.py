"""Bounds: fixed points solve their equations, bounds fall with rows and epsilon and rise with queries."""

from __future__ import annotations

from math import exp, inf, log, sqrt

import numpy as np
import pytest

from hedgerow.privacy import bounds

N, X, K, EPS, DELTA, BETA, M = 1e6, 1e4, 1e3, 0.9, 1e-6, 0.05, 50

# name -> the bound as a function of rows, epsilon and queries
BOUNDS = {
    "thm_4_5": lambda n, e, k: bounds.thm_4_5(n, X, k, e, BETA),
    "thm_4_9": lambda n, e, k: bounds.thm_4_9(n, X, log(k), e, BETA),
    "thm_4_14": lambda n, e, k: bounds.thm_4_14(n, X, k, e, BETA),
    "thm_4_15": lambda n, e, k: bounds.thm_4_15(n, X, k, e, DELTA, BETA),
    "thm_3_3_idc": lambda n, e, k: bounds.thm_3_3_idc(n, lambda a: 9 / a**2, k, e, DELTA, BETA),
    "sparse_mw": lambda n, e, k: bounds.sparse_mw(n, M, k, e, DELTA, BETA),
    "thm_3_8": lambda n, e, k: bounds.thm_3_8(n, M, k, e, DELTA, BETA),
    "thm_4_9_sparse": lambda n, e, k: bounds.thm_4_9_sparse(n, M, k, e, DELTA, BETA) / n,
    "thm_5_4": lambda n, e, k: bounds.thm_5_4(n, X, k, e, 10.0) / n,
    "thm_5_5": lambda n, e, k: bounds.thm_5_5(n, X, k, e, 10.0),
    "laplace": lambda n, e, k: bounds.laplace_union(k, k / e, BETA) / n,
    "gaussian": lambda n, e, k: bounds.gaussian_union(k, sqrt(k) / e, BETA) / n,
    "histogram": lambda n, e, k: bounds.histogram_union(k, X, 1 / e, BETA, laplace=True) / n,
    "response": lambda n, e, k: bounds.response_union(k, n, 4, e, BETA) / n,
}


@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_fall_with_rows_and_epsilon_and_rise_with_queries(name):
    bound = BOUNDS[name]
    here = bound(N, EPS, K)
    assert 0.0 < here < inf
    assert bound(4 * N, EPS, K) < here
    assert bound(N, 2 * EPS, K) < here
    assert bound(N, EPS, K**5) > here  # few queries more may hide behind the noise of released values


def test_cor_4_12_and_cor_3_11_move_as_they_should():
    assert bounds.cor_4_12(4 * N, 20, EPS, DELTA, BETA) < bounds.cor_4_12(N, 20, EPS, DELTA, BETA)
    few, many = (bounds.cor_3_11_rows(20, k, 0.1, EPS, DELTA, BETA) for k in (2, 8))
    assert many == pytest.approx(8 * few)
    assert bounds.cor_3_11_rows(20, 2, 0.05, EPS, DELTA, BETA) == pytest.approx(4 * few)


def test_thm_4_14_solves_its_equation_with_36():
    a = bounds.thm_4_14(N, X, K, EPS, BETA)
    right = 36 * log(X) * (log(K) + log(32 * log(X) / (a * a * BETA))) / (EPS * a * a * N)
    assert a == pytest.approx(right, rel=1e-9)
    assert bounds.thm_4_14_rows(a, X, K, EPS, BETA) == pytest.approx(N, rel=1e-8)


def test_thm_4_15_solves_its_equation_with_the_noise_of_the_values():
    for k in (1.0, K, 1e40):  # the values' term rules for few questions, the comparisons' for many
        a = bounds.thm_4_15(N, X, k, EPS, DELTA, BETA)
        last = log(16 * log(X) / (a * a * BETA))
        terms = max(log(2 * k) + last, 2 * sqrt(2) * last)
        right = (2 + 32 * sqrt(2)) * sqrt(log(X) * log(2 / DELTA)) * terms / (a * EPS * N)
        assert a == pytest.approx(right, rel=1e-9)
        assert bounds.thm_4_15_rows(a, X, k, EPS, DELTA, BETA) == pytest.approx(N, rel=1e-8)


def test_thm_3_3_solves_its_equation_with_3000():
    a = bounds.thm_3_3_idc(1e8, lambda x: 9 / x**2, K, EPS, DELTA, BETA)
    assert a == pytest.approx(3000 * sqrt(9 / a**2) * log(4 / DELTA) * log(K / BETA) / (EPS * 1e8), rel=1e-9)


def test_sparse_mw_is_thm_3_3_at_thm_3_5():
    a = bounds.sparse_mw(1e10, M, K, EPS, DELTA, BETA)
    b = bounds.thm_3_5(M, a)
    assert a == pytest.approx(3000 * sqrt(b) * log(4 / DELTA) * log(K / BETA) / (EPS * 1e10), rel=1e-3)


def test_online_mw_bounds_are_numeric_sparse_for_2k_questions_and_c_updates():
    from hedgerow.curator.runs.sparse_vector_plan import numeric_sparse_alpha

    a = bounds.thm_4_14(N, X, K, EPS, BETA)
    c = 4 * log(X) / a**2  # not rounded up: the theorem is not either
    assert numeric_sparse_alpha(2 * K, c, BETA, EPS) / N == pytest.approx(a, rel=1e-9)
    for k in (1.0, K, 1e40):
        a = bounds.thm_4_15(N, X, k, EPS, DELTA, BETA)
        c = 4 * log(X) / a**2
        assert numeric_sparse_alpha(2 * k, c, BETA, EPS, DELTA) / N == pytest.approx(a, rel=1e-9)


def test_sparse_bounds_agree_with_the_hypothesis_and_the_mechanism():
    import hedgerow as hr
    from hedgerow.learning.sparse.sparse import variables

    for m in (1, 10, 100):
        for alpha in (0.05, 0.2, 0.7):
            assert bounds.sparse_variables(m, alpha) == variables(m, alpha)
    table = hr.Table.open(["oak"], hr.OpenDomain())
    curator = hr.Curator(table, hr.Budget(epsilon=1, delta=1e-3), ":memory:", entropy=hr.testing.seeded(1))
    queries = [hr.SparseQuery.of({"oak": 1})]
    made = hr.SparseProject(mode="theorem", epsilon=0.5, delta=1e-4, rows=1)
    said = made.release(curator, queries).provenance.parameters
    assert said["size"] == bounds.sparse_project_size(1, 1, 1, made.beta)
    bound = bounds.thm_4_9_sparse(1, 1, 1, 0.5, 1e-4, made.beta)
    assert said["theorem_error"] == pytest.approx(bound)


def test_the_laplace_union_bound_is_the_exact_discrete_tail():
    from fractions import Fraction

    from hedgerow.queries.measurement import Noise

    for b in (1, 7, 40):
        for k in (1, 30, 10**6):
            exact = Noise("laplace", Fraction(b)).half_width(1 - BETA, numbers=k)
            assert bounds.laplace_union(k, b, BETA) == pytest.approx(exact, abs=1.0)
    z = np.arange(0, 2000)
    tail = 2 * exp(-(bounds.laplace_union(10, 5.0, BETA) + 1) / 5.0) / (1 + exp(-0.2))
    mass = (1 - exp(-0.2)) / (1 + exp(-0.2)) * np.exp(-z / 5.0)
    assert 2 * mass[z >= bounds.laplace_union(10, 5.0, BETA) + 1].sum() == pytest.approx(tail)
    assert tail <= BETA / 10


def test_rows_needed_is_where_the_bound_arrives():
    for name in ("thm_4_5", "thm_4_14", "gaussian", "sparse_mw"):
        n = bounds.rows_needed(lambda n, name=name: BOUNDS[name](n, EPS, K), 0.1)
        assert BOUNDS[name](n, EPS, K) == pytest.approx(0.1, rel=1e-3)
    assert bounds.rows_needed(lambda n: 1.0, 0.1) == inf


def test_composition_is_the_accountant_s():
    epsilon, delta = bounds.thm_3_3(0.1, 1e-8, 50, 1e-6)
    assert epsilon == pytest.approx(sqrt(100 * log(1e6)) * 0.1 + 5 * (exp(0.1) - 1))
    assert delta == pytest.approx(50e-8 + 1e-6)
    assert bounds.thm_3_3(0.1, 0.0, 200, 1e-6)[0] > epsilon


def test_boosting_rows_invert_thm_5_5():
    n = bounds.thm_5_5_rows(0.2, X, K, EPS, 10.0)
    assert bounds.thm_5_5(n, X, K, EPS, 10.0) == pytest.approx(0.2)
    assert bounds.thm_4_1(K, 400, 0.3, 10.0, EPS) == pytest.approx(2 * bounds.thm_4_1(K, 100, 0.3, 10.0, EPS))
    assert bounds.thm_4_1_rounds(K, 0.1) == pytest.approx(9 * bounds.thm_4_1_rounds(K, 0.3))


def test_boosting_s_gap_is_what_the_proof_of_thm_4_1_takes():
    # mu = T^1.5 sqrt(k kappa) alpha rho / eps, and alpha = 1/2 ln((1 + 2 eta)/(1 - 2 eta)) is about 2 eta
    for eta in (0.001, 0.01, 0.1):
        t, alpha = bounds.thm_4_1_rounds(K, eta), 0.5 * log((1 + 2 * eta) / (1 - 2 * eta))
        proof = t**1.5 * sqrt(50 * 10.0) * alpha / EPS
        assert 2 * bounds.thm_4_1(K, 50, eta, 10.0, EPS) == pytest.approx(proof, rel=2 * eta**2)
