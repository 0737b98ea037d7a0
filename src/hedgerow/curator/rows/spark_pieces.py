"""What Spark's tasks send: sums in pieces, each once; and what every task reads alike.

Each piece carries the number of its partition. Spark hands over what one attempt at a task made, whichever
attempts there were, and a number that came twice is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.curator.rows.parquet_files import spelled_out
from hedgerow.errors import SourceError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

PIECE = 1 << 17  # numbers in one row of what a task sends
SENT = "part long, tables int, first long, numbers binary"


def readable(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same moments, whatever zone the session shows them in; text that is not UTF-8 as in Parquet files.

    Spark's text may hold any bytes, and a single row that cannot be read would decide whether all are.
    """
    import pyarrow as pa

    arrays = [
        a.cast(pa.timestamp(a.type.unit, "UTC"))
        if pa.types.is_timestamp(a.type) and a.type.tz
        else spelled_out(a)
        for a in batch.columns
    ]
    return pa.RecordBatch.from_arrays(arrays, batch.schema.names)


def salted(ids: pa.ChunkedArray, rows: pa.ChunkedArray) -> NDArray[np.int64]:
    """0 for rows with a name, which meet by it; for others a number of their content."""
    from zlib import crc32

    salt = np.zeros(len(ids), dtype=np.int64)
    for i in np.flatnonzero(np.asarray(ids.is_null())).tolist():
        salt[i] = crc32(rows[i].as_py())
    return salt


def sent_sums(sums: Sequence[NDArray[np.int64]]) -> Iterator[pa.RecordBatch]:
    """One partition's sums, in pieces; those without anything but zeros are left out."""
    import pyarrow as pa

    part = _partition()
    numbers = np.concatenate([np.zeros(0, np.int64), *(table.ravel() for table in sums)])
    for first in range(0, len(numbers), PIECE):
        piece = numbers[first : first + PIECE]
        if piece.any():
            yield pa.RecordBatch.from_pydict(
                {
                    "part": pa.array([part], pa.int64()),
                    "tables": pa.array([len(sums)], pa.int32()),
                    "first": pa.array([first], pa.int64()),
                    "numbers": pa.array([piece.astype("<i8").tobytes()], pa.binary()),
                }
            )


def _partition() -> int:
    """The number of the partition that this task is about."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return int(context.partitionId())


def total(zeros: list[NDArray[np.int64]], sent: pa.Table) -> list[NDArray[np.int64]]:
    """The sum of what all partitions sent, each piece once, in the shapes of some zeros."""
    seen: set[tuple[int, int]] = set()
    flat = np.zeros(sum(table.size for table in zeros), dtype=np.int64)
    for batch in sent.to_batches():
        for part, first, numbers in zip(
            batch.column("part").to_pylist(),
            batch.column("first").to_pylist(),
            batch.column("numbers").to_pylist(),
            strict=True,
        ):
            if (part, first) in seen:
                raise SourceError("Spark sent a partition's counts twice; nothing was counted")
            seen.add((part, first))
            piece = np.frombuffer(numbers, dtype="<i8")
            flat[first : first + len(piece)] += piece
    ends = np.cumsum([table.size for table in zeros])[:-1]
    return [p.reshape(t.shape) for p, t in zip(np.split(flat, ends), zeros, strict=True)]
