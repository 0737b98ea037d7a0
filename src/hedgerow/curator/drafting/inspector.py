"""Inspector: the owner's own look at a file - a proposed schema, and what does not fit one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.curator.drafting.draft import Draft, draft
from hedgerow.curator.rows.files import FileEngine, refuse_absent
from hedgerow.curator.rows.unit_ids import spell
from hedgerow.queries.domain import written
from hedgerow.queries.domain.bins import Bins
from hedgerow.queries.domain.domain import Domain

if TYPE_CHECKING:
    import pyarrow as pa

    from hedgerow.curator.rows.csv_rows import Reading
    from hedgerow.curator.rows.engine import Engine
    from hedgerow.queries.domain.attribute import Attribute

_OUTSIDE = "\x00outside"


@dataclass(frozen=True)
class ColumnFit:
    """How one column fits its attribute: rows whose value is missing, or names no level.

    Of the latter, `unread` hold text where a number or a date should be, `below` and `above` lie beyond the
    ends of the bins, and the rest are levels that are not declared.
    """

    name: str
    missing: int
    outside: int
    unread: int
    below: int
    above: int
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
        file = FileEngine(path, encoding=encoding, delimiter=delimiter, multiline=multiline, watch=watch)
        self._engine: Engine = file
        self.reading = file.reading

    @classmethod
    def joined(cls, engine: Engine) -> Inspector:
        """A look at facts with the tables that are joined to them.

        Args:
            engine: reads both.
        """
        made = cls.__new__(cls)
        made._engine, made.reading = engine, None
        return made

    def refuse_absent(self, *columns: str) -> None:
        """Refuse columns that the file does not have exactly once."""
        refuse_absent(columns, self._engine.schema().names, untyped=self._engine.untyped)

    def without(self, unit: str) -> tuple[int, int]:
        """How many rows name nobody in a column, and how many rows there are."""
        none = rows = 0
        for batch in self._engine.batches([unit]):
            none, rows = none + spell(batch.column(0)).null_count, rows + batch.num_rows
        return none, rows

    def propose(self, *, least: int = 20, unit: str | None = None, look: bool = False) -> Draft:
        """Guess a schema from all rows; see `draft`."""
        if unit is not None:
            self.refuse_absent(unit)
        return draft(self._engine, least=least, unit=unit, look=look)

    def fit(self, domain: Domain) -> Inspection:
        """Count what does not fit a schema; the columns must all be there."""
        strict = {name: _strict(attribute) for name, attribute in domain.items()}
        tallies = {name: Counter[str]() for name in domain}
        rows = 0
        for batch in self._engine.batches(domain.columns):
            rows += batch.num_rows
            for name, attribute in strict.items():
                _see(tallies[name], domain[name], attribute, batch.column(domain.place(name)))
        unused = tuple(n for n in self._engine.schema().names if n not in domain.columns)
        fits = tuple(
            ColumnFit(n, t["missing"], t["outside"], t["unread"], t["below"], t["above"],
                      domain[n].labels[domain[n]._null_code])
            for n, t in tallies.items()
        )  # fmt: skip
        return Inspection(rows, fits, unused, self.reading)


def _see(tally: Counter[str], declared: Attribute, attribute: Attribute, array: pa.Array) -> None:
    """Count one batch of one column."""
    if isinstance(attribute, Bins):
        if declared.missing and not declared.words and not declared.other:  # where NA goes, as all such text
            array = written.without(array, written.USUAL)
        numbers, unread = attribute._numbers(array)
        tally["missing"] += int((np.isnan(numbers) & ~unread).sum())
        edges = attribute.edge_array
        last = numbers >= edges[-1] if attribute.stepped else numbers > edges[-1]
        below, above = int((numbers < edges[0]).sum()), int(last.sum())
        tally["below"] += below
        tally["above"] += above
        tally["unread"] += int(unread.sum())
        tally["outside"] += below + above + int(unread.sum())
        return
    codes = attribute.encode(array)
    tally["missing"] += int((codes == attribute.missing_code).sum())
    tally["outside"] += int((codes == attribute.other_code).sum())


def _strict(attribute: Attribute) -> Attribute:
    """The same attribute with `other` and missing levels of its own, so that what does not fit shows."""
    schema = attribute.to_schema()
    words = {} if attribute.words else {"missing": True}
    name = True if isinstance(attribute, Bins) else _OUTSIDE
    kept = {k: v for k, v in schema.items() if k != "hierarchy"}
    return Domain({"a": kept | {"other": name} | words})["a"]
