"""Scores of coarsened tables: how far public estimates of them are from the truth."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.curator.rows import kernels
from hedgerow.curator.statistics.statistics import _steps as on_lattice
from hedgerow.curator.statistics.statistics import fingerprint, score
from hedgerow.errors import UnsupportedQuery
from hedgerow.queries.query import Norms
from hedgerow.queries.strategies.coarse import GroupBlock

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.rows.table import Rows
    from hedgerow.queries.domain.domain import Domain

_HEAVIEST = 1 << 10


@dataclass(frozen=True, eq=False)
class Views:
    """Public coarsenings of grouped tables: a view groups the cells of its table, or of an earlier view.

    Args:
        tables: the grouped tables.
        table_of: which table each view is of.
        source_of: the earlier view whose cells it groups; -1 for the table's own.
        maps: the group of every cell of the source, all views one after another, from `starts`.
        sizes: how many groups each view has.
    """

    tables: tuple[GroupBlock, ...]
    table_of: NDArray[np.int64]
    source_of: NDArray[np.int64]
    maps: NDArray[np.int32]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def __post_init__(self) -> None:
        """Copies that nobody can change after they were looked at."""
        for name in ("table_of", "source_of", "starts", "sizes"):
            object.__setattr__(self, name, _whole(getattr(self, name), np.int64))
        object.__setattr__(self, "maps", _whole(self.maps, np.int32))

    @cached_property
    def digest(self) -> str:
        """A fingerprint of the candidates."""
        arrays = (self.table_of, self.source_of, self.maps, self.starts, self.sizes)
        return fingerprint("views", *(t.digest for t in self.tables), *(a.tobytes() for a in arrays))

    @cached_property
    def sound(self) -> bool:
        """Whether every view puts each cell of its source into exactly one of its groups.

        The sensitivity of a distance rests on this, so the curator looks before it scores anything.
        """
        views = len(self.sizes)
        if not (len(self.table_of) == len(self.source_of) == views == len(self.starts) - 1):
            return False
        if views and not 0 <= int(self.table_of.min()) <= int(self.table_of.max()) < len(self.tables):
            return False
        ends = self.starts[0] == 0 and self.starts[-1] == len(self.maps) and (np.diff(self.starts) >= 0).all()
        return bool(ends) and all(self._fits(i) for i in range(views))

    def _fits(self, view: int) -> bool:
        source, table = int(self.source_of[view]), int(self.table_of[view])
        if not -1 <= source < view or (source >= 0 and self.table_of[source] != table):
            return False
        cells = len(self.tables[table]) if source < 0 else int(self.sizes[source])
        groups = self.maps[self.starts[view] : self.starts[view + 1]]
        inside = len(groups) == 0 or 0 <= int(groups.min()) <= int(groups.max()) < self.sizes[view]
        return len(groups) == cells and bool(inside)


@score
@dataclass(frozen=True, eq=False)
class CoarseErrors:
    """Candidates are coarsened tables, the score is weight * (L1 distance to an estimate - penalty).

    Args:
        views: public coarsenings.
        chosen: which of them are candidates.
        estimates: public estimates, in rows, of the tables that candidates are of, one after another in the
            order of `views.tables`; rounded to whole rows before they meet true ones.
        weights: a whole number >= 0 for every candidate.
        penalties: a public number of rows for every candidate.
    """

    views: Views
    chosen: NDArray[np.int64]
    estimates: NDArray[np.float64]
    weights: NDArray[np.int64]
    penalties: NDArray[np.float64]

    def __post_init__(self) -> None:
        """Whole weights, and copies that nobody can change after they were looked at."""
        for name in ("chosen", "weights"):
            object.__setattr__(self, name, _whole(getattr(self, name), np.int64))
        for name in ("estimates", "penalties"):
            copy = np.array(getattr(self, name), dtype=np.float64)
            copy.setflags(write=False)
            object.__setattr__(self, name, copy)

    def check(self, domain: Domain) -> None:
        """Groupings that are groupings of this domain, and one number for each thing that needs one."""
        views, numbers = self.views, len(self.chosen)
        if type(views) is not Views or any(type(table) is not GroupBlock for table in views.tables):
            raise UnsupportedQuery("candidates are Views of GroupBlocks: only theirs are known norms")
        for table in views.tables:
            if tuple(len(g) for g in table.groups) != domain.shape_of(table.attributes):
                raise UnsupportedQuery(f"the groups of {' x '.join(table.attributes)} do not fit the domain")
        if (
            not views.sound
            or not numbers
            or not 0 <= self.chosen.min() <= self.chosen.max() < len(views.sizes)
        ):
            raise UnsupportedQuery("the candidates are not coarsenings of the tables")
        if self.weights.shape != (numbers,) or self.penalties.shape != (numbers,):
            raise UnsupportedQuery("every candidate needs one weight and one penalty")
        if not 0 <= int(self.weights.min()) <= int(self.weights.max()) <= _HEAVIEST:
            raise UnsupportedQuery(f"weights are whole numbers from 0 to {_HEAVIEST}")
        if self.estimates.shape != (sum(len(views.tables[i]) for i in self._needed),):
            raise UnsupportedQuery("the estimates do not have the shape of the tables")

    @cached_property
    def _needed(self) -> NDArray[np.int64]:
        return np.unique(self.views.table_of[self.chosen])

    @property
    def norms(self) -> Norms:
        """A row is in one cell of every grouping: a distance moves by one, by two when a row is swapped."""
        w = int(self.weights.max(initial=1))
        return Norms(w, w * w, 2 * w, 4 * w * w)

    @cached_property
    def digest(self) -> str:
        """A fingerprint of what is asked."""
        numbers = [self.chosen, self.weights, self._taken_off, self._expected]
        return fingerprint("coarse", self.views.digest, *(x.tobytes() for x in numbers))

    @cached_property
    def _expected(self) -> NDArray[np.int64]:
        return on_lattice(self.estimates, 1, len(self.estimates) * 2 * _HEAVIEST)

    @cached_property
    def _taken_off(self) -> NDArray[np.int64]:
        return on_lattice(self.penalties, 1, 4 * _HEAVIEST)

    def exact(self, rows: Rows) -> NDArray[np.int64]:
        """Weighted L1 distances less penalties."""
        v = self.views
        tables = [v.tables[i] for i in self._needed]
        counted = rows.tables([t.attributes for t in tables])
        gaps = np.concatenate([t.apply(counted[t.attributes]) for t in tables]) - self._expected
        first = np.full(len(v.tables), -1, dtype=np.int64)
        first[self._needed] = np.cumsum([0, *(len(t) for t in tables)])[:-1]
        places = np.concatenate([[0], np.cumsum(v.sizes)]).astype(np.int64)
        sums, out = np.zeros(int(places[-1]), dtype=np.int64), np.zeros(len(v.sizes), dtype=np.int64)
        kernels.coarse_sums(gaps, first, v.table_of, v.source_of, v.maps, v.starts, places, sums, out)
        return np.asarray(self.weights * (out[self.chosen] - self._taken_off))


def _whole(numbers: NDArray[Any], kind: type) -> NDArray[Any]:
    """A frozen copy; what is not whole, or would not fit, is refused."""
    given = np.asarray(numbers)
    if given.size and not np.issubdtype(given.dtype, np.integer):
        raise UnsupportedQuery("candidates and their weights are given by whole numbers")
    copy: NDArray[Any] = given.astype(kind)
    if not np.array_equal(copy, given):
        raise UnsupportedQuery("candidates and their weights must fit into machine integers")
    copy.setflags(write=False)
    return copy
