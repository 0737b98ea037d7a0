"""LinearProgram: the base generator of counting queries, a table that fits and a database drawn from it."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

from hedgerow.curator.noise.noise import current_entropy
from hedgerow.errors import UnsupportedQuery
from hedgerow.learning.fitting_database import drawn_database, fit_program, need_linear_programs, query_matrix
from hedgerow.learning.generators.base_generator import Generated, SampledAnswers
from hedgerow.queries.query import Query
from hedgerow.queries.workload import Workload

if TYPE_CHECKING:
    from hedgerow.queries.domain.domain import Domain


@dataclass(frozen=True)
class LinearProgram:
    """[DRV10] Thm 5.3: the table of least largest miss, and n' rows drawn until no answer moved far."""

    def begin(self, domain: Domain, questions: tuple[Any, ...]) -> _Program:
        """Write out the workload's matrix."""
        if not all(isinstance(q, Query) for q in questions):
            raise UnsupportedQuery("the linear-program generator is for counting queries; use 'enumeration'")
        need_linear_programs()
        return _Program(query_matrix(domain, Workload.of(list(questions))))


@dataclass(frozen=True, eq=False)
class _Program:
    matrix: Any
    draws: ClassVar[bool] = True

    def range(self, rows: int) -> float:
        """Tables are not counted; those that are drawn from them are, by n'."""
        return inf

    def generate(self, sample: SampledAnswers) -> Generated | None:
        matrix = self.matrix[sample.places]
        table = fit_program(matrix, sample.answers, sample.tolerance, sample.total)
        if table is not None and sample.size:
            table = drawn_database(matrix, table, sample.size, sample.apart, current_entropy())
        return None if table is None else Generated(self.matrix @ table, table)
