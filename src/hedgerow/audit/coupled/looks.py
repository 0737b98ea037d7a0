"""Looks of an adaptive release: its orders of acts that small tables never reach, and mistakes in a look.

Whether a look is worth it follows from public and released values, and with the few rows of a replay it never
is. So here it always is: what is decided is another public rule, and the acts are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np

from hedgerow.audit.coupled.renormed import Renormed
from hedgerow.audit.coupled.tape import Replaying
from hedgerow.curator.statistics.distances import TableDistances
from hedgerow.queries.domain.bins import bins
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.query import Norms
from hedgerow.queries.strategies.coarse import GroupBlock

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.curator import Curator

FOUR = Domain({"a": 2, "b": 3, "c": 2, "d": 2})
LONG = Domain({"a": 2, "n": bins(0, 16, 1, step=1), "b": 2})
"""A number of so many levels that its pairs are measured in runs of them."""
_TABLES = (("a",), ("b",))
_AT_HOME = "hedgerow.mechanisms.adaptive"
_DEEPER = {"deeper.BLIND": 1e9, "deeper.WON": 1e9, "deeper.FAR": 0.0}
_PAIRS = {"look.BLIND": 1e9, "run.CLEAR": 0.0, "run.KNOWN": 1e9, "everything.PAIRS_LIMIT": 1e9}
_PAIRS["everything.LIMITS"] = {2: 1e9, 3: 0.0}  # type: ignore[assignment]


@contextmanager
def _ruled(rules: Mapping[str, Any]) -> Iterator[None]:
    with ExitStack() as held:
        for name, value in rules.items():
            held.enter_context(patch(f"{_AT_HOME}.{name}", value))
        yield


def deeper(curator: Curator) -> Any:
    """Pairs, a look at triples, those that stand out, another look, the rest, a look at larger tables."""
    return _released(curator, _DEEPER)


def pairs_inside(curator: Curator) -> Any:
    """A look at pairs, then the pairs inside triples."""
    return _released(curator, _PAIRS, cells=1)


def _in_runs(curator: Curator) -> Any:
    """One-way tables, pairs of a number in runs of its levels, residuals."""
    from hedgerow.mechanisms.adaptive.adaptive import AdaptiveRelease
    from hedgerow.queries.workload import marginals

    return AdaptiveRelease().release(curator, marginals(LONG, 2))


def own_runs(curator: Curator) -> Any:
    """Runs of levels are even by the rows themselves, not by what was released of them."""
    from hedgerow.mechanisms.adaptive.in_runs import runs_of

    exact = curator._rows.tables([("n",)])[("n",)].astype(np.float64)

    def read_off(body: Any, *_: Any) -> Any:
        return runs_of(body, exact, 1.0, max(float(exact.sum()), 1.0))

    with _ruled({"in_runs.runs_of": read_off}):
        return _in_runs(curator)


class NobodyMoves(Renormed):
    """A grouped table that a swap moves as an addition does."""

    @property
    def norms(self) -> Norms:
        return Norms(1, 1, 1, 1)


class RunsAsAdded(Replaying):
    """A row that is swapped leaves one run for another, and is charged for one of the two."""

    def _law(self, stat: Any, price: Any, choice: Any) -> Any:
        blocks = getattr(getattr(stat, "workload", None), "blocks", ())
        grouped = any(isinstance(b, GroupBlock) for b in blocks)
        return super()._law(NobodyMoves(stat) if grouped else stat, price, choice)


def _released(curator: Curator, rules: Mapping[str, Any], **options: Any) -> Any:
    from hedgerow.mechanisms.adaptive import look, run  # noqa: F401  (they have the rules)
    from hedgerow.mechanisms.adaptive.adaptive import AdaptiveRelease
    from hedgerow.queries.workload import marginals

    with _ruled(rules):
        return AdaptiveRelease(**options).release(curator, marginals(FOUR, 3))


class AsOfOne(Replaying):
    """Several distances have the noise of one."""

    def _noise(self, law: Any, values: Any) -> Any:
        return super()._noise(replace(law, scale=law.scale / max(values.size, 1)), values)


class NotRounded(Replaying):
    """Distances are taken to estimates as they are, not in whole rows."""

    def _act(self, event: Any, evaluate: Any, draw: Any, question: str, **rest: Any) -> list[NDArray[Any]]:
        return super()._act(event, lambda: [v + 0.25 for v in evaluate()], draw, question, **rest)


def _look(curator: Curator) -> Any:
    return curator.measure_all([TableDistances(_TABLES, (np.ones(3), np.ones(2)))], 1)


def own_tables(curator: Curator) -> Any:
    """What tables are far from was read off the rows."""
    exact = curator._rows.tables(list(_TABLES))
    return curator.measure_all(
        [TableDistances(_TABLES, tuple(exact[t].astype(np.float64) for t in _TABLES))], 1
    )


LOOKS: Mapping[str, tuple[Callable[[Any], Any], type[Replaying]]] = {
    "several distances at the norm of one": (_look, AsOfOne),
    "distances to a table that was never released": (own_tables, Replaying),
    "distances that are no whole numbers": (_look, NotRounded),
}
"""What is run, and the curator with the mistake."""
RUNS: Mapping[str, tuple[Callable[[Any], Any], type[Replaying]]] = {
    "runs of levels read off the rows": (own_runs, Replaying),
    "a swap between runs taken for an addition": (_in_runs, RunsAsAdded),
}
"""The same in measuring pairs of numbers in runs of their levels."""
