"""ParquetFiles: one Parquet file, or those of a folder or a pattern, each read by its own types."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np

from hedgerow.curator.rows.engine import BATCH_ROWS
from hedgerow.errors import SourceError
from hedgerow.queries.domain.encoding import kind_of

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

_UNREADABLE = "\ufffd"
_NO_NAME = "__HIVE_DEFAULT_PARTITION__"


class ParquetFiles:
    """Parquet files with the rows of one table; `name=value` folders are columns of text.

    Args:
        path: a file, a folder, or a pattern of files.
    """

    def __init__(self, path: str) -> None:
        folder = Path(path).is_dir()
        if folder:
            found = [str(file) for file in Path(path).rglob("*.parquet")]
        elif Path(path).exists():
            found = [path]
        else:
            found = [str(file) for file in _matching(path)]
        if not found:
            raise SourceError(f"there is no Parquet file in {path!r}")
        self.files = tuple(sorted(found))
        self._named = {file: _named(file) if folder else {} for file in self.files}
        self._schemas: dict[str, pa.Schema] = {}
        self.rows = 0
        for file in self.files:
            with _opened(file) as opened:
                self._schemas[file] = opened.schema_arrow
                self.rows += opened.metadata.num_rows

    def schema(self) -> pa.Schema:
        """Names and types of the columns; of one whose types differ, what all are read as."""
        import pyarrow as pa

        kinds = {"integer": pa.int64(), "text": pa.string(), "float": pa.float64()}
        fields: list[pa.Field] = []
        first = self._schemas[self.files[0]]
        named = dict.fromkeys(name for file in self.files for name in self._named[file])
        for field in first:
            if field.name not in named:
                types = [t for t in self._types(field.name).values() if t is not None and t != pa.null()]
                same = not types or all(t == types[0] for t in types)
                read = (types or [field.type])[0]
                read = read if same else kinds.get(_family(read), read)
                fields.append(pa.field(field.name, pa.int64() if pa.types.is_duration(read) else read))
        fields += [pa.field(name, pa.string()) for name in named]
        return pa.schema(fields)

    def _types(self, name: str) -> dict[str, pa.DataType | None]:
        """The type of a column in each file, None where there is no such column."""
        import pyarrow as pa

        types = {}
        for file, schema in self._schemas.items():
            place = schema.get_field_index(name)
            known = _plain_type(schema.field(place).type) if place >= 0 else None
            types[file] = pa.string() if name in self._named[file] else known
        return types

    def check(self, columns: Sequence[str]) -> None:
        """Refuse columns that are not in all files, or mean something else in some of them.

        The same value reads alike in integers of any width, in any sort of text and in any floats; durations
        are integers that count a unit. A file without values in a column says nothing about it.
        """
        for name in columns:
            families = {_family(type_): file for file, type_ in self._types(name).items()}
            families.pop("null", None)
            if len(families) > 1:
                (one, file), (two, other), *_ = families.items()
                has = f"{one} in {file!r}, {two} in {other!r}"
                raise SourceError(f"column {name!r} does not have one type in all files: {has}")

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows of some columns, file by file; text that is not UTF-8 names no level."""
        import pyarrow as pa

        for file in self.files:
            named = self._named[file]
            own = [name for name in columns if name not in named]
            with _opened(file) as opened:
                for batch in opened.iter_batches(BATCH_ROWS, columns=own):
                    rows = batch.num_rows
                    arrays = [
                        pa.array([named[name]] * rows, pa.string())
                        if name in named
                        else spelled_out(_plain(batch.column(name)))
                        for name in columns
                    ]
                    yield pa.RecordBatch.from_arrays(arrays, list(columns))


@contextmanager
def _opened(file: str) -> Iterator[Any]:
    """A Parquet file; one that cannot be read is named, in a sentence without the library's words."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    why = f"the data file {file!r} could not be read; is it a whole Parquet file?"
    try:
        with pq.ParquetFile(file, coerce_int96_timestamp_unit="us") as opened:
            yield opened
    except (pa.ArrowException, OSError, ValueError):
        raise SourceError(why) from None


def _matching(pattern: str) -> list[Path]:
    from glob import glob

    return [Path(file) for file in glob(pattern, recursive=True)]


def _named(file: str) -> dict[str, str | None]:
    """What the folders of a file say: `year=2024` is a column of text, whatever it looks like."""
    parts = (part.split("=", 1) for part in Path(file).parts[:-1] if part.count("=") == 1)
    return {name: None if value == _NO_NAME else unquote(value) for name, value in parts if name}


def _family(type_: pa.DataType | None) -> str:
    """Types of one family read the same value alike."""
    import pyarrow.types as t

    if type_ is None:
        return "missing"
    kind = kind_of(type_)
    return kind if kind in ("integer", "text", "null") or t.is_floating(type_) else str(type_)


def _plain_type(type_: pa.DataType) -> pa.DataType:
    """What a column is read as: UUIDs and JSON are text."""
    import pyarrow as pa

    if isinstance(type_, pa.BaseExtensionType):
        return pa.string() if type_.extension_name in ("arrow.uuid", "arrow.json") else type_.storage_type
    return type_


def _plain(array: pa.Array) -> pa.Array:
    import pyarrow as pa

    if not isinstance(array.type, pa.BaseExtensionType):
        return array.cast(pa.int64()) if pa.types.is_duration(array.type) else array
    if array.type.extension_name != "arrow.uuid":
        return array.storage
    held = array.storage.fill_null(bytes(16))
    octets = np.frombuffer(b"".join(held.to_pylist()), dtype=np.uint8).reshape(-1, 16)
    return pa.array(dashed(octets), mask=np.asarray(array.is_null())).cast(pa.string())


def dashed(octets: NDArray[np.uint8]) -> NDArray[np.bytes_]:
    """Rows of sixteen bytes as UUIDs are written."""
    digits = np.array([f"{i:02x}".encode() for i in range(256)])[octets]
    text = np.ascontiguousarray(digits).view("S1").reshape(len(octets), 32)
    whole = np.insert(text, [8, 12, 16, 20], b"-", axis=1)
    return np.ascontiguousarray(whole).view("S36").reshape(len(octets))


def spelled_out(array: pa.Array) -> pa.Array:
    """The column with a spelling of its bytes in place of text that is not UTF-8.

    What is spelled so names no level, and different bytes never read alike: text that begins as such a
    spelling does is spelled out too.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if kind_of(array.type) != "text":
        return array
    plain = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
    cells = plain.cast(pa.large_binary())
    try:
        array.validate(full=True)
        if not pc.any(pc.starts_with(cells, _UNREADABLE)).as_py():
            return array
    except (pa.ArrowInvalid, UnicodeDecodeError):
        pass
    return pa.array([_spelled(cell) for cell in cells.to_pylist()], plain.type)


def _spelled(value: bytes | None) -> str | None:
    if value is None:
        return None
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = _UNREADABLE
    return _UNREADABLE + value.hex() if text.startswith(_UNREADABLE) else text
