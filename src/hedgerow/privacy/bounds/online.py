"""Error bounds of mechanisms that answer question by question: NumericSparse, OnlineMW, sparse queries."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, exp, inf, log, sqrt

from hedgerow.privacy.bounds.noise import least_above, rows_needed

# ---- AboveThreshold and NumericSparse --------------------------------------------------------------------

_LATTICE = 2.0 / (
    1 << 20
)  # rows: estimates and thresholds are rounded to the lattice before they meet a count
_STRETCH = 1.0 + 1e-6  # noise scales are rounded up to what the samplers take, by far less than this


def above_threshold_alpha(queries: float, beta: float, epsilon: float, sensitivity: float = 1.0) -> float:
    """The accuracy theorem of AboveThreshold, [DR14] Thm 3.24: 8 (ln k + ln(2/beta)) / epsilon, in rows.

    If only the last of k questions is near T, then with probability 1 - beta the run does not stop before it,
    every "below" is at most T + alpha and the "above" at least T - alpha. The proof gives beta/2 to the
    largest of k Lap(4/eps) and beta/2 to one Lap(2/eps), which needs far less; what is left over covers the
    heavier discrete tails, 2 / (1 + e^(-1/b)) times as heavy, while epsilon <= 4 and beta <= 1/2.

    Args:
        queries: k, how many comparisons.
        beta: how often the bound may fail.
        epsilon: of the whole run.
        sensitivity: of a count.

    >>> round(above_threshold_alpha(1000, 0.05, 1.0), 1)
    84.8
    """
    return sensitivity * 8.0 * (log(queries) + log(2.0 / beta)) / epsilon


def above_threshold_queries(alpha: float, beta: float, epsilon: float, sensitivity: float = 1.0) -> float:
    """[DR14] Thm 3.24 the other way: how many comparisons stay within alpha rows."""
    return beta / 2.0 * exp(alpha * epsilon / (8.0 * sensitivity))


def numeric_sparse_alpha(
    queries: float, count: float, beta: float, epsilon: float, delta: float = 0.0, sensitivity: float = 1.0
) -> float:
    """The accuracy theorem of NumericSparse, [DR14] Thm 3.28, for questions of a given sensitivity in rows.

    With probability 1 - beta every value is within alpha, every "below" is at most T + alpha and every
    "above" at least T - alpha, if at most `count` questions lie above T - alpha. For delta > 0 the theorem's
    constant covers the comparisons only. With R = sqrt(c ln(2/delta)) / epsilon they have noise of scale
    2 sigma(eps1) = (sqrt 512 + 1) R / 2, which alpha / 2 = (sqrt 512 + 1) R (ln k + ln(4c/beta)) / 2 covers;
    a value has Lap(sigma(eps2)), sigma(eps2) = sqrt 32 R epsilon / eps2 = 2 sqrt 2 (sqrt 512 + 1) R, so c
    values take 2 sqrt 2 ln(4c/beta) in the place of ln k + ln(4c/beta) where that is larger.

    Args:
        queries: k, how many comparisons.
        count: c, the most "above".
        beta: how often the bound may fail.
        epsilon, delta: of the whole run.
        sensitivity: of a count.

    >>> round(numeric_sparse_alpha(1000, 1, 0.05, 1.0), 1)
    101.6
    """
    last = log(4.0 * count / beta)
    terms = max(log(queries) + last, 0.0)
    if delta == 0:
        return sensitivity * 9 * count * terms / epsilon
    root = sqrt(count * log(2 / delta)) * (sqrt(512) + 1) / epsilon
    return sensitivity * root * max(terms, 2.0 * sqrt(2.0) * last) if root < inf else inf


def idc_rows(
    alpha: float,
    updates: float,
    queries: float,
    epsilon: float,
    delta: float,
    beta: float,
    *,
    sensitivity: float = 1.0,
    total_off: float = 0.0,
) -> float:
    """The rows at which a construction of so many updates answers k questions within 3 alpha of them.

    What `OnlineMW` and `SparseMW` demand before they open, and what a plan quotes: alpha rows are
    NumericSparse's accuracy for 2k comparisons, and whatever a measured number of rows is off by.

    Args:
        alpha: a third of the promise, as a fraction of the rows.
        updates: c, the most updates at that alpha.
        queries: k.
        epsilon, delta: of the sparse vector.
        beta: how often the bound may fail.
        sensitivity: of a count.
        total_off: how far the number of rows used may be from the true one.
    """
    accuracy = numeric_sparse_alpha(2.0 * queries, updates, beta, epsilon, delta, sensitivity)
    return (accuracy * _STRETCH + total_off + _LATTICE) / alpha


# ---- OnlineMW --------------------------------------------------------------------------------------------


def online_mw_updates(universe: float, alpha: float) -> int:
    """[DR14] Thm 4.10: c = ceil(4 ln|X| / alpha^2), the updates of multiplicative weights."""
    return max(1, ceil(4.0 * log(universe) / (alpha * alpha)))


def online_mw_rows(
    alpha: float, universe: float, queries: float, epsilon: float, delta: float, beta: float
) -> float:
    """The rows that `OnlineMW(alpha)` demands: Thm 4.14 and 4.15 with c rounded up, as it has to be.

    >>> online_mw_rows(0.1, 1000, 100, 1.0, 0.0, 0.05) / thm_4_14_rows(0.1, 1000, 100, 1.0, 0.05) < 1.001
    True
    """
    return idc_rows(alpha, online_mw_updates(universe, alpha), queries, epsilon, delta, beta)


def thm_4_14(
    rows: float, universe: float, queries: float, epsilon: float, beta: float, *, sensitivity: float = 1.0
) -> float:
    """[DR14] Thm 4.14: the least alpha for which OnlineMW answers k queries within 3 alpha (delta = 0).

    The fixed point of alpha = 36 ln|X| (ln k + ln(32 ln|X| / (alpha^2 beta))) / (eps alpha^2 n). 36 = 9 * 4
    is what Thm 3.28 gives with c = 4 ln|X|/alpha^2; the statement's 32 is a slip, its proof ends with 36.

    Args:
        rows: n.
        universe: |X|.
        queries: k.
        epsilon: of the whole run.
        beta: how often the bound may fail.
        sensitivity: of a count.

    >>> round(thm_4_14(10**6, 1000, 100, 1.0, 0.05), 4)
    0.1606
    """
    return least_above(lambda a: _thm_3_28(a, universe, queries, epsilon, 0.0, beta) * sensitivity / rows)


def thm_4_15(
    rows: float,
    universe: float,
    queries: float,
    epsilon: float,
    delta: float,
    beta: float,
    *,
    sensitivity: float = 1.0,
) -> float:
    """[DR14] Thm 4.15: the least alpha for which OnlineMW answers k queries within 3 alpha (delta > 0).

    The fixed point of alpha = (2 + 32 sqrt 2) sqrt(ln|X| ln(2/delta)) max(ln 2k + L, 2 sqrt 2 L) / (alpha eps
    n), L = ln(16 ln|X| / (alpha^2 beta)). The statement has ln 2k + L alone, which leaves out the noise of
    the released values: see `numeric_sparse_alpha`.

    >>> thm_4_15(10**6, 1000, 100, 1.0, 1e-6, 0.05) < thm_4_14(10**6, 1000, 100, 1.0, 0.05)
    True
    """
    return least_above(lambda a: _thm_3_28(a, universe, queries, epsilon, delta, beta) * sensitivity / rows)


def thm_4_14_rows(alpha: float, universe: float, queries: float, epsilon: float, beta: float) -> float:
    """[DR14] Thm 4.14 the other way: how many rows OnlineMW needs to answer within 3 alpha (delta = 0).

    >>> n = thm_4_14_rows(0.1, 1000, 100, 1.0, 0.05)
    >>> round(thm_4_14(n, 1000, 100, 1.0, 0.05), 9)
    0.1
    """
    return _thm_3_28(alpha, universe, queries, epsilon, 0.0, beta) / alpha


def thm_4_15_rows(
    alpha: float, universe: float, queries: float, epsilon: float, delta: float, beta: float
) -> float:
    """[DR14] Thm 4.15 the other way: how many rows OnlineMW needs to answer within 3 alpha (delta > 0)."""
    return _thm_3_28(alpha, universe, queries, epsilon, delta, beta) / alpha


def _thm_3_28(
    alpha: float, universe: float, queries: float, epsilon: float, delta: float, beta: float
) -> float:
    """NumericSparse's accuracy in rows for 2k comparisons and c = 4 ln|X|/alpha^2, not rounded."""
    return numeric_sparse_alpha(2.0 * queries, 4.0 * log(universe) / (alpha * alpha), beta, epsilon, delta)


# ---- iterative database constructions and sparse queries -------------------------------------------------


def thm_3_3_idc(
    rows: float, bound: Callable[[float], float], queries: float, epsilon: float, delta: float, beta: float
) -> float:
    """[BR11] Thm 3.3: alpha of any construction that needs B(alpha) updates, with the theorem's 3000.

    The fixed point of alpha = 3000 sqrt(B(alpha)) ln(4/delta) ln(k/beta) / (eps n).

    Args:
        rows: n.
        bound: B, falling in alpha.
        queries: k.
        epsilon, delta: of the whole run, both below 1 in the theorem.
        beta: how often the bound may fail.

    >>> alpha = thm_3_3_idc(1e9, lambda a: 4 / a**2, 100, 0.5, 1e-6, 0.05)
    >>> round(alpha, 3)
    0.037
    """
    front = 3000.0 * log(4.0 / delta) * log(queries / beta) / (epsilon * rows)
    return least_above(lambda alpha: front * sqrt(bound(alpha)))


def sparse_variables(sparsity: float, alpha: float) -> int:
    """[BR11] Thm 3.5: s, the smallest integer with s / (ln s + 1) >= 4 m / alpha^2.

    >>> sparse_variables(1, 1.0)
    15
    """
    wanted = 4.0 * sparsity / (alpha * alpha)
    low, high = 1, 2
    while high / (log(high) + 1.0) < wanted:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if middle / (log(middle) + 1.0) >= wanted else (middle, high)
    return high if low / (log(low) + 1.0) < wanted else low


def thm_3_5(sparsity: float, alpha: float) -> float:
    """[BR11] Thm 3.5: B(alpha) = 4 (ln s + 1) / alpha^2, how often sparse multiplicative weights updates.

    >>> round(thm_3_5(1, 1.0), 1)
    14.8
    """
    return 4.0 * (log(sparse_variables(sparsity, alpha)) + 1.0) / (alpha * alpha)


def sparse_mw(
    rows: float, sparsity: float, queries: float, epsilon: float, delta: float, beta: float
) -> float:
    """[BR11] Thm 3.3 with Thm 3.5's B: what Thm 3.8 is before its O(.), with the 3000.

    >>> sparse_mw(1e9, 10, 100, 0.5, 1e-6, 0.05) < sparse_mw(1e9, 1000, 100, 0.5, 1e-6, 0.05)
    True
    """
    return thm_3_3_idc(rows, lambda a: thm_3_5(sparsity, max(a, 1e-4)), queries, epsilon, delta, beta)


def thm_3_8(rows: float, sparsity: float, queries: float, epsilon: float, delta: float, beta: float) -> float:
    """[BR11] Thm 3.8: alpha of sparse multiplicative weights for k m-sparse queries, order of.

    >>> 0 < thm_3_8(1e6, 100, 1000, 1.0, 1e-6, 0.05) < 1
    True
    """
    return float(
        log(max(sparsity, 2.0)) ** 0.25 * sqrt(log(4.0 / delta) * log(queries / beta)) / sqrt(epsilon * rows)
    )


def cor_3_11_rows(
    attributes: float, fewer: float, alpha: float, epsilon: float, delta: float, beta: float
) -> float:
    """[BR11] Cor. 3.11: rows for all conjunctions of d - k of d literals, k^1.5 ln(1/delta) ln(d/beta) /
    (eps alpha^2); order of (the source writes no constant where Thm 3.8 has an O).

    >>> round(cor_3_11_rows(20, 2, 0.1, 1.0, 1e-6, 0.05))
    23412
    """
    return float(fewer**1.5 * log(1.0 / delta) * log(attributes / beta) / (epsilon * alpha * alpha))


# ---- SparseProject ---------------------------------------------------------------------------------------


def sparse_project_size(rows: float, sparsity: float, queries: float, beta: float) -> int:
    """[BR11] Alg. 2: T = 4 64^2 ln(4k/beta) / varsigma^2 at varsigma = 2 sqrt(m) / (m + n^2).

    The box multiplies out (m + n^2)^2 / (4 m) and is 2 sqrt(m) times that, which is never too few.

    >>> sparse_project_size(2, 1, 1, 0.5)
    425870
    """
    m, n = sparsity, rows
    t: float = 4 * 64**2 * log(4.0 * queries / beta) * (m**1.5 / 2 + n**4 / (2 * sqrt(m)) + sqrt(m) * n**2)
    return ceil(t)


def thm_4_9_sparse(
    rows: float,
    sparsity: float,
    queries: float,
    epsilon: float,
    delta: float,
    beta: float,
    *,
    size: float | None = None,
    sensitivity: float = 1.0,
) -> float:
    """[BR11] Thm 4.9 before its O-tilde, in rows: k m-sparse queries at once, except with probability beta.

    sqrt(m) + 16 sqrt 3 / eps sqrt(m ln(4k/beta) ln(1/delta) (ln(2k/beta) + ln T)).

    Args:
        rows: n.
        sparsity: m.
        queries: k.
        epsilon, delta: both below 1 in the theorem.
        beta: how often the bound may fail.
        size: T; the paper's if None.
        sensitivity: of one coordinate's count: 1, twice that under `replace`, times the rows of a unit.

    >>> 1000 < thm_4_9_sparse(1000, 10, 100, 0.9, 1e-6, 0.05) < 8000
    True
    """
    t = sparse_project_size(rows, sparsity, queries, beta) if size is None else size
    logs = log(4.0 * queries / beta) * log(1.0 / delta) * (log(2.0 * queries / beta) + log(t))
    return sqrt(sparsity) + sensitivity * 16.0 * sqrt(3.0) / epsilon * sqrt(sparsity * logs)


def thm_4_9_sparse_rows(
    alpha: float, sparsity: float, queries: float, epsilon: float, delta: float, beta: float
) -> float:
    """[BR11] Thm 4.9 the other way: the rows at which the paper's SparseProject is within alpha of them."""
    return rows_needed(lambda n: thm_4_9_sparse(n, sparsity, queries, epsilon, delta, beta) / n, alpha)


def cor_4_12(rows: float, attributes: float, epsilon: float, delta: float, beta: float) -> float:
    """[BR11] Cor. 4.12: alpha of SparseProject for all conjunctions on d - log n of d literals, order of.

    >>> cor_4_12(1e8, 40, 0.9, 1e-6, 0.05) < cor_4_12(1e6, 40, 0.9, 1e-6, 0.05)
    True
    """
    logs = log(rows) * log(attributes) + log(1.0 / beta)
    return logs * sqrt(log(1.0 / delta)) / (epsilon * sqrt(rows))
