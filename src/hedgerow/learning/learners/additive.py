"""Additive: a public model whose margin is a constant plus one number for each of a row's levels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Additive:
    """A sum of piecewise-constant functions on declared levels: what boosting rounds add up to.

    Args:
        intercept: the constant.
        tables: a number for every level of some attributes.

    >>> model = Additive(1.0, {"a": np.array([0.0, 2.0])})
    >>> model.margin({"a": np.array([0, 1])}).tolist()
    [1.0, 3.0]
    """

    intercept: float = 0.0
    tables: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    def margin(self, codes: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
        """The margins of coded rows (or of anything that is indexed like them)."""
        rows = len(next(iter(codes.values()))) if codes else 0
        total = np.full(rows, self.intercept)
        for name, table in self.tables.items():
            total += table[codes[name]]
        return total

    def plus(self, other: Additive) -> Additive:
        """The sum of two models."""
        tables = dict(self.tables)
        for name, table in other.tables.items():
            tables[name] = tables[name] + table if name in tables else table
        return Additive(self.intercept + other.intercept, tables)

    def in_steps(self, steps: int, largest: int) -> tuple[int, dict[str, NDArray[np.int64]]]:
        """Intercept and tables as whole numbers of 1/steps, clipped at `largest` whole numbers."""
        tables = {name: _steps(table, steps, largest) for name, table in self.tables.items()}
        return int(_steps(self.intercept, steps, largest)), tables


def sigmoid(margin: Any) -> NDArray[np.float64]:
    """The logistic function, without overflow."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * np.asarray(margin, dtype=np.float64))))


def _steps(values: Any, steps: int, largest: int) -> NDArray[np.int64]:
    clipped = np.clip(np.nan_to_num(np.asarray(values, dtype=np.float64) * steps), -largest, largest)
    return np.asarray(np.rint(clipped), dtype=np.int64)
