"""FirstStage: one SELECT of the rows as Questions, and the released table that their answers make.

Whatever the second stage does with it, what is asked of rows is here: conditions, groups and aggregates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sqlglot import exp

from hedgerow.errors import CutsBin, HedgerowError, RangeTooLarge, UnsupportedSQL
from hedgerow.queries.cuts import whole
from hedgerow.queries.question import Question, Result, Show
from hedgerow.queries.sql.aggregate import Aggregates
from hedgerow.queries.sql.column import SqlColumn
from hedgerow.queries.sql.node import bare
from hedgerow.queries.sql.predicate import Scope, Truth
from hedgerow.queries.sql.printing import printed
from hedgerow.queries.sql.stages.among import maybe_none, surely_none
from hedgerow.queries.sql.stages.compilers import StagedAggregates, StagedPredicates
from hedgerow.queries.sql.stages.distinct import check_counted, counted
from hedgerow.queries.sql.stages.keys import Keys
from hedgerow.queries.sql.stages.relation import THERE
from hedgerow.queries.sql.statement import null_notes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain

    Floats = NDArray[np.float64]

SLICES = 128
"""The most values of a group that depends on several attributes."""
Part = Literal["rows", "people", "distinct"]
_ENDS: dict[str, float | None] = {"": None, "_low": -inf, "_high": inf}


@dataclass(frozen=True)
class _Place:
    """Where a number of the released table is found: in which question's answer, and which of its numbers."""

    part: Part
    index: int


@dataclass(frozen=True, eq=False)
class _Slice:
    """The rows for which keys of several attributes have one value each."""

    labels: tuple[Any, ...]
    conditions: tuple[Truth, ...]
    rows: StagedAggregates
    people: StagedAggregates
    distinct: list[tuple[Keys, StagedAggregates]] = field(default_factory=list)


_Answered = tuple[Part, Keys, StagedAggregates, Result]


class FirstStage:
    """One SELECT of the rows: conditions, keys, and the aggregates that are added one by one.

    Args:
        domain, unit: as in `hedgerow.sql`.
        name: of the released table.
        where: conditions on rows.
        keys: expressions that rows are grouped by.
        waits: the inner statements whose released values stand in these conditions.
    """

    def __init__(
        self,
        domain: Domain,
        unit: str | None,
        name: str,
        where: Sequence[exp.Expr],
        keys: Sequence[exp.Expr],
        waits: frozenset[int] = frozenset(),
    ) -> None:
        self.domain, self.unit, self.name, self.waits = domain, unit, name, waits
        self.scope = Scope(domain)
        self.predicates = StagedPredicates(self.scope)
        self.where = [truth for node in where for truth in self.predicates.conjuncts(node)]
        self._single: list[bool] = []
        self._places: dict[str, int] = {}
        self._columns: list[_Place] = []
        columns, several = self._read(keys)
        self.keys = Keys.of(columns)
        made = list(_slices(several))
        live = [part for part in made if self._may_have_rows(part[1])]
        self.slices = [self._slice(labels, extra) for labels, extra in live or made[:1]]
        self._none = not live
        self._words = (
            [printed(node) for node in where],
            [printed(node) for node in keys],
        )

    def _read(
        self, keys: Sequence[exp.Expr]
    ) -> tuple[list[SqlColumn], list[tuple[tuple[str, ...], NDArray[Any]]]]:
        """Keys of one attribute as columns, those of several (or none) as values on their levels."""
        columns, several = [], []
        for node in keys:
            if self.unit is not None and self._is_unit(node):
                raise UnsupportedSQL(
                    f"GROUP BY {self.unit!r} would show single people, which is not supported; "
                    "`hedgerow sample` draws synthetic rows"
                )
            column = self._column(node)
            self._single.append(column is not None)
            if column is None:
                several.append(self.predicates.worked(node))
            else:
                columns.append(column)
        return columns, several

    def _column(self, node: exp.Expr) -> SqlColumn | None:
        inner = bare(node)
        return (
            self.scope.column(inner) if type(inner) is exp.Column else self.predicates.as_column(inner, "key")
        )

    def _is_unit(self, node: exp.Expr) -> bool:
        inner = bare(node)
        return type(inner) is exp.Column and str(inner.name).casefold() == str(self.unit).casefold()

    def _slice(self, labels: tuple[Any, ...], extra: Sequence[Truth]) -> _Slice:
        conditions = [*self.where, *extra]
        rows, people = (
            StagedAggregates(self.predicates, conditions, self.keys.axes, self.unit) for _ in range(2)
        )
        return _Slice(labels, tuple(conditions), rows, people)

    def _may_have_rows(self, extra: Sequence[Truth]) -> bool:
        """Whether the conditions on the attributes of a key leave something of it: a matter of the schema."""
        for truth in extra:
            inside = [t for t in self.where if t.attributes and set(t.attributes) <= set(truth.attributes)]
            if not self.predicates.join([truth, *inside], every=True).true.any():
                return False
        return True

    # -- aggregates ---------------------------------------------------------------------------------------

    def add(self, node: exp.Expr) -> str:
        """The name of the column that holds an aggregate; refuses what cannot be asked of rows."""
        words = printed(node)
        if words not in self._places:
            self._columns.append(self._added(node, words))
            self._places[words] = len(self._columns) - 1
        return f"n{self._places[words]}"

    def _added(self, node: exp.Expr, words: str) -> _Place:
        distinct = counted(node)
        if distinct is None:
            if any(type(part) is exp.Distinct for part in node.walk()):
                raise UnsupportedSQL("COUNT(DISTINCT ...) is asked for on its own")
            places = [self._try(s.rows, node, words) for s in self.slices]
            return _Place("rows", places[0])
        if self.unit is not None and self._is_unit(distinct):
            places = [self._try(s.people, node, words) for s in self.slices]
            return _Place("people", places[0])
        column = self._column(distinct)
        if column is None:
            raise UnsupportedSQL("COUNT(DISTINCT ...) of several columns is not supported")
        said = check_counted(column)
        keys = Keys.of([*self.keys.columns, column])
        for s in self.slices:
            counts = StagedAggregates(self.predicates, s.conditions, keys.axes, self.unit)
            counts.add(exp.Count(this=exp.Star()), words)
            counts.notes += said
            s.distinct.append((keys, counts))
        return _Place("distinct", len(self.slices[0].distinct) - 1)

    def _try(self, aggregates: StagedAggregates, node: exp.Expr, words: str) -> int:
        """Add an aggregate; one that is refused leaves nothing behind that would be asked and paid for."""
        forms, out, notes, places = (
            aggregates.forms[:],
            aggregates.out[:],
            aggregates.notes[:],
            dict(aggregates._places),
        )
        try:
            return aggregates.add(node, words)
        except HedgerowError:
            aggregates.forms[:], aggregates.out[:], aggregates.notes[:] = forms, out, notes
            aggregates._places.clear()
            aggregates._places.update(places)
            raise

    def is_sum(self, name: str) -> bool:
        """Whether a number of the table is a sum over rows: no ratio, quantile or number of levels."""
        place = self._columns[int(name[1:])]
        if place.part != "rows":
            return False
        out = self.slices[0].rows.out[place.index]
        return out.denominator is None and out.quantile is None

    def is_smooth(self, name: str) -> bool:
        """Whether a number of the table is a sum over rows or a ratio of two."""
        place = self._columns[int(name[1:])]
        return place.part == "rows" and self.slices[0].rows.out[place.index].quantile is None

    # -- questions ----------------------------------------------------------------------------------------

    @property
    def key_names(self) -> list[str]:
        """The names of the columns that hold the keys, in their order."""
        return [f"g{i}" for i in range(len(self._single))]

    @property
    def row_by_row(self) -> bool:
        """Whether a row of the table needs one row of one answer."""
        return len(self.slices) == 1 and len({c.part for c in self._columns} | {"rows"}) == 1

    @property
    def numbers(self) -> int:
        """How many numbers one row of the table has."""
        return len(self._columns)

    def questions(self) -> list[Question]:
        """What is asked of rows, in the order in which `table` takes the answers."""
        slices = [] if self._none else self.slices
        return [self._question(keys, numbers) for s in slices for _, keys, numbers in self._asked(s)]

    def _asked(self, s: _Slice) -> Iterator[tuple[Part, Keys, StagedAggregates]]:
        """What is asked of one slice: rows, people, and rows by the levels that are counted."""
        if s.rows.out:
            yield "rows", self.keys, s.rows
        if s.people.out:
            yield "people", self.keys, s.people
        for keys, counts in s.distinct:
            yield "distinct", keys, counts

    def _question(self, keys: Keys, aggregates: Aggregates) -> Question:
        shows = [Show(c.name, i, aggregate=False) for i, c in enumerate(keys.groups)]
        shows += [Show(a.name, i, aggregate=True) for i, a in enumerate(aggregates.out)]
        where, groups = self._words
        text = f"SELECT {', '.join([*groups, *(a.name for a in aggregates.out)])} FROM t"
        text += f" WHERE {' AND '.join(where)}" if where else ""
        text += f" GROUP BY {', '.join(groups)}" if groups else ""
        made = Question(
            domain=self.domain,
            text=text,
            forms=tuple(aggregates.forms),
            aggregates=tuple(aggregates.out),
            groups=keys.groups,
            axes=keys.axes,
            columns=tuple(shows),
            notes=tuple(
                dict.fromkeys([*aggregates.notes, *self.predicates.notes, *null_notes(keys.columns)])
            ),
        )
        return whole(made, self.domain)

    def empty(self) -> dict[str, tuple[str, list[Any]]]:
        """The released table without a row, for a look at types before anything is paid."""
        return {name: (kind, []) for name, kind in self._types().items()}

    def _types(self) -> dict[str, str]:
        plain, made = iter(self.keys.types), {}
        labels = iter(zip(*(s.labels for s in self.slices), strict=True))
        for name, single in zip(self.key_names, self._single, strict=True):
            made[name] = next(plain) if single else _type_of(next(labels))
        for i in range(len(self._columns)):
            made |= {f"n{i}": "DOUBLE", f"n{i}_low": "DOUBLE", f"n{i}_high": "DOUBLE"}
        return made | {THERE: "BOOLEAN"}

    def table(self, results: Sequence[Result]) -> dict[str, tuple[str, list[Any]]]:
        """The released table: keys, and for each number its value and between which two it lies.

        Args:
            results: the answers to `questions`, in their order.
        """
        types = self._types()
        made: dict[str, tuple[str, list[Any]]] = {name: (kind, []) for name, kind in types.items()}
        left = iter(results)
        for s in [] if self._none else self.slices:
            answered = [(part, keys, numbers, next(left)) for part, keys, numbers in self._asked(s)]
            keep = np.flatnonzero(self.keys.possible(s.conditions)).tolist()
            values, labels = iter(self.keys.values()), iter(s.labels)
            for name, single in zip(self.key_names, self._single, strict=True):
                column = next(values) if single else [next(labels)] * self.keys.size
                made[name][1].extend(column[i] for i in keep)
            for i, place in enumerate(self._columns):
                for end, numbers in zip(_ENDS, self._numbers(place, answered, s.conditions), strict=True):
                    made[f"n{i}{end}"][1].extend(_listed(numbers[keep], _ENDS[end]))
            made[THERE][1].extend((~self._nothing(answered))[keep].tolist())
        return made

    def _nothing(self, answered: Sequence[_Answered]) -> NDArray[np.bool_]:
        """The groups that no number tells from one without rows; none where rows are in no groups."""
        found = [(n.out, result) for part, _, n, result in answered if part != "distinct"]
        return maybe_none(found, self.keys.size) & bool(self._single)

    def maybe_empty(self, results: Sequence[Result]) -> tuple[list[str], list[str]]:
        """The names of groups that no number tells from one without rows, and of those surely without."""
        s, *more = self.slices
        if self._none or more or not self.keys.columns or not s.rows.out:
            return [], []
        answered = [(*asked, found) for asked, found in zip(self._asked(s), results, strict=True)]
        nothing = self.keys.possible(s.conditions) & self._nothing(answered)
        none = nothing & surely_none(s.rows.out, s.rows.forms, results[0])
        labels = self.questions()[0].labels
        maybe, sure = ([", ".join(labels[g]) for g in np.flatnonzero(x).tolist()] for x in (nothing, none))
        return maybe, sure

    def origins(self) -> list[tuple[int, int, list[int | None]]]:
        """Of every row of the table: which of the `questions`, which group, its smooth numbers or None."""
        out: list[tuple[int, int, list[int | None]]] = []
        question = 0
        for s in [] if self._none else self.slices:
            parts = [part for part, _, _ in self._asked(s)]
            mine = [c.index if self.is_smooth(f"n{i}") else None for i, c in enumerate(self._columns)]
            at = question + parts.index("rows") if "rows" in parts else 0
            out += [(at, g, mine) for g in np.flatnonzero(self.keys.possible(s.conditions)).tolist()]
            question += len(parts)
        return out

    def _numbers(
        self, place: _Place, answered: Sequence[_Answered], conditions: Sequence[Truth]
    ) -> tuple[Floats, Floats, Floats]:
        """A column of the table, and its lower and upper ends."""
        mine = [found for found in answered if found[0] == place.part]
        if place.part == "distinct":
            _, keys, _, result = mine[place.index]
            return self._levels_with_rows(keys, result, keys.possible(conditions))
        (_, _, numbers, result), i = mine[0], place.index
        value, ends = result.values[:, i], result.ends
        none = np.isnan(value)  # noise left no number, of which the truth may have any
        low, high = (np.where(none, far, end[:, i]) for far, end in zip((-inf, inf), ends, strict=True))
        aggregate = numbers.out[i]
        plain = aggregate.denominator is None and aggregate.quantile is None and aggregate.scale >= 0
        if plain and numbers.forms[aggregate.form].nonnegative:
            low = np.maximum(low, 0.0)  # a count is never less
        return value, low, high

    def _levels_with_rows(
        self, keys: Keys, result: Result, possible: NDArray[np.bool_]
    ) -> tuple[Floats, Floats, Floats]:
        """How many levels have rows: surely those above zero, at most those that may reach one row."""
        *mine, level = keys.values()
        groups = zip(*self.keys.values(), strict=True) if self.keys.columns else [()]
        place = {key: i for i, key in enumerate(groups)}
        out = np.zeros((3, self.keys.size))
        count, error = result.values[:, 0], result.errors[:, 0]
        for j, key in enumerate(zip(*mine, strict=True) if mine else [()] * keys.size):
            if level[j] is not None and possible[j]:
                out[:, place[key]] += (count[j] >= 0.5, count[j] - error[j] > 0, count[j] + error[j] >= 1)
        return out[0], out[1], out[2]


def _slices(
    several: Sequence[tuple[tuple[str, ...], NDArray[Any]]],
) -> Iterator[tuple[tuple[Any, ...], list[Truth]]]:
    """For every combination of the keys' values: the values, and where each key has its own."""
    if not several:
        yield (), []
        return
    attributes, table = several[0]
    flat = table.reshape(-1).tolist()
    found = sorted(dict.fromkeys(flat), key=lambda v: (v is None, v if v is not None else 0))
    if len(found) > SLICES:
        raise RangeTooLarge(f"a group of several attributes has {len(found):,} values, more than {SLICES}")
    for value in found:
        hit = np.array([v is value or v == value for v in flat], dtype=np.bool_).reshape(table.shape)
        for labels, truths in _slices(several[1:]):
            yield (value, *labels), [Truth(attributes, hit, ~hit), *truths]


def _type_of(values: Sequence[Any]) -> str:
    kinds = {type(v) for v in values if v is not None}
    names = {bool: "BOOLEAN", int: "BIGINT", str: "VARCHAR"}
    if kinds <= {int, float} and float in kinds:
        return "DOUBLE"
    if len(kinds) > 1:
        raise CutsBin("a group with values of several types is not supported")
    return names.get(kinds.pop(), "DATE") if kinds else "VARCHAR"


def _listed(numbers: Floats, nothing: float | None) -> list[float | None]:
    """Numbers; what is none is NULL, and has no ends: the truth may have one."""
    return [nothing if np.isnan(v) else float(v) for v in numbers]
