"""Distances: how far public estimates of tables are from the true ones, all of them in one act."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hedgerow.curator.statistics.statistics import TableErrors, fingerprint, statistic
from hedgerow.errors import UnsupportedQuery
from hedgerow.queries.query import Norms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.curator.rows.table import Rows
    from hedgerow.queries.domain.domain import Domain


@statistic
@dataclass(frozen=True, eq=False)
class TableDistances:
    """The L1 distance of every table to a public estimate of it, in rows.

    Privacy: a row is in one cell of a table, so |counts - estimate| summed over cells moves by at most one
    when a row is added, and by two when one is swapped (the triangle inequality). The vector of P distances
    then moves by at most P in L1 and sqrt(P) in L2, or twice that. It is not linear, but noise only asks how
    far it moves.

    Args:
        tables: attributes of each table, in the domain's order.
        estimates: a public table for each, in rows; rounded to whole rows before it meets a true one.
    """

    tables: tuple[tuple[str, ...], ...]
    estimates: tuple[NDArray[np.float64], ...]
    denominator: ClassVar[int] = 1

    def __post_init__(self) -> None:
        """Copies that nobody can change after they were looked at."""
        copies = tuple(np.array(e, dtype=np.float64) for e in self.estimates)
        for copy in copies:
            copy.setflags(write=False)
        object.__setattr__(self, "estimates", copies)
        object.__setattr__(self, "tables", tuple(tuple(t) for t in self.tables))

    def check(self, domain: Domain) -> None:
        """An estimate of its shape for each table, and at least one."""
        if not self.tables:
            raise UnsupportedQuery("there is no table to be far from")
        self._errors.check(domain)

    @cached_property
    def _errors(self) -> TableErrors:
        return TableErrors(self.tables, self.estimates, np.zeros(len(self.tables)))

    @property
    def norms(self) -> Norms:
        """One step for each table, two when a row is swapped."""
        number = max(len(self.tables), 1)
        return Norms(number, number, 2 * number, 4 * number)

    @property
    def cliques(self) -> tuple[tuple[str, ...], ...]:
        """The tables needed."""
        return self.tables

    @cached_property
    def digest(self) -> str:
        """A fingerprint of what is asked."""
        return fingerprint("distances", self._errors.digest)

    def exact(self, rows: Rows) -> NDArray[np.int64]:
        """Summed over cells, for every table."""
        return self._errors.exact(rows)
