"""Cuts: a question about parts of bins as one about bins, with what rows know of the parts.

A statement that cuts bins is compiled on a `Refined` domain, whose cells no comparison divides. Here its
forms become forms over the declared cells. What differs within a bin is `Worth` with cuts: rows are weighed
by the part that they are in, exactly; whoever holds tables gives each row of the bin the even share, and the
error allows for every row of it (`Worth.reach`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import CutsBin
from hedgerow.queries.domain.divided import Divided
from hedgerow.queries.domain.refined import Cut, Refined
from hedgerow.queries.doubts import settled
from hedgerow.queries.form import Factor, GroupAxis, LinearForm, check_cells, spread
from hedgerow.queries.worth import Worth

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.queries.domain.domain import Domain
    from hedgerow.queries.question import Question

_SAID = (
    "{cuts}. Of a bin that is cut the answer takes the even share, with an error that covers all of its rows;"
    " asked with an accuracy, rows are compared by their own numbers."
)
_SHOWN = 3  # of the comparisons that cut bins


def whole(question: Question, domain: Domain) -> Question:
    """The same question about the declared cells, after it was compiled for parts of them."""
    if isinstance(domain, Divided):
        return whole(settled(question, domain), domain.inner)
    if not isinstance(domain, Refined):
        return question
    forms = tuple(_form(domain, form) for form in question.forms)
    kept = any(f.worth is not None and f.worth.cuts for form in forms for f in form.factors)
    said = domain.said if kept else ()
    return replace(
        question,
        domain=domain.coarse,
        forms=forms,
        axes=tuple(_axis(domain, axis) for axis in question.axes),
        notes=(*question.notes, *([_SAID.format(cuts="; ".join(map(str, said[:_SHOWN])))] if said else [])),
        cut=str(said[0]) if said else "",
    )


def _form(domain: Refined, form: LinearForm) -> LinearForm:
    """Factors that no cut divides stay what they are; the others become one, with what rows are worth."""
    made = [_undivided(domain, factor) for factor in form.factors]
    plain = [f for f in made if f is not None]
    if len(plain) < len(made):
        if form.units:
            raise CutsBin(f"{domain.said[0]}; people are counted by whole bins")
        plain = [f for f in plain if f.weights.dtype == np.bool_]
        pairs = zip(form.factors, made, strict=True)
        merged = [_worth(f) for f, m in pairs if m is None or m.weights.dtype != np.bool_]
        worth = _needed(domain, reduce(lambda a, b: _product(domain, a, b), merged))
        plain.append(Factor(worth.attributes, worth.even(domain.coarse), worth))
    axes = tuple(_axis(domain, axis) for axis in form.axes)
    return replace(form, domain=domain.coarse, factors=tuple(plain), axes=axes)


def _axis(domain: Refined, axis: GroupAxis) -> GroupAxis:
    cut = domain.cuts.get(axis.attribute)
    return axis if cut is None else replace(axis, parent=axis.parent[cut.starts])


def _undivided(domain: Refined, factor: Factor) -> Factor | None:
    """A factor over the declared cells; None if it differs within one."""
    cuts = [domain.cuts[a] for a in factor.attributes if a in domain.cuts]
    if not cuts:
        return factor
    worth = factor.worth
    if worth is None:
        weights = _taken(factor.attributes, cuts, factor.weights)
        return None if weights is None else Factor(factor.attributes, weights)
    arrays = [_taken(factor.attributes, cuts, a) for a in worth.arrays]
    if any(a is None for a in arrays):
        return None
    made = worth.made(worth.attributes, arrays)
    return Factor(factor.attributes, made.even(domain.coarse), made)


def _taken(attributes: tuple[str, ...], cuts: list[Cut], array: NDArray[Any]) -> NDArray[Any] | None:
    """An array over declared levels; None if parts of one differ."""
    for cut in cuts:
        axis = attributes.index(cut.attribute)
        if not cut.same(array, axis):
            return None
        array = np.take(array, cut.starts, axis=axis)
    return array


def _worth(factor: Factor) -> Worth:
    """What a factor gives a row."""
    return factor.worth or Worth(factor.attributes, factor.weights.astype(np.float64), ())


def _product(domain: Refined, a: Worth, b: Worth) -> Worth:
    """The product of two, of which one is a condition."""
    if a.coefficients or a.squares or not np.isin(a.constant, (0.0, 1.0)).all():
        a, b = b, a
    onto = domain.order([*a.attributes, *b.attributes])
    check_cells(domain, onto)
    shape = domain.shape_of(onto)
    mask = spread(a.attributes, a.constant, onto)
    kept = [np.broadcast_to(spread(b.attributes, x, onto) * mask, shape).copy() for x in b.arrays]
    return b.made(onto, kept)


def _needed(domain: Refined, worth: Worth) -> Worth:
    """With the cuts that it needs, and declared levels on every other axis."""
    arrays, kept = worth.arrays, []
    for axis, name in enumerate(worth.attributes):
        cut = domain.cuts.get(name)
        if cut is not None and all(cut.same(a, axis) for a in arrays):
            arrays = [np.take(a, cut.starts, axis=axis) for a in arrays]
        elif cut is not None:
            kept.append(cut)
    return worth.made(worth.attributes, arrays, tuple(kept))
