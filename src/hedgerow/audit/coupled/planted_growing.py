"""Mistakes with growing data, planted for the replay: each must be found. Never exported."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hedgerow.audit.coupled.growing import Mechanism, ReplayedBlocks, replay_growing
from hedgerow.curator.growing.accepting import accept
from hedgerow.curator.growing.growing import Growing
from hedgerow.curator.growing.running import RunningRun
from hedgerow.curator.growing.seen import Seen
from hedgerow.curator.rows.table import Rows
from hedgerow.privacy.budget import Cost
from hedgerow.privacy.ledger.announcing import RowBlock
from hedgerow.privacy.ledger.profile import Scope


def each_block(growing: Growing, blocks: Iterator[Any]) -> Any:
    """Every block measured with all that it has."""
    said = []
    for day, block in enumerate(blocks, 1):
        growing.append(block, name=str(day))
        with growing.range(day) as curator:
            said.append(curator.measure(("a",), noise="gaussian").counts)
    return said


def ranges(growing: Growing, blocks: Iterator[Any]) -> Any:
    """Single blocks, then everything so far, then a part of it, between appends."""
    said = []
    for day, block in enumerate(blocks, 1):
        growing.append(block, name=str(day))
        for first, last in ((day, day), (1, day), (max(1, day - 1), day)):
            price = Cost("rho", growing.left(first, last).cost.amount).share("1/3")
            if price.amount:
                with growing.range(first, last, spend=price) as curator:
                    said.append(curator.measure(("a",), noise="gaussian").counts)
    return said


def by_shares(growing: Growing, blocks: Iterator[Any]) -> Any:
    """What is left, a third at a time, whoever may pay: blocks alone and together."""
    said = []
    for day, block in enumerate(blocks, 1):
        growing.append(block, name=str(day))
        for first in (day, 1):
            with growing.range(first, day, spend=Cost("rho", Fraction(1, 20))) as curator:
                said.append(curator.measure(("a",), noise="gaussian").counts)
    return said


def overlapping(growing: Growing, blocks: Iterator[Any]) -> Any:
    """All that is left for every two blocks that follow each other."""
    said = []
    for day, block in enumerate(blocks, 1):
        growing.append(block, name=str(day))
        price = Cost("rho", growing.left(max(1, day - 1), day).cost.amount) if day > 1 else None
        if price is not None and price.amount:
            with growing.range(day - 1, day, spend=price) as curator:
                said.append(curator.measure(("a",), noise="gaussian").counts)
    return said


def by_owner(growing: Growing, blocks: Iterator[Any]) -> Any:
    """The first block again and again, paid for by the owner, who pays for all that there are."""
    said = []
    for day, block in enumerate(blocks, 1):
        growing.append(block, name=str(day))
        price = Cost("rho", Fraction(1, 20))
        said.append(growing.curator(1, 1).measure(("a",), price, noise="gaussian").counts)
    return said


def totals(growing: Growing, blocks: Iterator[Any]) -> Any:
    """Running totals of a table, and the last block alone beside them."""
    run = None
    for day, block in enumerate(blocks, 1):
        growing.append(block, name=str(day))
        run = run or RunningRun(growing, "totals", ("a",), 4, Cost("rho", Fraction(1, 2)))
        run.advance()
    assert run is not None
    return run.released


class Unconfined(ReplayedBlocks):
    """Blocks are charged side by side, and a unit's rows count in all of them."""

    def _accepted(self, rows: Rows) -> Any:
        return accept(rows, Seen(), confined=True)


class Backfilled(ReplayedBlocks):
    """Rows that come late are decided about as if they had come before the newest block."""

    def _accepted(self, rows: Rows) -> Any:
        before = Seen.in_all(block.state for block in self._known()[:-1])
        return accept(rows, before, confined=self._growing == "confined")


class Reaccepted(ReplayedBlocks):
    """How many rows of a unit were accepted is forgotten from block to block."""

    def _accepted(self, rows: Rows) -> Any:
        return accept(rows, Seen(), confined=False)


class OneMore(ReplayedBlocks):
    """A unit has its rows once more in the block after the one in which it had them all."""

    def _accepted(self, rows: Rows) -> Any:
        seen = self._seen
        return accept(rows, Seen(seen.tags, seen.rows - 1), confined=False)


class FirstPays(ReplayedBlocks):
    """A question over a range is charged to its first block alone."""

    def _scope(self, some: list[RowBlock]) -> Scope:
        return super()._scope(some[:1])


class NewestPays(ReplayedBlocks):
    """Whatever is asked is charged to the newest block alone, whichever was read."""

    def _scope(self, some: list[RowBlock]) -> Scope:
        return super()._scope(self._known()[-1:])


@dataclass(frozen=True)
class PlantedBlocks:
    """One mistake: the code that has it, and the questions that it would hurt."""

    name: str
    kind: type[ReplayedBlocks]
    mechanism: Mechanism
    growing: str

    def found(self, neighbours: int = 30) -> list[str]:
        """What a replay says of it."""
        return replay_growing(self.mechanism, growing=self.growing, kind=self.kind, neighbours=neighbours)


PLANTED = (
    PlantedBlocks("side by side without confinement", Unconfined, each_block, "confined"),
    PlantedBlocks("side by side without confinement, totals", Unconfined, totals, "confined"),
    PlantedBlocks("a back-filled block", Backfilled, each_block, "confined"),
    PlantedBlocks("a back-filled block, totals", Backfilled, totals, "shared"),
    PlantedBlocks("rows accepted again, totals", Reaccepted, totals, "shared"),
    PlantedBlocks("rows accepted again, confined", Reaccepted, each_block, "confined"),
    PlantedBlocks("one row more than max_rows, totals", OneMore, totals, "shared"),
    PlantedBlocks("a range charged to its first block", FirstPays, overlapping, "confined"),
    PlantedBlocks("a range charged to the newest block", NewestPays, overlapping, "confined"),
)
SOUND: tuple[tuple[str, Mechanism, str], ...] = (
    ("each block", each_block, "confined"),
    ("ranges", ranges, "confined"),
    ("overlapping", overlapping, "confined"),
    ("by the owner", by_owner, "confined"),
    ("by the owner", by_owner, "yearly"),
    ("totals", totals, "confined"),
    ("ranges", ranges, "shared"),
    ("totals", totals, "shared"),
    ("by shares", by_shares, "shared"),
    ("by shares", by_shares, "yearly"),
    ("totals", totals, "yearly"),
)
