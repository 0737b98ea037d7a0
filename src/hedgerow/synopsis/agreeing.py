"""AgreeingRows: rows drawn from a model, brought to the tables that answers are read from.

Post-processing: what was released and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import combinations
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import PCG64, Generator

from hedgerow.learning.factored.factored import FactoredHypothesis
from hedgerow.learning.goals import Approach, Goals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain
    from hedgerow.synopsis.learned import Learned

    Floats = NDArray[np.float64]
    Names = tuple[str, ...]

PART = 1 << 18
"""Rows that are held as numbers at once."""
_CELLS = 1 << 24  # of all tables: where pairs have more, rows are as they are drawn
_WORK = 1e9  # cells that may be looked at in one sweep: of more triples, those that say most are taken
_LOOKED_AT = 400  # tables that `off` looks at, of more every so many


class AgreeingRows:
    """Rows as near to the tables of pairs, and to the triples that were measured, as whole rows can be.

    A model holds few of the tables that were measured, and independent rows add the error of chance to all
    of them. Of 36 attributes and 200,000 rows whose triples were measured at epsilon 10, drawn rows were off
    by 0.054 and 0.110 (pairs and triples), rows brought to the tables by 0.015 and 0.044.

    Args:
        domain: the declared attributes.
        learned: what was learned.
        table: the table that answers about some attributes are read from.
    """

    def __init__(self, domain: Domain, learned: Learned, table: Callable[[Names], Floats]) -> None:
        self._domain, self._learned, self._table = domain, learned, table
        self._kept: tuple[int, Goals] | None = None

    def parts(self, rows: int, seed: int | None, size: int = PART) -> Iterator[dict[str, NDArray[Any]]]:
        """Level codes, so many rows at a time.

        Args:
            rows: how many in all.
            seed: for the same rows again.
            size: of a part.
        """
        random = Generator(PCG64(seed))
        goals = self._goals(rows) if rows else None
        approach = None if goals is None else Approach(goals, rows, random)
        names = self._domain.names
        for start in range(0, max(rows, 1), size):  # of no rows there are columns too
            count = min(size, rows - start)
            drawn = self._learned.hypothesis.sample(count, seed=int(random.integers(1 << 63)))
            if approach is not None:
                codes = np.stack([drawn[a] for a in names], axis=1).astype(np.int32)
                brought = approach.bring(codes)
                drawn = {a: brought[:, i].astype(np.int64) for i, a in enumerate(names)}
            yield drawn

    def draw(self, rows: int, seed: int | None) -> dict[str, NDArray[Any]]:
        """Level codes of all rows."""
        made = list(self.parts(rows, seed))
        return {a: np.concatenate([part[a] for part in made]) for a in self._domain.names}

    def off(self, rows: int) -> float:
        """The mean L1 distance of the tables of so many rows to the measured tables they are to have.

        Args:
            rows: how many.
        """
        held = self._learned.reconciled
        if held is None or not held.parts or rows < 1:
            return 0.0
        drawn, gaps = self.draw(rows, 0), []
        for t in held.tables[:: -(-len(held.tables) // _LOOKED_AT)]:
            goal = held.table(t)
            assert goal is not None
            flat = np.ravel_multi_index([drawn[a] for a in t], goal.shape)
            found = np.bincount(flat, minlength=goal.size).reshape(goal.shape) / rows
            gaps.append(float(np.abs(found - goal / max(float(goal.sum()), 1e-300)).sum()))
        return float(np.mean(gaps))

    # -- the tables ---------------------------------------------------------------------------------------

    def _goals(self, rows: int) -> Goals | None:
        """What so many rows are brought to; None where that is too much, or nothing."""
        if not isinstance(self._learned.hypothesis, FactoredHypothesis):
            return None  # a weight per cell: rows are its cells' shares, rounded
        zeros = self._learned.hypothesis.zeros
        if not self._pairs or any(len(z.attributes) > 3 for z in zeros):
            return None
        room = (_WORK / rows - 2.0 * len(self._pairs)) / 3.0
        most = int(np.clip(room, 0, len(self._triples)))
        if self._kept is None or self._kept[0] != most:
            held, place = self._learned.reconciled, self._domain.index
            tables = dict(self._pairs)
            for t in self._triples[:most]:
                table = None if held is None else held.table(t)
                assert table is not None
                tables[tuple(map(place, t))] = table
            possible: dict[tuple[int, ...], NDArray[np.bool_]] = {}
            for z in zeros:  # the same attributes may be declared several times
                where = tuple(map(place, z.attributes))
                possible[where] = z.possible & possible.get(where, np.True_)
            self._kept = most, Goals(self._domain.shape, tables, possible)
        return self._kept[1]

    @cached_property
    def _pairs(self) -> dict[tuple[int, ...], Floats]:
        """All pairs of attributes of two levels and more, as answers about them are read."""
        shape, names = self._domain.shape, self._domain.names
        real = [i for i, k in enumerate(shape) if k > 1]
        both = list(combinations(real, 2))
        if sum(shape[i] * shape[j] for i, j in both) > _CELLS:
            return {}
        held = self._learned.reconciled
        if (held is None or not held.parts) and not self._learned.corrected:
            return self._modelled(real)
        return {(i, j): self._table((names[i], names[j])) for i, j in both}

    def _modelled(self, real: list[int]) -> dict[tuple[int, ...], Floats]:
        """The model's own pairs: of a tree in one walk."""
        model, names = self._learned.hypothesis, self._domain.names
        if model.whole:
            return {(i, j): model.marginal((names[i], names[j])) for i, j in combinations(real, 2)}
        return {(a[0], b[0]): table for (a, b), table in model.pairs([(i, 0) for i in real]).items()}

    @cached_property
    def _triples(self) -> list[Names]:
        """Triples whose residuals were measured, those first that show most beyond their pairs."""
        held = self._learned.reconciled
        if held is None:
            return []
        basis, found = held.evidence.basis, []
        room = _CELLS
        for t in (t for t in held.tables if len(t) == 3):
            own = float(np.abs(basis.table(t, {t: held.parts[t]})).sum())
            found.append((-own, t))
        kept: list[Names] = []
        for _, t in sorted(found):
            room -= prod(basis.sizes[a] for a in t)
            if room >= 0:
                kept.append(t)
        return kept
