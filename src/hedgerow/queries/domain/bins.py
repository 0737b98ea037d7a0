"""Bins: attributes of numbers and of dates, put into intervals."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from zoneinfo import ZoneInfoNotFoundError

import numpy as np

from hedgerow.errors import DomainMismatch
from hedgerow.queries import argument
from hedgerow.queries.domain import days, encoding, written
from hedgerow.queries.domain.attribute import Attribute

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

Period = Literal["day", "week", "month", "quarter", "year"]

_MOST_BINS = 10_000_000


@dataclass(frozen=True, eq=False)
class Bins(Attribute):
    """Numbers in half-open bins [a, b); the last bin also holds its right edge.

    Args:
        edges: where the bins end, in increasing order.
        whole: the numbers are whole, so a bin is worth the mean of the whole numbers in it, a synthetic row
            holds one of them, and `<= 39` in SQL is `< 40`; otherwise it is worth its midpoint. Rows are
            binned alike.

    >>> Bins([0, 18, 65, 120]).encode([17.9, 18, 70, -5, 300]).tolist()
    [0, 1, 2, 0, 2]
    >>> Bins([1, 2, 20, 25, 30]).values, Bins([1, 2, 20, 25, 30], whole=True).values
    ((1.5, 11.0, 22.5, 27.5), (1.0, 10.5, 22.0, 27.5))
    """

    edges: Sequence[float] = ()
    whole: bool = False
    ordered: ClassVar[bool] = True
    accepts: ClassVar[frozenset[str]] = frozenset({"integer", "float"})
    formats: ClassVar[str] = "times of day, like `%H:%M`"
    takes_decimal: ClassVar[bool] = True

    def __init__(self, edges: Sequence[float], *, whole: bool = False, **options: Any) -> None:
        object.__setattr__(self, "edges", tuple(edges) if isinstance(edges, Iterable) else ())
        object.__setattr__(self, "whole", whole)
        super().__init__(**options)
        if not isinstance(whole, bool):
            raise DomainMismatch(f"`whole` is true or false, not {whole!r}")
        numbers = argument.numbers("the edges of bins", self.edges)
        if len(numbers) < 2 or not np.isfinite(numbers).all() or (np.diff(numbers) <= 0).any():
            raise DomainMismatch("bins need at least two finite edges in increasing order")
        if whole and (self._ends[0] > self._ends[1]).any():
            raise DomainMismatch("a bin of `whole` numbers holds none: choose wider bins")
        self._check_hierarchy()

    @cached_property
    def edge_array(self) -> NDArray[np.float64]:
        """The edges as numbers (days since 1970-01-01 for dates)."""
        return np.asarray(self.edges, dtype=np.float64)

    @cached_property
    def _ends(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The lowest and the highest number of every bin (or what the highest stays below)."""
        low, high = self.edge_array[:-1], self.edge_array[1:]
        if not self.whole:
            return low, high
        return np.ceil(low), np.append(np.ceil(high[:-1]) - 1, np.floor(high[-1]))  # the last edge is in

    @cached_property
    def values(self) -> tuple[Any, ...]:
        """The midpoint of every bin, or the mean of the whole numbers in it."""
        low, high = self._ends
        return tuple(((low + high) / 2).tolist())

    @property
    def examples(self) -> tuple[Any, ...]:
        """The midpoints, or whole numbers in the middle of their bins."""
        return tuple(int(np.floor(v)) for v in self.values) if self.whole else self.values

    @property
    def reach(self) -> float:
        """How far a number inside the bins can be from what its bin is worth."""
        low, high = self._ends
        return float((high - low).max()) / 2

    @property
    def _value_labels(self) -> tuple[str, ...]:
        ends = [f"{e:g}" if float(f"{e:g}") == e else repr(float(e)) for e in self.edges]
        right = [")"] * (len(ends) - 2) + ["]"]
        return tuple(f"[{a}, {b}{r}" for a, b, r in zip(ends[:-1], ends[1:], right, strict=True))

    def _is_format(self, format: str) -> bool:
        return written.is_time(format)

    def _plain(self, array: pa.Array) -> pa.Array:
        array = array if self.decimal is None else written.plain_numbers(array, self.decimal)
        return array if self.format is None else written.hours(array, self.format)

    def check_column(self, arrow_type: pa.DataType, *, untyped: bool) -> str | None:
        """Text is read as numbers where the schema says how they are written."""
        written_so = self.format is not None or self.decimal is not None
        return super().check_column(arrow_type, untyped=untyped or written_so)

    def _numbers(self, array: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        return encoding.as_numbers(self._read(array))

    def _encode_arrow(self, array: pa.Array) -> NDArray[np.int32]:
        numbers, unparsed = self._numbers(array)
        bins = len(self.edges) - 1
        low, high = (self.other_code, self.other_code) if self.other_code is not None else (0, bins - 1)
        codes = encoding.digitize(numbers, self.edge_array, self._null_code, low, high)
        if unparsed.any():
            codes[unparsed] = self._outside_code
        return codes

    @property
    def outside_becomes(self) -> str:
        """Numbers beyond the ends are clipped unless `other` is declared; what is no number cannot be."""
        last = self.labels[self._outside_code]
        return last if self.other else f"the nearest bin, or {last} if it cannot be read"

    def describe(self) -> str:
        """What the attribute is, in a few words."""
        return f"{len(self.values)} {'bins of whole numbers' if self.whole else 'numeric bins'}"

    def _body(self) -> dict[str, Any]:
        edges = [int(e) if float(e).is_integer() else float(e) for e in self.edges]
        return {"edges": edges} | ({"whole": True} if self.whole else {})


@dataclass(frozen=True, eq=False)
class Dates(Bins):
    """Dates in calendar periods from `start` up to (not including) `stop`.

    Args:
        start, stop, by: the calendar.
        zone: in which time zone's calendar moments with a zone are read (`Europe/Berlin`); each in its own,
            as it is written or as its column says, if None. See `days`.

    >>> Dates("2024-01-01", "2024-07-01", by="month").encode(["2024-02-29", "2024-06-30T12:00"]).tolist()
    [1, 5]
    """

    start: dt.date = dt.date.min
    stop: dt.date = dt.date.min
    by: Period = "month"
    zone: str | None = None
    accepts: ClassVar[frozenset[str]] = frozenset({"date", "text"})
    formats: ClassVar[str] = "days, like `%d.%m.%Y`"
    takes_decimal: ClassVar[bool] = False

    def __init__(
        self,
        start: str | dt.date,
        stop: str | dt.date,
        by: Period = "month",
        *,
        zone: str | None = None,
        **options: Any,
    ) -> None:
        given = {"start": _date(start), "stop": _date(stop), "by": by, "zone": _zone(zone)}
        for name, value in given.items():
            object.__setattr__(self, name, value)
        edges = [_days(d) for d in _calendar(self.start, self.stop, by)]
        super().__init__(edges, whole=False, **options)

    @cached_property
    def values(self) -> tuple[Any, ...]:
        """The first day of every period."""
        return tuple(dt.date(1970, 1, 1) + dt.timedelta(days=int(e)) for e in self.edge_array[:-1])

    @property
    def _value_labels(self) -> tuple[str, ...]:
        return tuple(
            {
                "day": d.isoformat(),
                "week": f"week of {d.isoformat()}",
                "month": f"{d:%Y-%m}",
                "quarter": f"{d.year}-Q{(d.month + 2) // 3}",
                "year": str(d.year),
            }[self.by]
            for d in self.values
        )

    def _numbers(self, array: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        return days.as_days(self._read(array), self.zone)

    def _is_format(self, format: str) -> bool:
        return written.is_day(format)

    def _plain(self, array: pa.Array) -> pa.Array:
        assert self.format is not None
        return written.iso_days(array, self.format)

    def check_column(self, arrow_type: pa.DataType, *, untyped: bool) -> str | None:
        """Whole numbers are days where a format says how."""
        if self.format is not None and encoding.kind_of(arrow_type) == "integer":
            return None
        return super().check_column(arrow_type, untyped=untyped)

    def describe(self) -> str:
        """What the attribute is, in a few words."""
        return f"dates by {self.by}" + (f" in {self.zone}" if self.zone else "")

    def _body(self) -> dict[str, Any]:
        body = {"start": self.start.isoformat(), "stop": self.stop.isoformat(), "by": self.by}
        return {"dates": body | ({"zone": self.zone} if self.zone else {})}


def bins(start: float, stop: float, width: float, **options: Any) -> Bins:
    """Numeric bins of equal width from `start` to `stop` (the last one may be narrower); options of `Bins`.

    >>> bins(0, 100, 5).size
    20
    """
    named = (("start", start), ("stop", stop), ("width", width))
    least, most, wide = (argument.number(f"the {name} of bins", given) for name, given in named)
    if not width > 0 or not stop > start:
        raise DomainMismatch("bins(start, stop, width) needs start < stop and a positive width")
    number = (most - least) / wide
    if not number <= _MOST_BINS:
        raise DomainMismatch(f"an attribute has {_MOST_BINS:,} bins at most: choose a larger width")
    edges = [start + i * width for i in range(int(np.ceil(number - 1e-9)))] + [stop]
    return Bins([round(e, 12) if isinstance(e, float) else e for e in edges], **options)


def dates(start: str | dt.date, stop: str | dt.date, by: Period = "month", **options: Any) -> Dates:
    """Calendar periods (`day`, `week`, `month`, `quarter`, `year`) from `start` up to `stop`; see `Dates`."""
    return Dates(start, stop, by, **options)


def _date(value: str | dt.date) -> dt.date:
    if isinstance(value, dt.datetime):
        return value.date()
    if isinstance(value, dt.date):
        return value
    if not isinstance(value, str):
        raise DomainMismatch("a date is written like 2024-12-31")
    try:
        return dt.date.fromisoformat(value)
    except ValueError:
        raise DomainMismatch(f"{value!r} is not a date like 2024-12-31") from None


def _zone(name: str | None) -> str | None:
    """A time zone by the name that the IANA database has for it."""
    if name is None:
        return None
    try:
        days.named_zone(name)
    except (ZoneInfoNotFoundError, ValueError, TypeError, AttributeError, OSError):
        raise DomainMismatch(f"{name!r} is not a time zone like Europe/Berlin") from None
    return name


def _days(day: dt.date) -> int:
    return (day - dt.date(1970, 1, 1)).days


def _calendar(start: dt.date, stop: dt.date, by: Period) -> list[dt.date]:
    """The first days of all periods in [start, stop), then stop."""
    if not stop > start:
        raise DomainMismatch("dates need start < stop")
    if not isinstance(by, str) or by not in ("day", "week", "month", "quarter", "year"):
        raise DomainMismatch("dates go by day, week, month, quarter or year")
    if by in ("day", "week"):
        step = dt.timedelta(days=1 if by == "day" else 7)
        days = [start + i * step for i in range(-(-(stop - start) // step))]
        return [*days, stop]
    months = {"month": 1, "quarter": 3, "year": 12}[by]
    out = [start]
    index = start.year * 12 + start.month - 1
    index -= index % months
    while True:
        index += months
        if index >= 12 * (dt.MAXYEAR + 1):
            return [*out, stop]
        nxt = dt.date(index // 12, index % 12 + 1, 1)
        if nxt >= stop:
            return [*out, stop]
        out.append(nxt)
