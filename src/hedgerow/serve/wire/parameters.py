"""Parameters: the types of those that a client leaves open, as the statement around them says.

A driver that describes a statement before it sends values (asyncpg, pgjdbc after a while) sends them in the
types that it is told. They are those of a cast, or of the declared column that a parameter stands beside.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from hedgerow.serve.wire import values
from hedgerow.serve.wire.plans import StatementPlan
from hedgerow.service.catalogue import kind_of, printed
from hedgerow.service.catalogue_tables import TYPES, column_kinds

_SYSTEM = column_kinds()
_NAMES = {name: oid for oid, (short, long, _, _) in TYPES.items() for name in (short, long)}
_NAMES |= {
    "int": values.INT4,
    "decimal": values.NUMERIC,
    "char": values.BPCHAR,
    "timestamp": values.TIMESTAMP,
}


def kinds(plan: StatementPlan, sql: str, said: Sequence[int], domain: Any) -> list[int]:
    """The types of a statement's parameters.

    Args:
        plan: what the statement is.
        sql: its text.
        said: the types that the client gave; 0 where it left them open.
        domain: the declared columns.
    """
    bare = re.sub(r"'(?:[^']|'')*'", "", sql)
    most = max([int(number) for number in re.findall(r"\$(\d{1,4})", bare)], default=0)
    held = plan.tree.tree if isinstance(plan.tree, StatementPlan) else plan.tree
    found = _found(held, _columns(plan, domain)) if held is not None else {}
    given = [*said, *[0] * (most - len(said))]
    return [kind or found.get(number, values.TEXT) for number, kind in enumerate(given, 1)]


def _columns(plan: StatementPlan, domain: Any) -> dict[str, int]:
    inner = plan.tree.kind if isinstance(plan.tree, StatementPlan) else plan.kind
    return _SYSTEM if inner == "catalogue" else {name: kind_of(a) for name, a in domain.items()}


def _found(tree: exp.Expr, columns: dict[str, int]) -> dict[int, int]:
    made: dict[int, int] = {}
    for node in tree.find_all(exp.Parameter):
        number = node.this.name if isinstance(node.this, exp.Expr) else str(node.this)
        if number.isascii() and number.isdigit() and len(number) < 5:
            kind = _beside(node, columns)
            if kind is not None:
                made.setdefault(int(number), kind)
    return made


def _beside(node: exp.Expr, columns: dict[str, int]) -> int | None:
    """The type of a cast around a parameter, of a limit, or of the column that it is compared with."""
    above = node.parent
    while isinstance(above, exp.Paren):
        above = above.parent
    if isinstance(above, exp.Cast):
        return _NAMES.get(printed(above.to, "postgres").lower())
    if isinstance(above, exp.Limit | exp.Offset):
        return values.INT8
    if isinstance(above, exp.EQ | exp.NEQ | exp.GT | exp.GTE | exp.LT | exp.LTE | exp.Between | exp.In):
        beside = [part for part in above.iter_expressions() if isinstance(part, exp.Column)]
        return columns.get(beside[0].name) if beside else None
    return None
