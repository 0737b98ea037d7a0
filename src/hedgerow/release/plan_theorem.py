"""What each mechanism's accuracy theorem promises for a task, and how many rows it would need for more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import exp, inf, isfinite, log, prod, sqrt
from typing import TYPE_CHECKING

from hedgerow.errors import HedgerowError
from hedgerow.mechanisms import boost_plan
from hedgerow.privacy import bounds
from hedgerow.queries.query import Norms
from hedgerow.release import plan_estimate

if TYPE_CHECKING:
    from hedgerow.release.plan_task import Task

Rule = Callable[[float], float]

_ALPHAS = [exp(-0.1 * j) for j in range(1, 100)]


@dataclass(frozen=True)
class Promise:
    """A theorem's error as a fraction of the rows, if constants are hidden, and the rows it needs."""

    theorem: str
    fraction: float
    order_of: bool
    rows_needed: float

    @property
    def vacuous(self) -> bool:
        """Whether it says nothing."""
        return not self.fraction < 1.0


def promise(name: str, task: Task) -> Promise | None:
    """What a mechanism's theorem says for a task; None where nothing is proved."""
    if name not in _RULES:
        return None
    theorem, hidden, make = _RULES[name]
    hidden = hidden or (name == "HistogramRelease" and task.pure)  # the lecture's O(.) for Laplace sums
    try:
        rule = make(task)
    except HedgerowError:
        return None
    return Promise(theorem, rule(float(task.rows)), hidden, bounds.rows_needed(rule, task.within))


def _of_rows(error: float) -> Rule:
    """The fraction that a fixed number of rows is."""
    return lambda n: error / n


def _laplace(task: Task) -> Rule:
    noise = plan_estimate.answer_law(task, laplace=True)
    steps = bounds.laplace_union(task.queries, float(noise.scale), task.beta)
    return _of_rows(steps / noise.denominator)


def _gaussian(task: Task) -> Rule:
    noise = plan_estimate.answer_law(task, laplace=False)
    return _of_rows(bounds.gaussian_union(task.queries, float(noise.scale) / noise.denominator, task.beta))


def _histogram(task: Task) -> Rule:
    noise = plan_estimate.law(task, Norms.table(), 1, task.price, laplace=task.pure)
    cells = plan_estimate.widest_query(task)
    scale = float(noise.scale)
    return _of_rows(bounds.histogram_union(task.queries, cells, scale, task.beta, laplace=task.pure))


def _response(task: Task) -> Rule:
    """One report of the whole row, or the product of the attributes' reports."""
    epsilon = task.amount if task.pure else sqrt(2.0 * task.amount)
    epsilon /= task.privacy.max_rows
    if task.finite.size <= 256:
        return lambda n: bounds.response_union(task.queries, n, task.finite.size, epsilon, task.beta) / n
    each = epsilon / len(task.finite)
    width = max(prod(1.0 + task.finite[a].size / (exp(each) - 1.0) for a in s) for s in task.asked.cliques)
    return lambda n: width * sqrt(log(2.0 * task.queries / task.beta) / (2.0 * n))


def _small_db(task: Task) -> Rule:
    k = max(task.queries, 2)
    return lambda n: bounds.thm_4_5(
        n / task.row, float(task.finite.size), k, task.selection_epsilon, task.beta
    )


def _offline_mw(task: Task) -> Rule:
    """Thm 12.6 with constants at its best alpha, as theorem mode divides the price."""
    universe, share = float(task.finite.size), 1.0 if task.total_is_public else 0.95

    def at(n: float, alpha: float) -> float:
        rounds = bounds.cor_12_5(universe, alpha)
        each = share * task.amount / rounds
        epsilon = each / 2.0 if task.pure else sqrt(8.0 * each / 5.0)
        beta = task.beta / 3.0
        chosen = bounds.selection_off(task.queries, epsilon, beta / rounds, task.row)
        measured = bounds.laplace_union(rounds, task.row / epsilon, beta)
        off = 0.0
        if not task.total_is_public:
            spent = 0.05 * task.amount
            scale = task.row / (spent if task.pure else sqrt(2.0 * spent))
            off = bounds.laplace_union(1, scale, beta)
        return bounds.thm_12_6(alpha, chosen, measured, off, n) / n

    return lambda n: min(at(n, alpha) for alpha in _ALPHAS)


def _online_mw(task: Task) -> Rule:
    """Answers are within 3 alpha."""
    universe, epsilon, delta = float(task.finite.size), task.budget.epsilon, task.budget.delta
    common = {"sensitivity": task.row}
    if task.pure:
        return lambda n: 3.0 * bounds.thm_4_14(n, universe, task.queries, epsilon, task.beta, **common)
    if not isfinite(epsilon):
        return lambda n: inf
    return lambda n: 3.0 * bounds.thm_4_15(n, universe, task.queries, epsilon, delta, task.beta, **common)


def _factorization(task: Task) -> Rule:
    sigma = plan_estimate.factorization(task)
    return _of_rows(bounds.gaussian_union(task.queries, sigma, task.beta))


def _projection(task: Task) -> Rule:
    asked = task.asked
    price = task.price if task.total_is_public else task.price.share(Fraction(19, 20))
    noise = plan_estimate.law(task, asked.norms, asked.denominator, price, laplace=False)
    sigma, column = sqrt(noise.variance), sqrt(asked.norms.l2_squared) / asked.denominator
    size = float(task.finite.size)
    return lambda n: bounds.ntz_projection(n, task.queries, size, sigma, column, task.beta) / n


def _boost(task: Task) -> Rule:
    """lambda + mu as the mechanism plans them: explicit, from the same public numbers."""
    asked, sensitivity = task.asked, task.privacy.sensitivity
    setting = boost_plan.Setting(
        distinct=len(asked),
        move=sensitivity(Norms.query(asked.denominator)).l1,
        l2_squared=sensitivity(asked.norms).l2_squared,
        denominator=asked.denominator,
    )
    price = task.price if task.total_is_public else task.price.share(Fraction(49, 50))
    made = boost_plan.plan(setting, price, task.beta * 0.95, samples=None, rounds=None, gap=None)
    return _of_rows(made.error / asked.denominator)


def _sparse_mw(task: Task) -> Rule:
    epsilon, delta = min(task.budget.epsilon, 1.0), task.budget.delta
    k = task.queries
    if not delta:  # the theorem is about delta above 0
        return lambda n: inf
    return lambda n: bounds.sparse_mw(n / task.row, task.sparsity, k, epsilon, delta, task.beta)


def _sparse_project(task: Task) -> Rule:
    epsilon, delta = min(task.budget.epsilon, 1.0), task.budget.delta
    if not delta:
        return lambda n: inf
    step = float(task.privacy.sensitivity(Norms.signed(1, 1)).l1)
    rule = partial(bounds.thm_4_9_sparse, sensitivity=step)
    return lambda n: rule(n, task.sparsity, task.queries, epsilon, delta, task.beta) / n


_RULES: dict[str, tuple[str, bool, Callable[[Task], Rule]]] = {
    "LaplaceBaseline": ("[W3] Thm 3.8", False, _laplace),
    "GaussianBaseline": ("[CKS20] Cor. 17", False, _gaussian),
    "HistogramRelease": ("[W3], [CKS20] Cor. 17", False, _histogram),
    "RandomizedResponse": ("[W3] Hoeffding", True, _response),
    "SmallDB": ("[DR14] Thm 4.5", False, _small_db),
    "OfflineMW": ("[W12] Thm 12.6", False, _offline_mw),
    "Factorization": ("[CKS20] Cor. 17", True, _factorization),
    "Projection": ("[NTZ13], mean over queries", False, _projection),
    "BoostQueries": ("[DRV10] Thm 4.1", False, _boost),
    "OnlineMW": ("[DR14] Thm 4.14, 4.15", False, _online_mw),
    "SparseMW": ("[BR11] Thm 3.3", False, _sparse_mw),
    "SparseProject": ("[BR11] Thm 4.9", False, _sparse_project),
}
"""Theorem, whether constants are hidden, and the bound as a function of the rows."""
