"""PackedColumns: columns of some rows, sent as one run of bytes each where their values allow it.

`array_agg` keeps every value by itself, which is most of what reading costs the database. Strung together, a
column costs it half. What does not fit into a string - a NULL among numbers, text with the sign that stands
between texts - shows in its length or its signs, and the rows are asked for once more with that column as an
array: what is read is the same, to the last bit. All columns of some rows come from one statement, so they
have one order.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hedgerow.curator.rows.postgres_types import TEXT, VARCHAR, Fields, PgType, sender

_BETWEEN = 2  # a control character, between texts
_NULL = 3  # begins what stands for NULL


class PackedNumbers(Fields):
    """Numbers of one width, none of them NULL."""

    @classmethod
    def of(cls, data: bytes, width: int, rows: int) -> PackedNumbers:
        """From their bytes, one after the other."""
        places = np.arange(rows, dtype=np.int64) * width
        return cls(np.frombuffer(data, dtype=np.uint8), places, np.full(rows, width, dtype=np.int64))

    def numbers(self, width: int) -> NDArray[np.int64]:
        """Whole numbers."""
        kind = "i1" if width == 1 else f">i{width}"
        return self.data.view(kind).astype(np.int64)


class PackedColumns:
    """What is selected of some rows, and how its values are told apart; shared by those who read.

    Args:
        items: expressions of the columns.
        types: their types.
    """

    def __init__(self, items: Sequence[str], types: Sequence[PgType]) -> None:
        self._items, self._types = list(items), list(types)
        self._arrays = [_packed(type_) is None for type_ in types]  # by column; only ever set
        self._null = f"{chr(_NULL)}{secrets.token_hex(8)}"  # drawn after the rows were written

    def select(self) -> tuple[list[bool], str]:
        """Which columns are arrays, and what is selected: the number of rows, then the columns."""
        arrays = list(self._arrays)
        each = zip(self._items, self._types, arrays, strict=True)
        return arrays, ", ".join(["pg_catalog.count(*)", *(self._sql(*one) for one in each)])

    def _sql(self, item: str, type_: PgType, array: bool) -> str:
        if array:
            return f"pg_catalog.array_agg({item})"
        if type_.oid in (TEXT, VARCHAR):
            return f"pg_catalog.string_agg(coalesce({item}, E'{self._null}'), E'{chr(_BETWEEN)}')"
        return f"pg_catalog.string_agg(pg_catalog.{sender(type_)}({item}), '')"

    def fields(self, arrays: Sequence[bool], sent: Sequence[bytes | None]) -> list[Fields] | None:
        """The columns of rows that were sent; None where some must come as arrays, which `select` knows now.

        Args:
            arrays: which are, as `select` said.
            sent: what came.
        """
        rows = int.from_bytes(sent[0] or b"", "big")
        found: list[Fields | None] = []
        for type_, array, data in zip(self._types, arrays, sent[1:], strict=True):
            if array:
                found.append(Fields.of_array(data or bytes(20)))
            elif type_.oid in (TEXT, VARCHAR):
                found.append(_texts(data or b"", rows, self._null.encode()))
            else:
                width = _packed(type_) or 0
                fits = data is not None and len(data) == width * rows
                found.append(PackedNumbers.of(data or b"", width, rows) if fits else None)
        for i, one in enumerate(found):
            self._arrays[i] = self._arrays[i] or one is None
        whole = [one for one in found if one is not None]
        return whole if len(whole) == len(found) else None


def _packed(type_: PgType) -> int | None:
    """The width of a type's values where they are strung together; 0 for texts, None where they are not."""
    if type_.enum:
        return None
    return 0 if type_.oid in (TEXT, VARCHAR) else type_.width


def _texts(data: bytes, rows: int, null: bytes) -> Fields | None:
    """Texts with a sign between them; None where one of them holds it."""
    octets = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero(octets == _BETWEEN)
    if len(ends) != rows - 1:
        return None
    starts = np.concatenate([[0], ends + 1]).astype(np.int64)
    sizes = np.append(ends, len(octets)).astype(np.int64) - starts
    like = np.flatnonzero(sizes == len(null))
    told = octets[starts[like][:, None] + np.arange(len(null))] == np.frombuffer(null, dtype=np.uint8)
    sizes[like[told.all(axis=1)]] = -1
    return Fields(octets, starts, sizes)
