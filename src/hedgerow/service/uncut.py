"""Uncut: a statement with its comparisons moved to edges of bins, so that none of them cuts one.

It works on the words: what is around a comparison stays as it was typed. What comes out is only offered if it
compiles, so a comparison that is no comparison (in a text, say) does no harm.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from hedgerow.queries.domain.bins import Bins, Dates

if TYPE_CHECKING:
    from hedgerow.queries.domain.domain import Domain

WAYS = ("nearest", "wider", "narrower")
_NUMBER = r"[+-]?\d+(?:\.\d+)?"
_LONGEST = 10_000  # signs of a statement that is looked at
_SWAPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def uncut(sql: str, domain: Domain, way: str) -> tuple[str, str]:
    """The statement with all comparisons that cut bins moved, and those comparisons in words.

    Args:
        sql: the statement.
        domain: what was declared.
        way: to the `nearest` edges, or so that rows come in (`wider`) or go out (`narrower`).

    >>> from hedgerow.queries.domain.domain import Domain
    >>> domain = Domain({"age": {"bins": [0, 100, 10]}})
    >>> uncut("SELECT COUNT(*) FROM t WHERE age BETWEEN 33 AND 57", domain, "wider")[1]
    'age >= 30 AND age < 60'
    """
    told: list[str] = []
    low = sql.lower()
    if len(sql) > _LONGEST:
        return sql, ""
    for name, attribute in domain.items():
        if not isinstance(attribute, Bins) or isinstance(attribute, Dates) or attribute.stepped:
            continue
        if name.lower() in low:
            sql = _moved(sql, name, [float(edge) for edge in attribute.edges], way, told)
    return sql, ", ".join(told)


def _moved(sql: str, name: str, edges: Sequence[float], way: str, told: list[str]) -> str:
    inside = re.escape(name.replace('"', '""'))
    column = rf'(?P<column>(?<![\w"])(?:\w{{1,64}}\.)?(?:"{inside}"|{re.escape(name)}(?![\w"])))'
    between = rf"{column}\s+(?P<no>NOT\s+)?BETWEEN\s+(?P<a>{_NUMBER})\s+AND\s+(?P<b>{_NUMBER})(?![\w.])"
    plain = rf"{column}\s*(?P<op><=|>=|=|<(?!>)|(?<!<)>)\s*(?P<a>{_NUMBER})(?![\w.])"
    turned = rf"(?<![\w.])(?P<a>{_NUMBER})\s*(?P<op><=|>=|=|<(?!>)|(?<!<)>)\s*{column}"
    steps: tuple[tuple[str, Callable[[re.Match[str]], str | None]], ...] = (
        (between, partial(_between, edges=edges, way=way)),
        (plain, lambda m: _compared(m["column"], m["op"], float(m["a"]), edges, way)),
        (turned, lambda m: _compared(m["column"], _SWAPPED[m["op"]], float(m["a"]), edges, way)),
    )

    def put(found: re.Match[str], make: Callable[[re.Match[str]], str | None]) -> str:
        made = make(found)
        if made is None or _bare(made) == _bare(found[0]):
            return found[0]
        told.append(made.removeprefix("(").removesuffix(")"))
        return made

    for pattern, make in steps:
        sql = re.sub(pattern, partial(put, make=make), sql, flags=re.I)
    return sql


def _bare(condition: str) -> str:
    return condition.replace(" ", "")


def _between(found: re.Match[str], edges: Sequence[float], way: str) -> str | None:
    low, high = float(found["a"]), float(found["b"])
    if not edges[0] <= low < high <= edges[-1]:
        return None
    column = found["column"]
    first, last = _low(low, edges, way), _high(high, edges, way)
    if not first < last:
        return None
    made = f"{column} >= {first:.12g} AND {column} {_upto(last, edges)}"
    return f"NOT ({made})" if found["no"] else f"({made})"


def _compared(column: str, op: str, value: float, edges: Sequence[float], way: str) -> str | None:
    if not edges[0] <= value <= edges[-1]:
        return None
    if op == "=":
        first, last = _low(value, edges, "wider"), _high(value, edges, "wider")
        return f"({column} >= {first:.12g} AND {column} {_upto(last, edges)})" if first < last else None
    if op in (">", ">="):
        return f"{column} >= {_low(value, edges, way):.12g}"
    return f"{column} {_upto(_high(value, edges, way), edges)}"


def _low(value: float, edges: Sequence[float], way: str) -> float:
    """The edge from which rows count, for those from a value on."""
    below, above = edges[bisect_right(edges, value) - 1], edges[bisect_left(edges, value)]
    return {"wider": below, "narrower": above}.get(way, below if value - below <= above - value else above)


def _high(value: float, edges: Sequence[float], way: str) -> float:
    """The edge up to which rows count, for those up to a value."""
    below, above = edges[bisect_right(edges, value) - 1], edges[bisect_left(edges, value)]
    return {"wider": above, "narrower": below}.get(way, below if value - below < above - value else above)


def _upto(edge: float, edges: Sequence[float]) -> str:
    """The last bin holds its end, the others do not."""
    return f"{'<=' if edge == edges[-1] else '<'} {edge:.12g}"
