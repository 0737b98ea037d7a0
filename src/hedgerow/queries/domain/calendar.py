"""Calendar: what a day is called in months, quarters, years, weeks and days of the week."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

EPOCH = dt.date(1970, 1, 1)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
VIEWS: dict[str, Callable[[dt.date], str]] = {
    "day_of_week": lambda d: f"{d.isoweekday()} {_DAYS[d.weekday()]}",
    "week": lambda d: f"week of {d - dt.timedelta(days=d.weekday())}",
    "month": lambda d: f"{d:%Y-%m}",
    "month_of_year": lambda d: f"{d:%m}",
    "quarter": lambda d: f"{d.year}-Q{(d.month + 2) // 3}",
    "year": lambda d: str(d.year),
}
"""What a day is called in each view of the calendar."""
