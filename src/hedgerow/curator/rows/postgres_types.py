"""Columns of PostgreSQL as Arrow columns: what the binary form of each type says, value for value.

Nothing is cast in the database, where one row's value could make a statement fail, and nothing here raises on
a value. What has no counterpart falls where any such value falls: NaN is no number, a date at infinity is
beyond the calendar, text that is not UTF-8 names no level. `char(n)` is read without the blanks that fill it
up. Numerics of a declared precision are decimals; others, of any size, are the nearest floating-point number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.curator.rows.parquet_files import dashed, spelled_out
from hedgerow.curator.rows.unit_ids import spell_decimal
from hedgerow.errors import SourceError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

DAY, MOMENT = (
    10_957,
    946_684_800_000_000,
)  # 2000-01-01, from which PostgreSQL counts, in days and microseconds
BOOL, BYTEA, CHAR, NAME, INT8, INT2, INT4, TEXT, JSON = 16, 17, 18, 19, 20, 21, 23, 25, 114
FLOAT4, FLOAT8, BPCHAR, VARCHAR, DATE, TIMESTAMP, TIMESTAMPTZ, NUMERIC, UUID = (
    700, 701, 1042, 1043, 1082, 1114, 1184, 1700, 2950,
)  # fmt: skip
_TEXTS = (CHAR, NAME, TEXT, JSON, BPCHAR, VARCHAR)
_WIDTHS = {BOOL: 1, INT2: 2, INT4: 4, INT8: 8, FLOAT4: 4, FLOAT8: 8, DATE: 4, TIMESTAMP: 8, TIMESTAMPTZ: 8}
_SENDERS = {
    BOOL: "boolsend", INT2: "int2send", INT4: "int4send", INT8: "int8send", FLOAT4: "float4send",
    FLOAT8: "float8send", DATE: "date_send", TIMESTAMP: "timestamp_send", TIMESTAMPTZ: "timestamptz_send",
}  # fmt: skip
_HEAD = 20  # bytes before the elements of an array of one dimension
_MOST = 38  # digits of a decimal128
_EXACT = 22  # 10^22 is the largest power of ten that a float64 holds


@dataclass(frozen=True)
class PgType:
    """The type of a column.

    Args:
        oid: PostgreSQL's number of the type; of a domain, its base type's.
        modifier: what it declares beside, -1 if nothing.
        enum: whether it is an enumeration, which is text.
        collation: PostgreSQL's number of the order that its texts have; 0 of none.
        exact: whether texts that are equal in that order are the same text.
    """

    oid: int
    modifier: int = -1
    enum: bool = False
    collation: int = 0
    exact: bool = True

    @property
    def known(self) -> bool:
        """Whether PostgreSQL's own operators, and none of anybody else's, are those of the type."""
        return self.enum or self.oid in (*_TEXTS, *_WIDTHS, NUMERIC, UUID)

    @property
    def width(self) -> int | None:
        """How many bytes a value has in binary, where all have as many."""
        return None if self.enum else _WIDTHS.get(self.oid)

    @property
    def decimal(self) -> tuple[int, int] | None:
        """Precision and scale of a numeric that declares them as Arrow can."""
        if self.oid != NUMERIC or self.modifier < 4:
            return None
        packed = self.modifier - 4
        precision, scale = packed >> 16, ((packed & 0x7FF) ^ 1024) - 1024
        return (precision, scale) if precision <= _MOST and 0 <= scale <= precision else None

    @property
    def any_size(self) -> bool:
        """Whether it is a numeric whose digits no decimal of Arrow holds."""
        return self.oid == NUMERIC and self.decimal is None

    @property
    def arrow(self) -> pa.DataType:
        """The Arrow type that it is read as; binary for types that no attribute reads."""
        import pyarrow as pa

        if self.decimal is not None:
            return pa.decimal128(*self.decimal)
        if self.enum or self.oid in _TEXTS or self.oid == UUID:
            return pa.string()
        return {
            BOOL: pa.bool_(), INT2: pa.int16(), INT4: pa.int32(), INT8: pa.int64(), FLOAT4: pa.float32(),
            FLOAT8: pa.float64(), NUMERIC: pa.float64(), DATE: pa.date32(), TIMESTAMP: pa.timestamp("us"),
            TIMESTAMPTZ: pa.timestamp("us", "UTC"), BYTEA: pa.binary(),
        }.get(self.oid, pa.list_(pa.binary()))  # fmt: skip


@dataclass(frozen=True)
class Fields:
    """The values of one column in some rows.

    Args:
        data: the bytes that hold them.
        starts, sizes: where each is; its size is -1 where it is NULL.
    """

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]

    @classmethod
    def of_array(cls, data: bytes) -> Fields:
        """The elements of an array as PostgreSQL sends it: dimensions, flags, type, size, bound, elements."""
        from hedgerow.curator.rows import postgres_kernels as kernels

        rows = int.from_bytes(data[12:16], "big")
        starts, sizes = np.empty((2, rows), dtype=np.int64)
        octets = np.frombuffer(data, dtype=np.uint8)
        if not kernels.split(octets, _HEAD, starts, sizes):
            raise SourceError("the database did not send the columns that it was asked for")
        return cls(octets, starts, sizes)

    def numbers(self, width: int) -> NDArray[np.int64]:
        """Whole numbers; 0 for NULL."""
        from hedgerow.curator.rows import postgres_kernels as kernels

        out = np.empty(len(self.starts), dtype=np.int64)
        if not kernels.whole(self.data, self.starts, self.sizes, width, out):
            raise SourceError("the database did not send the columns that it was asked for")
        return out

    def octets(self, *, padded: bool = False) -> pa.Array:
        """The bytes of every field, as text that need not be text."""
        import pyarrow as pa

        from hedgerow.curator.rows import postgres_kernels as kernels

        offsets = np.empty(len(self.starts) + 1, dtype=np.int32)
        out = np.empty(kernels.measure(self.data, self.starts, self.sizes, padded, offsets), dtype=np.uint8)
        kernels.gather(self.data, self.starts, offsets, out)
        present = pa.py_buffer(np.packbits(self.sizes >= 0, bitorder="little"))
        buffers = [present, pa.py_buffer(offsets), pa.py_buffer(out)]
        return pa.Array.from_buffers(pa.string(), len(self.starts), buffers)

    @property
    def absent(self) -> NDArray[np.bool_]:
        """Where there is none."""
        return self.sizes < 0


def sender(type_: PgType) -> str:
    """PostgreSQL's own function that gives a value's bytes."""
    return _SENDERS[type_.oid]


def column(type_: PgType, fields: Fields) -> pa.Array:
    """A column of Arrow's type for it."""
    import pyarrow as pa

    if type_.enum or type_.oid in _TEXTS:
        return spelled_out(fields.octets(padded=type_.oid == BPCHAR))
    if type_.oid == UUID:
        return _uuids(fields)
    if type_.oid == NUMERIC:
        return _decimals(fields, *type_.decimal) if type_.decimal else _floats(fields)
    if type_.oid in _WIDTHS:
        numbers = fields.numbers(_WIDTHS[type_.oid])
        return _READ[type_.oid](numbers, fields.absent).cast(type_.arrow)
    if type_.oid == BYTEA:
        return fields.octets().cast(pa.binary())
    raise SourceError(
        "a column has a type that nothing here can read: leave it out, or cast it to text, with `query=`"
    )


def ids(fields: Fields) -> pa.Array:
    """Unit ids of a numeric of any size, spelled as decimals are; none for NaN and infinity."""
    import pyarrow as pa

    spelled = _each(fields, lambda number: spell_decimal(number).encode() or None, pa.binary())
    return spelled.cast(pa.large_binary())


def _plain(numbers: NDArray[Any], absent: NDArray[np.bool_]) -> pa.Array:
    import pyarrow as pa

    return pa.array(numbers, mask=absent)


def _days(numbers: NDArray[np.int64], absent: NDArray[np.bool_]) -> pa.Array:
    import pyarrow as pa

    ends = np.iinfo(np.int32)
    whole = np.where((numbers == ends.min) | (numbers == ends.max), numbers, numbers + DAY)
    return pa.array(np.clip(whole, ends.min, ends.max).astype(np.int32), mask=absent)


def _moments(numbers: NDArray[np.int64], absent: NDArray[np.bool_]) -> pa.Array:
    import pyarrow as pa

    ends = np.iinfo(np.int64)
    far = (numbers == ends.min) | (numbers > ends.max - MOMENT)
    return pa.array(np.where(far, numbers, numbers + np.where(far, 0, MOMENT)), mask=absent)


_READ: dict[int, Callable[[NDArray[np.int64], NDArray[np.bool_]], pa.Array]] = {
    BOOL: lambda numbers, absent: _plain(numbers != 0, absent),
    INT2: _plain,
    INT4: _plain,
    INT8: _plain,
    FLOAT4: lambda numbers, absent: _plain(numbers.astype(np.int32).view(np.float32), absent),
    FLOAT8: lambda numbers, absent: _plain(numbers.view(np.float64), absent),
    DATE: _days,
    TIMESTAMP: _moments,
    TIMESTAMPTZ: _moments,
}


def _uuids(fields: Fields) -> pa.Array:
    import pyarrow as pa

    here = np.flatnonzero(~fields.absent)
    octets = fields.data[fields.starts[here, None] + np.arange(16)]
    text = np.full(len(fields.starts), b"", dtype="S36")
    text[here] = dashed(octets)
    return pa.array(text, mask=fields.absent).cast(pa.string())


def _small(fields: Fields, scale: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Numerics as multiples of 10^-scale, and which of them are none in 64 bits."""
    from hedgerow.curator.rows import postgres_kernels as kernels

    out = np.empty(len(fields.starts), dtype=np.int64)
    slow = np.empty(len(fields.starts), dtype=np.bool_)
    kernels.decimals(fields.data, fields.starts, fields.sizes, scale, out, slow)
    return out, slow


def _decimals(fields: Fields, precision: int, scale: int) -> pa.Array:
    """Decimals of a declared precision; NaN, which PostgreSQL allows there too, is missing."""
    import pyarrow as pa

    units, slow = _small(fields, scale)
    if slow.any():
        return _each(fields, lambda number: number if number.is_finite() else None, _type(precision, scale))
    words = np.stack([units, units >> 63], axis=1)  # 128 bits, the sign filled up
    present = pa.py_buffer(np.packbits(~fields.absent, bitorder="little"))
    buffers = [present, pa.py_buffer(np.ascontiguousarray(words))]
    return pa.Array.from_buffers(_type(precision, scale), len(units), buffers)


def _type(precision: int, scale: int) -> pa.DataType:
    import pyarrow as pa

    return pa.decimal128(precision, scale)


def _floats(fields: Fields) -> pa.Array:
    """The floating-point number nearest to each numeric.

    A quotient of two whole numbers that float64 holds is rounded once, so it is the nearest one (up to 2^53
    and 10^22); others are read one by one.
    """
    import pyarrow as pa

    out = np.zeros(len(fields.starts), dtype=np.float64)
    left = ~fields.absent
    for scale in (0, 2, 6):
        units, slow = _small(fields, scale)
        done = left & ~slow & (np.abs(units) < 2**53)
        out[done] = units[done] / 10.0**scale
        left &= ~done
    for row in np.flatnonzero(left).tolist():
        out[row] = float(_number(_octets(fields, row)))  # of one that is too large, infinity
    return pa.array(out, mask=fields.absent)


def _each(fields: Fields, read: Callable[[Decimal], Any], type_: pa.DataType) -> pa.Array:
    """A column of numerics, each of them read once however often it comes."""
    import pyarrow as pa

    encoded = fields.octets().cast(pa.binary()).dictionary_encode()
    values = [read(_number(octets)) for octets in encoded.dictionary.to_pylist()]
    return pa.array(values, type_).take(encoded.indices)


def _octets(fields: Fields, row: int) -> bytes:
    start, size = int(fields.starts[row]), int(fields.sizes[row])
    return fields.data[start : start + size].tobytes()


def _number(octets: bytes) -> Decimal:
    """A numeric of any size."""
    count, weight, sign, _ = np.frombuffer(octets[:8], dtype=">u2").tolist()
    if sign not in (0, 0x4000):
        return Decimal({0xD000: "Infinity", 0xF000: "-Infinity"}.get(sign, "NaN"))
    weight -= (weight >> 15) << 16
    digits = "".join(
        f"{digit:04d}" for digit in np.frombuffer(octets[8 : 8 + 2 * count], dtype=">u2").tolist()
    )
    whole = Decimal(digits or "0").scaleb(4 * (weight - count + 1), _WIDE)
    return whole.copy_negate() if sign else whole


_WIDE = Context(prec=150_000, Emax=200_000, Emin=-200_000)
