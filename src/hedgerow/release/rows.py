"""Synthetic rows on their way to a file, a batch at a time."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from hedgerow.errors import UnsupportedQuery
from hedgerow.synopsis.model import ModelSynopsis

if TYPE_CHECKING:
    from hedgerow.synopsis import Synopsis

_BATCH = 100_000


def write_rows(
    synopsis: Synopsis,
    rows: int,
    target: Path | IO[str],
    *,
    seed: int | None = None,
    parquet: Path | None = None,
    step: Callable[[str, float | None], None] = lambda words, part: None,
) -> None:
    """Draw synthetic rows and write them as CSV.

    Args:
        synopsis: the release to draw from.
        rows: how many.
        target: a path, or an open text file.
        seed: for the same rows again.
        parquet: a file for the same rows as Parquet.
        step: told how far it is.
    """
    if rows < 0:
        raise UnsupportedQuery("a number of rows is not negative")
    if isinstance(target, Path):
        with target.open("w", newline="", encoding="utf-8") as file:
            write_rows(synopsis, rows, file, seed=seed, parquet=parquet, step=step)
        return
    out = csv.writer(target, lineterminator="\n")
    out.writerow(synopsis.domain.names)
    with ExitStack() as open_files:
        also = None if parquet is None else open_files.enter_context(_parquet(synopsis, parquet))
        written = 0
        step("Drawing synthetic rows", None)
        for batch in _batches(synopsis, rows, seed):
            columns = [batch[name].tolist() for name in synopsis.domain]
            out.writerows(zip(*columns, strict=True))
            if also is not None:
                also.write_table(_typed(columns, also.schema))
            written += len(columns[0])
            step("Drawing synthetic rows", written / max(rows, 1))


def _batches(synopsis: Synopsis, rows: int, seed: int | None) -> Iterator[dict[str, Any]]:
    """Rows of a model are brought to its tables all together; others are drawn one by one anyway."""
    if isinstance(synopsis, ModelSynopsis):
        yield from synopsis.sampled(rows, size=_BATCH, seed=seed)
        return
    for start in range(0, rows, _BATCH):
        yield synopsis.sample(min(_BATCH, rows - start), seed=None if seed is None else seed + start)


def _parquet(synopsis: Synopsis, path: Path) -> Any:
    """A Parquet file whose columns have the types of the declared levels, whatever rows hold."""
    import pyarrow.parquet as pq

    return pq.ParquetWriter(path, arrow_schema(synopsis))


def arrow_schema(synopsis: Synopsis) -> Any:
    """A type for each declared attribute: numbers and dates if all levels are, else text."""
    import pyarrow as pa

    fields = []
    for name in synopsis.domain:
        attribute = synopsis.domain[name]
        try:
            kind = pa.array(attribute.decode(range(attribute.size)).tolist()).type
        except (pa.ArrowException, OverflowError):  # levels of several types
            kind = pa.string()
        known = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_date(kind)
        fields.append(pa.field(name, kind if known or pa.types.is_boolean(kind) else pa.string()))
    return pa.schema(fields)


def _typed(columns: list[list[Any]], schema: Any) -> Any:
    import pyarrow as pa

    arrays = []
    for column, field in zip(columns, schema, strict=True):
        text = [None if v is None else str(v) for v in column] if pa.types.is_string(field.type) else column
        arrays.append(pa.array(text, field.type))
    return pa.Table.from_arrays(arrays, schema=schema)
