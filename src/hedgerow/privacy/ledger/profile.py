"""Profile: what every cell of growing data was charged; the owner's total is the largest of them.

A cell is a block whose units are confined to it, or a year of arrival. Each is held to the whole budget by
itself (docs/privacy/growing.md, Theorems 1 and 3). Cells that are still to come may be charged already.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hedgerow.errors import LedgerError
from hedgerow.privacy.budget import Cost, Currency

Scope = tuple[int, int | None]
"""The first and the last cell that a charge is made to; None for all to come."""


@dataclass(frozen=True)
class Profile:
    """What was charged to which cells.

    Args:
        currency: what is summed.
        first, last: the cells that there are; 0 where there is none yet.
        ended: whether confinement was broken: from then on every charge is made to all cells.
        steps: from which cell on how much was charged, in the order of cells; nothing before the first.

    >>> Profile("epsilon", 1, 3).charged((2, 3), Cost("epsilon", 1)).most((1, 1)).is_zero
    True
    """

    currency: Currency
    first: int = 0
    last: int = 0
    ended: bool = False
    steps: tuple[tuple[int, Cost], ...] = ()

    @property
    def everything(self) -> Scope:
        """What a charge that names no cells is made to: all there are, and after the end all to come."""
        if not self.last and not self.ended:
            raise LedgerError("There is no block yet: append one first.")
        return (min(self.first, 1), None) if self.ended else (self.first, self.last)

    def scope(self, asked: Scope | None) -> Scope:
        """The cells that a charge is made to; confinement that was broken leaves no choice."""
        return self.everything if asked is None or self.ended else checked(asked)

    def at(self, cell: int) -> Cost:
        """What a cell was charged."""
        return next((cost for start, cost in reversed(self.steps) if start <= cell), Cost.zero(self.currency))

    def most(self, scope: Scope | None = None) -> Cost:
        """The largest sum among some cells or all, part by part."""
        low, high = scope or (0, None)
        held = [
            self.at(low),
            *(c for start, c in self.steps if start >= low and (high is None or start <= high)),
        ]
        return Cost(self.currency, max(c.amount for c in held), max(c.delta for c in held))

    @property
    def regions(self) -> list[tuple[Scope, Cost]]:
        """All cells, those to come included, in stretches that were charged the same."""
        lows = sorted({1, *(start for start, _ in self.steps)})
        highs = [*(low - 1 for low in lows[1:]), None]
        return [((low, high), self.at(low)) for low, high in zip(lows, highs, strict=True)]

    def charged(self, scope: Scope, cost: Cost, *, back: bool = False) -> Profile:
        """The profile after a charge to some cells, or after it came back from them."""
        if self.ended and not back and scope != self.everything:
            raise LedgerError("Units may be in several blocks, so nothing is charged to some of them alone.")
        low, high = scope
        edges = sorted({low, *(start for start, _ in self.steps), *(() if high is None else (high + 1,))})
        steps: list[tuple[int, Cost]] = []
        for edge in edges:
            now = self.at(edge)
            if low <= edge and (high is None or edge <= high):
                now = now - cost if back else now + cost
            if now != (steps[-1][1] if steps else Cost.zero(self.currency)):
                steps.append((edge, now))
        return replace(self, steps=tuple(steps))

    def grown(self, cell: int) -> Profile:
        """The profile with a further cell, or with more in the newest one."""
        if cell < self.last:
            raise LedgerError("Blocks are appended at the end, not between those that are there.")
        return replace(self, first=self.first or cell, last=cell)

    def to_json(self) -> dict[str, Any]:
        """Plain data, amounts in grains."""
        steps = [[start, *map(str, cost.grains)] for start, cost in self.steps]
        return {"cells": [self.first, self.last], "ended": self.ended, "steps": steps}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], currency: Currency) -> Profile:
        """The profile that `to_json` wrote."""
        steps = [(int(s), Cost.of_grains(currency, int(a), int(d))) for s, a, d in data["steps"]]
        first, last = map(int, data["cells"])
        return cls(currency, first, last, bool(data["ended"]), tuple(steps))


def checked(scope: Any) -> Scope:
    """A range of cells, or a refusal."""
    low, high = scope
    whole = all(isinstance(c, int) and not isinstance(c, bool) for c in (low, low if high is None else high))
    if not whole or low < 1 or (high is not None and high < low):
        raise LedgerError("A range of blocks is its first and its last one, whole numbers from 1 on.")
    return low, high


def within(inner: Scope, outer: Scope | None) -> bool:
    """Whether a range lies in another one; None is none."""
    if outer is None:
        return False
    last = outer[1]
    return outer[0] <= inner[0] and (last is None or (inner[1] is not None and inner[1] <= last))
