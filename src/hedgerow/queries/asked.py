"""What a question is: SQL text, a statement, a query, attribute names, a workload, or a list of these.

Every door reads here what it is given. What one of them takes, all take; and what none takes is refused in
the same words, which never quote more than its type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import DomainMismatch, HedgerowError, NamesOnly, UnsupportedQuery
from hedgerow.queries.argument import once
from hedgerow.queries.domain.domain import Domain
from hedgerow.queries.low_sensitivity import is_low_sensitivity
from hedgerow.queries.query import Query, SparseQuery
from hedgerow.queries.question import Question
from hedgerow.queries.staged import Staged
from hedgerow.queries.workload import Workload, marginals

if TYPE_CHECKING:
    from numpy.typing import NDArray

_KINDS = "SQL text, hr.sql(...), a Query, attribute names, a workload, or a list of these"
_NAMES = (
    "an open domain of names is asked sparse queries: hr.SparseQuery.of({name: weight}), or a list of those"
)


@dataclass(frozen=True, eq=False)
class WholeTable:
    """Attribute names: all cells of their table, axes in the order they were named; no name is the total."""

    attributes: tuple[str, ...]
    workload: Workload
    shape: tuple[int, ...]
    named: tuple[tuple[str, tuple[str, ...]], ...] = ()  # each attribute with its levels, as they were named

    @property
    def axes(self) -> tuple[int, ...]:
        """Where each named attribute lies in the domain's order."""
        (names,) = self.workload.cliques
        return tuple(names.index(a) for a in self.attributes)

    def shaped(self, flat: NDArray[Any]) -> NDArray[Any]:
        """Numbers of the workload as a table, axes as they were named."""
        return np.asarray(flat).reshape(self.shape).transpose(self.axes)


Meant = Query | Question | Workload | WholeTable | Staged
AnyQuestion = str | Question | Staged | Query | Workload | Iterable[Any]
"""What a door takes: see the head of this file."""


def understood(domain: Domain | None, given: Any, unit: str | None = None) -> Meant | list[Meant]:
    """What was asked; a list of anything but queries, or names, is several questions.

    Args:
        domain: the declared attributes; None where only what brings its own can be asked.
        given: what a caller gave.
        unit: the column that names people, for COUNT(DISTINCT unit).

    >>> domain = Domain({"sex": ["F", "M"], "age": 5})
    >>> understood(domain, ["age", "sex"]).attributes, understood(domain, "sex").attributes
    (('age', 'sex'), ('sex',))
    >>> [type(asked).__name__ for asked in understood(domain, ["age", "SELECT COUNT(*) FROM t"])]
    ['WholeTable', 'Question']
    """
    if domain is not None and not isinstance(domain, Domain):
        raise NamesOnly(_NAMES)
    items = _listed(given)
    if items is None or _one_question(domain, items):
        return _single(domain, given, unit) if items is None else _together(domain, items, given)
    return [_single(domain, item, unit) for item in items]


def named_table(domain: Domain, given: Any) -> WholeTable:
    """The table of an attribute, or of several: names and nothing else."""
    if not isinstance(domain, Domain):
        raise NamesOnly(_NAMES)
    items = [given] if isinstance(given, str) else _listed(given)
    if items is None or not all(isinstance(a, str) for a in items):
        raise UnsupportedQuery("a table is named by an attribute, or by a list of attributes")
    if any(_is_sql(domain, a) for a in items):
        raise UnsupportedQuery("a table is named by its attributes; SQL is what `answer` and `ask` take")
    return _named(domain, items, given)


def asked_names(given: Any) -> tuple[SparseQuery, ...]:
    """Questions about the names of an open domain: a sparse query, or a list of them."""
    items = [given] if isinstance(given, SparseQuery) else _listed(given)
    if not items or not all(isinstance(q, SparseQuery) for q in items):
        raise NamesOnly(_NAMES)
    return tuple(items)


def _listed(given: Any) -> list[Any] | None:
    """What is in a list; None of what is none: a text, a workload, a mapping, a frame."""
    if isinstance(given, str | bytes | bytearray | memoryview | range | Workload):
        return None
    if isinstance(given, np.ndarray):
        return given.tolist() if given.ndim == 1 else None
    return list(given) if isinstance(given, Sequence | Set | Iterator) else None


def _one_question(domain: Domain | None, items: list[Any]) -> bool:
    """Whether a list is one question: queries, or the names of a table."""
    if all(isinstance(q, str) for q in items):
        return domain is None or not any(_is_sql(domain, q) for q in items)
    return all(isinstance(q, Query) for q in items)


def _is_sql(domain: Domain, text: str) -> bool:
    """Whether a text is a statement and no name, rightly spelt or not: a statement has several words."""
    return text not in domain and (len(text.split()) != 1 or "(" in text)


def _single(domain: Domain | None, given: Any, unit: str | None) -> Meant:
    """One question, after a check that it fits the domain."""
    if isinstance(given, str):
        if domain is None or not _is_sql(domain, given):
            return _together(domain, [given], given)
        from hedgerow.queries.sql.stages.text import sql  # SQL is not loaded before it is spoken

        return sql(domain, given, unit=unit)
    if isinstance(given, Question | Staged):
        if domain is not None and given.domain is not domain and given.domain != domain:
            raise DomainMismatch(
                "the statement was compiled for another domain; compile it with hr.sql again"
            )
        return given
    if isinstance(given, Workload):
        if domain is not None:
            given.check(domain)
        return given
    if isinstance(given, Query):
        if domain is not None and domain.shape_of(given.attributes) != given.shape:
            raise DomainMismatch("the query was made for another domain")
        return given
    items = _listed(given)
    if items is None or not _one_question(domain, items):
        raise _refusal(given)
    return _together(domain, items, given)


def _together(domain: Domain | None, items: list[Any], given: Any) -> Meant:
    """A list of queries, or the names of a table."""
    if items and isinstance(items[0], Query):
        return _single(domain, Workload.grouped(items), None)
    if domain is None and items:
        raise UnsupportedQuery(
            "SQL text and attribute names are read with a domain: Workload.of(..., domain), or hr.sql"
        )
    return _named(domain, items, given)


def _refusal(given: Any) -> HedgerowError:
    """Why something is no question here."""
    if isinstance(given, SparseQuery):
        return DomainMismatch("there is a declared domain here; sparse queries are for open domains of names")
    if is_low_sensitivity(given):
        return UnsupportedQuery("questions that are no sums over rows are asked of BoostQueries alone")
    return UnsupportedQuery(f"a question is {_KINDS}, and not a {type(given).__name__}")


def _named(domain: Domain | None, names: Sequence[str], given: Any) -> WholeTable:
    """The table of some attributes; no name at all is the total, if a tuple says so."""
    if domain is None or (not names and not isinstance(given, tuple)):
        raise UnsupportedQuery("nothing is asked: a list of questions, or of names, is non-empty")
    kept = domain.order(names)
    once(names)
    named = tuple((name, domain[name].labels) for name in names)
    return WholeTable(tuple(names), marginals(domain, [kept]), domain.shape_of(kept), named)
