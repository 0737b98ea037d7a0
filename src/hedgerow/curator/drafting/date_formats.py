"""DateFormats: which of the common formats of days and times all values of a column are written in."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from hedgerow.queries.domain import written
from hedgerow.queries.domain.days import as_days
from hedgerow.queries.domain.encoding import as_numbers

_DAYS = (
    "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%d.%m.%Y", "%Y.%m.%d", "%d-%m-%Y", "%m-%d-%Y", "%Y%m%d", "%d %b %Y",
    "%d-%b-%Y", "%b %d, %Y", "%b %d %Y", "%m/%d/%y", "%d/%m/%y", "%d.%m.%y", "%d-%b-%y", "%Y-%m-%d",
)  # fmt: skip
_TIMES = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p")
COMMON = (*_DAYS, *(f"{day} {time}" for day in _DAYS[:-1] for time in _TIMES), *_TIMES)
"""What is tried, in this order."""

_CENTURY = (-25_567, 47_482)  # 1900 to 2099: eight digits that are no such day are a number


@dataclass
class DateFormats:
    """Formats that may still be the column's."""

    left: dict[str, list[float]] = field(default_factory=lambda: {f: [] for f in COMMON[:-4]})
    times: list[str] = field(default_factory=lambda: list(_TIMES))
    hours: dict[str, set[float]] = field(default_factory=dict)
    seen: int = 0

    def see(self, texts: list[str]) -> None:
        """Take in different values of one batch."""
        import pyarrow as pa

        if not texts or not (self.left or self.times):
            return
        self.seen += len(texts)
        cells, first = pa.array(texts, pa.string()), texts[0].strip()
        for format in list(self.left):
            if re.match(written.pattern(format), first) is None:  # of nearly all formats the first one tells
                del self.left[format]
                continue
            days, wrong = as_days(written.iso_days(cells, format))
            if wrong.any() or np.isnan(days).any() or not _plausible(format, days):
                del self.left[format]
                continue
            ends = [*self.left[format], float(days.min()), float(days.max())]
            self.left[format] = [min(ends), max(ends)]
            if written.is_moment(format):
                hours = as_numbers(written.hours(cells, format))[0] // 1
                self.hours.setdefault(format, set()).update(hours.tolist())
        for format in list(self.times):
            wrong_first = re.match(written.pattern(format), first) is None
            if wrong_first or np.isnan(as_numbers(written.hours(cells, format))[0]).any():
                self.times.remove(format)

    @property
    def day(self) -> tuple[str, float, float] | None:
        """The format of the column's days with the first and the last of them; None if they are no days."""
        if not self.seen or not self.left:
            return None
        format = next(iter(self.left))
        return format, *self.left[format]  # type: ignore[return-value]

    @property
    def ambiguous(self) -> str | None:
        """Another order of day and month that all values could be written in."""
        first = next(iter(self.left), "")
        swapped = first.replace("%d", "%x").replace("%m", "%d").replace("%x", "%m")
        return swapped if swapped != first and swapped in self.left else None

    @property
    def timed(self) -> bool:
        """Whether the days have times beside them, of several hours."""
        return len(self.hours.get(next(iter(self.left), ""), ())) > 1

    @property
    def time(self) -> str | None:
        """The format of the column's times of day, if all are."""
        return self.times[0] if self.seen and self.times else None


def _plausible(format: str, days: np.ndarray) -> bool:
    return format != "%Y%m%d" or bool(((days >= _CENTURY[0]) & (days <= _CENTURY[1])).all())
