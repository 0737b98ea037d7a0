"""Arrow columns to level codes: the one place that decides which level a raw value names.

Every engine hands its columns here as Arrow arrays, so every engine gives the same codes. Nothing in this
file raises on a *value*: a value that names no level falls back, silently and identically everywhere.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    Codes = NDArray[np.int32]

ENCODING = 2
"""Raised with every change of what a value is read as: what was coded before is then coded anew."""

_NUMBER = r"(?i)^\s*[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf|infinity|nan)\s*$"
_UNREADABLE = "\ufffd"
_UNITS = ("s", "ms", "us", "ns")  # of time, in Arrow
SHORT = 2**31 - 1
"""Bytes of text that 32-bit offsets reach."""


def text_of(value: object) -> str:
    """The canonical text of one value; `as_text` spells typed columns in the same way.

    A value that cannot be spelled (a number of too many digits, a signalling NaN) has a fixed text.
    """
    with suppress(Exception):
        return _spelled(value)
    return _UNREADABLE


def _spelled(value: object) -> str:
    if isinstance(value, np.timedelta64):  # NumPy counts it among the integers
        return str(value)
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating, Decimal)):
        number = float(value)
        return str(int(number)) if number.is_integer() and abs(number) < 2.0**53 else repr(number)
    if isinstance(value, np.datetime64):
        return str(value.astype("datetime64[D]"))
    if isinstance(value, dt.datetime):  # with a zone it is a moment: which day that is, is decided in `days`
        return value.date().isoformat() if value.tzinfo is None else value.isoformat(" ")
    return value.isoformat() if isinstance(value, dt.date) else str(value)


def to_arrow(values: Any, *, timed: bool = False) -> pa.Array:
    """Any column (list, NumPy, pandas, polars, Arrow) as one Arrow array; mixed objects become text.

    Args:
        values: the column.
        timed: whether moments among objects are spelled with their hours, which are asked for.
    """
    import pyarrow as pa

    array = typed_arrow(values)
    spell = _moment_of if timed else text_of
    return pa.array([_cell(v, spell) for v in values], pa.string()) if array is None else array


def _moment_of(value: object) -> str:
    """The text of one value, with the hour if it is a moment; one that cannot be spelled has a fixed text."""
    with suppress(Exception):
        if isinstance(value, np.datetime64):
            day = value.astype("datetime64[D]")
            return f"{day} {int((value - day) / np.timedelta64(1, 'h')):02d}:00"
        return value.isoformat(" ") if isinstance(value, dt.datetime) else _spelled(value)
    return _UNREADABLE


def typed_arrow(values: Any) -> pa.Array | None:
    """A column that has a type of its own, as one Arrow array; None for objects.

    Objects are read one by one: a type inferred from all of them would let one row change the others. So is
    text with lone surrogates, which Arrow cannot hold, and every datetime that NumPy counts in other units.
    """
    import pyarrow as pa

    if isinstance(values, pa.ChunkedArray):
        if values.num_chunks == 1:
            return values.chunk(0)
        if pa.types.is_dictionary(values.type):  # not every pair of dictionaries can be made one
            values = pa.chunked_array([c.dictionary_decode() for c in values.chunks], values.type.value_type)
        if pa.types.is_string(values.type):  # all of it may be more than short offsets reach
            values = values.cast(pa.large_string())
        return values.combine_chunks()
    if isinstance(values, pa.Array):
        return values
    if hasattr(values, "to_arrow"):
        with suppress(pa.ArrowException):
            return None if is_object(values) else typed_arrow(values.to_arrow())
        return None
    if is_object(values):
        return None
    if str(values.dtype).startswith("Sparse"):
        return typed_arrow(np.asarray(values))
    kind = getattr(values.dtype, "kind", "O")
    if kind == "c":
        return pa.nulls(len(values), pa.struct([("real", pa.float64()), ("imaginary", pa.float64())]))
    if kind == "f" and getattr(values.dtype, "itemsize", 8) > 8:
        values = np.asarray(values, dtype=np.float64)
    if kind == "M" and isinstance(values.dtype, np.dtype) and np.datetime_data(values.dtype)[0] not in _UNITS:
        return None
    if not _has_named_zone(values):
        return pa.nulls(len(values), pa.timestamp("us", "(no name)"))
    with suppress(pa.ArrowException, OverflowError, UnicodeError):
        return typed_arrow(pa.array(values, from_pandas=True))
    return None


def _has_named_zone(values: Any) -> bool:
    """Whether the zone of times in pandas, if there is one, has a name; this machine's own has none."""
    import pyarrow as pa

    held = getattr(values.dtype, "categories", values)
    zone = getattr(getattr(held, "dtype", None), "tz", None)
    if zone is None:
        return True
    with suppress(Exception):
        pa.array(values[:0], from_pandas=True)
        return type(zone).__name__ != "tzlocal"
    return False


def is_object(values: Any) -> bool:
    """Whether a column is of objects, or of categories that are objects, which have no common type."""
    dtype = getattr(values, "dtype", "object")
    categories = getattr(dtype, "categories", None)
    return "object" in (str(dtype).lower(), str(getattr(categories, "dtype", "")))


def _cell(value: Any, spell: Callable[[object], str] = text_of) -> str | None:
    """The text of one object; none for what is missing, is a complex number or cannot be written as text."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return None
    with suppress(Exception):  # whatever an object does when it is looked at, it is that cell's own matter
        if isinstance(value, (complex, np.complexfloating)):
            return None
        if isinstance(value, (float, np.floating)) and np.isnan(value):
            return None
        text = spell(value)
        text.encode()
        return text
    return None


def kind_of(arrow_type: pa.DataType) -> str:
    """text, integer, float, boolean, date, null or other: what a column is, in the owner's words."""
    import pyarrow.types as t

    if t.is_dictionary(arrow_type):
        return kind_of(arrow_type.value_type)
    tests = (
        ("text", (t.is_string, t.is_large_string, t.is_string_view)),
        ("integer", (t.is_integer,)),
        ("float", (t.is_floating, t.is_decimal)),
        ("boolean", (t.is_boolean,)),
        ("date", (t.is_date, t.is_timestamp)),
        ("null", (t.is_null,)),
    )
    return next((name for name, checks in tests if any(check(arrow_type) for check in checks)), "other")


def as_text(array: pa.Array) -> pa.Array:
    """The canonical text of every value, null where there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = kind_of(array.type)
    if kind == "float":
        return _float_text(array)
    if pa.types.is_large_string(array.type) and array.nbytes > SHORT:  # a cell may be too long by itself
        array = pc.if_else(pc.greater(pc.binary_length(array), SHORT), _UNREADABLE, array)
    return _day_text(array) if kind == "date" else pc.cast(array, pa.string())


def _day_text(array: pa.Array) -> pa.Array:
    """Moments are spelled as the day they fall on."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from hedgerow.queries.domain.days import as_days

    days, wrong = as_days(array)
    dates = pa.array(np.nan_to_num(days).astype(np.int32), mask=np.isnan(days)).cast(pa.date32())
    return pc.if_else(pa.array(wrong), pa.scalar(_UNREADABLE), dates.cast(pa.string()))


def _float_text(array: pa.Array) -> pa.Array:
    """Floats that are whole numbers are spelled as integers; NaN is null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    values = pc.cast(array, pa.float64(), safe=False)
    values = pc.if_else(pc.is_nan(values), pa.scalar(None, pa.float64()), values)
    whole = pc.and_(pc.equal(values, pc.trunc(values)), pc.less(pc.abs(values), 2.0**53))
    integers = pc.cast(pc.cast(pc.if_else(whole, values, 0.0), pa.int64(), safe=False), pa.string())
    rest = pc.fill_null(pc.invert(whole), False)
    spelled = pa.array([repr(v) for v in pc.filter(values, rest).to_pylist()], pa.string())
    return pc.replace_with_mask(integers, rest, spelled)


def as_numbers(array: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Values as float64 (NaN where there is no number) and a mask of text that is no number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = kind_of(array.type)
    unparsed = np.zeros(len(array), dtype=np.bool_)
    if kind == "null":
        return np.full(len(array), np.nan), unparsed
    if kind in ("text", "date"):
        array = as_text(array)
        present = pc.fill_null(pc.not_equal(array, ""), False)
        numeric = pc.fill_null(pc.match_substring_regex(array, _NUMBER), False)
        unparsed = np.asarray(pc.and_not(present, numeric))
        array = pc.utf8_trim_whitespace(pc.if_else(numeric, array, pa.scalar(None, pa.string())))
        array = pc.utf8_ltrim(array, "+")
    elif pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    numbers = pc.cast(array, pa.float64(), safe=False)
    return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64), unparsed


def encode_levels(
    array: pa.Array, texts: tuple[str, ...], lowest: int | None, null_code: int, outside_code: int
) -> Codes:
    """Codes of a categorical column; `lowest` is the first level when the levels are consecutive integers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        of_level = encode_levels(array.dictionary, texts, lowest, null_code, outside_code)
        index = np.asarray(pc.fill_null(array.indices.cast(pa.int64()), len(of_level)), dtype=np.int64)
        return np.append(of_level, np.int32(null_code))[index]
    if kind_of(array.type) == "integer" and lowest is not None:
        values = np.asarray(pc.fill_null(array, 0))  # of any width; missing below, whatever stands here
        if values.dtype == np.uint64:
            values = np.minimum(values, np.uint64(2**63 - 1)).astype(np.int64)  # never a level, see `_lowest`
        codes = _shift(values, lowest, len(texts), outside_code)
    else:
        text = as_text(array)
        found = pc.index_in(text, value_set=pa.array(texts, pa.string()))
        codes = np.asarray(pc.fill_null(found, outside_code), dtype=np.int32).copy()
        if "" not in texts:
            codes[np.asarray(pc.fill_null(pc.equal(text, ""), False))] = null_code
        array = text
    if array.null_count:
        codes[np.asarray(pc.is_null(array))] = null_code
    return codes


def _shift(values: NDArray[Any], lowest: int, size: int, outside: int) -> Codes:
    out = np.empty(len(values), dtype=np.int32)
    from hedgerow.queries.domain.encoding_kernels import shift

    shift(values, lowest, size, outside, out)
    return out


def digitize(
    values: NDArray[np.float64], edges: NDArray[np.float64], nan_code: int, low_code: int, high_code: int
) -> Codes:
    """Bin numbers by half-open edges [a, b); the last bin also holds its right edge."""
    out = np.empty(len(values), dtype=np.int32)
    from hedgerow.queries.domain.encoding_kernels import digitize_into

    digitize_into(values, edges, nan_code, low_code, high_code, out)
    return out
