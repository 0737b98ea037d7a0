"""Contribution bounding: at most `max_rows` rows of each unit, chosen by a keyed hash, never by position."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.compiled import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray


def kept_rows(
    units: NDArray[np.int64],
    names: Sequence[bytes],
    content: NDArray[Any],
    max_rows: int | NDArray[np.int64],
    key: bytes,
    values: NDArray[Any] | None = None,
) -> NDArray[np.intp]:
    """Positions of the rows that stay, in increasing order.

    Of every unit the rows with the `max_rows` smallest MAC(key, unit, row content, occurrence) stay. What
    stays of one unit depends on that unit's own rows and the key alone, so removing another unit changes
    nothing here; as equal rows are interchangeable, the kept multiset does not depend on the rows' order.

    Rows of equal codes may differ in their own numbers, `values`. How many of them stay is decided by codes
    alone, as ever: a ledger keeps the tables that it had. Which of them stay is decided by a keyed hash of
    their values too, which puts them in the order that gives out occurrences. So only rows that agree in
    every integer a statistic reads are taken by position, and those are interchangeable.

    Args:
        units: each row's unit, as a position in `names`.
        names: the units' ids.
        content: coded rows, one array row per column.
        max_rows: how many rows of a unit stay; a number for each of `names` where blocks came before.
        key: 32 secret bytes, drawn independently of the data.
        values: the rows' numbers within their bins, one array row per attribute.
    """
    if not len(units):
        return np.zeros(0, dtype=np.intp)
    tags = np.array([tag(key, name) for name in names], dtype=np.uint64)
    k0, k1, k2, k3 = np.frombuffer(key, dtype="<u8")
    row = np.empty(len(units), dtype=np.uint64)
    _mac(tags[units], content, k0, k1, row)
    finer = row
    if values is not None and len(values):
        finer = np.empty(len(units), dtype=np.uint64)
        _mac(row, values.astype(np.int64), k2, k3, finer)
    rank_in = np.lexsort((finer, row, units))
    occurrence = _run_index(units[rank_in], row[rank_in])
    priority = np.empty(len(units), dtype=np.uint64)
    _mac(row[rank_in], occurrence[None, :], k2, k3, priority)
    order = np.lexsort((row[rank_in], priority, units[rank_in]))
    ordered = units[rank_in][order]
    room = max_rows if isinstance(max_rows, int) else max_rows[ordered]
    return np.sort(rank_in[order[_run_index(ordered) < room]])


def tag(key: bytes, name: bytes) -> int:
    """A keyed hash of one id or name."""
    return int.from_bytes(hashlib.blake2b(name, key=key, digest_size=8).digest(), "little")


def _run_index(*columns: NDArray[Any]) -> NDArray[np.int64]:
    """0, 1, 2, ... within every run of equal neighbours."""
    n = len(columns[0])
    new = np.ones(n, dtype=np.bool_)
    new[1:] = np.any([c[1:] != c[:-1] for c in columns], axis=0)
    start = np.maximum.accumulate(np.where(new, np.arange(n), 0))
    return np.arange(n, dtype=np.int64) - start


@njit(cache=True)
def _sip_round(v0, v1, v2, v3):  # type: ignore[no-untyped-def]
    u = np.uint64
    v0 += v1
    v1 = (v1 << u(13)) | (v1 >> u(51))
    v1 ^= v0
    v0 = (v0 << u(32)) | (v0 >> u(32))
    v2 += v3
    v3 = (v3 << u(16)) | (v3 >> u(48))
    v3 ^= v2
    v0 += v3
    v3 = (v3 << u(21)) | (v3 >> u(43))
    v3 ^= v0
    v2 += v1
    v1 = (v1 << u(17)) | (v1 >> u(47))
    v1 ^= v2
    v2 = (v2 << u(32)) | (v2 >> u(32))
    return v0, v1, v2, v3


@njit(cache=True, nogil=True)
def _mac(head, columns, k0, k1, out):  # type: ignore[no-untyped-def]
    """SipHash-2-4 [Aumasson & Bernstein 2012] over the words (head, column values ..) of every row."""
    u = np.uint64
    words = columns.shape[0] + 1
    for i in range(len(head)):
        v0, v1 = k0 ^ u(0x736F6D6570736575), k1 ^ u(0x646F72616E646F6D)
        v2, v3 = k0 ^ u(0x6C7967656E657261), k1 ^ u(0x7465646279746573)
        for j in range(words + 1):
            if j == 0:
                m = head[i]
            elif j < words:
                m = u(columns[j - 1, i])
            else:
                m = u(8 * words & 0xFF) << u(56)
            v3 ^= m
            for _ in range(2):
                v0, v1, v2, v3 = _sip_round(v0, v1, v2, v3)
            v0 ^= m
        v2 ^= u(0xFF)
        for _ in range(4):
            v0, v1, v2, v3 = _sip_round(v0, v1, v2, v3)
        out[i] = v0 ^ v1 ^ v2 ^ v3
