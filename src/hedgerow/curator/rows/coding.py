"""Coding: rows as integers of the declared domain, and which rows of a unit stay.

Everything that decides what a row counts as is here, for the curator and for engines that count themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.curator.rows import bounding, unit_ids, values
from hedgerow.curator.rows.unit import Unit
from hedgerow.queries.domain.encoding import to_arrow

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain


@dataclass(frozen=True)
class Bound:
    """How contribution bounding is carried out: whose rows, how many, and the secret key that chooses them.

    Args:
        unit: who is protected.
        key: 32 secret bytes of the ledger; which rows stay is nobody's to know.
        spelling: the version of the unit ids' spelling.
    """

    unit: Unit
    key: bytes = field(repr=False)
    spelling: int


@dataclass(frozen=True)
class Coded:
    """Some rows as a domain codes them.

    Args:
        codes: the levels, an array row for each attribute.
        numbers: the rows' own numbers within their bins, for attributes that have them.
        ids: the units' ids as bytes, null where there is none; None where nobody is bounded.
    """

    codes: NDArray[Any]
    numbers: values.Remainders
    ids: pa.Array | None = None


def coded_rows(
    domain: Domain, batch: pa.RecordBatch, names: Sequence[str], spelling: int | None = None
) -> Coded:
    """The rows of a batch, with the numbers of some attributes.

    Args:
        domain: the declared domain.
        batch: its `columns` in order, then the column of unit ids if there is one.
        names: the attributes whose numbers are read.
        spelling: the version of the ids' spelling; None where there are none.
    """
    codes = coded(domain, batch)
    ids = None if spelling is None else unit_ids.spell(batch.column(len(domain.columns)), spelling)
    return Coded(codes, values.remainders(domain, batch, codes, names), ids)


def coded(domain: Domain, batch: pa.RecordBatch) -> NDArray[Any]:
    """The levels of a batch's rows, an array row for each attribute; its columns are `domain.columns`.

    Columns after those are left alone.
    """
    widest = max(domain.shape)
    dtype = np.uint8 if widest <= 256 else np.uint16 if widest <= 65536 else np.int32
    codes = np.empty((len(domain), batch.num_rows), dtype=dtype)
    for i, (name, attribute) in enumerate(domain.items()):
        codes[i] = attribute.encode(batch.column(domain.place(name)))
    return codes


def kept(
    domain: Domain, batches: Iterable[pa.RecordBatch], bound: Bound
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The coded rows that stay, and the unit (0, 1, ...) of each.

    Args:
        domain: the declared domain.
        batches: all rows of some units: `domain.columns` in order, then the column of unit ids.
        bound: how many rows of a unit stay, and by which key.
    """
    names = values.binned(domain)
    rows = (coded_rows(domain, batch, names, bound.spelling) for batch in batches)
    codes, owner, _ = kept_values(domain, rows, bound)
    return codes, owner


def kept_values(
    domain: Domain, rows: Iterable[Coded], bound: Bound
) -> tuple[NDArray[Any], NDArray[np.int64], values.Remainders]:
    """The same of coded rows, and the rows' own numbers within their bins.

    How many rows of which levels stay is decided by levels alone, so that whoever needs no numbers may leave
    them out; which numbers stay with them is decided by numbers, see `bounding.kept_rows`.
    """
    names = values.binned(domain)
    parts, ids, own = [np.zeros((len(domain), 0), dtype=np.uint8)], [], []
    for some in rows:
        parts.append(some.codes)
        own.append(some.numbers)
        ids.append(some.ids)
    codes, fine = np.concatenate(parts, axis=1), values.stacked(own, names)
    stay, owner = kept_places(ids, codes, bound, fine if len(fine) else None)
    numbers = {name: fine[i, stay] for i, name in enumerate(names)}
    return np.ascontiguousarray(codes[:, stay]), owner, numbers


def kept_places(
    ids: list[pa.Array], content: NDArray[Any], bound: Bound, numbers: NDArray[Any] | None = None
) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """The places of the rows that stay, and the unit (0, 1, ...) of each."""
    owners, names = owners_of(ids, bound.unit)
    here = owners >= 0
    some = np.ascontiguousarray(content[:, here])
    own = None if numbers is None else np.ascontiguousarray(numbers[:, here])
    stay = bounding.kept_rows(owners[here], names, some, bound.unit.max_rows, bound.key, own)
    places = np.flatnonzero(here)[stay]
    return places, np.unique(owners[places], return_inverse=True)[1].astype(np.int64)


def owners_of(ids: list[pa.Array], unit: Unit) -> tuple[NDArray[np.int64], list[bytes]]:
    """Each row's unit as a position in the list of unit ids; -1 for rows that are left out."""
    import pyarrow as pa
    import pyarrow.compute as pc

    encoded = to_arrow(pa.chunked_array(ids, pa.large_binary())).dictionary_encode()
    owners = np.asarray(pc.fill_null(encoded.indices, -1), dtype=np.int64).copy()
    names = encoded.dictionary.to_pylist()
    if unit.null_units == "row":
        alone = np.flatnonzero(owners < 0)
        owners[alone] = len(names) + np.arange(len(alone))
        names += [b""] * len(alone)  # a unit of one row keeps it whatever its tag is
    return owners, names
