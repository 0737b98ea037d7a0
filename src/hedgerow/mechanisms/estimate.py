"""Estimate: the noise that a task's budget buys, as the curator calibrates it."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING

from hedgerow.mechanisms.card import Rule, Stated
from hedgerow.privacy.budget import Cost, gaussian_sigma, laplace_scale
from hedgerow.queries.measurement import Noise
from hedgerow.queries.query import Norms

if TYPE_CHECKING:
    from hedgerow.mechanisms.task import Task


def law(task: Task, norms: Norms, denominator: int, price: Cost, *, laplace: bool) -> Noise:
    """The noise that a price buys."""
    sensitivity = task.privacy.sensitivity(norms)
    if laplace:
        return Noise("laplace", laplace_scale(sensitivity.l1, price), denominator)
    return Noise("gaussian", gaussian_sigma(sensitivity.l2_squared, price), denominator)


def counted(task: Task, share: Fraction, beta: float) -> tuple[Cost, Noise | None, float]:
    """What is left when the rows are counted, by which law, and how far off that may be except with beta."""
    if task.total_is_public:
        return task.price, None, 0.0
    part = task.price.share(share)
    noise = law(task, Norms.query(1), 1, part, laplace=task.pure)
    return task.price - part, noise, noise.half_width(1.0 - beta)


def whatever_the_rows(error: float) -> Rule:
    """The same error for any number of rows."""
    return lambda n: Stated(error)


def answer_law(task: Task, *, laplace: bool) -> Noise:
    """The noise of one number of the workload under independent noise: per table, or on all answers."""
    asked = task.asked
    if not asked.is_tables:
        return law(task, asked.norms, asked.denominator, task.price, laplace=laplace)
    price = task.price.share(Fraction(1, len(asked.cliques)))
    norms = Norms.table() if any(asked.cliques) else Norms.query(1)
    return law(task, norms, 1, price, laplace=laplace)


def independent_noise(task: Task, *, laplace: bool) -> float:
    """The root mean square error of LaplaceBaseline and GaussianBaseline, in rows.

    Tables that hold others' attributes answer for them too: Gaussian ones are averaged by precision, of
    Laplace ones the best answers.
    """
    noise, asked = answer_law(task, laplace=laplace), task.asked
    if not asked.is_tables or len({len(s) for s in asked.cliques}) == 1:
        return sqrt(noise.variance)
    sets = [(set(s), task.finite.cells(s)) for s in asked.cliques]
    variances = {}
    for s in asked.cliques:
        here = task.finite.cells(s)
        held = [cells / here for names, cells in sets if names.issuperset(s)]
        variances[s] = noise.variance * (min(held) if laplace else 1.0 / sum(1.0 / c for c in held))
    total = sum(variances[b.attributes] * len(b) for b in asked.blocks)
    return sqrt(total / len(asked))
