"""Unit ids as bytes: what decides which rows are one person's.

The spelling is a fixed function of one cell and its column's type. It never raises, and within a column two
cells spell alike only if they hold the same id - were two people's ids to merge, they would share `max_rows`,
and adding one of them could lower a count:

* text by its UTF-8 bytes, lone surrogates kept, and what is no UTF-8 by its bytes; binary by its
  bytes; truth values as `true` and `false`;
* integers in full. CSV cells are text, so the cell `7` and the number 7 of a typed column are the same id,
  and the cell `007` is another one;
* decimals by their value, with no zeros at the end: 1.0 and 1.00 are the same number;
* dates as `2024-12-31`, datetimes to the nanosecond with no zeros at the end, those with a zone in UTC.

Empty text, NaN and infinity are no ids. Floating-point columns are refused by their type: there, ids of 17
digits and more are no longer what they were.

Objects (a list, a pandas object column) have no type of their own. The owner can declare it: then a value of
another type is no id. If not, each goes by its own type and values of different types are different ids; a
float is none. Integers are then spelled as ever, the others with the name of their type - but text only where
it could be taken for something else, being all digits or beginning with NUL.

Ledgers of earlier versions say nothing about the spelling and go on with version 1, under which decimals and
datetimes of object columns merge. The rows that it keeps are the same as ever, but for ids that hold a lone
surrogate: they were all one and are now none.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from contextlib import suppress
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np

from hedgerow.privacy.ledger.entry import SPELLING
from hedgerow.queries.domain.encoding import as_text, kind_of

if TYPE_CHECKING:
    import pyarrow as pa

TYPES = ("text", "integer", "decimal", "boolean", "date", "datetime", "binary", "uuid")
EARLIER = "v1"  # what only ledgers of version 1 may read: floating-point ids

_PLAIN = 100  # decimals of larger exponents are spelled with an E
_DIGITS = 13_000  # bits of the largest integer that Python spells in decimal digits
_MISTAKEN = re.compile(rb"-?\d+\Z|\0")
_STEPS = ("s", "ms", "us", "ns")
_EPOCH = dt.datetime(1970, 1, 1)
_TICK = dt.timedelta(microseconds=1)


def type_of(arrow_type: pa.DataType) -> str:
    """Which of TYPES a typed column's ids have, or float, null or other."""
    import pyarrow.types as t

    if t.is_dictionary(arrow_type):
        return type_of(arrow_type.value_type)
    tests = (
        ("decimal", (t.is_decimal,)),
        ("datetime", (t.is_timestamp,)),
        ("binary", (t.is_binary, t.is_large_binary, t.is_binary_view, t.is_fixed_size_binary)),
    )
    found = (name for name, checks in tests if any(check(arrow_type) for check in checks))
    return next(found, kind_of(arrow_type))


def refusal(arrow_type: pa.DataType, declared: str | None) -> str | None:
    """Why a typed column cannot name units, or None; its values have no say in it."""
    found = type_of(arrow_type)
    if found == "other":
        return "cannot name units: its values are neither text nor numbers"
    if found == "float" and declared != EARLIER:
        return (
            "cannot name units: it holds floating-point numbers, in which two long ids can be one; pandas "
            'makes floats of ids with gaps, so read them as whole numbers, .astype("Int64"), or open the CSV '
            "file itself"
        )
    if declared not in (None, EARLIER, found) and found != "null":
        return f"holds ids of type {found}, not {declared}; `unit_type` is for columns of objects"
    return None


def spell(array: pa.Array, version: int = SPELLING) -> pa.Array:
    """The ids of a typed column, null where there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    found = type_of(array.type)
    if found == "null":
        return pa.nulls(len(array), pa.large_binary())
    if version == 1 and found != "binary":
        array = _version_1(array)
    elif found == "decimal":
        array = _decimals(array)
    elif found in ("date", "datetime"):
        array = _times(array)
    elif found not in ("text", "binary"):
        array = pc.cast(array, pa.string())
    ids = pc.cast(array, pa.large_binary())
    return pc.if_else(pc.equal(pc.binary_length(ids), 0), pa.scalar(None, ids.type), ids)


def spell_objects(values: Iterable[Any], declared: str | None) -> pa.Array:
    """The ids of values without a common type, one by one; null where there is none."""
    import pyarrow as pa

    return pa.array([_one(value, declared) for value in values], pa.large_binary())


def _one(value: Any, declared: str | None) -> bytes | None:
    with suppress(Exception):  # whatever an object does when it is looked at, it is that row's own matter
        found, spelling = _by_type(value)
        if not spelling or declared not in (None, found):
            return None
        plain = declared or found == "integer" or (found == "text" and not _MISTAKEN.match(spelling))
        return spelling if plain else b"\0" + found.encode() + b"\0" + spelling
    return None


def _by_type(value: Any) -> tuple[str, bytes]:
    """The type and the spelling of one value; nothing where it is no id."""
    if isinstance(value, str):
        return "text", str.encode(value, "utf-8", "surrogatepass")
    if isinstance(value, (bool, np.bool_)):
        return "boolean", b"true" if value else b"false"
    if isinstance(value, (int, np.integer)) and not isinstance(value, np.timedelta64):
        number = int(value)
        plain = number.bit_length() < _DIGITS
        return "integer", (str(number) if plain else f"\0integer\0{number:x}").encode()
    if isinstance(value, Decimal):
        return "decimal", spell_decimal(value).encode()
    if isinstance(value, (dt.datetime, np.datetime64)):
        return "datetime", _datetime(value)
    if isinstance(value, dt.date):
        return "date", value.isoformat().encode()
    if isinstance(value, (bytes, bytearray)):
        return "binary", bytes(value)
    return "uuid", str(value).encode() if isinstance(value, UUID) else b""


def spell_decimal(value: Decimal) -> str:
    """Sign, digits and exponent, the digits without zeros at the end; equal numbers are spelled alike."""
    if not value.is_finite():
        return ""
    sign, places, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    written = "".join(map(str, places)).lstrip("0")
    digits = written.rstrip("0")
    exponent += len(written) - len(digits)
    if not digits:
        return "0"
    if abs(exponent) > _PLAIN:
        digits += f"E{exponent}"
    elif exponent >= 0:
        digits += "0" * exponent
    else:
        digits = digits.rjust(1 - exponent, "0")
        digits = f"{digits[:exponent]}.{digits[exponent:]}"
    return "-" * sign + digits


def _decimals(array: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if array.type.bit_width < 128:  # of which Arrow has no dictionaries; cells may have more digits than said
        array = array.cast(pa.decimal128(38, array.type.scale))
    if array.type.scale == 0:  # then Arrow writes all digits and no exponent
        return pc.cast(array, pa.string())
    encoded = array.dictionary_encode()
    spelled = [None if v is None else spell_decimal(v) for v in encoded.dictionary.to_pylist()]
    return pa.array(spelled, pa.string()).take(encoded.indices)


def _times(array: pa.Array) -> pa.Array:
    """Dates and datetimes as text; what lies beyond the calendar is a number with its unit."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_date32(array.type):
        return pc.cast(array, pa.string())
    unit = "ms" if pa.types.is_date64(array.type) else array.type.unit
    text = pc.cast(array.cast(pa.int64()).cast(pa.timestamp(unit)), pa.string())
    if unit != "s":
        text = pc.utf8_rtrim(pc.utf8_rtrim(text, "0"), ".")
    if pa.types.is_date64(array.type):
        return pc.replace_substring_regex(text, " 00:00:00$", "")
    tail = pc.if_else(pc.starts_with(text, "<"), unit, "") if len(text) else ""
    return pc.binary_join_element_wise(text, tail, "" if array.type.tz is None else "Z", "")


def _datetime(value: dt.datetime | np.datetime64) -> bytes:
    """One datetime, spelled as a column of them is."""
    import pyarrow as pa

    offset = value.utcoffset() if isinstance(value, dt.datetime) else None
    stamp: Any = value
    if hasattr(value, "to_datetime64"):  # of pandas, in UTC already
        stamp = value.to_datetime64()
    elif isinstance(value, dt.datetime):
        count = (value.replace(tzinfo=None) - _EPOCH) // _TICK - (offset // _TICK if offset else 0)
        stamp = np.datetime64(count, "us")
    for unit in _STEPS:
        whole = stamp.astype(f"datetime64[{unit}]")
        if whole.astype(stamp.dtype) == stamp:
            zone = None if offset is None else "UTC"
            ticks = pa.array([int(whole.astype(np.int64))], pa.int64())
            return bytes(spell(ticks.cast(pa.timestamp(unit, zone)))[0].as_py())
    return b""


def _version_1(array: pa.Array) -> pa.Array:
    """Text of ids as the first ledgers read them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_decimal(array.type):
        text = pc.cast(array, pa.string())
        fraction = pc.match_substring(text, ".")
        return pc.if_else(fraction, pc.utf8_rtrim(pc.utf8_rtrim(text, "0"), "."), text)
    return pc.cast(array, pa.string()) if kind_of(array.type) == "date" else as_text(array)
