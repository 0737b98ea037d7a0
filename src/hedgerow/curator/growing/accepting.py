"""Accepting: which rows of a new block count, decided once, by their own unit's rows and the key alone.

Lemma 1 of docs/privacy/growing.md is about these two rules: a unit's rows count in its first block only
(confined), or while it has fewer than `max_rows` of them (shared).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.curator.growing.seen import Seen, tags_of
from hedgerow.curator.rows import bounding, unit_ids, values
from hedgerow.curator.rows.coding import coded, owners_of
from hedgerow.curator.rows.memory import IDS
from hedgerow.curator.rows.plain import plain_table
from hedgerow.queries.domain.encoding import kind_of

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from hedgerow.curator.rows.table import Rows

_TYPED = re.compile(rb"\A\0(?:%s)\0" % "|".join(t for t in unit_ids.TYPES if t != "integer").encode())


@dataclass(frozen=True)
class Accepted:
    """The rows of a block that count, with their spelled unit ids beside them, and the units that it had."""

    rows: pa.Table = field(repr=False)
    seen: Seen = field(repr=False)


def accept(rows: Rows, seen: Seen, *, confined: bool) -> Accepted:
    """Decide about the rows of a new block.

    Args:
        rows: the block's file, opened under the ledger's key.
        seen: the units of all blocks before.
        confined: whether a unit that was seen before has no rows here, or those that it still may have.
    """
    import pyarrow as pa

    bound, domain = rows._bound, rows.domain
    names = [*domain.columns, *(name for name in _readable(rows) if name not in domain.columns)]
    if bound is None:
        batches = list(rows._read(names))
        return Accepted(_joined(batches, rows, names), Seen())
    batches = list(rows._read([*names, rows._ids_column(bound.unit)]))
    ids = [_one_spelling(rows, unit_ids.spell(batch.column(len(names)), bound.spelling)) for batch in batches]
    codes, fine = _content(rows, batches)
    owners, units = owners_of(ids, bound.unit)
    tags = tags_of(bound.key, units)
    alone = np.array(
        [not unit for unit in units], dtype=np.bool_
    )  # rows without an id, each a unit of its own
    before = np.where(alone, 0, seen.of(tags))
    room = np.where(before > 0, 0, bound.unit.max_rows) if confined else bound.unit.max_rows - before
    here = np.flatnonzero(owners >= 0)
    numbers = None if fine is None else np.ascontiguousarray(fine[:, here])
    content = np.ascontiguousarray(codes[:, here])
    places = here[bounding.kept_rows(owners[here], units, content, np.maximum(room, 0), bound.key, numbers)]
    kept = np.bincount(owners[places], minlength=len(units))
    whole = _joined([batch.select(range(len(names))) for batch in batches], rows, names)
    spelled = pa.chunked_array(ids, pa.large_binary())
    whole = whole.append_column(IDS, spelled).take(pa.array(places, pa.int64()))
    some = ~alone & (kept > 0)
    return Accepted(whole, Seen.counted(tags[some], kept[some].astype(np.int64)))


def _one_spelling(rows: Rows, ids: pa.Array) -> pa.Array:
    """Ids as a typed column or a CSV file has them, whichever source a block comes from.

    Objects are spelled with the name of their type where they could be taken for something else. That tells
    them apart within one source; between blocks it would make two units of one person.
    """
    import pyarrow as pa

    schema = rows._table._engine.schema()
    if IDS not in schema.names or unit_ids.type_of(schema.field(IDS).type) != "binary":
        return ids
    plain = [None if name is None else _TYPED.sub(b"", name, 1) for name in ids.to_pylist()]
    return pa.array(plain, pa.large_binary())


def _content(rows: Rows, batches: list[pa.RecordBatch]) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """What the keyed hash reads of every row: its levels, and its numbers within their bins."""
    domain = rows.domain
    names = values.binned(domain)
    parts: list[NDArray[Any]] = [np.zeros((len(domain), 0), dtype=np.uint8)]
    own = []
    for batch in batches:
        parts.append(coded(domain, batch))
        own.append(values.remainders(domain, batch, parts[-1], names))
    fine = values.stacked(own, names)
    return np.concatenate(parts, axis=1), fine if len(fine) else None


def _readable(rows: Rows) -> list[str]:
    """The columns that some schema could read: of text, numbers or days; by their types alone."""
    return [f.name for f in rows._table._engine.schema() if f.name != IDS and kind_of(f.type) != "other"]


def _joined(batches: list[pa.RecordBatch], rows: Rows, names: list[str]) -> pa.Table:
    """Batches as one table; the columns have their types where there are no rows as well."""
    import pyarrow as pa

    schema = rows._table._engine.schema()
    return plain_table(batches, pa.schema([schema.field(name) for name in names]))
