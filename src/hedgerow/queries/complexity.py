"""How rich a class of counting queries is: which places it tells apart, and its VC dimension."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.errors import RangeTooLarge, UnsupportedQuery
from hedgerow.queries.workload import Workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.query import Query

_MARKS = 1 << 28  # cells x queries that are looked at
_SETS = 2_000_000  # shattered sets that the exact search keeps


@dataclass(frozen=True, eq=False)
class Incidence:
    """Which cells the queries of a workload count; equal queries are one, and so are cells none tells apart.

    Args:
        attributes: all attributes that the queries are about, in the domain's order.
        shape: their levels.
        beside: how many cells of the domain lie behind each cell of these attributes.
        type_of: the type of each cell of these attributes, flat.
        member: per type and distinct query, whether the query counts it.
        first: for each distinct query, where it first is in the workload.
    """

    attributes: tuple[str, ...]
    shape: tuple[int, ...]
    beside: int
    type_of: NDArray[np.int64]
    member: NDArray[np.bool_]
    first: NDArray[np.int64]

    def __post_init__(self) -> None:
        """It is shared by all who ask: nobody changes it."""
        for array in (self.type_of, self.member, self.first):
            array.setflags(write=False)

    @cached_property
    def cells(self) -> tuple[int, ...]:
        """How many cells of the whole domain are of each type."""
        return tuple(int(n) * self.beside for n in np.bincount(self.type_of, minlength=len(self.member)))

    @property
    def queries(self) -> int:
        """How many distinct queries there are: |Q|."""
        return len(self.first)

    @classmethod
    def of(cls, domain: Domain, workload: Workload) -> Incidence:
        """The incidence of a workload of counting queries.

        >>> from hedgerow.queries.domain.domain import Domain
        >>> from hedgerow.queries.workload import marginals
        >>> domain = Domain({"a": 2, "b": 3, "c": 5})
        >>> Incidence.of(domain, marginals(domain, [("a",), ("b",)])).cells
        (5, 5, 5, 5, 5, 5)
        """
        names = domain.order({a for c in workload.cliques for a in c})
        shape = domain.shape_of(names)
        cells, number = prod(shape), len(workload)
        if not number:
            raise UnsupportedQuery("a workload is a non-empty list of queries")
        if cells * number > _MARKS:
            raise RangeTooLarge(
                f"{number:,} queries over a table of {cells:,} cells are too many to be told apart one by one"
            )
        marks = np.empty((number, cells), dtype=np.bool_)
        for i, query in enumerate(workload):
            marks[i] = _mask(query, names, shape)
        packed = np.packbits(marks, axis=1)
        _, first = np.unique(packed, axis=0, return_index=True)
        first = np.sort(first).astype(np.int64)
        columns, type_of = np.unique(np.packbits(marks[first].T, axis=1), axis=0, return_inverse=True)
        member = np.unpackbits(columns, axis=1, count=len(first)).astype(np.bool_)
        beside = domain.size // cells
        return cls(names, shape, beside, type_of.reshape(-1).astype(np.int64), member, first)


def _mask(query: Query, names: tuple[str, ...], shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Which cells of the table over `names` a counting query counts."""
    if not query.counts:
        raise UnsupportedQuery("this needs counting queries: every weight must be 0 or 1")
    if query.shape != tuple(shape[names.index(a)] for a in query.attributes):
        raise UnsupportedQuery("the query was made for another domain")
    places = [query.attributes.index(a) if a in query.attributes else -1 for a in names]
    own = query.weights.transpose([p for p in places if p >= 0]) > 0
    index = tuple(slice(None) if p >= 0 else None for p in places)
    return np.broadcast_to(own[index], shape).reshape(-1)


def vc_dimension(domain: Domain, workload: Workload) -> int:
    """The VC dimension of a workload of counting queries, by exact search: [DR14] Def. 4.2.

    A set of places is shattered if the queries cut out all its subsets; subsets of a shattered set are
    shattered, so sets are grown place by place. At most log2 |Q| ([DR14] Lemma 4.7).

    Args:
        domain: the declared attributes.
        workload: counting queries; too large a class is refused, see the closed forms below.

    >>> from hedgerow.queries.domain.domain import Domain
    >>> from hedgerow.queries.workload import ranges
    >>> from hedgerow.queries.domain.bins import bins
    >>> domain = Domain({"age": bins(0, 100, 10)})
    >>> vc_dimension(domain, ranges(domain, 1))
    2
    """
    member = Incidence.of(domain, Workload.of(workload, domain)).member
    marks = member.astype(np.int64)
    types, queries = marks.shape
    shattered: dict[tuple[int, ...], NDArray[np.int64]]
    shattered = {(e,): marks[e] for e in range(types) if 0 < marks[e].sum() < queries}
    if not shattered:
        return 0
    size, alone = 1, [places[0] for places in shattered]
    while 2 ** (size + 1) <= queries:
        grown: dict[tuple[int, ...], NDArray[np.int64]] = {}
        for places, pattern in shattered.items():
            for e in alone:
                if e > places[-1] and _all_present(found := 2 * pattern + marks[e], 2 ** (size + 1)):
                    grown[(*places, e)] = found
            if len(grown) > _SETS:
                raise RangeTooLarge(
                    f"more than {_SETS:,} sets of {size + 1} places are shattered; use a closed form"
                )
        if not grown:
            break
        shattered, size = grown, size + 1
    return size


def _all_present(patterns: NDArray[np.int64], number: int) -> bool:
    return bool(np.bincount(patterns, minlength=number).all())


def vc_intervals(levels: int) -> int:
    """All non-empty runs of levels of one attribute: 2; fewer where there is no third level to leave out.

    >>> [vc_intervals(n) for n in (1, 2, 3, 100)]
    [0, 1, 2, 2]
    """
    return min(max(levels - 1, 0), 2)


def vc_rectangles(dimensions: int) -> int:
    """All products of runs over so many attributes of at least three levels each: twice their number."""
    return 2 * dimensions


def vc_conjunctions(attributes: int) -> int:
    """All monotone conjunctions (the empty one too) over so many two-level attributes: their number."""
    return attributes


def vc_sparse(support: int) -> int:
    """All queries that count at most so many places: that many."""
    return support
