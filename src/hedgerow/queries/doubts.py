"""Doubts: a question of which it is not known whether rows of an `other` level count, about declared cells.

A statement that compares such a level is compiled on a `Divided` domain. Here each of its forms becomes one
over declared cells, in which rows of the level count as those that meet no comparison, and a second one,
beside it, of how much more or less they may count (`Doubt`). Both are asked like any other: so the number
takes half of what is open, and its error covers all of it, whoever answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.queries.form import Factor, GroupAxis, LinearForm, times

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.divided import Divided, OtherParts
    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.question import Question
    from hedgerow.queries.within import Opened

    Floats = NDArray[np.float64]

_SAID = (
    "Whether rows with a value that is not declared meet {comparisons} is not known: the number takes half "
    "of them, and its error covers all; {advice} to leave them out."
)
_ENDS, _LEVELS = "name both ends (BETWEEN)", "name the levels (IN)"
_SHOWN = 3  # of the comparisons


@dataclass(frozen=True)
class Doubt:
    """How much of a form is open.

    Args:
        form: which one.
        by: another, which says how much.
        down, up: which way.
    """

    form: int
    by: int
    down: bool
    up: bool


def widened(
    values: Floats, errors: Floats, doubts: Sequence[Doubt], open_: Mapping[int, Opened]
) -> tuple[Floats, Floats]:
    """Values and errors of all forms, by the middle of what is open where that is to one side.

    If S is within e of s, what is open within f of m >= 0 and the truth between S and S + m, it is within
    e + m / 2 + f of s + m / 2.
    """
    values, errors = values.copy(), errors.copy()
    for doubt in doubts:
        most, wide, left = values[doubt.by], errors[doubt.by], open_.get(doubt.by)
        if left is not None:
            most, wide = most + left.value, left.on(wide)
        half = np.maximum(most, 0.0) / 2.0
        values[doubt.form] += half * (int(doubt.up) - int(doubt.down))
        errors[doubt.form] += half * (int(doubt.up) + int(doubt.down)) + wide
    return values, errors


def settled(question: Question, domain: Divided) -> Question:
    """The same question about the domain whose `other` levels it divides, with what is open of each form."""
    forms: list[LinearForm] = []
    beside: list[tuple[int, LinearForm, bool, bool]] = []
    for i, form in enumerate(question.forms):
        made, open_ = _form(domain, form)
        forms.append(made)
        beside += [(i, *open_)] if open_ is not None else []
    doubts = tuple(Doubt(i, len(forms) + j, *ways) for j, (i, _, *ways) in enumerate(beside))
    said = " or ".join(dict.fromkeys(domain.said[:_SHOWN]))
    advice = " or ".join(dict.fromkeys(_ENDS if domain[a].ordered else _LEVELS for a in domain.parts))
    return replace(
        question,
        domain=domain.inner,
        forms=(*forms, *(form for _, form, _, _ in beside)),
        axes=tuple(_axis(domain, axis) for axis in question.axes),
        notes=(*question.notes, *([_SAID.format(comparisons=said, advice=advice)] if doubts else [])),
        doubts=doubts,
    )


def _axis(domain: Divided, axis: GroupAxis) -> GroupAxis:
    parts = domain.parts.get(axis.attribute)
    return axis if parts is None else replace(axis, parent=axis.parent[parts.firsts])


def _form(domain: Divided, form: LinearForm) -> tuple[LinearForm, tuple[LinearForm, bool, bool] | None]:
    """A form of rows that meet no comparison where that is open; and how much they may count, which way."""
    axes = tuple(_axis(domain, axis) for axis in form.axes)
    divided = [f for f in form.factors if not all(_same(domain, f, a) for a in _arrays(f))]
    kept = [_taken(domain, f) for f in form.factors if f not in divided]
    made = replace(form, domain=domain.inner, factors=tuple(kept), axes=axes)
    if not divided:
        return made, None
    whole = reduce(lambda a, b: times(domain, a, b), divided)
    base = _taken(domain, whole)
    most, down, up = _open(domain, whole)
    for i, factor in enumerate(kept):
        if factor.weights.dtype != np.bool_:  # at most one of all factors: what rows are worth
            ends = _range(domain.inner, factor)
            falls, rises = bool((ends[0] < 0).any()), bool((ends[1] > 0).any())
            down, up = (down and rises) or (up and falls), (up and rises) or (down and falls)
            kept[i] = Factor(factor.attributes, np.maximum(-ends[0], ends[1]))
    open_ = replace(
        made, factors=(*kept, Factor(whole.attributes, most)), name=f"{form.name} in doubt".strip()
    )
    made = replace(made, factors=(*made.factors, base))
    return made, (open_, down, up) if (down or up) else None


def _open(domain: Divided, factor: Factor) -> tuple[NDArray[Any], bool, bool]:
    """How far a row of each cell can be from one that meets no comparison, and whether below or above."""
    axes, weights = _axes(domain, factor), factor.weights
    if weights.dtype == np.bool_:
        base, some, every = weights, weights, weights
        for axis, parts in axes:
            base = np.take(base, parts.firsts, axis=axis)
            some = np.logical_or.reduceat(some, parts.firsts, axis=axis)
            every = np.logical_and.reduceat(every, parts.firsts, axis=axis)
        return some & ~every, bool((base & ~every).any()), bool((some & ~base).any())
    arrays = _arrays(factor)
    arrays = [a - _based(a, axes) for a in arrays]
    worth = None if factor.worth is None else factor.worth.made(factor.attributes, arrays[1:])
    least, most = _range(domain, Factor(factor.attributes, arrays[0], worth))
    down, up, wide = bool((least < 0).any()), bool((most > 0).any()), np.maximum(-least, most)
    for axis, parts in axes:
        wide = np.maximum.reduceat(wide, parts.firsts, axis=axis)
    return wide, down, up


def _based(array: NDArray[Any], axes: Sequence[tuple[int, OtherParts]]) -> NDArray[Any]:
    """What each cell would be if no `other` level of any attribute met a comparison."""
    for axis, parts in axes:
        array = np.take(np.take(array, parts.firsts, axis=axis), parts.parent, axis=axis)
    return array


def _range(domain: Domain, factor: Factor) -> tuple[Floats, Floats]:
    """Between which two numbers a row of each cell is worth."""
    weights = factor.weights.astype(np.float64)
    if factor.worth is None:
        return weights, weights
    even, far = factor.worth.even(domain), factor.worth.reach(domain)
    return even - far, even + far


def _taken(domain: Divided, factor: Factor) -> Factor:
    """A factor over the levels, of which an `other` one is as what meets no comparison."""
    arrays = _arrays(factor)
    for axis, parts in _axes(domain, factor):
        arrays = [np.take(a, parts.firsts, axis=axis) for a in arrays]
    worth = None if factor.worth is None else factor.worth.made(factor.attributes, arrays[1:])
    return Factor(factor.attributes, arrays[0], worth)


def _same(domain: Divided, factor: Factor, array: NDArray[Any]) -> bool:
    return all(parts.same(array, axis) for axis, parts in _axes(domain, factor))


def _axes(domain: Divided, factor: Factor) -> list[tuple[int, OtherParts]]:
    return [(i, domain.parts[a]) for i, a in enumerate(factor.attributes) if a in domain.parts]


def _arrays(factor: Factor) -> list[NDArray[Any]]:
    return [factor.weights, *(factor.worth.arrays if factor.worth is not None else [])]
