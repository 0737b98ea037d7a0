"""Accounts of ranges that last: who asks about the same blocks again goes on with what was paid for them.

An account of a range is filled as it spends (`privacy.ledger.limit`), and what fills it is charged to each
block of the range and to no other (docs/privacy/growing.md, Theorem 2).
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence

from hedgerow.curator.growing.block_rows import BlockRows
from hedgerow.curator.rows.table import Table
from hedgerow.errors import BadValue
from hedgerow.privacy.budget import Cost, exact
from hedgerow.privacy.ledger.announcing import RowBlock
from hedgerow.privacy.ledger.ledger import Ledger

RANGE = re.compile(r"blocks \d+ to \d+( .*)?")
"""How accounts of ranges are called; people's names have no spaces."""


def range_account(ledger: Ledger, table: Table) -> str:
    """The account that pays for a range of blocks, the same one every time.

    Args:
        ledger: of the data that grow.
        table: the blocks' rows, as `Growing.table` gives them.
    """
    rows = table._engine
    assert isinstance(rows, BlockRows)
    first, last = rows.blocks[0].number, rows.blocks[-1].number
    name = f"blocks {first} to {last}" + (" after the end" if ledger.ended else "")
    scope = rows.scope if ledger.settings.cells else None
    with ledger.transaction() as together:
        made = not ledger.knows_account(name)
        if made:
            zero = Cost.zero(ledger.currency)
            together.allot(name, zero, note=ledger.settings.counted or "A range of blocks", scope=scope)
        most = _most(ledger, name, first) if first == last else None
        known = None if made else ledger.limit(name)
        if known is None or known.most != most:
            together.limit(name, most, "A range of blocks")
    return name


def _most(ledger: Ledger, name: str, block: int) -> Cost | None:
    """What one block alone may cost: not what its owner keeps for questions over ranges."""
    reserve = exact(ledger.settings.reserve)
    if not reserve:
        return None
    free = ledger.budget.cost.share(1 - reserve).beyond(ledger.charged(block))
    return ledger.spent(name) + Cost(free.currency, free.amount, ledger.budget.cost.delta)


def numbered(blocks: Sequence[RowBlock], asked: str | None, *, last: bool) -> int | None:
    """The number of the block that somebody means by its name, its number or its day.

    Args:
        blocks: all of them.
        asked: what was said; None for the end.
        last: whether it ends a range: a day without a block then means the block before it.
    """
    if asked is None:
        return None
    named = [b.number for b in blocks if b.name == asked]
    if named or (asked.isdecimal() and 1 <= int(asked) <= len(blocks)):
        return named[0] if named else int(asked)
    if all(b.by == "day" for b in blocks) and _is_day(asked):
        near = [b.number for b in blocks if (b.name <= asked if last else b.name >= asked)]
        if near:
            return near[-1] if last else near[0]
    told = f"{blocks[0].name} to {blocks[-1].name}" if blocks else "none yet"
    raise BadValue(f"there is no block {asked!r}: there is {told}; name one, its number or its day")


def _is_day(text: str) -> bool:
    try:
        return dt.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
