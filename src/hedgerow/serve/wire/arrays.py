"""Arrays of the catalogue, such as the schemas that are searched: as text and in binary."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Any

ELEMENTS = {1009: 25, 1016: 20, 1007: 23}
"""The type of an array's elements, by the type of the array."""


def written(items: Sequence[Any], kind: int, binary: bool, cell: Callable[[Any, int], bytes | None]) -> bytes:
    """An array as it is sent.

    Args:
        items: its elements; None is null.
        kind: the array's type.
        binary: whether it is sent in binary.
        cell: writes one element of a type.

    >>> written(["a", 'b "c"', None], 1009, False, lambda v, _: None if v is None else v.encode())
    b'{a,"b \\\\"c\\\\"",NULL}'
    """
    cells = [cell(item, ELEMENTS[kind]) for item in items]
    if not binary:
        return b"{" + b",".join(map(_quoted, cells)) + b"}"
    head = struct.pack("!iii", int(bool(cells)), int(None in cells), ELEMENTS[kind])
    if cells:
        head += struct.pack("!ii", len(cells), 1)
    return head + b"".join(
        struct.pack("!i", -1) if c is None else struct.pack("!i", len(c)) + c for c in cells
    )


def _quoted(cell: bytes | None) -> bytes:
    if cell is None:
        return b"NULL"
    plain = cell and cell.upper() != b"NULL" and not any(mark in cell for mark in b'{}," \\\t\n')
    return cell if plain else b'"' + cell.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'
