"""MeasureTarget: a question as the statistic that is measured for it, and as what its numbers answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hedgerow.curator.statistics.claimed import claims_of, welcomed
from hedgerow.curator.statistics.people import PeopleCounts
from hedgerow.curator.statistics.statistics import _STATISTICS, Answers, SparseAnswers, Statistic, TableOf
from hedgerow.errors import DomainMismatch, UnsupportedQuery
from hedgerow.queries.asked import WholeTable, asked_names, understood
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.measurement import Measurement, Noise
from hedgerow.queries.pieces import ManyQueries, Statement, by_queries
from hedgerow.queries.query import SparseQuery
from hedgerow.queries.reply import Asked
from hedgerow.queries.workload import Workload

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class MeasureTarget:
    """What `Curator.measure` was asked for.

    Args:
        statistic: what is computed from rows, with its norms.
        asked: the question, or questions, that its numbers answer; None for a statistic of this room.
    """

    statistic: Statistic
    asked: Asked | list[Asked] | None = None

    @classmethod
    def of(cls, given: Any, domain: Any, unit: str | None = None) -> MeasureTarget:
        """Any question (see `queries.asked`), or a statistic of this room, or of a guest with a claim.

        Args:
            given: what was asked.
            domain: of the rows.
            unit: the column that names people, for COUNT(DISTINCT unit).
        """
        given = welcomed(given, "statistic")
        if type(given) is Answers:
            return cls(_answers(given.workload, domain))
        if type(given) in _STATISTICS:  # this room's own, with a proven sensitivity; a score is not one
            if hasattr(type(given), "check"):
                given.check(_finite(domain))
            return cls(cast(Statistic, given))
        if not isinstance(domain, Domain):
            return cls(_names(asked_names(given)))
        meant = understood(domain, given, unit)
        if isinstance(meant, WholeTable):
            return cls(TableOf(domain.order(meant.attributes)), by_queries(meant))
        if isinstance(meant, list):
            parts = [by_queries(m) for m in meant]
            return cls(_answers(Workload.of([p.workload for p in parts]), domain), parts)
        asked = by_queries(meant)
        return cls(_statistic(asked, domain), asked)

    @property
    def compared(self) -> Statistic:
        """The statistic, if its numbers can be compared one by one: counts, one for each group."""
        for part in self._parts:
            if isinstance(part, Statement) and not _one_by_one(part):
                raise UnsupportedQuery(
                    "a sparse vector compares counts, one for each group in order: ask one COUNT(*) "
                    "without ORDER BY and LIMIT, of groups that may have rows, or queries"
                )
        return self.statistic

    def measurement(self, law: Noise, values: NDArray[np.int64], private: bool) -> Measurement:
        """What leaves the curator: noisy values, their noise's law, and what was asked."""
        stat, strategy = self.statistic, getattr(self.statistic, "strategy", None)
        attributes = stat.attributes if isinstance(stat, TableOf) else ()
        workload = stat.workload if isinstance(stat, Answers) else None
        claims = tuple(claim.words for claim in claims_of(stat))
        return Measurement(attributes, values, law, workload, private, strategy, self.asked, claims)

    def placed(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """The statistic's numbers, flat, in the order in which they were asked for."""
        parts = self._parts
        ends = np.cumsum([len(part.workload) for part in parts[:-1] if part is not None])
        found = zip(parts, np.split(numbers, ends), strict=True)
        moved = [part.placed(x) if isinstance(part, ManyQueries | Statement) else x for part, x in found]
        return np.concatenate(moved)

    @property
    def _parts(self) -> Sequence[Asked | None]:
        return self.asked if isinstance(self.asked, list) else [self.asked]


def _one_by_one(asked: Statement) -> bool:
    """Whether every number that a statement shows is one count of rows, or of people."""
    q = asked.question
    if len(q.aggregates) > 1 or q.order or q.limit is not None or not all(f.counts for f in q.forms):
        return False
    if q.aggregates[0].quantile is not None:
        return False
    return q.units or asked.table is not None or len(asked.pieces) == q.size


def statistic_of(given: Any, domain: Any) -> Statistic:
    """What would be measured for a question that is no text about people."""
    return MeasureTarget.of(given, domain).statistic


def _statistic(asked: Asked, domain: Domain) -> Statistic:
    """A whole table, people, or the queries behind a question."""
    if isinstance(asked, Statement) and asked.question.units:
        if len(asked.question.forms) > 1:
            raise UnsupportedQuery("people are measured by one COUNT(DISTINCT ...) in each statement")
        counts = PeopleCounts(asked.question.forms[0])
        counts.check(domain)
        return counts
    if isinstance(asked, Statement) and asked.table is not None:
        return TableOf(asked.table)
    return _answers(asked.workload, domain)


def _names(queries: tuple[SparseQuery, ...]) -> SparseAnswers:
    """Answers about names, which only an open domain has; some name must be asked about to set the noise."""
    if not any(q.largest for q in queries):
        raise UnsupportedQuery("a sparse query without names counts nothing: ask about at least one")
    return SparseAnswers(queries)


def _answers(workload: Workload, domain: Any) -> Answers:
    """Answers to a workload that was made for this domain."""
    answers = Answers(workload)
    workload.check(_finite(domain))
    return answers


def _finite(domain: Any) -> Domain:
    if not isinstance(domain, Domain):
        raise DomainMismatch("this table has an open domain of names; ask it sparse queries")
    return domain
