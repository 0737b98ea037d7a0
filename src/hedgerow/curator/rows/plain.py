"""Batches of rows as one table that can be joined, taken from and written, or in parts that can be read.

A cell must not decide about the rows beside it, whatever it holds. Dictionaries may be of different levels,
which do not always fit into one, and may hold what cannot be read; a batch with such a cell may have come as
plain text; all text of a column, or of a batch, may be more than 32-bit offsets reach; and a moment counted
in seconds may be beyond the milliseconds that a Parquet file would have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from hedgerow.queries.domain import encoding

if TYPE_CHECKING:
    import pyarrow as pa

_LAST = (2**63 - 1) // 1000  # seconds that are still a number of milliseconds


def plain_table(batches: Sequence[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """The rows of some batches: dictionaries as what they stand for, text with long offsets.

    Args:
        batches: their columns in the order of the schema.
        schema: the names and types of the columns, as the source tells them.
    """
    import pyarrow as pa

    columns = []
    for place, field in enumerate(schema):
        type_ = _plain_type(field.type)
        columns.append(pa.chunked_array([_plain(batch.column(place), type_) for batch in batches], type_))
    names = [field.name for field in schema]
    return pa.table(columns, schema=pa.schema(zip(names, (c.type for c in columns), strict=True)))


def readable_parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A batch in parts: of several rows no column has more text than `encoding.as_text` can spell."""
    if batch.num_rows < 2 or all(_text_bytes(array) <= encoding.SHORT for array in batch.columns):
        yield batch
        return
    middle = batch.num_rows // 2
    yield from readable_parts(batch.slice(0, middle))
    yield from readable_parts(batch.slice(middle))


def _text_bytes(array: pa.Array) -> int:
    """How many bytes of text a column has, at most, where they may be more than short offsets reach."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if encoding.kind_of(array.type) != "text" or pa.types.is_string(array.type):
        return 0
    if pa.types.is_dictionary(array.type):
        longest = array.dictionary.nbytes  # one level is no longer than all
        if longest * len(array) > encoding.SHORT:
            longest = pc.max(pc.binary_length(array.dictionary.cast(pa.large_string()))).as_py() or 0
        return int(longest) * len(array)
    if array.nbytes <= encoding.SHORT:  # of views it counts what all share
        return int(array.nbytes)
    return int(pc.sum(pc.binary_length(array.cast(pa.large_string()))).as_py() or 0)


def _plain_type(type_: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    if pa.types.is_dictionary(type_):
        return _plain_type(type_.value_type)
    short = pa.types.is_string(type_) or pa.types.is_string_view(type_)
    return pa.large_string() if short else type_


def _plain(array: pa.Array, type_: pa.DataType) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_uint64(array.type) and array.type != type_:  # files of a folder have integers of any width
        array = pc.if_else(pc.greater(array, 2**63 - 1), pa.scalar(None, array.type), array)
    if pa.types.is_timestamp(array.type) and array.type.unit == "s":  # far beyond the calendar, as it was
        seconds = pc.min_element_wise(array.cast(pa.int64()), _LAST, skip_nulls=False)
        array = pc.max_element_wise(seconds, -_LAST, skip_nulls=False).cast(array.type)
    return array.cast(type_)
