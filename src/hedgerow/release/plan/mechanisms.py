"""The mechanisms that a plan looks at: when each applies, when it is tried, what it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from hedgerow.curator.rows.table import CELL_LIMIT
from hedgerow.errors import HedgerowError
from hedgerow.privacy import bounds
from hedgerow.queries.workload import ANSWER_LIMIT
from hedgerow.release.plan import estimate as plan_estimate
from hedgerow.release.plan.simulate import refusal
from hedgerow.release.plan.table import number
from hedgerow.release.plan.task import Task

_HISTOGRAM, _DENSE, _PROJECTION = 1 << 27, 1 << 27, 1 << 24  # cells that mechanisms hold at most
_TRIED = 1 << 17  # cells up to which mechanisms that hold every cell are simulated
_PROGRAM = 1 << 20  # entries of a linear program up to which boosting is simulated


@dataclass(frozen=True)
class Entry:
    """A mechanism that a plan looks at.

    Args:
        name, home: the class and its module.
        kind: `offline` or `online`.
        refuses: why it cannot be used for a task, or None.
        skips: why it is not simulated here, or None.
        cost: seconds and megabytes from public numbers.
    """

    name: str
    home: str
    kind: Literal["offline", "online"] = "offline"
    refuses: Callable[[Task], str | None] = lambda task: None
    skips: Callable[[Task], str | None] = lambda task: None
    cost: Callable[[Task], tuple[float, float]] = plan_estimate.cost_of_counting


def _needs_delta(task: Task) -> str | None:
    return "it needs a budget with a delta above 0" if task.pure else None


def _cells(limit: int) -> Callable[[Task], str | None]:
    def refuses(task: Task) -> str | None:
        size = task.finite.size
        return f"the domain has {number(float(size))} cells, more than {limit:,}" if size > limit else None

    return refuses


def _first(*reasons: Callable[[Task], str | None]) -> Callable[[Task], str | None]:
    return lambda task: next((why for r in reasons if (why := r(task)) is not None), None)


def _needs_replace(task: Task) -> str | None:
    if task.privacy.neighbours == "replace":
        return None
    return "it publishes the number of units, which only neighbours 'replace' allows"


def _needs_attributes(task: Task) -> str | None:
    return None if any(task.asked.cliques) else "it needs questions about at least one attribute"


def _needs_counting(task: Task) -> str | None:
    return None if task.counting else "it is for queries that count rows"


def _small_range(task: Task) -> str | None:
    """SmallDB's own refusal, at the smallest range it would use."""
    from hedgerow.curator.statistics.small_range import SmallRange
    from hedgerow.mechanisms.small_db import LARGEST

    if task.finite.size * len(task.asked) > 1 << 24:
        return f"it lists small databases, too many with {number(float(task.finite.size))} cells"
    try:
        known = SmallRange(task.asked, 1, 1).incidence(task.finite)
        SmallRange(task.asked, bounds.small_db_size(known.queries, LARGEST), 1).check(task.finite)
    except HedgerowError as error:
        return refusal(error)
    return None


def _program(limit: int) -> Callable[[Task], str | None]:
    def refuses(task: Task) -> str | None:
        entries = task.finite.size * len(task.asked)
        if entries <= limit:
            return None
        return f"its linear program would have {number(float(entries))} entries, more than {limit:,}"

    return refuses


def _too_many_cells(task: Task) -> str | None:
    size = task.finite.size
    return f"{size:,} cells would take too long to try" if size > _TRIED else None


def _dense_cost(task: Task) -> tuple[float, float]:
    return plan_estimate.cost_of_cells(task, passes=100.0 + len(task.asked.cliques))


def _uncounted(task: Task) -> str | None:
    """The curator's own refusal: no table of more cells is counted."""
    widest = max(map(task.finite.cells, task.asked.cliques))
    if task.asked.is_tables and widest > CELL_LIMIT:
        return f"a table of the workload has {number(float(widest))} cells, more than {CELL_LIMIT:,}"
    if len(task.asked) > ANSWER_LIMIT:
        return f"the workload has {number(float(len(task.asked)))} answers, more than {ANSWER_LIMIT:,}"
    return None


_B = "hedgerow.mechanisms.baselines"
_M = "hedgerow.mechanisms."

SCHEMA = (
    Entry("GaussianBaseline", _B, refuses=_first(_needs_delta, _uncounted)),
    Entry("LaplaceBaseline", _B, refuses=_uncounted),
    Entry("HistogramRelease", _B, refuses=_cells(_HISTOGRAM), cost=plan_estimate.cost_of_cells),
    Entry("RandomizedResponse", _B, refuses=_needs_replace),
    Entry("Factorization", _M + "factorization.factorization", refuses=_first(_needs_delta, _uncounted)),
    Entry(
        "AdaptiveRelease",
        _M + "adaptive.adaptive",
        refuses=_needs_attributes,
        cost=lambda task: (3.0 + 3e-8 * task.rows * len(task.finite), 320.0),
    ),
    Entry(
        "Projection",
        _M + "projection",
        refuses=_first(_needs_delta, _cells(_PROJECTION)),
        skips=_too_many_cells,
        cost=_dense_cost,
    ),
    Entry(
        "OfflineMW",
        _M + "offline_mw.offline_mw",
        refuses=_first(_needs_attributes, _cells(_DENSE)),
        skips=_too_many_cells,
        cost=_dense_cost,
    ),
    Entry("SmallDB", _M + "small_db", refuses=_first(_needs_counting, _small_range)),
    Entry(
        "BoostQueries",
        _M + "boost_queries.boost_queries",
        refuses=_first(_needs_delta, _program(1 << 24)),
        skips=_program(_PROGRAM),
    ),
    Entry("Session", _M + "session.session", "online", cost=lambda task: (5.0, 400.0)),
    Entry(
        "OnlineMW",
        _M + "online.online_mw",
        "online",
        refuses=_cells(_DENSE),
        skips=_too_many_cells,
        cost=_dense_cost,
    ),
)


def _sketch_cost(task: Task) -> tuple[float, float]:
    """Eight entries per name: about 2 us a row, and the vector."""
    return 0.1 + 2e-6 * task.rows, 60.0 + 100.0 * task.rows / 1e6


NAMES = (
    Entry("SparseProject", _M + "sparse_project", refuses=_needs_delta, cost=_sketch_cost),
    Entry("SparseMW", _M + "online.sparse_mw", "online", refuses=lambda task: None, cost=_sketch_cost),
)
