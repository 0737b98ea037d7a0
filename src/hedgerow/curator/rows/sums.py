"""Sums over rows: what the curator asks of rows, as work that can be divided and added up.

Each is given coded rows, some at a time, and returns whole numbers; those of all rows are the sums of those
of any parts of them. So an engine may do the work where the rows are, and only such sums travel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from hedgerow.curator.rows import kernels, values
from hedgerow.curator.rows.coding import Coded
from hedgerow.queries.domain.domain import Domain

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.valued import Valued

_HALF = 32  # bits of the lower part of a number that may be larger than 64 bits hold


class RowSum(Protocol):
    """Something that is summed over rows; it can be pickled."""

    @property
    def numbers(self) -> Sequence[str]:
        """The attributes whose rows' own numbers are needed."""
        ...

    def __call__(self, rows: Iterable[Coded]) -> list[NDArray[np.int64]]:
        """The sums over some rows, always in the same shapes."""
        ...


@dataclass(frozen=True)
class TableCounts:
    """How many rows are in each cell of some tables.

    Args:
        sizes: how many levels each attribute has.
        cliques: the attributes of each table, by their places.
    """

    sizes: tuple[int, ...]
    cliques: tuple[tuple[int, ...], ...]
    numbers: tuple[str, ...] = ()

    def __call__(self, rows: Iterable[Coded]) -> list[NDArray[np.int64]]:
        """One table for each clique."""
        counted = kernels.count_tables((some.codes for some in rows), self.sizes, self.cliques)
        return [counted[clique] for clique in self.cliques]


@dataclass(frozen=True)
class ProductSum:
    """What rows weigh by a product of weights, one for each of some attributes.

    Args:
        places: the attributes' places.
        factors: the weights of their levels.
    """

    places: tuple[int, ...]
    factors: tuple[NDArray[np.int64], ...]
    numbers: tuple[str, ...] = ()

    def __call__(self, rows: Iterable[Coded]) -> list[NDArray[np.int64]]:
        """The sum in two parts, see `whole`."""
        total = 0
        for some in rows:
            product = np.ones(some.codes.shape[1], dtype=np.int64)
            for place, factor in zip(self.places, self.factors, strict=True):
                product *= factor[some.codes[place]]
            total += int(product.sum())
        return [np.array([total >> _HALF, total & ((1 << _HALF) - 1)], dtype=np.int64)]

    @staticmethod
    def whole(found: list[NDArray[np.int64]]) -> int:
        """The number of which the sum of parts is given."""
        high, low = found[0].tolist()
        return int((high << _HALF) + low)


@dataclass(frozen=True)
class WeightSum:
    """For every cell over some attributes, what its rows are worth.

    Args:
        domain: the declared domain.
        attributes: the cells' attributes.
        value: what a row is worth.
    """

    domain: Domain
    attributes: tuple[str, ...]
    value: Valued

    @property
    def numbers(self) -> Sequence[str]:
        """Those of the value."""
        return self.value.numbers

    def __call__(self, rows: Iterable[Coded]) -> list[NDArray[np.int64]]:
        """One table."""
        parts = ((some.codes, some.numbers) for some in rows)
        return [values.weighed_table(parts, self.domain, self.attributes, self.value)]


@dataclass(frozen=True)
class NumberSums:
    """What numbers are beyond the middles of their bins, by the levels of every attribute.

    Args:
        domain: the declared domain.
        numbers: the numbers' attributes.
    """

    domain: Domain
    numbers: tuple[str, ...]

    def __call__(self, rows: Iterable[Coded]) -> list[NDArray[np.int64]]:
        """In the order of `keys`."""
        parts = ((some.codes, some.numbers) for some in rows)
        found = values.remainder_sums(parts, self.domain, self.numbers)
        return [found[key] for key in self.keys]

    @property
    def keys(self) -> list[tuple[str, str]]:
        """Each number with each attribute."""
        return [(name, attribute) for name in self.numbers for attribute in self.domain]
