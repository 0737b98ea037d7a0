"""Choice: which mechanism a plan recommends, and why, in a line; `auto` is this and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hedgerow.homes import HOMES
from hedgerow.mechanisms import cards
from hedgerow.queries.block import ProductBlock
from hedgerow.release.plan.table import number

if TYPE_CHECKING:
    from hedgerow.mechanisms.task import Task
    from hedgerow.release.plan.table import Prediction

CLOSE = 1.10
"""Errors within a tenth are the same to a planner."""

_WORTH_IT = 1.25  # what answering other questions too, and drawing rows, may cost
_SEVERAL = 3  # so many tables of two or more attributes are asked for by somebody who will ask for others


def worth(row: Prediction) -> float:
    """What rows are sorted by: the error, where it is known."""
    return float("inf") if row.error is None else row.error


def chosen(task: Task, rows: Sequence[Prediction]) -> Prediction | None:
    """The least error; among equals the one whose error is known beforehand, the simplest first.

    For several tables, one that answers all other questions too, if that costs little. Only mechanisms of
    this house whose stated errors are sharp: the rest, and those of other packages, are used when named.
    """
    known = _candidates(rows)
    if not known:
        return None
    least = min(map(worth, known))
    if _several(task):
        whole = [r for r in known if cards.own(r.mechanism).whole and worth(r) <= _WORTH_IT * least]
        if whole:
            return min(whole, key=lambda r: (worth(r) > CLOSE * min(map(worth, whole)), *_simplicity(r)))
    return min((r for r in known if worth(r) <= CLOSE * least), key=_simplicity)


def _candidates(rows: Sequence[Prediction]) -> list[Prediction]:
    """Those that may be recommended."""
    known = [r for r in rows if r.kind == "offline" and r.refused is None and r.low is not None]
    return [r for r in known if r.mechanism in HOMES and cards.own(r.mechanism).stated]


def _simplicity(row: Prediction) -> tuple[bool, int]:
    return row.how != "closed form", list(HOMES).index(row.mechanism)


def _several(task: Task) -> bool:
    """Whether the workload is of several whole tables, or questions as many as their cells."""
    if task.workload is None:
        return False
    joint = [b for b in task.asked.blocks if len(b.attributes) > 1]
    return all(isinstance(b, ProductBlock) for b in joint) and len({b.attributes for b in joint}) >= _SEVERAL


def why(task: Task, best: Prediction, rows: Sequence[Prediction]) -> str:
    """Why the chosen one, as the second half of a line."""
    others = [r for r in _candidates(rows) if r.mechanism != best.mechanism]
    if best.error is None or not others:
        return "the only one that suits the question and the budget"
    least = min(others, key=worth)
    ratio = worth(least) / best.error if best.error else float(worth(least) <= 0.0) or float("inf")
    about = f"about {number(best.error)} rows off"
    if ratio > CLOSE:
        return f"{about}, where {least.mechanism}, the next, would be {number(worth(least))}"
    if _several(task) and cards.own(best.mechanism).whole and not cards.own(least.mechanism).whole:
        beside = "as good as" if ratio >= 1 / CLOSE else "not far behind"
        than = f"{beside} {least.mechanism} ({number(worth(least))})"
        return f"{about}, {than}, and it answers all other questions too"
    if best.how == "closed form":
        return f"{about}, which is known beforehand; {least.mechanism} ({number(worth(least))}) is as good"
    return f"{about}; {least.mechanism} ({number(worth(least))}) is as good"
