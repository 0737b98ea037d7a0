"""Others: what a comparison says of rows whose value is not declared: `other` ones, and beyond the range."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.queries.domain.bins import Bins, Dates
from hedgerow.queries.domain.divided import Declared, DividedAt
from hedgerow.queries.domain.hours import Hours
from hedgerow.queries.domain.lattice import exact, spelled
from hedgerow.queries.sql.column import OPS, Constant, SqlColumn, date_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Pair = tuple[NDArray[np.bool_], NDArray[np.bool_]]


def compared(column: SqlColumn, op: str, constant: Constant) -> Pair:
    """Where `column op constant` is true and where it is false, also of the parts of an `other` level.

    Text has none that is not a name, and a value that is none of the declared ones equals none of them. Where
    it may be greater or less, the compiler is told to divide the level (`DividedAt`).
    """
    true, false = column.compare(op, constant)
    asked = column.body.other and constant.kind != "null" and column.hierarchy is None
    ordered = column.kind in ("number", "date") and op not in ("=", "<>")
    if not asked or not (ordered or column.kind in ("bins", "periods")):
        return true, false
    number, parts = _number(constant), column.others
    if parts is None or number not in parts.numbers:
        raise DividedAt(column.attribute, declared(column), number, f"{column.name} {op} {constant}")
    for i, stand_in in enumerate(parts.stand_ins):
        met = stand_in is not None and bool(OPS[op](stand_in, number))
        true[parts.code + i], false[parts.code + i] = met, stand_in is not None and not met
    return true, false


def declared(column: SqlColumn) -> Declared:
    """Which numbers a column declares."""
    body = column.body
    if isinstance(body, Dates):
        return Declared(ends=tuple(Fraction(day.toordinal()) for day in (body.start, body.stop)), whole=True)
    if isinstance(body, Bins):
        return Declared(ends=(exact(body.edges[0]), exact(body.edges[-1])))
    levels = frozenset(v for v in map(_level, body.values) if v is not None)
    return Declared(levels, whole=column.kind == "date")


def clamped(column: SqlColumn, op: str, constant: Constant) -> str | None:
    """What to say of a comparison that tells rows beyond the declared range from the end that they count as.

    Nothing of a range from 0 on whose numbers are compared with 0: there such numbers begin.
    """
    body = column.body
    if not isinstance(body, Bins) or isinstance(body, Hours) or body.other or constant.kind == "null":
        return None
    if column.kind not in ("bins", "periods"):
        return None
    number = _number(constant)
    first, last = _ends(body)
    for where, end, side in (("below", first, -1), ("above", last, 1)):
        past = (number - end) * side > 0
        outside = [(number if past else end) + side, *([number, (end + number) / 2] if past else [])]
        differs = {OPS[op](far, number) for far in outside} != {OPS[op](end, number)}
        if differs and not (where == "below" and end == number == 0 and op != "<"):
            ends = " to ".join(_spelled(body, e) for e in (first, last))
            return (
                f"{column.name} counts as clamped to its declared range, {ends}: rows {where} it count as "
                f"{_spelled(body, end)} in {column.name} {op} {constant}"
            )
    return None


def backwards(column: SqlColumn, low: Any, high: Any) -> str | None:
    """What to say of a column between two literals of which the first is greater than the last."""
    ends = [column.read(end) for end in (low, high) if isinstance(end, Constant) and end.kind != "null"]
    if len(ends) < 2 or column.kind == "boolean":
        return None
    first, last = (end.value if column.kind == "text" else _number(end) for end in ends)
    a, b = (f"'{end}'" if end.kind == "date" else f"{end}" for end in ends)
    return (
        f"{column.name} BETWEEN {a} AND {b} has its ends the wrong way round, and nothing lies there: write "
        f"{column.name} BETWEEN {b} AND {a}"
        if first > last
        else None
    )


def _ends(body: Bins) -> tuple[Fraction, Fraction]:
    """The first and the last value that rows are clamped to."""
    if isinstance(body, Dates):
        return Fraction(body.start.toordinal()), Fraction(body.stop.toordinal() - 1)
    if not body.stepped:
        return exact(body.edges[0]), exact(body.edges[-1])
    lattice = body.lattice
    return lattice.step * int(lattice.low[0]), lattice.step * int(lattice.high[-1])


def _spelled(body: Bins, end: Fraction) -> str:
    return date.fromordinal(int(end)).isoformat() if isinstance(body, Dates) else spelled(end)


def _number(constant: Constant) -> Fraction:
    """A literal as a number; a day as its ordinal."""
    value = constant.value
    if constant.kind == "text":  # of a number, or of a day
        value = int(value) if value.lstrip("+-").isdigit() else date_of(value)
    return _level(value) or Fraction(0)


def _level(value: Any) -> Fraction | None:
    if hasattr(value, "toordinal"):
        return Fraction(value.toordinal())
    return exact(value) if isinstance(value, (int, float, np.integer, np.floating)) else None
