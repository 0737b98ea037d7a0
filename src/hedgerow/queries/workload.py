"""Workload: an ordered family of queries, kept as blocks over attribute sets and evaluated table by table."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import combinations
from math import comb
from numbers import Integral
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hedgerow.errors import DomainMismatch, OutOfRange, RangeTooLarge, UnsupportedQuery
from hedgerow.queries.block import BLOCKS, Axis, Block, ListBlock, ProductBlock
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.public_rows import exact_tables
from hedgerow.queries.query import ONE, Norms, Query

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK_LIMIT = 1_000_000
ANSWER_LIMIT = 1 << 28


class Workload(Sequence[Query]):
    """An ordered, lazy family of queries.

    `evaluate` answers all of them from tables: the same code serves exact integer tables of rows and the
    float tables of a hypothesis. Queries are only built when asked for one by one.
    """

    def __init__(
        self, blocks: Iterable[Block], *, order: NDArray[np.intp] | None = None, name: str = "queries"
    ) -> None:
        self._blocks: tuple[Block, ...] = tuple(blocks) if isinstance(blocks, Iterable) else (None,)
        if not all(type(b) in BLOCKS for b in self._blocks):
            raise UnsupportedQuery("a workload is made of Hedgerow's own blocks; give a list of queries")
        self.name = name
        self._starts = np.concatenate([[0], np.cumsum([len(b) for b in self.blocks])]).astype(np.int64)
        self._order = None if order is None else self._permutation(order)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """Queries over one attribute set each."""
        return self._blocks

    def check(self, domain: Domain) -> None:
        """Refuse queries that were made for another domain, before a table of this one meets them."""
        if not isinstance(domain, Domain):
            raise DomainMismatch(f"a workload is checked against a Domain, not a {type(domain).__name__}")
        for block in self._blocks:
            shape = domain.shape_of(block.attributes)
            if isinstance(block, ProductBlock):
                fits = shape == tuple(axis.levels for axis in block.axes)
            else:
                asked = block.queries if isinstance(block, ListBlock) else (block.query(0),)
                fits = all(q.attributes == block.attributes and q.shape == shape for q in asked)
                for q in asked:
                    if q.fine is not None:
                        q.fine.value.check(domain)
            if not fits:
                raise DomainMismatch("a query was made for another domain than this one")

    def _permutation(self, order: NDArray[np.intp]) -> NDArray[np.intp]:
        """Position in block order of each query; one that repeats answers would repeat them uncharged."""
        frozen = np.array(order, dtype=np.intp)
        if not np.array_equal(np.sort(frozen), np.arange(len(self))):
            raise UnsupportedQuery("the order of a workload must name every query exactly once")
        frozen.setflags(write=False)
        return frozen

    @classmethod
    def of(cls, queries: Any, domain: Domain | None = None) -> Workload:
        """The queries behind any question, or a list of them.

        Args:
            queries: a workload, a query, a compiled statement, or a list of these; with a domain also SQL
                text and attribute names.
            domain: what they must fit.

        >>> from hedgerow.queries.domain.domain import Domain
        >>> Workload.of(["a", "SELECT COUNT(*) FROM t WHERE b = 1"], Domain({"a": 2, "b": 3}))
        Workload(queries: 3 queries over 2 tables)
        """
        from hedgerow.queries.pieces import linear

        return linear(domain, queries)

    @classmethod
    def grouped(cls, queries: Iterable[Query]) -> Workload:
        """A list of queries in their order, those over one table together in a block."""
        items = list(queries)
        groups: dict[tuple[str, ...], list[int]] = {}
        for i, q in enumerate(items):
            groups.setdefault(q.attributes, []).append(i)
        blocks = [ListBlock(s, tuple(items[i] for i in members)) for s, members in groups.items()]
        order = np.argsort(np.concatenate([np.array(m) for m in groups.values()]), kind="stable")
        return cls(blocks, order=order)

    @classmethod
    def together(cls, parts: Sequence[Workload]) -> Workload:
        """Workloads as one, in their order; listed queries over one table get into one block."""
        blocks = [block for part in parts for block in part.blocks]
        loose = [block for block in blocks if isinstance(block, ListBlock)]
        if not loose:
            return cls(blocks)
        listed = cls.grouped(q for block in loose for q in block.queries)
        assert listed._order is not None
        places: tuple[list[Any], list[Any]] = ([], [])  # of queries in other blocks, of loose ones
        ends = np.cumsum([len(part) for part in parts])
        for part, end in zip(parts, ends, strict=True):
            order = np.arange(len(part)) if part._order is None else np.argsort(part._order)
            each = np.split(end - len(part) + order, part._starts[1:-1])
            for block, of_block in zip(part.blocks, each, strict=True):
                places[isinstance(block, ListBlock)].append(of_block)
        inside = np.concatenate(places[1])[np.argsort(listed._order)]
        others = [block for block in blocks if not isinstance(block, ListBlock)]
        return cls([*others, *listed.blocks], order=np.argsort(np.concatenate([*places[0], inside])))

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if isinstance(index, bool) or not isinstance(index, Integral):
            raise UnsupportedQuery("a query of a workload is called by its number")
        i = int(index) + len(self) if index < 0 else int(index)
        if not 0 <= i < len(self):
            raise OutOfRange("there is no such query in the workload")
        position = i if self._order is None else int(self._order[i])
        block = int(np.searchsorted(self._starts, position, side="right")) - 1
        return self.blocks[block].query(position - int(self._starts[block]))

    def __iter__(self) -> Iterator[Query]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"Workload({self.name}: {len(self):,} queries over {len(self.cliques):,} tables)"

    @property
    def cliques(self) -> tuple[tuple[str, ...], ...]:
        """The attribute sets the queries live on, in order, without repeats."""
        return tuple(dict.fromkeys(b.attributes for b in self.blocks))

    @cached_property
    def digest(self) -> str:
        """A fingerprint of what is asked, in its order."""
        order = b"" if self._order is None else self._order.tobytes()
        h = hashlib.sha256(order)
        for block in self.blocks:
            h.update(block.digest.encode())
        return h.hexdigest()

    @property
    def is_tables(self) -> bool:
        """Whether the workload is whole tables and nothing else."""
        return all(isinstance(b, ProductBlock) and b.is_table for b in self.blocks)

    @property
    def denominator(self) -> int:
        """Lattice steps per row of exact answers."""
        return max(b.denominator for b in self.blocks)

    @property
    def norms(self) -> Norms:
        """What one row can change in all answers together: at most the sum over blocks."""
        if len(self.blocks) == 1 and self.blocks[0].denominator == self.denominator:
            return self.blocks[0].norms
        steps = [(b.norms, self.denominator // b.denominator) for b in self.blocks]
        return Norms(
            l1=sum(n.l1 * s for n, s in steps),
            l2_squared=sum(n.l2_squared * s * s for n, s in steps),
            replace_l1=sum(n.replace_l1 * s for n, s in steps),
            replace_l2_squared=sum(n.replace_l2_squared * s * s for n, s in steps),
        )

    def parts(self, marginal_of: Callable[[tuple[str, ...]], NDArray[Any]]) -> Iterator[NDArray[Any]]:
        """Answers block by block: lattice steps from integer tables, counts from float tables."""
        whole = self.denominator
        for block in self.blocks:
            answers = block.apply(marginal_of(block.attributes))
            exact = np.issubdtype(answers.dtype, np.integer)
            yield answers * (whole // block.denominator) if exact else answers

    def evaluate(self, marginal_of: Callable[[tuple[str, ...]], NDArray[Any]]) -> NDArray[Any]:
        """All answers in order, given the table of any attribute set."""
        if len(self) > ANSWER_LIMIT:
            raise RangeTooLarge(f"{len(self):,} answers at once are more than {ANSWER_LIMIT:,}; use `parts`")
        return self.joined(list(self.parts(marginal_of)))

    def joined(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Answers block by block, put into the order of the queries."""
        flat = np.concatenate(parts)
        return flat if self._order is None else flat[self._order]

    def truth(self, rows: Any, domain: Domain | None = None) -> NDArray[np.float64]:
        """The EXACT answers on PUBLIC rows, in the questions' units: for error curves, never for release.

        Nothing here is private, charged or noisy. It is what `synopsis.answer(workload).value` is compared
        with when data are made up or published already; private rows belong behind a `Curator`.

        Args:
            rows: a mapping or frame of columns: level codes, or raw values if a domain is given.
            domain: says which level a raw value is.

        >>> from hedgerow.queries.domain.domain import Domain
        >>> domain = Domain({"sex": ["F", "M"], "age": 3})
        >>> marginals(domain, [("sex",)]).truth({"sex": ["F", "F", "M"], "age": [0, 1, 2]}, domain).tolist()
        [2.0, 1.0]
        """
        levels = {a: n for b in self.blocks for a, n in zip(b.attributes, b.query(0).shape, strict=True)}
        return self.to_units(self.evaluate(exact_tables(rows, levels, domain)) / self.denominator)

    def to_units(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Counts in the unit of each question."""
        if all(isinstance(b, ProductBlock) for b in self.blocks):
            return counts
        return np.array([q.to_unit(c) for q, c in zip(self, counts, strict=True)], dtype=np.float64)


def _family(
    domain: Domain,
    kind: str,
    over: int | Sequence[Sequence[str]],
    name: str,
    only: Sequence[str] | None = None,
) -> Workload:
    _finite(domain)
    if isinstance(over, Integral):
        over = int(over)
        names = domain.names if only is None else domain.order(only)
        if not 0 <= over <= len(names):
            raise UnsupportedQuery(f"cannot choose {over} of {len(names)} attributes")
        if comb(len(names), over) > _BLOCK_LIMIT:
            raise RangeTooLarge(f"{comb(len(names), over):,} attribute sets are more than {_BLOCK_LIMIT:,}")
        sets: Iterable[tuple[str, ...]] = combinations(names, over)
        name = f"{name}:{over}"
    else:
        sets = dict.fromkeys(_sets(domain, over))
    axes = {a: Axis(kind, domain[a].size) for a in domain}
    blocks = [ProductBlock(s, tuple(axes[a] for a in s)) for s in sets]
    if not blocks:
        raise UnsupportedQuery("a workload needs at least one attribute set")
    return Workload(blocks, name=name)


def _sets(domain: Domain, over: Any) -> Iterator[tuple[str, ...]]:
    """Listed attribute sets, in the domain's order; a name alone is a set of one."""
    if not isinstance(over, Iterable) or isinstance(over, str):
        raise UnsupportedQuery("say how many attributes are taken together, or list sets of their names")
    return (domain.order((s,) if isinstance(s, str) else s) for s in over)


def _finite(domain: Any) -> Domain:
    if not hasattr(domain, "shape_of"):
        raise DomainMismatch("a workload is about the attributes of a Domain")
    return cast("Domain", domain)


def marginals(domain: Domain, over: int | Sequence[Sequence[str]]) -> Workload:
    """All cells of all tables over `over` attributes, or of the listed tables.

    >>> from hedgerow.queries.domain.domain import Domain
    >>> len(marginals(Domain({"a": 2, "b": 3, "c": 4}), 2))
    26
    """
    return _family(domain, "cells", over, "marginals")


def conjunctions(domain: Domain, over: int | Sequence[Sequence[str]], *, negation: bool = True) -> Workload:
    """All conjunctions of one literal (level, or not that level) per attribute of each set.

    Without negation they are the cells of `marginals`; for the sources' monotone conjunctions, of all sizes
    and about one level of each attribute, see `monotone_conjunctions`.
    """
    return _family(domain, "literals" if negation else "cells", over, "conjunctions")


def _ordered(domain: Domain) -> list[str]:
    return [a for a in _finite(domain) if domain[a].ordered]


def ranges(domain: Domain, over: int | Sequence[Sequence[str]] = 1) -> Workload:
    """All runs of consecutive levels, and their products; a number means sets of ordered attributes."""
    return _family(domain, "ranges", over, "ranges", _ordered(domain))


def prefixes(domain: Domain, over: int | Sequence[Sequence[str]] = 1) -> Workload:
    """All prefixes (at most this level), and their products; a number means sets of ordered attributes."""
    return _family(domain, "prefixes", over, "prefixes", _ordered(domain))


def monotone_conjunctions(domain: Domain, over: int | Sequence[Sequence[str]] | None = None) -> Workload:
    """For each set of two-level attributes: the rows that have the second level in all of them.

    [DR14] Example 4.1, [BR11] Def. 3.9: f_S(z) = product of z_i over S, here of all sizes, the empty set's
    (every row) among them, if `over` is None; a number means sets of that size.

    >>> from hedgerow.queries.domain.domain import Domain
    >>> [q.name for q in monotone_conjunctions(Domain({"a": 2, "b": 2, "c": 3}))]
    ['total', 'a', 'b', 'a & b']
    """
    blocks = []
    for s in _binary_sets(domain, over, "monotone conjunctions"):
        query = Query.where(domain, dict.fromkeys(s, np.array([False, True])), name=" & ".join(s) or "total")
        blocks.append(ListBlock(s, (query,)))
    return Workload(blocks, name="monotone conjunctions")


def _binary_sets(
    domain: Domain, over: int | Sequence[Sequence[str]] | None, what: str
) -> list[tuple[str, ...]]:
    """Sets of two-level attributes: listed, of one size, or of every size."""
    binary = [a for a in _finite(domain) if domain[a].size == 2]
    if over is not None and not isinstance(over, Integral):
        listed = list(_sets(domain, over))
        if not {a for s in listed for a in s} <= set(binary):
            raise UnsupportedQuery(f"{what} are defined on attributes with exactly two levels")
        return listed
    sizes = range(len(binary) + 1) if over is None else [int(over)]
    number = sum(comb(len(binary), many) for many in sizes if many >= 0)
    if not number or not binary:
        raise UnsupportedQuery("there are not enough attributes with exactly two levels")
    if number > _BLOCK_LIMIT:
        raise RangeTooLarge(f"{number:,} attribute sets are more than {_BLOCK_LIMIT:,}")
    return [s for many in sizes for s in combinations(binary, many)]


def parities(domain: Domain, over: int | Sequence[Sequence[str]]) -> Workload:
    """For each set of two-level attributes: the rows whose codes sum to an even number."""
    blocks = []
    for s in _binary_sets(domain, over, "parities"):
        even = np.indices((2,) * len(s)).sum(axis=0) % 2 == 0
        query = Query(s, (2,) * len(s), dense=even.astype(np.int64) * ONE, name=f"parity {'+'.join(s)}")
        blocks.append(ListBlock(s, (query,)))
    if not blocks:
        raise UnsupportedQuery("a workload needs at least one attribute set")
    return Workload(blocks, name="parities")
