"""What of an owner's SELECT would be another thing at another moment, or fail by what a row holds.

Some texts stand for a moment where a date is expected: 'now' is another one for each connection, and a table
must have the same rows in every pass. Texts that are put in order by a collation of their own cannot be
matched by LIKE where different texts may be equal, and two collations in one value are none; PostgreSQL says
both only when it meets a row with a text there, so whether it does would depend on that row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot import exp

from hedgerow.curator.rows.postgres_types import DATE, TIMESTAMP, TIMESTAMPTZ, PgType
from hedgerow.errors import SourceError

_MOMENTS = {"now", "today", "tomorrow", "yesterday"}
_DEFAULT = (0, 100)  # no collation, and the database's own


def refuse_unsteady(tree: exp.Select, columns: Mapping[str, PgType]) -> None:
    """Refuse it, in one sentence.

    Args:
        tree: the statement.
        columns: the columns of its table, with their types.
    """
    used = _types(tree, columns)
    texts = [node.name.lower() for node in tree.find_all(exp.Literal) if node.is_string]
    found = sorted({word for text in texts for word in re.findall("[a-z]+", text)} & _MOMENTS)
    if found and any(type_.oid in (DATE, TIMESTAMP, TIMESTAMPTZ) for type_ in used):
        raise SourceError(f"`query` has {found[0]!r}, which changes while rows are read: write the day")
    for node in tree.find_all(exp.Like, exp.ILike):
        if not all(type_.exact for type_ in _types(node, columns)):
            raise SourceError(
                "`query` has LIKE for a column in whose collation different texts are equal, which fails for "
                "rows that have one: compare with = or IN"
            )
    for value in tree.find_all(exp.Case, exp.Coalesce):
        if len({type_.collation for type_ in _types(value, columns)} - set(_DEFAULT)) > 1:
            raise SourceError(
                "`query` has a CASE or COALESCE over columns of two collations, which fails for rows that "
                "have a text there: use columns of one"
            )


def _types(node: exp.Expr, columns: Mapping[str, PgType]) -> list[PgType]:
    """The types of the table's columns in a part of the statement."""
    names = (column.this for column in node.find_all(exp.Column) if isinstance(column.this, exp.Identifier))
    read = (str(n.this) if n.args.get("quoted") else str(n.this).lower() for n in names)
    return [columns[name] for name in read if name in columns]
