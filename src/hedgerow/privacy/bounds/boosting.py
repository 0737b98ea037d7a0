"""Bounds of boosting for queries and for people, and the composition theorem they stand on [DRV10]."""

from __future__ import annotations

from math import exp, expm1, log, sqrt

from hedgerow.privacy.bounds.noise import least_above


def thm_3_3(epsilon: float, delta: float, times: int, slack: float) -> tuple[float, float]:
    """[DRV10] Thm 3.3: k-fold adaptive composition of (eps, delta) is (eps', k delta + delta').

    eps' = sqrt(2 k ln(1/delta')) eps + k eps (e^eps - 1).

    Args:
        epsilon, delta: of one act.
        times: k.
        slack: delta'.

    >>> e, d = thm_3_3(0.1, 1e-9, 100, 1e-6)
    >>> round(e, 4), d < 1.2e-6
    (6.3082, True)
    """
    grown = sqrt(2.0 * times * log(1.0 / slack)) * epsilon + times * epsilon * expm1(epsilon)
    return grown, times * delta + slack


def thm_4_1(
    queries: float, samples: float, eta: float, kappa: float, epsilon: float, *, sensitivity: float = 1.0
) -> float:
    """[DRV10] Thm 4.1: mu, what boosting adds to the base generator's lambda, in rows; order of.

    ln^1.5 |Q| sqrt(k kappa) rho / (eps eta^2). The statement has eta^4, its proof eta^2: the end of the proof
    takes mu = T^1.5 sqrt(k kappa) alpha rho / eps, and T = ln|Q| / eta^2, alpha = 1/2 ln((1 + 2 eta) / (1 - 2
    eta)) of order eta make T^1.5 alpha = ln^1.5 |Q| / eta^2.

    Args:
        queries: |Q|.
        samples: k, the queries that the base generator sees.
        eta: its advantage over one half.
        kappa: it fails with probability e^-kappa.
        epsilon: what sampling the queries may cost.
        sensitivity: rho, of one query in rows.

    >>> thm_4_1(1000, 50, 0.3, 10, 1.0) == 2 * thm_4_1(1000, 50, 0.3, 10, 2.0)
    True
    """
    return float(log(queries) ** 1.5 * sqrt(samples * kappa) * sensitivity / (epsilon * eta**2))


def thm_4_1_rounds(queries: float, eta: float) -> float:
    """[DRV10] Thm 4.1: T = ln|Q| / eta^2 rounds, order of."""
    return log(queries) / (eta * eta)


def lemma_4_2(rounds: float, eta: float) -> float:
    """[DRV10] Lemma 4.2: all but e^(-eta^2 T) of the queries are answered well after T rounds."""
    return exp(-(eta**2) * rounds)


def claim_4_4(rounds: float, eta: float, mu: float, *, sensitivity: float = 1.0) -> float:
    """[DRV10] Claim 4.4: what one query drawn from the reweighted distribution may cost, 4 alpha T rho / mu.

    alpha = 1/2 ln((1 + 2 eta) / (1 - 2 eta)), the step of the figure.

    >>> round(claim_4_4(10, 0.25, 100.0), 4)
    0.2197
    """
    alpha = 0.5 * log((1.0 + 2.0 * eta) / (1.0 - 2.0 * eta))
    return 4.0 * alpha * rounds * sensitivity / mu


def lemma_5_1(bits: float, beta: float, eta: float) -> float:
    """[DRV10] Lemma 5.1: so many sampled queries that what fits them fits 1/2 + eta of all, a m.

    Args:
        bits: m, the length of a synopsis.
        beta: how often that may fail.
        eta: the advantage over one half.

    >>> round(lemma_5_1(10, 0.05, 1 / 3))
    78
    """
    return 2.0 * (log(1.0 / beta) + bits) / (1.0 - 2.0 * eta)


def thm_5_2(
    rows: float, universe: float, epsilon: float, kappa: float, *, sensitivity: float = 1.0
) -> tuple[float, float]:
    """[DRV10] Thm 5.2: the base generator for queries of sensitivity rho: k, and lambda in rows; order of.

    k = n ln|X| kappa sampled queries and lambda = sqrt(n ln|X|) rho kappa^1.5 / eps, for eta = 1/3.

    >>> k, error = thm_5_2(100, 8, 1.0, 4.0)
    >>> round(k), round(error)
    (832, 115)
    """
    bits = rows * log(universe)
    return bits * kappa, float(sqrt(bits) * sensitivity * kappa**1.5 / epsilon)


def thm_5_2_rows(
    alpha: float, universe: float, epsilon: float, kappa: float, *, sensitivity: float = 1.0
) -> float:
    """[DRV10] Thm 5.2 the other way: rows at which lambda is alpha of them; order of."""
    return float(log(universe) * (sensitivity * kappa**1.5 / (epsilon * alpha)) ** 2)


def thm_5_3(
    rows: float, universe: float, queries: float, epsilon: float, kappa: float
) -> tuple[float, float]:
    """[DRV10] Thm 5.3: the base generator for counting queries: k, and lambda as a fraction; order of.

    k = n ln|X| kappa / ln|Q| and lambda = (sqrt(ln|Q|) + sqrt(ln|X|) kappa^1.5) / (eps sqrt n); eta = 1/3.

    >>> k, error = thm_5_3(10_000, 8, 1000, 1.0, 4.0)
    >>> round(k), round(error, 3)
    (12041, 0.142)
    """
    samples = rows * log(universe) * kappa / log(queries)
    return samples, float((sqrt(log(queries)) + sqrt(log(universe)) * kappa**1.5) / (epsilon * sqrt(rows)))


def thm_5_3_rows(alpha: float, universe: float, queries: float, epsilon: float, kappa: float) -> float:
    """[DRV10] Thm 5.3 the other way: rows at which lambda is alpha; order of."""
    return float(((sqrt(log(queries)) + sqrt(log(universe)) * kappa**1.5) / (epsilon * alpha)) ** 2)


def thm_5_4(
    rows: float, universe: float, queries: float, epsilon: float, kappa: float, *, sensitivity: float = 1.0
) -> float:
    """[DRV10] Thm 5.4: boosting's error for any queries of sensitivity rho, in rows; order of.

    sqrt(n ln|X|) rho ln^1.5 |Q| kappa^1.5 / eps; delta and the failure probability are e^-kappa.

    >>> thm_5_4(400, 8, 100, 1.0, 5.0) == 2 * thm_5_4(100, 8, 100, 1.0, 5.0)
    True
    """
    logs = float(log(queries) ** 1.5 * kappa**1.5)
    return sqrt(rows * log(universe)) * sensitivity * logs / epsilon


def thm_5_4_rows(
    alpha: float, universe: float, queries: float, epsilon: float, kappa: float, *, sensitivity: float = 1.0
) -> float:
    """[DRV10] Thm 5.4 the other way: rows at which the error is alpha of them; order of."""
    logs = float(log(queries) ** 1.5 * kappa**1.5)
    return float(log(universe) * (sensitivity * logs / (epsilon * alpha)) ** 2)


def thm_5_5(rows: float, universe: float, queries: float, epsilon: float, kappa: float) -> float:
    """[DRV10] Thm 5.5: boosting's error for counting queries as a fraction of the rows; order of.

    sqrt(ln|X|) ln|Q| kappa^1.5 / (eps sqrt n).

    >>> thm_5_5(10**5, 1024, 1000, 1.0, 14.0) > 1
    True
    """
    return float(sqrt(log(universe)) * log(queries) * kappa**1.5 / (epsilon * sqrt(rows)))


def thm_5_5_rows(alpha: float, universe: float, queries: float, epsilon: float, kappa: float) -> float:
    """[DRV10] Thm 5.5 the other way: how many rows for an error of alpha; order of."""
    return float(log(universe) * (log(queries) * kappa**1.5 / (epsilon * alpha)) ** 2)


# ---- boosting for people ---------------------------------------------------------------------------------


def thm_6_1_rounds(eta: float, gamma: float) -> float:
    """[DRV10] Thm 6.1: T = ln(1/gamma) / eta^2 rounds of boosting for people, order of."""
    return log(1.0 / gamma) / eta**2


def thm_6_1_smoothness(samples: float, eta: float, gamma: float, epsilon: float, kappa: float) -> float:
    """[DRV10] Thm 6.1: l = T k + T kappa / eps*, of which no person has more than 1/l; order of."""
    return thm_6_1_rounds(eta, gamma) * (samples + kappa / epsilon)


def thm_6_1(samples: float, eta: float, gamma: float, epsilon: float, kappa: float) -> float:
    """[DRV10] Thm 6.1: the labelled rows at which boosting for people errs on at most gamma; order of.

    m = l ln(1/gamma) / (eta^2 gamma), l of `thm_6_1_smoothness`; it fails with probability T beta + e^-kappa.
    This is the theorem's second part. Its first, on privacy, is not offered: the printed proof does not hold
    (Lemma 6.5 for delta > 0, Lemma 6.6), and `BoostedClassifier` charges by another one.

    Args:
        samples: k, the rows that the base learner sees.
        eta: its advantage over one half.
        gamma: the part of the rows that may be wrong.
        epsilon: eps*, what smoothing and stopping may cost.
        kappa: smoothing fails with probability e^-kappa.

    >>> round(thm_6_1(100, 0.25, 0.1, 1.0, 10.0))
    1493015
    """
    smooth = thm_6_1_smoothness(samples, eta, gamma, epsilon, kappa)
    return smooth * log(1.0 / gamma) / (eta**2 * gamma)


def thm_6_1_gamma(rows: float, samples: float, eta: float, epsilon: float, kappa: float) -> float:
    """[DRV10] Thm 6.1 the other way: the part of the rows that may be wrong, order of; 1 if all may.

    >>> round(thm_6_1_gamma(1493015, 100, 0.25, 1.0, 10.0), 4)
    0.1
    """
    # gamma m(gamma) falls with gamma, so m(gamma) <= rows from one gamma on
    return least_above(lambda g: g * thm_6_1(samples, eta, g, epsilon, kappa) / rows, high=1.0)


def claim_6_3(eta: float) -> float:
    """[DRV10] Claim 6.3: the most that a round leaves of the error's bound, sqrt(1 - 4 eta^2)."""
    return sqrt(1.0 - 4.0 * eta**2)
