"""COUNT(DISTINCT column): how many declared levels have rows."""

from __future__ import annotations

from sqlglot import exp

from hedgerow.errors import UnsupportedSQL
from hedgerow.queries.sql.column import SqlColumn
from hedgerow.queries.sql.node import bare
from hedgerow.queries.sql.stages.levels import is_exact


def counted(node: exp.Expr) -> exp.Expr | None:
    """The column of COUNT(DISTINCT column)."""
    inner = bare(node)
    if type(inner) is not exp.Count or type(inner.this) is not exp.Distinct:
        return None
    columns = inner.this.expressions
    if len(columns) != 1:
        raise UnsupportedSQL("COUNT(DISTINCT ...) of several columns is not supported")
    column: exp.Expr = columns[0]
    return column


_ONE = "All values of {!r} that are not declared count as one: how many there are was not released."


def check_counted(column: SqlColumn) -> tuple[str, ...]:
    """What to say of a column whose levels are counted; refuses what has several values in a level.

    How many of those have rows is not known.
    """
    if column.kind in ("bins", "periods") and not is_exact(column):
        name = column.name
        bins = f"SELECT {name}, COUNT(*) AS n FROM t GROUP BY 1 HAVING COUNT(*) > 0"
        raise UnsupportedSQL(
            f"{name!r} is declared in bins, and how many values of a bin have rows is not known: count its "
            f"bins, SELECT COUNT(*) FROM ({bins}) AS bins"
        )
    other = column.hierarchy is None and column.body.other_code is not None
    return (_ONE.format(column.name),) if other else ()
