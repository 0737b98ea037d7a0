"""Values: the types that are spoken, as text and in binary, both ways."""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from hedgerow.errors import BadValue
from hedgerow.serve.wire import arrays
from hedgerow.serve.wire.failure import ProtocolViolation

BOOL, INT8, INT2, INT4, TEXT, OID, NAME = 16, 20, 21, 23, 25, 26, 19
FLOAT4, FLOAT8, VARCHAR, BPCHAR, DATE, TIMESTAMP, TIMESTAMPTZ = 700, 701, 1043, 1042, 1082, 1114, 1184
NUMERIC, UNKNOWN, CHAR = 1700, 705, 18
SIZES = {BOOL: 1, INT8: 8, INT2: 2, INT4: 4, OID: 4, FLOAT4: 4, FLOAT8: 8, DATE: 4, TIMESTAMP: 8, NAME: 64}
TEXT_FORM, BINARY_FORM = 0, 1

_EPOCH = date(2000, 1, 1)
_MOMENT = datetime(2000, 1, 1)
_NUMBERS = {INT2: "!h", INT4: "!i", INT8: "!q", OID: "!I", FLOAT4: "!f", FLOAT8: "!d"}
_WHOLE = (INT2, INT4, INT8, OID)


def written(value: Any, kind: int, form: int) -> bytes | None:
    """A value as it is sent.

    Args:
        value: the value; None is null.
        kind: its type's number.
        form: 0 for text, 1 for binary.

    >>> written(1.5, FLOAT8, TEXT_FORM), written(12.6, INT8, TEXT_FORM), written(True, BOOL, TEXT_FORM)
    (b'1.5', b'13', b't')
    """
    if value is None:
        return None
    if kind in arrays.ELEMENTS and isinstance(value, list):
        return arrays.written(value, kind, form == BINARY_FORM, lambda v, k: written(v, k, form))
    try:
        if kind in _WHOLE:
            value = round(value) if isinstance(value, float) else int(value)
        elif kind in (FLOAT4, FLOAT8):
            value = float(value)
        return _binary(value, kind) if form == BINARY_FORM else _plain(value, kind)
    except (ValueError, TypeError, OverflowError, InvalidOperation):  # a level such as 'other', as a number
        raise BadValue("a value of the answer is none of the type that was asked for: ask for text") from None


def read(data: bytes | None, kind: int, form: int) -> Any:
    """A parameter as it came.

    Args:
        data: its bytes; None is null.
        kind: its type's number; 0 where the client leaves it open.
        form: 0 for text, 1 for binary.

    >>> read(b"7", INT4, TEXT_FORM), read(b"7", 0, TEXT_FORM)
    (7, '7')
    """
    if data is None:
        return None
    try:
        if form == BINARY_FORM:
            return _unpacked(data, kind)
        return _TEXTS.get(kind, str)(data.decode())
    except (ValueError, struct.error, InvalidOperation, OverflowError):
        raise BadValue(f"a parameter is no value of its type, {kind}") from None


def _plain(value: Any, kind: int) -> bytes:
    if kind == BOOL:
        return b"t" if value else b"f"
    if isinstance(value, float):
        return repr(value).encode() if value == value and abs(value) != float("inf") else _odd(value)
    return str(value).encode()


def _odd(value: float) -> bytes:
    return b"NaN" if value != value else b"Infinity" if value > 0 else b"-Infinity"


def _binary(value: Any, kind: int) -> bytes:
    if kind in _NUMBERS:
        try:
            return struct.pack(_NUMBERS[kind], value)
        except struct.error:
            raise BadValue("a number is too large for its type") from None
    if kind == BOOL:
        return b"\1" if value else b"\0"
    if kind == NUMERIC:
        return numeric(value)
    if kind == DATE:
        day = value if isinstance(value, date) else date.fromisoformat(str(value))
        return struct.pack("!i", (day - _EPOCH).days)
    if kind == TIMESTAMP:
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
        return struct.pack("!q", (moment - _MOMENT) // timedelta(microseconds=1))
    return str(value).encode()


def numeric(value: Any) -> bytes:
    """A number in PostgreSQL's binary form: digits to the base 10,000.

    >>> numeric(12345.5).hex()
    '0003000100000001000109291388'
    """
    number = Decimal(repr(value) if isinstance(value, float) else str(value))
    if not number.is_finite():
        return struct.pack("!hhHh", 0, 0, 0xC000 if number.is_nan() else 0xD000 if number > 0 else 0xF000, 0)
    sign, digits, exponent = number.as_tuple()
    scale = max(0, -int(exponent))
    whole = int("".join(map(str, digits)) or "0") * 10 ** max(0, int(exponent))
    pad = -scale % 4
    groups: list[int] = []
    rest, after = whole * 10**pad, (scale + pad) // 4
    while rest:
        rest, group = divmod(rest, 10_000)
        groups.append(group)
    groups.reverse()
    weight = len(groups) - after - 1
    while groups and groups[-1] == 0:
        groups.pop()
    head = struct.pack("!hhHh", len(groups), weight if groups else 0, 0x4000 if sign else 0, scale)
    return head + b"".join(struct.pack("!h", group) for group in groups)


def _unpacked(data: bytes, kind: int) -> Any:
    if kind in _NUMBERS:
        (number,) = struct.unpack(_NUMBERS[kind], data)
        return number
    if kind == BOOL:
        return data != b"\0"
    if kind == DATE:
        return (_EPOCH + timedelta(days=struct.unpack("!i", data)[0])).isoformat()
    if kind in (TIMESTAMP, TIMESTAMPTZ):
        return (_MOMENT + timedelta(microseconds=struct.unpack("!q", data)[0])).isoformat(sep=" ")
    if kind == NUMERIC:
        return _decimal(data)
    if kind in (TEXT, VARCHAR, BPCHAR, NAME, UNKNOWN, CHAR, 0):
        return data.decode()
    raise ProtocolViolation(f"a parameter of type {kind} is not taken in binary")


def _decimal(data: bytes) -> float:
    size, weight, sign, _ = struct.unpack("!hhHh", data[:8])
    groups = struct.unpack(f"!{size}h", data[8:])
    number = sum(Decimal(group).scaleb(4 * (weight - i)) for i, group in enumerate(groups))
    return float(-number if sign == 0x4000 else number)


def _truth(word: str) -> bool:
    if word.lower() not in ("t", "true", "1", "on", "yes", "f", "false", "0", "off", "no"):
        raise ValueError
    return word.lower() in ("t", "true", "1", "on", "yes")


_TEXTS: dict[int, Callable[[str], Any]] = {
    BOOL: _truth,
    **dict.fromkeys(_WHOLE, int),
    **dict.fromkeys((FLOAT4, FLOAT8, NUMERIC), float),
}
