"""Views: the released one-way and two-way tables of a synopsis, with error bounds, ready to be drawn."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import HedgerowError, RangeTooLarge, UnsupportedQuery
from hedgerow.queries.domain.attribute import Attribute
from hedgerow.queries.domain.bins import Bins, Dates
from hedgerow.queries.query import ONE
from hedgerow.queries.workload import Workload, marginals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hedgerow.synopsis import Synopsis

_LEVELS = 60
_BLOCKS, _QUERIES, _CELLS = 16, 64, 1 << 20


@dataclass(frozen=True)
class View:
    """Released counts over one or two attributes and their error bounds, in the same shape.

    Args:
        attributes: of the table.
        values: released counts.
        errors: how far each may be off.
        confidence: of each of the bounds.
    """

    attributes: tuple[str, ...]
    values: NDArray[np.float64]
    errors: NDArray[np.float64]
    confidence: float = 0.95

    @property
    def association(self) -> float:
        """How strongly the two attributes hang together: Cramer's V of the released table, from 0 to 1.

        The part of chi-square that noise of this size makes on its own is taken off first.
        """
        table = np.maximum(self.values, 0.0)
        total = table.sum()
        if total <= 0 or min(table.shape) < 2:
            return 0.0
        expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True) / total
        safe = np.maximum(expected, 1e-9)
        variance = (self.errors / NormalDist().inv_cdf((1 + self.confidence) / 2)) ** 2
        chi = ((table - expected) ** 2 / safe)[expected > variance**0.5].sum()
        chi -= (variance / safe)[expected > variance**0.5].sum()
        return float(np.sqrt(max(chi, 0.0) / (total * (min(table.shape) - 1))).clip(0.0, 1.0))


def one_way(synopsis: Synopsis, confidence: float) -> list[View]:
    """The table of every attribute that the synopsis can give."""
    return views_of(synopsis, [(name,) for name in synopsis.domain], confidence, _LEVELS * 50)


def views_of(synopsis: Synopsis, sets: list[tuple[str, ...]], confidence: float, most: int) -> list[View]:
    """The tables of these attributes that the synopsis can give, if they have no more cells than `most`."""
    domain, out = synopsis.domain, []
    for names in sets:
        if domain.cells(names) > most or "table" not in synopsis.can:
            continue
        try:
            answer = synopsis.answer(marginals(domain, [names]), confidence=confidence)
        except (UnsupportedQuery, RangeTooLarge):  # the release does not hold this table, or only in others
            continue
        shape = domain.shape_of(names)
        errors = np.broadcast_to(np.asarray(answer.error, dtype=np.float64), np.shape(answer.value))
        out.append(View(names, np.reshape(answer.value, shape), errors.reshape(shape), confidence))
    return out


def mean_error(synopsis: Synopsis, asked: Workload, confidence: float = 0.95) -> float | None:
    """The mean error that a release states for what it was asked, in rows; of many questions, of some."""
    some = Workload(asked.blocks[:: -(-len(asked.blocks) // _BLOCKS)])
    if not some.is_tables or len(some) > _CELLS:
        some = Workload.of([some[i] for i in range(0, len(some), -(-len(some) // _QUERIES))])
    try:
        if "table" in synopsis.can:
            error = float(np.mean(synopsis.answer(some, confidence=confidence).error))
        else:  # as SQL would ask: a combination of answers may say more than each of them
            forms = [(q.attributes, q.weights / ONE) for q in some]
            error = float(np.mean([synopsis.linear(*form, confidence)[1] for form in forms]))
    except HedgerowError:  # what is paid for is not held up by a word about it
        return None
    return error if np.isfinite(error) else None


def short_labels(attribute: Attribute) -> list[str]:
    """Names of levels for axes: `20–30` for a bin."""
    labels = list(attribute.labels)
    if isinstance(attribute, Bins) and not isinstance(attribute, Dates):
        ends = [f"{e:,.10g}" for e in attribute.edges]
        dash = " to " if attribute.edges[0] < 0 else "–"  # no dash beside a minus
        labels[: len(ends) - 1] = [f"{a}{dash}{b}" for a, b in pairwise(ends)]
    return labels


def table_data(view: View) -> dict[str, Any]:
    """A view as compact plain data, rounded to a tenth of a row."""
    return {
        "of": list(view.attributes),
        "values": np.round(view.values, 1).ravel().tolist(),
        "errors": _compact(np.round(view.errors, 1).ravel()),
    }


def _compact(errors: NDArray[np.float64]) -> Any:
    """One number when all are the same."""
    finite = [float(e) if np.isfinite(e) else None for e in errors]
    return finite[0] if len(set(finite)) == 1 else finite
