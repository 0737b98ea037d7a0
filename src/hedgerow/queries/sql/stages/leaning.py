"""Leaning: errors of what is worked out of released numbers, each by one linear question of its own.

To first order a number that moves smoothly with sums over rows is off by a weighted sum over rows: whoever
holds tables knows how far off that is, with all that the sums' errors have in common. What is beyond first
order is added: as much as the number moved more than its slopes say when all were moved at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import HedgerowError
from hedgerow.queries.form import LinearForm, check_cells, spread
from hedgerow.queries.sql.stages.engine import engine
from hedgerow.queries.sql.stages.levels import plain
from hedgerow.queries.sql.stages.slopes import Slopes, Tables, fits, slopes
from hedgerow.queries.staged import Ground

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.question import Aggregate, Question, Result
    from hedgerow.queries.sql.stages.first import FirstStage
    from hedgerow.queries.sql.stages.relation import Released
    from hedgerow.queries.within import Opened

    Floats = NDArray[np.float64]

_SAME = 1e-6  # of its size: two readings of one number
_MOST = 1_000  # numbers that are looked at one by one
_MILD = 0.5  # of what slopes say: so much more is little
_QUANTILE = 1.96  # standard deviations in a half-width that holds 95 times of 100; a rough measure


@dataclass(frozen=True, eq=False)
class Footing:
    """One answered question: what its numbers are made of, in forms.

    Args:
        question: the question.
        values, wide: of every form and group, the value and its half-width.
        shown: of every group and number, what it is by the levels of bins alone.
        left: of every group and number, how far off it may be by what bins leave open; and
        firm: whether it stands on its forms alone: not moved to an end of what it can be.
    """

    question: Question
    values: Floats
    wide: Floats
    shown: Floats
    left: Floats
    firm: NDArray[np.bool_]

    @classmethod
    def all_of(cls, answers: Mapping[int, tuple[Question, Result]], ground: Ground) -> dict[int, Footing]:
        """Those of some questions; none where one of them has none."""
        try:
            found = {i: cls.of(*pair, ground) for i, pair in answers.items()}
        except HedgerowError:  # no table holds it
            return {}
        known = {i: f for i, f in found.items() if f is not None}
        return known if len(known) == len(found) else {}

    @classmethod
    def of(cls, question: Question, result: Result, ground: Ground) -> Footing | None:
        """None where the answer is not what is read off now."""
        if question.cut or question.units or question.doubts:
            return None

        def found(form: LinearForm, sure: float, numbers: int) -> tuple[Floats, Floats]:
            if (sure, numbers) == (half, every):  # the other half is for what bins leave open
                sure = ground.confidence
            pairs = [ground.linear(form.attributes, form.weights(g), sure, numbers)
                     for g in range(form.groups)]  # fmt: skip
            values, errors = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
            return values, errors

        half = 1.0 - (1.0 - ground.confidence) / 2.0
        every = question.size * len(question.forms) * ground.numbers
        parts = [found(form, ground.confidence, 1) for form in question.forms]
        values, wide = (np.stack([p[i] for p in parts]) for i in (0, 1))
        open_ = question.open(found, ground.within, half, every)
        ratios = question.ratios(ground.linear, ground.confidence, 1, bars=False)
        again = question.combine(values, np.zeros_like(values), ratios=ratios, open_=open_)
        if not np.allclose(again.values, result.values, rtol=_SAME, atol=_SAME, equal_nan=True):
            return None
        places = range(len(question.aggregates))
        left = np.stack([_left(question, i, values, wide, open_) for i in places], 1)
        shown = np.stack([_shown_by_levels(a, values, ratios) for a in question.aggregates], 1)
        return cls(question, values, wide, shown, left, _firm(question, again.values))

    def off(self, group: int, number: int) -> float:
        """About how far off a number may be, as a standard deviation; infinite where that is not known."""
        if not self.firm[group, number]:
            return float("inf")
        mixed = [np.zeros(self.question.size) for _ in self.question.forms]
        left, _ = self.add(group, number, 1.0, mixed)
        forms = zip(mixed, self.wide, strict=True)
        return (left + sum(float(np.abs(c) @ w) for c, w in forms)) / _QUANTILE

    def add(self, group: int, number: int, slope: float, weights: list[Floats]) -> tuple[float, float]:
        """Add a number's part to the coefficients of all forms; what bins leave open of it, times that; and
        what the forms with these coefficients should come to.

        A ratio N/D moves by (dN - N/D dD) / D: by the least that D may be.
        """
        a = self.question.aggregates[number]
        slope_, left = slope * a.scale, abs(slope) * float(self.left[group, number])
        shown = float(self.shown[group, number])
        if a.denominator is None:
            weights[a.form][group] += slope_
            return left, slope_ * shown
        below, off = self.values[a.denominator, group], self.wide[a.denominator, group]
        least = abs(below) - off
        if not least > 0:
            return float("inf"), 0.0
        part = slope_ / (least if below > 0 else -least)
        ratio = self.values[a.form, group] / below
        weights[a.form][group] += part
        weights[a.denominator][group] -= part * ratio
        return left, part * below * (shown - ratio)


def leaned(
    relation: Released,
    rows: Sequence[tuple[Any, ...]],
    stages: Sequence[FirstStage],
    found: Mapping[str, Sequence[Any]],
    tables: Tables,
    ground: Ground,
    *,
    whole: bool = True,
) -> dict[int, list[float]] | None:
    """The errors of shown numbers, by the places of their columns; None if there is nothing to say of any.

    Args:
        relation: the statement.
        rows: what the engine made of it.
        stages, found, tables: what rows were asked, the answers, and the released tables that they make.
        ground: what those were read off.
        whole: whether all rows that are worked on are there; slopes know nothing of those that may not be.
    """
    moves = [i for i, out in enumerate(relation.columns) if out.smooth or out.outer]
    shown = [i for i in moves if whole or not relation.columns[i].merged]
    if not shown or len(rows) * len(shown) > _MOST:
        return None
    if ground.simultaneous:
        ground = replace(ground, numbers=len(rows) * len(shown))
    answers = [(q, a.table) for s in stages for q, a in zip(s.questions(), found[s.name], strict=True)]
    places, origins = _spots(stages)
    if not fits(tables, places):
        return None
    used = sorted({q for q, _, _ in origins})
    footings = Footing.all_of({q: answers[q] for q in used}, ground)
    if not footings:
        return None
    off = np.array([footings[q].off(g, n) for q, g, n in origins])
    labels = [
        tuple(row[at] for at, out in zip(relation.places, relation.columns, strict=True) if out.sure)
        for row in rows
    ]
    found_ = slopes(relation, shown, labels, tables, places, off)
    if found_ is None:
        return None
    firsts = _leaning(footings, origins, found_, ground)
    return _shown(relation, rows, shown, found_, firsts)


def _spots(stages: Sequence[FirstStage]) -> tuple[list[tuple[str, str, int]], list[tuple[int, int, int]]]:
    """Of every released number that is smooth: where it is in the tables, and in the answers."""
    places: list[tuple[str, str, int]] = []
    origins: list[tuple[int, int, int]] = []
    before = 0
    for stage in stages:
        for row, (question, group, numbers) in enumerate(stage.origins()):
            for i, number in enumerate(numbers):
                if number is not None:
                    places.append((stage.name, f"n{i}", row))
                    origins.append((before + question, group, number))
        before += len(stage.questions())
    return places, origins


def _shown(
    relation: Released, rows: Sequence[tuple[Any, ...]], shown: Sequence[int], found: Slopes, firsts: Floats
) -> dict[int, list[float]]:
    """Errors of the shown columns: of what jumps, by both ends of what it is made of."""
    wide = firsts + found.bent
    mild = found.bent <= _MILD * firsts  # else slopes say little: only where the box has ends
    out = {}
    for j, i in enumerate(shown):
        each = slice(j, None, len(shown))
        base, error = found.base[each], np.where(found.known[each], wide[each], np.inf)
        column = relation.columns[i]
        at = relation.places[i]
        values, held = ([plain(row[at + k]) for row in rows] for k in (0, 1))
        box = np.isfinite(np.array(held, dtype=np.float64))
        shown_ = np.array(values, dtype=np.float64)
        same = np.isfinite(shown_) & (bool(column.outer) | np.isclose(shown_, base))
        keep = same & (mild[each] | box)
        error = np.where(keep, error, np.inf)
        if column.outer:
            error = _stepped(column.outer, values, base, error)
        out[i] = error.tolist()
    return out


def _stepped(outer: Sequence[str], values: Sequence[Any], base: Floats, error: Floats) -> Floats:
    """The errors of what is made of numbers step by step."""
    known = np.isfinite(error)
    if not known.any():
        return error
    text = "v"
    for step in outer:
        text = step.format(text)
    ends = [*(base - error)[known].tolist(), *(base + error)[known].tolist()]
    try:
        rows = engine().run(f"SELECT {text} FROM (SELECT unnest($1::DOUBLE[]) AS v)", [ends])
    except HedgerowError:
        return np.full(len(error), np.inf)
    found = np.array([np.nan if v is None else float(plain(v)) for (v,) in rows]).reshape(2, -1)
    own = np.array([float(v) for v, k in zip(values, known, strict=True) if k])
    out = error.copy()
    out[known] = np.nan_to_num(np.maximum(np.abs(own - found).max(axis=0), 0.0), nan=np.inf)
    return out


def _leaning(
    footings: Mapping[int, Footing], places: Sequence[tuple[int, int, int]], found: Slopes, ground: Ground
) -> Floats:
    """How far off each of some numbers is to first order, with what bins leave open; infinite if not known.

    Args:
        footings: what the questions' numbers are made of.
        places: of the released numbers: the question, the group, and which number.
        found: how each moves with each of those.
        ground: whoever holds tables.
    """
    out = np.full(len(found.steep), np.inf)
    for m, row in enumerate(found.steep):
        if not found.known[m]:
            continue
        mixed = {q: [np.zeros(f.question.size) for _ in f.question.forms] for q, f in footings.items()}
        moves = [(places[k], row[k]) for k in np.flatnonzero(row).tolist()]
        parts = [footings[q].add(g, n, float(slope), mixed[q]) for (q, g, n), slope in moves]
        left, told = (sum(p[i] for p in parts) for i in (0, 1))
        if np.isfinite(left):
            beta = (1.0 - ground.confidence) / (2.0 if left > 0 else 1.0)
            width = _width(footings, mixed, told, 1.0 - beta, ground)
            out[m] = width + left
    return out


def _width(
    footings: Mapping[int, Footing],
    mixed: Mapping[int, Sequence[Floats]],
    told: float,
    confidence: float,
    ground: Ground,
) -> float:
    """The half-width of one sum over rows: all groups of all forms, each with its coefficient.

    It is about what that sum is read as. Where sums and counts are read off different estimates that is not
    quite what they were told to come to: by so much more.
    """
    parts = [
        (form, c)
        for q, f in footings.items()
        for form, c in zip(f.question.forms, mixed[q], strict=True)
        if c.any()
    ]
    if not parts:
        return 0.0
    domain = parts[0][0].domain
    names = domain.order([a for form, _ in parts for a in form.attributes])
    try:
        check_cells(domain, names)
        weights: Any = 0.0
        for form, c in parts:
            weights = weights + spread(form.attributes, form.mixed(c), names)
        whole = np.ascontiguousarray(np.broadcast_to(weights, domain.shape_of(names)))
        value, wide = ground.linear(names, whole, confidence, ground.numbers)
        return wide + abs(value - told)
    except HedgerowError:  # no one table holds all of them
        return float("inf")


def _left(question: Question, number: int, values: Floats, wide: Floats, open_: dict[int, Opened]) -> Floats:
    """How far off a number may be by what bins leave open, for all groups."""
    a = question.aggregates[number]
    if a.quantile is not None:
        return np.full(question.size, np.inf)
    found = open_.get(a.form)
    if a.denominator is not None:
        if a.denominator in open_:
            return np.full(question.size, np.inf)
        found = None if found is None else found.over(values[a.denominator], wide[a.denominator])
    if found is None:
        return np.zeros(question.size)
    return np.asarray(abs(a.scale) * (found.soft + found.hard))


def _shown_by_levels(a: Aggregate, values: Floats, ratios: Mapping[Aggregate, Floats]) -> Floats:
    """What a number is in all groups, of its forms alone; zero of one that forms do not add up to."""
    if a.quantile is not None:
        return np.zeros(values.shape[1])
    if a.denominator is None:
        return np.asarray(values[a.form])
    with np.errstate(divide="ignore", invalid="ignore"):
        found = ratios[a][:, 0] if a in ratios else values[a.form] / values[a.denominator]
    return np.asarray(found)


def _firm(question: Question, values: Floats) -> NDArray[np.bool_]:
    """Whether each number is one, and not at an end of what it can be."""
    firm = np.isfinite(values)
    for i, a in enumerate(question.aggregates):
        for end in a.ends or ():
            firm[:, i] &= np.abs(values[:, i] - (a.scale * end + a.plus)) > 1e-12 * (1.0 + abs(end))
    return firm
