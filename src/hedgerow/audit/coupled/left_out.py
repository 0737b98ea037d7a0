"""Pairs that are left out of what is measured and looked at: in a session, in a release, and beside triples.

Of which pairs the noise would say nothing follows from released one-way tables. Whether a look at them is
worth it, before others are measured or after, does too, and with the few rows of a replay it never is: here
it always is, by another public rule. So is what is clear of a pair.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import numpy as np

from hedgerow.audit.coupled.looks import _PAIRS, _ruled
from hedgerow.audit.coupled.renormed import Renormed
from hedgerow.audit.coupled.tape import Replaying
from hedgerow.curator.statistics.distances import TableDistances
from hedgerow.errors import HedgerowError
from hedgerow.privacy.budget import Budget, Privacy
from hedgerow.queries.domain.bins import bins
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.query import Norms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.audit.coupled.scenes import Relation
    from hedgerow.curator.curator import Curator
    from hedgerow.mechanisms.adaptive.run import Run

UNEVEN = Domain({"n": bins(0, 24, 2, step=1), "b": 8, "c": 2, "d": 2})
"""Attributes of many levels and of few: pairs of the former are left out; rows lie at the ends of bins."""
LITTLE, MUCH = Budget(rho=4, delta=0.01), Budget(rho=500, delta=0.01)
BOTH: tuple[Relation, ...] = ("add_remove", "replace")
GROUPS: tuple[tuple[int, bool], ...] = ((1, False), (2, True), (3, True), (1, True))
_SEEN = {"farther._BLIND": 1e9}
_LARGE = {"adaptive.DENSE_CELLS": 0, "everything.WHOLE_CELLS": 0}
_CLEAR = {"look.EACH": 1e9, "look.CLEAR": 0.0, "look.FAITH": 0.0}
_ALL = {"everything.LIMITS": {2: 1e9, 3: 0.0}, "look.BLIND": 1e9}
_SUMS = {"everything.SUMS_LIMIT": 1e9}
_JOINED = _ALL | {"run.least": lambda links, pairs: 0.0, "run.FINE": 0.0}
_ASKED = (
    "SELECT n, COUNT(*) FROM t GROUP BY n",
    "SELECT COUNT(*) FROM t WHERE n >= 4 AND b = 1",
    "SELECT b, AVG(n) FROM t GROUP BY b",
    "SELECT SUM(n) / COUNT(*) FROM t",
)


def in_session(curator: Curator) -> Any:
    """A session measures residuals of pairs and looks at those that it leaves out; then it is asked."""
    return _opened(curator, _SEEN | _SUMS)


def choosing(curator: Curator) -> Any:
    """A session whose tables are chosen, as where rows are few; then it is asked."""
    return _opened(curator, _SEEN | _LARGE | {"everything.SUMS_LIMIT": 0.0})


def _opened(curator: Curator, rules: Mapping[str, Any]) -> Any:
    from hedgerow.mechanisms.adaptive import adaptive, everything, farther  # noqa: F401  (they have the rules)
    from hedgerow.mechanisms.session.session import Session

    with _ruled(rules):
        session = Session(epsilon=1, cells=1).open(curator)
        return [session.ask(question) for question in _ASKED]


def clear_ones(curator: Curator) -> Any:
    """As in a domain too large for a weight per cell: a look before, by which some pairs are measured."""
    from hedgerow.mechanisms.adaptive import adaptive, look  # noqa: F401  (they have the rules)

    with _ruled(_LARGE | _CLEAR):
        return in_session(curator)


def tripping(curator: Curator) -> Any:
    """The same for an accuracy: it compares, and measures and learns a pair that it had left out."""
    from hedgerow.mechanisms.adaptive import everything, farther  # noqa: F401
    from hedgerow.mechanisms.session.session import Session

    with _ruled(_SEEN | _SUMS):
        session = Session(epsilon=10, within_count=12, cells=1, questions=50, confidence=0.5).open(curator)
        said: list[Any] = []
        for question in (_ASKED[1], _ASKED[0], "SELECT COUNT(*) FROM t WHERE n >= 8 AND b = 7", _ASKED[1]):
            try:
                said.append(session.ask(question))
            except HedgerowError as refused:
                said.append(f"{type(refused).__name__}: {refused}")
        return said


def in_release(curator: Curator) -> Any:
    """Residuals of the pairs that are worth it, and a look at the others."""
    return _released(curator, 2, _SEEN | _ALL)


def sparse(curator: Curator) -> Any:
    """A look at what joins attributes, and then a few pairs are chosen."""
    return _released(curator, 2, _SEEN | _JOINED | {"run.WELL": 1e9})


def not_sparse(curator: Curator) -> Any:
    """The same look, and then all are measured."""
    return _released(curator, 2, _SEEN | _JOINED | {"run.WELL": 0.0, "run.least": lambda links, pairs: -1.0})


def inside_triples(curator: Curator) -> Any:
    """A look at pairs, then the pairs inside triples, and a look at those that were left out of them."""
    return _released(curator, 3, _SEEN | _PAIRS)


def _released(curator: Curator, order: int, rules: Mapping[str, Any]) -> Any:
    from hedgerow.mechanisms.adaptive import farther, look, run  # noqa: F401  (they have the rules)
    from hedgerow.mechanisms.adaptive.adaptive import AdaptiveRelease
    from hedgerow.queries.workload import marginals

    with _ruled(rules):
        return AdaptiveRelease(cells=1).release(curator, marginals(UNEVEN, order))


RUNS: tuple[tuple[str, Callable[[Any], Any], Budget], ...] = (
    ("Session", in_session, LITTLE),
    ("Session", clear_ones, LITTLE),
    ("Session", choosing, LITTLE),
    ("Session", tripping, MUCH),
    ("AdaptiveRelease", in_release, LITTLE),
    ("AdaptiveRelease", inside_triples, LITTLE),
    ("AdaptiveRelease", sparse, LITTLE),
    ("AdaptiveRelease", not_sparse, LITTLE),
)
"""Of which mechanism each is, and what it may spend."""


# ---- planted ---------------------------------------------------------------------------------------------


def by_rows(curator: Curator) -> Any:
    """Of pairs that were left out those are looked at of which somebody is in the first row of cells."""
    from hedgerow.mechanisms.adaptive.farther import Farther

    begin = Farther.__init__

    def chosen(self: Farther, run: Run, names: Any, numbers: Any, left_out: Any = ()) -> None:
        exact = curator._rows.tables(list(left_out))
        begin(self, run, names, numbers, [t for t in left_out if exact[t][0].any()])

    with patch.object(Farther, "__init__", chosen):
        return in_session(curator)


def from_rows(curator: Curator) -> Any:
    """What was left out is looked at from even tables of as many rows as there are."""
    from hedgerow.synopsis.learned import Learned

    def even(self: Learned, names: Any) -> Any:
        cells = UNEVEN.shape_of(names)
        return np.full(cells, 100.0 * curator._rows.units() / np.prod(cells))

    with patch.object(Learned, "table", even):
        return in_session(curator)


def clear_by_rows(curator: Curator) -> Any:
    """Of pairs that are clearly not independent those are measured of which somebody is in the first row."""
    from hedgerow.mechanisms.adaptive.look import standing_out

    def chosen(run: Run, ones: Any, pairs: Any) -> Any:
        exact, found = curator._rows.tables(list(pairs)), standing_out(run, ones, pairs)
        return {t: far for t, far in found.items() if exact[t][0].any()}

    with _ruled({"everything.standing_out": chosen}):
        return clear_ones(curator)


def from_margins(curator: Curator) -> Any:
    """What pairs would be if attributes were independent is made of one-way tables that were not released."""
    from hedgerow.mechanisms.adaptive.look import _laws

    def exact(ones: Any, total: float) -> Any:
        laws, noise = _laws(ones, total)
        tables = curator._rows.tables([(a,) for a in laws])
        return {a: (tables[a,] + 1.0) / (tables[a,] + 1.0).sum() for a in laws}, noise

    with _ruled({"look._laws": exact}):
        return clear_ones(curator)


class _Looked(Replaying):
    """A curator with a mistake in looks, and in nothing else."""

    looks = 0

    def _law(self, stat: Any, price: Any, choice: Any) -> Any:
        return super()._law(self.taken(stat) if isinstance(stat, TableDistances) else stat, price, choice)

    def taken(self, stat: TableDistances) -> Any:
        """The statistic as it is charged."""
        return stat

    def _act(self, event: Any, evaluate: Any, draw: Any, question: str, **rest: Any) -> list[NDArray[Any]]:
        if ": how far" not in str(rest.get("note")):
            return super()._act(event, evaluate, draw, question, **rest)
        self.looks += 1
        return self.look(event, evaluate, draw, question, **rest)

    def look(self, event: Any, evaluate: Any, draw: Any, question: str, **rest: Any) -> list[NDArray[Any]]:
        """The act."""
        return super()._act(event, evaluate, draw, question, **rest)


class _Larger(Renormed):
    """Distances, at the norms of those of larger tables: as if pairs that were left out came with them."""

    @cached_property
    def norms(self) -> Norms:
        number = max(sum(len(t) > 2 for t in self.inside.tables), 1)
        return Norms(number, number, 2 * number, 4 * number)


class PairsForFree(_Looked):
    """Pairs that are looked at beside larger tables do not count in the norm."""

    def taken(self, stat: TableDistances) -> Any:
        return _Larger(stat)


class _AsOne(Renormed):
    """Distances of several tables at the norms of one."""

    @property
    def norms(self) -> Norms:
        return Norms(1, 1, 2, 4)


class BeforeAsOne(_Looked):
    """Pairs that are looked at before any is measured have the norms of one; later looks have their own."""

    def taken(self, stat: TableDistances) -> Any:
        return _AsOne(stat) if all(len(t) == 2 for t in stat.tables) else stat


class _Added(Renormed):
    """Distances that a swap moves as an addition does."""

    @cached_property
    def norms(self) -> Norms:
        number = len(self.inside.tables)
        return Norms(number, number, number, number)


class SwapsAsAdded(_Looked):
    """A swap moves each distance by two, and is charged for one."""

    def taken(self, stat: TableDistances) -> Any:
        return _Added(stat)


class LooksAtOneRow(_Looked):
    """Distances are charged as if nobody had more than one row."""

    _one = False

    @property
    def privacy(self) -> Privacy:
        own = super().privacy
        return Privacy(own.neighbours, 1) if self._one else own

    def _law(self, stat: Any, price: Any, choice: Any) -> Any:
        self._one = isinstance(stat, TableDistances)
        try:
            return super()._law(stat, price, choice)
        finally:
            self._one = False


class LooksInParts(_Looked):
    """Distances are taken to estimates as they are, not in whole rows."""

    def look(self, event: Any, evaluate: Any, draw: Any, question: str, **rest: Any) -> list[NDArray[Any]]:
        return super().look(event, lambda: [v + 0.25 for v in evaluate()], draw, question, **rest)


class Cheaper(_Looked):
    """The noise of a look is that of twice its price."""

    def look(self, event: Any, evaluate: Any, draw: Any, question: str, **rest: Any) -> list[NDArray[Any]]:
        def less(exact: Any) -> list[NDArray[Any]]:
            return [v + (noisy - v) // 2 for v, noisy in zip(exact, draw(exact), strict=True)]

        return super().look(event, evaluate, less, question, **rest)


class SecondForFree(_Looked):
    """The second look of a release has no line in the ledger."""

    def look(self, event: Any, evaluate: Any, draw: Any, question: str, **rest: Any) -> list[NDArray[Any]]:
        if self.looks < 2:
            return super().look(event, evaluate, draw, question, **rest)
        told = (question, rest.get("request"), rest.get("note", ""), rest.get("run"), self.account)
        met = self.witness.meets(event, *told)
        met.exact = evaluate()
        with self.witness.listening(met):
            met.drawn = draw(met.exact)
        return self.witness.said(met)  # type: ignore[no-any-return]


MISTAKES: Mapping[str, tuple[Callable[[Any], Any], type[Replaying], tuple[Relation, ...]]] = {
    "pairs to look at chosen by rows": (by_rows, Replaying, BOTH),
    "a look at what was never released": (from_rows, Replaying, ("add_remove",)),
    "pairs to measure chosen by rows": (clear_by_rows, Replaying, BOTH),
    "a look at pairs from what was never released": (from_margins, Replaying, BOTH),
    "pairs that are looked at as one before they are measured": (clear_ones, BeforeAsOne, ("add_remove",)),
    "pairs that are looked at for free": (in_session, PairsForFree, BOTH),
    "a look at people of one row each": (tripping, LooksAtOneRow, BOTH),
    "a look that takes swaps for additions": (in_release, SwapsAsAdded, ("replace",)),
    "a look from tables that are not in whole rows": (inside_triples, LooksInParts, BOTH),
    "a look at twice its price": (in_release, Cheaper, ("add_remove",)),
    "a second look that is not charged": (inside_triples, SecondForFree, ("replace",)),
}
"""What is run, the curator with the mistake, and a relation that it breaks."""
