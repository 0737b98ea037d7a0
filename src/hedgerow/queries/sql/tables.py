"""Tables: which tables a statement names, so that a question about one dataset is not answered by another."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import lru_cache

from sqlglot import exp

from hedgerow.errors import UnknownTable
from hedgerow.queries.sql.printing import printed
from hedgerow.queries.sql.tokens import tokens_of, tree_of

SCHEMAS = ("", "public", "main", "dbo")
"""What a table's name may have before it: where databases keep tables if nothing is said."""

_KEPT = 1_000  # statements whose tables are remembered


def named(tree: exp.Expr) -> Iterator[exp.Table]:
    """The tables of a statement, without those that it makes itself (WITH)."""
    own = {cte.alias.casefold() for cte in tree.find_all(exp.CTE)}
    return (t for t in tree.find_all(exp.Table) if t.name.casefold() not in own or t.db)


def refuse_other(text: str, name: str, also: Collection[str] = ()) -> None:
    """Refuse a statement that can be read and names another table than a dataset's own.

    Args:
        text: the statement.
        name: what the dataset is called; `t` is it too.
        also: further tables that are declared beside it.

    >>> refuse_other("WITH a AS (SELECT COUNT(*) AS n FROM people) SELECT n FROM a", "people")
    >>> refuse_other("SELECT COUNT(*) FROM visits", "people")
    Traceback (most recent call last):
        ...
    hedgerow.errors.UnknownTable: there is no table 'visits'; there is 'people'
    """
    known = {name.casefold(), "t", *(other.casefold() for other in also)}
    for shown, table, schema, catalog in _named_in(text):
        if table not in known or schema not in SCHEMAS or catalog not in ("", name.casefold()):
            raise UnknownTable(f"there is no table {shown!r}; there is {name!r}")


@lru_cache(_KEPT)
def _named_in(text: str) -> tuple[tuple[str, str, str, str], ...]:
    tables = named(tree_of(tokens_of(text), text))
    return tuple(
        (printed(t, "postgres"), t.name.casefold(), t.db.casefold(), t.catalog.casefold()) for t in tables
    )
