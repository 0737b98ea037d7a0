"""A closed table: private rows that are not read any more, for what was learned of them before.

When a data file has changed, nobody may compare or measure until its owner has said what it is now; what
was learned is released, and can still be read. A closed table has no mark of its file, and every attempt to
read it is refused before anything is charged.
"""

from __future__ import annotations

from typing import NoReturn

from hedgerow.curator.rows.files import FileEngine, LaterFile
from hedgerow.curator.rows.table import Table
from hedgerow.errors import DataChanged


def changed() -> DataChanged:
    """The refusal of whatever would read rows."""
    return DataChanged(
        "the data file has changed since this dataset was learned, and only what was learned is answered",
        hint="let the owner say that the rows are the same, or learn anew",
    )


class ClosedFile(LaterFile):
    """A file that is not looked into."""

    @property
    def written(self) -> int | None:
        """Nothing: whatever the file is now, it is not read."""
        return None

    @property
    def _file(self) -> FileEngine:
        raise changed()


def closed(table: Table, began: bytes | None = None) -> Table:
    """The same table, which refuses to be read.

    Args:
        table: the rows.
        began: the mark of the blocks that were learned, where data grow.
    """

    def refuse() -> NoReturn:
        raise changed()

    if (shut := getattr(table._engine, "shut", None)) is not None:  # blocks of data that grow
        return Table(shut(refuse, began), table.domain, table.unit, None)
    place = table.named or table.location or ""
    return Table(ClosedFile(place, refuse), table.domain, table.unit, table.location, named=table.named)
