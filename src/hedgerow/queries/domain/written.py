"""How cells are written: declared spellings of numbers, truth values, times and dates, read into plain ones.

What a schema declares is read cell by cell, by a rule that no row can change. A text that is not written as
declared becomes the unreadable mark, which is no number, no date and no level, and counts as outside. Cells
of a type of their own (the floats of a Parquet file) are left as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import DomainMismatch
from hedgerow.queries.domain import encoding

if TYPE_CHECKING:
    import pyarrow as pa

USUAL = "usual"
"""`missing: usual`: the words below are missing values too."""

WORDS = (
    "na", "n/a", "#n/a", "#na", "<na>", "null", "nan", "nat", "none", "nil", "-", "--", ".", "..", "?",
)  # fmt: skip
"""What people and programs write where there is nothing, in lower case."""

NAMES = ("none", "nil")
"""Those of them that may also be the name of something."""

FALSE = ("false", "f", "no", "n", "0", "off")
TRUE = ("true", "t", "yes", "y", "1", "on")
NUMBER, BOOLEAN = "number", "boolean"
UNREADABLE = "\ufffd"

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_PARTS = {
    "Y": r"(?P<Y>\d{4})",
    "y": r"(?P<y>\d{2})",
    "m": r"(?P<m>\d{1,2})",
    "d": r"(?P<d>\d{1,2})",
    "b": r"(?P<b>[A-Za-z]{3})[A-Za-z]*\.?",
    "H": r"(?P<H>\d{1,2})",
    "I": r"(?P<I>\d{1,2})",
    "M": r"(?P<M>\d{2})",
    "S": r"(?P<S>\d{2})(?:[.,]\d+)?",
    "p": r"(?P<p>[AaPp])\.?[Mm]\.?",
}  # fmt: skip


def words_of(given: Any) -> str | tuple[Any, ...]:
    """What `missing` declares where it is neither true nor false: which words mean it beside empty cells."""
    if given == USUAL:
        return USUAL
    if isinstance(given, list | tuple) and all(isinstance(w, str | int | float) for w in given):
        return tuple(given)
    raise DomainMismatch(f"`missing` is true or false, `usual`, or a list of words, not {given!r}")


def without(array: pa.Array, words: str | tuple[Any, ...]) -> pa.Array:
    """A column in which the declared words for nothing are missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        return pa.DictionaryArray.from_arrays(array.indices, without(array.dictionary, words))
    kind = encoding.kind_of(array.type)
    if kind in ("null", "other") or (words == USUAL and kind != "text"):
        return array
    text = pc.utf8_trim_whitespace(encoding.as_text(array))
    if words == USUAL:
        blank = pc.is_in(pc.utf8_lower(text), value_set=pa.array(WORDS, pa.string()))
    else:
        spelled = [encoding.text_of(w).strip() for w in words]
        blank = pc.is_in(text, value_set=pa.array(spelled, pa.string()))
        numbers = [float(w) for w in words if not isinstance(w, str | bool)]
        if numbers and kind in ("text", "integer", "float"):
            same = np.isin(encoding.as_numbers(array)[0], numbers)
            blank = pc.or_(blank, pa.array(same))
    return pc.if_else(pc.fill_null(blank, False), pa.scalar(None, array.type), array)


def plain_numbers(array: pa.Array, decimal: str) -> pa.Array:
    """Numbers written with a decimal comma, or with marks between thousands, as plain ones.

    Args:
        array: the cells.
        decimal: `,` or `.`; the other one, a space or an apostrophe may stand between groups of three.
    """
    import pyarrow.compute as pc

    if encoding.kind_of(array.type) != "text":
        return array
    group = "[. \u00a0\u202f']" if decimal == "," else "[, \u00a0\u202f']"
    mark = re.escape(decimal)
    shape = rf"^[+-]?(\d{{1,3}}({group}\d{{3}})+({mark}\d*)?|\d+({mark}\d*)?|{mark}\d+)([eE][+-]?\d+)?$"
    text = pc.utf8_trim_whitespace(_decoded(array))
    plain = pc.replace_substring(pc.replace_substring_regex(text, group, ""), decimal, ".")
    return _where(pc.match_substring_regex(text, shape), plain, text)


def numbers_spelled(array: pa.Array) -> pa.Array:
    """Numbers in one spelling: 4, 4.0, +4 and 04 are all `4`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if encoding.kind_of(array.type) != "text":
        return array
    text = _decoded(array)
    values, unparsed = encoding.as_numbers(text)
    spelled = encoding.as_text(pa.array(values, mask=~np.isfinite(values)))
    return pc.if_else(pa.array(unparsed | np.isinf(values)), pa.scalar(UNREADABLE), spelled)


def truths_spelled(array: pa.Array) -> pa.Array:
    """Truth values in one spelling: yes, Y, True, T, on and 1 are all `true`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.utf8_lower(pc.utf8_trim_whitespace(encoding.as_text(_decoded(array))))
    text = pc.replace_substring_regex(text, r"^([01])\.0*$", r"\1")
    true = pc.is_in(text, value_set=pa.array(TRUE, pa.string()))
    false = pc.is_in(text, value_set=pa.array(FALSE, pa.string()))
    spelled = pc.if_else(true, pa.scalar("true"), pa.scalar("false"))
    return _where(pc.or_(true, false), spelled, text)


def hours(array: pa.Array, format: str) -> pa.Array:
    """Times of day as hours since midnight, as text: 15:30 is 15.5."""
    import pyarrow.compute as pc

    if encoding.kind_of(array.type) != "text":
        return array
    text = pc.utf8_trim_whitespace(_decoded(array))
    said = pc.extract_regex(text, pattern(format))
    hour, good = _hour(said, format)
    minute, second = (_digits(said, name, format) for name in ("M", "S"))
    good &= np.asarray(said.is_valid()) & (minute < 60) & (second < 61)
    seconds = hour * 3600 + minute * 60 + np.minimum(second, 59)
    return _said(good, [repr(s / 3600) for s in seconds.tolist()], text)


def iso_days(array: pa.Array, format: str) -> pa.Array:
    """Dates written in a declared format, as text like 2024-12-31; a time of day beside them is left out."""
    import pyarrow.compute as pc

    if encoding.kind_of(array.type) not in ("text", "integer"):
        return array
    text = pc.utf8_trim_whitespace(encoding.as_text(_decoded(array)))
    said = pc.extract_regex(text, pattern(format))
    year = _digits(said, "Y", format)
    if "%y" in format:  # as POSIX has it
        short = _digits(said, "y", format)
        year = np.where(short < 69, 2000, 1900) + short
    month, day = _digits(said, "m", format), _digits(said, "d", format)
    if "%b" in format:
        names = pc.utf8_lower(pc.fill_null(pc.struct_field(said, "b"), ""))
        import pyarrow as pa

        month = np.asarray(pc.fill_null(pc.index_in(names, value_set=pa.array(_MONTHS)), -1)) + 1
    good = np.asarray(said.is_valid()) & (month >= 1) & (month <= 12) & (day >= 1)
    dates = [f"{y:04d}-{m:02d}-{d:02d}" for y, m, d in zip(year, month, day, strict=True)]
    return _said(good, dates, text)


@lru_cache
def pattern(format: str) -> str:
    """A format as a regular expression; what it may hold is a day, or a time of day."""
    found = re.findall(r"%(.?)", format)
    if len(set(found)) < len(found) or any(f not in _PARTS for f in found):
        raise DomainMismatch(
            f"the format {format!r} is made of {', '.join('%' + p for p in _PARTS)}, each at most once"
        )
    body = re.sub(r"%(.)|(\s+)|(.)", lambda m: _piece(m), format)
    return f"^{body}$"


def is_day(format: str) -> bool:
    """Whether a format names a day: with a year, a month and a day of it."""
    parts = set(re.findall(r"%(.)", format))
    return bool(pattern(format)) and len(parts & set("Yy")) == len(parts & set("mb")) == 1 and "d" in parts


def is_time(format: str) -> bool:
    """Whether a format names a time of day and no day."""
    parts = set(re.findall(r"%(.)", format))
    return bool(pattern(format)) and len(parts & set("HI")) == 1 and not parts & set("Yymbd")


def is_moment(format: str) -> bool:
    """Whether a format names a time of a day."""
    return is_day(format) and len(set(re.findall(r"%(.)", format)) & set("HI")) == 1


def _piece(match: re.Match[str]) -> str:
    if match[1]:
        return _PARTS[match[1]]
    return r"\s+" if match[2] else re.escape(match[3])


def _hour(said: pa.StructArray, format: str) -> tuple[Any, Any]:
    import pyarrow.compute as pc

    if "%H" in format:
        hour = _digits(said, "H", format)
        return hour, hour < 24
    hour = _digits(said, "I", format)
    after = np.zeros(len(hour), dtype=np.bool_)
    if "%p" in format:
        after = np.asarray(pc.equal(pc.utf8_lower(pc.fill_null(pc.struct_field(said, "p"), "")), "p"))
    return hour % 12 + 12 * after, (hour >= 1) & (hour <= 12)


def _digits(said: pa.StructArray, name: str, format: str) -> Any:
    """The number in one part of a format, 0 where there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if f"%{name}" not in format:
        return np.zeros(len(said), dtype=np.int64)
    text = pc.fill_null(pc.struct_field(said, name), "0")
    return np.asarray(pc.cast(pc.if_else(pc.equal(text, ""), "0", text), pa.int64()))


def _said(good: Any, texts: Iterable[str], text: pa.Array) -> pa.Array:
    import pyarrow as pa

    return _where(pa.array(good), pa.array(list(texts), pa.string()), text)


def _where(good: pa.Array, plain: pa.Array, text: pa.Array) -> pa.Array:
    """The plain cells; the mark where a text is not as declared; nothing where there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    present = pc.fill_null(pc.not_equal(text, ""), False)
    read = pc.if_else(pc.fill_null(good, False), plain, pa.scalar(UNREADABLE))
    return pc.if_else(present, read, pa.scalar(None, pa.string()))


def _decoded(array: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    return pc.cast(plain, pa.string()) if encoding.kind_of(plain.type) == "text" else plain
