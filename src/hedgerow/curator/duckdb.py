"""The DuckDB engine: CSV and Parquet files, and frames, read as a stream of Arrow batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.curator.engine import BATCH_ROWS
from hedgerow.curator.memory import arrow_table
from hedgerow.errors import SourceError

if TYPE_CHECKING:
    import pyarrow as pa

_NEVER = "\x01hedgerow-null\x01"  # no CSV cell equals it: an empty cell stays the empty string
_CSV = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz", ".csv.zst", ".tsv.zst")


class DuckDBEngine:
    """Rows of a CSV or Parquet file (CSV cells stay text), or of a frame.

    Args:
        source: a path, a glob of Parquet files, or a frame.
    """

    def __init__(self, source: Any) -> None:
        import duckdb

        self._connection = duckdb.connect(":memory:")
        self._connection.execute("SET enable_progress_bar = false")
        if not isinstance(source, (str, Path)):
            frame, self.untyped = arrow_table(source)
            self._connection.register("rows", frame)
            self._from, self._values = "rows", []
            return
        path = str(source)
        if not Path(path).exists() and "*" not in path:
            raise SourceError(f"there is no file {path!r}")
        self.untyped = path.lower().endswith(_CSV)
        if self.untyped:
            self._from = (
                "read_csv(?, all_varchar = true, header = true, null_padding = true, strict_mode = false, "
                "union_by_name = true, nullstr = ?)"
            )
            self._values = [path, _NEVER]
        elif path.lower().endswith((".parquet", ".pq")) or Path(path).is_dir():
            self._from = "read_parquet(?)"
            self._values = [f"{path}/**/*.parquet" if Path(path).is_dir() else path]
        else:
            raise SourceError(f"{path!r} is neither CSV (.csv, .tsv, .txt, also .gz) nor Parquet")

    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self._read("*", limit=True).schema

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows of some columns; a file that stops being readable is one sentence."""
        import duckdb

        names = ", ".join('"' + c.replace('"', '""') + '"' for c in columns)
        reader = self._read(names)
        while True:
            try:
                yield reader.read_next_batch()
            except StopIteration:
                return
            except (duckdb.Error, OSError, ValueError):
                raise SourceError("the data file could not be read to its end") from None

    def _read(self, columns: str, *, limit: bool = False) -> pa.RecordBatchReader:
        import duckdb

        text = f"SELECT {columns} FROM {self._from}" + (" LIMIT 0" if limit else "")
        try:
            result = self._connection.sql(text, params=self._values)
            reader = getattr(result, "to_arrow_reader", None) or result.fetch_record_batch
            return reader(BATCH_ROWS)
        except duckdb.Error:
            raise SourceError("the data file could not be read; is it a whole CSV or Parquet file?") from None
