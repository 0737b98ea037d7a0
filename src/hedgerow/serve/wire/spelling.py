"""Spelling: what PostgreSQL's tools write in ways of their own, said plainly before it is asked.

Metabase writes "public"."people"."sex" and CAST("day" AS timestamp), Superset TO_DATE('2024-04-01', ...),
pgjdbc a LIMIT with a cast. None of it changes what is asked.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlglot import exp

from hedgerow.serve.wire import values
from hedgerow.service.catalogue import kind_of

_TIMES = ("TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPNTZ", "DATETIME", "DATE")


def plainly(tree: exp.Query, domain: Any) -> exp.Query | None:
    """The statement said plainly; None where it is plain already.

    Args:
        tree: the statement, which is left as it is.
        domain: the declared columns.
    """
    made, changed = tree.copy(), False
    days = {name for name, attribute in domain.items() if kind_of(attribute) == values.DATE}
    for node in list(made.walk()):
        if isinstance(node, exp.Table | exp.Column) and (node.args.get("db") or node.args.get("catalog")):
            node.set("db", None)
            node.set("catalog", None)
            changed = True
        elif isinstance(node, exp.Limit | exp.Offset) and isinstance(node.expression, exp.Cast):
            node.set("expression", node.expression.this)
            changed = True
        elif (day := _day(node, days)) is not None:
            node.replace(day)
            changed = True
    return made if changed else None


def _day(node: exp.Expr, days: set[str]) -> exp.Expr | None:
    """The day that a moment at midnight is, or the column of days that is cast to one of moments."""
    if isinstance(node, exp.Cast) and node.to.this.name in _TIMES:
        held = node.this
        if isinstance(held, exp.Column) and held.name in days:
            return held
        return None if node.to.this.name == "DATE" else _midnight(held)
    if isinstance(node, exp.StrToTime | exp.StrToDate | exp.TsOrDsToDate):
        return _midnight(node.this) if _is_iso(node.args.get("format")) else None
    return None


def _is_iso(format: Any) -> bool:
    """Whether a text is read year, month, day: in another order it is another day, which is not guessed."""
    if format is None:
        return True
    return isinstance(format, exp.Literal) and format.name.startswith(("%Y-%m-%d", "%Y%m%d"))


def _midnight(held: Any) -> exp.Expr | None:
    if not isinstance(held, exp.Literal) or not held.is_string:
        return None
    try:
        moment = datetime.fromisoformat(held.name.strip())
    except ValueError:
        return None
    if (moment.hour, moment.minute, moment.second, moment.microsecond) != (0, 0, 0, 0) or (
        moment.tzinfo is not None and moment.utcoffset()
    ):
        return None
    return exp.Literal.string(moment.date().isoformat())
