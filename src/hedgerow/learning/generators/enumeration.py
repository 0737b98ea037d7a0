"""Enumeration: the base generator of any question of low sensitivity, the first database that fits."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, log
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hedgerow.learning.fitting_database import databases, evaluate, query_matrix
from hedgerow.learning.generators.base_generator import Generated, SampledAnswers
from hedgerow.queries.query import Query
from hedgerow.queries.workload import Workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain


@dataclass(frozen=True)
class Enumeration:
    """[DRV10] Thm 5.2: go through all databases of n rows; for universes of a handful of cells."""

    def begin(self, domain: Domain, questions: tuple[Any, ...]) -> _Listed:
        """Nothing is listed before the number of rows is known."""
        counting = all(isinstance(q, Query) for q in questions)
        return _Listed(
            domain, questions, query_matrix(domain, Workload.of(list(questions))) if counting else None
        )


class _Listed:
    draws: ClassVar[bool] = False

    def __init__(self, domain: Domain, questions: tuple[Any, ...], matrix: Any) -> None:
        self._domain, self._questions, self._matrix = domain, questions, matrix
        self._rows: int | None = None
        self._tables: NDArray[np.int64] = np.zeros((0, 0), dtype=np.int64)
        self._values: NDArray[Any] = np.zeros((0, 0))

    def range(self, rows: int) -> float:
        """List the databases of so many rows, and what each answers."""
        cells = int(self._domain.size)
        if rows != self._rows:
            self._tables, self._rows = databases(cells, rows), rows
            if self._matrix is None:
                self._values = evaluate(self._domain, self._questions, self._tables)
            else:
                self._values = (self._matrix @ self._tables.T).T
        return log(comb(rows + cells - 1, cells - 1))

    def generate(self, sample: SampledAnswers) -> Generated | None:
        fits = (np.abs(self._values[:, sample.places] - sample.answers) <= sample.tolerance).all(axis=1)
        if not fits.any():
            return None
        first = int(np.argmax(fits))
        return Generated(self._values[first].astype(np.float64), self._tables[first].astype(np.float64))
