"""The steps and inverse forms of [BR11]'s bounds: random projections, sums of noise, rows for an error."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, exp, log, sqrt

from hedgerow.privacy.bounds.noise import rows_needed
from hedgerow.privacy.bounds.online import cor_4_12


def thm_3_3_idc_rows(
    alpha: float, bound: Callable[[float], float], queries: float, epsilon: float, delta: float, beta: float
) -> float:
    """[BR11] Thm 3.3 the other way: rows for an error of alpha by a construction of B(alpha) updates."""
    return 3000.0 * sqrt(bound(alpha)) * log(4.0 / delta) * log(queries / beta) / (epsilon * alpha)


def thm_3_8_rows(
    alpha: float, sparsity: float, queries: float, epsilon: float, delta: float, beta: float
) -> float:
    """[BR11] Thm 3.8 the other way: rows for an error of alpha, order of."""
    logs = log(4.0 / delta) * log(queries / beta)
    return sqrt(log(max(sparsity, 2.0))) * logs / (epsilon * alpha**2)


def cor_3_11(
    rows: float, attributes: float, fewer: float, epsilon: float, delta: float, beta: float
) -> float:
    """[BR11] Cor. 3.11 the other way: the error that so many rows allow, order of."""
    return float(sqrt(fewer**1.5 * log(1.0 / delta) * log(attributes / beta) / (epsilon * rows)))


def cor_4_2_size(distortion: float, tau: float) -> int:
    """[BR11] Thm 4.1, Cor. 4.2: so many random signs keep lengths and products, 4 64^2 ln(1/tau) / s^2.

    A length moves by at most `distortion` of itself except with probability tau, a product by distortion / 2
    times the sum of both squared lengths except with 2 tau; the signs are 2 ln(1/tau)-wise independent.

    >>> cor_4_2_size(0.25, 0.01)
    1207218
    """
    return ceil(4.0 * 64.0**2 * log(1.0 / tau) / distortion**2)


def lemma_4_6(sparsity: float, queries: float, size: float, independence: float, beta: float) -> float:
    """[BR11] Lemma 4.6: no coordinate of k projected m-sparse queries is larger, except with beta."""
    return float(
        (queries * size / (2.0 * beta)) ** (1.0 / independence) * 2.0 * sqrt(sparsity * independence / size)
    )


def cor_4_7(sparsity: float, queries: float, size: float, beta: float) -> float:
    """[BR11] Cor. 4.7: the same for signs that are more than ln(kT / 2 beta)-wise independent."""
    return 4.0 * sqrt(sparsity * log(queries * size / (2.0 * beta)) / size)


def lemma_4_8(alpha: float, size: float, scale: float) -> float:
    """[BR11] Lemma 4.8: how often a sum of T Laplace draws, each weighed in [-1, 1], passes alpha.

    >>> round(lemma_4_8(100.0, 100, 2.0), 4)
    0.0155
    """
    if alpha <= size * scale:
        return exp(-(alpha**2) / (6.0 * size * scale**2))
    return exp(-alpha / (6.0 * scale))


def cor_4_12_rows(alpha: float, attributes: float, epsilon: float, delta: float, beta: float) -> float:
    """[BR11] Cor. 4.12 the other way: rows for an error of alpha, order of.

    The bound rises with the first few rows (its ln n) before it falls: it is asked for from 8 rows on.
    """
    return rows_needed(lambda n: cor_4_12(max(n, 8.0), attributes, epsilon, delta, beta), alpha)
