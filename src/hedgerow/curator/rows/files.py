"""The file engine: CSV and Parquet files, read as a stream of Arrow batches."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow.curator.rows.csv_file import CsvFile, way_of
from hedgerow.curator.rows.csv_rows import CsvRows, Reading
from hedgerow.curator.rows.parquet_files import ParquetFiles
from hedgerow.errors import DataChanged, DomainMismatch, SourceError
from hedgerow.privacy.ledger.url import LedgerUrl

if TYPE_CHECKING:
    import pyarrow as pa

_CSV = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz", ".csv.zst", ".tsv.zst")
_FINE, _COARSE = 50_000_000, 2_000_000_000  # nanoseconds in which a file may change without a new time

Watch = Callable[[float | None], None]


Moment = tuple[int, int, int, int]


class FileEngine:
    """Rows of a CSV file, whose cells stay text, or of Parquet files.

    Args:
        path: a file, a folder of Parquet files, or a pattern of them.
        encoding, delimiter, multiline: of a CSV file, see `CsvFile.open`.
        watch: told the part of the rows read so far, for the owner's progress bar.
    """

    in_memory = False

    def __init__(
        self,
        path: str | Path,
        *,
        encoding: str | None = None,
        delimiter: str | None = None,
        multiline: bool = False,
        watch: Watch | None = None,
    ) -> None:
        name = str(path)
        if not name:
            raise SourceError("the path of the data is empty")
        if (url := LedgerUrl.of(name)) is not None:
            raise SourceError(f"{url.shown!r} is a database, and what reads files was given its address")
        if not Path(name).exists() and "*" not in name:
            raise SourceError(f"there is no file {name!r}")
        self.untyped = is_csv(name)
        self.reading: Reading | None = None
        self.read_as = repr((encoding, delimiter, multiline))
        self.way = way_of(encoding, multiline=multiline) if self.untyped else ""
        self._watch = watch
        self._rows: CsvRows | ParquetFiles
        if self.untyped:
            self._stamps = {name: _stamp(name)}
            self._moments = _moments(self._stamps)
            self._rows = CsvRows(CsvFile.open(Path(name), encoding, delimiter, multiline=multiline))
            self.reading = self._rows.reading
            return
        if encoding is not None or delimiter is not None or multiline:
            raise SourceError("an encoding, a delimiter and --multiline belong to CSV files only")
        if not Path(name).is_dir():
            refuse_other(name)
        self._rows = ParquetFiles(name)
        self._stamps = {file: _stamp(file) for file in self._rows.files}
        self._moments = _moments(self._stamps)

    @property
    def written(self) -> int | None:
        """When the file, or the newest of several, was last changed, in nanoseconds."""
        return max((stamp[-1] for stamp in self._stamps.values() if stamp), default=None)

    @property
    def moments(self) -> tuple[Moment, ...]:
        """Which files these are and when they were last touched; nothing if since or just before opening."""
        return _still(self._moments, self._stamps)

    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        import pyarrow as pa

        if isinstance(self._rows, CsvRows):
            return pa.schema([pa.field(name, pa.string()) for name in self._rows.file.columns])
        return self._rows.schema()

    def check(self, columns: Sequence[str]) -> None:
        """Refuse types that differ from file to file; a CSV file was checked when it was opened."""
        if isinstance(self._rows, ParquetFiles):
            self._rows.check(columns)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows of some columns, of the files as they were when they were opened."""
        self._refuse_changed()
        done, expected = 0, self.reading.rows if self.reading else getattr(self._rows, "rows", 0)
        for batch in self._rows.batches(columns):
            yield batch
            done += batch.num_rows
            if self._watch is not None:
                self._watch(min(done / expected, 1.0) if expected else None)
        self._refuse_changed()

    def _refuse_changed(self) -> None:
        """What was decided about the file when it was opened must still be about the same file."""
        if any(_stamp(file) != stamp for file, stamp in self._stamps.items()):
            raise DataChanged("the data file was changed or replaced after it was opened; open it again")


class LaterFile:
    """A file that is looked into when rows are needed; until then only its last change is known.

    Args:
        path: the file.
        look: opens it.
        read_as, way: what was said of how it is read, as a `FileEngine` has it.
    """

    in_memory = False

    def __init__(
        self, path: str | Path, look: Callable[[], FileEngine], read_as: str = "", way: str = ""
    ) -> None:
        self.untyped = is_csv(path)
        self.check_opened: Callable[[], None] = lambda: None
        """What the owner is to hear about a file that was opened; the table's."""
        self._path, self._look, self.read_as, self.way = str(path), look, read_as, way
        self._stamp, self._moments = _stamp(self._path), _moments([self._path])
        self._opened: FileEngine | None = None

    @property
    def written(self) -> int | None:
        """When the file was last changed, in nanoseconds."""
        return self._stamp[-1] if self._stamp else None

    @property
    def moments(self) -> tuple[Moment, ...]:
        """Which file it is and when it was last touched; nothing if since, or just before, it was named."""
        return _still(self._moments, [self._path])

    @property
    def reading(self) -> Reading | None:
        """How a CSV file was read."""
        return self._file.reading

    @property
    def _file(self) -> FileEngine:
        """The file, opened and checked; refused if it is no longer the one whose last change was told."""
        if self._opened is None:
            made = self._look()
            if made._stamps != {self._path: self._stamp}:
                raise DataChanged("the data file was changed or replaced after it was named; ask again")
            self._opened = made
            try:
                self.check_opened()
            except BaseException:
                self._opened = None  # what was refused once is refused again
                raise
        return self._opened

    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return self._file.schema()

    def check(self, columns: Sequence[str]) -> None:
        """Look into the file, and refuse columns that it does not have."""
        self._file.check(columns)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows of some columns."""
        return self._file.batches(columns)


def refuse_absent(wanted: Sequence[str], held: Sequence[str], *, untyped: bool) -> None:
    """Refuse declared columns that the data does not have exactly once.

    Args:
        wanted: the declared columns.
        held: the columns of the data.
        untyped: whether the data is CSV text, whose first line may be a row: it is quoted only where it holds
            declared names.
    """
    known = not untyped or any(name in held for name in wanted)
    has = f"it has {', '.join(map(repr, held))}" if known else "does its first line hold names?"
    for name in wanted:
        if held.count(name) != 1:
            how = "no column" if name not in held else "more than one column"
            do = "" if name not in held else ": rename all but one"
            raise DomainMismatch(f"the data has {how} {name!r}; {has}{do}")


def refuse_other(path: str | Path) -> None:
    """Refuse a file whose name says that it holds neither CSV text nor Parquet."""
    if is_csv(path) or str(path).lower().endswith((".parquet", ".pq")):
        return
    if str(path).endswith(".hedgerow"):
        raise SourceError(f"{str(path)!r} is a release and holds no rows: ask it with `hedgerow query`")
    raise SourceError(
        f"{str(path)!r} is neither CSV (.csv, .tsv, .txt, also .gz) nor Parquet: save its rows as one"
    )


def is_csv(path: str | Path) -> bool:
    """Whether a file's name says that it holds CSV text."""
    return str(path).lower().endswith(_CSV)


def _stamp(path: str) -> tuple[int, ...]:
    """Which file a path names, and in which state."""
    try:
        status = Path(path).stat()
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def is_settled(status: os.stat_result) -> bool:
    """Whether a file was last changed so long ago that any later change shows in its times."""
    newest = max(status.st_mtime_ns, status.st_ctime_ns)
    return time.time_ns() - newest > (_COARSE if newest % 1_000_000_000 == 0 else _FINE)


def _moments(files: Iterable[str]) -> tuple[Moment, ...]:
    """Of each file which one it is, and its times, one of which nobody can set; nothing of its content.

    Nothing at all where one is not settled: it may change and have the same times.
    """
    found = list[Moment]()
    for file in sorted(files):
        try:
            status = Path(file).stat()
        except OSError:
            return ()
        if not is_settled(status):
            return ()
        found.append((status.st_dev, status.st_ino, status.st_mtime_ns, status.st_ctime_ns))
    return tuple(found)


def _still(before: tuple[Moment, ...], files: Iterable[str]) -> tuple[Moment, ...]:
    """The same, if it is as before."""
    return before if before == _moments(files) else ()
