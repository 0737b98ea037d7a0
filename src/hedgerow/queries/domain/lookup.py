"""Lookup: a public table beside the schema, such as the names of carriers, joined to rows by its key.

The owner declares it in the schema file. It holds no private row, and no path: what it says is in it.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from typing import Any

from hedgerow.errors import DomainMismatch

_MOST_ROWS, _MOST_COLUMNS = 10_000, 50
_PLAIN = (str, int, float, bool, dt.date)


@dataclass(frozen=True)
class Lookup:
    """A public table whose key is unique.

    Args:
        columns: the names of its columns.
        key: the one that it is joined by.
        rows: its rows, of texts, numbers, truth values, dates and None.

    >>> Lookup.of([{"code": "UA", "name": "United"}, {"code": "AA", "name": "American"}]).column("name")
    ('United', 'American')
    """

    columns: tuple[str, ...]
    key: str
    rows: tuple[tuple[Any, ...], ...]

    def __post_init__(self) -> None:
        if not self.columns or len({c.casefold() for c in self.columns}) < len(self.columns):
            raise DomainMismatch("a lookup's columns have names, each another one")
        if self.key not in self.columns:
            raise DomainMismatch(f"a lookup is joined by one of its columns, and {self.key!r} is none")
        if len(self.rows) > _MOST_ROWS or len(self.columns) > _MOST_COLUMNS:
            raise DomainMismatch(f"a lookup has at most {_MOST_ROWS:,} rows and {_MOST_COLUMNS} columns")
        if any(len(row) != len(self.columns) for row in self.rows):
            raise DomainMismatch("all rows of a lookup have as many values as it has columns")
        for value in (v for row in self.rows for v in row):
            if value is not None and (not isinstance(value, _PLAIN) or isinstance(value, dt.datetime)):
                raise DomainMismatch(f"a lookup holds texts, numbers and dates, not a {type(value).__name__}")
            if isinstance(value, float) and not isfinite(value):
                raise DomainMismatch("a number in a lookup is finite")
        keys = self.column(self.key)
        if None in keys or len(set(keys)) < len(keys):
            raise DomainMismatch(
                f"the rows of a lookup differ in their key {self.key!r}: here two are alike, or one has none"
            )

    @classmethod
    def of(cls, given: Any, key: str | None = None) -> Lookup:
        """A lookup from another one, plain data as `to_schema` gives it, rows as mappings, or a CSV's bytes.

        Args:
            given: what it holds.
            key: the column that it is joined by; the first if None.
        """
        if isinstance(given, Lookup):
            return given
        if isinstance(given, bytes):
            return _from_csv(given, key)
        if isinstance(given, Mapping):
            if unknown := set(given) - {"key", "columns", "rows"}:
                raise DomainMismatch(
                    f"a lookup has key, columns and rows, and no {sorted(map(str, unknown))[0]!r}"
                )
            key = given.get("key", key)
            columns, rows = given.get("columns"), given.get("rows")
            if columns is None:
                return cls.of(rows, key)
            if not isinstance(columns, list) or not isinstance(rows, list):
                raise DomainMismatch("a lookup has a list of columns and a list of rows")
            names = tuple(map(str, columns))
            return cls(names, str(names[0] if key is None else key), tuple(map(_row, rows)))
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise DomainMismatch(
                "a lookup is given by its rows: a list of mappings, or the bytes of a CSV file"
            )
        listed = list(given)
        if not listed or not all(
            isinstance(row, Mapping) and row.keys() == listed[0].keys() for row in listed
        ):
            raise DomainMismatch(
                "a lookup's rows are mappings with the same columns, and there is at least one"
            )
        names = tuple(map(str, listed[0]))
        return cls(names, names[0] if key is None else key, tuple(tuple(row.values()) for row in listed))

    def column(self, name: str) -> tuple[Any, ...]:
        """The values of a column, row by row."""
        place = self.columns.index(name)
        return tuple(row[place] for row in self.rows)

    def to_schema(self) -> dict[str, Any]:
        """Plain data, as a schema file has it."""
        return {"key": self.key, "columns": list(self.columns), "rows": [list(row) for row in self.rows]}


def lookups_of(given: Any) -> dict[str, Lookup]:
    """Lookups by name; whatever is wrong with one is said with its name."""
    if not isinstance(given, Mapping):
        raise DomainMismatch("lookups are a mapping of their names to their rows")
    made: dict[str, Lookup] = {}
    for name, one in given.items():
        try:
            made[str(name)] = Lookup.of(one)
        except DomainMismatch as error:
            raise DomainMismatch(f"lookup {str(name)!r}: {error}") from None
    return made


def _row(row: Any) -> tuple[Any, ...]:
    if not isinstance(row, list):
        raise DomainMismatch("a row of a lookup is a list of values")
    return tuple(row)


def _from_csv(given: bytes, key: str | None) -> Lookup:
    """A CSV's bytes: a column of numbers alone is one of numbers, an empty cell is no value."""
    try:
        lines = list(csv.reader(io.StringIO(given.decode("utf-8-sig"), newline="")))
    except (UnicodeDecodeError, csv.Error):
        raise DomainMismatch("a lookup is read from CSV in UTF-8") from None
    if not lines:
        raise DomainMismatch("the CSV of a lookup has a header")
    head, *body = [line for line in lines if line]
    if any(len(line) != len(head) for line in body):
        raise DomainMismatch("all lines of a lookup's CSV have as many cells as its header")
    columns = [_typed([line[i] for line in body]) for i in range(len(head))]
    rows = tuple(zip(*columns, strict=True)) if body else ()
    return Lookup(tuple(head), head[0] if key is None else key, rows)


def _typed(cells: list[str]) -> list[Any]:
    held = [c for c in cells if c]
    for kind in (int, float):
        with suppress(ValueError):
            if held and all(str(int(c)) == c for c in held if kind is int):
                return [None if not c else kind(c) for c in cells]
    return [c or None for c in cells]
