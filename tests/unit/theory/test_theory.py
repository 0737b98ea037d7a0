"""Bounds under their papers' names: each is the source's formula, written out a second time or simulated."""

from __future__ import annotations

import inspect
from fractions import Fraction
from math import comb, exp, inf, log, sqrt

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.audit import exact
from hedgerow.curator.runs.sparse_vector_plan import plan
from hedgerow.privacy import bounds
from hedgerow.privacy.budget import Cost

N, X, Q, EPS, DELTA, BETA, KAPPA, M = 1e6, 1e4, 1e3, 0.9, 1e-6, 0.05, 10.0, 50
T = hr.theory
PAPERS = (T.dr14, T.drv10, T.br11, T.w3, T.w12)


def test_every_name_of_a_paper_is_a_function_that_says_what_it_is():
    for paper in PAPERS:
        for name in paper.__all__:
            assert inspect.getdoc(getattr(paper, name)), name


def test_two_theorems_of_one_number_are_told_apart_by_their_papers():
    assert T.drv10.thm_3_3 is bounds.thm_3_3
    assert T.br11.thm_3_3 is bounds.thm_3_3_idc
    assert T.dr14.thm_4_9 is bounds.thm_4_9
    assert T.br11.thm_4_9 is bounds.thm_4_9_sparse
    assert T.w3.thm_3_8 is not T.br11.thm_3_8


# name -> the function's value and the source's formula, constants hidden in O(.) set to 1
PRINTED = {
    "dr14.thm_4_5_queries": (
        T.dr14.thm_4_5(1e6, X, T.dr14.thm_4_5_queries(0.1, 1e6, X, EPS, BETA), EPS, BETA),
        0.1,
    ),
    "dr14.thm_4_9_rows": (T.dr14.thm_4_9_rows(0.1, X, 3, EPS, BETA), (log(X) * 3 + log(20)) / (EPS * 1e-3)),
    "dr14.thm_3_11": (T.dr14.thm_3_11(Q, EPS, BETA), 2 * (log(Q) + log(20)) / EPS),
    "dr14.thm_3_24": (T.dr14.thm_3_24(Q, BETA, EPS), 8 * (log(Q) + log(2 / BETA)) / EPS),
    "drv10.thm_3_1": (T.drv10.thm_3_1(0.1, 1e-9, 7), (7 * 0.1, 7 * 1e-9)),
    "drv10.lemma_3_2": (T.drv10.lemma_3_2(0.3), 0.3 * (exp(0.3) - 1)),
    "drv10.lemma_4_2": (T.drv10.lemma_4_2(40, 0.3), exp(-0.09 * 40)),
    "drv10.claim_4_4": (T.drv10.claim_4_4(40, 0.3, 9.0), 4 * 0.5 * log(1.6 / 0.4) * 40 / 9),
    "drv10.lemma_5_1": (T.drv10.lemma_5_1(50, 0.1, 1 / 3), 2 * (log(10) + 50) / (50 * (1 - 2 / 3)) * 50),
    "drv10.thm_5_2": (
        T.drv10.thm_5_2(N, X, EPS, KAPPA, sensitivity=2.0),
        (N * log(X) * KAPPA, sqrt(N * log(X)) * 2 * KAPPA**1.5 / EPS),
    ),
    "drv10.thm_5_3": (
        T.drv10.thm_5_3(N, X, Q, EPS, KAPPA),
        (N * log(X) * KAPPA / log(Q), (sqrt(log(Q)) + sqrt(log(X)) * KAPPA**1.5) / (EPS * sqrt(N))),
    ),
    "drv10.thm_6_1_rounds": (T.drv10.thm_6_1_rounds(0.2, 0.1), log(10) / 0.04),
    "drv10.thm_6_1_smoothness": (
        T.drv10.thm_6_1_smoothness(30, 0.2, 0.1, EPS, KAPPA),
        log(10) / 0.04 * 30 + log(10) / 0.04 * KAPPA / EPS,
    ),
    "drv10.thm_6_1": (
        T.drv10.thm_6_1(30, 0.2, 0.1, EPS, KAPPA),
        (log(10) / 0.04 * 30 + log(10) / 0.04 * KAPPA / EPS) / 0.04 * log(10) / 0.1,
    ),
    "drv10.claim_6_3": (T.drv10.claim_6_3(0.3), sqrt(1 - 4 * 0.09)),
    "br11.thm_2_10": (T.br11.thm_2_10(0.5, DELTA, 100), 0.5 / sqrt(800 * log(1e6))),
    "br11.cor_4_2_size": (T.br11.cor_4_2_size(0.1, 0.01), pytest.approx(4 * 64**2 * 100 * log(100), abs=1)),
    "br11.lemma_4_6": (T.br11.lemma_4_6(M, 9, 99, 6, 0.1), (9 * 99 / 0.2) ** (1 / 6) * 2 * sqrt(M * 6 / 99)),
    "br11.cor_4_7": (T.br11.cor_4_7(M, 9, 99, 0.1), 4 * sqrt(M * log(9 * 99 / 0.2)) / sqrt(99)),
    "br11.remark_3_10": (float(T.br11.remark_3_10(9, 2)), 36.0),
    "w12.thm_12_6_rows": (
        T.w12.thm_12_6_rows(0.1, X, Q, EPS, DELTA),
        log(Q) * sqrt(log(X) * log(1e6)) / (0.01 * EPS),
    ),
}


@pytest.mark.parametrize("name", PRINTED)
def test_a_bound_is_what_its_source_prints(name):
    found, printed = PRINTED[name]
    assert found == (
        printed if hasattr(printed, "rel") or hasattr(printed, "abs") else pytest.approx(printed)
    )


# name -> an inverse form followed by the form it inverts gives back what it was given
INVERSES = {
    "drv10.thm_5_2": (
        lambda: T.drv10.thm_5_2(n := T.drv10.thm_5_2_rows(0.1, X, EPS, KAPPA), X, EPS, KAPPA)[1] / n
    ),
    "drv10.thm_5_3": lambda: T.drv10.thm_5_3(T.drv10.thm_5_3_rows(0.1, X, Q, EPS, KAPPA), X, Q, EPS, KAPPA)[
        1
    ],
    "drv10.thm_5_4": (
        lambda: T.drv10.thm_5_4(n := T.drv10.thm_5_4_rows(0.1, X, Q, EPS, KAPPA), X, Q, EPS, KAPPA) / n
    ),
    "drv10.thm_5_5": lambda: T.drv10.thm_5_5(T.drv10.thm_5_5_rows(0.1, X, Q, EPS, KAPPA), X, Q, EPS, KAPPA),
    "drv10.thm_6_1": lambda: T.drv10.thm_6_1_gamma(T.drv10.thm_6_1(9, 0.2, 0.1, EPS, 5), 9, 0.2, EPS, 5),
    "drv10.thm_3_3": lambda: T.drv10.thm_3_3(T.drv10.thm_3_3_epsilon(0.1, 50, 1e-6), 0, 50, 1e-6)[0],
    "dr14.thm_4_9": lambda: T.dr14.thm_4_9(T.dr14.thm_4_9_rows(0.1, X, 3, EPS, BETA), X, 3, EPS, BETA),
    "dr14.thm_4_5": lambda: T.dr14.thm_4_5(T.dr14.thm_4_5_rows(0.1, X, Q, EPS, BETA), X, Q, EPS, BETA),
    "dr14.thm_3_24": lambda: T.dr14.thm_3_24(T.dr14.thm_3_24_queries(99, BETA, EPS), BETA, EPS) / 990,
    "br11.thm_3_3": lambda: T.br11.thm_3_3(
        T.br11.thm_3_3_rows(0.1, lambda a: 9 / a**2, Q, EPS, DELTA, BETA),
        lambda a: 9 / a**2,
        Q,
        EPS,
        DELTA,
        BETA,
    ),
    "br11.thm_3_8": lambda: T.br11.thm_3_8(
        T.br11.thm_3_8_rows(0.1, M, Q, EPS, DELTA, BETA), M, Q, EPS, DELTA, BETA
    ),
    "br11.cor_3_11": lambda: T.br11.cor_3_11(
        T.br11.cor_3_11_rows(20, 3, 0.1, EPS, DELTA, BETA), 20, 3, EPS, DELTA, BETA
    ),
    "br11.cor_4_12": lambda: T.br11.cor_4_12(
        T.br11.cor_4_12_rows(0.1, 20, EPS, DELTA, BETA), 20, EPS, DELTA, BETA
    ),
    "w12.thm_12_6": lambda: T.w12.thm_12_6_alpha(
        T.w12.thm_12_6_rows(0.1, X, Q, EPS, DELTA), X, Q, EPS, DELTA
    ),
}


@pytest.mark.parametrize("name", INVERSES)
def test_an_inverse_form_undoes_its_bound(name):
    assert INVERSES[name]() == pytest.approx(0.1, rel=1e-6)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(4)])
@pytest.mark.parametrize("queries", [1, 30])
def test_above_threshold_fails_no_oftener_than_its_theorem_says(epsilon, queries):
    """Exactly, by enumeration: all but the last question just too low to be near, the last high enough."""
    beta = 0.1
    alpha = T.dr14.thm_3_24(queries, beta, float(epsilon))
    made = plan("above_threshold", Cost("epsilon", epsilon), Fraction(1), 0, 1)
    low, high = -int(alpha) - 1, int(alpha) + 1
    law = exact.above_threshold([low] * (queries - 1) + [high], made)
    assert 1 - float(law[queries - 1]) <= beta
    less = [low // 6] * (queries - 1) + [high // 6]  # and it says something: a sixth of alpha is not enough
    assert 1 - float(exact.above_threshold(less, made)[queries - 1]) > beta


def test_sums_of_laplace_draws_pass_their_bound_no_oftener_than_lemma_4_8_says(size):
    """False alarm below 1e-6 by Hoeffding."""
    runs = size(20_000, 400_000)
    slack = sqrt(log(1e6) / (2 * runs))
    drawn = np.random.default_rng(7).laplace(scale=2.0, size=(runs, 40)).sum(axis=1)
    for alpha in (30.0, 60.0, 100.0, 200.0):
        assert (np.abs(drawn) >= alpha).mean() <= T.br11.lemma_4_8(alpha, 40, 2.0) + slack


def test_sauer_and_shelah_bound_what_a_class_cuts_out():
    domain = hr.Domain({"x": hr.bins(0, 9, 1)})
    for workload, dimension in ((hr.prefixes(domain, 1), 1), (hr.ranges(domain, 1), 2)):
        member = T.complexity.Incidence.of(domain, workload).member
        assert T.vc_dimension(domain, workload) == dimension
        for points in (1, 3, 5, 9):
            cut = {tuple(column) for column in member[:points].T}
            assert len(cut) <= T.dr14.sauer_shelah(points, dimension)
    assert T.dr14.sauer_shelah(9, 3) == sum(comb(9, i) for i in range(4))


@pytest.mark.parametrize("dimension", [0, 1, 2, 5])
@pytest.mark.parametrize("alpha", [0.3, 0.9])
def test_thm_4_8_is_the_least_size_that_its_inequality_allows(dimension, alpha):
    def uniform(m: int) -> bool:
        return 4 * sum(comb(2 * m, i) for i in range(dimension + 1)) * exp(-(alpha**2) * m / 8) < 1

    m = T.dr14.thm_4_8(dimension, alpha)
    assert uniform(m)
    assert not any(uniform(i) for i in range(1, m))
    assert alpha**2 * m >= 2  # what the inequality itself needs


def test_so_many_rows_answer_a_class_alike(size):
    """Draws of thm_4_8's rows are within alpha in some run at once; in truth in nearly all."""
    rng, alpha = np.random.default_rng(3), 0.3
    truth = rng.dirichlet(np.ones(50))
    m = T.dr14.thm_4_8(2, alpha)
    worst = []
    for _ in range(size(30, 1000)):
        drawn = np.bincount(rng.choice(50, m, p=truth), minlength=50) / m
        gap = np.concatenate([[0.0], np.cumsum(drawn - truth)])
        worst.append(gap.max() - gap.min())  # over all ranges
    assert max(worst) <= alpha


def test_the_size_by_vc_dimension_is_smaller_only_for_classes_that_nobody_lists():
    for alpha in (0.01, 0.1, 0.5, 0.999):
        for dimension in (1, 2, 5, 20):
            for log_queries in (1, 10, 30, 47):  # a workload holds at most 2^28
                assert T.dr14.lemma_4_3(int(exp(log_queries)), alpha, dimension) == T.dr14.lemma_4_3(
                    int(exp(log_queries)), alpha
                )
    assert T.dr14.lemma_4_3(10**30, 0.5, 1) < T.dr14.lemma_4_3(10**30, 0.5)


def test_no_class_over_fewer_than_ten_to_the_nineteen_cells_is_rich_enough_for_thm_4_8():
    """What docs/theory.md says: by Sauer and Shelah a class of dimension d has no more queries than this."""
    for dimension in (*range(1, 12), 30, 100):
        most = bounds.log_whole(T.dr14.sauer_shelah(10**19, dimension))
        for alpha in (0.999, 0.5, 0.1):
            assert most / alpha**2 < T.dr14.thm_4_8(dimension, alpha)


# ---- reconstruction --------------------------------------------------------------------------------------

R = T.reconstruction


def test_no_guess_beats_what_epsilon_allows_and_randomised_response_reaches_it():
    for epsilon in (0.1, 1.0, 4.0):
        assert R.right_bits(epsilon) == pytest.approx(exp(epsilon) / (1 + exp(epsilon)))
        law = (
            exact.randomized_response(0, 2, Fraction(epsilon)),
            exact.randomized_response(1, 2, Fraction(epsilon)),
        )
        best = sum(max(float(law[0][o]), float(law[1][o])) for o in law[0]) / 2
        assert best == pytest.approx(R.right_bits(epsilon))
    assert R.right_bits(0.0, 0.2) == pytest.approx(0.6)
    assert R.right_bits(800.0) == 1.0


def test_most_right_is_the_binomial_quantile():
    from scipy import stats

    for n, epsilon, beta in ((200, 1.0, 1e-6), (50, 0.5, 0.01), (7, 3.0, 0.2)):
        r = R.most_right(n, epsilon, beta)
        assert (
            stats.binom.sf(r, n, R.right_bits(epsilon))
            < beta
            <= stats.binom.sf(r - 1, n, R.right_bits(epsilon))
        )


def all_bits(n: int) -> np.ndarray:
    return (np.arange(2**n)[:, None] >> np.arange(n)) & 1


@pytest.mark.parametrize("error", [0, 1])
def test_bits_that_fit_the_answers_to_all_sets_are_wrong_in_at_most_four_times_the_error(error):
    n, rng = 8, np.random.default_rng(error)
    bits, sets = all_bits(n), all_bits(n)
    truth = bits[rng.integers(2**n)]
    answers = sets @ truth + rng.integers(-error, error + 1, 2**n)
    fits = (np.abs(bits @ sets.T - answers) <= error).all(axis=1)
    assert fits.any()
    assert (bits[fits] != truth).sum(axis=1).max() <= R.all_subsets_wrong(error)


@pytest.mark.parametrize(("error", "wrong"), [(0.0, 0), (0.0, 3), (0.5, 4), (1.0, 7)])
def test_so_many_random_answers_leave_few_bits_open(error, wrong, size):
    """Brute force over all bits; beta is 0.05, and 60 runs fail 21 times with probability below 1e-6."""
    n, rng = 12, np.random.default_rng(1)
    k, bits = int(R.answers_needed(n, error, wrong)), all_bits(12)
    assert R.unfit(n, k, error, wrong) <= 0.05 < R.unfit(n, k - 1, error, wrong)
    failed = 0
    for _ in range(60):
        truth, sets = bits[rng.integers(2**n)], rng.integers(0, 2, (k, n))
        answers = sets @ truth + rng.uniform(-error, error, k)
        fits = (np.abs(bits @ sets.T - answers) <= error + 1e-9).all(axis=1)
        failed += (bits[fits] != truth).sum(axis=1).max() > wrong
    assert failed < 21


def test_what_cannot_be_told_apart_needs_no_number_of_answers():
    assert R.answers_needed(100, 10.0, 39) == inf
    assert R.answers_needed(100, 10.0, 60) < inf


def test_private_answers_must_be_as_wrong_as_the_lower_bounds_say():
    assert R.least_error(1000, 0.0) == 125.0
    assert R.least_error(1000, 50.0) == pytest.approx(0.0, abs=1e-9)
    assert R.error_that_hides(100, 400, 50.0) == 0
    assert R.error_that_hides(200, 10_000, 0.1) >= R.error_that_hides(200, 800, 0.1) >= 3


# ---- SmallDB ---------------------------------------------------------------------------------------------


def test_small_db_s_bound_by_vc_dimension_is_used_where_it_is_smaller():
    rows, many = 10**9, 10**40
    plain = T.winners([rows], [many], [many], delta=0)[0]["bounds"]["SmallDB"]
    small = T.winners([rows], [many], [many], delta=0, dimension=1)[0]["bounds"]["SmallDB"]
    sampled = T.dr14.prop_4_4_best(rows, many, many, 1.0, 0.05)
    assert T.dr14.prop_4_4_best(rows, many, many, 1.0, 0.05, 1) <= sampled <= plain
    assert small < plain
    for k in (10, 10**3, 10**12):  # and where it is not, it is not
        both = [T.dr14.prop_4_4_best(10**7, 10**4, k, 1.0, 0.05, d) for d in (None, 3)]
        assert both[0] == both[1]


def test_prop_4_4_at_its_best_alpha_is_near_the_least_with_the_range_counted():
    best = T.dr14.prop_4_4_best(10**5, 20, 9, 1.0, 0.05)
    for alpha in np.linspace(0.01, 0.99, 99):
        m = T.dr14.lemma_4_3(9, alpha)
        log_range = log(comb(20 + m - 1, m))
        assert best <= 1.3 * (alpha + 2 * (log_range + log(20)) / 10**5)
