"""Messages of the protocol: what comes, cut into parts; what goes, put together."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

from hedgerow.serve.wire.failure import ProtocolViolation

TLS, CANCEL, GSS, VERSION = 80877103, 80877102, 80877104, 3
MOST = 1 << 20  # bytes of one message


class Parts:
    """A message's content, read from its beginning.

    Args:
        data: the content.

    >>> parts = Parts(b"people" + bytes([0, 0, 2]))
    >>> parts.text(), parts.int16()
    ('people', 2)
    """

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, size: int) -> bytes:
        """So many bytes."""
        if size < 0 or self._at + size > len(self._data):
            raise ProtocolViolation("a message is shorter than it says")
        self._at += size
        return self._data[self._at - size : self._at]

    def int16(self) -> int:
        """A number of two bytes."""
        (number,) = struct.unpack("!h", self.take(2))
        return int(number)

    def int32(self) -> int:
        """A number of four bytes."""
        (number,) = struct.unpack("!i", self.take(4))
        return int(number)

    def text(self) -> str:
        """Text up to a zero byte."""
        end = self._data.find(b"\0", self._at)
        if end < 0:
            raise ProtocolViolation("a text has no end")
        found = self._data[self._at : end]
        self._at = end + 1
        try:
            return found.decode()
        except UnicodeDecodeError:
            raise ProtocolViolation("a text is not UTF-8") from None

    def rest(self) -> bytes:
        """All that is left."""
        return self.take(len(self._data) - self._at)

    @property
    def more(self) -> bool:
        """Whether something is left."""
        return self._at < len(self._data)


def message(kind: str, *parts: bytes) -> bytes:
    """One message.

    Args:
        kind: its letter.
        parts: its content.

    >>> message("Z", b"I")
    b'Z\\x00\\x00\\x00\\x05I'
    """
    content = b"".join(parts)
    return kind.encode() + struct.pack("!i", len(content) + 4) + content


def text(words: str) -> bytes:
    """A text and the zero byte that ends it."""
    return words.replace("\0", "").encode() + b"\0"


def int16(number: int) -> bytes:
    """Two bytes."""
    return struct.pack("!h", number)


def int32(number: int) -> bytes:
    """Four bytes."""
    return struct.pack("!i", number)


def authentication(kind: int, more: bytes = b"") -> bytes:
    """A step of signing in."""
    return message("R", int32(kind), more)


def setting(name: str, value: str) -> bytes:
    """What a setting is."""
    return message("S", text(name), text(value))


def ready(state: str) -> bytes:
    """Another statement may come."""
    return message("Z", state.encode())


def complete(tag: str) -> bytes:
    """A statement is done."""
    return message("C", text(tag))


def columns(described: Sequence[tuple[str, int, int]], formats: Sequence[int]) -> bytes:
    """What the columns are: names, types and sizes, and how values are written."""
    parts = [int16(len(described))]
    for (name, kind, size), form in zip(described, formats, strict=True):
        parts += [text(name), int32(0), int16(0), int32(kind), int16(size), int32(-1), int16(form)]
    return message("T", *parts)


def row(values: Iterable[bytes | None]) -> bytes:
    """One row."""
    made = list(values)
    parts = [int16(len(made))]
    for value in made:
        parts += [int32(-1)] if value is None else [int32(len(value)), value]
    return message("D", *parts)


def report(kind: str, fields: dict[str, Any]) -> bytes:
    """An error (E) or a notice (N): fields by their letters."""
    parts = [letter.encode() + text(str(said)) for letter, said in fields.items() if said is not None]
    return message(kind, *parts, b"\0")
