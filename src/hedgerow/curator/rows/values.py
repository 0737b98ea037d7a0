"""Rows' own numbers, as whole half-steps from the middles of their bins, and sums of what rows are worth.

They are read when a statistic needs them, in one pass with the codes: engines may give rows in any order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.curator.rows.value_kernels import add_weights
from hedgerow.errors import RangeTooLarge
from hedgerow.queries.domain.bins import Bins

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.valued import Valued

    Codes = NDArray[Any]
    Remainders = dict[str, NDArray[np.int32]]

CELLS = 1 << 24
"""The largest table of sums that is held."""


def binned(domain: Domain) -> list[str]:
    """The attributes whose rows differ within a bin, dates among them."""
    return [n for n, a in domain.items() if isinstance(a, Bins) and bool((a.lattice.half > 0).any())]


def remainders(domain: Domain, batch: pa.RecordBatch, codes: Codes, names: Sequence[str]) -> Remainders:
    """How far rows are from the middles of their bins, for some attributes; 0 for rows in no bin."""
    out: Remainders = {}
    for name in names:
        attribute, place = domain[name], domain.index(name)
        assert isinstance(attribute, Bins)
        out[name] = attribute.remainders(batch.column(domain.place(name)), codes[place]).astype(np.int32)
    return out


def stacked(parts: Sequence[Remainders], names: Sequence[str]) -> NDArray[np.int32]:
    """Remainders of all batches as one array, a row for each attribute."""
    columns = [np.concatenate([np.zeros(0, np.int32), *(part[n] for part in parts)]) for n in names]
    return np.stack(columns) if columns else np.zeros((0, 0), dtype=np.int32)


def weighed_table(
    parts: Iterator[tuple[Codes, Mapping[str, NDArray[np.int32]]]],
    domain: Domain,
    attributes: tuple[str, ...],
    value: Valued,
) -> NDArray[np.int64]:
    """For every cell over some attributes the sum of what its rows weigh, in units of 1/ONE."""
    shape, size = domain.shape_of(attributes), domain.cells(attributes)
    if size > CELLS:
        raise RangeTooLarge(
            f"the table {' x '.join(attributes)} has {size:,} cells, too many for sums: name fewer"
        )
    out = np.zeros(size, dtype=np.int64)
    for codes, own in parts:
        at = {a: codes[domain.index(a)].astype(np.intp) for a in (*attributes, *value.attributes)}
        weights = value.weigh(at, own)
        cells = np.ravel_multi_index([at[a] for a in attributes], shape)
        add_weights(out, cells, weights)
    return out.reshape(shape)


def remainder_sums(
    parts: Iterator[tuple[Codes, Mapping[str, NDArray[np.int32]]]], domain: Domain, names: Sequence[str]
) -> dict[tuple[str, str], NDArray[np.int64]]:
    """For each of some numbers and each attribute the sums of remainders by the attribute's levels."""
    out = {(n, a): np.zeros(domain[a].size, dtype=np.int64) for n in names for a in domain}
    for codes, own in parts:
        for (name, attribute), sums in out.items():
            add_weights(sums, codes[domain.index(attribute)].astype(np.intp), own[name].astype(np.int64))
    return out


def keep(kept: dict[Any, NDArray[np.int64]], key: Any, table: NDArray[np.int64], most: int) -> None:
    """Keep a table that nobody may change; the oldest ones go when there are more bytes than `most`."""
    table.setflags(write=False)
    while kept and sum(t.nbytes for t in kept.values()) > most:
        kept.pop(next(iter(kept)))
    kept[key] = table
