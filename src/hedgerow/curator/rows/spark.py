"""The Spark engine: rows of a DataFrame, coded, bounded and added up where they are; only sums travel.

Classic Spark and Spark Connect, by DataFrames alone. Every partition of the rows becomes one sum, which is
sent once with the partition's number: Spark hands over what one attempt at a task made, whichever attempts
there were, and a number that came twice would be refused. Where people are bounded, their coded rows are
shuffled once, so that all rows of a unit meet in one task, which keeps the same ones as every other engine:
which ones depends on that unit's rows and the key alone. Equal rows of a unit travel as one row and a count,
so that somebody with very many rows is no burden.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.curator.rows import values
from hedgerow.curator.rows.coding import Bound, Coded, coded_rows, kept_values
from hedgerow.curator.rows.spark_names import named_sums
from hedgerow.curator.rows.spark_pieces import SENT, readable, salted, sent_sums, total
from hedgerow.errors import SourceError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from hedgerow.curator.rows.name_sums import NameSum
    from hedgerow.curator.rows.sums import RowSum
    from hedgerow.curator.rows.unit import Unit
    from hedgerow.queries.domain.domain import Domain, OpenDomain

_MOVED = "id binary, salt long, row binary, times long"


class SparkEngine:
    """Rows of a Spark DataFrame.

    Args:
        frame: the DataFrame; what it is made of must not change while its table is open.
    """

    untyped = False
    in_memory = False
    written: int | None = None

    def __init__(self, frame: Any) -> None:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        self._frame = frame
        names = list(frame.columns)
        if len({name.lower() for name in names}) < len(names):
            raise SourceError("two columns of the DataFrame differ in nothing but capitals; rename one")
        self._schema = _arrow_schema(frame.schema)

    def schema(self) -> pa.Schema:
        """Names and types of the columns; moments are in UTC, whatever the session's zone is."""
        return self._schema

    def check(self, columns: Sequence[str]) -> None:
        """Nothing: the columns' types say all."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows of some columns, brought here: for what is no sum, such as names of an open domain."""
        for batch in self._selected(list(dict.fromkeys(columns))).toArrow().to_batches():
            plain = readable(batch)
            yield plain.select(list(columns)) if plain.num_columns else plain

    def summed(self, domain: Domain, work: RowSum, bound: Bound | None) -> list[NDArray[np.int64]]:
        """What `work` gives for all rows, made by Spark and added up here."""
        columns = [*domain.columns, *([] if bound is None else [bound.unit.column])]
        frame = self._selected(list(dict.fromkeys(columns)))
        if bound is None:
            sent = frame.mapInArrow(_Count(domain, work), SENT)
        else:
            coding = _Code(domain, bound.unit, bound.spelling, tuple(columns))
            moved = frame.mapInArrow(coding, _MOVED).repartition("id", "salt")
            sent = moved.mapInArrow(_BoundAndCount(domain, work, bound), SENT)
        return total(work(iter(())), sent.toArrow())

    def summed_names(self, domain: OpenDomain, work: NameSum, bound: Bound | None) -> list[NDArray[np.int64]]:
        """What `work` gives for all rows' names, made by Spark and added up here."""
        columns = [domain.column, *([] if bound is None else [bound.unit.column])]
        sent = named_sums(self._selected(list(dict.fromkeys(columns))), columns, work, bound)
        return total(work((), np.zeros(0, np.int64)), sent.toArrow())

    def __repr__(self) -> str:
        return f"SparkEngine({', '.join(self._schema.names)})"

    def _selected(self, columns: list[str]) -> Any:
        return self._frame.select(*(f"`{name.replace('`', '``')}`" for name in columns))


@dataclass(frozen=True)
class _Count:
    """One partition's sums, where every row counts."""

    domain: Domain
    work: RowSum

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (coded_rows(self.domain, readable(batch), self.work.numbers) for batch in batches)
        yield from sent_sums(self.work(rows))


@dataclass(frozen=True)
class _Code:
    """Coded rows with their units' ids, equal ones counted; the key is no part of it.

    A row without a name that is a unit of its own goes where its content says: a row that is made anew, when
    a task is tried again, goes where it went before.
    """

    domain: Domain
    unit: Unit
    spelling: int
    columns: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        import pyarrow.compute as pc

        numbers = values.binned(self.domain)
        for batch in batches:
            plain = readable(batch).select(list(self.columns))
            rows = coded_rows(self.domain, plain, numbers, self.spelling)
            packed = _packed(rows, numbers)
            assert rows.ids is not None
            moved = pa.table({"id": rows.ids.cast(pa.binary()), "row": packed})
            if self.unit.null_units == "drop":
                moved = moved.filter(pc.is_valid(moved["id"]))
            moved = moved.group_by(["id", "row"], use_threads=False).aggregate([([], "count_all")])
            moved = moved.combine_chunks()
            salt = salted(moved["id"], moved["row"])
            table = pa.table(
                {
                    "id": moved["id"],
                    "salt": salt,
                    "row": moved["row"],
                    "times": moved["count_all"].cast(pa.int64()),
                }
            )
            yield from table.to_batches()


@dataclass(frozen=True)
class _BoundAndCount:
    """The sums of those rows that stay, of all rows of some units."""

    domain: Domain
    work: RowSum
    bound: Bound

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        numbers = values.binned(self.domain)
        parts = (_unpacked(batch, self.domain, numbers) for batch in batches)
        codes, _, own = kept_values(self.domain, parts, self.bound)
        yield from sent_sums(self.work(iter([Coded(codes, own)])))


def _arrow_schema(schema: Any) -> pa.Schema:
    """The types of a DataFrame as they are read; what no attribute reads is a list."""
    import pyarrow as pa

    plain = {
        "string": pa.string(), "boolean": pa.bool_(), "byte": pa.int8(), "short": pa.int16(),
        "integer": pa.int32(), "long": pa.int64(), "float": pa.float32(), "double": pa.float64(),
        "date": pa.date32(), "timestamp": pa.timestamp("us", "UTC"), "timestamp_ntz": pa.timestamp("us"),
        "binary": pa.binary(), "void": pa.null(), "char": pa.string(), "varchar": pa.string(),
    }  # fmt: skip

    def arrow(type_: Any) -> pa.DataType:
        name = str(type_.typeName())
        if name == "decimal":
            return pa.decimal128(type_.precision, type_.scale)
        return plain.get(name, pa.list_(pa.null()))

    return pa.schema([pa.field(field.name, arrow(field.dataType)) for field in schema.fields])


def _packed(rows: Coded, numbers: Sequence[str]) -> pa.Array:
    """Every row as bytes: its codes, then its own numbers."""
    import pyarrow as pa

    count = rows.codes.shape[1]
    codes = np.ascontiguousarray(rows.codes.T.astype("<i4")).view(np.uint8).reshape(count, -1)
    fine = [rows.numbers[name].astype("<i4").view(np.uint8).reshape(count, 4) for name in numbers]
    octets = np.ascontiguousarray(np.concatenate([codes, *fine], axis=1))
    offsets = (np.arange(count + 1) * octets.shape[1]).astype(np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(octets)]
    return pa.Array.from_buffers(pa.binary(), count, buffers)


def _unpacked(batch: pa.RecordBatch, domain: Domain, numbers: Sequence[str]) -> Coded:
    import pyarrow as pa

    words = len(domain) + len(numbers)
    packed = pa.concat_arrays([batch.column("row").cast(pa.binary())])
    data = np.frombuffer(b"".join(packed.to_pylist()), dtype="<i4").reshape(-1, words)
    times = np.asarray(batch.column("times"))
    table = np.repeat(data, times, axis=0).T
    codes = np.ascontiguousarray(table[: len(domain)].astype(_width(domain)))
    own = {name: np.ascontiguousarray(table[len(domain) + i]) for i, name in enumerate(numbers)}
    ids = batch.column("id").cast(pa.large_binary()).take(pa.array(np.repeat(np.arange(len(times)), times)))
    return Coded(codes, own, ids)


def _width(domain: Domain) -> Any:
    widest = max(domain.shape)
    return np.uint8 if widest <= 256 else np.uint16 if widest <= 65536 else np.int32
