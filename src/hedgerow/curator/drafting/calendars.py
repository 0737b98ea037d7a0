"""Calendars of drafts: which periods a column of days is put into, and the hours beside them."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from hedgerow.queries.domain.bins import Dates
from hedgerow.queries.domain.hours import Hours

if TYPE_CHECKING:
    from hedgerow.curator.drafting.column import SeenColumn
    from hedgerow.queries.domain.attribute import Attribute

_SHORT = 62  # days: so few are told apart


def calendar(first: float, last: float, **options: Any) -> Dates:
    """Years over a long span, months over a short one, from whole years to whole years."""
    start, end = _days(first, last)
    by: Any = "month" if end.year - start.year < 12 else "year"
    stop = dt.date(end.year + 1, 1, 1) if end.year < dt.MAXYEAR else dt.date.max  # the last edge is in
    return Dates(dt.date(start.year, 1, 1), stop, by, **options)


def seen_calendar(first: float, last: float, **options: Any) -> Dates:
    """The same of a first and a last day; single days of whole months, where those are two or so."""
    start, end = _days(first, last)
    if last - first >= _SHORT or end >= dt.date(dt.MAXYEAR, 12, 1):
        return calendar(first, last, **options)
    after = (end.replace(day=1) + dt.timedelta(days=31)).replace(day=1)
    return Dates(start.replace(day=1), after, "day", **options)


def hours_beside(column: SeenColumn, found: Attribute) -> Hours | None:
    """The hours of a column of moments, if there are several; None of one that holds days alone."""
    if not isinstance(found, Dates):
        return None
    several = column.formats.timed if found.format else len(column.hours) > 1
    missing = found.words or found.missing
    return Hours(column.name, format=found.format, zone=found.zone, missing=missing) if several else None


def _days(first: float, last: float) -> tuple[dt.date, dt.date]:
    start, end = (dt.date(1970, 1, 1) + dt.timedelta(days=int(d)) for d in (first, last))
    return start, end
