"""SparseHypothesis: multiplicative weights over a universe that nobody has to list [BR11, Sec. 3]."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.random import PCG64, Generator

from hedgerow.errors import RangeTooLarge, UnsupportedQuery
from hedgerow.learning.dense import kernels
from hedgerow.learning.dense.weights import Weights
from hedgerow.learning.hypothesis import multiplicative_weights
from hedgerow.learning.sparse.places import Places, hashes_of
from hedgerow.queries.query import ONE, SparseQuery

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SHARED = 0  # the place of the one number that all unassigned variables share


class StructureFull(RangeTooLarge):
    """[BR11]'s FAILURE: an update names more new elements than variables are left; nothing has changed."""


def variables(sparsity: int, alpha: float) -> int:
    """The smallest s with s / (ln s + 1) >= 4 m / alpha^2: [BR11] Alg. 1.

    Args:
        sparsity: m, the most elements that a query may name.
        alpha: the accuracy aimed at.

    >>> variables(1, 1.0)
    15
    """
    if sparsity < 1 or not 0 < alpha <= 1:
        raise ValueError("the sparsity is at least 1 and alpha lies in (0, 1]")
    need = 4.0 * sparsity / alpha**2
    low, high = 0, 1  # s / (ln s + 1) grows from s = 1 on
    while high / (log(high) + 1.0) < need:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle / (log(middle) + 1.0) < need else (low, middle)
    return high


class SparseHypothesis:
    """The sparse multiplicative weights data structure, [BR11] Def. 3.4 and Alg. 1.

    There are s variables; an element of the universe gets one of its own when an update first names it.
    Variables without an element all have the same weight, which is kept once. Asking and updating take time
    in the number of elements the query names, whatever s and the universe are; now and then (after updates
    that make the sum lose digits, hundreds apart) the assigned weights are summed afresh.

    Args:
        sparsity: m, the most elements that a query may name.
        alpha: the accuracy aimed at; sets s.
        size: s itself, when it is not to follow from sparsity and alpha.
        total: how many rows the distribution stands for.

    >>> trees = SparseHypothesis(sparsity=2, alpha=0.5)
    >>> oaks = SparseQuery.of({"oak": 1, "holm oak": 1})
    >>> trees.size, round(trees.answer(oaks), 4)
    (202, 0.0099)
    >>> trees.update(oaks, value=0.5, eta=0.25), len(trees)
    (1, 2)
    """

    def __init__(
        self, sparsity: int, alpha: float = 1.0, *, size: int | None = None, total: float = 1.0
    ) -> None:
        self.sparsity = sparsity
        self.size = variables(sparsity, alpha) if size is None else size
        if self.size < 1:
            raise ValueError("there must be at least one variable")
        self.total = total
        self._weights = Weights.uniform(1, np.dtype(np.float64), copies=self.size)
        self._assigned = Places()
        self._known: WeakKeyDictionary[SparseQuery, Named] = WeakKeyDictionary()

    @classmethod
    def of_names(
        cls,
        names: Sequence[Hashable],
        weights: NDArray[np.float64],
        size: int,
        sparsity: int,
        *,
        total: float = 1.0,
    ) -> SparseHypothesis:
        """The hypothesis whose variables have these weights: the unassigned ones' first, then the names'."""
        if len(weights) != len(names) + 1 or len(names) > size:
            raise ValueError("there is one weight for each name, and one for what has none")
        made = cls(sparsity, size=size, total=total)
        made._weights = Weights(np.array(weights, dtype=np.float64), copies=size - len(names))
        made._assigned.add(list(names))
        return made

    def names(self) -> tuple[list[Hashable], NDArray[np.float64], int]:
        """Names, weights and how many variables there are: `of_names` makes the same hypothesis of them."""
        return list(self._assigned), self._weights.plain()[: len(self) + 1], self.size

    def __len__(self) -> int:
        """How many elements have a variable of their own."""
        return len(self._assigned)

    def __contains__(self, element: Hashable) -> bool:
        return element in self._assigned

    def __repr__(self) -> str:
        return f"SparseHypothesis({len(self):,} of {self.size:,} variables assigned)"

    def update_bound(self, alpha: float) -> float:
        """[BR11] Thm 3.5: B(alpha) = 4 (ln s + 1) / alpha^2."""
        return 4.0 * (log(self.size) + 1.0) / alpha**2

    def answer(self, query: SparseQuery) -> float:
        """The query's value: an unassigned element weighs what an unassigned variable does."""
        places, weights = self._places(query)
        return float(kernels.dot_places(self._weights.values, places, weights) / self._weights.sum)

    def update(self, query: SparseQuery, value: float, eta: float) -> int:
        """One step of [BR11] Alg. 1 towards `value`; StructureFull, and no change, when variables run out.

        Args:
            query: the question whose answer was wrong.
            value: a better answer, as a fraction.
            eta: the learning rate.
        """
        return multiplicative_weights(self, query, value, eta)

    def tilt(self, query: SparseQuery, step: float) -> None:
        """Assign the query's elements, then multiply each by exp(step * its weight), up to normalisation."""
        parts = self._weights.strides(step)
        places, weights = self._places(query)
        if (places == _SHARED).any():
            self._assign(query, places)
            places, weights = self._places(query)
        for _ in range(parts):
            if not self._weights.fits(step / parts):
                self._weights.settle()
            moved: tuple[float, float] = kernels.tilt_places(
                self._weights.values, places, weights, step / parts
            )
            self._weights.moved(*moved, step / parts)

    def log_weight(self, element: Hashable) -> float:
        """The logarithm of one element's normalised weight."""
        place = self._assigned.place(element)
        return float(self._weights.logs(slice(place, place + 1))[0])

    def sample(self, rows: int, *, seed: int | None = None) -> list[Hashable | None]:
        """Made-up elements; None where an unassigned variable was drawn.

        Args:
            rows: how many.
            seed: for the same elements again.
        """
        if rows < 0:
            raise UnsupportedQuery("a number of rows is not negative")
        random = Generator(PCG64(seed))
        line = self._weights.values[: len(self) + 1].copy()
        line[_SHARED] = max(line[_SHARED], 0.0) * self._weights.copies
        cells = np.zeros(rows, dtype=np.int64)
        kernels.systematic(line, rows / self._weights.sum, random.random(), cells)
        random.shuffle(cells)
        names = [None, *self._assigned]
        return [names[c] for c in cells]

    def _places(self, query: SparseQuery) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Where the query's elements are kept, and their weights in [0, 1]."""
        named = self._known.get(query)
        if named is None:
            named = self._known[query] = Named.of(query)
        if len(named.elements) > self.sparsity:
            raise UnsupportedQuery(
                f"the query names {len(named.elements):,} elements; this hypothesis takes {self.sparsity:,}"
            )
        if named.places is None or named.among != len(self):  # some were assigned since
            named.places = self._assigned.find(named.elements, named.hashes, named.places)
            named.among = len(self)
        return named.places, named.weights

    def _assign(self, query: SparseQuery, places: NDArray[np.int64]) -> None:
        """Give the query's new elements variables of their own, or refuse and change nothing."""
        fresh = [self._known[query].elements[i] for i in np.flatnonzero(places == _SHARED)]
        first, last = len(self) + 1, len(self) + 1 + len(fresh)
        if last - 1 > self.size:
            raise StructureFull(
                f"the update names {len(fresh):,} new elements, but only {self.size - len(self):,} of "
                f"{self.size:,} variables are left"
            )
        if last > len(self._weights.values):
            self._weights.grow(min(max(2 * last, 64), self.size + 1))
        self._weights.take(_SHARED, slice(first, last))
        self._weights.copies -= len(fresh)
        if not self._weights.copies:  # D[ind] = 0 once every variable is assigned
            self._weights.values[_SHARED] = 0.0
        self._assigned.add(fresh)


@dataclass(eq=False)
class Named:
    """What a query names: elements of positive weight, their hashes, their weights in [0, 1].

    With their places as last seen, when `among` so many elements had one.
    """

    elements: tuple[Hashable, ...]
    hashes: NDArray[np.int64]
    weights: NDArray[np.float64]
    places: NDArray[np.int64] | None = None
    among: int = -1

    @classmethod
    def of(cls, query: SparseQuery) -> Named:
        """Read off a query once, and kept as long as the query lives."""
        elements, steps = tuple(query.weights), list(query.weights.values())
        weights = np.ones(len(steps))
        if steps.count(ONE) < len(steps):
            elements = tuple(e for e, w in query.weights.items() if w)
            weights = np.array([w for w in steps if w], dtype=np.float64) / ONE
        return cls(elements, hashes_of(elements), weights)
