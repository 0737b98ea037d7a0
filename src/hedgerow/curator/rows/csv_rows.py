"""CsvRows: the rows of a CSV file, by one strict grammar - no bytes of one row change how others are read.

*One line is one row.* The header's line says what lines end in. What is odd inside a line is settled there: a
cell with something after its closing quote is missing, and so are the cells after it; of a line with more
filled cells than the header has names all cells are missing, of one with fewer the last ones; quotes inside
an unquoted cell, NUL and the like are characters, and so is a carriage return inside a line that ends in LF.
Only a quoted cell can hold the end of a line, and only if the owner vouches that the file follows RFC 4180:
the next line could be somebody's row, of however few cells. What that leaves open is refused when the file is
opened, before anything is counted: a quoted cell that is not closed on its line, a line that a reader which
knows backslashes would not end where it ends, and one that ends unlike the header's.

So if every row was written as one line, or by RFC 4180, or with backslashes before quotes, delimiters and
line ends, then a file that opens has just these rows, and each is read by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.curator.rows.csv_file import CsvFile
from hedgerow.curator.rows.engine import BATCH_ROWS
from hedgerow.errors import DataChanged, LinesInDoubt, SourceError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from hedgerow.curator.rows.table import Table

_LONGEST = 1 << 25  # bytes of one row


@dataclass(frozen=True)
class Reading:
    """What the owner may know of how a file was read: exact, and for nobody else.

    Args:
        lines: how many there are after the header.
        rows: how many rows they are.
        unread: cells that are absent or cannot be read, and count as missing.
        first: the line of the first of them; None if there is none.
    """

    lines: int
    rows: int
    unread: int = 0
    first: int | None = None


@dataclass
class _Cells:
    """Where the cells of some columns are in a piece of text; one row of each array is one column."""

    text: NDArray[np.uint8]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    kinds: NDArray[np.uint8]
    rows: int

    def column(self, slot: int) -> pa.Array:
        """One column as text; cells that are missing are null."""
        import pyarrow as pa

        from hedgerow.curator.rows import csv_kernels as kernels

        starts, stops, kinds = (a[slot, : self.rows] for a in (self.starts, self.stops, self.kinds))
        offsets = np.empty(self.rows + 1, dtype=np.int32)
        out = np.empty(kernels.measure(self.text, starts, stops, kinds, offsets), dtype=np.uint8)
        kernels.gather(self.text, starts, stops, kinds, offsets, out)
        missing = kinds == kernels.MISSING
        present = pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
        return pa.StringArray.from_buffers(self.rows, pa.py_buffer(offsets), pa.py_buffer(out), present)


class CsvRows:
    """The rows of one CSV file; making it reads the file once and refuses what cannot be decided.

    Args:
        file: how the file is written.
    """

    def __init__(self, file: CsvFile) -> None:
        self.file = file
        self._seen = Reading(0, 0)
        for _ in self._cells([]):
            pass
        self.reading = self._seen

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows of some columns, as text; SourceError if they are no longer as many as there were."""
        import pyarrow as pa

        once = list(dict.fromkeys(columns))  # the column of unit ids may be an attribute too
        for cells in self._cells([self.file.columns.index(name) for name in once]):
            read = {name: cells.column(slot) for slot, name in enumerate(once)}
            yield pa.RecordBatch.from_arrays([read[name] for name in columns], list(columns))
        if self._seen != self.reading:
            raise DataChanged("the data file was changed after it was opened; open it again")

    def _cells(self, places: list[int]) -> Iterator[_Cells]:
        """Walk over all rows, and keep what was seen on the way."""
        from hedgerow.curator.rows import csv_kernels as kernels

        assert len(set(places)) == len(places), "a cell has one slot"
        file = self.file
        end = {"\n": kernels.LF, "\r\n": kernels.CRLF, "\r": kernels.CR}[file.end]
        slots = np.full(len(file.columns), -1, dtype=np.int64)
        slots[places] = np.arange(len(places))
        shape = (max(len(places), 1), BATCH_ROWS)
        state, rows, held = np.zeros(6, dtype=np.int64), 0, b""
        pieces = file.text()
        piece: bytes | None = next(pieces)
        while piece is not None:
            after = next(pieces, None)
            data = held + piece if held else piece
            text = np.frombuffer(data, dtype=np.uint8)
            state[kernels.POSITION], status = 0, kernels.FULL
            while status == kernels.FULL:
                starts, stops = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64)
                found = _Cells(text, starts, stops, np.empty(shape, dtype=np.uint8), 0)
                status = kernels.walk(
                    text, after is None, ord(file.delimiter), end, len(file.columns),
                    file.multiline, _LONGEST, slots, starts, stops, found.kinds, state,
                )  # fmt: skip
                found.rows = int(state[kernels.ROWS])
                rows += found.rows
                if found.rows:
                    yield found
            if status != kernels.ENDED:
                refused = LinesInDoubt if status in (kernels.OPEN, kernels.ESCAPED) else SourceError
                raise refused(_why(status).format(file.line + int(state[kernels.REFUSED]) + 1))
            held, piece = data[int(state[kernels.POSITION]) :], after
        lines, unread = int(state[kernels.LINES]), int(state[kernels.UNREAD])
        first = file.line + int(state[kernels.FIRST]) + 1 if unread else None
        self._seen = Reading(lines, rows, unread, first)


def _why(status: int) -> str:
    """What is wrong with a line, and what to do about it; never a word of the line itself."""
    from hedgerow.curator.rows import csv_kernels as kernels

    vouch = (
        "mend the line, or, if the file follows RFC 4180 and quoted cells of it hold line breaks, say so "
        "with --multiline or Table.open(multiline=True)"
    )
    return {
        kernels.UNCLOSED: "the data file's line {} opens a quoted cell that is never closed: mend the line",
        kernels.OPEN: f"the data file's line {{}} opens a quoted cell and does not close it: {vouch}",
        kernels.NOT_STRICT: "the data file's line {} has a quote where a CSV file has none, or a quoted cell "
        "that runs over its end and does not fit the header: mend the line",
        kernels.ESCAPED: "the data file's line {} ends in different places for different readers, by its "
        f"quotes and backslashes: {vouch}",
        kernels.MIXED: "the data file's line {} does not end as the header's line does: give all lines the "
        "same line end, and put cells that hold one into quotes",
        kernels.LONG: "the data file's line {} begins a row that is too long: is a quote left open?",
    }[status]


def unread_words(reading: Reading | None) -> str:
    """What the owner should know of a file before relying on its rows; nothing if all of it was read."""
    if reading is None or not reading.unread:
        return ""
    cells, count = ("cell", "counts") if reading.unread == 1 else ("cells", "count")
    return (
        f"PRIVATE, for the owner: {reading.unread:,} {cells} of the data could not be read, or not found in "
        f"a short line, and {count} as missing; the first is in line {reading.first:,}"
    )


def unread_in(table: Table) -> str:
    """The same of a table that is open."""
    return unread_words(table._reading)
