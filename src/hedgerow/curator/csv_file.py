"""CsvFile: how one CSV file is written - encoding, delimiter, column names - read off its header alone.

No rule here looks at a row: a dialect that is guessed from rows could change when one row does, and with it
every count.
"""

from __future__ import annotations

import codecs
import csv
import io
import os
import re
import tempfile
import weakref
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from hedgerow.errors import SourceError

_HEAD = 1 << 18
_HEADER_LIMIT = 1 << 23
_DELIMITERS = (",", ";", "\t", "|")
_NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_NATIVE = {"utf-8": "utf-8", "utf-8-sig": "utf-8", "ascii": "utf-8", "iso8859-1": "latin-1"}
_NEVER = "\x01hedgerow-null\x01"  # no CSV cell equals it: an empty cell stays the empty string


@dataclass(frozen=True)
class CsvFile:
    """One CSV file, plain or compressed, and how to read it.

    Args:
        path: the file.
        encoding: the codec of its text, by Python's name.
        delimiter: what stands between two fields.
        columns: the names in its header, in order; a name may come twice.
        skip: lines before the header (blank ones, or Excel's `sep=;`).
        row_bytes: about how many bytes of the file one row takes; None when there are no rows.
    """

    path: Path
    encoding: str
    delimiter: str
    columns: tuple[str, ...]
    skip: int = 0
    row_bytes: float | None = field(default=None, repr=False)

    @classmethod
    def open(cls, path: Path, encoding: str | None = None, delimiter: str | None = None) -> CsvFile:
        """Read the header of a file.

        Args:
            path: the file.
            encoding: its text encoding; UTF-8, or what a byte order mark says, if None.
            delimiter: a character, or `tab`; what splits the header into most names if None.
        """
        data, consumed = _head(path)
        codec = _codec(encoding, data)
        text = _decoded(data, codec, declared=encoding is not None)
        skip, said = _preamble(text)
        body = text.split("\n", skip)[-1] if skip else text
        chosen = _delimiter(delimiter) or said or _most_names(body, path)
        columns = tuple(_header(body, chosen))
        lines = text.count("\n") or text.count("\r")
        row_bytes = consumed / lines if lines > 1 else None
        return cls(path, codec, chosen, columns, skip, row_bytes)

    @property
    def expected_rows(self) -> float | None:
        """About how many rows there are, from the file's size; only for the owner's progress bar."""
        return self.path.stat().st_size / self.row_bytes if self.row_bytes else None

    @cached_property
    def readable(self) -> str:
        """Where DuckDB can read the text: the file itself, or a private copy in UTF-8."""
        if self.encoding in _NATIVE:
            return str(self.path)
        handle, name = tempfile.mkstemp(suffix=".csv")  # mode 0600
        try:
            _transcode(self.path, self.encoding, handle)
        except BaseException:
            os.close(handle)
            os.unlink(name)
            raise
        held = f"/proc/self/fd/{handle}"
        if os.path.exists(held):  # without a name, the copy ends with the process, however that ends
            os.unlink(name)
            weakref.finalize(self, os.close, handle)
            return held
        os.close(handle)
        weakref.finalize(self, os.unlink, name)
        return name

    def check_text(self) -> None:
        """Read the text to its end when the owner opens it: a broken byte must not fail a later answer."""
        if self.encoding in ("utf-8", "utf-8-sig", "ascii"):
            with open(os.devnull, "wb") as nowhere:
                _transcode(self.path, "utf-8", nowhere.fileno())
        else:
            _ = self.readable

    def scan(self) -> tuple[str, list[Any]]:
        """A FROM clause and its values, with the columns named c0, c1, ...; nothing is left to be guessed."""
        compressed = "auto" if self.readable == str(self.path) else "none"
        types = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(self.columns)))
        text = (
            "read_csv(?, auto_detect = false, header = true, skip = ?, delim = ?, quote = '\"', "
            f"escape = '\"', comment = '', encoding = ?, compression = '{compressed}', nullstr = ?, "
            f"columns = {{{types}}}, null_padding = true, strict_mode = false, parallel = false, "
            "hive_partitioning = false, max_line_size = 33554432, ignore_errors = true)"
        )
        native = _NATIVE.get(self.encoding, "utf-8")
        return text, [literal_path(self.readable), self.skip, self.delimiter, native, _NEVER]


def literal_path(path: str) -> str:
    """A path that DuckDB does not take for a pattern: `data[1].csv` is one file."""
    return re.sub(r"([\[*?])", r"[\1]", path)


def _head(path: Path) -> tuple[bytes, int]:
    """The first bytes of the text, and how many bytes of the file they took."""
    try:
        with path.open("rb") as file, _plain(file, path) as stream:
            data = bytes(stream.read(_HEAD))
            while b"\n" not in data and b"\r" not in data and len(data) < _HEADER_LIMIT:
                more = bytes(stream.read(_HEAD))
                if not more:
                    break
                data += more
            return data, file.tell() if stream is not file else len(data)
    except FileNotFoundError:
        raise SourceError(f"there is no file {str(path)!r}") from None
    except IsADirectoryError:
        raise SourceError(f"{str(path)!r} is a folder, not a CSV file") from None
    except (OSError, ValueError):
        raise SourceError(f"the data file {str(path)!r} could not be read") from None


def _plain(file: Any, path: Path) -> Any:
    """The file's bytes without compression."""
    import pyarrow as pa

    kind = {".gz": "gzip", ".zst": "zstd"}.get(path.suffix.lower())
    return pa.CompressedInputStream(file, kind) if kind else file


def _codec(declared: str | None, head: bytes) -> str:
    """The codec of the text, by Python's name for it."""
    if declared is None:
        return next((codec for mark, codec in _MARKS if head.startswith(mark)), "utf-8")
    try:
        name = codecs.lookup(declared).name
        "".encode(name)
    except (LookupError, ValueError):
        raise SourceError(f"there is no text encoding {declared!r}; try utf-8, utf-16 or latin-1") from None
    return "utf-8-sig" if name == "utf-8" and head.startswith(codecs.BOM_UTF8) else name


def _decoded(head: bytes, codec: str, *, declared: bool) -> str:
    try:
        text = codecs.getincrementaldecoder(codec)().decode(head)
    except UnicodeError:
        hint = "declare another encoding" if declared else "declare its encoding, for example latin-1"
        raise SourceError(f"the data file is not {codec.removesuffix('-sig').upper()} text; {hint}") from None
    if not text.strip():
        raise SourceError("the data file is empty: it has no line of column names")
    return text


def _preamble(text: str) -> tuple[int, str | None]:
    """Lines before the header, and the delimiter that Excel's `sep=` line declares."""
    skip, said = 0, None
    for line in text.splitlines():
        declares = re.fullmatch(r"\s*sep=(.)\s*", line)
        if declares and said is None:
            said = declares.group(1)
        elif line.strip():
            break
        skip += 1
    return skip, said


def _delimiter(declared: str | None) -> str | None:
    if declared is None:
        return None
    chosen = _NAMED.get(declared.lower(), declared)
    if len(chosen) != 1 or chosen in '"\r\n' or ord(chosen) > 127:
        raise SourceError(f"a delimiter is one character, or `tab`, not {declared!r}")
    return chosen


def _most_names(text: str, path: Path) -> str:
    """The delimiter that splits the header into most names."""
    order = ("\t", *_DELIMITERS) if ".tsv" in path.name.lower() else _DELIMITERS
    return max(order, key=lambda d: len(_header(text, d)))


def _header(text: str, delimiter: str) -> list[str]:
    try:
        names = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except (StopIteration, csv.Error):
        raise SourceError("the data file has no readable line of column names") from None
    if any(_CONTROL.search(name) for name in names):
        raise SourceError(
            "the data file is no CSV text, as its first line holds control characters; if it is text, "
            "declare its encoding, for example utf-16-le"
        )
    return [name.strip() for name in names]


def _transcode(path: Path, codec: str, handle: int) -> None:
    """Write the text as UTF-8, a piece at a time."""
    decoder = codecs.getincrementaldecoder(codec)()
    try:
        with path.open("rb") as file, _plain(file, path) as stream, open(handle, "wb", closefd=False) as out:
            while piece := bytes(stream.read(1 << 22)):
                out.write(decoder.decode(piece).encode())
            out.write(decoder.decode(b"", final=True).encode())
    except UnicodeError:
        raise SourceError(
            f"the data file is not {codec.upper()} text to its end; declare its encoding, for example latin-1"
        ) from None
    except (OSError, ValueError):
        raise SourceError("the data file could not be read to its end") from None
