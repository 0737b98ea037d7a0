"""The closed set of things computed from rows, each with the public facts its sensitivity follows from."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import numpy as np

from hedgerow.errors import DomainMismatch, UnsupportedQuery
from hedgerow.queries.argument import numbers
from hedgerow.queries.block import ListBlock
from hedgerow.queries.query import ONE, Norms, Query, SparseQuery
from hedgerow.queries.workload import Workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.rows.table import Rows
    from hedgerow.queries.domain.domain import Domain

Kind = TypeVar("Kind", bound=type)

_STATISTICS: set[type] = set()
_SCORES: set[type] = set()
_TABLE_CELLS = 1 << 22


def statistic(kind: Kind) -> Kind:
    """Enter a class of this room on the list of what may be measured: its norms are proven, as a vector."""
    _STATISTICS.add(kind)
    return kind


def score(kind: Kind) -> Kind:
    """Enter a class of this room on the list of what a choice may go by: each score's norms are proven."""
    _SCORES.add(kind)
    return kind


def is_score(thing: object) -> bool:
    """Whether this is a score of this room, by its class itself and not by what that says of itself."""
    return type(thing) in _SCORES


class Statistic(Protocol):
    """Integers that are a linear function of the rows, on a lattice of `denominator` steps per row."""

    @property
    def denominator(self) -> int: ...

    @property
    def norms(self) -> Norms: ...

    @property
    def cliques(self) -> tuple[tuple[str, ...], ...]: ...

    @property
    def digest(self) -> str: ...

    def exact(self, rows: Rows) -> NDArray[np.int64]: ...


@statistic
@dataclass(frozen=True)
class TableOf:
    """The whole contingency table of some attributes."""

    attributes: tuple[str, ...]
    denominator: ClassVar[int] = 1

    @property
    def norms(self) -> Norms:
        """A row is in exactly one cell."""
        return Norms.table() if self.attributes else Norms.query(1)

    @property
    def cliques(self) -> tuple[tuple[str, ...], ...]:
        """The one table needed."""
        return (self.attributes,)

    @property
    def digest(self) -> str:
        """A fingerprint of what is asked."""
        return fingerprint("table", self.attributes)

    def exact(self, rows: Rows) -> NDArray[np.int64]:
        """Rows in every cell of the table."""
        return rows.tables([self.attributes])[self.attributes]


@statistic
@dataclass(frozen=True)
class Answers:
    """The answers to a list of queries, as one vector."""

    workload: Workload

    def __post_init__(self) -> None:
        """Norms are read off the workload: only a real one has them."""
        if type(self.workload) is not Workload:
            raise UnsupportedQuery("answers are asked of a Workload")

    @property
    def denominator(self) -> int:
        """The workload's lattice."""
        return self.workload.denominator

    @cached_property
    def norms(self) -> Norms:
        """The workload's largest columns; one step at least, so that noise has a scale."""
        n = self.workload.norms
        l1, l2 = max(n.l1, 1), max(n.l2_squared, 1)
        return Norms(l1, l2, max(n.replace_l1, 1), max(n.replace_l2_squared, 1))

    @property
    def cliques(self) -> tuple[tuple[str, ...], ...]:
        """The tables that are small enough to be counted whole."""
        if _values(self.workload):
            return ()
        return tuple(b.attributes for b in self.workload.blocks if not _is_large(b))

    @cached_property
    def digest(self) -> str:
        """A fingerprint of what is asked."""
        return fingerprint("answers", self.workload.digest)

    def exact(self, rows: Rows) -> NDArray[np.int64]:
        """Lattice steps, in the workload's order; product queries over huge tables are summed row by row."""
        if _values(self.workload):
            return self._one_by_one(rows)
        if not any(_is_large(b) for b in self.workload.blocks):
            return self.workload.evaluate(rows.tables(self.workload.cliques).__getitem__)
        small = Workload.of([q for q in self.workload if prod(q.shape) <= _TABLE_CELLS] or [Query.total()])
        known = iter(small.evaluate(lambda s: rows.tables([s])[s]).tolist())
        steps = [
            next(known) * (self.denominator // small.denominator)
            if prod(q.shape) <= _TABLE_CELLS
            else _row_by_row(q, rows) * (self.denominator // q.denominator)
            for q in self.workload
        ]
        return np.array(steps, dtype=np.int64)

    def _one_by_one(self, rows: Rows) -> NDArray[np.int64]:
        """Sums of rows' own numbers, and the queries beside them; all tables are counted in one pass."""
        queries = list(self.workload)
        plain = [i for i, q in enumerate(queries) if q.fine is None]
        out = np.zeros(len(queries), dtype=np.int64)
        if plain:
            part = Answers(Workload.grouped([queries[i] for i in plain]))
            out[plain] = part.exact(rows) * (self.denominator // part.denominator)
        for i, query in enumerate(queries):
            if query.fine is not None:
                out[i] = sum_of_values(query, rows) // (ONE // self.denominator)
        return out


@statistic
@dataclass(frozen=True)
class SparseAnswers:
    """The answers to sparse queries about names of an open domain."""

    queries: tuple[SparseQuery, ...]

    def __post_init__(self) -> None:
        """Norms are read off the queries: only real ones have them."""
        if not self.queries or any(type(q) is not SparseQuery for q in self.queries):
            raise UnsupportedQuery("names are asked about with SparseQuery")

    @property
    def denominator(self) -> int:
        """One lattice for all."""
        return max(q.denominator for q in self.queries)

    @property
    def norms(self) -> Norms:
        """The largest column: every name's weights over all queries."""
        steps = ONE // self.denominator
        if len(self.queries) == 1:
            return Norms.query(self.queries[0].largest // steps)
        l1: dict[str, int] = {}
        l2: dict[str, int] = {}
        for query in self.queries:
            for element, weight in query.texts.items():
                l1[element] = l1.get(element, 0) + weight // steps
                l2[element] = l2.get(element, 0) + (weight // steps) ** 2
        return Norms.nonnegative(max(l1.values(), default=0), max(l2.values(), default=0))

    @property
    def cliques(self) -> tuple[tuple[str, ...], ...]:
        """No tables are needed."""
        return ()

    @property
    def digest(self) -> str:
        """A fingerprint of what is asked."""
        return fingerprint("sparse", *(q.digest for q in self.queries))

    def exact(self, rows: Rows) -> NDArray[np.int64]:
        """Lattice steps, one per query."""
        counts = rows.names({e for q in self.queries for e in q.texts})
        steps = ONE // self.denominator
        sums = [sum(w // steps * counts[e] for e, w in q.texts.items()) for q in self.queries]
        return np.array(sums, dtype=np.int64)


class Score(Protocol):
    """Integer scores of candidates; none moves by more than `norms` allows when a row is added or swapped.

    `check` refuses what does not fit the domain before anything is charged or read: a broadcast estimate
    would count rows many times over.
    """

    def check(self, domain: Domain) -> None: ...

    @property
    def norms(self) -> Norms: ...

    @property
    def digest(self) -> str: ...

    def exact(self, rows: Rows) -> NDArray[np.int64]: ...


@score
@dataclass(frozen=True, eq=False)
class LevelCounts:
    """Candidates are the levels of an attribute, the score is how many rows have it."""

    attribute: str

    def check(self, domain: Domain) -> None:
        """The attribute is there."""
        domain[self.attribute]

    @property
    def norms(self) -> Norms:
        """Each score is a count."""
        return Norms.query(1)

    @property
    def digest(self) -> str:
        """A fingerprint of what is asked."""
        return fingerprint("levels", self.attribute)

    def exact(self, rows: Rows) -> NDArray[np.int64]:
        """Rows at every level of the attribute."""
        return rows.tables([(self.attribute,)])[(self.attribute,)]


@score
@dataclass(frozen=True, eq=False)
class QueryErrors:
    """Candidates are queries, the score is |true answer - estimate|, in lattice steps.

    The estimate is public; it is rounded to the lattice before it meets a true answer.
    """

    workload: Workload
    estimates: NDArray[np.float64]

    def check(self, domain: Domain) -> None:
        """One estimate for each query."""
        Answers(self.workload).workload.check(domain)
        _same_shape(np.shape(numbers("estimates", self.estimates)), (len(self.workload),))
        for clique in self.workload.cliques:
            domain.order(clique)

    @property
    def norms(self) -> Norms:
        """|answer - constant| moves by no more than the answer: at most one whole row."""
        return Norms.query(self.workload.denominator)

    @cached_property
    def digest(self) -> str:
        """A fingerprint of what is asked."""
        return fingerprint("errors", Answers(self.workload).digest, self._expected.tobytes())

    @cached_property
    def _expected(self) -> NDArray[np.int64]:
        return _steps(self.estimates, self.workload.denominator)

    def exact(self, rows: Rows) -> NDArray[np.int64]:
        """How far every estimate is from its true answer, in lattice steps."""
        return np.asarray(np.abs(Answers(self.workload).exact(rows) - self._expected))


@score
@dataclass(frozen=True, eq=False)
class TableErrors:
    """Candidates are tables, the score is the L1 distance to an estimated table, less a public penalty."""

    tables: tuple[tuple[str, ...], ...]
    estimates: tuple[NDArray[np.float64], ...]
    penalties: NDArray[np.float64]

    def check(self, domain: Domain) -> None:
        """An estimate of the table's shape and a penalty for each table."""
        if not all(isinstance(given, Sequence) for given in (self.tables, self.estimates)):
            raise UnsupportedQuery("tables and their estimates are given as lists")
        found = len(self.estimates), *np.shape(numbers("penalties", self.penalties))
        _same_shape(found, (len(self.tables), len(self.tables)))
        for clique, estimate in zip(self.tables, self.estimates, strict=True):
            if domain.order(clique) != tuple(clique):
                raise DomainMismatch("a table is named by its attributes, in the domain's order")
            _same_shape(np.shape(numbers("estimates", estimate)), domain.shape_of(clique))

    @property
    def norms(self) -> Norms:
        """A row is in one cell, so the L1 distance moves by one; a swapped row moves it by two."""
        return Norms(1, 1, 2, 4)

    @cached_property
    def digest(self) -> str:
        """A fingerprint of what is asked."""
        whole = (*self._expected, _steps(self.penalties, 1))
        return fingerprint("tables", self.tables, *(x.tobytes() for x in whole))

    @cached_property
    def _expected(self) -> list[NDArray[np.int64]]:
        return [_steps(e, 1, np.size(e)) for e in self.estimates]

    def exact(self, rows: Rows) -> NDArray[np.int64]:
        """How far every estimated table is from the true one, summed over cells."""
        counted = rows.tables(self.tables)
        distances = [
            int(np.abs(counted[s] - e).sum()) for s, e in zip(self.tables, self._expected, strict=True)
        ]
        return np.subtract(np.array(distances, dtype=np.int64), _steps(self.penalties, 1))


def _same_shape(found: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    """Refuse estimates that would be broadcast."""
    if tuple(found) != tuple(wanted):
        raise UnsupportedQuery(f"estimates of shape {tuple(found)} do not fit what has shape {tuple(wanted)}")


def _steps(values: NDArray[np.float64], denominator: int, summed: int = 1) -> NDArray[np.int64]:
    """Public floats on the lattice; what is not finite or absurdly large is clipped, never raised.

    The clip leaves room for a sum of `summed` of them: no score wraps around 2^63, whatever is estimated.
    """
    limit = float(min(1 << 53, (1 << 60) // max(summed, 1)))
    return np.rint(np.clip(np.nan_to_num(numbers("estimates", values) * denominator), -limit, limit)).astype(
        np.int64
    )


def _values(workload: Workload) -> bool:
    """Whether some query reads rows' own numbers."""
    listed = (q for b in workload.blocks if isinstance(b, ListBlock) for q in b.queries)
    return any(q.fine is not None for q in listed)


def sum_of_values(query: Query, rows: Rows) -> int:
    """What the rows of a query are worth by their own numbers, in units of 1/ONE.

    Privacy: a row of a cell adds a whole number between 0 and `Query.most` of that cell, and norms are read
    off `most`: both are proven in `queries.valued`.
    """
    assert query.fine is not None
    names, value = query.attributes, query.fine.value
    value.check(rows.domain)
    table = rows.weighed(names, value)
    return int(table[query.fine.mask(names, query.shape)].sum())


def _is_large(block: Any) -> bool:
    query = block.query(0)
    return prod(query.shape) > _TABLE_CELLS and query.factors is not None


def _row_by_row(query: Query, rows: Rows) -> int:
    if query.factors is None:
        raise UnsupportedQuery(
            "a query over a table this large must be a product of per-attribute conditions"
        )
    total = rows.count_where(query.attributes, query.factors)
    return total // (ONE // query.denominator)


def fingerprint(kind: str, *parts: object) -> str:
    """What is asked, as a short text: the same for the same question and for no other."""
    h = hashlib.sha256(kind.encode())
    for part in parts:
        data = part if isinstance(part, bytes) else repr(part).encode()
        h.update(len(data).to_bytes(8, "big") + data)
    return h.hexdigest()
