"""Public rows: exact tables of data that are made up or published already. Private rows never come here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import DomainMismatch, UnsupportedQuery

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain

Tables = Callable[[tuple[str, ...]], "NDArray[np.int64]"]


def exact_tables(rows: Any, levels: Mapping[str, int], domain: Domain | None = None) -> Tables:
    """The exact table of any of these attributes.

    Args:
        rows: a mapping or frame of columns: level codes, or raw values if a domain is given.
        levels: how many levels each attribute has.
        domain: says which level a raw value is.
    """
    if not isinstance(rows, Mapping) and not (hasattr(rows, "columns") and hasattr(rows, "__getitem__")):
        raise UnsupportedQuery("exact answers are for public rows: a mapping or frame of columns")
    codes = {a: _codes(rows, a, n, domain) for a, n in levels.items()}
    number = _length(rows, codes)

    def table(names: tuple[str, ...]) -> NDArray[np.int64]:
        shape = tuple(levels[a] for a in names)
        if not names:
            return np.array(number, dtype=np.int64)
        flat = np.ravel_multi_index([codes[a] for a in names], shape)
        return np.bincount(flat, minlength=prod(shape)).reshape(shape).astype(np.int64)

    return table


def _codes(rows: Any, name: str, levels: int, domain: Domain | None) -> NDArray[np.int64]:
    try:
        column = rows[name]
    except (KeyError, IndexError, ValueError):
        raise DomainMismatch(f"the rows have no column {name!r}") from None
    if domain is not None:
        return domain[name].encode(column).astype(np.int64)
    given = np.asarray(column)
    whole = given.ndim == 1 and (given.size == 0 or np.issubdtype(given.dtype, np.integer))
    if not whole or (given.size and not 0 <= int(given.min()) <= int(given.max()) < levels):
        raise DomainMismatch(
            f"the column {name!r} does not hold codes of {levels} levels; give the domain of raw values too"
        )
    return given.astype(np.int64)


def _length(rows: Any, codes: Mapping[str, NDArray[np.int64]]) -> int:
    """How many rows there are, also if no column of them is asked about."""
    if not codes:
        return len(next(iter(rows.values()), ())) if isinstance(rows, Mapping) else len(rows)
    lengths = {len(c) for c in codes.values()}
    if len(lengths) > 1:
        raise DomainMismatch("the columns have different numbers of rows")
    return lengths.pop()
