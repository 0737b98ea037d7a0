"""Error bounds of independent noise, and what all bounds share: how many rows a promise needs."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, exp, expm1, inf, log, sqrt

_MOST = 1e30  # rows; no promise that needs more is worth a number


def rows_needed(bound: Callable[[float], float], alpha: float) -> float:
    """The least number of rows at which a bound that falls with the rows is at most alpha; infinite if none.

    Args:
        bound: rows -> the bound as a fraction of the rows.
        alpha: what it should come down to.

    >>> round(rows_needed(lambda n: 30.0 / n, 0.01))
    3000
    """
    low, high = 1.0, 1.0  # a table has a row, whatever a bound says of fewer
    while bound(high) > alpha:
        low, high = high, high * 2.0
        if high > _MOST:
            return inf
    while high - low > 1e-9 * high:
        middle = (low + high) / 2.0
        low, high = (middle, high) if bound(middle) > alpha else (low, middle)
    return high


def least_above(image: Callable[[float], float], high: float = 1e9) -> float:
    """The least x with x >= image(x), for a positive image that falls as x grows: x = image(x), by bisection.

    >>> round(least_above(lambda x: 8.0 / x**2), 6)
    2.0
    """
    low = 0.0
    if high < image(high):
        return inf
    while high - low > 1e-12 * high:
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        low, high = (low, middle) if middle >= image(middle) else (middle, high)
    return high


# ---- Laplace and Gaussian --------------------------------------------------------------------------------


def laplace_union(queries: float, scale: float, beta: float) -> float:
    """[W3] Thm 3.8 for the discrete law, in lattice steps: no one of k errors is larger, except with beta.

    P[|Z| >= t] = 2 e^(-t/b) / (1 + e^(-1/b)) for whole t; the bound is t - 1 at the first t with beta / k.

    Args:
        queries: k.
        scale: b.
        beta: how often the bound may fail.

    >>> laplace_union(1000, 10.0, 0.05)
    99.0
    """
    tail = log(2.0 * queries / (beta * (1.0 + exp(-1.0 / scale))))
    return max(0.0, ceil(scale * tail) - 1.0)


def gaussian_union(queries: float, sigma: float, beta: float) -> float:
    """[CKS20] Cor. 17 over k answers: the discrete Gaussian is subgaussian, sigma sqrt(2 ln(2k/beta)).

    >>> round(gaussian_union(1000, 10.0, 0.05), 1)
    46.0
    """
    return sigma * sqrt(2.0 * log(2.0 * queries / beta))


def histogram_union(queries: float, cells: float, scale: float, beta: float, *, laplace: bool) -> float:
    """[W3]: the noisy histogram's error over k queries of at most `cells` cells, in rows.

    Gaussian noise: the sum of `cells` subgaussians. Laplace noise: the lecture's sqrt(|X|) log(k/beta) / eps,
    order of.

    >>> histogram_union(1000, 400, 10.0, 0.05, laplace=False) == 20 * gaussian_union(1000, 10.0, 0.05)
    True
    """
    if laplace:
        return scale * sqrt(cells) * log(queries / beta)
    return gaussian_union(queries, scale * sqrt(cells), beta)


def response_union(queries: float, rows: float, levels: float, epsilon: float, beta: float) -> float:
    """[W3], Hoeffding: k-ary randomised response on whole rows, k queries at once, in rows.

    A report moves the unbiased estimate of a [0,1] query by at most 1/(p - q) = (e^eps + K - 1)/(e^eps - 1).

    >>> round(response_union(10, 10_000, 2, 1.0, 0.05))
    375
    """
    width = 1.0 + levels / expm1(epsilon)
    return width * sqrt(rows * log(2.0 * queries / beta) / 2.0)


def ntz_projection(
    rows: float, queries: float, universe: float, sigma: float, column: float, beta: float
) -> float:
    """[NTZ13] with constants: the root mean square error of a projection over k answers, in rows.

    Args:
        rows: n.
        queries: k.
        universe: |X|.
        sigma: of the noise on every answer, in rows.
        column: the largest norm of a row's weights over all queries.
        beta: how often the bound may fail.

    >>> ntz_projection(1e5, 1e4, 1e6, 100.0, 10.0, 0.05) < 350
    True
    """
    return sqrt(2.0 * rows * sigma * column * sqrt(2.0 * log(4.0 * universe / beta)) / queries)
