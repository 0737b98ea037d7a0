"""Codes: numbers that stand for no answer, such as -9 and 999, told by where they lie.

Surveys write them where a cell would else be empty, and an average that counts them is of nothing. One below
zero is taken for a missing value where all other numbers are not. One far above the others may be a price, so
the owner is only told of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

_REPEATED = tuple(int(str(digit) * times) for digit in (7, 8, 9) for times in range(1, 7))
BELOW = tuple(-code for code in _REPEATED)
ABOVE = tuple(code for code in _REPEATED if code > 9)
_ALL = np.array([*BELOW, *ABOVE], dtype=np.float64)


@dataclass
class Codes:
    """Numbers of a column that may stand for no answer, and between which ends all others lie.

    Args:
        texts: how each was written, with how many rows hold it.
        meant: which number each text is.
        low, high: the ends of all other numbers.
    """

    texts: Counter[str] = field(default_factory=Counter)
    meant: dict[str, int] = field(default_factory=dict)
    low: float = np.inf
    high: float = -np.inf

    def see(self, texts: Sequence[str], numbers: NDArray[np.float64], times: NDArray[np.int64]) -> None:
        """Take in different texts of a batch, the finite numbers that they are, and how often each comes."""
        maybe = np.isin(numbers, _ALL)
        for i in np.flatnonzero(maybe).tolist():
            self.texts[texts[i]] += int(times[i])
            self.meant[texts[i]] = int(numbers[i])
        others = numbers[~maybe]
        if len(others):
            self.low, self.high = min(self.low, float(others.min())), max(self.high, float(others.max()))

    def missing(self, least: int) -> tuple[int, ...]:
        """Those below zero, where no other number is, that so many rows hold."""
        return self._held(BELOW, least) if 0 <= self.low < np.inf else ()

    def doubtful(self, least: int) -> tuple[int, ...]:
        """Those that so many rows hold and that lie far above all other numbers."""
        apart = self.high + (self.high - self.low) / 2
        return tuple(code for code in self._held(ABOVE, least) if self.low < np.inf and code > apart)

    def spelled(self, codes: Sequence[int]) -> Counter[str]:
        """How some of them were written, with how many rows hold each."""
        return Counter({text: n for text, n in self.texts.items() if self.meant[text] in codes})

    def ends(self, codes: Sequence[int]) -> tuple[float, float]:
        """Between which ends the numbers lie that are none of these."""
        left = [code for code in self.meant.values() if code not in codes]
        return min([self.low, *left]), max([self.high, *left])

    def _held(self, codes: Sequence[int], least: int) -> tuple[int, ...]:
        times: Counter[int] = Counter()
        for text, n in self.texts.items():
            times[self.meant[text]] += n
        return tuple(sorted(code for code in codes if times[code] >= least))
