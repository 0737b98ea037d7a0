"""Names in Spark: spelled, bounded, counted and summed up where they are; only sums travel.

Without bounding nothing is shuffled for what is linear in rows, such as a sketch: every partition makes its
own, and they are added up. Where people are bounded, names with their units' ids are shuffled once, as coded
rows are; where all rows of a name have to meet, names with their counts are, as bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.curator.rows import unit_ids
from hedgerow.curator.rows.counted_names import named_counts
from hedgerow.curator.rows.spark_pieces import SENT, readable, salted, sent_sums
from hedgerow.queries.domain.encoding import as_text

if TYPE_CHECKING:
    import pyarrow as pa

    from hedgerow.curator.rows.coding import Bound
    from hedgerow.curator.rows.name_sums import NameSum
    from hedgerow.curator.rows.unit import Unit

_MOST = 1 << 20  # names that are summed up at a time
_NAMED = "name binary, times long"
_OWNED = "id binary, salt long, name binary, times long"


def named_sums(frame: Any, columns: Sequence[str], work: NameSum, bound: Bound | None) -> Any:
    """A DataFrame of the sums of every partition.

    Args:
        frame: the rows.
        columns: that of the names, then that of unit ids where people are bounded.
        work: what is summed.
        bound: how many rows of a unit stay, and by which key.
    """
    named = frame
    read: Any = _Spell(tuple(columns))
    if bound is not None:
        owned = frame.mapInArrow(_Own(tuple(columns), bound.unit, bound.spelling), _OWNED)
        named, read = owned.repartition("id", "salt"), _BoundNames(bound)
    if work.whole:
        counted = named.mapInArrow(read, _NAMED).groupBy("name").agg({"times": "sum"})
        named, read = counted.withColumnRenamed("sum(times)", "times"), _as_it_is
    return named.mapInArrow(_SumNames(read, work), SENT)


@dataclass(frozen=True)
class _Spell:
    """Names as text, equal ones counted."""

    columns: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        held, rows = [], 0
        for batch in batches:
            names = _spelled(batch, self.columns)
            held.append(pa.table({"name": names, "times": np.ones(len(names), np.int64)}))
            rows += len(names)
            if rows > 2 * _MOST:
                held = [_together(held)]
                if held[0].num_rows > _MOST:
                    yield from held.pop().to_batches()
                rows = sum(some.num_rows for some in held)
        if held:
            yield from _together(held).to_batches()


@dataclass(frozen=True)
class _Own:
    """Names with their units' ids, equal ones counted; the key is no part of it."""

    columns: tuple[str, ...]
    unit: Unit
    spelling: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        import pyarrow.compute as pc

        for batch in batches:
            names = _spelled(batch, self.columns)
            ids = unit_ids.spell(readable(batch).column(self.columns[1]), self.spelling)
            moved = pa.table({"id": ids.cast(pa.binary()), "name": names})
            if self.unit.null_units == "drop":
                moved = moved.filter(pc.is_valid(moved["id"]))
            moved = moved.group_by(["id", "name"], use_threads=False).aggregate([([], "count_all")])
            salt = salted(moved["id"], moved["name"])
            parts = [moved["id"], pa.chunked_array([salt]), moved["name"], moved["count_all"]]
            yield from pa.table(parts, names=["id", "salt", "name", "times"]).combine_chunks().to_batches()


@dataclass(frozen=True)
class _BoundNames:
    """The names of those rows that stay, of all rows of some units."""

    bound: Bound

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        texts, ids = [], []
        for batch in batches:
            times = np.asarray(batch.column("times"))
            places = pa.array(np.repeat(np.arange(len(times)), times))
            texts.append(batch.column("name").cast(pa.binary()).cast(pa.string()).take(places))
            ids.append(batch.column("id").cast(pa.large_binary()).take(places))
        names, counts, _ = named_counts(texts, ids, self.bound)
        table = pa.table({"name": pa.array(names, pa.string()).cast(pa.binary()), "times": counts})
        yield from table.filter(pa.array(counts > 0)).to_batches(max_chunksize=_MOST)


@dataclass(frozen=True)
class _SumNames:
    """One partition's sums."""

    read: Any
    work: NameSum

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sums = self.work((), np.zeros(0, np.int64))
        for batch in self.read(batches):
            names = [name.decode() for name in batch.column("name").to_pylist()]
            for mine, theirs in zip(sums, self.work(names, np.asarray(batch.column("times"))), strict=True):
                mine += theirs
        yield from sent_sums(sums)


def _spelled(batch: pa.RecordBatch, columns: Sequence[str]) -> pa.Array:
    """The names of a batch as bytes; a row without one has the empty name."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.fill_null(as_text(readable(batch).column(columns[0])), "").cast(pa.binary())


def _together(tables: list[pa.Table]) -> pa.Table:
    """Names with their counts, equal ones put together."""
    import pyarrow as pa

    found = pa.concat_tables(tables).group_by("name", use_threads=False).aggregate([("times", "sum")])
    return pa.table({"name": found["name"], "times": found["times_sum"]}).combine_chunks()


def _as_it_is(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return batches
