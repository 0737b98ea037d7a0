"""Unit: who is protected, and how many of their rows are used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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
