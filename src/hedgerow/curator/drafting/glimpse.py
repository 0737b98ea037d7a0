"""Glimpse: PRIVATE, a few values of one column with exact counts, and what it would be as each kind.

It is for the owner's eyes, once: whoever is given one shows it to whoever asked, and keeps nothing of it.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field

from hedgerow.curator.drafting.column import SeenColumn
from hedgerow.curator.drafting.guess import readings
from hedgerow.queries.domain.attribute import Attribute

SHOWN = 5  # values
_LONGEST = 40  # signs of one


@dataclass(frozen=True)
class Glimpse:
    """PRIVATE: what the owner is shown of one column.

    Args:
        common: its most common values, each with how many rows hold it.
        different: how many different values there are; None if too many to tell.
        missing: how many rows hold nothing.
        ends: the least and the largest number, or the first and the last day; None if it holds neither.
        readings: the attribute that it would be as `levels`, `edges` or `dates`, where its values can be
            read as that.
    """

    common: tuple[tuple[str, int], ...] = field(repr=False)
    different: int | None = field(repr=False)
    missing: int = field(repr=False)
    ends: tuple[str, str] | None = field(repr=False)
    readings: dict[str, Attribute] = field(repr=False)

    @classmethod
    def of(cls, column: SeenColumn, least: int) -> Glimpse:
        """Of a column that was seen; `least` as in a draft."""
        held = column.counts
        common = () if held is None else tuple((_short(v), times) for v, times in held.most_common(SHOWN))
        many = None if held is None else column.different if column.number else len(held)
        return cls(common, many, column.missing, _ends(column), readings(column, least))


def _short(value: str) -> str:
    return value if len(value) <= _LONGEST else value[: _LONGEST - 1] + "…"


def _ends(column: SeenColumn) -> tuple[str, str] | None:
    if column.dates and column.dates == column.said:
        days = [dt.date(1970, 1, 1) + dt.timedelta(days=int(d)) for d in (column.first, column.last)]
        return days[0].isoformat(), days[1].isoformat()
    if column.number:
        return f"{column.low:,.12g}", f"{column.high:,.12g}"
    return None
