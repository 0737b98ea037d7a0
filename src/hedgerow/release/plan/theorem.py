"""What each mechanism's accuracy theorem promises for a task, what it must be given, and the rows for more.

A promise is what the mechanism itself would state when it is run: noise, shares, limits and bounds are the
mechanism's own. Where it counts the rows with noise, the promise covers the count that it may get.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from math import ceil, exp, inf, log, prod, sqrt
from typing import TYPE_CHECKING, Any

from hedgerow.errors import HedgerowError, RangeTooLarge
from hedgerow.learning.projection.projection import converged
from hedgerow.mechanisms import small_db
from hedgerow.mechanisms.boost_queries import boost_queries
from hedgerow.mechanisms.boost_queries import plan as boost_plan
from hedgerow.mechanisms.offline_mw import offline_mw
from hedgerow.mechanisms.offline_mw.theorem import divided
from hedgerow.mechanisms.online.idc import TOTAL_SHARE
from hedgerow.mechanisms.projection import NEAR, Projection
from hedgerow.privacy import bounds
from hedgerow.privacy.budget import Cost, selection_epsilon
from hedgerow.queries.measurement import Noise
from hedgerow.queries.query import Norms
from hedgerow.queries.strategies.sketch_matrix import LARGEST
from hedgerow.release.plan import estimate as plan_estimate
from hedgerow.synopsis.dense import Guarantee
from hedgerow.synopsis.distribution import PUBLIC, Reach
from hedgerow.synopsis.small import small_bound

if TYPE_CHECKING:
    from hedgerow.release.plan.task import Task

_ALPHAS = [exp(-0.1 * j) for j in range(1, 100)]
_SHORT = 1.0 - 1e-6  # a sparse vector's epsilon is rounded down by far less on its way from the price
_BELOW_ONE = 0.999  # the largest epsilon of theorems that want one below 1
_STEPS = 8  # towards the rows at which a bound that grows like their root is a part of them


@dataclass(frozen=True)
class Said:
    """A bound in rows, and the parameters that the mechanism must be given to state it."""

    error: float
    parameters: dict[str, Any] = field(default_factory=dict)


Rule = Callable[[float], Said]


@dataclass(frozen=True)
class Promise:
    """A theorem's error as a fraction of the rows, if constants are hidden, and the rows it needs.

    Args:
        theorem: which one.
        fraction: the error; infinite where the theorem does not speak.
        order_of: whether constants are hidden: then nothing is promised.
        rows_needed: the rows at which the fraction is the task's `within`.
        parameters: what the mechanism must be given for it.
        refused: why the theorem's mechanism cannot be run here, or None.
    """

    theorem: str
    fraction: float
    order_of: bool
    rows_needed: float
    parameters: dict[str, Any]
    refused: str | None = None


def promise(name: str, task: Task) -> Promise | None:
    """What a mechanism's theorem says for a task; None where nothing is proved."""
    if name not in _RULES:
        return None
    theorem, hidden, make = _RULES[name]
    hidden = hidden or (name == "HistogramRelease" and task.pure)  # the lecture's O(.) for Laplace sums
    n = float(task.rows)
    try:
        rule = make(task)
        said = rule(n)
        needed = _needed(rule, said, task) if name == "BoostQueries" else _rows_needed(rule, task.within)
    except RangeTooLarge as error:
        return Promise(theorem, inf, hidden, inf, {}, str(error))
    except HedgerowError:
        return None
    return Promise(theorem, said.error / n, hidden, needed, said.parameters)


def _rows_needed(rule: Rule, within: float) -> float:
    def fraction(n: float) -> float:
        try:
            return rule(n).error / n
        except HedgerowError:  # only so many rows can be run
            return inf

    return bounds.rows_needed(fraction, within)


def _needed(rule: Rule, said: Said, task: Task) -> float:
    """The same by a few steps n -> error(n) / within, for a rule that takes its time."""
    n = said.error / task.within
    for _ in range(_STEPS):
        last, n = n, rule(n).error / task.within
        if n >= last * (1.0 - 1e-6):
            break
    return n


def _fixed(error: float) -> Rule:
    """The same error whatever the rows are."""
    return lambda n: Said(error)


def _count(task: Task, share: Fraction, beta: float) -> tuple[Cost, Noise | None, float]:
    """What is left when the rows are counted, by which law, and how far off that may be except with beta."""
    if task.total_is_public:
        return task.price, None, 0.0
    part = task.price.share(share)
    law = plan_estimate.law(task, Norms.query(1), 1, part, laplace=task.pure)
    return task.price - part, law, law.half_width(1.0 - beta)


# ---- noise -----------------------------------------------------------------------------------------------


def _independent(task: Task, *, laplace: bool) -> Rule:
    noise = plan_estimate.answer_law(task, laplace=laplace)
    return _fixed(noise.half_width(1.0 - task.beta, numbers=task.queries))


def _histogram(task: Task) -> Rule:
    noise = plan_estimate.law(task, Norms.table(), 1, task.price, laplace=task.pure)
    cells = plan_estimate.widest_query(task)
    if task.pure:
        return _fixed(
            bounds.histogram_union(task.queries, cells, float(noise.scale), task.beta, laplace=True)
        )
    return _fixed(noise.half_width(1.0 - task.beta, (sqrt(cells),), task.queries))


def _response(task: Task) -> Rule:
    """One report of the whole row, or the product of the attributes' reports."""
    epsilon = task.amount if task.pure else sqrt(2.0 * task.amount)
    epsilon /= task.privacy.max_rows
    if task.finite.size <= 256:
        return lambda n: Said(bounds.response_union(task.queries, n, task.finite.size, epsilon, task.beta))
    each = epsilon / len(task.finite)
    width = max(prod(1.0 + task.finite[a].size / (exp(each) - 1.0) for a in s) for s in task.asked.cliques)
    return lambda n: Said(width * sqrt(n * log(2.0 * task.queries / task.beta) / 2.0))


def _factorization(task: Task) -> Rule:
    sigma = plan_estimate.factorization(task)
    return _fixed(bounds.gaussian_union(task.queries, sigma, task.beta))


# ---- databases and distributions -------------------------------------------------------------------------


def _small_db(task: Task) -> Rule:
    """Prop. 4.4 at the alpha that the mechanism chooses among ranges it can visit."""
    left, law, off = _count(task, small_db.TOTAL, task.beta / 2.0)
    epsilon = selection_epsilon(left, bounded_range=True)

    def rule(n: float) -> Said:
        total = max(1, ceil(n + off))
        chosen = small_db.chosen(task.finite, task.asked, total, epsilon, task.row)
        return Said(small_bound(total, law, *chosen[1:], task.row, 1.0 - task.beta))

    return rule


def _offline_mw(task: Task) -> Rule:
    """Thm 12.6 with constants at its best alpha, as theorem mode divides the price, in rounds it can make."""
    left, law, off = _count(task, offline_mw.TOTAL, task.beta / 3.0)
    known = []
    for alpha in _ALPHAS:
        rounds = bounds.cor_12_5(task.finite.size, alpha)
        if rounds <= offline_mw.ROUNDS:
            choice, measurement = divided(left, rounds)
            epsilon = float(selection_epsilon(choice, bounded_range=True))
            d = task.asked.denominator
            noise = plan_estimate.law(task, Norms.query(d), d, measurement, laplace=True)
            known.append((alpha, rounds, epsilon, noise))

    row = task.row

    def at(n: float, alpha: float, rounds: int, epsilon: float, noise: Noise) -> float:
        few, many = (
            Guarantee(alpha, rounds, False, epsilon, row, (noise,), law, max(1.0, m), task.asked)
            for m in (n - off, n + off)
        )
        sure = 1.0 - task.beta
        return many.bound(sure) if few.bound(sure) < inf else inf

    def rule(n: float) -> Said:
        error, alpha = min((at(n, *one), one[0]) for one in known)
        return Said(error, {"alpha": alpha})

    return rule


def _projection(task: Task) -> Rule:
    """The root mean square over the workload, as near to the best as the optimiser is sure to come."""
    asked = task.asked
    left, law, off = _count(task, Fraction(repr(Projection.total_share)), task.beta / 2.0)
    noise = plan_estimate.law(task, asked.norms, asked.denominator, left, laplace=False)
    column = sqrt(asked.norms.l2_squared) / asked.denominator

    def rule(n: float) -> Said:
        left_over = converged(task.finite.size, Projection.steps) * (n + off) ** 2
        gap = max(NEAR * noise.variance, left_over)
        reach = Reach(len(asked), task.finite.size, column, noise, law or PUBLIC, gap)
        return Said(reach.bound(n + off, 1.0 - task.beta))

    return rule


def _boost(task: Task) -> Rule:
    """lambda + mu as the mechanism plans them."""
    price, _, slack = _count(task, boost_queries.TOTAL, task.beta * float(boost_queries.SURE))
    asked, beta = task.asked, task.beta * float(1 - boost_queries.SURE)

    def rule(n: float) -> Said:
        setting = boost_queries.setting_of(
            asked, task.privacy, len(asked), slack, n + slack, task.finite.size
        )
        return Said(boost_plan.plan(setting, price, beta).error / asked.denominator)

    return rule


# ---- question by question --------------------------------------------------------------------------------


def _idc(task: Task, updates: Callable[[float], float]) -> Rule:
    """3 alpha at the least alpha whose rows are there, see `bounds.idc_rows`; alpha is below 1/3."""
    left, law, off = _count(task, TOTAL_SHARE, float(TOTAL_SHARE) * task.beta)
    beta = task.beta * float(1 - TOTAL_SHARE) if law is not None else task.beta
    amount = float(left.amount) * _SHORT

    def needed(alpha: float) -> float:
        c = updates(alpha)
        epsilon = amount if task.pure else c * sqrt(162.0 * amount / (65.0 * c))  # NumericSparse in rho
        given = {"sensitivity": task.row, "total_off": off}
        return alpha * bounds.idc_rows(alpha, c, task.queries, epsilon, 0.0, beta, **given)

    def rule(n: float) -> Said:
        if n <= off:
            return Said(inf)
        alpha = bounds.least_above(lambda a: needed(a) / (n - off), high=1.0)
        if alpha >= 1.0 / 3.0:
            return Said(inf)
        return Said(3.0 * alpha * (n + off), {"alpha": alpha, "queries": task.queries})

    return rule


def _online_mw(task: Task) -> Rule:
    return _idc(task, partial(bounds.online_mw_updates, task.finite.size))


def _sparse_mw(task: Task) -> Rule:
    rule = _idc(task, lambda alpha: ceil(bounds.thm_3_5(task.sparsity, max(alpha, 1e-5))))

    def named(n: float) -> Said:
        said = rule(n)
        return Said(said.error, said.parameters | {"sparsity": task.sparsity} if said.parameters else {})

    return named


def _sparse_project(task: Task) -> Rule:
    """Thm 4.9 at the paper's T, if a sketch of that size can be made."""
    epsilon, delta = min(task.budget.epsilon, _BELOW_ONE), task.budget.delta
    step = float(task.privacy.sensitivity(Norms.signed(1, 1)).l1)
    m, k = task.sparsity, task.queries

    def rule(n: float) -> Said:
        size = bounds.sparse_project_size(n, m, k, task.beta)
        if size > LARGEST:
            raise RangeTooLarge(f"the paper's T is {size:.1e} coordinates, more than {LARGEST:,}")
        error = bounds.thm_4_9_sparse(n, m, k, epsilon, delta, task.beta, sensitivity=step)
        given = {"epsilon": epsilon, "delta": delta, "sparsity": m, "queries": k, "rows": ceil(n)}
        return Said(error, {"mode": "theorem"} | given)

    return rule


_RULES: dict[str, tuple[str, bool, Callable[[Task], Rule]]] = {
    "LaplaceBaseline": ("[W3] Thm 3.8", False, partial(_independent, laplace=True)),
    "GaussianBaseline": ("[CKS20] Cor. 17", False, partial(_independent, laplace=False)),
    "HistogramRelease": ("[W3], [CKS20] Cor. 17", False, _histogram),
    "RandomizedResponse": ("[W3] Hoeffding", True, _response),
    "SmallDB": ("[DR14] Prop. 4.4", False, _small_db),
    "OfflineMW": ("[W12] Thm 12.6", False, _offline_mw),
    "Factorization": ("[CKS20] Cor. 17", True, _factorization),
    "Projection": ("[NTZ13], mean over queries", False, _projection),
    "BoostQueries": ("[DRV10] Thm 4.1", False, _boost),
    "OnlineMW": ("[DR14] Thm 4.14", False, _online_mw),
    "SparseMW": ("[BR11] Thm 3.5, [DR14] Thm 3.28", False, _sparse_mw),
    "SparseProject": ("[BR11] Thm 4.9", False, _sparse_project),
}
"""Theorem, whether constants are hidden, and the bound as a function of the rows."""
