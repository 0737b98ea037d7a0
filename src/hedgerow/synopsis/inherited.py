"""Inherited: what a chosen table's noise does to answers about pairs that were not measured themselves.

A model joins attributes through the tables it was fitted to, and where those are noisy the noise goes along:
a month and a day of it seem to go together because each was measured with the day of the year. In the first
order an answer moves by the sum, over cells of a measured table, of its noise times the mean weight that rows
of the cell have in the model. Such an error is the same way in many cells, which no distance of tables shows.
Of more than two attributes it is found pair by pair, by the mean weights of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.synopsis.limits import MeasuredTable

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
        self._joint: dict[Names, Floats] = {}

    def variance(self, attributes: Names, table: Floats, weights: Floats) -> float:
        """Of a weighted count, beside what single attributes' noise makes.

        Args:
            attributes: what it is about.
            table: as it is answered, in rows.
            weights: of its cells.
        """
        if not 2 <= len(attributes) <= _MOST:
            return 0.0
        found, rows = 0.0, np.maximum(table, 0.0) + 1e-9 * (float(np.maximum(table, 0.0).mean()) + 1.0)
        for pair in combinations(range(len(attributes)), 2):
            out = tuple(i for i in range(len(attributes)) if i not in pair)
            own = rows.sum(axis=out)
            means = (rows * weights).sum(axis=out) / own
            found += self._of_pair(tuple(attributes[i] for i in pair), _together(own, means))
        return found

    def _of_pair(self, pair: Names, left: Floats) -> float:
        """The same by what is left of the weights of two attributes."""
        found = dict[frozenset[str], list[tuple[float, float]]]()
        for t in self._tables:
            names = tuple(a for a in self._domain.names if a in pair or a in t.attributes)
            shared = not set(pair).isdisjoint(t.attributes)
            if shared and prod(self._domain[a].size for a in names) <= _CELLS:
                found.setdefault(frozenset(t.attributes), []).append(self._by(t, names, pair, left))
        return sum(_averaged(each) for each in found.values())

    def _by(self, t: MeasuredTable, names: Names, attributes: Names, left: Floats) -> tuple[float, float]:
        """How much of the weights a table holds, and the variance that its noise gives them."""
        own = [a for a in names if a in attributes]
        weights = left.transpose([attributes.index(a) for a in own])
        weights = weights.reshape([self._domain[a].size if a in own else 1 for a in names])
        rows = self._rows(names)
        out = tuple(i for i, a in enumerate(names) if a not in t.attributes)
        means, held = (rows * weights).sum(axis=out), rows.sum(axis=out)
        for axis, a in enumerate(a for a in names if a in t.attributes):
            groups = t.groups[t.attributes.index(a)]
            means, held = (_grouped(x, groups, axis) for x in (means, held))
        means = np.divide(means, held, out=np.zeros_like(means), where=held > 0.0)
        for axis in range(means.ndim):
            means = means - means.mean(axis=axis, keepdims=True)
        return float((held * means**2).sum()), t.noise.variance * float((means**2).sum())

    def _rows(self, names: Names) -> Floats:
        """The model's table of a question's attributes and those of a measured one."""
        if names not in self._joint:
            if sum(t.size for t in self._joint.values()) > _KEPT:
                self._joint.clear()
            self._joint[names] = np.maximum(self._model(names), 0.0)
        return self._joint[names]


def _together(rows: Floats, weights: Floats) -> Floats:
    """What is left of weights without that which single attributes tell of them."""
    for _ in range(_SWEEPS):
        for axis in range(weights.ndim):
            out = tuple(i for i in range(weights.ndim) if i != axis)
            own = (rows * weights).sum(axis=out, keepdims=True) / rows.sum(axis=out, keepdims=True)
            weights = weights - own
    return weights


def _grouped(values: Floats, groups: NDArray[np.int64], axis: int) -> Floats:
    """With levels put together."""
    found = np.zeros((int(groups.max()) + 1, *np.delete(values.shape, axis)))
    np.add.at(found, groups, np.moveaxis(values, axis, 0))
    return np.moveaxis(found, 0, axis)


def _averaged(each: list[tuple[float, float]]) -> float:
    """The variance by tables of the same attributes: what holds much less of the weights tells nothing."""
    most = max(held for held, _ in each)
    return 1.0 / sum(1.0 / max(v, 1e-12) for held, v in each if held >= _ALIKE * most)
