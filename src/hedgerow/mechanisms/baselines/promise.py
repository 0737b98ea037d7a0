"""What the baselines promise, and the error that their noise makes, from public numbers."""

from __future__ import annotations

from math import exp, log, prod, sqrt
from typing import TYPE_CHECKING

from hedgerow.mechanisms.card import Rule, Stated
from hedgerow.mechanisms.estimate import answer_law, law, whatever_the_rows
from hedgerow.privacy import bounds
from hedgerow.queries.block import Axis, Block, ProductBlock
from hedgerow.queries.query import ONE, Norms

if TYPE_CHECKING:
    from hedgerow.mechanisms.task import Task


# ---- independent noise -----------------------------------------------------------------------------------


def independent_rule(task: Task, *, laplace: bool) -> Rule:
    """The tail of the noise, for all answers at once."""
    noise = answer_law(task, laplace=laplace)
    return whatever_the_rows(noise.half_width(1.0 - task.beta, numbers=task.queries))


# ---- the histogram ---------------------------------------------------------------------------------------


def histogram_rule(task: Task) -> Rule:
    """The tail of a sum of as many cells as the widest query has."""
    noise = law(task, Norms.table(), 1, task.price, laplace=task.pure)
    cells = _widest_query(task)
    if task.pure:
        scale = float(noise.scale)
        return whatever_the_rows(bounds.histogram_union(task.queries, cells, scale, task.beta, laplace=True))
    return whatever_the_rows(noise.half_width(1.0 - task.beta, (sqrt(cells),), task.queries))


def histogram_error(task: Task) -> float:
    """The root mean square error of HistogramRelease: every query sums the noise of its cells."""
    noise = law(task, Norms.table(), 1, task.price, laplace=task.pure)
    cells = sum(_histogram_cells(task, b) * len(b) for b in task.asked.blocks) / len(task.asked)
    return sqrt(noise.variance * cells)


def _histogram_cells(task: Task, block: Block) -> float:
    """The mean, over a block's queries, of the sum of squared weights over all cells of the domain."""
    beside = task.finite.size / task.finite.cells(block.attributes)
    if isinstance(block, ProductBlock):
        return beside * prod(_levels(axis) for axis in block.axes)
    squares = [float(((block.query(i).weights / ONE) ** 2).sum()) for i in range(len(block))]
    return beside * sum(squares) / len(squares)


def _widest_query(task: Task) -> float:
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


# ---- randomised response ---------------------------------------------------------------------------------


def response_rule(task: Task) -> Rule:
    """One report of the whole row, or the product of the attributes' reports."""
    epsilon = task.amount if task.pure else sqrt(2.0 * task.amount)
    epsilon /= task.privacy.max_rows
    if task.finite.size <= 256:
        return lambda n: Stated(bounds.response_union(task.queries, n, task.finite.size, epsilon, task.beta))
    each = epsilon / len(task.finite)
    width = max(prod(1.0 + task.finite[a].size / (exp(each) - 1.0) for a in s) for s in task.asked.cliques)
    return lambda n: Stated(width * sqrt(n * log(2.0 * task.queries / task.beta) / 2.0))
