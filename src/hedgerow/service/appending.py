"""Appending: a block of rows for data that grow; the first one makes the dataset and its budget."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.curator.rows.table import Table
from hedgerow.errors import BadValue, HedgerowError
from hedgerow.privacy.ledger.announcing import is_day
from hedgerow.release.schema import Schema
from hedgerow.service.dataset import make_budget
from hedgerow.service.places import csv_reading, find_ledger, is_there, refuse_missing, schema_beside
from hedgerow.service.setting_up import schema_path

if TYPE_CHECKING:
    from hedgerow.curator.growing.growing import Growing
    from hedgerow.privacy.ledger.announcing import RowBlock
    from hedgerow.queries.domain.joined import JoinedTable
    from hedgerow.service.hosted import Hosted
    from hedgerow.service.places import Named


@dataclass(frozen=True)
class Grower:
    """Data that grow, as a command names them.

    Args:
        data: the folder of blocks.
        schema: the confirmed schema file; beside the folder, else in the working folder, if None.
        ledger: the ledger, if it does not lie beside the folder.
        epsilon, delta, growing, unit, max_rows, years, reserve: of a dataset that is made now.
        older: why a ledger is used that is older than a receipt of it.
    """

    data: Path
    schema: Path | None = None
    ledger: Named = None
    epsilon: str | None = None
    delta: str | None = None
    growing: str = "confined"
    unit: str | None = None
    max_rows: int | None = None
    years: int | None = None
    reserve: str = "0"
    older: str | None = None

    def open(self) -> Growing:
        """The dataset; a new one where there is none and an epsilon was given."""
        from hedgerow.curator.growing.growing import Growing

        domain = Schema.load(self.schema or schema_beside(self.data)).confirmed_domain()
        place = find_ledger(self.data, self.ledger)
        if is_there(place):
            if self.epsilon is not None:
                raise HedgerowError(f"{self.data.name!r} has a budget already: leave --epsilon out")
            if self.older is not None and not self.older.strip():
                raise HedgerowError("--older-than-receipt needs a reason, which is kept in the ledger")
            return Growing.open(self.data, domain, ledger=place, older_than_receipt=self.older)
        if self.epsilon is None:
            raise HedgerowError(f"{self.data.name!r} has no budget yet: say --epsilon, and whom it protects")
        try:
            return Growing.make(
                self.data, domain, make_budget(self.epsilon, self.delta), growing=self.growing,
                unit=self.unit, max_rows=self.max_rows, years=self.years, reserve=self.reserve, ledger=place,
            )  # fmt: skip
        except ValueError as error:
            raise HedgerowError(str(error)) from None

    def append(self, file: Path, day: str | None, **reading: Any) -> tuple[RowBlock, list[str]]:
        """Append a file as a block; the block, and what the owner should know."""
        from hedgerow.service.budgeting import growing_words

        reading = csv_reading(file, reading, self.schema or schema_beside(self.data))
        if self.epsilon is not None:
            self._refuse(file, day, reading)
        growing = self.open()
        try:
            if tables := Schema.load(self.schema or schema_beside(self.data)).tables:
                block = self._joined(growing, file, day, tables, reading)
            else:
                block = growing.append(file, day=day, **reading)
            return block, [growing.words, *growing_words(growing.ledger)]
        finally:
            growing.ledger.close()

    def _refuse(self, file: Path, day: str | None, reading: dict[str, Any]) -> None:
        """Refuse a first block that cannot be one before a budget is made for it, for good."""
        refuse_missing(file, None)
        if day is not None and not is_day(day):
            raise HedgerowError(f"a block is named by a file, or by a day such as 2026-03-31, not {day!r}")
        schema = Schema.load(self.schema or schema_beside(self.data))
        if not schema.tables:
            Table.open(file, schema.domain, unit=self.unit, max_rows=self.max_rows, **reading)

    @staticmethod
    def _joined(
        growing: Growing,
        file: Path,
        day: str | None,
        tables: tuple[JoinedTable, ...],
        reading: dict[str, Any],
    ) -> RowBlock:
        """Append facts with the tables beside them as they are today; a block keeps what was joined."""
        from hedgerow.curator.rows.star import StarEngine

        unit = growing.unit
        of_type = unit.type if unit else None
        star = StarEngine(file, unit.column if unit else None, tables, unit_type=of_type, **reading)
        return growing.append(star, day=day, name=None if day else file.name)


def append_block(hosted: Hosted, file: Path, day: Any) -> dict[str, Any]:
    """Append a file to a dataset at a server, in its lane; what is replied says nothing about rows.

    Args:
        hosted: the dataset.
        file: the new rows, in a folder that the server was given.
        day: the day on which they arrived; the file's name if None.
    """
    if not isinstance(day, str | None):
        raise BadValue("`day` is a text such as 2026-03-31")
    dataset = hosted.dataset
    if not dataset.has_ledger or hosted.opened.ledger.settings.growing is None:
        raise BadValue(
            f"{hosted.name!r} does not grow",
            hint="data that grow are made with `hedgerow append`, which gives them their budget",
        )
    if not file.is_file():
        raise BadValue(f"there is no file {file.name!r}")
    grower = Grower(dataset.data, schema_path(hosted), dataset.ledger)
    block, words = grower.append(file, day)
    hosted.reopen_here()
    told = {"number": block.number, "name": block.name, "by": block.by, "year": block.year}
    return told | {"notes": words, "state": hosted.state}
