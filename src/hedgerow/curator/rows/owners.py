"""Owners: which unit each row belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.queries.domain.encoding import to_arrow

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from hedgerow.curator.rows.unit import Unit


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


def present(
    owners: NDArray[np.int64], names: list[bytes], content: NDArray[Any]
) -> tuple[NDArray[np.int64], list[bytes], NDArray[Any]]:
    """The same without the rows that are left out."""
    here = owners >= 0
    return owners[here], names, np.ascontiguousarray(content[:, here])
