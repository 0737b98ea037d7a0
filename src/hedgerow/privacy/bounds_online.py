"""Error bounds of mechanisms that answer question by question: OnlineMW, and sparse queries."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, log, sqrt

from hedgerow.privacy.bounds_noise import least_above, rows_needed

# ---- OnlineMW --------------------------------------------------------------------------------------------


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
    ln_x = log(universe)

    def image(alpha: float) -> float:
        terms = log(queries) + log(32.0 * ln_x / (alpha * alpha * beta))
        return sensitivity * 36.0 * ln_x * max(terms, 0.0) / (epsilon * alpha * alpha * rows)

    return least_above(image)


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

    The fixed point of alpha = (2 + 32 sqrt 2) sqrt(ln|X| ln(2/delta)) (ln k + ln(32 ln|X| / (alpha^2 beta)))
    / (alpha eps n).

    >>> thm_4_15(10**6, 1000, 100, 1.0, 1e-6, 0.05) < thm_4_14(10**6, 1000, 100, 1.0, 0.05)
    True
    """
    ln_x = log(universe)
    front = sensitivity * (2.0 + 32.0 * sqrt(2.0)) * sqrt(ln_x * log(2.0 / delta)) / (epsilon * rows)

    def image(alpha: float) -> float:
        terms = log(queries) + log(32.0 * ln_x / (alpha * alpha * beta))
        return front * max(terms, 0.0) / alpha

    return least_above(image)


def thm_4_14_rows(alpha: float, universe: float, queries: float, epsilon: float, beta: float) -> float:
    """[DR14] Thm 4.14 the other way: how many rows OnlineMW needs to answer within 3 alpha (delta = 0).

    >>> n = thm_4_14_rows(0.1, 1000, 100, 1.0, 0.05)
    >>> round(thm_4_14(n, 1000, 100, 1.0, 0.05), 9)
    0.1
    """
    terms = log(queries) + log(32.0 * log(universe) / (alpha * alpha * beta))
    return 36.0 * log(universe) * max(terms, 0.0) / (epsilon * alpha**3)


def thm_4_15_rows(
    alpha: float, universe: float, queries: float, epsilon: float, delta: float, beta: float
) -> float:
    """[DR14] Thm 4.15 the other way: how many rows OnlineMW needs to answer within 3 alpha (delta > 0)."""
    terms = log(queries) + log(32.0 * log(universe) / (alpha * alpha * beta))
    front = (2.0 + 32.0 * sqrt(2.0)) * sqrt(log(universe) * log(2.0 / delta))
    return front * max(terms, 0.0) / (epsilon * alpha * alpha)


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
