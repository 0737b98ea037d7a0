"""The replay's word on growing data: blocks and years summed a second time, from the lines alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

OWNER = "owner"
LOST = "lost lines "


class Cells:
    """What each block or year was charged, as a list of charges; slow, and plain.

    Args:
        growing: what the first line says of how data grow.
        years: the declared number of years, if any.
    """

    def __init__(self, growing: str | None, years: int | None = None) -> None:
        self.growing, self.years = growing, years
        self.charges: list[tuple[int, float, int, int]] = []
        self.numbers: list[int] = []
        self.arrived: list[int] = []
        self.lost = False
        self.voided: set[str] = set()
        self._opened: set[str] = set()
        self._all_lost = False

    @property
    def apart(self) -> bool:
        """Whether cells are held to the budget one by one."""
        return self.growing in ("confined", "yearly")

    @property
    def there(self) -> list[int]:
        """The cells that there are."""
        return self.arrived if self.growing == "yearly" else self.numbers

    def step(self, line: Mapping[str, Any]) -> Iterator[str]:
        """Take in a line that moves no money; sentences about what is wrong with it."""
        kind, seq = line["kind"], line["seq"]
        if kind == "block":
            told = line["details"]
            if self.growing is None or told["number"] != len(self.numbers) + 1:
                yield f"Line {seq} puts a block where none may be put."
            if self.arrived and told["year"] < self.arrived[-1]:
                yield f"Line {seq} fills an earlier year."
            self.numbers.append(told["number"])
            self.arrived.append(told["year"])
            if self.years is not None and len(set(self.arrived)) > self.years:
                yield f"Line {seq} is of one year more than was promised for."
        if kind == "years":
            if self.growing != "yearly" or line["details"]["years"] <= (self.years or 0):
                yield f"Line {seq} raises no number of years."
            self.years = line["details"]["years"]
        if kind == "ended":
            self.lost = True
        yield from self._given_back(line)
        if "scope" in line and not self.apart:
            yield f"Line {seq} charges some blocks only, and units may be in several."
        if kind in ("charge", "allot") and line["account"] == OWNER and self.apart:
            low, high = line["scope"]
            narrow = any(not low <= cell <= (high or cell) for cell in self.there)
            if (kind == "charge" or self.lost) and narrow:
                yield f"Line {seq} does not charge every block."

    def _given_back(self, line: Mapping[str, Any]) -> Iterator[str]:
        """What lost lines may have spent never comes back: neither their own account nor older ones."""
        kind, child = line["kind"], line["details"].get("child", "")
        if kind == "limit":  # filled as it spends: what comes back from it came after the loss
            self._opened.discard(line["account"])
        if kind == "open" and line["parent"] == OWNER:
            self._opened.add(line["account"])
            self._all_lost = self._all_lost or line["account"].startswith(f"{LOST}of blocks")
        if kind == "ended" and self._all_lost:
            self.voided, self._all_lost = self.voided | self._opened, False
        empty = all(int(value) == 0 for value in line["cost"].values())
        if kind == "return" and not empty and (child.startswith(LOST) or child in self.voided):
            yield f"Line {line['seq']} gives back what lost lines may have spent."

    def moved(self, line: Mapping[str, Any], amount: int, delta: int) -> tuple[int, int]:
        """The owner's total after an amount was charged (or came back, below zero)."""
        low, high = line["scope"]
        self.charges.append((low, float("inf") if high is None else high, amount, delta))
        sums = [self._at(low) for low, *_ in self.charges]
        return max(a for a, _ in sums), max(d for _, d in sums)

    def _at(self, cell: int) -> tuple[int, int]:
        inside = [(a, d) for low, high, a, d in self.charges if low <= cell <= high]
        return sum(a for a, _ in inside), sum(d for _, d in inside)
