"""Pieces: any question as queries with weights in [0, 1], and how their counts become its answer again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hedgerow.errors import DomainMismatch, RangeTooLarge, UnsupportedQuery
from hedgerow.queries.asked import Meant, WholeTable, understood
from hedgerow.queries.one_form import is_nothing, one_form
from hedgerow.queries.query import Query
from hedgerow.queries.question import Question
from hedgerow.queries.reply import Asked, Believer, Reply, Shown
from hedgerow.queries.staged import Staged
from hedgerow.queries.workload import Workload, marginals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.form import Piece

    Floats = NDArray[np.float64]
    Parts = Mapping[int, Floats]  # of what forms count: a number for each group

PIECES = 1 << 14
"""The most queries that one question may need when its accuracy is given."""
_FIELLER = 64  # groups up to here have the errors of their ratios worked out one by one


@dataclass(frozen=True, eq=False)
class OneQuery:
    """A single query, or a statement that asks for one count.

    It is answered and remembered as a count, so that it is one question in whatever form it comes; `shown`
    puts the count into the unit, or the table, that was asked for.
    """

    query: Query
    question: Question | None = None
    joint: ClassVar[bool] = True
    selects: ClassVar[bool] = False

    @cached_property
    def count(self) -> Query:
        """What is counted, in the one form that it has."""
        return one_form(self.query)

    @property
    def key(self) -> str:
        """A fingerprint of what is asked."""
        return f"query:{self.count.digest}"

    @property
    def workload(self) -> Workload:
        """The query as it was asked."""
        return Workload.grouped([self.query])

    def told(self, counts: Floats, errors: Floats, confidence: float, rows: float) -> Reply:
        """The count in the unit, or the table, that was asked for."""
        count, error = (float(counts[0]), float(errors[0])) if self.pieces else (0.0, 0.0)
        if self.question is None:
            return Reply(float(self.query.to_unit(count)), self.in_unit(error))
        wide = np.full((1, 1), error)
        table = self.question.combine(np.full((1, 1), count), wide, confidence=confidence)
        return Reply(table.value, self.in_unit(error), table, self.question.notes_of("measured"))

    @property
    def pieces(self) -> Sequence[Query]:
        """The query, unless the schema alone answers it."""
        return () if is_nothing(self.count) else (self.count,)

    def bounds(self, simultaneous: bool) -> int:
        """How many bounds share the confidence of one number."""
        return 1

    def learned(self, belief: Believer, confidence: float, simultaneous: bool) -> Reply:
        """From what is believed."""
        if not self.pieces:
            return Reply(0.0, 0.0)
        count = belief.count(self.count)
        return Reply(float(count), belief.error(self.count, count, confidence))

    def assemble(self, counts: Floats, errors: Floats, confidence: float, rows: float) -> Reply:
        """From a known count."""
        return Reply(float(counts[0]), float(errors[0])) if self.pieces else Reply(0.0, 0.0)

    def shown(self, answer: Shown) -> Shown:
        """The count as it was asked for."""
        made = self.told(np.array([answer.value]), np.array([answer.error]), answer.confidence, 0.0)
        shown: Shown = replace(answer, value=made.value, error=made.error)
        if self.question is None:
            return shown
        return replace(shown, table=made.table, notes=self.question.notes_of(answer.source))

    def in_unit(self, error: Any) -> Any:
        """The error of the count, in the unit that was asked for."""
        scale = self.query.scale if self.question is None else self.question.aggregates[0].scale
        return abs(scale) * float(error)


@dataclass(frozen=True, eq=False)
class ManyQueries:
    """A list of queries, a workload, or a whole table."""

    workload: Workload
    shape: tuple[int, ...] | None = None
    axes: tuple[int, ...] = ()
    named: tuple[tuple[str, tuple[str, ...]], ...] = ()
    selects: ClassVar[bool] = False

    @property
    def joint(self) -> bool:
        """Whether it is measured in one act when it must be: one whole table."""
        return self.workload.is_tables and len(self.workload.blocks) == 1

    @property
    def key(self) -> str:
        """A fingerprint of what is asked."""
        return f"queries:{self.workload.digest}:{self.shape}:{self.axes}"

    @cached_property
    def pieces(self) -> Sequence[Query]:
        """All queries, in order; those of a list in the one form that each of them has."""
        return self.workload if self.joint else [one_form(q) for q in self.workload]

    def bounds(self, simultaneous: bool) -> int:
        """How many bounds share the confidence of one number, or of all of them."""
        return len(self.workload) if simultaneous else 1

    def learned(self, belief: Believer, confidence: float, simultaneous: bool) -> Reply:
        """From what is believed; whole tables are read at once."""
        numbers = self.bounds(simultaneous)
        if self.workload.is_tables:
            counts = self.workload.evaluate(belief.table)
        else:
            counts = belief.counts(list(self.workload))
        errors = np.array(
            [belief.error(q, c, confidence, numbers) for q, c in zip(self.workload, counts, strict=True)]
        )
        return self.assemble(counts, errors, confidence, 0.0)

    def assemble(self, counts: Floats, errors: Floats, confidence: float, rows: float) -> Reply:
        """From known counts."""
        scales = 1.0 if self.workload.is_tables else np.array([abs(q.scale) for q in self.workload])
        return Reply(self._shaped(self.workload.to_units(counts)), self._shaped(errors * scales))

    def shown(self, answer: Shown) -> Shown:
        """Numbers need no columns; those of a whole table are told whose they are."""
        return replace(answer, axes=self.named) if self.named else answer

    def in_unit(self, error: Any) -> Any:
        """Errors of queries are in their units already."""
        return error

    def told(self, counts: Floats, errors: Floats, confidence: float, rows: float) -> Reply:
        """From the workload's counts."""
        return self.assemble(counts, errors, confidence, rows)

    def placed(self, flat: NDArray[Any]) -> NDArray[Any]:
        """Numbers of the workload in the order of what was asked."""
        return self._shaped(flat).reshape(-1)

    def _shaped(self, flat: NDArray[Any]) -> NDArray[Any]:
        return flat if self.shape is None else flat.reshape(self.shape).transpose(self.axes)


@dataclass(frozen=True, eq=False)
class Statement:
    """A compiled SQL statement: linear forms per group, and ratios of them.

    Args:
        question: the statement.
        fine: weigh rows by their own numbers; else by their bins, which the errors then allow for.
    """

    question: Question
    fine: bool = True
    joint: ClassVar[bool] = True

    def bounds(self, simultaneous: bool) -> int:
        """How many bounds share the confidence of one number - its group's counts, in all forms - or of all.

        One more where values were rounded: that there are no more rows than was measured.
        """
        if self.question.units:
            return len(self.question.forms) * (self.question.size if simultaneous else 1)
        queries, sums = self._pieces
        size = self.question.size
        each = max(sum(len(s) for s in sums[g::size]) for g in range(size))
        rounded = any(piece.off for pairs in sums for piece, _ in pairs)
        return max(1, len(queries) if simultaneous else each) + rounded

    @property
    def selects(self) -> bool:
        """Whether released values decide which groups are shown: their errors must hold for all groups."""
        q = self.question
        return q.limit is not None and q.limit < q.size and any(sort.aggregate for sort in q.order)

    @cached_property
    def key(self) -> str:
        """A fingerprint of what is asked: the forms, and which groups are shown; not what they are called."""
        q = self.question
        numbers = [
            (a.form, a.denominator, a.scale, *(x for x in (a.plus, a.quantile) if x)) for a in q.aggregates
        ]
        parts = [numbers, q.order, q.limit, [(g.attribute, g.hierarchy) for g in q.groups]]
        h = hashlib.sha256((repr(parts) + (repr(q.doubts) if q.doubts else "")).encode())
        for form in q.forms:
            h.update(repr((form.attributes, form.units)).encode())
            for f in sorted(form.factors, key=lambda f: f.attributes):
                h.update(repr((f.attributes, f.weights.dtype.str)).encode() + f.weights.tobytes())
            for axis in form.axes:
                h.update(axis.attribute.encode() + axis.parent.tobytes())
            for worth in (f.worth for f in form.factors if f.worth is not None):
                h.update(b"of rows' own numbers" + worth.of_parts)
        return f"sql:{h.hexdigest()}"

    @property
    def table(self) -> tuple[str, ...] | None:
        """The attributes, in the domain's order, of the one whole table that is asked for; None otherwise."""
        (form, *more), q = self.question.forms, self.question
        plain = not more and not form.factors and not form.units and bool(q.axes)
        plain = plain and not any(a.quantile for a in q.aggregates)
        return form.attributes if plain and all(axis.plain for axis in q.axes) else None

    @property
    def counts(self) -> bool:
        """Whether rows are counted, and every group is shown in its place: each number is one count."""
        q = self.question
        if q.doubts or q.order or q.limit is not None or not all(f.counts and not f.units for f in q.forms):
            return False
        return all(a.denominator is None and a.quantile is None for a in q.aggregates)

    @cached_property
    def workload(self) -> Workload:
        """The whole table, or the queries that all forms and groups are made of."""
        if self.table is not None:
            return marginals(self.question.domain, [self.table])
        if not self.pieces:
            raise UnsupportedQuery("the schema alone says that this counts no rows: the answer is 0")
        return Workload.grouped(self.pieces)

    def told(self, counts: Floats, errors: Floats, confidence: float, rows: float) -> Reply:
        """From the workload's counts; those of a table are put into the order of the groups."""
        return self.assemble(self.placed(counts), self.placed(errors), confidence, rows)

    def placed(self, flat: NDArray[Any]) -> NDArray[Any]:
        """Numbers of the workload in the order of the groups."""
        if self.table is None:
            return flat
        shape, axes = self.question.domain.shape_of(self.table), self.question.axes
        return flat.reshape(shape).transpose([self.table.index(a.attribute) for a in axes]).reshape(-1)

    @property
    def pieces(self) -> Sequence[Query]:
        """The queries that all forms and groups are made of, without repeats."""
        return self._pieces[0]

    @cached_property
    def _pieces(self) -> tuple[list[Query], list[list[tuple[Piece, int]]]]:
        """Queries, and for every form and group the pieces that it sums, each with its query's place."""
        if self.question.size * len(self.question.forms) > PIECES:
            raise RangeTooLarge(
                f"a question of {self.question.size:,} groups is too large to be asked count by count; "
                f"up to {PIECES:,} numbers are: ask for their whole table by its attributes"
            )
        queries: list[Query] = []
        place: dict[str, int] = {}
        sums: list[list[tuple[Piece, int]]] = []
        for form in self.question.forms:
            for group in range(self.question.size):
                sums.append([])
                for piece in form.rounded(group, fine=self.fine):
                    digest = piece.query.digest
                    if digest not in place:
                        place[digest] = len(queries)
                        queries.append(piece.query)
                    sums[-1].append((piece, place[digest]))
        return [one_form(q) for q in queries] if len(queries) == 1 else queries, sums

    def learned(self, belief: Believer, confidence: float, simultaneous: bool) -> Reply:
        """From what is believed: all groups of a form at once."""
        q = self.question
        if any(a.denominator is not None for a in q.aggregates) and q.size <= _FIELLER:
            result = q.answer(belief.readings, confidence, simultaneous=simultaneous, within=belief.within)
        else:
            every = q.size * len(q.forms) if simultaneous else None
            parts = [belief.form(f, confidence, every or q.bounds(i)) for i, f in enumerate(q.forms)]
            values, errors = (np.stack([p[i] for p in parts]) for i in (0, 1))
            left = q.open(belief.form, belief.within, confidence, every)
            result = q.combine(values, errors, confidence=confidence, open_=left)
        return Reply(result.value, result.error, result, q.notes)

    def assemble(
        self, counts: Floats, errors: Floats, confidence: float, rows: float, parts: Parts | None = None
    ) -> Reply:
        """From counts of the pieces, and a number that rows do not exceed; errors perhaps of fewer rows."""
        q = self.question
        if q.units:
            shape = (len(q.forms), q.size)
            result = q.combine(counts.reshape(shape), errors.reshape(shape), confidence=confidence)
            return Reply(result.value, result.error, result, q.notes_of("measured"))
        _, sums = self._pieces
        values = np.array([sum(p.worth * counts[i] for p, i in pairs) for pairs in sums], dtype=np.float64)
        widths = np.array(
            [sum(_width(p, counts[i], errors[i], rows) for p, i in pairs) for pairs in sums], dtype=np.float64
        )
        values, widths = (x.reshape(len(q.forms), q.size) for x in (values, widths))
        ratios = q.ratios_of_fewer(values, widths, parts) if parts else None
        result = q.combine(values, widths, confidence=confidence, ratios=ratios)
        return Reply(result.value, result.error, result, q.notes_of("measured"))

    def shown(self, answer: Shown) -> Shown:
        """With the columns named and ordered as they were asked for."""
        q = self.question
        table = replace(answer.table, columns=tuple(c.name for c in q.columns), show=q.columns)
        return replace(answer, table=table, notes=q.notes_of(answer.source))

    def in_unit(self, error: Any) -> Any:
        """Errors of a statement are in its units already."""
        return error


def _width(piece: Piece, count: float, error: float, rows: float) -> float:
    """How far off a piece may be, in the form's unit: its count's error, and what rounding values took.

    The latter is at most `off` for each row, and at most `part` of what the query counts.
    """
    wide = abs(piece.worth) * error
    if piece.off:
        wide += min(piece.off * rows, piece.part * abs(piece.worth) * max(count + error, 0.0))
    return wide


def read_all(domain: Domain, given: Any, unit: str | None = None) -> Asked | Staged | list[Asked | Staged]:
    """Any question by its queries; a list of several is read whole before any of it is asked."""
    meant = understood(domain, given, unit)
    parts = meant if isinstance(meant, list) else [meant]
    for part in parts:
        cliques = part.cliques if isinstance(part, Workload) else [part.attributes]
        if not isinstance(part, WholeTable | Staged) and any(domain.order(c) != tuple(c) for c in cliques):
            raise DomainMismatch("a query names its attributes in the domain's order; make it with Query.of")
    asked = [part if isinstance(part, Staged) else by_queries(part) for part in parts]
    return asked if isinstance(meant, list) else asked[0]


def read(domain: Domain, given: Any, unit: str | None = None) -> Asked:
    """One question by its queries: SQL text, a statement, a query, attribute names, queries or a workload."""
    asked = read_all(domain, given, unit)
    if isinstance(asked, list):
        raise UnsupportedQuery("these are several questions; ask them one by one")
    if isinstance(asked, Staged):
        raise asked.refusal()
    return asked


def linear(domain: Domain | None, given: Any) -> Workload:
    """The queries behind any question, or behind a list of them, as one workload."""
    meant = understood(domain, given)
    return Workload.together([_workload(m) for m in meant]) if isinstance(meant, list) else _workload(meant)


def _workload(meant: Meant) -> Workload:
    if isinstance(meant, Workload):
        return meant
    if isinstance(meant, Query):
        return Workload.grouped([meant])
    if isinstance(meant, Staged):
        if meant.waits or not meant.questions:
            raise meant.refusal()
        return Workload.together([by_queries(q).workload for q in meant.questions])
    return meant.workload if isinstance(meant, WholeTable) else by_queries(meant).workload


def by_queries(meant: Meant) -> Asked:
    """What was understood, by its queries; a statement that asks for a single count is one like any other."""
    if isinstance(meant, Staged):
        raise meant.refusal()
    if isinstance(meant, WholeTable):
        return ManyQueries(meant.workload, meant.shape, meant.axes, meant.named)
    if not isinstance(meant, Question):
        return OneQuery(meant) if isinstance(meant, Query) else ManyQueries(meant)
    if meant.units and not all(f.units for f in meant.forms):
        raise UnsupportedQuery("ask for people and for rows in two statements")
    quantile = any(a.quantile for a in meant.aggregates)
    only = meant.forms[0] if len(meant.forms) == len(meant.aggregates) == 1 else None
    if only is None or meant.groups or only.units or not only.counts or meant.limit == 0 or quantile:
        return Statement(meant)
    pieces = only.rounded()
    return OneQuery(pieces[0].query, meant) if pieces else Statement(meant)
