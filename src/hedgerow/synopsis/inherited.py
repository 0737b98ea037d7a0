"""Inherited: what a chosen table's noise does to answers about pairs that were not measured themselves.

A model joins attributes through the tables it was fitted to, and where those are noisy the noise goes along:
a month and a day of it seem to go together because each was measured with the day of the year. In the first
order an answer moves by the sum, over cells of a measured table, of its noise times the mean weight that rows
of the cell have in the model. Such an error is the same way in many cells, which no distance of tables shows.
Of more than two attributes it is found pair by pair, by the mean weights of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from math import prod
from string import ascii_letters
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.synopsis.limits import MeasuredTable
from hedgerow.synopsis.table_sums import BoxedWeights, TableSums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain

    Floats = NDArray[np.float64]
    Names = tuple[str, ...]

_CELLS = 1 << 15  # of a pair's attributes and a measured table's: of more it is not found
_MOST = 3  # attributes of a question: of more, what is not known is more than such noise, and pairs are many
_KEPT = 1 << 22  # cells of the model's tables that are kept for the next question
_SWEEPS = 4  # of projections, for what single attributes have of the weights
_ALIKE = 0.8  # of what the best table of the same attributes holds: so much, and their noise is averaged


class Inherited:
    """The noise that answers have from tables about other attributes.

    Args:
        domain: the declared attributes.
        model: the model's tables, as parts of all rows.
        tables: all that were measured.
    """

    def __init__(
        self, domain: Domain, model: Callable[[Names], Floats], tables: Iterable[MeasuredTable]
    ) -> None:
        self._domain, self._model = domain, model
        self._tables = [t for t in tables if len(t.attributes) > 1]
        self._rows: dict[Names, tuple[Floats, TableSums]] = {}
        self._pairs: dict[Names, list[list[HandedOn]]] = {}

    def variance(self, attributes: Names, table: Floats, weights: Floats) -> float:
        """Of a weighted count, beside what single attributes' noise makes.

        Args:
            attributes: what it is about.
            table: as it is answered, in rows.
            weights: of its cells.
        """
        if not 2 <= len(attributes) <= _MOST:
            return 0.0
        found, rows, asked = 0.0, self._positive(attributes, table), BoxedWeights(weights)
        for pair in combinations(range(len(attributes)), 2):
            out = tuple(i for i in range(len(attributes)) if i not in pair)
            left = _together(rows.over(out), asked.sums(rows.table, out))
            by = self._by(tuple(attributes[i] for i in pair))
            found += sum(_averaged([t.noise(left) for t in alike]) for alike in by)
        return found

    def _positive(self, attributes: Names, table: Floats) -> TableSums:
        """Its rows, a little in every cell."""
        known = self._rows.get(attributes)
        if known is None or known[0] is not table:
            rows = np.maximum(table, 0.0)
            known = table, TableSums(rows + 1e-9 * (float(rows.mean()) + 1.0))
            self._rows.clear()
            self._rows[attributes] = known
        return known[1]

    def _by(self, pair: Names) -> list[list[HandedOn]]:
        """What tables hand on to two attributes; those about the same attributes together."""
        by = self._pairs.get(pair)
        if by is None:
            found = dict[frozenset[str], list[HandedOn]]()
            for t in self._tables:
                names = tuple(a for a in self._domain.names if a in pair or a in t.attributes)
                shared = not set(pair).isdisjoint(t.attributes)
                if shared and prod(self._domain[a].size for a in names) <= _CELLS:
                    rows = np.maximum(self._model(names), 0.0)
                    found.setdefault(frozenset(t.attributes), []).append(HandedOn.of(t, pair, names, rows))
            by = [*found.values()]
            kept = [*self._pairs.values()]
            if sum(t.rows.size for own in kept for alike in own for t in alike) > _KEPT:
                self._pairs.clear()
            self._pairs[pair] = by
        return by


@dataclass(frozen=True, eq=False)
class HandedOn:
    """What a measured table's noise does to answers about two attributes.

    Args:
        rows: the model's table of those and of the measured table's, whose own levels are put together.
        axes: of it, as letters: of the two attributes, of it, and of the measured table.
        groups: for every axis of the measured table that is one of the two, which levels are put together.
        held: the model's rows in the measured table, and
        part: one over that where there are some.
        variance: of a cell's noise.
    """

    rows: Floats
    axes: str
    groups: tuple[Floats | None, ...]
    held: Floats
    part: Floats
    variance: float

    @classmethod
    def of(cls, t: MeasuredTable, pair: Names, names: Names, rows: Floats) -> HandedOn:
        """From a measured table, and the model's of both.

        Args:
            t: the measured table.
            pair: the two attributes.
            names: theirs and the table's.
            rows: the model's table of those.
        """
        own, letter = (
            tuple(a for a in names if a in t.attributes),
            dict(zip(names, ascii_letters, strict=False)),
        )
        held, groups = rows.sum(axis=tuple(i for i, a in enumerate(names) if a not in own)), []
        for axis, a in enumerate(own):
            put = _put_together(t.groups[t.attributes.index(a)])
            if put is not None:
                held = _grouped(held, put, axis)
                rows = rows if a in pair else _grouped(rows, put, names.index(a))
            groups.append(put if a in pair else None)
        two, all_, kept = ("".join(letter[a] for a in some) for some in (pair, names, own))
        part = np.divide(1.0, held, out=np.zeros_like(held), where=held > 0.0)
        whole = np.ascontiguousarray(rows)
        return cls(whole, f"{two},{all_}->{kept}", tuple(groups), held, part, t.noise.variance)

    def noise(self, left: Floats) -> tuple[float, float]:
        """How much of such weights the table holds, and the variance that its noise gives them."""
        means = np.einsum(self.axes, left, self.rows)
        for axis, put in enumerate(self.groups):
            means = means if put is None else _grouped(means, put, axis)
        means = means * self.part
        for axis, n in enumerate(means.shape):
            means = means - means.sum(axis=axis, keepdims=True) / n
        squares = means**2
        return float((self.held * squares).sum()), self.variance * float(squares.sum())


def _together(rows: Floats, sums: Floats) -> Floats:
    """What is left of weights of two attributes without that which single ones tell of them.

    Args:
        rows: of every cell.
        sums: of the weights of all rows of a cell.
    """
    first, second = np.zeros(rows.shape[0]), np.zeros(rows.shape[1])
    by, across = rows.sum(axis=1), rows.sum(axis=0)
    one, other = sums.sum(axis=1), sums.sum(axis=0)
    for _ in range(_SWEEPS):
        first = (one - rows @ second) / by
        second = (other - first @ rows) / across
    return np.asarray(sums / rows - first[:, None] - second[None, :])


def _put_together(groups: NDArray[np.int64]) -> Floats | None:
    """1 where a level is in a group; None where each is one of its own."""
    if np.array_equal(groups, np.arange(len(groups))):
        return None
    return np.asarray((groups[:, None] == np.arange(int(groups.max()) + 1)).astype(np.float64))


def _grouped(values: Floats, put: Floats, axis: int) -> Floats:
    """With levels of an axis put together."""
    return np.asarray(np.matmul(values.swapaxes(axis, -1), put).swapaxes(axis, -1))


def _averaged(each: list[tuple[float, float]]) -> float:
    """The variance by tables of the same attributes: what holds much less of the weights tells nothing."""
    most = max(held for held, _ in each)
    return 1.0 / sum(1.0 / max(v, 1e-12) for held, v in each if held >= _ALIKE * most)
