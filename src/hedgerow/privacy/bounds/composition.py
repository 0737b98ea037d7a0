"""Bounds of composition beside [DRV10] Thm 3.3: the plain one, the inverse forms, the step in its proof."""

from __future__ import annotations

from math import expm1, log, sqrt

from hedgerow.privacy.bounds.boosting import thm_3_3


def thm_3_1(epsilon: float, delta: float, times: int) -> tuple[float, float]:
    """[DRV10] Thm 3.1: epsilons and deltas add up under adaptive composition.

    >>> thm_3_1(0.5, 1e-9, 4)
    (2.0, 4e-09)
    """
    return times * epsilon, times * delta


def lemma_3_2(epsilon: float) -> float:
    """[DRV10] Lemma 3.2: a loss of at most epsilon is one of at most epsilon (e^epsilon - 1) on average."""
    return epsilon * expm1(epsilon)


def thm_3_3_epsilon(total: float, times: int, slack: float) -> float:
    """[DRV10] Thm 3.3 the other way: what each of k acts may cost for `total` in all.

    >>> each = thm_3_3_epsilon(1.0, 100, 1e-6)
    >>> round(thm_3_3(each, 0.0, 100, 1e-6)[0], 9)
    1.0
    """
    low, high = 0.0, total
    while high - low > 1e-14 * total:
        middle = (low + high) / 2.0
        low, high = (middle, high) if thm_3_3(middle, 0.0, times, slack)[0] <= total else (low, middle)
    return low


def thm_2_10(epsilon: float, delta: float, times: int) -> float:
    """[BR11] Thm 2.10: eps / sqrt(8 T ln(1/delta)), what each of T acts may cost for (eps, delta) below 1.

    >>> thm_2_10(0.5, 1e-6, 100) < thm_3_3_epsilon(0.5, 100, 1e-6)
    True
    """
    return epsilon / sqrt(8.0 * times * log(1.0 / delta))
