"""Printing: a syntax tree as text, by printers that are kept.

Compiled sqlglot (30.30) never lets go of 64 bytes of every printer that it makes: a server that made one
for each statement would grow for ever. A printer holds nothing from one tree to the next; each thread has
its own.
"""

from __future__ import annotations

import threading

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect

_KEPT = threading.local()


def printed(tree: exp.Expr, dialect: str = "duckdb") -> str:
    """A tree as text.

    Args:
        tree: the whole statement, or a part of it.
        dialect: whose text; empty for that of none.

    >>> from sqlglot import parse_one
    >>> printed(parse_one("select count( * ) from t"))
    'SELECT COUNT(*) FROM t'
    """
    printers = vars(_KEPT)
    if dialect not in printers:
        printers[dialect] = Dialect.get_or_raise(dialect).generator()
    return str(printers[dialect].generate(tree))
