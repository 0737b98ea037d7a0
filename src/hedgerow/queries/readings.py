"""Readings: weighted sums of the cells of tables, as whoever holds those reads them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class Linear(Protocol):
    """Whoever holds tables: a weighted sum of the cells of one table, and how far off it may be."""

    def __call__(
        self, attributes: tuple[str, ...], weights: Floats, confidence: float, numbers: int
    ) -> tuple[float, float]:
        """The value, and a half-width that holds with `confidence` for `numbers` such sums at once."""


@dataclass(frozen=True)
class Readings:
    """The same, where the sum by itself is less work than how far off it may be.

    Args:
        linear: gives both.
        value: gives a weighted sum.
    """

    linear: Linear
    value: Callable[[tuple[str, ...], Floats], float]

    def __call__(
        self, attributes: tuple[str, ...], weights: Floats, confidence: float, numbers: int
    ) -> tuple[float, float]:
        """Both."""
        return self.linear(attributes, weights, confidence, numbers)


def value_of(
    linear: Linear, attributes: tuple[str, ...], weights: Floats, confidence: float, numbers: int
) -> float:
    """The sum alone, with no more work than that takes."""
    if isinstance(linear, Readings):
        return linear.value(attributes, weights)
    return linear(attributes, weights, confidence, numbers)[0]
