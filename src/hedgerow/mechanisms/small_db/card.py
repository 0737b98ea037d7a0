"""The card of SmallDB."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hedgerow.errors import HedgerowError
from hedgerow.mechanisms import needs
from hedgerow.mechanisms.card import Auditor, Card, Theorem, later
from hedgerow.mechanisms.cost import of_counting

if TYPE_CHECKING:
    from hedgerow.mechanisms.task import Task

_LISTED = 1 << 24  # cells times queries that are looked at
_TRIED = 0.5  # seconds that a plan takes for a run


def _range(task: Task) -> str | None:
    """Its own refusal, at the smallest range it would use."""
    from hedgerow.curator.statistics.small_range import SmallRange
    from hedgerow.mechanisms.small_db.small_db import LARGEST
    from hedgerow.privacy.bounds import small_db_size

    if task.finite.size * len(task.asked) > _LISTED:
        return f"it lists small databases, too many with {needs.large(task.finite.size)} cells"
    try:
        known = SmallRange(task.asked, 1, 1).incidence(task.finite)
        SmallRange(task.asked, small_db_size(known.queries, LARGEST), 1).check(task.finite)
    except HedgerowError as error:
        return str(error).rstrip(".")
    return None


def _cost(task: Task) -> tuple[float, float]:
    """Every small database is visited and asked every query: about 3 ns a query."""
    from hedgerow.curator.statistics.small_range import SmallRange, steps
    from hedgerow.mechanisms.small_db.small_db import LARGEST
    from hedgerow.privacy.bounds import small_db_size

    seconds, megabytes = of_counting(task)
    known = SmallRange(task.asked, 1, 1).incidence(task.finite)
    size = small_db_size(known.queries, LARGEST)
    return seconds + 3e-9 * known.queries * steps(len(known.member), size, task.finite.size), megabytes


def _quick(task: Task) -> str | None:
    seconds, _ = _cost(task)
    return None if seconds <= _TRIED else f"a run would take about {seconds:,.0f} s"


def _audit(auditor: Auditor) -> None:
    for delta in (0.0, auditor.delta):  # the total, then the choice
        ones, few = auditor.workload("ones"), auditor.pairs("few")
        auditor.several_acts(ones, worlds=few, delta=delta, alpha=0.9, named=True)


CARDS = (
    Card(
        name="SmallDB",
        home="hedgerow.mechanisms.small_db.small_db",
        kind="offline",
        words="a few rows chosen from all small databases",
        when="the textbook's existence proof, exactly, over tiny ranges",
        page="mechanisms/small-db.md",
        command="small-db",
        stated=False,
        whole=True,
        takes=frozenset({"run"}),
        needs=(needs.counting,),
        limits=(_range,),
        theorem=Theorem("[DR14] Prop. 4.4", later("small_db.promise:rule")),
        skips=(_quick,),
        cost=_cost,
        audits=_audit,
    ),
)
