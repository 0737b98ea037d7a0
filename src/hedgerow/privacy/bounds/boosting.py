"""Bounds of boosting for queries, and the composition theorem it stands on [DRV10]."""

from __future__ import annotations

from math import expm1, log, sqrt


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
