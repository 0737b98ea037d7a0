"""CsvFile: how one CSV file is written - encoding, delimiter, column names - read off its header alone.

No rule here looks at a row: a dialect that is guessed from rows could change when one row does, and with it
every count.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hedgerow.errors import LinesInDoubt, SourceError
from hedgerow.queries.domain.csv_section import DELIMITERS

_HEAD = 1 << 18
_HEADER_LIMIT = 1 << 23
_PIECE = 1 << 22
_DELIMITERS = (",", ";", "\t", "|")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_LINE = re.compile(r"[^\r\n]*+")
_STANDARD_LINE = re.compile(r'(?:[^"\r\n]++|"[^"]*+")*+')
_END = re.compile(r"\r\n|\n|\r")
_DECLARE = (
    "declare its encoding, for example with --encoding cp1252 (Excel on Windows) or "
    "Table.open(encoding='cp1252')"
)
_NATIVE = ("utf-8", "utf-8-sig", "ascii")
# Codecs in which bytes of one row say how those of the next are read, or plain characters spell line ends.
_STATEFUL = re.compile(r"iso2022|hz$|utf-7|idna|punycode|(raw.)?unicode.escape|undefined")


@dataclass(frozen=True)
class CsvFile:
    """One CSV file, plain or compressed, and how it is written.

    Args:
        path: the file.
        encoding: the codec of its text, by Python's name.
        delimiter: what stands between two fields.
        columns: the names in its header, in order; a name may come twice.
        end: what its lines end in: what its header's line ends in.
        start, line: bytes of UTF-8 text, and lines, up to and with the header.
        multiline: the owner's word that it follows RFC 4180: quoted cells may run over lines, and a
            backslash is a character like others.
    """

    path: Path
    encoding: str
    delimiter: str
    columns: tuple[str, ...]
    end: str = "\n"
    start: int = 0
    line: int = 0
    multiline: bool = False

    @classmethod
    def open(
        cls,
        path: Path,
        encoding: str | None = None,
        delimiter: str | None = None,
        *,
        multiline: bool = False,
    ) -> CsvFile:
        """Read the header of a file.

        Args:
            path: the file.
            encoding: its text encoding; UTF-8, or what a byte order mark says, if None.
            delimiter: a character, or `tab`; what splits the header into most names if None.
            multiline: whether quoted cells of this file hold line breaks.
        """
        for limit in (_HEAD, _HEADER_LIMIT):
            data = _head(path, limit)
            codec = _codec(encoding, data)
            text = _decoded(data, codec, declared=encoding is not None)
            start, said = _preamble(text)
            stop, end = _first_line(text, start, multiline=multiline)
            if stop + len(end) < len(text) or len(data) < limit:  # the whole line, and that it ends there
                break
        else:
            raise SourceError("the line of column names is longer than 8 MiB: does the file hold lines?")
        body = text[start:stop]
        chosen = _delimiter(delimiter) or said or _most_names(body, path)
        before = text[: stop + len(end)]
        mark = len(codecs.BOM_UTF8) if codec == "utf-8-sig" and data.startswith(codecs.BOM_UTF8) else 0
        lines = before.count("\r" if end == "\r" else "\n")
        columns = tuple(_header(body, chosen, strict=multiline))
        return cls(path, codec, chosen, columns, end or "\n", mark + len(before.encode()), lines, multiline)

    def escapes(self) -> bool:
        """Whether a backslash stands before a quote: as if what wrote the file did not double quotes."""
        last = b""
        for piece in self.text():
            if b'\\"' in last + piece:
                return True
            last = piece[-1:] or last
        return False

    def text(self) -> Iterator[bytes]:
        """The text after the header as UTF-8, a piece at a time; bytes that are no text are refused."""
        left, lines = self.start, 1
        decoder = codecs.getincrementaldecoder("utf-8" if self.encoding in _NATIVE else self.encoding)()
        try:
            with self.path.open("rb") as file, _plain(file, self.path) as stream:
                while True:
                    read = bytes(stream.read(_PIECE))
                    piece = self._decode(decoder, read)
                    lines += piece.count(b"\r" if self.end == "\r" else b"\n")
                    yield piece[left:]
                    left = max(left - len(piece), 0)
                    if not read:
                        return
        except UnicodeDecodeError as error:
            lines += error.object[: error.start].count(b"\r" if self.end == "\r" else b"\n")
            raise SourceError(
                f"the data file is not {self.encoding.removesuffix('-sig').upper()} text to its end: line "
                f"{lines} is not; {_DECLARE}"
            ) from None
        except UnicodeError:
            raise SourceError(f"the data file is no text to its end; {_DECLARE}") from None
        except (OSError, ValueError):
            raise SourceError(f"the data file {str(self.path)!r} could not be read to its end") from None

    def _decode(self, decoder: codecs.IncrementalDecoder, read: bytes) -> bytes:
        if self.encoding not in _NATIVE:
            return decoder.decode(read, final=not read).encode()
        if not read or not read.isascii() or decoder.getstate()[0]:
            decoder.decode(read, final=not read)
        return read


def way_of(encoding: str | None, *, multiline: bool) -> str:
    """How CSV text is read, by what was said of it: of the spellings of one encoding there is one.

    >>> way_of(None, multiline=False) == way_of("UTF8", multiline=False)
    True
    >>> way_of("latin1", multiline=True)
    'iso8859-1,multiline'
    """
    try:
        name = codecs.lookup(encoding or "utf-8").name
    except (LookupError, ValueError):  # refused once the file is opened
        name = "unknown"
    return ("utf-8" if name in _NATIVE else name) + ",multiline" * multiline


def _head(path: Path, limit: int) -> bytes:
    """The first bytes of the text, as many as there are up to a limit."""
    try:
        with path.open("rb") as file, _plain(file, path) as stream:
            data = b""
            while more := bytes(stream.read(limit - len(data))):
                data += more
            return data
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
        raise SourceError(f"there is no text encoding {declared!r}; try utf-8, utf-16 or cp1252") from None
    if _STATEFUL.match(name):
        raise SourceError(f"in {name} text one row could change how others are read; convert it to UTF-8")
    return "utf-8-sig" if name == "utf-8" and head.startswith(codecs.BOM_UTF8) else name


def _decoded(head: bytes, codec: str, *, declared: bool) -> str:
    try:
        text = codecs.getincrementaldecoder(codec)().decode(head)
    except UnicodeError:
        hint = "declare another encoding" if declared else _DECLARE
        raise SourceError(f"the data file is not {codec.removesuffix('-sig').upper()} text; {hint}") from None
    if not text.strip():
        raise SourceError("the data file is empty: it has no line of column names")
    return text


def _preamble(text: str) -> tuple[int, str | None]:
    """Where the header begins - after blank lines - and the delimiter that Excel's `sep=` line declares."""
    start, said = 0, None
    while end := _END.search(text, start):
        line = text[start : end.start()]
        declares = re.fullmatch(r"\s*sep=(.)\s*", line)
        if declares and said is None:
            said = declares[1]
        elif line.strip():
            break
        start = end.end()
    return start, said


def _first_line(text: str, start: int, *, multiline: bool) -> tuple[int, str]:
    """Where the header ends, and what its line ends in; names hold line breaks only by the owner's word."""
    stop = (_STANDARD_LINE if multiline else _LINE).match(text, start).end()  # type: ignore[union-attr]
    end = _END.match(text, stop)
    return (stop, end[0]) if end else (len(text), "")


def _delimiter(declared: str | None) -> str | None:
    if declared is None:
        return None
    chosen = DELIMITERS.get(declared.lower(), declared)
    if len(chosen) != 1 or chosen in '"\r\n' or ord(chosen) > 127:
        raise SourceError(f"a delimiter is one character, or `tab`, not {declared!r}")
    return chosen


def _most_names(line: str, path: Path) -> str:
    """The delimiter that splits the header into most names."""
    order = ("\t", *_DELIMITERS) if ".tsv" in path.name.lower() else _DELIMITERS
    return max(order, key=lambda d: sum(1 for _ in _names(line, d)))


def _names(line: str, delimiter: str) -> Iterator[re.Match[str]]:
    """What stands between delimiters; quotes have a meaning where they come first, as in rows."""
    blank, other = " \t".replace(delimiter, ""), f"[^{re.escape(delimiter)}]*+"
    quoted = rf'[{blank}]*+"(?P<quoted>(?:[^"]++|"")*+)(?P<close>"?)(?P<junk>{other})'
    name, at = re.compile(f"{quoted}|(?P<plain>{other})"), 0
    while at <= len(line) and (found := name.match(line, at)):
        yield found
        at = found.end() + 1


def _header(line: str, delimiter: str, *, strict: bool) -> list[str]:
    """The names in the header's line; `strict` asks for RFC 4180."""
    if not line.strip():
        raise SourceError("the data file has no readable line of column names")
    found = list(_names(line, delimiter))
    if any(name["close"] == "" for name in found):
        raise LinesInDoubt(
            "the line of column names opens a quote and does not close it: mend it, or, if the file follows "
            "RFC 4180 and names hold line breaks, say so with --multiline or Table.open(multiline=True)"
        )
    if strict and any((name["junk"] or "").strip() or '"' in (name["plain"] or "") for name in found):
        raise SourceError("the line of column names has a quote where a CSV file has none: mend it")
    names = [n["plain"] if n["close"] is None else n["quoted"].replace('""', '"') + n["junk"] for n in found]
    if any(_CONTROL.search(name) for name in names):
        raise SourceError(
            "the data file is no CSV text, as its first line holds control characters; if it is text, "
            "declare its encoding, with --encoding utf-16-le or Table.open(encoding='utf-16-le')"
        )
    return [name.strip() for name in names]
