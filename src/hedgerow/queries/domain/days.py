"""Days: which calendar day a raw value names, on every machine and for every engine the same.

A moment with a zone falls on a day of the declared zone; where none is declared, on a day of its own: the
offset it is written with, or its column's zone (in a Parquet file the one that its Arrow schema names, else
UTC). A moment without a zone is local already. 24:00 is 00:00 of the next day (ISO 8601), second 60 belongs
to its minute. Days outside of the years 1 to 9999 are no dates. No rule depends on the machine's own zone.
Zones are Python's, not Arrow's, which ends summer time in 2037.
"""

from __future__ import annotations

import datetime as dt
import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import TZPATH, ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from hedgerow.queries.domain.encoding import as_text, kind_of

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    Days = tuple[NDArray[np.float64], NDArray[np.bool_]]

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_FIRST, _LAST = -719_162, 2_932_896  # 0001-01-01 and 9999-12-31, as days since 1970-01-01
_DATE = r"^\s*\d{4}-\d{2}-\d{2}([T ].*)?$"
_ONE_DIGIT = r"^(.{10}[T ])([0-9]:)"
_TIME = (
    r"(?i)^.{10}[T ](?P<hour>\d{2}):?(?P<minute>\d{2})(?::?(?P<second>\d{2})(?:[.,](?P<part>\d*))?)?"
    r"\s*(?P<offset>Z|[+-]\d{2}(?::?\d{2})?)?$"
)
_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def as_days(array: pa.Array, zone: str | None = None) -> Days:
    """Days since 1970-01-01 (NaN where there is none), and a mask of values that are no date.

    Args:
        array: dates, moments or text.
        zone: in which zone's calendar moments with a zone are read; their own if None.
    """
    import pyarrow as pa

    kind = kind_of(array.type)
    if kind == "null":
        return np.full(len(array), np.nan), np.zeros(len(array), dtype=np.bool_)
    if kind == "date":
        return _of_moments(array.dictionary_decode() if pa.types.is_dictionary(array.type) else array, zone)
    return _of_text(as_text(array), zone)


def zone_is_known(zone: str) -> bool:
    """Whether days of a zone can be told here."""
    try:
        _clock(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


@lru_cache(maxsize=1)
def zone_database() -> tuple[str | None, ...]:
    """Which rules of time zones are read here, as far as they say: by others, days differ."""
    from importlib.metadata import PackageNotFoundError, version

    said: list[str | None] = []
    for folder in TZPATH:
        try:
            with (Path(folder) / "tzdata.zi").open(encoding="utf-8") as rules:
                said.append(rules.readline().strip())
        except OSError:
            said.append(None)
    try:
        said.append(version("tzdata"))  # where the system has none
    except PackageNotFoundError:
        said.append(None)
    return tuple(said)


def as_hours(array: pa.Array, zone: str | None = None) -> Days:
    """Hours of the day, 0 to 23 (NaN where there is none), and a mask of values that are no moment.

    Args:
        array: moments, dates (which are at midnight) or text.
        zone: as in `as_days`.
    """
    import pyarrow as pa

    kind = kind_of(array.type)
    if kind == "null":
        return np.full(len(array), np.nan), np.zeros(len(array), dtype=np.bool_)
    if kind != "date":
        return _hours_of_text(as_text(array), zone)
    plain = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    absent, seconds = _seconds(plain, zone)
    wrong = ~absent & ((seconds < _FIRST * 86_400) | (seconds >= (_LAST + 1) * 86_400))
    return np.where(absent | wrong, np.nan, (seconds % 86_400 // 3600).astype(np.float64)), wrong


def _of_moments(array: pa.Array, zone: str | None) -> Days:
    absent, seconds = _seconds(array, zone)
    days = seconds // 86_400
    wrong = ~absent & ((days < _FIRST) | (days > _LAST))
    return np.where(absent | wrong, np.nan, days.astype(np.float64)), wrong


def _seconds(array: pa.Array, zone: str | None) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Where there is none, and local seconds since 1970; what lies outside of the calendar stays there."""
    import pyarrow as pa
    import pyarrow.compute as pc

    type_ = array.type
    unit = type_.unit if pa.types.is_timestamp(type_) else "ms"
    whole = pa.types.is_date32(type_)
    number = array.cast(pa.int32()).cast(pa.int64()) if whole else array.cast(pa.int64())
    absent = np.asarray(pc.is_null(number))
    values = np.asarray(pc.fill_null(number, 0))
    seconds = values * 86_400 if whole else values // (_PER_DAY[unit] // 86_400)
    if getattr(type_, "tz", None) is not None:
        days = seconds // 86_400
        near = (days >= _FIRST - 1) & (days <= _LAST + 1)  # a zone is never more than a day away
        seconds = np.where(near, _local(np.where(near, seconds, 0), zone or type_.tz), seconds)
    return absent, seconds


def _local(seconds: NDArray[np.int64], zone: str) -> NDArray[np.int64]:
    """Moments by a zone's clocks; on the few days on which clocks change, moment by moment."""
    seen, place = np.unique(seconds // 86_400, return_inverse=True)
    ahead = np.array([[_ahead(zone, day), _ahead(zone, day + 1)] for day in seen.tolist()], dtype=np.int64)
    moved = ahead.reshape(-1, 2)[place, 0]
    for i in np.flatnonzero((ahead[:, 0] != ahead[:, 1])[place] if len(seen) else []).tolist():
        moved[i] = _ahead_at(zone, int(seconds[i]))
    local: NDArray[np.int64] = seconds + moved
    return local


@lru_cache(maxsize=1 << 17)
def _ahead(zone: str, day: int) -> int:
    """By how many seconds a zone's clocks are ahead of UTC when a day begins there."""
    return _ahead_at(zone, min(max(day, _FIRST + 1), _LAST - 1) * 86_400)


def _ahead_at(zone: str, second: int) -> int:
    moment = _EPOCH + dt.timedelta(seconds=min(max(second, (_FIRST + 1) * 86_400), (_LAST - 1) * 86_400))
    offset = moment.astimezone(_clock(zone)).utcoffset()
    return 0 if offset is None else round(offset.total_seconds())


def named_zone(name: str) -> ZoneInfo:
    """A zone by its name in the IANA database; what there stands for this machine's own zone is none."""
    if name.lower().endswith(("localtime", "posixrules")):
        raise ZoneInfoNotFoundError(name)
    return ZoneInfo(name)


@lru_cache
def _clock(zone: str) -> dt.tzinfo:
    """A zone by its name, or by its offset, as `+05:30`."""
    fixed = re.fullmatch(r"([+-])(\d{2}):?(\d{2})", zone)
    if fixed is None:
        return named_zone(zone)
    ahead = dt.timedelta(hours=int(fixed[2]), minutes=int(fixed[3]))
    return dt.timezone(-ahead if fixed[1] == "-" else ahead)


def _of_text(text: pa.Array, zone: str | None) -> Days:
    import pyarrow as pa
    import pyarrow.compute as pc

    text, present, days = _dated(text)
    timed = np.asarray(pc.fill_null(_time_matters(text, zone), False)) & ~np.isnan(days)
    if timed.any():
        days[timed] = _at(days[timed], text.filter(pa.array(timed)), zone)[0]
        days[(days < _FIRST) | (days > _LAST)] = np.nan
    return days, present & np.isnan(days)


def _hours_of_text(text: pa.Array, zone: str | None) -> Days:
    """A date without a time is at midnight; one with something else after it has no hour."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text, present, days = _dated(text)
    text = pc.replace_substring_regex(text, _ONE_DIGIT, r"\10\2")  # 5:15 is 05:15
    hours = np.where(np.isnan(days), np.nan, 0.0)
    timed = np.asarray(pc.fill_null(pc.greater(pc.utf8_length(text), 10), False)) & ~np.isnan(days)
    if timed.any():
        on, seconds = _at(days[timed], text.filter(pa.array(timed)), zone)
        hours[timed] = np.where((on < _FIRST) | (on > _LAST), np.nan, seconds // 3600)
    return hours, present & np.isnan(hours)


def _dated(text: pa.Array) -> tuple[pa.Array, NDArray[np.bool_], NDArray[np.float64]]:
    """Texts that begin with a date, without spaces around them; where there is a text; and the dates."""
    import pyarrow as pa
    import pyarrow.compute as pc

    present = np.asarray(pc.fill_null(pc.not_equal(text, ""), False))
    shaped = pc.fill_null(pc.match_substring_regex(text, _DATE), False)
    text = pc.utf8_trim_whitespace(pc.if_else(shaped, text, pa.scalar(None, pa.string())))
    year, month, day = (_number(pc.utf8_slice_codeunits(text, a, b)) for a, b in ((0, 4), (5, 7), (8, 10)))
    days = _civil(year, month, day)
    days[~np.asarray(shaped)] = np.nan
    return text, present, days


def _time_matters(text: pa.Array, zone: str | None) -> pa.Array:
    """Where a time may move a date: to another zone, or past midnight."""
    import pyarrow.compute as pc

    if zone is not None:
        return pc.greater(pc.utf8_length(text), 10)
    return pc.equal(pc.utf8_slice_codeunits(text, 11, 13), "24")


def _at(
    days: NDArray[np.float64], text: pa.Array, zone: str | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The days that dates with a time fall on, and seconds of the day (NaN where what follows is no time).

    What follows a date and is no time does not change the day.
    """
    import pyarrow.compute as pc

    said = pc.extract_regex(text, _TIME)
    hour, minute, second = (_number(pc.struct_field(said, n)) for n in ("hour", "minute", "second"))
    part, offset = (pc.fill_null(pc.struct_field(said, n), "") for n in ("part", "offset"))
    time = np.asarray(said.is_valid()) & (minute < 60) & (second < 61)
    midnight = time & (hour == 24) & (minute == 0) & (second == 0) & ~_has(part, "[1-9]")
    days = days + midnight
    time &= midnight | (hour < 24)
    clock = (hour % 24) * 3600 + minute * 60 + np.minimum(second, 59)
    seconds = np.where(time, clock.astype(np.float64), np.nan)
    sign = np.where(_has(offset, "^-"), -60, 60)
    digits = pc.replace_substring_regex(offset, "[^0-9]", "")
    ahead, more = (_number(pc.utf8_slice_codeunits(digits, a, a + 2)) for a in (0, 2))
    given = time & _has(offset, ".") & (ahead < 24) & (more < 60)
    if zone is None or not given.any():
        return days, seconds
    clock = clock - sign * (ahead * 60 + more)
    moments = _local(days[given].astype(np.int64) * 86_400 + clock[given], zone)
    days[given], seconds[given] = moments // 86_400, moments % 86_400
    return days, seconds


def _number(text: pa.Array) -> NDArray[np.int64]:
    """Digits as a whole number, 0 where there are none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    digits = pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
    return np.asarray(pc.fill_null(pc.cast(digits, pa.int64()), 0))


def _has(text: pa.Array, pattern: str) -> NDArray[np.bool_]:
    import pyarrow.compute as pc

    return np.asarray(pc.match_substring_regex(text, pattern))


def _civil(year: NDArray[np.int64], month: NDArray[np.int64], day: NDArray[np.int64]) -> NDArray[np.float64]:
    """Days since 1970-01-01 of Gregorian dates, NaN for dates that the calendar does not have."""
    month_ok = (month >= 1) & (month <= 12)
    start = (year - 1970).astype("datetime64[Y]").astype("datetime64[M]") + np.where(month_ok, month - 1, 0)
    length = ((start + 1).astype("datetime64[D]") - start.astype("datetime64[D]")).astype(np.int64)
    good = month_ok & (day >= 1) & (day <= length) & (year >= 1)
    days = start.astype("datetime64[D]").astype(np.int64) + day - 1
    return np.where(good, days.astype(np.float64), np.nan)
