"""The lecture's table: which mechanism's theorem promises most, for which numbers of queries, rows, cells."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any

from hedgerow.privacy import bounds
from hedgerow.privacy.calibration import rho_of


def winners(
    rows: Sequence[int] = (10**4, 10**6, 10**8),
    queries: Sequence[int] = (10, 10**3, 10**6, 10**12),
    universes: Sequence[int] = (10**2, 10**6, 10**18),
    epsilon: float = 1.0,
    delta: float = 1e-9,
    beta: float = 0.05,
    dimension: int | None = None,
) -> list[dict[str, Any]]:
    """Which mechanism's theorem promises least error for all of k arbitrary counting queries [W3].

    Args:
        rows, queries, universes: the grid of n, k and |X|.
        epsilon, delta: what may be spent; delta 0 for pure mechanisms only.
        beta: how often a bound may fail.
        dimension: the VC dimension of the class, where it is known: SmallDB's range is then that of [DR14]
            Thm 4.8 where it is smaller, which it is for more than e^48 queries only.

    Returns:
        One dict per point: `rows`, `queries`, `universe`, `winner` ("none" if all are vacuous), `bound` (the
        least, a fraction of the rows) and `bounds` of all.

    >>> winners([10**6], [10], [10**4])[0]["winner"]
    'Laplace'
    """
    return [
        _winner(n, k, x, epsilon, delta, beta, dimension) for x in universes for k in queries for n in rows
    ]


def _winner(
    n: int, k: int, x: int, epsilon: float, delta: float, beta: float, dimension: int | None
) -> dict[str, Any]:
    found = {
        "Laplace": bounds.laplace_union(k, k / epsilon, beta) / n,
        "randomised response": bounds.response_union(k, n, x, epsilon, beta) / n,
        "histogram (order of)": bounds.histogram_union(k, x, 1.0 / epsilon, beta, laplace=True) / n,
        "SmallDB": bounds.thm_4_5(n, x, max(k, 2), epsilon, beta),
        "OnlineMW": 3.0 * bounds.thm_4_14(n, x, k, epsilon, beta),
    }
    if dimension is not None:
        small = bounds.prop_4_4_best(n, x, k, epsilon, beta, dimension)
        found["SmallDB"] = min(found["SmallDB"], small)
    if delta > 0.0:
        rho = float(rho_of(epsilon, delta))
        sigma = (k / (2.0 * rho)) ** 0.5
        found["Gaussian"] = bounds.gaussian_union(k, sigma, beta) / n
        del found["histogram (order of)"]  # Gaussian noise has constants
        found["histogram"] = bounds.histogram_union(k, x, (0.5 / rho) ** 0.5, beta, laplace=False) / n
        found["OnlineMW"] = min(found["OnlineMW"], 3.0 * bounds.thm_4_15(n, x, k, epsilon, delta, beta))
        found["boosting (order of)"] = bounds.thm_5_5(n, x, max(k, 2), epsilon, log(1.0 / delta))
    name = min(found, key=lambda m: found[m])
    least = found[name]
    return {
        "rows": n,
        "queries": k,
        "universe": x,
        "winner": name if least < 1.0 else "none",
        "bound": least,
        "bounds": found,
    }
