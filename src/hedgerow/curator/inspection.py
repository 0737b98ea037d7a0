"""Inspection: what the owner, and nobody else, may see of rows - a proposed schema, what does not fit one.

Nothing here is private in the sense of the promise: these are exact readings of rows for the eyes of the
person who holds the file anyway. No mechanism uses them.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from math import ceil, floor, log10
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.curator.duckdb import DuckDBEngine
from hedgerow.queries.attribute import Attribute, Bins, Categorical, Dates
from hedgerow.queries.domain import Domain
from hedgerow.queries.encoding import as_days, as_numbers, as_text, kind_of

if TYPE_CHECKING:
    import pyarrow as pa

_TRACKED = 5000
MOST_LEVELS = 60
_BINS = 20
_LARGEST = 1e15  # beyond, bins of whole numbers are no longer exact
_SPAN = 100_000  # days: a column of dates over more than three centuries is not a calendar


@dataclass
class Column:
    """What was seen of one column."""

    name: str
    rows: int = 0
    missing: int = 0
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


@dataclass(frozen=True)
class Proposal:
    """A schema guessed from rows, for the owner to correct and confirm.

    Args:
        domain: the proposed attributes; None when no column can be one.
        skipped: columns left out, each with the reason.
    """

    domain: Domain | None
    skipped: dict[str, str]


@dataclass(frozen=True)
class Fit:
    """How one column fits its attribute: rows whose value is missing, or names no level."""

    name: str
    missing: int
    outside: int
    outside_becomes: str
    missing_becomes: str


@dataclass(frozen=True)
class Inspection:
    """How a file fits a schema; exact counts, for the owner's eyes only."""

    rows: int
    fits: tuple[Fit, ...]
    unused: tuple[str, ...]


class Inspector:
    """The owner's own look at a file.

    Args:
        path: a CSV or Parquet file.
        encoding, delimiter, watch: as in `Table.open`.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        encoding: str | None = None,
        delimiter: str | None = None,
        watch: Callable[[float | None], None] | None = None,
    ) -> None:
        self._engine = DuckDBEngine(path, encoding=encoding, delimiter=delimiter, watch=watch)

    def propose(self, *, least: int = 20) -> Proposal:
        """Guess a schema from all rows.

        Args:
            least: a value is proposed as a level only if so many rows carry it; rarer ones become `other`.
        """
        schema = self._engine.schema()
        names = schema.names
        nested = [f.name for f in schema if kind_of(f.type) == "other"]
        once = [name for name in names if names.count(name) == 1 and name.strip() and name not in nested]
        columns = [Column(name) for name in once]
        for batch in self._engine.batches(once):
            for column, array in zip(columns, batch.columns, strict=True):
                column.see(array)
        twice = {n: "its name is empty or comes twice" for n in names if n not in once}
        twice |= dict.fromkeys(nested, "its values are neither text, numbers, dates nor booleans")
        guesses = {c.name: _guess(c, least) for c in columns}
        attributes = {n: g for n, g in guesses.items() if isinstance(g, Attribute)}
        skipped = {n: g for n, g in guesses.items() if isinstance(g, str)} | twice
        return Proposal(Domain(attributes) if attributes else None, skipped)

    def fit(self, domain: Domain) -> Inspection:
        """Count what does not fit a schema; the columns must all be there."""
        strict = {name: _strict(attribute) for name, attribute in domain.items()}
        missing, outside = Counter[str](), Counter[str]()
        rows = 0
        for batch in self._engine.batches(domain.names):
            rows += batch.num_rows
            for (name, attribute), array in zip(strict.items(), batch.columns, strict=True):
                codes = attribute.encode(array)
                missing[name] += int((codes == attribute.missing_code).sum())
                outside[name] += int((codes == attribute.other_code).sum())
        unused = tuple(n for n in self._engine.schema().names if n not in domain)
        fits = tuple(
            Fit(n, missing[n], outside[n], _outside_becomes(a), a.labels[a._null_code])
            for n, a in domain.items()
        )
        return Inspection(rows, fits, unused)


def _tally(text: pa.Array) -> dict[Any, int]:
    counted = text.value_counts()
    return dict(zip(counted.field(0).to_pylist(), counted.field(1).to_pylist(), strict=True))


def _strict(attribute: Attribute) -> Attribute:
    """The same attribute with `other` and missing levels of its own, so that what does not fit shows."""
    if isinstance(attribute, Dates):
        return Dates(attribute.start, attribute.stop, attribute.by, other=True, missing=True)
    if isinstance(attribute, Bins):
        return Bins(attribute.edges, other=True, missing=True)
    assert isinstance(attribute, Categorical)
    return Categorical(attribute.levels, other="\x00outside", missing=True)


def _outside_becomes(attribute: Attribute) -> str:
    if attribute.ordered and not attribute.other:
        return "the nearest bin"
    return attribute.labels[attribute._outside_code]


def _guess(column: Column, least: int) -> Attribute | str:
    """An attribute for a column, or why there is none."""
    options = {"missing": True} if column.missing else {}
    if not column.present:
        return "it has no values"
    if column.dates == column.present and column.last - column.first < _SPAN:
        return _guess_dates(column, options)
    few = column.counts is not None and len(column.counts) <= 12
    if column.numbers == column.present and not few:
        unique = column.counts is None or len(column.counts) > 0.9 * column.present
        if unique and column.whole and column.high - column.low < 1.1 * column.present:
            return "nearly every row has its own number: it looks like an identifier"
        return _guess_bins(column, options)
    if column.counts is None:
        return f"it has more than {_TRACKED:,} different values: it looks like an identifier or free text"
    common = sorted(value for value, count in column.counts.items() if count >= least)
    if not common or len(common) > MOST_LEVELS:
        return "it has too many different values: it looks like an identifier or free text"
    number = column.numbers == column.present and column.whole
    levels: list[Any] = sorted(int(float(v)) for v in common) if number else common
    return Categorical(levels, other=_free_name(common), **options)


def _free_name(taken: list[str]) -> str | bool:
    """A name for `other` that no proposed level has."""
    name = "other"
    while name in taken:
        name = f"({name})"
    return True if name == "other" else name


def _guess_bins(column: Column, options: dict[str, Any]) -> Bins | str:
    """Bins of a round width over the range, opened outwards to round numbers."""
    if max(abs(column.low), abs(column.high)) > _LARGEST:
        return "its numbers are too large for bins"
    width = _round_up((column.high - column.low) / _BINS or 1.0)
    width = max(width, 1.0) if column.whole else width
    low, high = floor(column.low / width), ceil(column.high / width)
    high = max(high, low + 1)
    edges = [float(f"{i * width:.15g}") for i in range(low, high + 1)]
    if any(b <= a for a, b in pairwise(edges)):
        return "its numbers are too close together for bins"
    return Bins([int(e) if float(e).is_integer() else e for e in edges], **options)


def _round_up(width: float) -> float:
    """The next of 1, 2, 5, 10, 20, 50, ..."""
    power = 10.0 ** floor(log10(width))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= width * (1 - 1e-9))


def _guess_dates(column: Column, options: dict[str, Any]) -> Dates:
    """Years over a long span, months over a short one, from whole years to whole years."""
    first, last = (dt.date(1970, 1, 1) + dt.timedelta(days=int(d)) for d in (column.first, column.last))
    by: Any = "month" if last.year - first.year < 3 else "year"
    return Dates(dt.date(first.year, 1, 1), dt.date(last.year + 1, 1, 1), by, **options)
