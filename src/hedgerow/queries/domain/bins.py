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
from hedgerow.queries.domain.calendar import EPOCH, VIEWS
from hedgerow.queries.domain.lattice import Lattice

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

Period = Literal["day", "week", "month", "quarter", "year"]

_MOST_BINS = 10_000_000


@dataclass(frozen=True, eq=False)
class Bins(Attribute):
    """Numbers in half-open bins [a, b), on the lattice of a step; without a step the last bin holds its end.

    Args:
        edges: where the bins end, in increasing order.
        step: what numbers are multiples of: 1 for whole ones, 0.01 for cents. Then `= 9`, `<= 39` and
            `BETWEEN 30 AND 39` mean what they say, bins are called `9` and `30-39`, and there is a missing
            level unless `missing=False`. Rows are binned alike with and without; the last edge is clipped.
        whole: the older way to write `step=1`, which declares no missing level.

    >>> Bins([0, 18, 65, 120]).encode([17.9, 18, 70, -5, 300]).tolist()
    [0, 1, 2, 0, 2]
    >>> Bins([0, 18, 65, 120], step=1).labels
    ('0-17', '18-64', '65-119', '(missing)')
    >>> Bins([1, 2, 20, 25, 30]).values, Bins([1, 2, 20, 25, 30], step=1).values
    ((1.5, 11.0, 22.5, 27.5), (1.0, 10.5, 22.0, 27.0))
    """

    edges: Sequence[float] = ()
    whole: bool = False
    step: float | None = None
    ordered: ClassVar[bool] = True
    accepts: ClassVar[frozenset[str]] = frozenset({"integer", "float"})
    formats: ClassVar[str] = "times of day, like `%H:%M`"
    takes_decimal: ClassVar[bool] = True

    def __init__(
        self, edges: Sequence[float], *, step: float | None = None, whole: bool = False, **options: Any
    ) -> None:
        object.__setattr__(self, "edges", tuple(edges) if isinstance(edges, Iterable) else ())
        object.__setattr__(self, "whole", whole)
        object.__setattr__(self, "step", _step(step))
        super().__init__(**({"missing": True} if step is not None else {}) | options)
        if not isinstance(whole, bool):
            raise DomainMismatch(f"`whole` is true or false, not {whole!r}")
        if whole and step is not None:
            raise DomainMismatch("`whole` is the older way to write `step: 1`: declare one of them")
        numbers = argument.numbers("the edges of bins", self.edges)
        if len(numbers) < 2 or not np.isfinite(numbers).all() or (np.diff(numbers) <= 0).any():
            raise DomainMismatch("bins need at least two finite edges in increasing order")
        if self.stepped and (self.lattice.half < 0).any():
            kind = "`whole` numbers" if whole else f"numbers with step {self.step}"
            raise DomainMismatch(f"a bin of {kind} holds none: choose wider bins")
        self._check_hierarchy()

    @cached_property
    def edge_array(self) -> NDArray[np.float64]:
        """The edges as numbers (days since 1970-01-01 for dates)."""
        return np.asarray(self.edges, dtype=np.float64)

    @property
    def stepped(self) -> bool:
        """Whether a step is declared."""
        return self.whole or self.step is not None

    @cached_property
    def lattice(self) -> Lattice:
        """Which values each bin holds."""
        return Lattice.of(self.edges, 1 if self.whole else self.step)

    @cached_property
    def values(self) -> tuple[Any, ...]:
        """The midpoint of every bin: of the values in it if a step is declared, else of its edges."""
        if self.stepped:
            return self.lattice.middles
        return tuple(((self.edge_array[:-1] + self.edge_array[1:]) / 2).tolist())

    @property
    def examples(self) -> tuple[Any, ...]:
        """The midpoints, or values of the lattice in the middle of their bins."""
        if not self.stepped:
            return self.values
        middles = [self.lattice.step * (m // 2) for m in self.lattice.centre.tolist()]
        whole = self.lattice.step.denominator == 1
        return tuple(int(m) if whole else float(m) for m in middles)

    @property
    def reach(self) -> float:
        """How far a number inside the bins can be from what its bin is worth."""
        if self.stepped:
            return float(self.lattice.halves.max())
        return float(np.diff(self.edge_array).max()) / 2

    @property
    def _value_labels(self) -> tuple[str, ...]:
        return self._ranges if self.stepped else self._intervals

    @property
    def _ranges(self) -> tuple[str, ...]:
        """The bins by the first and the last value in them."""
        between = " to " if (self.lattice.low < 0).any() else "-"
        ends = zip(self.lattice.low.tolist(), self.lattice.high.tolist(), strict=True)
        spell = self.lattice.spell
        return tuple(spell(a) if a == b else f"{spell(a)}{between}{spell(b)}" for a, b in ends)

    @property
    def _intervals(self) -> tuple[str, ...]:
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
        written_so = self.format is not None or self.decimal is not None or self.step is not None
        return super().check_column(arrow_type, untyped=untyped or written_so)

    @property
    def _other_names(self) -> tuple[tuple[str, ...], ...]:
        """Bins with a step are also found by their edges, as files of before call them."""
        return (self._intervals,) if self.stepped else ()

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

    def remainders(self, values: Any, codes: NDArray[Any]) -> NDArray[np.int64]:
        """How far values are from the middles of the bins that `codes` says, in half-steps of the lattice."""
        numbers, _ = self._numbers(encoding.to_arrow(values))
        return self.lattice.values(numbers, codes)

    @property
    def outside_becomes(self) -> str:
        """Numbers beyond the ends are clipped unless `other` is declared; what is no number cannot be."""
        last = self.labels[self._outside_code]
        return last if self.other else f"the nearest bin, or {last} if it cannot be read"

    def describe(self) -> str:
        """What the attribute is, in a few words."""
        if not self.stepped:
            return f"{len(self.edges) - 1} numeric bins"
        lattice = self.lattice
        kind = "whole numbers" if lattice.step == 1 else f"numbers with step {lattice.spell(1)}"
        return f"{len(self.values)} bins of {kind}"

    def _body(self) -> dict[str, Any]:
        body: dict[str, Any] = {"edges": [int(e) if float(e).is_integer() else float(e) for e in self.edges]}
        if self.whole:
            body["whole"] = True
        if self.step is not None:
            body |= {"step": self.step} | ({} if self.missing else {"missing": False})
        return body


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
        given = {"start": _date(start), "stop": _date(stop), "by": by, "zone": checked_zone(zone)}
        for name, value in given.items():
            object.__setattr__(self, name, value)
        edges = [_days(d) for d in _calendar(self.start, self.stop, by)]
        super().__init__(edges, **options)

    @cached_property
    def lattice(self) -> Lattice:
        """Which days each period holds."""
        return Lattice.of(self.edges, 1)

    @property
    def examples(self) -> tuple[Any, ...]:
        """The first day of every period."""
        return self.values

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

    @property
    def _other_names(self) -> tuple[tuple[str, ...], ...]:
        return ()

    @cached_property
    def calendar(self) -> tuple[str, ...]:
        """Months, quarters, years, weeks and days of the week: those that no period lies across."""
        return tuple(name for name in VIEWS if name not in self.hierarchy and self._view(name) is not None)

    def groups(self, name: str) -> tuple[tuple[str, ...], NDArray[np.int32]]:
        """The groups of a view of the calendar, or of a declared hierarchy, and the group of every level."""
        if name not in self.calendar:
            return super().groups(name)
        found = self._view(name)
        assert found is not None
        names = list(dict.fromkeys(found))
        if name in ("month_of_year", "day_of_week"):
            names.sort()
        parent = [names.index(label) for label in found]
        if self.size > len(found):
            names.append("other")
            parent += [len(names) - 1] * (self.size - len(found))
        return tuple(names), np.array(parent, dtype=np.int32)

    def _view(self, name: str) -> list[str] | None:
        """What each period is called in a view of the calendar; None if one lies across two of its groups."""
        first, last = (
            [EPOCH + dt.timedelta(days=int(k)) for k in ends]
            for ends in (self.lattice.low, self.lattice.high)
        )
        label = VIEWS[name]
        pairs = [(label(a), label(b)) for a, b in zip(first, last, strict=True)]
        longest = {"day_of_week": 1, "month_of_year": 31}.get(name, 10**6)
        whole = all(a == b for a, b in pairs) and int(self.lattice.half.max()) < longest
        return [a for a, _ in pairs] if whole else None

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


def _step(given: Any) -> float | int | None:
    """A declared step: a positive number, whole ones as integers."""
    if given is None:
        return None
    found = argument.finite("the step of numbers", given)
    if not found > 0:
        raise DomainMismatch("the step of numbers is positive")
    return int(found) if found.is_integer() else found


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


def checked_zone(name: str | None) -> str | None:
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
