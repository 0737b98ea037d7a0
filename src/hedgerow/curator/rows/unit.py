"""Unit: who is protected, and how many of their rows are used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hedgerow.curator.rows import unit_ids
from hedgerow.errors import DomainMismatch
from hedgerow.queries.argument import text

NullUnits = Literal["drop", "row"]


@dataclass(frozen=True)
class Unit:
    """Who is protected: the column that names a person, and how many of a person's rows are used.

    `null_units` is the rule for rows without a name: `drop` leaves them out, `row` takes each for a
    person of its own. `type` is the declared type of ids in a column of objects, see `unit_ids`.
    """

    column: str
    max_rows: int
    null_units: NullUnits = "drop"
    type: str | None = None

    @classmethod
    def declared(
        cls, column: str | None, max_rows: int | None, null_units: NullUnits, of_type: str | None
    ) -> Unit | None:
        """What a caller says of people, checked; None where every row is protected by itself."""
        if (column is None) != (max_rows is None):
            raise DomainMismatch("`unit` and `max_rows` come together: whose rows, and how many of them")
        if max_rows is not None and (not isinstance(max_rows, int) or max_rows < 1):
            raise DomainMismatch("`max_rows` is a whole number of at least 1")
        text("unit", column)
        if not isinstance(null_units, str) or null_units not in ("drop", "row"):
            raise DomainMismatch("`null_units` is 'drop' or 'row'")
        if of_type is not None and (column is None or of_type not in (*unit_ids.TYPES, unit_ids.EARLIER)):
            raise DomainMismatch(f"`unit_type` says what a `unit` is: {', '.join(unit_ids.TYPES)}")
        if column is None or max_rows is None:
            return None
        return cls(column, max_rows, null_units, of_type)
