"""CountedNames: the names of an open domain and how many rows carry them, after bounding."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.curator.rows import bounding, unit_ids
from hedgerow.curator.rows.coding import kept_places
from hedgerow.curator.rows.engine import names_summed_by
from hedgerow.curator.rows.name_sums import AskedNames, NamedRows, NameSum
from hedgerow.errors import DomainMismatch
from hedgerow.queries.domain.domain import OpenDomain
from hedgerow.queries.domain.encoding import as_text

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from hedgerow.curator.rows.coding import Bound
    from hedgerow.curator.rows.table import Rows

_KEEP_ASKED = 1 << 20  # names whose counts are kept where the engine counts


class CountedNames:
    """Counts of names: made where the rows are if the engine can, else from all names, brought here once.

    The rows are handed to it each time: it holds none, so that they are let go with whoever holds them.
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] | None = None
        self._asked: dict[str, int] = {}
        self._people = 0

    def of(self, rows: Rows, elements: Iterable[str]) -> dict[str, int]:
        """How many rows carry each of some names."""
        wanted = list(dict.fromkeys(elements))
        if self._counts is None:
            kept = self._asked if len(self._asked) + len(wanted) <= _KEEP_ASKED else {}
            new = tuple(name for name in wanted if name not in kept)
            found = self._there(rows, AskedNames(new)) if new else [np.zeros(0, np.int64)]
            if found is not None:
                self._asked = kept | dict(zip(new, found[0].tolist(), strict=True))
                return {name: self._asked[name] for name in wanted}
        held = self._brought(rows)
        return {name: held.get(name, 0) for name in wanted}

    def all(self, rows: Rows) -> tuple[list[str], NDArray[np.int64]]:
        """Every name that some row carries, and how many do."""
        held = self._brought(rows)
        return list(held), np.fromiter(held.values(), np.int64, len(held))

    def summed(self, rows: Rows, work: NameSum) -> list[NDArray[np.int64]]:
        """Sums over all rows' names."""
        found = self._there(rows, work) if self._counts is None else None
        return work(*self.all(rows)) if found is None else found

    def units(self, rows: Rows) -> int:
        """The number of protected units."""
        if rows._table.unit is None:
            return int(self.summed(rows, NamedRows())[0])
        self._brought(rows)
        return self._people

    def _there(self, rows: Rows, work: NameSum) -> list[NDArray[np.int64]] | None:
        return names_summed_by(rows._table._engine, _domain(rows), work, rows._bound)

    def _brought(self, rows: Rows) -> dict[str, int]:
        if self._counts is None:
            bound = rows._bound
            columns = [_domain(rows).column, *([rows._ids_column(bound.unit)] if bound else [])]
            batches = list(rows._read(columns))
            texts = [as_text(batch.column(0)) for batch in batches]
            ids = None if bound is None else [unit_ids.spell(b.column(1), bound.spelling) for b in batches]
            names, counts, self._people = named_counts(texts, ids, bound)
            self._counts = dict(zip(names, counts.tolist(), strict=True))
        return self._counts


def _domain(rows: Rows) -> OpenDomain:
    domain = rows._table.domain
    if not isinstance(domain, OpenDomain):
        raise DomainMismatch("this table has a declared domain; names are for open ones")
    return domain


def named_counts(
    texts: list[pa.Array], ids: list[pa.Array] | None, bound: Bound | None
) -> tuple[list[str], NDArray[np.int64], int]:
    """Names, how many of the rows that stay carry each, and how many units those rows have.

    Args:
        texts: the rows' names; one without a name has the empty one.
        ids: their units' ids, where people are bounded.
        bound: how many rows of a unit stay, and by which key.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    long = pa.large_string()  # all names of a table may be more than 32-bit offsets reach
    whole = pc.fill_null(pa.chunked_array([text.cast(long) for text in texts], long), "").combine_chunks()
    encoded = whole.dictionary_encode()
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    names = encoded.dictionary.to_pylist()
    codes = np.asarray(encoded.indices, dtype=np.int64)
    people = len(codes)
    if bound is not None:
        content = np.array([bounding.tag(bound.key, n.encode()) for n in names] or [0], dtype=np.uint64)
        stay, owners = kept_places(ids or [], content[codes][None, :], bound)
        codes, people = codes[stay], len(np.unique(owners))
    return names, np.bincount(codes, minlength=len(names)).astype(np.int64), people
