"""TwoStages: a statement of which rows are asked one part, and released numbers the rest.

Privacy: rows are asked through `Question`s alone, charged like any other; what follows is post-processing of
their answers and of the public schema ([DR14] Prop. 2.1). Accuracy: if the numbers of the answers lie within
their bounds at once, so does every number that is shown with one: bounds are images of the box they lie in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import CutsBin, RangeTooLarge, UnknownLevel, UnsupportedSQL
from hedgerow.figures import NULL
from hedgerow.queries.domain.bins import Bins, Dates
from hedgerow.queries.domain.encoding import text_of
from hedgerow.queries.domain.refined import cutting
from hedgerow.queries.question import Question, Result, Show
from hedgerow.queries.sql.stages.engine import engine
from hedgerow.queries.sql.stages.gate import parse_staged
from hedgerow.queries.sql.stages.inner import Inner
from hedgerow.queries.sql.stages.leaning import leaned
from hedgerow.queries.sql.stages.levels import plain
from hedgerow.queries.sql.stages.split import Split
from hedgerow.queries.staged import Finished, Ground, Staged

if TYPE_CHECKING:
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.sql.stages.first import FirstStage
    from hedgerow.queries.sql.stages.relation import Output, Released

_INNER = 8  # statements inside conditions
_EMPTY = (
    "Groups that may have no rows count as groups here, and in SQL they would not if they have none: {}. The "
    "errors cover both; a condition on rows leaves out those that are known to have none{}."
)
_MISSING = (
    "There is no {!r} {}: by what was released, what it is divided by may be zero, or there are no rows."
)
_OPEN = "There is no error statement for {!r}: {}what was released says too little of what it is made of."
_VAGUE = (
    "What was released says nothing of {!r} {}that is not sure anyway: it lies between {:.6g} and {:.6g}."
)
_SHOWN = 8  # groups that are named
_LEVELS = "These are the declared levels; which of them have rows is private."


@dataclass(frozen=True, eq=False)
class TwoStages(Staged):
    """What a statement asks that is more than one question; made by `hedgerow.sql`.

    Args:
        domain, unit: as in `hedgerow.sql`.
        text: the statement.
        params: values of its parameters.
        values: what the inner statements gave, as far as they were released; each a list.
        notes: what its reader must know whatever is released.
        centres: averages that were released, from which products are counted; where those cost nothing.
    """

    domain: Domain
    text: str
    unit: str | None = None
    params: tuple[Any, ...] = ()
    values: tuple[tuple[Any, ...], ...] = ()
    notes: tuple[str, ...] = ()
    centres: Mapping[str, str] = field(default_factory=dict)

    def _parsed(self) -> Any:
        dates = {name.casefold() for name, a in self.domain.items() if isinstance(a, Dates)}
        return parse_staged(self.text, self.params, dates)

    @cached_property
    def _read(self) -> tuple[Split, Released]:
        def read(domain: Domain) -> tuple[Split, Released]:
            split = Split(domain, self.unit, self.values, centres=self.centres)
            return split, split.statement(self._parsed())

        return cutting(self.domain, read)

    def checked(self) -> TwoStages:
        """The same, after all looks that are free: refuses what could only be refused after a charge."""
        try:
            split, relation = self._read
        except (CutsBin, UnknownLevel, RangeTooLarge):
            if self._begun is None:
                raise
            split, relation = self._begun
        self._refuse_cuts(split)
        if len(split.inner) > _INNER:
            raise UnsupportedSQL(f"more than {_INNER} statements inside conditions are not supported")
        empty = {stage.name: stage.empty() for stage in split.stages}
        with engine().holding(empty):
            engine().run(f"SELECT * FROM ({relation.text}) AS z LIMIT 0")
        return self

    def _refuse_cuts(self, split: Split) -> None:
        """Refuse now what would be refused once an inner statement is paid: its number will cut a bin.

        A released number lies between edges: one of the widest bin of each column stands in for it, and a
        whole one below.
        """
        if len(split.inner) == len(self.values) or all(i.relation.columns[0].sure for i in split.inner):
            return
        tree = self._parsed()
        for number in (n for one in _between(self.domain) for n in (one, int(one))):
            try:
                self._compiled(tree, number)
            except CutsBin:
                words = _short(split.inner[len(self.values)].words)
                raise CutsBin(
                    f"rows would be compared with what {words} gives, which would cut a bin: nothing was "
                    "charged; ask for that alone, and compare with the nearest edge"
                ) from None
            except (UnknownLevel, RangeTooLarge):
                continue

    def _compiled(self, tree: Any, number: float) -> None:
        cutting(
            self.domain, lambda domain: Split(domain, self.unit, self.values, number).statement(tree.copy())
        )

    @cached_property
    def _begun(self) -> tuple[Split, Released] | None:
        """What is known before an inner statement is released, if a stand-in for its value does not fit."""

        def begun(domain: Domain) -> tuple[Split, Released] | None:
            split = Split(domain, self.unit, self.values)
            try:
                split.statement(self._parsed())
            except (CutsBin, UnknownLevel, RangeTooLarge):
                waiting = split.inner[len(self.values) :]
                return (split, waiting[0].relation) if waiting else None
            return None

        return cutting(self.domain, begun)

    @property
    def _split(self) -> Split:
        try:
            return self._read[0]
        except (CutsBin, UnknownLevel, RangeTooLarge):
            if self._begun is None:
                raise
            return self._begun[0]

    @property
    def waits(self) -> bool:
        """Whether an inner statement must be released before all questions are known."""
        return len(self._split.inner) > len(self.values)

    @property
    def questions(self) -> tuple[Question, ...]:
        """All that is asked of rows; where it `waits`, what comes later has stand-ins for released values."""
        return tuple(q for stage in self._split.stages for q in stage.questions())

    @property
    def attributes(self) -> tuple[str, ...]:
        """All attributes that the answer depends on, in the domain's order."""
        return self.domain.order([a for q in self.questions for a in q.attributes])

    @property
    def row_by_row(self) -> bool:
        """Whether each row of the answer is worked out from one row of one table, and all are shown."""
        split = self._split
        return (
            not split.inner and len(split.stages) == 1 and split.stages[0].row_by_row and self._read[1].local
        )

    @property
    def numbers(self) -> int:
        """How many numbers of a row must be within their bounds for one that is shown to be."""
        most = max((stage.numbers for stage in self._split.stages), default=1)
        needs = max((c.parts for c in self._read[1].columns if c.bounded), default=1)
        return min(most, max(1, needs))

    def answered(
        self, ask: Callable[[Sequence[Question]], Sequence[Any]], ground: Ground | None = None
    ) -> tuple[Finished, list[Any]]:
        """The answer, and the answers that it was made of.

        Args:
            ask: answers questions with objects that have a `table`; all at once, or refuses all of them.
            ground: what the answers were read off, if they were: then errors are narrower.
        """
        found: dict[str, list[Any]] = {}
        staged = self
        while True:
            staged, found = staged._centred(ask, found) if ground is not None else (staged, found)
            split = staged._split
            waiting = split.inner[len(staged.values) :]
            wanted = [s for s in split.stages if not waiting or s.name in waiting[0].stages]
            new = [s for s in wanted if s.name not in found]
            answers = list(ask([q for s in new for q in s.questions()]))
            for stage in new:
                count = len(stage.questions())
                found[stage.name], answers = answers[:count], answers[count:]
            if not waiting:
                return staged._finished(found, ground), [a for part in found.values() for a in part]
            staged = staged._released(waiting[0], wanted, found)

    def _centred(
        self, ask: Callable[[Sequence[Question]], Sequence[Any]], found: dict[str, list[Any]]
    ) -> tuple[TwoStages, dict[str, list[Any]]]:
        """The same about averages that are free, and what was found of it: nothing if there are new ones."""
        centres = self._split.centres
        if not centres.wanted:
            return self, found
        return replace(self, centres=centres.released(self.domain, self.unit, ask)), {}

    def _released(self, inner: Inner, stages: Sequence[FirstStage], found: dict[str, list[Any]]) -> TwoStages:
        """The same with the value of an inner statement."""
        with engine().holding(_tables(stages, found)):
            rows = engine().run(f"SELECT c0 FROM ({inner.relation.text}) AS z")
        values = tuple(plain(value) for (value,) in rows)
        return replace(self, values=(*self.values, values if inner.many else (values or (None,))[:1]))

    def _finished(self, found: dict[str, list[Any]], ground: Ground | None) -> Finished:
        split, relation = self._read
        tables = _tables(split.stages, found)
        with engine().holding(tables):
            rows = engine().run(relation.text)
        empty, lean = list(_empty(split.stages, found)) if relation.merged else [], None
        leans = relation.steady and (not self.row_by_row or self.numbers > 1)
        if ground is not None and leans and rows:
            lean = leaned(relation, rows, split.stages, found, tables, ground, whole=not empty)
        asked = [q for stage in split.stages for q in stage.questions()]
        notes = [note for q in asked for note in q.notes_of("measured")]  # their answers say more
        notes += self.notes
        notes += empty
        for inner, values in zip(split.inner, self.values, strict=True):
            shown = ", ".join(
                "NULL" if v is None else f"{v:.6g}" if isinstance(v, float) else str(v) for v in values[:8]
            )
            notes.append(
                f"{_short(inner.words)} was released first, as {shown or 'nothing'}: rows were "
                "compared with that, and the errors are of that question."
            )
        made = _finish(relation, rows, notes, lean or {}, asked=any(stage.numbers for stage in split.stages))
        return replace(made, values=self.values, each=lean is not None)

    def __repr__(self) -> str:
        return f"TwoStages({self.text!r})"


def _finish(
    relation: Released,
    rows: Sequence[tuple[Any, ...]],
    notes: Sequence[str],
    lean: Mapping[int, Sequence[float]],
    *,
    asked: bool,
) -> Finished:
    """From the engine's rows: numbers with bounds, and what is no released number as labels."""
    said = list(dict.fromkeys(notes))
    places = relation.places
    labels: list[list[str]] = []
    numbers: list[tuple[list[float], list[float]]] = []
    ranges: list[list[tuple[float, float]]] = []
    shows: list[Show] = []
    for i, out in enumerate(relation.columns):
        values = [plain(row[places[i]]) for row in rows]
        if out.sure or not all(
            v is None or (isinstance(v, (int, float)) and not isinstance(v, bool)) for v in values
        ):
            shows.append(Show(out.name, len(labels), aggregate=False))
            labels.append([NULL if v is None else text_of(v) for v in values])
            if not out.sure:
                said.append(
                    f"There is no error statement for {out.name!r}: it was decided by released numbers."
                )
            continue
        shows.append(Show(out.name, len(numbers), aggregate=True))
        ends = [(row[places[i] + 1], row[places[i] + 2]) if out.bounded else (None, None) for row in rows]
        errors = [_error(v, *pair) for v, pair in zip(values, ends, strict=True)]
        narrow = lean.get(i, errors)
        pairs = zip(values, ends, (a <= b for a, b in zip(errors, narrow, strict=True)), strict=True)
        ranges.append([_range(v, *pair) if own else (-inf, inf) for v, pair, own in pairs])
        errors = [min(pair) for pair in zip(errors, narrow, strict=True)]
        errors = _spanned(out, values, errors, ranges[-1])
        numbers.append(([np.nan if v is None else float(v) for v in values], errors))
        if not out.bounded:
            said.append(f"There is no error statement for {out.name!r}.")
        said += _vain(out, values, errors)
    if not relation.steady and numbers:
        said.append("Released numbers decide which rows are shown; the errors hold for all of them at once.")
    if not asked and labels:
        said.append(_LEVELS)
    size = len(rows)
    values_ = np.array([v for v, _ in numbers], dtype=np.float64).reshape(len(numbers), size).T
    errors_ = np.array([e for _, e in numbers], dtype=np.float64).reshape(len(numbers), size).T
    ranges_ = np.array(ranges, dtype=np.float64).reshape(len(numbers), size, 2).T
    groups = tuple(zip(*labels, strict=True)) if labels else ((),) * size
    result = Result(
        columns=tuple(c.name for c in relation.columns),
        groups=groups,
        values=values_,
        errors=errors_,
        confidence=0.0,
        show=tuple(shows),
        grouped=not relation.single or bool(labels) or size != 1,
        ranges=ranges_,
    )
    return Finished(result, tuple(said))


def _spanned(
    out: Output, values: Sequence[Any], errors: Sequence[float], ranges: list[tuple[float, float]]
) -> list[float]:
    """Errors and ranges of a column that lies between two numbers whatever was released."""
    if out.span is None:
        return list(errors)
    low, high = out.span
    ranges[:] = [(max(a, low), min(b, high)) for a, b in ranges]
    pairs = zip(values, errors, strict=True)
    return [e if v is None else min(e, max(v - low, high - v)) for v, e in pairs]


def _vain(out: Output, values: Sequence[Any], errors: Sequence[float]) -> Iterator[str]:
    """What is said of numbers that what was released does not tell."""
    known = [(v, e) for v, e in zip(values, errors, strict=True) if v is not None]
    missing, open_ = len(values) - len(known), sum(e == inf for _, e in known)
    if missing and not out.merged:
        yield _MISSING.format(out.name, f"in {missing:,} of {len(values):,} rows" if known else "at all")
    if open_ and out.bounded:
        yield _OPEN.format(out.name, f"in {open_:,} of {len(values):,} rows, " if open_ < len(values) else "")
    if out.span is not None:
        low, high = out.span
        little = 1e-9 * (high - low)
        vague = sum(v - e <= low + little and v + e >= high - little for v, e in known)
        if vague:
            of = f"in {vague:,} of {len(values):,} rows " if vague < len(values) else ""
            yield _VAGUE.format(out.name, of, low, high)


def _between(domain: Domain) -> Iterator[float]:
    """For each column of bins a number in the widest of them, off its edges and not whole."""
    for body in domain.values():
        if isinstance(body, Bins) and not isinstance(body, Dates):
            edges = [float(e) for e in body.edges]
            _, low, high = max((b - a, a, b) for a, b in pairwise(edges))
            yield (low + high) / 2 + min(0.37, (high - low) / 8)


def _empty(stages: Sequence[FirstStage], found: dict[str, list[Any]]) -> Iterator[str]:
    """Of which groups of each stage it is not known whether there are any rows of them."""
    for stage in stages:
        names, none = stage.maybe_empty([a.table for a in found[stage.name]])
        if names:
            more = len(names) - _SHOWN
            shown = "; ".join(names[:_SHOWN]) + (f"; and {more:,} more" if more > 0 else "")
            without = stage.keys.without(none) if 0 < len(none) <= _SHOWN else None
            yield _EMPTY.format(shown, f", as WHERE {without} does" if without else "")


def _tables(stages: Sequence[FirstStage], found: dict[str, list[Any]]) -> dict[str, Any]:
    return {s.name: s.table([a.table for a in found[s.name]]) for s in stages if s.name in found}


def _error(value: Any, low: Any, high: Any) -> float:
    """How far the truth may be from a value; infinite where that is not known."""
    ends = [plain(low), plain(high)]
    if value is None or any(e is None for e in ends):
        return inf
    return float(max(value - ends[0], ends[1] - value, 0.0))


def _range(value: Any, low: Any, high: Any) -> tuple[float, float]:
    """Between which two numbers the truth lies, and the value too."""
    ends = [plain(low), plain(high)]
    if value is None or any(e is None for e in ends):
        return -inf, inf
    return float(min(value, ends[0])), float(max(value, ends[1]))


def _short(words: str) -> str:
    return words if len(words) <= 80 else f"{words[:77]}..."
