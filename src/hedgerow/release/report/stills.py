"""Stills: the report's views as SVG and tables that need no script, for browsers that run none."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from hedgerow.plot import LEAF, PALE
from hedgerow.release.numerals import bound, signed
from hedgerow.release.report.views import View, short_labels

if TYPE_CHECKING:
    from hedgerow.queries.domain.attribute import Attribute
    from hedgerow.queries.domain.domain import Domain

_LINE, _LEFT, _WIDTH, _RIGHT = 18, 112, 180, 92
_MANY, _LETTERS = 60, 17


def bars(view: View, attribute: Attribute) -> str:
    """Lying bars with whiskers and their numbers, as SVG; of very many levels the first ones."""
    labels = short_labels(attribute)[:_MANY]
    values = view.values.ravel()[:_MANY]
    errors = view.errors.ravel()[:_MANY]
    known = np.where(np.isfinite(errors), errors, 0.0)
    low = min(0.0, float(values.min()))
    top = max(1.0, float((values + known).max()))

    def at(value: float) -> float:
        return _LEFT + _WIDTH * (min(max(value, low), top) - low) / (top - low)

    parts = []
    for i, (label, value, error) in enumerate(zip(labels, values.tolist(), errors.tolist(), strict=True)):
        y, name = _LINE * i, label if len(label) <= _LETTERS else label[: _LETTERS - 1] + "…"
        left, right = sorted((at(0.0), at(value)))
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 13}" text-anchor="end">{escape(name)}</text>')
        parts.append(
            f'<rect x="{left:.1f}" y="{y + 2}" width="{right - left:.1f}" height="13" fill="{PALE}"/>'
        )
        if np.isfinite(error):
            ends = f'x1="{at(value - error):.1f}" x2="{at(value + error):.1f}" y1="{y + 8.5}" y2="{y + 8.5}"'
            parts.append(f'<line {ends} stroke="{LEAF}" stroke-width="2.5"/>')
        number = f"{signed(value, error)} ± {bound(error)}"
        parts.append(f'<text x="{_LEFT + _WIDTH + 4}" y="{y + 13}" class="n">{escape(number)}</text>')
    if len(view.values.ravel()) > _MANY:
        rest = f"and {len(view.values.ravel()) - _MANY:,} more levels: tables.csv"
        parts.append(f'<text x="{_LEFT}" y="{_LINE * len(labels) + 13}">{rest}</text>')
    height = _LINE * (len(labels) + 1)
    size = f'viewBox="0 0 {_LEFT + _WIDTH + _RIGHT} {height}" width="100%"'
    return f'<svg class="still" role="img" {size}>{"".join(parts)}</svg>'


@dataclass(frozen=True)
class Still:
    """A table of two attributes as text: the smaller one across.

    Args:
        title: its attributes.
        across: names of columns.
        rows: the name of a row and its numbers; whether each is larger than its error bound.
        error: the largest error bound, as text.
    """

    title: str
    across: list[str]
    rows: list[tuple[str, list[tuple[str, bool]]]]
    error: str

    @classmethod
    def of(cls, view: View, domain: Domain, title: str) -> Still:
        """A view, turned so that it is rather high than wide."""
        down, across = view.attributes
        values, errors = view.values, view.errors
        if values.shape[0] < values.shape[1]:
            down, across, values, errors = across, down, values.T, errors.T
        names = short_labels(domain[down])
        rows = [
            (name, [(signed(float(v), float(e)), bool(v > e)) for v, e in zip(line, off, strict=True)])
            for name, line, off in zip(names, values, errors, strict=True)
        ]
        return cls(title, short_labels(domain[across]), rows, bound(float(errors.max())))
