"""The DuckDB engine: CSV and Parquet files, and frames, read as a stream of Arrow batches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.curator.csv_file import CsvFile, literal_path
from hedgerow.curator.engine import BATCH_ROWS
from hedgerow.curator.memory import arrow_table, check_text
from hedgerow.errors import SourceError

if TYPE_CHECKING:
    import pyarrow as pa

_CSV = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz", ".csv.zst", ".tsv.zst")

Watch = Callable[[float | None], None]


class DuckDBEngine:
    """Rows of a CSV or Parquet file (CSV cells stay text), or of a frame.

    Args:
        source: a path, a glob of Parquet files, or a frame.
        unit, unit_type: of a frame, see `MemoryEngine`.
        encoding, delimiter: of a CSV file, see `CsvFile.open`.
        watch: told the part of the rows read so far (None: unknown), for the owner's progress bar.
    """

    def __init__(
        self,
        source: Any,
        *,
        unit: str | None = None,
        unit_type: str | None = None,
        encoding: str | None = None,
        delimiter: str | None = None,
        watch: Watch | None = None,
    ) -> None:
        import duckdb

        self._connection = duckdb.connect(":memory:")
        self._connection.execute("SET enable_progress_bar = false")
        self._csv: CsvFile | None = None
        self._watch = watch
        self._frame: pa.Table | None = None
        self._stamps: dict[str, tuple[int, ...]] = {}
        self._values: list[Any] = []
        if not isinstance(source, (str, Path)):
            self._frame, self.untyped = arrow_table(source, unit, unit_type)
            try:
                self._connection.register("rows", self._frame)
            except duckdb.Error:  # a column's type; its values are not looked at
                raise SourceError(
                    "a column has a type that DuckDB does not know; use engine='memory'"
                ) from None
            self._from = "rows"
            return
        path = str(source)
        if not path:
            raise SourceError("the path of the data is empty")
        if not Path(path).exists() and "*" not in path:
            raise SourceError(f"there is no file {path!r}")
        self.untyped = path.lower().endswith(_CSV)
        if self.untyped:
            self._csv = CsvFile.open(Path(path), encoding, delimiter)
            self._csv.check_text()
            self._stamps = {path: _stamp(path)}
            return
        if encoding is not None or delimiter is not None:
            raise SourceError("an encoding and a delimiter belong to CSV files only")
        if not path.lower().endswith((".parquet", ".pq")) and not Path(path).is_dir():
            raise SourceError(f"{path!r} is neither CSV (.csv, .tsv, .txt, also .gz) nor Parquet")
        files = self._files(f"{literal_path(path)}/**/*.parquet" if Path(path).is_dir() else _pattern(path))
        if not files:
            raise SourceError(f"there is no Parquet file in {path!r}")
        self._stamps = {file: _stamp(file) for file in files}
        # What folders are called is text, whatever it looks like: one more folder must not change the others.
        named = "true" if Path(path).is_dir() else "false"
        self._from = f"read_parquet(?, hive_partitioning = {named}, hive_types_autocast = false)"
        self._values = [[literal_path(file) for file in files]]

    def _files(self, pattern: str) -> list[str]:
        """The files of a pattern as they are now: those that appear later are not read."""
        found = self._connection.execute("SELECT file FROM glob(?) ORDER BY file", [pattern])
        return [file for (file,) in found.fetchall()]

    @property
    def written(self) -> int | None:
        """When the file, or the newest of several, was last changed, in nanoseconds; None for frames."""
        return max((stamp[-1] for stamp in self._stamps.values() if stamp), default=None)

    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        if self._csv is not None:
            import pyarrow as pa

            return pa.schema([pa.field(name, pa.string()) for name in self._csv.columns])
        return self._read("*", limit=True).schema

    def check(self, columns: Sequence[str]) -> None:
        """Types that differ from file to file, and text that is not UTF-8, are refused.

        Otherwise the first file's types would be everybody's - a row in it could change what others' values
        mean - and one value that does not fit them would make every reading fail.
        """
        if self._frame is not None:
            check_text(self._frame.select(list(columns)))
        if self._csv is not None or self._frame is not None:
            return
        held = {file: self._types(file) for file in self._stamps} if len(self._stamps) > 1 else {}
        for name in columns:
            kinds = {types.get(name, "missing"): file for file, types in held.items()}
            if len(kinds) > 1:
                (one, file), (two, other), *_ = kinds.items()
                has = f"{one} in {file!r}, {two} in {other!r}"
                raise SourceError(f"column {name!r} does not have one type in all files: {has}")
        texts = [name for name in columns if self.schema().field(name).type in ("string", "large_string")]
        if texts:
            for _ in self._each(self._read(", ".join(map(_quoted, texts)))):
                pass

    def _types(self, file: str) -> dict[str, str]:
        """The columns of one Parquet file."""
        text = "SELECT * FROM read_parquet(?, hive_partitioning = false) LIMIT 0"
        reader = self._reader(text, [literal_path(file)])
        return {field.name: str(field.type) for field in reader.schema}

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows of some columns; a file that stops being readable is one sentence."""
        if self._csv is not None:
            self._from, self._values = self._csv.scan()
            places = [self._csv.columns.index(c) for c in columns]
            names = ", ".join(f"c{i} AS {_quoted(c)}" for i, c in zip(places, columns, strict=True))
        else:
            names = ", ".join(map(_quoted, columns))
        self._refuse_changed()
        expected = self._expected() if self._watch else None  # first: DuckDB keeps one open result at a time
        reader, done = self._read(names), 0
        for batch in self._each(reader):
            yield batch
            done += batch.num_rows
            if self._watch is not None:
                self._watch(min(done / expected, 1.0) if expected else None)
        self._refuse_changed()

    def _each(self, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        """What a reader returns; what it cannot read is one sentence."""
        import duckdb

        try:
            yield from reader
        except (duckdb.Error, OSError, ValueError, RuntimeError) as error:
            raise _failure(error, self._broken()) from None

    def _refuse_changed(self) -> None:
        """What was decided about the file when it was opened must still be about the same file."""
        if any(_stamp(file) != stamp for file, stamp in self._stamps.items()):
            raise SourceError("the data file was changed or replaced after it was opened; open it again")

    def _broken(self) -> str:
        if self._csv is None or self._csv.encoding not in ("utf-8", "utf-8-sig"):
            return "the data file could not be read to its end"
        return "the data file could not be read to its end; if it is not UTF-8 text, declare its encoding"

    def _expected(self) -> float | None:
        """How many rows there are, nearly; None when that is not known without reading them."""
        if self._csv is not None:
            return self._csv.expected_rows
        if not self._values:
            return None
        found = self._connection.execute("SELECT sum(num_rows) FROM parquet_file_metadata(?)", self._values)
        (number,) = found.fetchall()[0]  # all of it: a result left open keeps others from being read
        return float(number or 0)

    def _read(self, columns: str, *, limit: bool = False) -> pa.RecordBatchReader:
        return self._reader(
            f"SELECT {columns} FROM {self._from}" + (" LIMIT 0" if limit else ""), self._values
        )

    def _reader(self, text: str, values: list[Any]) -> pa.RecordBatchReader:
        import duckdb

        try:
            result = self._connection.sql(text, params=values)
            reader = getattr(result, "to_arrow_reader", None) or result.fetch_record_batch
            return reader(BATCH_ROWS)
        except (duckdb.Error, RuntimeError) as error:
            why = "the data file could not be read; is it a whole CSV or Parquet file?"
            raise _failure(error, why) from None


def _stamp(path: str) -> tuple[int, ...]:
    """Which file a path names, and in which state."""
    try:
        status = Path(path).stat()
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _failure(error: Exception, sentence: str) -> BaseException:
    """A sentence in place of DuckDB's words, which may quote rows; Ctrl-C, which it reports too, stays so."""
    interrupted = re.match(r"(INTERRUPT Error: )?(Query )?interrupted", str(error), re.IGNORECASE)
    return KeyboardInterrupt() if interrupted else SourceError(sentence)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _pattern(path: str) -> str:
    """A file of that name, else a pattern of files."""
    return literal_path(path) if Path(path).exists() else path
