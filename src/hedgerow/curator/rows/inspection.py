"""What the owner, and nobody else, hears of a file that could not be read in full."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hedgerow.curator.rows.csv_rows import Reading
    from hedgerow.curator.rows.table import Table


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
