"""Steps: on which values of a number in bins an expression is worked out, where there are very many."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sqlglot import exp

from hedgerow.queries.domain.bins import Bins, Dates
from hedgerow.queries.sql.column import SqlColumn
from hedgerow.queries.sql.node import bare
from hedgerow.queries.sql.predicate import Scope

CELLS = 1 << 18
"""The most combinations of levels, or steps, on which an expression is worked out."""
_COMPARED = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In)


def steps_of(node: exp.Expr, column: SqlColumn, scope: Scope) -> Sequence[int] | None:
    """The steps of a number on which an expression is worked out: all, or of very many those that count.

    Where a column is compared with numbers and nothing else, nothing changes but there: the steps beside
    those numbers, and the ends of bins, stand for all others. None where that is not so, or there are no
    steps.

    Args:
        node: the expression.
        column: the number.
        scope: says which column a name means.
    """
    body = column.body
    if not isinstance(body, Bins) or not (body.stepped or isinstance(body, Dates)):
        return None
    lattice = body.lattice
    first, last = int(lattice.low[0]), int(lattice.high[-1])
    if last - first < CELLS or isinstance(body, Dates):
        return range(first, last + 1)
    numbers: list[Fraction] = []
    for one in node.find_all(exp.Column):
        if scope.column(one).attribute == column.attribute:
            beside = _compared(one)
            if beside is None:
                return None
            numbers += beside
    kept = {*lattice.low.tolist(), *lattice.high.tolist()}
    for number in numbers:
        below = int(number / lattice.step // 1)
        kept |= {k for k in (below - 1, below, below + 1, below + 2) if first <= k <= last}
    return sorted(kept)


def _compared(column: Any) -> list[Fraction] | None:
    """The numbers that a column is compared with; None if something else is done with it."""
    inner, around = column, column.parent
    while type(around) is exp.Paren:
        inner, around = around, around.parent
    if type(around) is exp.Is:
        return []
    if not isinstance(around, _COMPARED) or around.args.get("query"):
        return None
    others = [part for part in around.iter_expressions() if part is not inner]
    found = [_number(part) for part in others]
    return None if any(n is None for n in found) else [n for n in found if n is not None]


def _number(node: Any) -> Fraction | None:
    """A literal number; None for anything else."""
    node = bare(node)
    if type(node) is exp.Neg:
        inner = _number(node.this)
        return None if inner is None else -inner
    try:
        return Fraction(node.this) if type(node) is exp.Literal and not node.is_string else None
    except ValueError:
        return None
