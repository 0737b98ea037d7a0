"""Progress: how far a release is that learns step by step, and how much its last table surprised it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Progress:
    """How far a release is.

    Args:
        step: tables measured so far, beyond the one-way tables.
        steps: how many there will be.
        error: the estimated mean L1 error of the tables measured last, as a part of all rows, before they
            were learned; None at the beginning.
        cells: the size of the model.
        seconds: processor time so far.
    """

    step: int
    steps: int
    error: float | None
    cells: int
    seconds: float


def unwatched(progress: Progress) -> None:
    """A watcher that tells nobody."""


@dataclass(frozen=True)
class Surprise:
    """How far a measured table was from the model, beyond what its noise explains.

    Args:
        excess: the sum of squared distances less the noise's, in rows squared.
        doubt: the standard deviation of that sum's noise over the square root of two.
        rows: what the model expected in all.
        distance: the L1 distance less the expected noise.
    """

    excess: float
    doubt: float
    rows: float
    distance: float

    @classmethod
    def of(cls, gap: NDArray[np.float64], expected: NDArray[np.float64], sigma: float) -> Surprise:
        """From the differences of a table."""
        squares, cells = float((gap**2).sum()), len(gap)
        rows = float(np.maximum(expected, 1.0).sum())
        far = float(np.abs(gap).sum()) - (2.0 / np.pi) ** 0.5 * sigma * cells
        return cls(squares - sigma**2 * cells, sigma**2 * cells**0.5, rows, far)
