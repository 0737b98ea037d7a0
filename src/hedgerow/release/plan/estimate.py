"""Errors that follow from public numbers: the noise that a budget buys, summed as each mechanism sums it."""

from __future__ import annotations

from fractions import Fraction
from math import inf, prod, sqrt
from typing import TYPE_CHECKING

from hedgerow.errors import HedgerowError
from hedgerow.mechanisms.factorization import matrix as factorization_matrix
from hedgerow.mechanisms.factorization import plan as factorization_plan
from hedgerow.mechanisms.sparse_project import ASIDE, SparseProject
from hedgerow.privacy.budget import Cost, gaussian_sigma, laplace_scale
from hedgerow.queries.block import Axis, Block, ProductBlock
from hedgerow.queries.measurement import Noise
from hedgerow.queries.query import ONE, Norms

if TYPE_CHECKING:
    from hedgerow.release.plan.task import Task


def law(task: Task, norms: Norms, denominator: int, price: Cost, *, laplace: bool) -> Noise:
    """The noise that a price buys, as the curator calibrates it."""
    sensitivity = task.privacy.sensitivity(norms)
    if laplace:
        return Noise("laplace", laplace_scale(sensitivity.l1, price), denominator)
    return Noise("gaussian", gaussian_sigma(sensitivity.l2_squared, price), denominator)


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


def histogram(task: Task) -> float:
    """The root mean square error of HistogramRelease: every query sums the noise of its cells."""
    noise = law(task, Norms.table(), 1, task.price, laplace=task.pure)
    cells = sum(histogram_cells(task, b) * len(b) for b in task.asked.blocks) / len(task.asked)
    return sqrt(noise.variance * cells)


def histogram_cells(task: Task, block: Block) -> float:
    """The mean, over a block's queries, of the sum of squared weights over all cells of the domain."""
    beside = task.finite.size / task.finite.cells(block.attributes)
    if isinstance(block, ProductBlock):
        return beside * prod(_levels(axis) for axis in block.axes)
    squares = [float(((block.query(i).weights / ONE) ** 2).sum()) for i in range(len(block))]
    return beside * sum(squares) / len(squares)


def widest_query(task: Task) -> float:
    """The most cells of the domain that a query of the workload sums."""
    return max(
        task.finite.size
        / task.finite.cells(b.attributes)
        * (prod(_most(x) for x in b.axes) if isinstance(b, ProductBlock) else task.finite.cells(b.attributes))
        for b in task.asked.blocks
    )


def _levels(axis: Axis) -> float:
    """How many levels a question about one attribute counts, on average."""
    n = axis.levels
    if axis.kind == "prefixes":
        return (n + 1) / 2
    if axis.kind == "ranges":
        return (n + 2) / 3
    return n / 2 if axis.kind == "literals" and n > 2 else 1.0


def _most(axis: Axis) -> int:
    """The most levels that a question about one attribute counts."""
    n = axis.levels
    return n if axis.kind in ("prefixes", "ranges") else max(n - 1, 1) if axis.kind == "literals" else 1


def factorization(task: Task) -> float:
    """The root mean square error of Factorization, from the strategy it would choose."""
    asked, ones = task.asked, [1.0] * len(task.asked.blocks)
    blocks = [b for b in asked.blocks if isinstance(b, ProductBlock)]
    if len(blocks) < len(asked.blocks):
        variance = factorization_matrix.plan(task.finite, asked, ones, task.privacy).variance
    else:
        made = factorization_plan.plan(
            task.finite, blocks, ones, task.privacy, total_is_public=task.total_is_public
        )
        plain = factorization_plan.plain_variance(blocks, ones, task.privacy)
        if made.variance >= plain:
            return independent_noise(task, laplace=False)
        variance = made.variance
    return sqrt(variance / (2.0 * task.amount) / len(asked))


def sparse_project(task: Task) -> float:
    """The root mean square error of SparseProject for queries of m names: noise and distortion."""
    known = task.total_is_public
    rest = task.price.share(1 - (ASIDE[0] if known else sum(ASIDE)))
    each = float(task.privacy.sensitivity(Norms.signed(1, 1)).l2_squared) / (2.0 * float(rest.amount))
    spread = 1.0 + SparseProject.distortion**2
    return sqrt(task.sparsity * each * spread)


CLOSED = {
    "LaplaceBaseline": lambda task: independent_noise(task, laplace=True),
    "GaussianBaseline": lambda task: independent_noise(task, laplace=False),
    "HistogramRelease": histogram,
    "Factorization": factorization,
    "SparseProject": sparse_project,
}
"""Mechanisms whose error has a closed form."""


def closed(name: str, task: Task) -> float | None:
    """The closed form of a mechanism's error in rows; None where there is none, or it refuses."""
    if name not in CLOSED:
        return None
    try:
        found = CLOSED[name](task)
    except HedgerowError:
        return None
    return found if found < inf else None


def cost_of_counting(task: Task) -> tuple[float, float]:
    """Seconds and megabytes of counting a workload's tables once and adding noise to every number.

    One pass takes about 3 ns per row and table, a noisy number 0.7 us and 40 bytes, a coded row 2 bytes per
    attribute.
    """
    asked = task.asked
    numbers = len(asked) if asked.is_tables else len(asked) + sum(map(task.finite.cells, asked.cliques))
    seconds = 0.05 + 3e-9 * task.rows * len(asked.cliques) + 7e-7 * numbers
    return seconds, 40.0 + (2.0 * task.rows * len(task.finite) + 40.0 * numbers) / 1e6


def cost_of_cells(task: Task, passes: float = 1.0) -> tuple[float, float]:
    """Seconds and megabytes of a mechanism that holds every cell of the domain and goes over all of them."""
    cells = float(task.finite.size)
    return 0.05 + 3e-9 * task.rows + passes * 1.5e-8 * cells, 40.0 + 40.0 * cells / 1e6
