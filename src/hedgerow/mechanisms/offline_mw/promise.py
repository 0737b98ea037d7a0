"""What OfflineMW promises in theorem mode."""

from __future__ import annotations

from math import exp, inf
from typing import TYPE_CHECKING

from hedgerow.mechanisms.card import Rule, Stated
from hedgerow.mechanisms.estimate import counted, law
from hedgerow.mechanisms.offline_mw.offline_mw import ROUNDS
from hedgerow.mechanisms.offline_mw.theorem import TOTAL, divided
from hedgerow.privacy import bounds
from hedgerow.privacy.budget import selection_epsilon
from hedgerow.queries.query import Norms
from hedgerow.synopsis.dense import Guarantee

if TYPE_CHECKING:
    from hedgerow.mechanisms.task import Task
    from hedgerow.queries.measurement import Noise

_ALPHAS = [exp(-0.1 * j) for j in range(1, 100)]


def rule(task: Task) -> Rule:
    """Thm 12.6 with constants at its best alpha, as theorem mode divides the price, in rounds it can make."""
    left, total, off = counted(task, TOTAL, task.beta / 3.0)
    known = []
    for alpha in _ALPHAS:
        rounds = bounds.cor_12_5(task.finite.size, alpha)
        if rounds <= ROUNDS:
            choice, measurement = divided(left, rounds)
            epsilon = float(selection_epsilon(choice, bounded_range=True))
            d = task.asked.denominator
            noise = law(task, Norms.query(d), d, measurement, laplace=True)
            known.append((alpha, rounds, epsilon, noise))

    row = task.row

    def at(n: float, alpha: float, rounds: int, epsilon: float, noise: Noise) -> float:
        few, many = (
            Guarantee(alpha, rounds, False, epsilon, row, (noise,), total, max(1.0, m), task.asked)
            for m in (n - off, n + off)
        )
        sure = 1.0 - task.beta
        return many.bound(sure) if few.bound(sure) < inf else inf

    def best(n: float) -> Stated:
        error, alpha = min((at(n, *one), one[0]) for one in known)
        return Stated(error, {"alpha": alpha})

    return best
