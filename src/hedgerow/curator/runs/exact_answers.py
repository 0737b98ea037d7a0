"""Exact answers to queries one at a time, cheaply: from cached tables, touching only the cells asked for.

For the comparisons of a sparse vector, which ask many single questions and release none of these integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.curator.statistics.statistics import _TABLE_CELLS, Answers, SparseAnswers, sum_of_values
from hedgerow.errors import DomainMismatch, UnsupportedQuery
from hedgerow.queries.argument import once
from hedgerow.queries.block import Axis, ListBlock, ProductBlock
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.query import ONE, Query, SparseQuery
from hedgerow.queries.workload import Workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.rows.table import Rows


def questions_of(target: Any, domain: Any, denominator: int) -> Workload | list[Query] | list[SparseQuery]:
    """Queries with weights in [0, 1] on a lattice of `denominator` steps per row; anything else is refused.

    What is refused depends on the target, the domain and the lattice, never on rows.
    """
    if isinstance(target, Workload):
        return _checked(target, domain, denominator)
    items = [target] if isinstance(target, (Query, SparseQuery)) else target
    if not isinstance(items, Sequence) or isinstance(items, str) or not items:
        raise UnsupportedQuery("ask a query, a list of queries or a workload")
    if all(type(q) is SparseQuery for q in items):
        if isinstance(domain, Domain):
            raise UnsupportedQuery("this table has a declared domain; sparse queries are for open ones")
        _refuse_fractions(items, denominator)
        return list(items)
    queries = [q for q in items if type(q) is Query]
    if len(queries) < len(items):
        raise UnsupportedQuery("ask a query, a list of queries or a workload")
    for query in queries:
        _refuse_misfit(query, domain)
    _refuse_fractions(queries, denominator)
    return queries


def exact_steps(
    questions: Workload | list[Query] | list[SparseQuery], rows: Rows, denominator: int
) -> NDArray[np.int64]:
    """The exact answers in lattice steps, in order.

    None can overflow: with weights up to ONE = 2^20, that would take 2^43 rows.
    """
    if isinstance(questions, Workload):
        stat = Answers(questions)
        return stat.exact(rows).ravel() * (denominator // stat.denominator)
    if isinstance(questions[0], SparseQuery):
        sparse = SparseAnswers(tuple(questions))
        return sparse.exact(rows).ravel() * (denominator // sparse.denominator)
    asked: list[Query] = questions
    if len(asked) > 1:  # one pass over the rows for all tables that are not there yet
        rows.tables([clique for q in asked if (clique := _needed(q)[0]) is not None])
    fine = np.array([_fine(q, rows) for q in asked], dtype=np.int64)
    return fine // (ONE // denominator)


def _checked(workload: Workload, domain: Any, denominator: int) -> Workload:
    if type(workload) is not Workload or not isinstance(domain, Domain):
        raise UnsupportedQuery("ask a query, a list of queries or a workload")
    for block in workload.blocks:
        if type(block) is ListBlock:
            if not all(type(q) is Query for q in block.queries):
                raise UnsupportedQuery("a workload is made of Hedgerow's own queries")
        elif type(block) is not ProductBlock or not all(type(axis) is Axis for axis in block.axes):
            raise UnsupportedQuery("a workload is made of Hedgerow's own blocks; give a list of queries")
        if len(block):
            _refuse_misfit(block.query(0), domain)
    if denominator % workload.denominator:
        raise UnsupportedQuery(_WHOLE)
    return workload


_WHOLE = "this run counts whole rows; open it with denominator=ONE for fractional weights"


def _refuse_fractions(queries: Iterable[Query | SparseQuery], denominator: int) -> None:
    if denominator != ONE and any(denominator % q.denominator for q in queries):
        raise UnsupportedQuery(_WHOLE)


def _refuse_misfit(query: Query, domain: Any) -> None:
    """A query is about attributes of the domain, each once, and has their shape."""
    if not isinstance(domain, Domain):
        raise DomainMismatch("this table has an open domain of names; ask it sparse queries")
    once(query.attributes)
    if domain.shape_of(query.attributes) != query.shape:
        raise DomainMismatch("a query does not have the shape of its attributes")
    if query.fine is not None:
        query.fine.value.check(domain)
    if prod(query.shape) > _TABLE_CELLS and query.factors is None:
        raise UnsupportedQuery(
            "a query over a table this large must be a product of per-attribute conditions"
        )


def _needed(query: Query) -> tuple[tuple[str, ...] | None, list[NDArray[np.int64]], int]:
    """The table that a query needs (None: too large), its factors there, and the rest as one number.

    An attribute whose levels all weigh the same is summed out.
    """
    if query.fine is not None:  # rows are weighed by their own numbers: no table of counts
        return None, [], 1
    if query.factors is None:
        return query.attributes, [], 1
    kept, factors, rest = [], [], 1 if query.factors else ONE
    for name, factor in zip(query.attributes, query.factors, strict=True):
        if (factor == factor[0]).all():
            rest *= int(factor[0])
        else:
            kept.append(name)
            factors.append(factor)
    cells = prod(f.size for f in factors)
    return (tuple(kept) if cells <= _TABLE_CELLS else None), factors, rest


def _fine(query: Query, rows: Rows) -> int:
    """The answer in steps of 1/ONE."""
    if query.fine is not None:
        return sum_of_values(query, rows)
    clique, factors, rest = _needed(query)
    if query.factors is None:
        table = rows.tables([query.attributes])[query.attributes]
        return int(query.apply(table)) * (ONE // query.denominator)
    if clique is None:
        return rows.count_where(query.attributes, query.factors)
    if rest == 0:
        return 0
    table = rows.tables([clique])[clique]
    where = [f.nonzero()[0] for f in factors]
    part = table[np.ix_(*where)] if where else table
    for axis, (factor, levels) in enumerate(zip(factors, where, strict=True)):
        weights = factor[levels]
        if weights.size == 0:
            return 0
        if (weights == weights[0]).all():
            rest *= int(weights[0])
        else:  # at most one factor holds more than one weight: see Query
            part = part * weights.reshape([-1 if i == axis else 1 for i in range(part.ndim)])
    return int(part.sum()) * rest
