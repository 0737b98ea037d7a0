"""Inspection: what the owner, and nobody else, may see of rows - a proposed schema, what does not fit one.

Nothing here is private in the sense of the promise: these are exact readings of rows for the eyes of the
person who holds the file anyway. No mechanism uses them.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil, floor, log10
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.curator.rows.csv_rows import Reading
from hedgerow.curator.rows.files import FileEngine, refuse_absent
from hedgerow.queries.domain.attribute import Attribute, Categorical
from hedgerow.queries.domain.bins import Bins, Dates
from hedgerow.queries.domain.days import as_days
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.domain.encoding import as_numbers, as_text, kind_of

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from hedgerow.curator.rows.table import Table

_TRACKED = 5000
MOST_LEVELS = 60
_BINS = 20
_BLANKS = ("na", "n/a", "#n/a", "nan", "null", "none")  # words for nothing in a column of numbers or dates
_LARGEST = 1e15  # beyond, bins of whole numbers are no longer exact
_SPAN = 100_000  # days: a column of dates over more than three centuries is not a calendar


@dataclass
class SeenColumn:
    """What was seen of one column."""

    name: str
    rows: int = 0
    missing: int = 0
    blanks: int = 0
    counts: Counter[str] | None = field(default_factory=Counter)
    numbers: int = 0
    dates: int = 0
    whole: bool = True
    low: float = np.inf
    high: float = -np.inf
    first: float = np.inf
    last: float = -np.inf
    dated: bool = False

    def see(self, array: pa.Array) -> None:
        """Take in one batch."""
        text = as_text(array)
        values = _tally(text)
        absent = values.pop(None, 0) + values.pop("", 0)
        self.rows += len(array)
        self.missing += absent
        self.blanks += int(_blank(text).sum())
        self.dated = self.dated or kind_of(array.type) == "date"
        if self.counts is not None:
            self.counts.update({str(k): v for k, v in values.items()})
            if len(self.counts) > _TRACKED:
                self.counts = None
        if kind_of(array.type) != "boolean":
            self._see_numbers(array if not self.dated else text)
            self._see_dates(array)

    def _see_numbers(self, array: pa.Array) -> None:
        numbers = as_numbers(array)[0]
        numbers = numbers[np.isfinite(numbers)]
        if len(numbers):
            self.numbers += len(numbers)
            self.whole = self.whole and bool((numbers == np.trunc(numbers)).all())
            self.low, self.high = min(self.low, float(numbers.min())), max(self.high, float(numbers.max()))

    def _see_dates(self, array: pa.Array) -> None:
        if kind_of(array.type) in ("text", "date"):
            days = as_days(array)[0]
            days = days[~np.isnan(days)]
            if len(days):
                self.dates += len(days)
                self.first, self.last = min(self.first, float(days.min())), max(self.last, float(days.max()))

    @property
    def present(self) -> int:
        """How many values are there."""
        return self.rows - self.missing

    @property
    def said(self) -> int:
        """How many of them are more than a word for nothing."""
        return self.present - self.blanks

    @property
    def named_id(self) -> bool:
        """Whether the name says that it is an identifier."""
        return re.search(r"(?i:(^|[\W_])id([\W_]|$))|[a-z]I[dD]$", self.name) is not None

    @property
    def number(self) -> bool:
        """Whether all of them are numbers."""
        return self.said > 0 and self.numbers == self.said

    @property
    def repeated(self) -> str | None:
        """What is odd about values that mean the same, or None if there are none."""
        values = [v for v in self.counts or () if not self.number or v.strip().lower() not in _BLANKS]
        if len({float(v) if self.number else v.strip() for v in values}) == len(values):
            return None
        how = "are one number, written differently" if self.number else "differ in spaces around them alone"
        return f"some values {how}, and are different levels: clean the data"


@dataclass(frozen=True)
class Proposal:
    """A schema guessed from rows, for the owner to correct and confirm.

    Args:
        domain: the proposed attributes; None when no column can be one.
        skipped: columns left out, each with the reason.
        notes: what to look at in proposed columns.
        rows: how many rows were read.
    """

    domain: Domain | None
    skipped: dict[str, str]
    notes: dict[str, str] = field(default_factory=dict)
    rows: int = 0


@dataclass(frozen=True)
class ColumnFit:
    """How one column fits its attribute: rows whose value is missing, or names no level.

    Of the latter, `unread` hold text where a number or a date should be.
    """

    name: str
    missing: int
    outside: int
    unread: int
    missing_becomes: str


@dataclass(frozen=True)
class Inspection:
    """How a file fits a schema; exact counts, for the owner's eyes only."""

    rows: int
    fits: tuple[ColumnFit, ...]
    unused: tuple[str, ...]
    reading: Reading | None = None


class Inspector:
    """The owner's own look at a file.

    Args:
        path: a CSV or Parquet file.
        encoding, delimiter, multiline, watch: as in `Table.open`.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        encoding: str | None = None,
        delimiter: str | None = None,
        multiline: bool = False,
        watch: Callable[[float | None], None] | None = None,
    ) -> None:
        self._engine = FileEngine(
            path, encoding=encoding, delimiter=delimiter, multiline=multiline, watch=watch
        )
        self.reading = self._engine.reading

    def refuse_absent(self, *columns: str) -> None:
        """Refuse columns that the file does not have exactly once."""
        refuse_absent(columns, self._engine.schema().names, untyped=self._engine.untyped)

    def propose(self, *, least: int = 20) -> Proposal:
        """Guess a schema from all rows.

        Args:
            least: a value is proposed as a level only if so many rows carry it; rarer ones become `other`.
        """
        schema = self._engine.schema()
        names = schema.names
        nested = [f.name for f in schema if kind_of(f.type) == "other"]
        once = [name for name in names if names.count(name) == 1 and name.strip() and name not in nested]
        columns = [SeenColumn(name) for name in once]
        for batch in self._engine.batches(once):
            for column, array in zip(columns, batch.columns, strict=True):
                column.see(array)
        twice = {n: "its name is empty or comes twice" for n in names if n not in once}
        twice |= dict.fromkeys(nested, "its values are neither text, numbers, dates nor booleans")
        guesses = {c.name: _guess(c, least) for c in columns}
        attributes = {n: g for n, g in guesses.items() if isinstance(g, Attribute)}
        skipped = {n: g for n, g in guesses.items() if isinstance(g, str)} | twice
        levels = [c for c in columns if isinstance(attributes.get(c.name), Categorical)]
        notes = {c.name: c.repeated for c in levels if c.repeated}
        rows = max((c.rows for c in columns), default=0)
        return Proposal(Domain(attributes) if attributes else None, skipped, notes, rows)

    def fit(self, domain: Domain) -> Inspection:
        """Count what does not fit a schema; the columns must all be there."""
        strict = {name: _strict(attribute) for name, attribute in domain.items()}
        missing, outside, unread = Counter[str](), Counter[str](), Counter[str]()
        rows = 0
        for batch in self._engine.batches(domain.names):
            rows += batch.num_rows
            for (name, attribute), array in zip(strict.items(), batch.columns, strict=True):
                codes = attribute.encode(array)
                if isinstance(attribute, Bins):
                    text = attribute._numbers(array)[1]
                    if domain[name].missing and not domain[name].other:  # where NA goes, as all such text
                        blank = text & _blank(as_text(array))
                        codes[blank], text = attribute._null_code, text & ~blank
                    unread[name] += int(text.sum())
                missing[name] += int((codes == attribute.missing_code).sum())
                outside[name] += int((codes == attribute.other_code).sum())
        unused = tuple(n for n in self._engine.schema().names if n not in domain)
        fits = tuple(
            ColumnFit(n, missing[n], outside[n], unread[n], a.labels[a._null_code]) for n, a in domain.items()
        )
        return Inspection(rows, fits, unused, self.reading)


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


def _tally(text: pa.Array) -> dict[Any, int]:
    counted = text.value_counts()
    return dict(zip(counted.field(0).to_pylist(), counted.field(1).to_pylist(), strict=True))


def _blank(text: pa.Array) -> NDArray[np.bool_]:
    """Where a text is a word for nothing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    words = pc.utf8_lower(pc.utf8_trim_whitespace(text))
    return np.asarray(pc.is_in(words, value_set=pa.array(_BLANKS, words.type)))


def _strict(attribute: Attribute) -> Attribute:
    """The same attribute with `other` and missing levels of its own, so that what does not fit shows."""
    if isinstance(attribute, Dates):
        return Dates(
            attribute.start, attribute.stop, attribute.by, zone=attribute.zone, other=True, missing=True
        )
    if isinstance(attribute, Bins):
        return Bins(attribute.edges, other=True, missing=True)
    assert isinstance(attribute, Categorical)
    return Categorical(attribute.levels, other="\x00outside", missing=True)


def _guess(column: SeenColumn, least: int) -> Attribute | str:
    """An attribute for a column, or why there is none."""
    options = {"missing": True} if column.missing else {}
    if not column.present:
        return "it has no values"
    blank = {"missing": True} if column.missing or column.blanks else {}  # bins take NA so, levels do not
    if column.said and column.dates == column.said and column.last - column.first < _SPAN:
        return _guess_dates(column, blank)
    if column.named_id and (column.counts is None or len(column.counts) > MOST_LEVELS):
        return f"it looks like an identifier; if it names people, say --unit {column.name} with --max-rows"
    few = column.counts is not None and len(column.counts) <= 12
    if column.number and not few:
        unique = column.counts is None or len(column.counts) > 0.9 * column.present
        if unique and column.whole and column.high - column.low < 1.1 * column.present:
            return "nearly every row has its own number: it looks like an identifier"
        return _guess_bins(column, blank)
    if column.counts is None:
        return f"it has more than {_TRACKED:,} different values: it looks like an identifier or free text"
    words = _BLANKS if column.number else ()
    common = sorted(v for v, n in column.counts.items() if n >= least and v.strip().lower() not in words)
    if not common and len(column.counts) <= MOST_LEVELS:
        return f"it has no value that {least} rows share"
    if not common or len(common) > MOST_LEVELS:
        return "it has too many different values: it looks like an identifier or free text"
    levels: list[Any] = common
    if column.number:  # a cell is its spelling: 1.0 is no 1
        plain = all(re.fullmatch(r"0|-?[1-9][0-9]*", v) for v in common)
        levels = sorted(map(int, common)) if plain else sorted(common, key=float)
    return Categorical(levels, other=_free_name(common), **options)


def _free_name(taken: list[str]) -> str | bool:
    """A name for `other` that no proposed level has."""
    name = "other"
    while name in taken:
        name = f"({name})"
    return True if name == "other" else name


def _guess_bins(column: SeenColumn, options: dict[str, Any]) -> Bins | str:
    """Bins of a round width over the range, opened outwards to round numbers."""
    if max(abs(column.low), abs(column.high)) > _LARGEST:
        return "its numbers are too large for bins"
    width = _round_up((column.high - column.low) / _BINS or 1.0)
    width = max(width, 1.0) if column.whole else width
    low, high = floor(column.low / width), ceil(column.high / width)
    low -= _edge(low, width) > column.low  # by a rounding
    high = max(high + (_edge(high, width) < column.high), low + 1)
    edges = [_edge(i, width) for i in range(low, high + 1)]
    if any(b <= a for a, b in pairwise(edges)):
        return "its numbers are too close together for bins"
    return Bins([int(e) if float(e).is_integer() else e for e in edges], whole=column.whole, **options)


def _edge(place: int, width: float) -> float:
    return float(f"{place * width:.15g}")


def _round_up(width: float) -> float:
    """The next of 1, 2, 5, 10, 20, 50, ..."""
    power = 10.0 ** floor(log10(width))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= width * (1 - 1e-9))


def _guess_dates(column: SeenColumn, options: dict[str, Any]) -> Dates:
    """Years over a long span, months over a short one, from whole years to whole years."""
    first, last = (dt.date(1970, 1, 1) + dt.timedelta(days=int(d)) for d in (column.first, column.last))
    by: Any = "month" if last.year - first.year < 3 else "year"
    stop = dt.date(last.year + 1, 1, 1) if last.year < dt.MAXYEAR else dt.date.max  # the last edge is in
    return Dates(dt.date(first.year, 1, 1), stop, by, **options)
