"""JoinedTable: a table beside the facts, as the owner's schema declares it, and why some joins are refused.

Facts are joined to tables about the protected unit, on the unit's own key, and to public tables. Then every
row depends on the rows of one unit alone, and `max_rows` bounds what a unit moves, whichever table it is in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hedgerow.errors import DomainMismatch

_KEYS = ("file", "key", "column", "public")  # a bare `on` is a truth value in YAML


@dataclass(frozen=True)
class JoinedTable:
    """A table that is joined to the facts.

    Args:
        name: what it is called.
        source: the file, or a frame.
        key: its column that is looked up.
        on: the column of the facts that holds such keys.
        public: whether it is public knowledge, with unique keys; if not, it is about the unit.

    >>> JoinedTable("icd", "icd.csv", "code", "diagnosis", public=True).refused("person_id") is None
    True
    >>> JoinedTable("doctors", "doctors.csv", "id", "doctor_id").refused("person_id")[:39]
    "the table 'doctors' is joined on 'docto"
    """

    name: str
    source: Any
    key: str
    on: str
    public: bool = False

    def refused(self, unit: str | None) -> str | None:
        """Why it may not be joined where `unit` is protected, or None."""
        if self.public or self.on == unit:
            return None
        if unit is None:
            return f"the table {self.name!r} is private, and no unit is declared that it could be about"
        return (
            f"the table {self.name!r} is joined on {self.on!r}, and only {unit!r} is protected: a row of it "
            "would be in the rows of many units; declare it public if it is, or leave it out"
        )

    def to_schema(self) -> dict[str, Any]:
        """What is public of it, as plain data: not where it is."""
        return {"key": self.key, "column": self.on, "public": self.public}

    @classmethod
    def declared(cls, tables: Any, *, files: bool = True) -> tuple[JoinedTable, ...]:
        """What a schema file says under `tables`.

        Args:
            tables: a mapping of names to their entries, or tables.
            files: whether each must say where it is.
        """
        if isinstance(tables, Mapping):
            return tuple(cls._one(str(name), told, files) for name, told in tables.items())
        if isinstance(tables, Sequence) and all(isinstance(table, JoinedTable) for table in tables):
            return tuple(tables)
        raise DomainMismatch("`tables` of a schema is a mapping of names to {file, key, column, public}")

    @classmethod
    def _one(cls, name: str, told: Any, files: bool) -> JoinedTable:
        needed = {"file", "key"} if files else {"key"}
        known = isinstance(told, Mapping) and set(told) <= set(_KEYS) and needed <= set(told)
        if not known or not all(isinstance(told[k], str) for k in told if k != "public"):
            raise DomainMismatch(
                f"the table {name!r} of a schema has a file and a key, and may have column and public"
            )
        public = told.get("public", False)
        if not isinstance(public, bool):
            raise DomainMismatch(f"`public` of the table {name!r} is true or false, not {public!r}")
        return cls(name, told.get("file"), told["key"], told.get("column", told["key"]), public)
